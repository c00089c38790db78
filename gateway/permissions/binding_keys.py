"""What a binding key lets in, as a topic exchange reads it, compared with the pattern of a rule.

A binding key is a pattern itself: whoever binds by it is sent every key that fits it. So a rule
that allows is for it if all of those keys fit the rule's pattern, and a rule that denies if any one
does. Both are decided exactly; a key has at least one word, and any word may stand in it. Each
takes no more steps than the binding key has words times what the pattern has, and those are counted
as work.
"""

from __future__ import annotations

from typing import Final

from gateway.permissions.patterns import WORD, WORDS
from gateway.wire.work import CHARACTERS_SEARCHED, STEP, WORK

EVERY_KEY: Final = "#"  # a binding key that lets in all


def is_pattern(key: str) -> bool:
    """Whether a binding key may let in more than the key that it is."""
    return WORD in key or WORDS in key


def covers(words: list[str], key: str) -> bool:
    """Whether every key that a binding key lets in fits a pattern, given as its words.

    What is the hardest to fit has, for each wildcard of the binding key, words that the pattern
    does not name: only its own wildcards take those. For a "#" it has either none of them, so that
    the words around it are too close to one another, or too many for anything to reach over them.
    So each run of the pattern's words must be found between two "#" of the binding key, and may be
    as far behind the run before it as the words of the binding key are, with none for each "#".
    """
    given = key.split(".")
    parts, gaps = _parts_of(words)
    ends, letters = _letters_of(given)
    last = len(parts) - 1
    total = len(letters)
    WORK.units += STEP * (len(given) + len(words)) + len(key) // CHARACTERS_SEARCHED
    if last == 0:
        return len(ends) == 1 and total == len(words) and _fits_at(words, letters, 0)
    first = parts[0]
    end = parts[last]
    behind = 0 if len(ends) == 1 else ends[len(ends) - 2]  # where its words after the last "#" are
    if len(first) > ends[0] or not _fits_at(first, letters, 0):
        return False
    if len(end) > total - behind or not _fits_at(end, letters, total - len(end)):
        return False
    at = len(first)
    block = 0
    for number in range(1, last):
        part = parts[number]
        at += gaps[number - 1]
        while True:
            while block < len(ends) and at + len(part) > ends[block]:
                # It has no room before this "#"; behind it, it may begin at once.
                at = max(at, ends[block])
                block += 1
            if block == len(ends):
                return False
            if _fits_at(part, letters, at):
                break
            at += 1
        at += len(part)
    return at + gaps[last - 1] <= total - len(end)


def meets(words: list[str], key: str) -> bool:
    """Whether any key that a binding key lets in fits a pattern, given as its words."""
    given = key.split(".")
    count = len(words)
    # Whether what came of the binding key, and so many words of the pattern, have a key in common.
    row = [False] * (count + 1)
    row[0] = True
    _skip(row, words)
    tried = len(row)
    for word in given:
        tried += len(row)
        row = _next(row, words, word)
        if True not in row:
            break
    WORK.units += STEP * (len(given) + tried) + len(key) // CHARACTERS_SEARCHED
    return row[count]


def _next(row: list[bool], words: list[str], word: str) -> list[bool]:
    """The row behind one more word of the binding key."""
    if word == WORDS:
        # None at all, or whatever the pattern says next.
        begun = row.index(True)
        return [at >= begun for at in range(len(row))]
    behind = [False] * len(row)
    for at, each in enumerate(words):
        if not row[at]:
            continue
        if each == WORDS:
            behind[at] = True
        elif WORD in (each, word) or each == word:
            behind[at + 1] = True
    _skip(behind, words)
    return behind


def _skip(row: list[bool], words: list[str]) -> None:
    """A "#" of the pattern may stand for nothing."""
    for at, each in enumerate(words):
        if row[at] and each == WORDS:
            row[at + 1] = True


def _parts_of(words: list[str]) -> tuple[list[list[str]], list[int]]:
    """A pattern as what stands between its wildcards that have a "#" among them.

    And for each of those how many words it takes at least: "*.#" and "#.*" are one thing.
    """
    parts: list[list[str]] = [[]]
    gaps: list[int] = []
    least = 0
    any_number = False
    for word in words:
        if word == WORDS:
            any_number = True
        elif word == WORD:
            least += 1
        else:
            _close(parts, gaps, least, any_number)
            least = 0
            any_number = False
            parts[-1].append(word)
    _close(parts, gaps, least, any_number)
    return parts, gaps


def _close(parts: list[list[str]], gaps: list[int], least: int, any_number: bool) -> None:
    if any_number:
        parts.append([])
        gaps.append(least)
    else:
        parts[-1].extend([WORD] * least)


def _letters_of(given: list[str]) -> tuple[list[int], list[str]]:
    """A binding key without its "#", and where in that each of those, and the end, has been."""
    letters: list[str] = []
    ends: list[int] = []
    for word in given:
        if word == WORDS:
            ends.append(len(letters))
        else:
            letters.append(word)
    if not letters:
        letters.append(WORD)  # no key has no words
    ends.append(len(letters))
    return ends, letters


def _fits_at(part: list[str], letters: list[str], at: int) -> bool:
    """Whether the words of a pattern, none of them "#", are those of a binding key from there."""
    tried = 0
    for each in part:
        if each != WORD and each != letters[at + tried]:
            WORK.units += STEP * (tried + 1)
            return False
        tried += 1
    WORK.units += STEP * tried
    return True

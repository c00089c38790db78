"""Names and routing keys that a rule is for.

In the gateway's own rules `*` stands for any run of characters of a name, in qpidd's for its rest.
Keys are compared as topic exchanges do, in both: words between dots, `*` for one, `#` for any
number of them. Each takes no more steps than the name has characters, or the key words, times what
the pattern has, and those are counted as work.
"""

from __future__ import annotations

from typing import Final

from gateway.wire.work import CHARACTERS_SEARCHED, STEP, WORK

ANY: Final = "*"
WORD: Final = "*"
WORDS: Final = "#"


def fits_name(parts: list[str], name: str) -> bool:
    """Whether a name fits a pattern, given as what stands between its `*`."""
    first = parts[0]
    count = len(parts)
    if count == 1:
        return name == first
    last = parts[count - 1]
    end = len(name) - len(last)
    if end < len(first) or not name.startswith(first) or not name.endswith(last):
        return False
    at = len(first)
    if count > 2:
        WORK.units += len(name) // CHARACTERS_SEARCHED
    for number in range(1, count - 1):
        found = name.find(parts[number], at, end)
        if found < 0:
            return False
        at = found + len(parts[number])
    return True


def fits_key(words: list[str], key: str) -> bool:
    """Whether a routing key fits a pattern, given as its words."""
    given = key.split(".")
    at = 0
    number = 0
    back_to = -1  # the word behind the last "#" that was met
    begun = 0  # where what that "#" stands for ends, as far as was tried
    tried = 0
    fits = True
    while at < len(given):
        tried += 1
        if number < len(words) and words[number] == WORDS:
            number += 1
            back_to = number
            begun = at
        elif number < len(words) and (words[number] == WORD or words[number] == given[at]):
            number += 1
            at += 1
        elif back_to >= 0:
            begun += 1
            at = begun
            number = back_to
        else:
            fits = False
            break
    WORK.units += STEP * (len(given) + tried) + len(key) // CHARACTERS_SEARCHED
    if not fits:
        return False
    while number < len(words) and words[number] == WORDS:
        number += 1
    return number == len(words)

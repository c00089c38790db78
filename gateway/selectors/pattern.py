"""The patterns of LIKE: ``%`` stands for any text, ``_`` for one character (SQL-92, 8.5).

A pattern is cut at its ``%``. The pieces are of fixed length; each is found as early as can be,
which leaves most to those behind it, so nothing is ever tried twice. A piece of plain characters is
found in time that follows the text; one with ``_`` may be tried at every place where its longest
plain run stands, which is counted as work beforehand.
"""

from __future__ import annotations

import re
from typing import Final, final

from gateway.wire.accounts import weigh
from gateway.wire.work import CHARACTERS_SEARCHED, CHARACTERS_TRIED, WORK

ANY_TEXT: Final = "%"
ANY_CHARACTER: Final = "_"
PIECE_OCTETS: Final = 96  # of memory, beside its text
ANY_OCTETS: Final = 512  # more where some characters may be any
EXPRESSION_OCTETS: Final = 24  # and for each character of these


@final
class Piece:
    """What is between two ``%``: characters, of which some may be any.

    Attributes:
        expression: when some may; else `text` is all.
        run, run_at: the longest run of characters that are themselves, and where in the piece.
    """

    __slots__ = ("expression", "length", "run", "run_at", "text")

    def __init__(self, characters: list[str], wild: list[int]) -> None:
        self.length = len(characters)
        self.text = "".join(characters)
        self.expression: re.Pattern[str] | None = None
        if wild:
            escaped = [re.escape(character) for character in characters]
            for at in wild:
                escaped[at] = "."
            self.expression = re.compile("".join(escaped), re.DOTALL)
        self.run = ""
        self.run_at = 0
        start = 0
        for at in (*wild, self.length):
            if at - start > len(self.run):
                self.run = self.text[start:at]
                self.run_at = start
            start = at + 1

    def octets(self) -> int:
        """That it takes."""
        if self.expression is None:
            return PIECE_OCTETS + weigh(self.text)
        return PIECE_OCTETS + ANY_OCTETS + EXPRESSION_OCTETS * self.length

    def stands_at(self, text: str, at: int) -> bool:
        """Whether it is found exactly there."""
        if self.expression is None:
            return text.startswith(self.text, at)
        return self.expression.match(text, at) is not None

    def find(self, text: str, start: int, end: int) -> int:
        """Where it is found first between `start` and `end`, or -1."""
        expression = self.expression
        at = text.find(self.run, start + self.run_at, end)
        WORK.look(((end if at < 0 else at) - start) // CHARACTERS_SEARCHED)
        if expression is None or at < 0:
            return at
        at -= self.run_at
        WORK.foresee((end - at) * self.length // CHARACTERS_TRIED)
        found = expression.search(text, at, end)
        stop = end if found is None else found.start()
        WORK.look((stop - at) * self.length // CHARACTERS_TRIED)
        return -1 if found is None else stop


@final
class Pattern:
    """A pattern that was understood.

    Attributes:
        octets: that it takes.
    """

    __slots__ = ("_first", "_last", "_middle", "octets")

    def __init__(self, pieces: list[Piece]) -> None:
        self.octets = sum([piece.octets() for piece in pieces])
        self._first = pieces[0]
        self._last = pieces[-1]
        self._middle = pieces[1:-1]

    def matches(self, text: str) -> bool:
        """Whether it stands for all of `text`."""
        first, last = self._first, self._last
        if first is last:
            return len(text) == first.length and first.stands_at(text, 0)
        at = first.length
        tail = len(text) - last.length
        if tail < at or not first.stands_at(text, 0):
            return False
        for piece in self._middle:
            at = piece.find(text, at, tail)
            if at < 0:
                return False
            at += piece.length
        return last.stands_at(text, tail)


def read_pattern(pattern: str, escape: str) -> Pattern | None:
    """Understand `pattern`; `None` when it ends with an escape that has nothing to escape."""
    pieces: list[Piece] = []
    characters: list[str] = []
    wild: list[int] = []
    escaped = False
    for character in pattern:
        if character == escape and not escaped:
            escaped = True
            continue
        if character == ANY_TEXT and not escaped:
            if characters or not pieces:  # several in a row are one
                pieces.append(Piece(characters, wild))
            characters, wild = [], []
            continue
        if character == ANY_CHARACTER and not escaped:
            wild.append(len(characters))
        characters.append(character)
        escaped = False
    if escaped:
        return None
    pieces.append(Piece(characters, wild))
    return Pattern(pieces)

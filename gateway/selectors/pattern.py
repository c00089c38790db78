"""The patterns of LIKE: ``%`` stands for any text, ``_`` for one character (SQL-92, 8.5).

A pattern is cut at its ``%``. The pieces are of fixed length; each is found as early as can be,
which leaves most to those behind it, so nothing is ever tried twice.
"""

from __future__ import annotations

import re
from typing import Final, final

ANY_TEXT: Final = "%"
ANY_CHARACTER: Final = "_"


@final
class Piece:
    """What is between two ``%``: characters, of which some may be any.

    Attributes:
        expression: when some may; else `text` is all.
    """

    __slots__ = ("expression", "length", "text")

    def __init__(self, characters: list[str], wild: list[int]) -> None:
        self.length = len(characters)
        self.text = "".join(characters)
        self.expression: re.Pattern[str] | None = None
        if wild:
            escaped = [re.escape(character) for character in characters]
            for at in wild:
                escaped[at] = "."
            self.expression = re.compile("".join(escaped), re.DOTALL)

    def stands_at(self, text: str, at: int) -> bool:
        """Whether it is found exactly there."""
        if self.expression is None:
            return text.startswith(self.text, at)
        return self.expression.match(text, at) is not None

    def find(self, text: str, start: int, end: int) -> int:
        """Where it is found first between `start` and `end`, or -1."""
        if self.expression is None:
            return text.find(self.text, start, end)
        found = self.expression.search(text, start, end)
        return -1 if found is None else found.start()


@final
class Pattern:
    """A pattern that was understood."""

    __slots__ = ("_first", "_last", "_middle")

    def __init__(self, pieces: list[Piece]) -> None:
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

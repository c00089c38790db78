"""What is counted of each row of the log, in arrays of neighbouring rows: 20 octets a row.

A commit is a row, and there may be as many as messages. Rows go in any order, and a few may outlive
all others by far: so few are in one array.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i32, i64

PAGE_BITS: Final = 4
PAGE_ROWS: Final = 16
FIELDS: Final = 5
# The octets on disk, and one: a row is there while this is not 0.
SIZE: Final = 0
# Entries in it that are in their queues.
LIVE: Final = 1
# Delivery counts in it, annotations included, that are the last of a living entry.
COUNTS: Final = 2
# What it supersedes in rows that still exist.
SUPERSEDING: Final = 3
# Octets that one entry takes, on average.
SHARE: Final = 4


@final
class TallyPage:
    """Those of 16 neighbouring rows."""

    __slots__ = ("numbers", "rows")

    def __init__(self) -> None:
        self.numbers = vec[i32]([0] * (PAGE_ROWS * FIELDS))
        self.rows: i64 = 0


@final
class Tallies:
    """Those of all rows.

    Attributes:
        count: how many rows there are.
    """

    __slots__ = ("_pages", "count")

    def __init__(self) -> None:
        self.count = 0
        self._pages: dict[int, TallyPage] = {}

    def add(self, number: i64, size: i64) -> None:
        """A row of so many octets, with nothing counted."""
        page = self._pages.get(number >> PAGE_BITS)
        if page is None:
            page = self._pages[number >> PAGE_BITS] = TallyPage()
        numbers = page.numbers
        numbers[(number & (PAGE_ROWS - 1)) * FIELDS] = i32(size + 1)
        page.rows += 1
        self.count += 1

    def remove(self, number: i64) -> None:
        """A row that is there is no more."""
        page = self._pages[number >> PAGE_BITS]
        numbers = page.numbers
        at = (number & (PAGE_ROWS - 1)) * FIELDS
        behind = at + FIELDS
        while at < behind:
            numbers[at] = 0
            at += 1
        page.rows -= 1
        self.count -= 1
        if page.rows == 0:
            del self._pages[number >> PAGE_BITS]

    def size(self, number: i64) -> i64:
        """Its octets on disk; of one that is not there -1."""
        return self.get(number, SIZE) - 1

    def get(self, number: i64, field: i64) -> i64:
        """What is counted of it; 0 if it is not there."""
        page = self._pages.get(number >> PAGE_BITS)
        if page is None:
            return 0
        numbers = page.numbers
        return i64(numbers[(number & (PAGE_ROWS - 1)) * FIELDS + field])

    def put(self, number: i64, field: i64, value: i64) -> None:
        """That is counted of a row which is there."""
        numbers = self._pages[number >> PAGE_BITS].numbers
        numbers[(number & (PAGE_ROWS - 1)) * FIELDS + field] = i32(value)

    def is_dead(self, number: i64) -> bool:
        """Nothing that starts from this row would be missed."""
        numbers = self._pages[number >> PAGE_BITS].numbers
        at = (number & (PAGE_ROWS - 1)) * FIELDS
        return (
            numbers[at + LIVE] == 0 and numbers[at + COUNTS] == 0 and numbers[at + SUPERSEDING] == 0
        )

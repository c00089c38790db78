"""In which row of the log each living entry of a queue is, in arrays of neighbouring positions.

Eight octets a copy: this is all that is in memory of one that rests. Positions ascend and are never
used again, so the entries of a page of 256 come and go together. A page that has few of them, as
most queues do, is as long as it needs to be.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

PAGE_BITS: Final = 8
PAGE_MASK: Final = 255
LENGTHS: Final = (4, 16, 64, 256)
NOWHERE: Final = (1 << 62) - 1  # no position is above it


@final
class PlacesPage:
    """The rows of 256 neighbouring positions; 0 where no entry lives."""

    __slots__ = ("live", "rows")

    def __init__(self, rows: vec[i64]) -> None:
        self.rows = rows
        self.live: i64 = 0


@final
class Places:
    """Of one queue.

    Attributes:
        count: how many entries live.
    """

    __slots__ = ("_last", "_number", "_pages", "count")

    def __init__(self) -> None:
        self.count: i64 = 0
        self._pages: dict[int, PlacesPage] = {}
        # The page that was put into last: the next entry is in it, too, mostly.
        self._last = PlacesPage(vec[i64]())
        self._number: i64 = -1

    def put(self, position: i64, row: i64) -> i64:
        """The entry is in that row now; in which it was, 0: it did not live."""
        page = self._last
        if position >> PAGE_BITS != self._number:
            page = self._page(position >> PAGE_BITS)
        index = position & PAGE_MASK
        rows = page.rows
        if index >= len(rows):
            rows = page.rows = _longer(rows, index)
        before = rows[index]
        rows[index] = row
        if before == 0:
            page.live += 1
            self.count += 1
        return before

    def _page(self, number: i64) -> PlacesPage:
        """That page, which is the last one from now on."""
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = PlacesPage(vec[i64]([0] * LENGTHS[0]))
        self._last = page
        self._number = number
        return page

    def take(self, position: i64) -> i64:
        """The entry lives no more; in which row it was, 0: it did not live."""
        number = position >> PAGE_BITS
        page = self._pages.get(number)
        if page is None:
            return 0
        index = position & PAGE_MASK
        rows = page.rows
        if index >= len(rows):
            return 0
        before = rows[index]
        if before != 0:
            rows[index] = 0
            page.live -= 1
            self.count -= 1
            if page.live == 0:
                del self._pages[number]
                if number == self._number:
                    self._number = -1
        return before

    def get(self, position: i64) -> i64:
        """The row that the entry is in; 0 if it does not live."""
        page = self._pages.get(position >> PAGE_BITS)
        index = position & PAGE_MASK
        return 0 if page is None or index >= len(page.rows) else page.rows[index]

    def living(self, first: int, behind: int, most: int) -> list[tuple[int, int]]:
        """By position, and with their rows: the first that live from one position to another.

        About `most`, and if there are more, so many at least.
        """
        found: list[tuple[int, int]] = []
        numbers: range | list[int] = range(first >> PAGE_BITS, (behind - 1 >> PAGE_BITS) + 1)
        if len(numbers) > len(self._pages):
            numbers = sorted([number for number in self._pages if number in numbers])
        for number in numbers:
            page = self._pages.get(number)
            if page is not None:
                _add(found, page, number << PAGE_BITS, first, behind)
                if len(found) >= most:
                    break
        return found


@final
class Cursor:
    """Goes through the living entries of a queue as it is now, by position.

    Attributes:
        position, row: of the next one; `NOWHERE` behind the last.
    """

    __slots__ = ("_at", "_numbers", "_places", "position", "row")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._numbers = sorted(places._pages)
        self._at = 0
        self.position: i64 = -1
        self.row: i64 = 0
        self.advance()

    def advance(self) -> None:
        """To the next one that lives."""
        index = (self.position + 1) & PAGE_MASK
        if index == 0 and self.position >= 0:
            self._at += 1
        while self._at < len(self._numbers):
            number = self._numbers[self._at]
            page = self._places._pages.get(number)
            if page is not None:
                rows = page.rows
                while index < len(rows):
                    if rows[index] != 0:
                        self.position = (number << PAGE_BITS) + index
                        self.row = rows[index]
                        return
                    index += 1
            self._at += 1
            index = 0
        self.position = NOWHERE
        self.row = 0


def _longer(rows: vec[i64], index: i64) -> vec[i64]:
    """The same, long enough for that index."""
    length: i64 = PAGE_MASK + 1
    for each in LENGTHS:
        if index < each:
            length = each
            break
    longer = vec[i64]([0] * length)
    for at in range(len(rows)):
        longer[at] = rows[at]
    return longer


def _add(
    found: list[tuple[int, int]], page: PlacesPage, base: int, first: int, behind: int
) -> None:
    position = base
    for row in page.rows:
        if row != 0 and first <= position < behind:
            found.append((position, row))
        position += 1

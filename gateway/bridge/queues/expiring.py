"""Which copy of a queue expires next: each page knows of its earliest, and a heap has the pages.

So a queue whose pages are away knows when they are wanted, and copies that expire one after the
other cost nothing here. Times that were superseded stay in the heap until they come, or outnumber
the pages.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

from gateway.bridge.queues.places import AVAILABLE, NO_PAGE, PAGE_BITS, Entry, Page, Places
from gateway.message import NEVER

REBUILD_SLACK: Final = 64


@final
class Expiring:
    """The copies of one queue that expire, by time."""

    __slots__ = ("_due_away", "_heap", "_index", "_missed", "_number", "_places")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._heap: list[tuple[int, int]] = []  # time, number of the page
        self._due_away: set[int] = set()  # pages that are not in the heap until they are back
        self._number: int = NO_PAGE  # the page that is looked through, and how far that has come
        self._index = 0
        self._missed: list[int] = []

    def came(self, position: int, expires_ms: int) -> None:
        """A copy that nobody holds is there, new or again."""
        number = position >> PAGE_BITS
        page = self._places.page(number)
        assert page is not None
        if number == self._number:
            self._number = NO_PAGE
        if page.earliest_ms == NEVER or expires_ms < page.earliest_ms:
            page.earliest_ms = expires_ms
            heappush(self._heap, (expires_ms, number))
            if len(self._heap) > 2 * self._places.pages + REBUILD_SLACK:
                self._heap = [item for item in set(self._heap) if self._is_so(item)]
                heapify(self._heap)

    def back(self, page: Page) -> None:
        """A page is back that was away."""
        if page.number in self._due_away:
            self._due_away.discard(page.number)
            heappush(self._heap, (page.earliest_ms, page.number))

    def forget(self) -> None:
        """The queue is empty."""
        self._heap.clear()
        self._due_away.clear()
        self._missed.clear()
        tail = self._places.tail
        if tail is not None:
            tail.earliest_ms = NEVER

    def next_ms(self) -> int | None:
        """When the next copy may expire."""
        return self._heap[0][0] if self._heap else None

    def next(self, now_ms: int) -> Entry | None:
        """A copy that is over its time and that nobody holds; call again until `None`."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            page = self._places.page(heap[0][1])
            if page is None or not self._is_so(heap[0]):
                heappop(heap)
            elif page.away is not None:
                heappop(heap)
                self._due_away.add(page.number)
                self._missed.append(page.number)
            else:
                entry = self._due(page, now_ms)
                if entry is not None:
                    return entry
                heappop(heap)
                page.earliest_ms = _earliest(page)
                if page.earliest_ms != NEVER:
                    heappush(heap, (page.earliest_ms, page.number))
        return None

    def take_missed(self) -> list[int]:
        """Pages whose time has come and that are away: whoever asks brings them back."""
        missed = self._missed
        if missed:
            self._missed = []
        return missed

    def _is_so(self, item: tuple[int, int]) -> bool:
        page = self._places.page(item[1])
        return page is not None and page.earliest_ms == item[0]

    def _due(self, page: Page, now_ms: int) -> Entry | None:
        if self._number != page.number:
            self._number = page.number
            self._index = 0
        entries = page.entries
        while self._index < len(entries):
            entry = entries[self._index]
            if entry is not None and entry.holder == AVAILABLE:
                expires_ms = entry.message.expires_ms
                if expires_ms != NEVER and expires_ms <= now_ms:
                    return entry
            self._index += 1
        self._number = NO_PAGE
        return None


def _earliest(page: Page) -> int:
    """Of the copies that nobody holds; the others tell when they are given back."""
    earliest_ms = NEVER
    for entry in page.entries:
        if entry is not None and entry.holder == AVAILABLE:
            expires_ms = entry.message.expires_ms
            if expires_ms != NEVER and (earliest_ms == NEVER or expires_ms < earliest_ms):
                earliest_ms = expires_ms
    return earliest_ms

"""The copies in a queue, each in its place: constant time to add, find and remove.

A position is given out once and ascends, so a copy's place is a page (position // 256) and an index
in it. Pages are found by number and linked by number, never by reference: emptied ones vanish
wherever they are, so that one copy left at the head costs one page and not everything behind it.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import mypyc_attr

from gateway.bridge.quotas import NOBODY, Stock
from gateway.bridge.tickets import Ticket
from gateway.message import Message

PAGE_BITS: Final = 8
PAGE_MASK: Final = 255
NO_PAGE: Final = -1
AVAILABLE: Final = 0


@final
@mypyc_attr(acyclic=True)
class Entry:
    """One copy of a message in one queue.

    Attributes:
        position: its place, ascending, never reused.
        message: shared with the copies in other queues.
        delivery_count: failed deliveries so far, those before arrival included.
        holder: number of the subscription that acquired it, or `AVAILABLE`.
        durable: the store has it.
        returned: it waits in its queue's `returned` heap.
        excluded: numbers of the subscriptions that it must not be sent to; negative: of owners.
        annotations: what subscribers added to it, as in `Delivery`.
        ticket: who is told when the copy ends; only in transit queues.
        stock: whose quota it counts for.
    """

    __slots__ = (
        "annotations",
        "delivery_count",
        "durable",
        "excluded",
        "holder",
        "message",
        "position",
        "returned",
        "stock",
        "ticket",
    )

    def __init__(
        self,
        position: int,
        message: Message,
        delivery_count: int,
        durable: bool,
        stock: Stock = NOBODY,
    ) -> None:
        self.position = position
        self.message = message
        self.delivery_count = delivery_count
        self.durable = durable
        self.holder: int = AVAILABLE
        self.returned = False
        self.excluded: set[int] | None = None
        self.annotations = b""
        self.ticket: Ticket | None = None
        self.stock = stock


@final
class Page:
    """Up to 256 neighbouring places; a place whose copy has gone is `None`."""

    __slots__ = ("after", "before", "entries", "live", "number")

    def __init__(self, number: int, before: int) -> None:
        self.number = number
        self.before = before
        self.after: int = NO_PAGE
        self.entries: list[Entry | None] = []
        self.live = 0


@final
class Places:
    """All copies of one queue by position."""

    __slots__ = ("_first", "_pages", "_tail", "count")

    def __init__(self) -> None:
        self.count = 0
        self._pages: dict[int, Page] = {}
        self._first: int = NO_PAGE
        self._tail: Page | None = None

    def append(self, entry: Entry) -> None:
        """Add a copy behind all others."""
        number = entry.position >> PAGE_BITS
        page = self._tail
        if page is None or page.number != number:
            page = self._new_page(number)
        entries = page.entries
        index = entry.position & PAGE_MASK
        while len(entries) < index:
            entries.append(None)
        entries.append(entry)
        page.live += 1
        self.count += 1

    def get(self, position: int) -> Entry | None:
        """The copy at `position`, if it is still there."""
        page = self._pages.get(position >> PAGE_BITS)
        if page is None:
            return None
        entries = page.entries
        index = position & PAGE_MASK
        return entries[index] if index < len(entries) else None

    def remove(self, entry: Entry) -> None:
        """Take out a copy that has a place."""
        page = self._pages[entry.position >> PAGE_BITS]
        page.entries[entry.position & PAGE_MASK] = None
        page.live -= 1
        self.count -= 1
        if page.live == 0 and page is not self._tail:
            self._drop(page)

    def next_at(self, position: int) -> Entry | None:
        """The first copy at or behind `position`."""
        number = position >> PAGE_BITS
        index = position & PAGE_MASK
        page = self._pages.get(number)
        if page is None:
            page = self._page_after(number)
            index = 0
        while page is not None:
            entries = page.entries
            count = len(entries)
            while index < count:
                entry = entries[index]
                if entry is not None:
                    return entry
                index += 1
            page = self._pages.get(page.after)
            index = 0
        return None

    def _new_page(self, number: int) -> Page:
        old = self._tail
        page = Page(number, NO_PAGE if old is None else old.number)
        self._pages[number] = page
        self._tail = page
        if old is None:
            self._first = number
        else:
            old.after = number
            if old.live == 0:
                self._drop(old)
        return page

    def _drop(self, page: Page) -> None:
        del self._pages[page.number]
        before = self._pages.get(page.before)
        after = self._pages.get(page.after)
        if before is not None:
            before.after = page.after
        else:
            self._first = page.after
        if after is not None:
            after.before = page.before

    def _page_after(self, number: int) -> Page | None:
        """The first page behind a number that has none, by number or by links."""
        tail = self._tail
        if tail is None or tail.number < number:
            return None
        if tail.number - number > len(self._pages):
            page: Page | None = self._pages[self._first]
            while page is not None and page.number < number:
                page = self._pages.get(page.after)
            return page
        candidate = number
        while candidate not in self._pages:
            candidate += 1
        return self._pages[candidate]

"""The copies in a queue, each in its place: constant time to add, find and remove.

A position is given out once and ascends, so a copy's place is a page (position // 256) and an index
in it. Pages are found by number and linked by number, never by reference: emptied ones vanish
wherever they are, so that one copy left at the head costs one page and not everything behind it.

A page may be *away*: its copies are on disk, and what stays is a summary (`paging` says when). Who
looks for a copy and comes to such a page finds `None`, and the page's number in `Places.missed`:
there may be more behind it, which `paging` brings back.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from mypy_extensions import i64 as int64
from mypy_extensions import mypyc_attr

from gateway.bridge.quotas import NOBODY, Stock
from gateway.bridge.tickets import Ticket
from gateway.message import NEVER, Message

PAGE_BITS: Final = 8
PAGE_MASK: Final = 255
NO_PAGE: Final = -1
AVAILABLE: Final = 0
# What the store's records and a 1.0 header hold; a publisher may begin there.
DELIVERY_COUNT_MAX: Final = 0xFFFFFFFF


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
        entered_us: when it came, in microseconds of the gateway's clock.
    """

    __slots__ = (
        "annotations",
        "delivery_count",
        "durable",
        "entered_us",
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
        self.entered_us: int64 = message.arrived_ms * 1000


class Away(Protocol):
    """What stays of a page whose copies are on disk.

    Attributes:
        messages: how many they are; `payload`: octets of their messages.
        memory: what they take when they are here, beyond what they take when they are not.
        arrived_ms: when the oldest of them came.
        mix: their share of the queue's checksum.
    """

    mix: int
    messages: int
    payload: int
    memory: int
    arrived_ms: int

    def has(self, index: int) -> bool:
        """Whether one is at that place of the page."""


@final
class AwayCopy:
    """A copy that is taken out of a page that is away.

    Attributes:
        position, message, durable, stock: as of an entry; the message by its number.
        size: octets of its message.
        memory: its share of `Away.memory`.
        kind: what is known of it besides (`bands.kind_of`).
    """

    __slots__ = ("durable", "kind", "memory", "message", "position", "size", "stock")

    def __init__(
        self,
        position: int,
        message: int,
        durable: bool,
        stock: Stock,
        size: int,
        memory: int,
        kind: int,
    ) -> None:
        self.position = position
        self.message = message
        self.durable = durable
        self.stock = stock
        self.size = size
        self.memory = memory
        self.kind = kind


@final
class Page:
    """Up to 256 neighbouring places; a place whose copy has gone is `None`.

    Attributes:
        live: copies in it, on disk or not.
        large: octets of its large copies, as they came (see `paging`).
        earliest_ms: no copy in it expires before (see `expiring`); `NEVER`: none does.
        away: its copies are on disk, and none is in `entries`.
        kept: where they still are on disk, though they are here: `paging` knows what that means.
        pins: deliveries of its copies that browsers have, and copies that others than its queue's
            places look for: it does not go away meanwhile.
        busy: it is on its way to the disk, or from there.
        passed_over: before that turn it need not be asked again whether it can go away.
    """

    __slots__ = (
        *("after", "away", "before", "busy", "earliest_ms", "entries", "kept", "large", "live"),
        *("number", "passed_over", "pins"),
    )

    def __init__(self, number: int, before: int) -> None:
        self.number = number
        self.before = before
        self.after: int = NO_PAGE
        self.entries: list[Entry | None] = []
        self.live = 0
        self.large = 0
        self.earliest_ms = NEVER
        self.away: Away | None = None
        self.kept: Away | None = None
        self.pins = 0
        self.busy = False
        self.passed_over = 0


class Keeper(Protocol):
    """Who keeps copies of pages on disk."""

    def on_dropped(self, page: Page) -> None:
        """All copies of a page are gone that was on disk."""


@final
class Places:
    """All copies of one queue by position.

    Attributes:
        count: how many there are, those of pages that are away included.
        here: pages whose copies are not on disk alone, but for the last one, by number.
        away: how many pages are away; `away_count`: their copies, `away_payload`, `away_octets`:
            octets of the messages of those, and what they had taken in memory.
        missed: by the last look that found nothing: the page that is away to which it came.
        wanted: pages that were brought back for somebody who has not looked into them yet.
        keeper: of the copies of pages on disk, if there is one.
    """

    __slots__ = (
        *("_first", "_pages", "_tail", "away", "away_count", "away_octets", "away_payload"),
        *("count", "here", "keeper", "missed", "wanted"),
    )

    def __init__(self) -> None:
        self.count = 0
        self.here: dict[int, Page] = {}
        self.away = 0
        self.away_count = 0
        self.away_octets = 0
        self.away_payload = 0
        self.missed: int = NO_PAGE
        self.wanted: set[int] = set()
        self.keeper: Keeper | None = None
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

    def lay(self, number: int, away: Away, count: int) -> None:
        """Add a page behind all others whose copies are on disk, so many of them these places'."""
        page = self._new_page(number)
        page.live = count
        page.away = away
        self.count += count
        self._count_away(away, 1)

    def get(self, position: int) -> Entry | None:
        """The copy at `position`, if it is still there."""
        page = self._pages.get(position >> PAGE_BITS)
        if page is None:
            return None
        entries = page.entries
        index = position & PAGE_MASK
        return entries[index] if index < len(entries) else None

    def holds(self, position: int) -> bool:
        """Whether there is a copy at `position`, on disk or not."""
        page = self._pages.get(position >> PAGE_BITS)
        if page is None:
            return False
        if page.away is not None:
            return page.away.has(position & PAGE_MASK)
        return self.get(position) is not None

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
            if page.away is not None:
                self.missed = page.number
                return None
            entries = page.entries
            count = len(entries)
            while index < count:
                entry = entries[index]
                if entry is not None:
                    return entry
                index += 1
            page = self._pages.get(page.after)
            index = 0
        self.missed = NO_PAGE
        return None

    def page(self, number: int) -> Page | None:
        """That page, if there are copies in it."""
        return self._pages.get(number)

    @property
    def pages(self) -> int:
        """How many there are."""
        return len(self._pages)

    @property
    def tail(self) -> Page | None:
        """The page that copies are added to."""
        return self._tail

    def ahead(self, position: int, count: int) -> list[Page]:
        """Up to so many pages, the first with a place at or behind `position`."""
        found: list[Page] = []
        number = position >> PAGE_BITS
        page = self._pages.get(number)
        if page is None:
            page = self._page_after(number)
        while page is not None and len(found) < count:
            found.append(page)
            page = self._pages.get(page.after)
        return found

    def first(self) -> int | None:
        """Where the first copy is, or its page that is away begins."""
        entry = self.next_at(0)
        if entry is not None:
            return entry.position
        return None if self.missed == NO_PAGE else self.missed << PAGE_BITS

    def oldest_ms(self) -> int | None:
        """When the first copy came, or another of its page that is away."""
        entry = self.next_at(0)
        if entry is not None:
            return entry.message.arrived_ms
        page = self._pages.get(self.missed)
        return None if page is None or page.away is None else page.away.arrived_ms

    def is_away(self, position: int) -> bool:
        """Whether a copy at `position`, if there is one, is on disk."""
        page = self._pages.get(position >> PAGE_BITS)
        return page is not None and page.away is not None

    def pin(self, position: int, pins: int) -> None:
        """So many more have a delivery of that copy, or look for it; or fewer."""
        page = self._pages.get(position >> PAGE_BITS)
        if page is not None:
            page.pins += pins

    def send_away(self, page: Page, away: Away) -> None:
        """The copies of a page are on disk from now on."""
        page.away = away
        page.entries = []
        self.here.pop(page.number, None)  # it may be the last one, of a level of priority
        self._count_away(away, 1)

    def bring_back(self, page: Page, away: Away, entries: list[Entry | None]) -> None:
        """And here again."""
        page.away = None
        page.entries = entries
        self.here[page.number] = page
        self._count_away(away, -1)

    def _count_away(self, away: Away, pages: int) -> None:
        self.away += pages
        self.away_count += pages * away.messages
        self.away_payload += pages * away.payload
        self.away_octets += pages * away.memory

    def remove_away(self, page: Page, size: int, memory: int) -> None:
        """A copy of a page that is away has left: its message's octets, and as in `Away.memory`."""
        away = page.away
        assert away is not None
        page.live -= 1
        self.count -= 1
        self.away_count -= 1
        self.away_payload -= size
        self.away_octets -= memory
        if page.live == 0:
            self.away -= 1
            self._drop(page)

    def lose(self, page: Page, count: int) -> None:
        """So many copies of a page that was away have not come back."""
        self.count -= count
        page.live -= count
        if page.live == 0:
            self._drop(page)

    def _new_page(self, number: int) -> Page:
        old = self._tail
        page = Page(number, NO_PAGE if old is None else old.number)
        self._pages[number] = page
        self._tail = page
        if old is None:
            self._first = number
        else:
            old.after = number
            if old.away is None:
                self.here[old.number] = old
            if old.live == 0:
                self._drop(old)
        return page

    def _drop(self, page: Page) -> None:
        del self._pages[page.number]
        self.here.pop(page.number, None)
        if page.kept is not None and self.keeper is not None:
            self.keeper.on_dropped(page)
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

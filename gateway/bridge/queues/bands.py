"""Which copy of a queue is the next: of each level of priority the first that nobody holds.

A plain queue is one band. Copies that nobody holds are found behind a band's `head` (never acquired
so far) and in its `returned` heap (given back, all before `head`).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, final

from gateway.bridge.queues.places import (
    AVAILABLE,
    NO_PAGE,
    PAGE_BITS,
    PAGE_MASK,
    Away,
    AwayCopy,
    Entry,
    Places,
)
from gateway.message import Flag, Message

MIDDLE: Final = 5
FILE: Final = int(Flag.FILE)
STREAM: Final = int(Flag.STREAM)
CONTENT: Final = FILE | STREAM
# What is known of a copy that is on disk, in an octet: `kind_of`.
RANK: Final = 15
RANK_MAX: Final = 9
KIND_FILE: Final = 16
KIND_STREAM: Final = 32
KIND_CONTENT: Final = KIND_FILE | KIND_STREAM


def kind_of(message: Message) -> int:
    """Its priority, 9 at most, and of which class it is, if of one of the two."""
    kind = min(message.rank(), RANK_MAX)
    if message.flags & FILE:
        kind |= KIND_FILE
    if message.flags & STREAM:
        kind |= KIND_STREAM
    return kind


def is_higher(kind: int) -> bool:
    """Whether it is content of the higher of two levels: of the priorities 5 to 9."""
    return kind & KIND_CONTENT != 0 and kind & RANK >= MIDDLE


@final
class Band:
    """The copies of one level in their order, acquired ones included."""

    __slots__ = ("_head", "_returned", "places")

    def __init__(self, places: Places) -> None:
        self.places = places
        self._head = 0
        self._returned: list[int] = []

    @property
    def head(self) -> int:
        """No copy in front of it is to be had, but for those that were given back."""
        return self._head

    def peek(self) -> Entry | None:
        """The first copy that nobody holds."""
        returned = self._returned
        while returned:
            position = returned[0]
            entry = self.places.get(position)
            if entry is not None and entry.holder == AVAILABLE:
                return entry
            if entry is None and self.places.holds(position):
                self.places.missed = position >> PAGE_BITS
                return None
            heappop(returned)
            if entry is not None:
                entry.returned = False
        entry = self.places.next_at(self._head)
        while entry is not None and entry.holder != AVAILABLE:
            self._head = entry.position + 1
            entry = self.places.next_at(self._head)
        if entry is not None:
            self._head = entry.position
        elif self.places.missed != NO_PAGE:  # there is nothing in front of that page
            self._head = max(self._head, self.places.missed << PAGE_BITS)
        return entry

    def hold(self, entry: Entry) -> None:
        """Somebody holds it from now on."""
        if entry.position == self._head:
            self._head += 1

    def give_back(self, entry: Entry) -> None:
        """Nobody holds it any more."""
        if entry.position < self._head and not entry.returned:
            entry.returned = True
            heappush(self._returned, entry.position)

    def near(self, count: int) -> list[int]:
        """The pages, by number, of the next copies: so many of those given back, and of others."""
        pages = self.places.ahead(self._head, count)
        if self._returned:
            pages.extend(self.places.ahead(self._returned[0], count))
        return [page.number for page in pages]

    def come_back(self, entries: list[Entry | None]) -> None:
        """Copies are here again that were on disk: those before `head` wait among the returned."""
        for entry in entries:
            if entry is not None and entry.position < self._head:
                entry.returned = True

    def forget(self) -> None:
        """The queue is empty."""
        self._returned.clear()


@final
class Bands:
    """The levels of a queue with priorities.

    Pages of a queue are those of its levels, which have the same numbers: they go away together.

    Attributes:
        levels: the lowest first.
        missed: as `Places.missed`, by the last look for a copy of any level.
    """

    __slots__ = ("_by_class", "_fair", "_first", "_level", "_run", "levels", "missed")

    def __init__(self, count: int, fair: tuple[int, ...], *, by_class: bool = False) -> None:
        """`by_class`: two levels, by which only content of classes is told apart."""
        self._by_class = by_class
        self.levels = [Band(Places()) for _ in range(count)]
        # With fewer than ten levels those in the middle are their own (1.0 3.2.1, 0-10 the same).
        self._first = MIDDLE - (count + 1) // 2
        self._fair = fair
        self._level = count - 1  # whose turn it is
        self._run = 0  # copies of it that were sent in a row
        self.missed: int = NO_PAGE

    def level_of(self, message: Message) -> int:
        """0 is the lowest."""
        return self.level_of_kind(kind_of(message))

    def level_of_kind(self, kind: int) -> int:
        """The same of a copy that is on disk."""
        if self._by_class:
            return 1 if is_higher(kind) else 0
        return min(max((kind & RANK) - self._first, 0), len(self.levels) - 1)

    def band_of(self, entry: Entry) -> Band:
        """Where a copy is."""
        return self.levels[self.level_of(entry.message)]

    def put(self, entry: Entry) -> None:
        """A copy behind all others of its level."""
        self.band_of(entry).places.append(entry)

    def remove(self, entry: Entry) -> None:
        """A copy leaves."""
        self.band_of(entry).places.remove(entry)

    def hold(self, entry: Entry) -> None:
        """Somebody holds it from now on."""
        level = self.level_of(entry.message)
        self.levels[level].hold(entry)
        if level == self._level:
            self._run += 1
        else:
            self._level = level
            self._run = 1

    def order(self) -> list[int]:
        """The levels, as they have their turn."""
        count = len(self.levels)
        start = count - 1
        if self._fair:
            start = self._level
            bound = self._fair[start]
            if bound and self._run >= bound:
                start -= 1
        return [(start - each) % count for each in range(count)]

    def peek(self) -> Entry | None:
        """The copy that is to be sent next."""
        self.missed = NO_PAGE
        for level in self.order():
            band = self.levels[level]
            entry = band.peek()
            if entry is None and band.places.missed != NO_PAGE:
                self.missed = band.places.missed
                return None
            if entry is not None:
                if level == self._level and self._fair and self._run >= self._fair[level]:
                    self._run = 0  # no other level has any
                return entry
        return None

    def lowest(self) -> Entry | None:
        """The oldest of the lowest that nobody holds."""
        self.missed = NO_PAGE
        for band in self.levels:
            entry = band.peek()
            if entry is not None:
                return entry
            if band.places.missed != NO_PAGE:
                self.missed = band.places.missed
                return None
        return None

    def oldest(self) -> Entry | None:
        """The oldest of the lowest, whoever holds it."""
        for band in self.levels:
            entry = band.places.next_at(0)
            if entry is not None:
                return entry
        return None

    def lay(self, number: int, away: Away, kinds: bytes) -> None:
        """A page behind all others that is on disk, with copies of these kinds."""
        counts = [0 for _ in self.levels]
        for kind in set(kinds):
            counts[self.level_of_kind(kind)] += kinds.count(kind)
        for level, band in enumerate(self.levels):
            if counts[level]:
                band.places.lay(number, away, counts[level])

    def send_away(self, number: int, away: Away) -> None:
        """A page of the queue is on disk from now on."""
        for band in self.levels:
            page = band.places.page(number)
            if page is not None and page.live:
                band.places.send_away(page, away)

    def bring_back(self, number: int, away: Away, entries: list[Entry | None]) -> None:
        """And here again; what is not among `entries` is lost."""
        by_level: list[list[Entry | None]] = [[] for _ in self.levels]
        found = [0 for _ in self.levels]
        for entry in entries:
            if entry is not None:
                level = self.level_of(entry.message)
                mine = by_level[level]
                while len(mine) < entry.position & PAGE_MASK:
                    mine.append(None)
                mine.append(entry)
                found[level] += 1
        for level, band in enumerate(self.levels):
            page = band.places.page(number)
            if page is not None and page.away is not None:
                band.places.bring_back(page, away, by_level[level])
                band.come_back(by_level[level])
                if found[level] < page.live:
                    band.places.lose(page, page.live - found[level])

    def leave_away(self, number: int, copy: AwayCopy) -> None:
        """A copy leaves whose page is on disk."""
        places = self.levels[self.level_of_kind(copy.kind)].places
        page = places.page(number)
        assert page is not None
        places.remove_away(page, copy.size, copy.memory)

    def forget(self) -> None:
        """The queue is empty."""
        for band in self.levels:
            band.forget()

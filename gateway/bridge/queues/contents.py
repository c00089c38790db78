"""Content of two classes in a queue, for which other rules hold: files and streams.

A file is never let go to make room: where it finds none, it enters all the same, and whoever
published it waits. A stream's message makes room by letting go of those of its class, the lowest
priority first, the oldest of it. In which pages such copies are, heaps say, and a page is looked
through when it comes up: so it costs no walk through the queue, and nothing for each copy, which
may be on disk.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

from gateway.bridge.queues.bands import (
    FILE,
    KIND_FILE,
    KIND_STREAM,
    RANK,
    Bands,
    is_higher,
    kind_of,
)
from gateway.bridge.queues.places import (
    AVAILABLE,
    NO_PAGE,
    PAGE_BITS,
    PAGE_MASK,
    Entry,
    Page,
    Places,
)
from gateway.wire.work import LOOK, WORK

LEVELS: Final = 10
REBUILD_SLACK: Final = 64


def is_file(entry: Entry) -> bool:
    """Whether a copy is one that stays."""
    return entry.message.flags & FILE != 0


@final
class Candidates:
    """Which copies of one kind may go, the lowest first, and the oldest of these.

    What stands in the heap is a level and a page that may have such copies of it; and one page of
    one level is known as far as it has been looked through.

    Attributes:
        streams: they are streams' messages, by their priority; else all that is no file.
        number: of that page, from which more may go.
    """

    __slots__ = ("_heap", "_index", "_level", "_places", "_there", "number", "streams")

    def __init__(self, places: Places, *, streams: bool) -> None:
        self.streams = streams
        self._places = places
        self._heap: list[tuple[int, int]] = []
        self._there: set[tuple[int, int]] = set()
        self._level = 0
        self.number: int = NO_PAGE
        self._index = 0

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, level: int, position: int) -> None:
        """A copy may go: it is new, or nobody has it any more."""
        number = position >> PAGE_BITS
        if number == self.number and level == self._level:
            self._index = min(self._index, position & PAGE_MASK)
        item = level, number
        if item not in self._there:
            self._there.add(item)
            heappush(self._heap, item)
            if len(self._heap) > 2 * LEVELS * self._places.pages + REBUILD_SLACK:
                self._trim()

    def _trim(self) -> None:
        """Forget pages that have gone, once they are the most."""
        places = self._places
        self._there = {item for item in self._there if places.page(item[1]) is not None}
        self._heap = list(self._there)
        heapify(self._heap)

    def first(self, bands: Bands | None) -> Entry | None:
        """The copy that goes first; `None`: none may, or its page is away (`Places.missed`).

        `bands`: by which levels are told apart.
        """
        places = self._places
        places.missed = NO_PAGE
        while self._heap:
            level, number = self._heap[0]
            page = places.page(number)
            if page is not None and page.away is not None:
                places.missed = number
                return None
            entry = None if page is None else self._in(page, level, bands)
            if entry is not None:
                return entry
            self._there.discard(heappop(self._heap))
        return None

    def _in(self, page: Page, level: int, bands: Bands | None) -> Entry | None:
        """The first copy of that level in a page that may go."""
        self._places.wanted.discard(page.number)
        if self.number != page.number or self._level != level:
            self.number = page.number
            self._level = level
            self._index = 0
        entries = page.entries
        while self._index < len(entries):
            entry = entries[self._index]
            if entry is not None and entry.holder == AVAILABLE:
                WORK.units += LOOK
                if self._is_of(entry, level, bands):
                    return entry
            self._index += 1
        self.number = NO_PAGE
        return None

    def _is_of(self, entry: Entry, level: int, bands: Bands | None) -> bool:
        kind = kind_of(entry.message)
        if self.streams:
            return kind & KIND_STREAM != 0 and kind & RANK == level
        return not kind & KIND_FILE and level == _level_of(kind, bands)


@final
class Contents:
    """That of one queue, from its first content of these classes on.

    Attributes:
        files: how many of its copies are files; `higher`: content of the higher of two levels.
        flows: its publishers are made to wait for room that files take.
        streams: which streams' messages may go, by priority.
        others: the same of what is no file, by level, of a ring.
    """

    __slots__ = ("files", "flows", "higher", "others", "streams")

    def __init__(self, places: Places, *, rings: bool, bands: Bands | None) -> None:
        self.streams = Candidates(places, streams=True)
        self.others: Candidates | None = Candidates(places, streams=False) if rings else None
        self.files = 0
        self.higher = 0
        self.flows = False
        # What is there goes before all files in any case, unless by its level.
        if self.others is not None and bands is not None:
            for level, band in enumerate(bands.levels):
                for page in band.places.ahead(0, band.places.pages):
                    self.others.put(level, page.number << PAGE_BITS)
                    WORK.units += LOOK

    def put(self, entry: Entry, level: int) -> None:
        """A copy has come in, of that level."""
        self.count(kind_of(entry.message), 1)
        self.free(entry, level)

    def free(self, entry: Entry, level: int) -> None:
        """A copy that is no file may go: it is new, or nobody has it any more."""
        self._offer(kind_of(entry.message), level, entry.position)

    def _offer(self, kind: int, level: int, position: int) -> None:
        if kind & KIND_FILE:
            return
        if kind & KIND_STREAM:
            self.streams.put(kind & RANK, position)
        if self.others is not None:
            self.others.put(level, position)

    def lay(self, number: int, kinds: bytes, bands: Bands | None) -> None:
        """A page behind all others that is on disk, with copies of these kinds."""
        for kind in set(kinds):
            self.count(kind, kinds.count(kind))
            self._offer(kind, _level_of(kind, bands), number << PAGE_BITS)

    def near(self) -> list[int]:
        """The pages, by number, from which more may go next."""
        found = [self.streams.number]
        if self.others is not None:
            found.append(self.others.number)
        return [number for number in found if number != NO_PAGE]

    def count(self, kind: int, copies: int) -> None:
        """So many copies of that kind have come, or left."""
        if kind & KIND_FILE:
            self.files += copies
        if is_higher(kind):
            self.higher += copies


def _level_of(kind: int, bands: Bands | None) -> int:
    return 0 if bands is None else bands.level_of_kind(kind)


def divided(places: Places, contents: Contents) -> Bands:
    """Two levels of what has had none; all that is on disk is of the lower one."""
    bands = Bands(2, (), by_class=True)
    for page in places.ahead(0, places.pages):
        if page.away is not None:
            bands.levels[0].places.lay(page.number, page.away, page.live)
        for entry in page.entries:
            if entry is not None:
                entry.returned = False
                bands.put(entry)
                contents.free(entry, bands.level_of(entry.message))
            WORK.units += LOOK
    return bands

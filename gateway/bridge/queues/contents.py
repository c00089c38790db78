"""Content of two classes in a queue, for which other rules hold: files and streams.

A file is never let go to make room: where it finds none, it enters all the same, and whoever
published it waits. A stream's message makes room by letting go of those of its class, the lowest
priority first, the oldest of it. Which copies those are, heaps of theirs say, whose entries are
looked at when they are taken out: so it costs no walk through the queue.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

from gateway.bridge.queues.places import AVAILABLE, Entry, Places
from gateway.message import Flag

FILE: Final = int(Flag.FILE)
STREAM: Final = int(Flag.STREAM)
CONTENT: Final = FILE | STREAM
REBUILD_SLACK: Final = 64


@final
class Contents:
    """That of one queue, from its first content of these classes on.

    Attributes:
        files: how many of its copies are files.
        flows: its publishers are made to wait for room that files take.
        streams: which streams' messages may go, by priority and position; some have left.
        others: the same of what is no file, by level and position, of a ring.
    """

    __slots__ = ("_places", "files", "flows", "others", "streams")

    def __init__(self, places: Places, *, rings: bool) -> None:
        self._places = places
        self.streams: list[tuple[int, int]] = []
        self.others: list[tuple[int, int]] | None = [] if rings else None
        self.files = 0
        self.flows = False

    def put(self, entry: Entry, level: int) -> None:
        """A copy has come in, of that level."""
        if entry.message.flags & FILE:
            self.files += 1
        else:
            self.free(entry, level)

    def free(self, entry: Entry, level: int) -> None:
        """A copy that is no file may go: it is new, or nobody has it any more."""
        if entry.message.flags & FILE:
            return
        if entry.message.flags & STREAM:
            heappush(self.streams, (entry.message.rank(), entry.position))
            self._trim(self.streams)
        others = self.others
        if others is not None:
            heappush(others, (level, entry.position))
            self._trim(others)

    def remove(self, entry: Entry) -> None:
        """A copy leaves."""
        if entry.message.flags & FILE:
            self.files -= 1

    def is_file(self, entry: Entry) -> bool:
        """Whether a copy is one that stays."""
        return entry.message.flags & FILE != 0

    def stream_to_go(self) -> Entry | None:
        """The stream's message that goes first; `None`: nobody may let go of any."""
        return self._first(self.streams)

    def other_to_go(self) -> Entry | None:
        """The copy of a ring that goes first, of those that are no files."""
        return None if self.others is None else self._first(self.others)

    def _trim(self, heap: list[tuple[int, int]]) -> None:
        """Forget those that have gone, once they are the most."""
        places = self._places
        if len(heap) > 2 * places.count + REBUILD_SLACK:
            heap[:] = {item for item in heap if places.get(item[1]) is not None}
            heapify(heap)

    def _first(self, heap: list[tuple[int, int]]) -> Entry | None:
        while heap:
            entry = self._places.get(heap[0][1])
            if entry is not None and entry.holder == AVAILABLE:
                return entry
            heappop(heap)  # it has gone, or comes again when nobody has it
        return None

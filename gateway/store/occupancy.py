"""Which rows of the log are still needed, and which to write again so that it does not grow.

Pure bookkeeping, told of each row in order, when it is committed and again at recovery. Entries of
a row leave in any order, hours apart, so three rules decide when the row itself can go:

* A row is needed while an entry in it lives, or the last delivery count of a living entry is in it.
* What supersedes something in an older row (a dequeue, or the entry written again) is needed until
  that older row is gone: else the older row would bring the entry back at the next start.
* So rows go oldest first along these chains, and a row with one long-lived entry keeps every later
  row that dequeued its neighbours, and those keep others. That is why stragglers are written again:
  when the log is more than twice what lives in it plus a slack, the oldest row that holds garbage
  is emptied by writing what lives in it once more, at the end. Rows without garbage are left alone:
  they hold up nothing. Each octet of garbage is so paid for by about one octet written again.

Rows taken by one `take_dead` must be deleted in one transaction, those of an earlier one not later:
that keeps the chains whole on disk.
"""

from __future__ import annotations

import heapq
from typing import Final, final

from gateway.store.log_rows import walk
from gateway.store.places import Places

ENTRY_OCTETS: Final = 25
MOST: Final = 4096  # entries that are named at once


@final
class Row:
    """One row of the log.

    Attributes:
        size: octets on disk.
        entries, message_octets: what was enqueued in it.
        live: entries in it that are in their queues.
        counts: delivery counts in it, annotations included, that are the last of a living entry.
        superseding: what it supersedes in rows that still exist.
        superseded_by: row -> how much of this row that one supersedes.
        share: octets that one entry takes, on average.
    """

    __slots__ = (
        "counts",
        "entries",
        "live",
        "message_octets",
        "number",
        "share",
        "size",
        "superseded_by",
        "superseding",
    )

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.entries = 0
        self.message_octets = 0
        self.live = 0
        self.counts = 0
        self.superseding = 0
        self.superseded_by: dict[int, int] = {}
        self.share = 0

    def dead(self) -> bool:
        """Nothing that starts from this row would be missed."""
        return self.live == 0 and self.counts == 0 and self.superseding == 0


@final
class Occupancy:
    """The rows, where each living entry is, and how much of the log lives.

    Attributes:
        octets: of all rows that are not dead.
        live_octets: about what the living entries among them take.
        dead, dead_octets: the rows that nobody needs.
    """

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self.octets = 0
        self.live_octets = 0
        self.dead_octets = 0
        self.dead: list[int] = []
        self.current = Row(0, 0)
        self.places: dict[int, Places] = {}
        self.counted: dict[tuple[int, int], tuple[int, int, bytes]] = {}
        self._dirty: list[int] = []

    def add(self, number: int, size: int, writes: bytes) -> None:
        """The newest row, its size on disk and its records, which were checked before."""
        row = self.current = Row(number, size)
        self.rows[number] = row
        walk(writes, self)
        if row.entries:
            row.share = row.message_octets // row.entries + ENTRY_OCTETS
        self.octets += size
        self.live_octets += row.share * row.live
        if row.dead():
            self._died(row)
        elif size > 2 * row.share * row.live:
            heapq.heappush(self._dirty, number)

    def overgrown(self, slack: int) -> bool:
        """More garbage than living octets and `slack`."""
        return self.octets > 2 * self.live_octets + slack

    def wasteful(self) -> bool:
        """More than a quarter of garbage beside what lives: too much where the disk is full."""
        return 4 * self.octets > 5 * self.live_octets

    def victim(self) -> int:
        """The oldest row with garbage and something to keep, to be written again; 0 if none."""
        while self._dirty:
            number = self._dirty[0]
            row = self.rows.get(number)
            if row is not None and (row.live or row.counts):
                return number
            heapq.heappop(self._dirty)
        return 0

    def take_victim(self) -> int:
        """The oldest row with garbage and something to keep, not to be named again; 0 if none.

        What it keeps must be in the next row, or stays where it is. A row may have been noted
        twice: when it came and when something in it was superseded.
        """
        number = self.victim()
        while number and self._dirty and self._dirty[0] == number:
            heapq.heappop(self._dirty)
        return number

    def take_dead(self) -> list[int]:
        """Rows to delete now: no longer counted, and neither are those that they kept."""
        taken: list[int] = []
        while self.dead:
            number = self.dead.pop()
            taken.append(number)
            row = self.rows.pop(number)
            for other, times in row.superseded_by.items():
                superseding = self.rows[other]
                superseding.superseding -= times
                if superseding.dead():
                    self._died(superseding)
        self.dead_octets = 0
        return taken

    def place(self, queue_id: int, position: int) -> int:
        """The row that a living entry is in; 0 if it does not live."""
        queue = self.places.get(queue_id)
        return 0 if queue is None else queue.get(position)

    def living(
        self, queue_id: int, first: int, behind: int, most: int = MOST
    ) -> list[tuple[int, int]]:
        """The living entries of a part of a queue, as `Places.living`."""
        queue = self.places.get(queue_id)
        return [] if queue is None else queue.living(first, behind, most)

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """Weigh it."""
        self.current.message_octets += end - start

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """The entry is in the current row now."""
        queue = self.places.get(queue_id)
        if queue is None:
            queue = self.places[queue_id] = Places()
        row = self.current
        before = queue.put(position, row.number)
        if before:
            self._supersede(before)
            if self.counted:
                self._uncount(queue_id, position)  # what it has now comes behind it
        row.entries += 1
        row.live += 1

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """The entry lives no more."""
        queue = self.places.get(queue_id)
        if queue is None:
            return
        before = queue.take(position)
        if not before:
            return
        if queue.count == 0:
            del self.places[queue_id]
        self._supersede(before)
        if self.counted:
            self._uncount(queue_id, position)

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """The last delivery count and annotations of the entry are in the current row now."""
        if not self.place(queue_id, position):
            return
        self._uncount(queue_id, position)
        self.counted[(queue_id, position)] = (self.current.number, count, annotations)
        self.current.counts += 1

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_removed(self, kind: int, key: str) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """Topology is kept in a table of its own."""

    def _supersede(self, number: int) -> None:
        """An entry of row `number` is superseded by the row under way."""
        row, current = self.rows[number], self.current
        row.live -= 1
        if row is current:
            return
        self.live_octets -= row.share
        if not row.superseded_by:
            heapq.heappush(self._dirty, number)
        row.superseded_by[current.number] = row.superseded_by.get(current.number, 0) + 1
        current.superseding += 1
        if row.dead():
            self._died(row)

    def _uncount(self, queue_id: int, position: int) -> None:
        counted = self.counted.pop((queue_id, position), None)
        if counted is None:
            return
        row = self.rows[counted[0]]
        row.counts -= 1
        if row is not self.current and row.dead():
            self._died(row)

    def _died(self, row: Row) -> None:
        self.octets -= row.size
        self.dead_octets += row.size
        self.dead.append(row.number)

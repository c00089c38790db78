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

from mypy_extensions import i64

from gateway.store.log_rows import STEP, Steps
from gateway.store.places import Places
from gateway.store.tallies import COUNTS, LIVE, SHARE, SUPERSEDING, Tallies
from gateway.store.writes import DEQUEUE, ENQUEUE

ENTRY_OCTETS: Final = 25
MOST: Final = 4096  # entries that are named at once


@final
class Occupancy:
    """The rows, where each living entry is, and how much of the log lives.

    Attributes:
        rows: what is counted of each.
        octets: of all rows that are not dead.
        live_octets: about what the living entries among them take.
        dead, dead_octets: the rows that nobody needs.
        flags: those that messages have had, one or the other.
    """

    def __init__(self) -> None:
        self.rows = Tallies()
        self.octets = 0
        self.live_octets = 0
        self.dead_octets = 0
        self.flags: i64 = 0
        self.dead: list[int] = []
        self.places: dict[int, Places] = {}
        self.counted: dict[tuple[int, int], tuple[int, int, bytes]] = {}
        self._superseded_by: dict[int, dict[int, int]] = {}  # row -> how much of which other one
        self._dirty: list[int] = []
        # The row under way, and what is counted of it.
        self._number: i64 = 0
        self._live: i64 = 0
        self._counts: i64 = 0
        self._superseding: i64 = 0

    def add(self, number: int, size: int, steps: Steps) -> None:
        """The newest row, its size on disk and what its records do."""
        self._number = number
        self._live = self._counts = self._superseding = 0
        self.flags |= steps.flags
        rows = self.rows
        rows.add(number, size)
        entries = self._take(steps)
        share = steps.message_octets // entries + ENTRY_OCTETS if entries else 0
        rows.put(number, LIVE, self._live)
        rows.put(number, COUNTS, self._counts)
        rows.put(number, SUPERSEDING, self._superseding)
        rows.put(number, SHARE, share)
        self.octets += size
        self.live_octets += share * self._live
        if rows.is_dead(number):
            self._died(number)
        elif size > 2 * share * self._live:
            heapq.heappush(self._dirty, number)

    def _take(self, steps: Steps) -> i64:
        """One step after the other; how many entries came."""
        numbers = steps.numbers
        entries: i64 = 0
        at: i64 = 0
        while at < len(numbers):
            kind = numbers[at]
            if kind == ENQUEUE:
                self._enqueue(numbers[at + 1], numbers[at + 2])
                entries += 1
            elif kind == DEQUEUE:
                self._dequeue(numbers[at + 1], numbers[at + 2])
            else:
                count, annotations = steps.counted[numbers[at + 3]]
                self._count(numbers[at + 1], numbers[at + 2], count, annotations)
            at += STEP
        return entries

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
            if self.rows.get(number, LIVE) or self.rows.get(number, COUNTS):
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
            self.rows.remove(number)
            for other, times in self._superseded_by.pop(number, {}).items():
                self._change(other, SUPERSEDING, -times)
        self.dead_octets = 0
        return taken

    def held(self) -> dict[int, int]:
        """How many entries queues have, by their numbers."""
        return {number: int(places.count) for number, places in self.places.items()}

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

    def _enqueue(self, queue_id: i64, position: i64) -> None:
        """The entry is in the row under way now."""
        queue = self.places.get(queue_id)
        if queue is None:
            queue = self.places[queue_id] = Places()
        before = queue.put(position, self._number)
        self._live += 1
        if before:
            self._supersede(before)
            if self.counted:
                self._uncount(queue_id, position)  # what it has now comes behind it

    def _dequeue(self, queue_id: i64, position: i64) -> None:
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

    def _count(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """The last delivery count and annotations of the entry are in the row under way now."""
        if not self.place(queue_id, position):
            return
        self._uncount(queue_id, position)
        self.counted[(queue_id, position)] = (self._number, count, annotations)
        self._counts += 1

    def _supersede(self, number: i64) -> None:
        """An entry of row `number` is superseded by the row under way."""
        if number == self._number:
            self._live -= 1
            return
        self.live_octets -= self.rows.get(number, SHARE)
        by = self._superseded_by.get(number)
        if by is None:
            by = self._superseded_by[number] = {}
            heapq.heappush(self._dirty, number)
        by[self._number] = by.get(self._number, 0) + 1
        self._superseding += 1
        self._change(number, LIVE, -1)

    def _uncount(self, queue_id: int, position: int) -> None:
        counted = self.counted.pop((queue_id, position), None)
        if counted is None:
            return
        if counted[0] == self._number:
            self._counts -= 1
        else:
            self._change(counted[0], COUNTS, -1)

    def _change(self, number: i64, field: i64, by: i64) -> None:
        """Another row than the one under way has so much less."""
        rows = self.rows
        rows.put(number, field, rows.get(number, field) + by)
        if rows.is_dead(number):
            self._died(number)

    def _died(self, number: i64) -> None:
        size = self.rows.size(number)
        self.octets -= size
        self.dead_octets += size
        self.dead.append(number)

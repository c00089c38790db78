"""Writes what lives in one row once more, so that the row can go (`occupancy` says why)."""

from __future__ import annotations

from typing import final

from gateway.store.log_rows import walk
from gateway.store.occupancy import Occupancy
from gateway.store.writes import TurnWriter


def living_part(number: int, writes: bytes, occupancy: Occupancy) -> bytes:
    """The records of row `number`, whose records are `writes`, that are still needed, as a turn."""
    rewriter = _Rewriter(number, occupancy)
    walk(writes, rewriter)
    return rewriter.out.take()


@final
class _Rewriter:
    """Passes on the entries that live in the row, their messages, last counts and annotations."""

    def __init__(self, number: int, occupancy: Occupancy) -> None:
        self.out = TurnWriter()
        self._number = number
        self._occupancy = occupancy
        self._messages: dict[int, bytes] = {}
        self._passed: set[tuple[int, int]] = set()

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """Keep it until an entry of it lives."""
        self._messages[message_id] = octets[start:end]

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """Pass on a living entry, with its message and its delivery count.

        Once: gateways before this one wrote some rows that have an entry twice.
        """
        entry = (queue_id, position)
        if entry in self._passed or self._occupancy.place(queue_id, position) != self._number:
            return
        self._passed.add(entry)
        message = self._messages.pop(message_id, b"")
        if message:
            self.out.packed_message(message)
        self.out.enqueue(queue_id, position, message_id)
        self._count(queue_id, position)

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """Pass on the last count of an entry that lives in another row."""
        counted = self._occupancy.counted.get((queue_id, position))
        if counted is not None and counted[0] == self._number:
            self._count(queue_id, position)

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """Needed by older rows only, and those went before."""

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_removed(self, kind: int, key: str) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """Topology is kept in a table of its own."""

    def _count(self, queue_id: int, position: int) -> None:
        counted = self._occupancy.counted.get((queue_id, position))
        if counted is not None:
            self.out.redelivered(queue_id, position, counted[1], counted[2])

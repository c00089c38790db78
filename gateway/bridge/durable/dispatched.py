"""Which of the copies that the store brings back somebody may have seen before.

After a stop in order nothing was with a subscriber. After any other, every copy of a queue that had
been subscribed to since (`DISPATCHED`) may have been seen. How far that goes is stored (`SEEN`): it
still holds when the next stop is in order, and for a queue that is absent for the time being. So
the suspicion counts once, however often the gateway starts: the deliveries that the store counts
for a copy are those that have failed, without it (`QueueRows.seen_before`).
"""

from __future__ import annotations

from typing import final

from gateway.bridge.durable.topology_rows import RowKind, encoded_position, position_row
from gateway.bridge.queues.queue import Queue
from gateway.store.interface import TopologyRow
from gateway.store.writes import TurnWriter


@final
class Dispatched:
    """Of one recovery.

    Args:
        clean: the last stop was in order.
        first_position: all that the store has is before it.
    """

    __slots__ = ("_bounds", "_clean", "_first_position", "_marked", "_writes")

    def __init__(self, writes: TurnWriter, *, clean: bool, first_position: int) -> None:
        self._writes = writes
        self._clean = clean
        self._first_position = first_position
        self._marked: set[str] = set()
        self._bounds: dict[str, int] = {}  # by the key of a queue; what is before that was seen

    def read(self, row: TopologyRow) -> None:
        """A row of kind `DISPATCHED` or `SEEN`; `DecodeError`."""
        if row.kind == RowKind.DISPATCHED:
            self._marked.add(row.key)
        else:
            self._bounds[row.key] = position_row(row.value)

    def apply(self, queues: list[Queue]) -> None:
        """All rows have been read; `queues` are those that came back."""
        present = {queue.rows.key for queue in queues}
        for key in self._marked:
            if self._clean:
                self._writes.topology_removed(RowKind.DISPATCHED, key)
                continue
            self._bounds[key] = self._first_position
            if key not in present:
                self._store(key, self._first_position)
        for queue in queues:
            queue.rows.seen_before = self._bounds.get(queue.rows.key, 0)
            if not self._clean:
                queue.rows.marked = queue.rows.marked or queue.rows.key in self._marked

    def includes(self, queue: Queue, position: int) -> bool:
        """Whether somebody may have seen the copy at `position`."""
        return queue.deleted or position < queue.rows.seen_before

    def keep(self, queue: Queue) -> None:
        """All copies of `queue` are back: the store is to know later which of them are included."""
        bound = queue.rows.seen_before
        if bound == 0:
            return
        first = queue.places.first()
        if first is None or first >= bound:
            self._writes.topology_removed(RowKind.SEEN, queue.rows.key)
        else:
            self._store(queue.rows.key, min(bound, queue.next_position))

    def _store(self, key: str, bound: int) -> None:
        self._writes.topology(RowKind.SEEN, key, encoded_position(bound))

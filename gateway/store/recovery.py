"""Replays turns, in order, into the entries that they leave in the queues of a `MemoryStore`.

`TopologyChanges` picks out of one row what belongs into the topology table.
"""

from __future__ import annotations

from typing import final

from gateway.message import Message
from gateway.store.entries import Entry
from gateway.store.log_rows import read_message, walk


@final
class Replay:
    """The content of the queues after the turns told so far."""

    def __init__(self) -> None:
        self.queues: dict[int, dict[int, Entry]] = {}
        self.topology: dict[tuple[int, str], bytes | None] = {}
        self.highest_message_id = 0
        self._messages: dict[int, Message] = {}

    def apply(self, writes: bytes) -> None:
        """One row, which was checked before."""
        walk(writes, self)
        self._messages.clear()

    def entries(self) -> list[Entry]:
        """All entries, ordered by queue, then position; copies of a message share its `Message`."""
        found: list[Entry] = []
        shared: dict[int, Message] = {}
        for queue_id in sorted(self.queues):
            queue = self.queues[queue_id]
            for position in sorted(queue):
                entry = queue[position]
                entry.message = shared.setdefault(entry.message.id, entry.message)
                found.append(entry)
        return found

    def flags(self) -> int:
        """Those of the messages, one or the other."""
        found = 0
        for queue in self.queues.values():
            for entry in queue.values():
                found |= entry.message.flags
        return found

    def living(self, queue_id: int, first: int, behind: int) -> list[Entry]:
        """The entries of a part of a queue as they are now, by position."""
        found: list[Entry] = []
        queue = self.queues.get(queue_id, {})
        for position in sorted(queue):
            if first <= position < behind:
                kept = queue[position]
                entry = Entry(queue_id, position, kept.delivery_count, kept.message)
                entry.annotations = kept.annotations
                found.append(entry)
        return found

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """Keep it for the entries of its row."""
        self._messages[message_id] = read_message(octets, start, end)
        if message_id > self.highest_message_id:
            self.highest_message_id = message_id

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """Add the entry; one that was written again later replaces itself."""
        message = self._messages[message_id]
        queue = self.queues.setdefault(queue_id, {})
        queue[position] = Entry(queue_id, position, message.delivery_count, message)

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """Remove the entry."""
        queue = self.queues.get(queue_id)
        if queue is not None and queue.pop(position, None) is not None and not queue:
            del self.queues[queue_id]

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """Count on, annotate."""
        queue = self.queues.get(queue_id)
        entry = None if queue is None else queue.get(position)
        if entry is not None:
            entry.delivery_count = count
            entry.annotations = annotations

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """Keep its value."""
        self.topology[(kind, key)] = value

    def on_topology_removed(self, kind: int, key: str) -> None:
        """`None` tells that it was removed."""
        self.topology[(kind, key)] = None

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """So were all of these."""
        for row in _between(self.topology, kind, first, behind):
            self.topology[row] = None


@final
class TopologyChanges:
    """What the topology table is to be told: `cleared` first, then `rows`.

    Attributes:
        cleared: kind, first key and the key behind the last of rows that are gone, whatever they
            are called.
        rows: the last value of each that was written after that, `None` if it was removed.
    """

    def __init__(self, writes: bytes) -> None:
        self.cleared: list[tuple[int, str, str]] = []
        self.rows: dict[tuple[int, str], bytes | None] = {}
        walk(writes, self)

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """Kept in the log."""

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """Kept in the log."""

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """Kept in the log."""

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """Kept in the log."""

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """It has this value now."""
        self.rows[(kind, key)] = value

    def on_topology_removed(self, kind: int, key: str) -> None:
        """It is gone."""
        self.rows[(kind, key)] = None

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """These are gone, and what was said of them before does not count."""
        for row in _between(self.rows, kind, first, behind):
            del self.rows[row]
        self.cleared.append((kind, first, behind))


def _between(
    rows: dict[tuple[int, str], bytes | None], kind: int, first: str, behind: str
) -> list[tuple[int, str]]:
    return [row for row in rows if row[0] == kind and first <= row[1] < behind]

"""Rows of the log that are read again: one for some of its entries, or one after the other for all.

What lives, where, and how often it was delivered is known (`occupancy`); the messages are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gateway.message import Message
from gateway.store.interface import Entry
from gateway.store.log_rows import check, read_message, unpack_row, walk
from gateway.store.occupancy import Occupancy
from gateway.store.places import Cursor

ENTRY_OCTETS: Final = 200  # that it takes to know where an entry is


@final
class RowIndex:
    """Finds the messages of a row again; `DecodeError` unless it is as it was written.

    Attributes:
        octets: about what it takes in memory.
    """

    def __init__(self, row: bytes) -> None:
        self._writes = unpack_row(row)[0]
        self._found: dict[int, dict[int, tuple[int, int]]] = {}
        self._messages: dict[int, tuple[int, int]] = {}
        self.octets = len(row)
        check(self._writes)
        walk(self._writes, self)
        self._messages = {}

    def message(self, queue_id: int, position: int) -> Message:
        """The message of an entry that was enqueued in this row."""
        start, end = self._found[queue_id][position]
        return read_message(self._writes, start, end)

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """Note where it is."""
        self._messages[message_id] = (start, end)

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """Its message was told of before."""
        queue = self._found.get(queue_id)
        if queue is None:
            queue = self._found[queue_id] = {}
        queue[position] = self._messages[message_id]
        self.octets += ENTRY_OCTETS

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """Whoever asks knows what lives."""

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """Whoever asks knows the last count."""

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_removed(self, kind: int, key: str) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """Topology is kept in a table of its own."""


@final
class RowOrder:
    """Walks the rows of a log, each once, in their order; each queue comes by position.

    Rows that were written again have entries of older positions than the rows in front of them:
    one that is missing is looked for where it is. Meanwhile nothing must be written again.

    Attributes:
        entries, octets: found since somebody took them, and what is in their messages.

    Args:
        elsewhere: the message of an entry, by its row, queue and position.
    """

    def __init__(self, occupancy: Occupancy, elsewhere: Callable[[int, int, int], Message]) -> None:
        self._occupancy = occupancy
        self._elsewhere = elsewhere
        self._cursors: dict[int, Cursor] = {}
        self._number = 0
        self._octets = b""
        self._message: Message | None = None
        self._parts: dict[int, tuple[int, int]] = {}
        self.entries: list[Entry] = []
        self.octets = 0

    def taken(self) -> list[Entry]:
        """What was found so far; it is not found again."""
        entries, self.entries, self.octets = self.entries, [], 0
        return entries

    def take(self, number: int, writes: bytes) -> None:
        """The next row, its records checked before."""
        self._number = number
        self._parts.clear()
        self._message = None
        walk(writes, self)

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """Note where it is."""
        self._octets = octets
        self._parts[message_id] = (start, end)

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """If it lives, and was not found before, those in front of it in its queue come first."""
        cursor = self._cursors.get(queue_id)
        if cursor is None:
            places = self._occupancy.places.get(queue_id)
            if places is None:
                return
            cursor = self._cursors[queue_id] = Cursor(places)
        if position < cursor.position or self._occupancy.place(queue_id, position) != self._number:
            return
        while cursor.position < position:
            self._add(queue_id, cursor, self._elsewhere(cursor.row, queue_id, cursor.position))
        message = self._message
        if message is None or message.id != message_id:
            start, end = self._parts[message_id]
            message = self._message = read_message(self._octets, start, end)
        self._add(queue_id, cursor, message)

    def _add(self, queue_id: int, cursor: Cursor, message: Message) -> None:
        position: int = cursor.position
        entry = Entry(queue_id, position, message.delivery_count, message)
        counted = self._occupancy.counted
        if counted:
            last = counted.get((queue_id, position))
            if last is not None:
                entry.delivery_count, entry.annotations = last[1], last[2]
        self.entries.append(entry)
        self.octets += len(message.payload)
        cursor.advance()

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """What lives is known."""

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """The last counts are known."""

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_removed(self, kind: int, key: str) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """Topology is kept in a table of its own."""


def end_of_piece(entries: list[Entry], first: int, count_max: int, octets_max: int) -> int:
    """Where the piece ends that begins there: when it has so many entries or octets, or all."""
    octets = 0
    at = first
    for at in range(first, len(entries)):
        octets += len(entries[at].message.payload)
        if at + 1 - first >= count_max or octets >= octets_max:
            break
    return at + 1

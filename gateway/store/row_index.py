"""One row of the log, walked once, and where in it the messages of its entries are."""

from __future__ import annotations

from typing import Final, final

from gateway.message import Message
from gateway.store.log_rows import check, read_message, unpack_row, walk

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

"""Rows of the log that are read again: one for some of its entries, or one after the other for all.

What lives, where, and how often it was delivered is known (`occupancy`); the messages are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from librt.strings import read_i32_be, read_i64_be
from librt.vecs import vec
from mypy_extensions import i64

from gateway.message import Message
from gateway.store.entries import Entry
from gateway.store.log_rows import STEP, U32, read_message, scan, unpack_row
from gateway.store.occupancy import Occupancy
from gateway.store.places import Cursor
from gateway.store.writes import ENQUEUE

ENTRY_OCTETS: Final = 120  # that it takes to know where an entry is


@final
class RowIndex:
    """Finds the messages of a row again; `DecodeError` unless it is as it was written.

    Attributes:
        octets: about what it takes in memory.
    """

    def __init__(self, row: bytes) -> None:
        self._writes = unpack_row(row)[0]
        self._found: dict[int, dict[int, int]] = {}
        self.octets = len(row)
        numbers = scan(self._writes).numbers
        at: i64 = 0
        while at < len(numbers):
            if numbers[at] == ENQUEUE:
                self._add(numbers[at + 1], numbers[at + 2], numbers[at + 3])
            at += STEP

    def _add(self, queue_id: int, position: int, start: int) -> None:
        queue = self._found.get(queue_id)
        if queue is None:
            queue = self._found[queue_id] = {}
        queue[position] = start
        self.octets += ENTRY_OCTETS

    def message(self, queue_id: int, position: int) -> Message:
        """The message of an entry that was enqueued in this row."""
        return message_at(self._writes, self._found[queue_id][position])


def message_at(writes: bytes, start: i64) -> Message:
    """The message whose record begins there."""
    return read_message(writes, start, start + 4 + (i64(read_i32_be(writes, start)) & U32))


@final
class RowOrder:
    """Walks the rows of a log, each once, in their order; each queue comes by position.

    Rows that were written again have entries of older positions than the rows in front of them:
    one that is missing is looked for where it is. Meanwhile nothing must be written again.

    Attributes:
        entries, octets: found since somebody took them, and what is in their messages.

    Args:
        most, octets_max: of what is found before somebody takes it.
        elsewhere: the message of an entry, by its row, queue and position.
    """

    def __init__(
        self,
        occupancy: Occupancy,
        elsewhere: Callable[[int, int, int], Message],
        most: int,
        octets_max: int,
    ) -> None:
        self._occupancy = occupancy
        self._elsewhere = elsewhere
        self._most = most
        self._octets_max = octets_max
        self._number: i64 = 0
        self._numbers = vec[i64]()
        self._at: i64 = 0
        self._cursors: dict[int, Cursor] = {}
        self._writes = b""
        self._message: Message | None = None
        self.entries: list[Entry] = []
        self.octets = 0

    def taken(self) -> list[Entry]:
        """What was found so far; it is not found again."""
        entries, self.entries, self.octets = self.entries, [], 0
        return entries

    @property
    def full(self) -> bool:
        """Whether it is time to take what was found."""
        return len(self.entries) >= self._most or self.octets >= self._octets_max

    def begin(self, number: int, writes: bytes) -> None:
        """The next row; `DecodeError`."""
        self._number = number
        self._writes = writes
        self._message = None
        self._numbers = scan(writes).numbers
        self._at = 0

    def go_on(self) -> bool:
        """Find what is in it, until it is full; whether there may be more."""
        numbers = self._numbers
        at = self._at
        while at < len(numbers) and not self.full:
            if numbers[at] == ENQUEUE:
                self._enqueued(numbers[at + 1], numbers[at + 2], numbers[at + 3])
            at += STEP
        self._at = at
        return at < len(numbers)

    def _enqueued(self, queue_id: i64, position: i64, start: i64) -> None:
        """If it lives, and was not found before, those in front of it in its queue come first."""
        cursor = self._cursors.get(queue_id)
        if cursor is None:
            places = self._occupancy.places.get(queue_id)
            if places is None:
                return
            cursor = self._cursors[queue_id] = Cursor(places)
        if position < cursor.position:
            return
        row = cursor.row
        if position > cursor.position:
            row = self._occupancy.place(queue_id, position)
        if row != self._number:
            return
        while cursor.position < position:
            self._add(queue_id, cursor, self._elsewhere(cursor.row, queue_id, cursor.position))
        message = self._message
        if message is None or message.id != read_i64_be(self._writes, start + 4):
            message = self._message = message_at(self._writes, start)
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


def end_of_piece(entries: list[Entry], first: int, count_max: int, octets_max: int) -> int:
    """Where the piece ends that begins there: when it has so many entries or octets, or all."""
    octets = 0
    at = first
    for at in range(first, len(entries)):
        octets += len(entries[at].message.payload)
        if at + 1 - first >= count_max or octets >= octets_max:
            break
    return at + 1

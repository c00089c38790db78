"""Which copies a start would bring back, by queue and position, and where their messages are.

A walk over the rows of the log, one in memory at a time; what it finds goes into a database of its
own, which SQLite keeps in a file that has no name and vanishes with it: so a store of any size is
read with a bounded memory. Messages are read again from their rows, when they are asked for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final, NamedTuple, final
from zlib import crc32

from gateway.errors import DecodeError, GatewayError
from gateway.message import Message
from gateway.store.damage import HEAD_OCTETS, row_line
from gateway.store.failures import is_broken
from gateway.store.log_rows import read_message, unpack_row, walk

CACHE_KIB: Final = 32 * 1024
_SETTINGS: Final = (f"cache_size = -{CACHE_KIB}", "journal_mode = OFF", "synchronous = OFF")
_SCHEMA: Final = (
    "CREATE TABLE live (queue INTEGER, position INTEGER, message INTEGER, number INTEGER,"
    " begin INTEGER, behind INTEGER, size INTEGER, arrived INTEGER, count INTEGER,"
    " annotations BLOB, PRIMARY KEY (queue, position)) WITHOUT ROWID"
)
_ENTER: Final = (
    "INSERT INTO live VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (queue, position) DO UPDATE"
    " SET message = excluded.message, number = excluded.number, begin = excluded.begin,"
    " behind = excluded.behind, size = excluded.size, arrived = excluded.arrived,"
    " count = excluded.count, annotations = excluded.annotations"
)
_LEAVE: Final = "DELETE FROM live WHERE queue = ? AND position = ?"
_COUNT: Final = "UPDATE live SET count = ?, annotations = ? WHERE queue = ? AND position = ?"
_HAS: Final = "SELECT message FROM live WHERE queue = ? AND position = ?"
_QUEUES: Final = (
    "SELECT queue, count(*), sum(size), min(arrived), max(arrived) FROM live GROUP BY queue"
)
_COPIES: Final = "SELECT * FROM live WHERE queue = ? ORDER BY position"
_PLACES: Final = (
    "SELECT queue, position, message, size, arrived, count, annotations FROM live"
    " ORDER BY queue, position"
)

Place = tuple[int, int]  # queue and position


class Held(NamedTuple):
    """What one queue holds; times are in ms."""

    queue: int
    messages: int
    octets: int
    oldest_ms: int
    newest_ms: int


class Copy(NamedTuple):
    """One message in one queue: `delivery_count` and `annotations` are its own by now."""

    queue: int
    position: int
    delivery_count: int
    annotations: bytes
    message: Message


@final
class Living:
    """The copies in one store.

    Attributes:
        rows, messages: rows that were read, and records of messages in them.
        unread: a line for each row that is not as it was written, or whose place on disk cannot be
            read; what is in it is left out.
        twice: a line for each place that two different messages have had at once.
        idle: a line for each message that stands in a row, and in no queue.
    """

    def __init__(self, store: sqlite3.Connection) -> None:
        """Read the whole log. sqlite3.Error; GatewayError, if there is no room for the index."""
        self._store = store
        self._index = sqlite3.connect("", isolation_level=None)
        with _as_index_errors():
            for setting in _SETTINGS:
                self._index.execute(f"PRAGMA {setting}").fetchall()
            self._index.execute(_SCHEMA)
        self.rows = self.messages = 0
        self.unread: list[str] = []
        self.twice: list[str] = []
        self.idle: list[str] = []
        number = 0
        try:
            for number, body in store.execute("SELECT number, body FROM log ORDER BY number"):
                self._read(int(number), body if isinstance(body, bytes) else b"")
        except sqlite3.Error as error:
            if not is_broken(error):
                raise
            self.unread.append(f"rows behind number {number}: {error}")

    def close(self) -> None:
        """Its file vanishes."""
        self._index.close()

    def held(self) -> dict[int, Held]:
        """What queues hold, by their numbers."""
        return {row[0]: Held(*row) for row in self._index.execute(_QUEUES)}

    def has(self, queue: int, position: int) -> bool:
        """Whether a copy is there."""
        return self._index.execute(_HAS, (queue, position)).fetchone() is not None

    def digest(self) -> int:
        """Of which message stands where, how often it was delivered, and how large it is."""
        found = 0
        for row in self._index.execute(_PLACES):
            found = crc32(repr(row).encode(), found)
        return found

    def copies(self, queue: int) -> Iterator[Copy]:
        """What one queue holds, in its order; one message in memory at a time."""
        messages = _Messages(self._store)
        with closing(messages):
            for row in self._index.execute(_COPIES, (queue,)):
                _queue, position, message_id, number, begin, behind, _size, _at, count, notes = row
                try:
                    message = messages.read(number, begin, behind)
                except sqlite3.Error as error:
                    if not is_broken(error):
                        raise
                    self.unread.append(f"message {message_id} in row {number}: {error}")
                    continue
                yield Copy(
                    queue,
                    position,
                    message.delivery_count if count is None else count,
                    notes or b"",
                    message,
                )

    def _read(self, number: int, row: bytes) -> None:
        self.rows += 1
        effects = _Effects(number)
        try:
            walk(unpack_row(row)[0], effects)
        except DecodeError:
            self.unread.append(row_line(number, row))
            return
        self.messages += effects.messages
        self.twice += effects.twice
        self.idle += [
            f"row {number}: message {message} is in no queue" for message in effects.idle()
        ]
        with _as_index_errors():
            self._index_row(effects)

    def _index_row(self, effects: _Effects) -> None:
        self._look_for_twice(effects.entered)
        index = self._index
        index.execute("BEGIN")
        index.executemany(_LEAVE, effects.left)
        index.executemany(_ENTER, [(*place, *what) for place, what in effects.entered.items()])
        index.executemany(_COUNT, [(*what, *place) for place, what in effects.counted.items()])
        index.execute("COMMIT")

    def _look_for_twice(self, entered: dict[Place, list[object]]) -> None:
        """What is written again to make room has its message; another one is damage."""
        for place, what in entered.items():
            found = self._index.execute(_HAS, place).fetchone()
            if found is not None and found[0] != what[0]:
                self.twice.append(_twice_line(place, int(found[0]), what[0]))


@contextmanager
def _as_index_errors() -> Iterator[None]:
    """It is no store that cannot be written."""
    try:
        yield
    except sqlite3.Error as error:
        raise GatewayError(f"cannot write a temporary file (see TMPDIR): {error}") from error


def _twice_line(place: Place, one: int, other: object) -> str:
    queue, position = place
    return f"queue number {queue}: position {position} has message {one}, and message {other}"


@final
class _Messages:
    """Reads messages out of rows, of which the one read last is kept open."""

    def __init__(self, store: sqlite3.Connection) -> None:
        self._store = store
        self._number = -1
        self._row: sqlite3.Blob | None = None

    def read(self, number: int, begin: int, behind: int) -> Message:
        """The message whose record is there."""
        if self._row is None or number != self._number:
            self.close()
            self._row = self._store.blobopen("log", "body", number, readonly=True)
            self._number = number
        octets = self._row[HEAD_OCTETS + begin : HEAD_OCTETS + behind]
        return read_message(bytes(octets), 0, behind - begin)

    def close(self) -> None:
        """No row is open."""
        if self._row is not None:
            self._row.close()
            self._row = None


@final
class _Effects:
    """What one row does, taken together. Implements `RecordListener`.

    Attributes:
        entered, left, counted: what the row adds, takes away, and says of older copies.
    """

    def __init__(self, number: int) -> None:
        self.entered: dict[Place, list[object]] = {}
        self.left: set[Place] = set()
        self.counted: dict[Place, tuple[int, bytes]] = {}
        self.twice: list[str] = []
        self.messages = 0
        self._number = number
        self._at: dict[int, tuple[int, int, int, int]] = {}
        self._idle: set[int] = set()

    def idle(self) -> list[int]:
        """Messages that nobody has put into a queue."""
        return sorted(self._idle)

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """Where it is; what cannot be read is found here."""
        message = read_message(octets, start, end)
        self._at[message_id] = (start, end, len(message.payload), message.arrived_ms)
        self._idle.add(message_id)
        self.messages += 1

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """A copy is in its queue, or was written again."""
        place = (queue_id, position)
        before = self.entered.get(place)
        if before is not None and before[0] != message_id:
            self.twice.append(f"row {self._number}: {_twice_line(place, _id(before), message_id)}")
        self._idle.discard(message_id)
        self.entered[place] = [message_id, self._number, *self._at[message_id], None, None]
        self.counted.pop(place, None)

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """It has left."""
        place = (queue_id, position)
        self.entered.pop(place, None)
        self.counted.pop(place, None)
        self.left.add(place)

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """What it has by now."""
        place = (queue_id, position)
        here = self.entered.get(place)
        if here is not None:
            here[-2:] = [count, annotations]
        else:
            self.counted[place] = (count, annotations)

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """The topology is read from its table."""

    def on_topology_removed(self, kind: int, key: str) -> None:
        """So it is gone from there."""

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """So are these."""


def _id(entered: list[object]) -> int:
    return int(str(entered[0]))

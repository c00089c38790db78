"""The rows of the log: how one is laid out, and a walk over its records for whoever listens, or a
scan for whoever needs numbers alone.

A row is what one commit made durable. Big-endian: CRC-32 u32 of all that follows; version u8;
length u32 of the records; the records of its turns, one turn after another, as `writes` packed
them; then the turns' audit blocks.

Everything is checked before anything is told of a record, but not before anything of a row: whoever
must not act on half a row walks it with `check` first.
"""

from __future__ import annotations

from typing import Final, Protocol, final
from zlib import crc32

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from librt.vecs import append, vec
from mypy_extensions import i64

from gateway.errors import DecodeError
from gateway.message import Message
from gateway.store.writes import (
    ANNOTATED,
    DEQUEUE,
    ENQUEUE,
    MESSAGE,
    REDELIVERED,
    TOPOLOGY,
    TOPOLOGY_CLEARED,
    TOPOLOGY_REMOVED,
    TURN,
    VERSION,
)
from gateway.wire.buffers import Reader, Writer

ROW_VERSION: Final = 1
STEP: Final = 4  # numbers of a step
U32: Final = 0xFFFFFFFF
# In a message's record behind its length: where what is of fixed width stands, and how long it is.
ENCODING_AT: Final = 8
DURABLE_AT: Final = 9
PRIORITY_AT: Final = 10
BODY_AT: Final = 12
FORMAT_AT: Final = 20
TTL_AT: Final = 24
EXPIRES_AT: Final = 32
ARRIVED_AT: Final = 40
COUNT_AT: Final = 48
FLAGS_AT: Final = 52
ID_DIGEST_AT: Final = 56
BODY_DIGEST_AT: Final = 64
FIXED: Final = 72


def pack_row(writes: bytes, audit: bytes) -> bytes:
    """One row of the log."""
    head = Writer()
    head.u8(ROW_VERSION)
    head.u32(len(writes))
    content = b"".join((head.getvalue(), writes, audit))
    checksum = Writer()
    checksum.u32(crc32(content))
    return checksum.getvalue() + content


def unpack_row(row: bytes) -> tuple[bytes, bytes]:
    """The records and the audit blocks; `DecodeError` unless every octet is as it was written."""
    reader = Reader(row)
    checksum = reader.u32()
    if crc32(row[4:]) != checksum:
        raise DecodeError("checksum does not match")
    version = reader.u8()
    if version != ROW_VERSION:
        raise DecodeError(f"row of version {version}; this program reads {ROW_VERSION}")
    return reader.take(reader.u32()), reader.rest()


class RecordListener(Protocol):
    """Told of the records of a row, in order."""

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """A message; `read_message` reads it from `octets[start:end]`."""

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """An entry whose message was told of before."""

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """An entry has left; it may be one that no row holds any more."""

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """What a returned entry has now; it may be one that no row holds any more."""

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """A topology row."""

    def on_topology_removed(self, kind: int, key: str) -> None:
        """A topology row is gone."""

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """All of a kind from one key on to in front of another are gone."""


def walk(writes: bytes, listener: RecordListener) -> None:
    """Tell `listener` of all records of `writes`; `DecodeError` at the first that is none."""
    reader = Reader(writes)
    known: set[int] = set()
    while reader.remaining() > 0:
        kind = reader.u8()
        if kind == ENQUEUE:
            queue_id, position, message_id = reader.i64(), reader.i64(), reader.i64()
            if message_id not in known:
                raise DecodeError(f"message {message_id} is enqueued but not in its turn")
            listener.on_enqueue(queue_id, position, message_id)
        elif kind == DEQUEUE:
            queue_id, position = reader.i64(), reader.i64()
            listener.on_dequeue(queue_id, position)
        elif kind == MESSAGE:
            start = reader.pos
            octets = reader.sub(reader.u32())
            message_id = octets.i64()
            known.add(message_id)
            listener.on_message(message_id, writes, start, octets.end)
        elif kind == TURN:
            known.clear()
            _turn(reader)
        else:
            _rare(reader, kind, listener)


def _turn(reader: Reader) -> None:
    version, _contents = reader.u8(), reader.u8()
    if version != VERSION:
        raise DecodeError(f"records of version {version}; this program reads {VERSION}")


def _rare(reader: Reader, kind: int, listener: RecordListener) -> None:
    """The kinds that a busy row has few of."""
    if kind == REDELIVERED:
        queue_id, position, count = reader.i64(), reader.i64(), reader.u32()
        listener.on_redelivered(queue_id, position, count, b"")
    elif kind == ANNOTATED:
        queue_id, position, count = reader.i64(), reader.i64(), reader.u32()
        listener.on_redelivered(queue_id, position, count, reader.take(reader.u32()))
    elif kind == TOPOLOGY:
        row = reader.sub(reader.u32())
        topology_kind, key = row.u32(), row.text(row.u32())
        listener.on_topology(topology_kind, key, row.rest())
    elif kind == TOPOLOGY_REMOVED:
        row = reader.sub(reader.u32())
        topology_kind = row.u32()
        listener.on_topology_removed(topology_kind, row.text(row.remaining()))
    elif kind == TOPOLOGY_CLEARED:
        row = reader.sub(reader.u32())
        topology_kind, first = row.u32(), row.text(row.u32())
        listener.on_topology_cleared(topology_kind, first, row.text(row.remaining()))
    else:
        raise DecodeError(f"no record begins with {kind}")


def read_message(octets: bytes, start: int, end: int) -> Message:
    """The message whose record is `octets[start:end]`, as `RecordListener.on_message` told it."""
    at: i64 = start + 4
    texts = Reader(octets, at + FIXED, end)
    exchange = texts.text(texts.u32())
    routing_key = texts.text(texts.u32())
    payload = texts.rest()
    body_at = read_i64_be(octets, at + BODY_AT)
    if not 0 <= body_at <= len(payload):
        raise DecodeError(f"body at {body_at} of {len(payload)} octets")
    return Message(
        read_i64_be(octets, at),
        octets[at + ENCODING_AT],
        payload,
        body_at,
        i64(read_i32_be(octets, at + FORMAT_AT)) & U32,
        octets[at + DURABLE_AT] != 0,
        read_i16_be(octets, at + PRIORITY_AT),
        read_i64_be(octets, at + TTL_AT),
        read_i64_be(octets, at + EXPIRES_AT),
        read_i64_be(octets, at + ARRIVED_AT),
        exchange,
        routing_key,
        i64(read_i32_be(octets, at + COUNT_AT)) & U32,
        i64(read_i32_be(octets, at + FLAGS_AT)) & U32,
        0,
        read_i64_be(octets, at + ID_DIGEST_AT),
        read_i64_be(octets, at + BODY_DIGEST_AT),
        None,
    )


@final
class Steps:
    """What the records of a row do, as numbers; all of them were checked. A `RecordListener`.

    Attributes:
        numbers: `STEP` of each step: which record, queue and position; of an enqueue, where the
            record of its message begins, as in `RecordListener.on_message`.
        counted: delivery count and annotations of each REDELIVERED among them, annotated or not.
        message_octets: of all messages.
        highest_message_id: of them; 0: there is none.
        flags: those that they have, one or the other.
    """

    __slots__ = (
        *("counted", "flags", "highest_message_id", "message_octets", "numbers"),
        "queue_and_position",
    )

    def __init__(self) -> None:
        self.numbers = vec[i64]()
        self.counted: list[tuple[int, bytes]] = []
        self.message_octets: i64 = 0
        self.highest_message_id: i64 = 0
        self.flags: i64 = 0
        self.queue_and_position = (0, 0)

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """`scan` looks at these itself."""

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """`scan` looks at these itself."""

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """`scan` looks at these itself."""

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """Of the copy there."""
        self.queue_and_position = (queue_id, position)
        self.counted.append((count, annotations))

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_removed(self, kind: int, key: str) -> None:
        """Topology is kept in a table of its own."""

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """Topology is kept in a table of its own."""


def scan(writes: bytes) -> Steps:
    """The steps of all records of `writes`; `DecodeError` at the first that cannot be read.

    As `walk`, but without a call for each record: a start reads very many.
    """
    steps = Steps()
    numbers = vec[i64]()
    turn = vec[i64]()  # its messages: id, and where the record begins; but for the last, and those
    starts: dict[int, int] = {}  # here, as soon as another than the last is asked for
    last: i64 = 0
    start: i64 = -1
    end: i64 = len(writes)
    at: i64 = 0
    while at < end:
        kind: i64 = writes[at]
        at += 1
        if kind == ENQUEUE:
            _need(24, at, end)
            message_id = read_i64_be(writes, at + 16)
            begins = start
            if message_id != last or start < 0:
                _index(turn, starts)
                turn = vec[i64]()
                begins = starts.get(message_id, -1)
                if begins < 0:
                    raise DecodeError(f"message {message_id} is enqueued but not in its turn")
            numbers = append(append(numbers, kind), read_i64_be(writes, at))
            numbers = append(append(numbers, read_i64_be(writes, at + 8)), begins)
            at += 24
        elif kind == MESSAGE:
            if start >= 0:
                turn = append(append(turn, last), start)
            start = at
            at = _message_end(writes, at, end)
            last = read_i64_be(writes, start + 4)
            steps.message_octets += at - start
            steps.flags |= i64(read_i32_be(writes, start + 4 + FLAGS_AT)) & U32
            steps.highest_message_id = max(steps.highest_message_id, last)
        elif kind == DEQUEUE:
            _need(16, at, end)
            numbers = append(append(numbers, kind), read_i64_be(writes, at))
            numbers = append(append(numbers, read_i64_be(writes, at + 8)), 0)
            at += 16
        else:
            reader = Reader(writes, at)
            if kind == TURN:
                turn = vec[i64]()
                starts = {}
                start = -1
                _turn(reader)
            elif _is_count(reader, kind, steps):
                queue_id, position = steps.queue_and_position
                numbers = append(append(numbers, REDELIVERED), queue_id)
                numbers = append(append(numbers, position), len(steps.counted) - 1)
            at = reader.pos
    steps.numbers = numbers
    return steps


def _index(turn: vec[i64], starts: dict[int, int]) -> None:
    """Messages can be found there by their ids."""
    at: i64 = 0
    while at < len(turn):
        starts[turn[at]] = turn[at + 1]
        at += 2


def _is_count(reader: Reader, kind: int, steps: Steps) -> bool:
    """Read a record of a rare kind; whether it counts a delivery."""
    before = len(steps.counted)
    _rare(reader, kind, steps)
    return len(steps.counted) > before


def _need(count: i64, at: i64, end: i64) -> None:
    if count > end - at:
        raise DecodeError(f"{count} octets wanted, {end - at} left")


def _message_end(octets: bytes, start: i64, end: i64) -> i64:
    """Where the message's record ends; `DecodeError` unless `read_message` can read it."""
    _need(4, start, end)
    at = start + 4
    size = i64(read_i32_be(octets, start)) & U32
    _need(size, at, end)
    end = at + size
    _need(FIXED, at, end)
    texts = at + FIXED
    for _ in range(2):
        _need(4, texts, end)
        size = i64(read_i32_be(octets, texts)) & U32
        texts += 4
        _need(size, texts, end)
        if size:
            Reader(octets, texts, end).text(size)
        texts += size
    body_at = read_i64_be(octets, at + BODY_AT)
    if body_at < 0 or body_at > end - texts:
        raise DecodeError(f"body at {body_at} of {end - texts} octets")
    return end


def check(writes: bytes) -> int:
    """`DecodeError` unless every record of `writes` can be read; the highest id of a message."""
    return scan(writes).highest_message_id

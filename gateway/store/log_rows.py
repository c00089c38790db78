"""The rows of the log: how one is laid out, and one walk over its records for whoever listens.

A row is what one commit made durable. Big-endian: CRC-32 u32 of all that follows; version u8;
length u32 of the records; the records of its turns, one turn after another, as `writes` packed
them; then the turns' audit blocks.

Everything is checked before anything is told of a record, but not before anything of a row: whoever
must not act on half a row walks it with `check` first.
"""

from __future__ import annotations

from typing import Final, Protocol, final
from zlib import crc32

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
# In a message's record: where it says where its body begins, and where its texts are.
BODY_AT: Final = 4 + 8 + 1 + 1 + 2
TEXTS_AT: Final = BODY_AT + 8 + 4 + 8 + 8 + 8 + 4 + 4 + 8 + 8


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
    reader = Reader(octets, start, end)
    reader.skip(4)
    message_id = reader.i64()
    encoding = reader.u8()
    durable = reader.u8() != 0
    priority = reader.i16()
    body_at = reader.i64()
    message_format = reader.u32()
    ttl_ms = reader.i64()
    expires_ms = reader.i64()
    arrived_ms = reader.i64()
    delivery_count = reader.u32()
    flags = reader.u32()
    id_digest = reader.i64()
    body_digest = reader.i64()
    exchange = reader.text(reader.u32())
    routing_key = reader.text(reader.u32())
    payload = reader.rest()
    if not 0 <= body_at <= len(payload):
        raise DecodeError(f"body at {body_at} of {len(payload)} octets")
    return Message(
        message_id,
        encoding,
        payload,
        body_at,
        message_format,
        durable,
        priority,
        ttl_ms,
        expires_ms,
        arrived_ms,
        exchange,
        routing_key,
        delivery_count,
        flags,
        0,
        id_digest,
        body_digest,
        None,
    )


@final
class _Checker:
    """Listens to nothing but looks at every message."""

    def __init__(self) -> None:
        self.highest_message_id = 0

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """As `read_message`, without making one."""
        reader = Reader(octets, start, end)
        reader.skip(BODY_AT)
        body_at = reader.i64()
        reader.skip(TEXTS_AT - BODY_AT - 8)
        reader.text(reader.u32())
        reader.text(reader.u32())
        if not 0 <= body_at <= reader.remaining():
            raise DecodeError(f"body at {body_at} of {reader.remaining()} octets")
        if message_id > self.highest_message_id:
            self.highest_message_id = message_id

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        return

    def on_dequeue(self, queue_id: int, position: int) -> None:
        return

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        return

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        return

    def on_topology_removed(self, kind: int, key: str) -> None:
        return

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        return


def check(writes: bytes) -> int:
    """`DecodeError` unless every record of `writes` can be read; the highest id of a message."""
    checker = _Checker()
    walk(writes, checker)
    return checker.highest_message_id

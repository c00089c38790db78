"""Packs what one turn makes durable into one run of octets, on the reactor's thread.

Owns the format of the store's records; `log_rows` reads them back. All numbers are big-endian. A
turn is a TURN record followed by the others, so turns can simply be put one after another.

    record             first octet, then
    TURN               version u8, contents u8 (bit 0: topology records are among them)
    MESSAGE            length u32 of what follows; id i64, encoding u8, durable u8, priority i16,
                       body_at i64, message_format u32, ttl_ms i64, expires_ms i64, arrived_ms i64,
                       delivery_count u32, flags u32, id_digest i64, body_digest i64,
                       exchange (length u32, UTF-8), routing_key (same), payload (rest)
    ENQUEUE            queue_id i64, position i64, message_id i64
    DEQUEUE            queue_id i64, position i64
    REDELIVERED        queue_id i64, position i64, count u32
    ANNOTATED          queue_id i64, position i64, count u32, annotations (length u32, octets)
    TOPOLOGY           length u32 of what follows; kind u32, key (length u32, UTF-8), value (rest)
    TOPOLOGY_REMOVED   length u32 of what follows; kind u32, key (UTF-8, rest)
    TOPOLOGY_CLEARED   length u32 of what follows; kind u32, first key (length u32, UTF-8), the key
                       behind the last (UTF-8, rest)

The message of every ENQUEUE is in the same turn, also when it was stored in an earlier one (a move
to another queue writes it again): so a row of the log can be read, and dropped, by itself. The
payload is kept as it arrived; `publisher` and `reader` mean nothing after a restart: not kept.
"""

from __future__ import annotations

from typing import Final, final

from gateway.message import Message
from gateway.wire.buffers import Writer

VERSION: Final = 1
HEADER_SIZE: Final = 3
CONTENTS_AT: Final = 2
HAS_TOPOLOGY: Final = 1


# The first octet of a record; plain constants, since an enum member costs a look-up each time.
TURN: Final = 0
MESSAGE: Final = 1
ENQUEUE: Final = 2
DEQUEUE: Final = 3
REDELIVERED: Final = 4
TOPOLOGY: Final = 5
TOPOLOGY_REMOVED: Final = 6
ANNOTATED: Final = 7
TOPOLOGY_CLEARED: Final = 8


@final
class TurnWriter:
    """Collects the durable effects of the turn under way; `take` hands them over."""

    __slots__ = ("_out",)

    def __init__(self) -> None:
        self._out = Writer()
        self._begin()

    def message(self, message: Message) -> None:
        """The message itself: once in each turn that enqueues it, before its first `enqueue`."""
        out = self._out
        exchange = message.exchange.encode()
        routing_key = message.routing_key.encode()
        out.u8(MESSAGE)
        length_at = out.size()
        out.u32(0)
        out.i64(message.id)
        out.u8(message.encoding)
        out.u8(1 if message.durable else 0)
        out.i16(message.priority)
        out.i64(message.body_at)
        out.u32(message.message_format)
        out.i64(message.ttl_ms)
        out.i64(message.expires_ms)
        out.i64(message.arrived_ms)
        out.u32(message.delivery_count)
        out.u32(message.flags)
        out.i64(message.id_digest)
        out.i64(message.body_digest)
        out.u32(len(exchange))
        out.raw(exchange)
        out.u32(len(routing_key))
        out.raw(routing_key)
        out.raw(message.payload)
        out.patch_u32(length_at, out.size() - length_at - 4)

    def packed_message(self, octets: bytes) -> None:
        """A message as it was packed before: the record without its first octet."""
        self._out.u8(MESSAGE)
        self._out.raw(octets)

    def enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """The message is in the queue; positions of a queue ascend and are never used again."""
        out = self._out
        out.u8(ENQUEUE)
        out.i64(queue_id)
        out.i64(position)
        out.i64(message_id)

    def dequeue(self, queue_id: int, position: int) -> None:
        """The entry has left its queue: settled, expired, purged, moved."""
        out = self._out
        out.u8(DEQUEUE)
        out.i64(queue_id)
        out.i64(position)

    def redelivered(
        self, queue_id: int, position: int, count: int, annotations: bytes = b""
    ) -> None:
        """The entry's delivery count and annotations are these from now on."""
        out = self._out
        out.u8(ANNOTATED if annotations else REDELIVERED)
        out.i64(queue_id)
        out.i64(position)
        out.u32(count)
        if annotations:
            out.u32(len(annotations))
            out.raw(annotations)

    def topology(self, kind: int, key: str, value: bytes) -> None:
        """The topology row `kind`, `key` has this value; it replaces an earlier one."""
        out = self._out
        octets = key.encode()
        out.patch_u8(CONTENTS_AT, HAS_TOPOLOGY)
        out.u8(TOPOLOGY)
        out.u32(8 + len(octets) + len(value))
        out.u32(kind)
        out.u32(len(octets))
        out.raw(octets)
        out.raw(value)

    def topology_removed(self, kind: int, key: str) -> None:
        """The topology row `kind`, `key` is gone; it need not have been there."""
        out = self._out
        octets = key.encode()
        out.patch_u8(CONTENTS_AT, HAS_TOPOLOGY)
        out.u8(TOPOLOGY_REMOVED)
        out.u32(4 + len(octets))
        out.u32(kind)
        out.raw(octets)

    def topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """All rows of that kind are gone whose keys are `first` or above, and below `behind`."""
        out = self._out
        octets = first.encode()
        end = behind.encode()
        out.patch_u8(CONTENTS_AT, HAS_TOPOLOGY)
        out.u8(TOPOLOGY_CLEARED)
        out.u32(8 + len(octets) + len(end))
        out.u32(kind)
        out.u32(len(octets))
        out.raw(octets)
        out.raw(end)

    def any(self) -> bool:
        """Whether `take` would hand over anything."""
        return self._out.size() > HEADER_SIZE

    def size(self) -> int:
        """Octets since the last `take`, and a few."""
        return self._out.size()

    def take(self) -> bytes:
        """Everything since the last `take`; empty when there was nothing."""
        if self._out.size() == HEADER_SIZE:
            return b""
        taken = self._out.getvalue()
        self._out = Writer()
        self._begin()
        return taken

    def _begin(self) -> None:
        self._out.u8(TURN)
        self._out.u8(VERSION)
        self._out.u8(0)

"""The header segment of a message as a 0-10 broker is to be published it.

A queue is reached by the default exchange and its name as the key, whatever exchange and key the
message came with; these are a counted loss then. All else keeps its octets. Rows:
delivery.routing-key, properties.user-id.
"""

from __future__ import annotations

from gateway.amqp_0_10._spec_structs import DeliveryProperties, ReplyTo
from gateway.errors import DecodeError
from gateway.message import Loss
from gateway.translate import names
from gateway.translate.context import Counts
from gateway.translate.mapping_rows import BY_NUMBER
from gateway.translate.reply_to import ROW_UNREACHABLE
from gateway.translate.segment import (
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    CORRELATION_ID,
    DELIVERY_PROPERTIES,
    MESSAGE_ID,
    MESSAGE_PROPERTIES,
    REPLY_TO,
    USER_ID,
)
from gateway.wire.buffers import Reader, Writer


def exchange_of(payload: bytes, body_at: int) -> str:
    """The exchange that a message of a 0-10 broker came by; "": the default one, or it is none."""
    reader = Reader(payload, 0, body_at)
    while reader.remaining():
        struct = reader.sub(reader.u32())
        if struct.u16() == DELIVERY_PROPERTIES:
            return DeliveryProperties.decode_fields(struct).exchange or ""
    return ""


def reply_to_of(header: bytes) -> ReplyTo | None:
    """Where an answer is wanted, if anywhere, and as far as that can be read."""
    try:
        return _reply_to(Reader(header))
    except DecodeError:
        return None  # nobody has looked into it before


def _reply_to(reader: Reader) -> ReplyTo | None:
    while reader.remaining():
        struct = reader.sub(reader.u32())
        if struct.u16() != MESSAGE_PROPERTIES:
            continue
        flags = struct.u16()
        if not flags & REPLY_TO:
            return None
        _skip_to_reply_to(struct, flags)
        return ReplyTo.decode_fields(struct.sub(struct.u16()))
    return None


def to_queue(header: bytes, queue: str) -> bytes:
    """The same, for a queue; the same object where nothing has to be changed."""
    reader = Reader(header)
    while reader.remaining():
        at: int = reader.pos
        struct = reader.sub(reader.u32())
        if struct.u16() != DELIVERY_PROPERTIES:
            continue
        delivery = DeliveryProperties.decode_fields(struct)
        if delivery.exchange == "" and delivery.routing_key == queue:
            return header
        delivery.exchange = ""
        delivery.routing_key = queue
        writer = Writer()
        writer.raw(header[:at])
        delivery.encode(writer)
        writer.raw(header[reader.pos :])
        return writer.getvalue()
    writer = Writer()
    DeliveryProperties(exchange="", routing_key=queue).encode(writer)
    writer.raw(header)
    return writer.getvalue()


def without_user_id(header: bytes) -> bytes:
    """The same without a user-id; the same object where it has none."""
    reader = Reader(header)
    while reader.remaining():
        at: int = reader.pos
        struct = reader.sub(reader.u32())
        if struct.u16() != MESSAGE_PROPERTIES:
            continue
        flags = struct.u16()
        if not flags & USER_ID:
            return header
        fields: int = struct.pos
        _skip_to_user_id(struct, flags)
        before: int = struct.pos
        struct.skip(struct.u16())
        kept = Writer()
        kept.u16(MESSAGE_PROPERTIES)
        kept.u16(flags & ~USER_ID)
        kept.raw(header[fields:before])
        kept.raw(header[struct.pos : reader.pos])
        octets = kept.getvalue()
        writer = Writer()
        writer.raw(header[:at])
        writer.u32(len(octets))
        writer.raw(octets)
        writer.raw(header[reader.pos :])
        return writer.getvalue()
    return header


def _skip_to_reply_to(struct: Reader, flags: int) -> None:
    if flags & CONTENT_LENGTH:
        struct.skip(8)
    if flags & MESSAGE_ID:
        struct.skip(16)
    if flags & CORRELATION_ID:
        struct.skip(struct.u16())


def _skip_to_user_id(struct: Reader, flags: int) -> None:
    _skip_to_reply_to(struct, flags)
    if flags & REPLY_TO:
        struct.skip(struct.u16())
    if flags & CONTENT_TYPE:
        struct.skip(struct.u8())
    if flags & CONTENT_ENCODING:
        struct.skip(struct.u8())


def lose_user_id(counts: Counts) -> Loss:
    """Count that it is not told."""
    row = BY_NUMBER[names.ROW_USER_ID]
    counts.lost[row.number] += 1
    return Loss(row.id, row.otherwise)


def lose_reply_to(counts: Counts) -> Loss:
    """Count that an answer does not find its way."""
    row = BY_NUMBER[ROW_UNREACHABLE]
    counts.lost[row.number] += 1
    return Loss(row.id, row.policy)

"""The header segment of a message as a 0-10 broker is to be published it.

A queue is reached by the default exchange and its name as the key, whatever exchange and key the
message came with; these are a counted loss then. All else keeps its octets. Rows:
delivery.routing-key, properties.user-id.
"""

from __future__ import annotations

from gateway.amqp_0_10._spec_structs import DeliveryProperties
from gateway.message import Loss
from gateway.translate import names
from gateway.translate.context import Counts
from gateway.translate.mapping_rows import BY_NUMBER
from gateway.translate.segment import (
    CONTENT_ENCODING,
    CONTENT_TYPE,
    DELIVERY_PROPERTIES,
    MESSAGE_PROPERTIES,
    REPLY_TO,
    USER_ID,
)
from gateway.translate.towards_0_10.answers import skip_to_reply_to
from gateway.wire.buffers import Reader, Writer


def exchange_of(payload: bytes, body_at: int) -> str:
    """The exchange that a message of a 0-10 broker came by; "": the default one, or it is none."""
    reader = Reader(payload, 0, body_at)
    while reader.remaining():
        struct = reader.sub(reader.u32())
        if struct.u16() == DELIVERY_PROPERTIES:
            return DeliveryProperties.decode_fields(struct).exchange or ""
    return ""


def addressed(header: bytes, exchange: str, key: str) -> bytes:
    """The same, for that exchange and key; the same object where nothing has to be changed."""
    reader = Reader(header)
    while reader.remaining():
        at: int = reader.pos
        struct = reader.sub(reader.u32())
        if struct.u16() != DELIVERY_PROPERTIES:
            continue
        delivery = DeliveryProperties.decode_fields(struct)
        if delivery.exchange == exchange and delivery.routing_key == key:
            return header
        delivery.exchange = exchange
        delivery.routing_key = key
        writer = Writer()
        writer.raw(header[:at])
        delivery.encode(writer)
        writer.raw(header[reader.pos :])
        return writer.getvalue()
    writer = Writer()
    DeliveryProperties(exchange=exchange, routing_key=key).encode(writer)
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


def _skip_to_user_id(struct: Reader, flags: int) -> None:
    skip_to_reply_to(struct, flags)
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

"""A 0-10 header segment, walked and opened (message class).

The structs may come in any order. Application headers are opened apart from the fields before them:
where the map does not decode, the other properties still stand.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i16_be
from mypy_extensions import i64 as int64
from mypy_extensions import mypyc_attr

from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer

DELIVERY_PROPERTIES: Final = 0x0401
MESSAGE_PROPERTIES: Final = 0x0403

# Packing flags of delivery-properties.
DISCARD_UNROUTABLE: Final = 0x0100
IMMEDIATE: Final = 0x0200
REDELIVERED: Final = 0x0400
PRIORITY: Final = 0x0800
DELIVERY_MODE: Final = 0x1000
TTL: Final = 0x2000
TIMESTAMP: Final = 0x4000
EXPIRATION: Final = 0x8000
EXCHANGE: Final = 0x0001
ROUTING_KEY: Final = 0x0002
RESUME_ID: Final = 0x0004
RESUME_TTL: Final = 0x0008
NO_DELIVERY_FLAGS: Final = 0x00F0

# Packing flags of message-properties.
CONTENT_LENGTH: Final = 0x0100
MESSAGE_ID: Final = 0x0200
CORRELATION_ID: Final = 0x0400
REPLY_TO: Final = 0x0800
CONTENT_TYPE: Final = 0x1000
CONTENT_ENCODING: Final = 0x2000
USER_ID: Final = 0x4000
APP_ID: Final = 0x8000
APPLICATION_HEADERS: Final = 0x0001


@final
@mypyc_attr(free_list_len=1)
class HeaderSegment:
    """The structs of one header segment.

    Attributes:
        delivery, properties: with their defaults where the segment has none.
        others: the octets of structs that are neither, sizes and codes included.
        malformed: the application headers did not decode; they are left out.
        flags: the packing flags of delivery-properties, and 16 bits higher of the other.
    """

    __slots__ = ("delivery", "flags", "malformed", "others", "properties")

    def __init__(
        self,
        delivery: DeliveryProperties | None = None,
        properties: MessageProperties | None = None,
        others: bytes = b"",
    ) -> None:
        self.delivery = DeliveryProperties() if delivery is None else delivery
        self.properties = MessageProperties() if properties is None else properties
        self.others = others
        self.malformed: bool = False
        self.flags: int64 = 0


def open_header(payload: bytes, end: int, depth: int) -> HeaderSegment:
    """The header segment in the first `end` octets; `DecodeError` if its structs do not decode."""
    delivery: DeliveryProperties | None = None
    properties: MessageProperties | None = None
    others: list[bytes] | None = None  # which hardly any message has
    malformed = False
    flags: int64 = 0
    reader = Reader(payload, 0, end)
    while reader.remaining():
        at: int = reader.pos
        struct = reader.sub(reader.u32())
        stop: int = struct.end
        code = struct.u16()
        if code == DELIVERY_PROPERTIES:
            flags |= _flags_at(payload, struct.pos)
            delivery = DeliveryProperties.decode_fields(struct, depth)
        elif code == MESSAGE_PROPERTIES:
            start: int = struct.pos
            flags |= _flags_at(payload, start) << 16
            try:
                properties = MessageProperties.decode_fields(struct, depth)
            except DecodeError:
                properties = _without_headers(Reader(payload, start, stop), depth)
                malformed = True
        else:
            reader.spend(1)
            if others is None:
                others = []
            others.append(payload[at : reader.pos])
    header = HeaderSegment(delivery, properties, b"" if others is None else b"".join(others))
    header.malformed = malformed
    header.flags = flags
    return header


def _flags_at(payload: bytes, at: int64) -> int64:
    """What is read as packing flags next, of a struct that ends later or does not decode."""
    return int64(read_i16_be(payload, at)) & 0xFFFF if at + 2 <= len(payload) else 0


def _without_headers(struct: Reader, depth: int) -> MessageProperties:
    """Message-properties of which the headers do not decode; `DecodeError` if it is not they."""
    start: int = struct.pos
    flags = skip_to_headers(struct)
    if not flags & APPLICATION_HEADERS:
        raise DecodeError("message-properties do not decode")
    without = Writer()
    without.u16(flags & ~APPLICATION_HEADERS)
    without.raw(struct.buf[start + 2 : struct.pos])
    return MessageProperties.decode_fields(Reader(without.getvalue()), depth)


def skip_to_headers(struct: Reader) -> int:
    """Move from the packing flags of message-properties to its last field; the flags."""
    flags = struct.u16()
    if flags & CONTENT_LENGTH:
        struct.skip(8)
    if flags & MESSAGE_ID:
        struct.skip(16)
    if flags & CORRELATION_ID:
        struct.skip(struct.u16())
    if flags & REPLY_TO:
        struct.skip(struct.u16())
    if flags & CONTENT_TYPE:
        struct.skip(struct.u8())
    if flags & CONTENT_ENCODING:
        struct.skip(struct.u8())
    if flags & USER_ID:
        struct.skip(struct.u16())
    if flags & APP_ID:
        struct.skip(struct.u16())
    return flags

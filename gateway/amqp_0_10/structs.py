"""Coded structs opened and closed, and the header segment, which is a row of them.

`types.Struct32` is the closed form, safe to carry unread; the generated classes are the open one.
A header segment holds at most one of each struct, in any order; what is not known is passed over.
"""

from __future__ import annotations

from gateway.amqp_0_10._spec_structs import (
    STRUCTS,
    DeliveryProperties,
    FragmentProperties,
    MessageProperties,
)
from gateway.amqp_0_10.types import DEPTH_MAX, Struct, Struct32
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer

Header = tuple[DeliveryProperties | None, FragmentProperties | None, MessageProperties | None]


def open_struct(closed: Struct32, depth: int = DEPTH_MAX) -> Struct:
    """The generated class of a coded struct; `DecodeError` when no struct has that code."""
    decode = STRUCTS.get(closed.code)
    if decode is None:
        raise DecodeError(f"no struct has code 0x{closed.code:04x}")
    return decode(Reader(closed.octets), depth)


def close_struct(struct: Struct) -> Struct32:
    """The closed form of a generated class."""
    writer = Writer()
    struct.encode_fields(writer)
    return Struct32(struct.CODE, writer.getvalue())


def read_header(octets: bytes, end: int, depth: int = DEPTH_MAX) -> Header:
    """The structs of a header segment, which is the first `end` of `octets`."""
    reader = Reader(octets, 0, end)
    delivery: DeliveryProperties | None = None
    fragment: FragmentProperties | None = None
    message: MessageProperties | None = None
    while reader.remaining():
        reader.spend(1)
        sub = reader.sub(reader.u32())
        code = sub.u16()
        if code == DeliveryProperties.CODE:
            delivery = DeliveryProperties.decode_fields(sub, depth)
        elif code == MessageProperties.CODE:
            message = MessageProperties.decode_fields(sub, depth)
        elif code == FragmentProperties.CODE:
            fragment = FragmentProperties.decode_fields(sub, depth)
    return delivery, fragment, message


def write_header(
    delivery: DeliveryProperties | None,
    message: MessageProperties | None,
    fragment: FragmentProperties | None = None,
) -> bytes:
    """The content of a header segment."""
    writer = Writer()
    if delivery is not None:
        delivery.encode(writer)
    if fragment is not None:
        fragment.encode(writer)
    if message is not None:
        message.encode(writer)
    return writer.getvalue()

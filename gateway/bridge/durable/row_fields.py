"""The fields of which rows are made: texts, octets, and values of arguments.

All text is a 32-bit length and UTF-8.
"""

from __future__ import annotations

from enum import IntEnum
from uuid import UUID

from gateway.message import Kind
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged


class Form(IntEnum):
    """How the value of a binding argument is written."""

    NOTHING = 0
    FALSE = 1
    TRUE = 2
    DECIMAL = 3
    FLOAT = 4
    TEXT = 5
    OCTETS = 6
    UUID = 7


def write_text(out: Writer, text: str) -> None:
    """Its octets, behind how many they are."""
    write_octets(out, text.encode())


def write_octets(out: Writer, octets: bytes) -> None:
    """Behind how many they are."""
    out.u32(len(octets))
    out.raw(octets)


def read_text(data: Reader) -> str:
    """See `write_text`; `DecodeError`."""
    return data.text(data.u32())


def read_octets(data: Reader) -> bytes:
    """See `write_octets`; `DecodeError`."""
    return data.take(data.u32())


def write_value(out: Writer, tagged: Tagged) -> None:
    """A value of kind `OTHER` matches nothing: only that it was there is kept."""
    value = tagged.value
    out.u8(tagged.code)
    if isinstance(value, bool):
        out.u8(Form.TRUE if value else Form.FALSE)
    elif isinstance(value, int):
        out.u8(Form.DECIMAL)
        write_text(out, str(value))
    elif isinstance(value, float):
        out.u8(Form.FLOAT)
        out.f64(value)
    elif isinstance(value, str):
        out.u8(Form.TEXT)
        write_text(out, value)
    elif isinstance(value, bytes):
        out.u8(Form.OCTETS)
        write_octets(out, value)
    elif isinstance(value, UUID):
        out.u8(Form.UUID)
        out.raw(value.bytes)
    else:
        out.u8(Form.NOTHING)


def read_value(data: Reader) -> Tagged:
    """See `write_value`; `DecodeError`."""
    code = data.u8()
    form = data.u8()
    if form == Form.TRUE or form == Form.FALSE:
        return Tagged(code, form == Form.TRUE)
    if form == Form.DECIMAL:
        return Tagged(code, int(read_text(data)))
    if form == Form.FLOAT:
        return Tagged(code, data.f64())
    if form == Form.TEXT:
        return Tagged(code, read_text(data))
    if form == Form.OCTETS:
        return Tagged(code, read_octets(data))
    if form == Form.UUID:
        return Tagged(code, UUID(bytes=data.take(16)))
    return Tagged(code if code == Kind.NULL else Kind.OTHER, None)

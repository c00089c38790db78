"""`Tagged` -> octets: any value of any AMQP 1.0 type, in the smallest encoding that holds it."""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_1_0.primitives.codes import (
    ARRAY,
    BINARY,
    BOOLEAN,
    CHAR,
    DECIMAL32,
    DECIMAL64,
    DECIMAL128,
    DESCRIBED,
    DOUBLE,
    FLOAT,
    INT,
    LIST,
    LONG,
    MAP,
    NULL,
    RANGES,
    STRING,
    SYMBOL,
    TYPE_CODES,
    UINT,
    ULONG,
    UUID,
    WIDTHS,
    Array,
    Described,
    Map,
)
from gateway.errors import LocalProtocolError
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged


def encode(writer: Writer, tagged: Tagged) -> None:
    """Write one value in its smallest encoding.

    Raises:
        LocalProtocolError: the value does not fit its type: a defect of whoever made it.
    """
    code = tagged.code
    value = tagged.value
    if code == STRING:
        encode_string(writer, cast(str, value))
    elif code == SYMBOL:
        encode_symbol(writer, cast(str, value))
    elif code == NULL:
        writer.u8(NULL)
    elif code == BOOLEAN:
        writer.u8(0x41 if value else 0x42)
    elif code == BINARY:
        encode_binary(writer, cast(bytes, value))
    elif code == UUID:
        writer.u8(UUID)
        _encode_octets(writer, UUID, cast(bytes, value))
    elif code in RANGES:
        encode_integer(writer, code, cast(int, value))
    elif code == DESCRIBED:
        described = cast(Described, value)
        writer.u8(DESCRIBED)
        encode(writer, described.descriptor)
        encode(writer, described.value)
    elif code in (LIST, MAP):
        _encode_compound(writer, code, value)
    elif code == ARRAY:
        encode_array(writer, cast(Array, value))
    elif code in _PLAIN:
        writer.u8(code)
        _encode_untyped(writer, code, value)
    else:
        raise LocalProtocolError(f"no type has the code 0x{code:02x}")


_PLAIN: Final = frozenset((FLOAT, DOUBLE, DECIMAL32, DECIMAL64, DECIMAL128, CHAR))


def encode_integer(writer: Writer, code: int, value: int) -> None:
    """Write an integral value or timestamp in its smallest encoding."""
    if code in (UINT, ULONG):
        if value == 0:
            writer.u8(0x43 if code == UINT else 0x44)
            return
        if 0 < value <= 255:
            writer.u8(0x52 if code == UINT else 0x53)
            writer.u8(value)
            return
    elif code in (INT, LONG) and -128 <= value <= 127:
        writer.u8(0x54 if code == INT else 0x55)
        writer.i8(value)
        return
    writer.u8(code)
    _encode_untyped(writer, code, value)


def _encode_untyped(writer: Writer, code: int, value: object) -> None:
    """Write a fixed-width value in the widest encoding of its type, the constructor left out."""
    if code in RANGES:
        _encode_fixed_integer(writer, code, cast(int, value))
    elif code == BOOLEAN:
        writer.u8(1 if value else 0)
    elif code == FLOAT:
        writer.f32(cast(float, value))
    elif code == DOUBLE:
        writer.f64(cast(float, value))
    elif code == CHAR:
        writer.u32(ord(cast(str, value)))
    else:
        _encode_octets(writer, code, cast(bytes, value))


def _encode_octets(writer: Writer, code: int, octets: bytes) -> None:
    if len(octets) != WIDTHS[code]:
        raise LocalProtocolError(f"{len(octets)} octets for type 0x{code:02x}")
    writer.raw(octets)


def _encode_fixed_integer(writer: Writer, code: int, value: int) -> None:
    least, greatest = RANGES[code]
    if value < least or value > greatest:
        raise LocalProtocolError(f"{value} does not fit type 0x{code:02x}")
    group = code >> 4
    if group == 5:
        writer.u8(value & 0xFF)
    elif group == 6:
        writer.u16(value & 0xFFFF)
    elif group == 7:
        writer.u32(value & 0xFFFFFFFF)
    else:
        writer.u64(value & 0xFFFFFFFFFFFFFFFF)


def _encode_variable(writer: Writer, short: int, octets: bytes) -> None:
    size = len(octets)
    if size <= 255:
        writer.u8(short)
        writer.u8(size)
    else:
        writer.u8(short + 0x10)
        writer.u32(size)
    writer.raw(octets)


def encode_binary(writer: Writer, value: bytes) -> None:
    """Write a binary."""
    _encode_variable(writer, 0xA0, value)


def binary_head(writer: Writer, size: int) -> None:
    """Write what is before the octets of a binary of so many."""
    if size <= 255:
        writer.u8(0xA0)
        writer.u8(size)
    else:
        writer.u8(0xB0)
        writer.u32(size)


def encode_string(writer: Writer, value: str) -> None:
    """Write a string."""
    _encode_variable(writer, 0xA1, value.encode("utf-8"))


def encode_symbol(writer: Writer, value: str) -> None:
    """Write a symbol; `LocalProtocolError` if it is not ASCII."""
    _encode_variable(writer, 0xA3, symbol_octets(value))


def symbol_octets(value: str) -> bytes:
    """A symbol's octets; `LocalProtocolError` if it is not ASCII."""
    try:
        return value.encode("ascii")
    except UnicodeEncodeError as error:
        raise LocalProtocolError(f"{value!r} is no symbol") from error


def _encode_content(writer: Writer, code: int, value: object) -> int:
    """Write the elements of a list or map; how many they are."""
    if code == LIST:
        items = cast(list[Tagged], value)
        for item in items:
            encode(writer, item)
        return len(items)
    pairs = cast(Map, value)
    for key, item in pairs:
        encode(writer, key)
        encode(writer, item)
    return 2 * len(pairs)


def _encode_compound(writer: Writer, code: int, value: object) -> None:
    start = begin_compound(writer, code)
    count = _encode_content(writer, code, value)
    if count == 0 and code == LIST:
        writer.truncate(start)
        writer.u8(0x45)
    else:
        finish_compound(writer, code, start, count)


def begin_compound(writer: Writer, code: int) -> int:
    """Begin a list or map, as if it were short; where, for `finish_compound`."""
    start = int(writer.size())
    writer.u8(code - 0x10)
    writer.u8(0)
    writer.u8(0)
    return start


def finish_compound(writer: Writer, code: int, start: int, count: int) -> None:
    """Fill in size and count of the list or map begun at `start`; a long one is moved, once."""
    size = int(writer.size()) - start - 2
    if size <= 255:
        writer.patch_u8(start + 1, size)
        writer.patch_u8(start + 2, count)
        return
    content = writer.getvalue()[start + 3 :]
    writer.truncate(start)
    writer.u8(code)
    _encode_wide(writer, content, count)


def encode_map(writer: Writer, pairs: Map) -> None:
    """Write a map."""
    _encode_compound(writer, MAP, pairs)


def _encode_wide(writer: Writer, octets: bytes, count: int) -> None:
    writer.u32(len(octets) + 4)
    writer.u32(count)
    writer.raw(octets)


def encode_array(writer: Writer, array: Array) -> None:
    """Write an array; its elements have the widest encoding of their type."""
    body = Writer()
    for descriptor in array.descriptors:
        body.u8(DESCRIBED)
        encode(body, descriptor)
    _encode_elements(body, array.code, array.items)
    octets = body.getvalue()
    if len(octets) < 255 and len(array.items) <= 255:
        writer.u8(0xE0)
        writer.u8(len(octets) + 1)
        writer.u8(len(array.items))
        writer.raw(octets)
    else:
        writer.u8(ARRAY)
        _encode_wide(writer, octets, len(array.items))


def _encode_elements(writer: Writer, code: int, items: list[object]) -> None:
    if code in (BINARY, STRING, SYMBOL):
        _encode_variable_elements(writer, code, items)
        return
    if code not in TYPE_CODES:
        raise LocalProtocolError(f"no type has the code 0x{code:02x}")
    writer.u8(code)
    for item in items:
        if code in (LIST, MAP):
            content = Writer()
            count = _encode_content(content, code, item)
            _encode_wide(writer, content.getvalue(), count)
        elif code == ARRAY:
            _encode_inner_array(writer, cast(Array, item))
        elif code != NULL:
            _encode_untyped(writer, code, item)


def _encode_inner_array(writer: Writer, array: Array) -> None:
    body = Writer()
    for descriptor in array.descriptors:
        body.u8(DESCRIBED)
        encode(body, descriptor)
    _encode_elements(body, array.code, array.items)
    _encode_wide(writer, body.getvalue(), len(array.items))


def _encode_variable_elements(writer: Writer, code: int, items: list[object]) -> None:
    contents: list[bytes] = []
    for item in items:
        if code == BINARY:
            contents.append(cast(bytes, item))
        elif code == STRING:
            contents.append(cast(str, item).encode("utf-8"))
        else:
            contents.append(symbol_octets(cast(str, item)))
    wide = any(len(octets) > 255 for octets in contents)
    writer.u8(code if wide else code - 0x10)
    for octets in contents:
        if wide:
            writer.u32(len(octets))
        else:
            writer.u8(len(octets))
        writer.raw(octets)


def to_bytes(tagged: Tagged) -> bytes:
    """One value, encoded on its own."""
    writer = Writer()
    encode(writer, tagged)
    return writer.getvalue()

"""Typed values from octets: the reading half of what `types` describes.

What is inside of a compound is read by the same reader, narrowed to it, so that the values in all
of them together are counted. After a `DecodeError` the reader may be left narrowed.
"""

from __future__ import annotations

from mypy_extensions import i64 as size_t

from gateway.amqp_0_10 import _spec_constants as spec
from gateway.amqp_0_10.primitives import (
    get_str8,
    get_vbin8,
    get_vbin16,
    get_vbin32,
)
from gateway.amqp_0_10.types import DEPTH_MAX, INTEGERS, WIDTHS, Array, FieldTable, Struct32
from gateway.errors import DecodeError, LimitError
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged


def read_value(reader: Reader, code: int, depth: int) -> object:
    """The Python value of one value of type `code`; `depth` is how many levels it may have."""
    if code == spec.STR16:
        return _read_utf_8(get_vbin16(reader))
    if code == spec.INT32:
        return reader.i32()
    if code == spec.INT64:
        return reader.i64()
    high = code >> 4
    if high == 0xA:
        return _read_wide(reader, code, depth)
    if high == 0x8 or high == 0x9:
        return _read_text(reader, code)
    return _read_fixed(reader, code)


def _read_wide(reader: Reader, code: int, depth: int) -> object:
    if code == spec.MAP:
        return read_map(reader, depth)
    if code == spec.LIST:
        return read_list(reader, depth)
    if code == spec.ARRAY:
        return read_array(reader, depth)
    if code == spec.STRUCT32:
        return read_struct32(reader)
    return get_vbin32(reader)


def _read_text(reader: Reader, code: int) -> object:
    if code == spec.STR8:
        return _read_utf_8(get_vbin8(reader))
    octets = get_vbin16(reader) if code >= 0x90 else get_vbin8(reader)
    if code == spec.STR8_LATIN or code == spec.STR16_LATIN:
        return octets.decode("iso8859-15")
    if code == spec.STR8_UTF16 or code == spec.STR16_UTF16:
        try:
            return octets.decode("utf-16-be")
        except UnicodeDecodeError:
            return octets
    return octets


def _read_utf_8(octets: bytes) -> object:
    """The text, or where they are none the octets: what is beside them can be read all the same."""
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets


def _read_fixed(reader: Reader, code: int) -> object:
    if code == spec.BOOLEAN:
        return reader.u8() != 0
    if code == spec.DOUBLE:
        return reader.f64()
    if code == spec.FLOAT:
        return reader.f32()
    if code == spec.DATETIME:
        return reader.i64()
    if code in INTEGERS:
        return _read_integer(reader, code)
    if code == spec.VOID:
        return None
    if code == spec.BIT:
        return True
    if code == spec.CHAR:
        return reader.take(1).decode("iso8859-15")
    if code == spec.CHAR_UTF32:
        return _read_char_utf32(reader)
    if code == spec.DEC32:
        return (reader.u8(), reader.i32())
    if code == spec.DEC64:
        return (reader.u8(), reader.i64())
    width = WIDTHS.get(code >> 4, -1)
    if width < 0:
        raise DecodeError(f"type code 0x{code:02x} is reserved")
    return reader.take(width)


def _read_integer(reader: Reader, code: int) -> int:
    if code == spec.UINT8:
        return reader.u8()
    if code == spec.INT8:
        return reader.i8()
    if code == spec.UINT16:
        return reader.u16()
    if code == spec.INT16:
        return reader.i16()
    if code == spec.UINT32:
        return reader.u32()
    if code == spec.INT32:
        return reader.i32()
    if code == spec.UINT64:
        return reader.u64()
    return reader.i64()


def _read_char_utf32(reader: Reader) -> str:
    scalar = reader.u32()
    if scalar > 0x10FFFF or 0xD800 <= scalar < 0xE000:
        raise DecodeError(f"0x{scalar:x} is no Unicode scalar value")
    return chr(scalar)


def _enter(reader: Reader, depth: int) -> size_t:
    """Narrow `reader` to the compound that comes; where it ended before, for `_leave`."""
    if depth <= 0:
        raise LimitError("values nested too deep")
    size: size_t = reader.u32()
    outer = reader.end
    pos = reader.pos
    if size > outer - pos:
        raise DecodeError(f"a compound of {size} octets, {outer - pos} left")
    reader.end = pos + size
    return outer


def _leave(reader: Reader, outer: size_t) -> None:
    """Widen `reader` again; the compound must have been read to the last octet."""
    if reader.remaining():
        raise DecodeError(f"{reader.remaining()} octets left over")
    reader.end = outer


def read_map(reader: Reader, depth: int = DEPTH_MAX) -> FieldTable:
    """A map, as pairs in their order."""
    outer = _enter(reader, depth)
    entries: FieldTable = []
    if reader.remaining():
        count = reader.u32()
        if count * 2 > reader.remaining():
            raise DecodeError(f"{count} map entries in {reader.remaining()} octets")
        reader.spend(count)
        for _ in range(count):
            key = get_str8(reader)
            code = reader.u8()
            entries.append((key, Tagged(code, read_value(reader, code, depth - 1))))
    _leave(reader, outer)
    return entries


def read_list(reader: Reader, depth: int = DEPTH_MAX) -> list[Tagged]:
    """A list."""
    outer = _enter(reader, depth)
    values: list[Tagged] = []
    if reader.remaining():
        count = reader.u32()
        if count > reader.remaining():
            raise DecodeError(f"{count} list elements in {reader.remaining()} octets")
        reader.spend(count)
        for _ in range(count):
            code = reader.u8()
            values.append(Tagged(code, read_value(reader, code, depth - 1)))
    _leave(reader, outer)
    return values


def read_array(reader: Reader, depth: int = DEPTH_MAX) -> Array:
    """An array; one of size 0 is an empty one of void."""
    outer = _enter(reader, depth)
    values: list[object] = []
    code: int = spec.VOID
    if reader.remaining():
        code = reader.u8()
        count = reader.u32()
        if count > reader.remaining() or (count and code >= spec.VOID):
            raise DecodeError(f"{count} array elements in {reader.remaining()} octets")
        reader.spend(count)
        values.extend([read_value(reader, code, depth - 1) for _ in range(count)])
    _leave(reader, outer)
    return Array(code, values)


def read_struct32(reader: Reader) -> Struct32:
    """A coded struct, not opened."""
    sub = reader.sub(reader.u32())
    code = sub.u16()
    return Struct32(code, sub.rest())


def read_str16_array(reader: Reader) -> list[str]:
    """An array of text; the elements may be of any text type."""
    array = read_array(reader)
    texts: list[str] = []
    for value in array.values:
        if not isinstance(value, str):
            raise DecodeError("an array of text has another element")
        texts.append(value)
    return texts

"""Typed values to octets: the writing half of what `types` describes."""

from __future__ import annotations

from typing import cast

from gateway.amqp_0_10 import _spec_constants as spec
from gateway.amqp_0_10.primitives import (
    put_str8,
    put_vbin8,
    put_vbin16,
    put_vbin32,
)
from gateway.amqp_0_10.types import INTEGERS, KEPT, WIDTHS, Array, FieldTable, Struct32
from gateway.errors import LocalProtocolError
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged


def write_value(writer: Writer, code: int, value: object) -> None:
    """Write the value of type `code`, without the code itself."""
    if isinstance(value, str):
        _write_text(writer, code, value)
    elif isinstance(value, bool):
        _write_flag(writer, code, value)
    elif isinstance(value, int):
        _write_integer(writer, code, value)
    elif isinstance(value, bytes):
        _write_octets(writer, code, value)
    elif isinstance(value, float):
        if code == spec.FLOAT:
            writer.f32(value)
        else:
            _expect(code, spec.DOUBLE, value)
            writer.f64(value)
    elif value is None:
        _expect(code, spec.VOID, value)
    else:
        _write_compound(writer, code, value)


def _expect(code: int, wanted: int, value: object) -> None:
    if code != wanted:
        raise LocalProtocolError(f"type code 0x{code:02x} does not carry a {type(value).__name__}")


def _write_flag(writer: Writer, code: int, value: bool) -> None:
    if code == spec.BOOLEAN:
        writer.u8(1 if value else 0)
    else:
        _expect(code, spec.BIT, value)


def _write_text(writer: Writer, code: int, value: str) -> None:
    if code == spec.STR16:
        put_vbin16(writer, value.encode("utf-8"))
    elif code == spec.STR8:
        put_str8(writer, value)
    elif code == spec.STR8_UTF16:
        put_vbin8(writer, value.encode("utf-16-be"))
    elif code == spec.STR16_UTF16:
        put_vbin16(writer, value.encode("utf-16-be"))
    elif code == spec.CHAR_UTF32 and len(value) == 1:
        writer.u32(ord(value))
    else:
        _write_latin(writer, code, value)


def _write_latin(writer: Writer, code: int, value: str) -> None:
    try:
        octets = value.encode("iso8859-15")
    except UnicodeEncodeError as error:
        raise LocalProtocolError(f"type code 0x{code:02x} does not carry {value!r}") from error
    if code == spec.STR8_LATIN:
        put_vbin8(writer, octets)
    elif code == spec.STR16_LATIN:
        put_vbin16(writer, octets)
    else:
        _expect(code, spec.CHAR if len(octets) == 1 else -1, value)
        writer.raw(octets)


def _write_integer(writer: Writer, code: int, value: int) -> None:
    bounds = INTEGERS.get(code)
    if bounds is None or value < bounds[0] or value > bounds[1]:
        raise LocalProtocolError(f"type code 0x{code:02x} does not carry {value}")
    if code == spec.INT32:
        writer.i32(value)
    elif code == spec.INT64 or code == spec.DATETIME:
        writer.i64(value)
    elif code == spec.UINT8:
        writer.u8(value)
    elif code == spec.INT8:
        writer.i8(value)
    elif code == spec.UINT16:
        writer.u16(value)
    elif code == spec.INT16:
        writer.i16(value)
    elif code == spec.UINT32:
        writer.u32(value)
    else:
        writer.u64(value)


def _write_octets(writer: Writer, code: int, value: bytes) -> None:
    high = code >> 4
    if high == 0x8:
        put_vbin8(writer, value)
    elif high == 0x9:
        put_vbin16(writer, value)
    elif high == 0xA:
        put_vbin32(writer, value)
    else:
        if WIDTHS.get(high, -1) != len(value):
            raise LocalProtocolError(f"type code 0x{code:02x} does not carry {len(value)} octets")
        writer.raw(value)


def _write_compound(writer: Writer, code: int, value: object) -> None:
    if isinstance(value, Array):
        _expect(code, spec.ARRAY, value)
        write_array(writer, value)
    elif isinstance(value, Struct32):
        _expect(code, spec.STRUCT32, value)
        write_struct32(writer, value)
    elif isinstance(value, tuple):
        _write_decimal(writer, code, value)
    elif isinstance(value, list) and code == spec.MAP:
        write_map(writer, value)
    else:
        _expect(code, spec.LIST, value)
        assert isinstance(value, list)
        write_list(writer, value)


def _write_decimal(writer: Writer, code: int, value: tuple[int, int]) -> None:
    exponent, mantissa = value
    writer.u8(exponent)
    if code == spec.DEC32:
        _write_integer(writer, spec.INT32, mantissa)
    else:
        _expect(code, spec.DEC64, value)
        _write_integer(writer, spec.INT64, mantissa)


def write_map(writer: Writer, entries: FieldTable) -> None:
    """A map, in the order of the pairs."""
    if len(entries) == 1 and entries[0][1].code == KEPT:
        writer.raw(cast(bytes, entries[0][1].value))
        return
    at = writer.size()
    writer.u32(0)
    writer.u32(len(entries))
    for key, tagged in entries:
        put_str8(writer, key)
        writer.u8(tagged.code)
        write_value(writer, tagged.code, tagged.value)
    writer.patch_u32(at, writer.size() - at - 4)


def write_list(writer: Writer, values: list[Tagged]) -> None:
    """A list."""
    at = writer.size()
    writer.u32(0)
    writer.u32(len(values))
    for tagged in values:
        writer.u8(tagged.code)
        write_value(writer, tagged.code, tagged.value)
    writer.patch_u32(at, writer.size() - at - 4)


def write_array(writer: Writer, array: Array) -> None:
    """An array."""
    if array.code >= spec.VOID and array.values:
        raise LocalProtocolError("an array of a type without width cannot have elements")
    at = writer.size()
    writer.u32(0)
    writer.u8(array.code)
    writer.u32(len(array.values))
    for value in array.values:
        write_value(writer, array.code, value)
    writer.patch_u32(at, writer.size() - at - 4)


def write_struct32(writer: Writer, struct: Struct32) -> None:
    """A coded struct, as it was read."""
    writer.u32(len(struct.octets) + 2)
    writer.u16(struct.code)
    writer.raw(struct.octets)


def write_str16_array(writer: Writer, texts: list[str]) -> None:
    """An array of ``str16``."""
    values: list[object] = []
    values.extend(texts)
    write_array(writer, Array(spec.STR16, values))

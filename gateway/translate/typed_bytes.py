"""The Java client's typed octets: the bodies of its map and stream messages.

A value is a type octet and the value, big-endian; text ends with a zero octet. A stream message is
a row of values; a map message a 32-bit count and then, for each entry, the name as bare text and
the value. As 1.0 values: boolean, byte, short, int, long, float, double, char, string, binary and
null.
"""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_1_0 import types
from gateway.errors import DecodeError, LimitError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

BOOLEAN: Final = 1
BYTE: Final = 2
OCTETS: Final = 3
SHORT: Final = 4
CHAR: Final = 5
INT: Final = 6
LONG: Final = 7
FLOAT: Final = 8
DOUBLE: Final = 9
TEXT: Final = 10
NULL_TEXT: Final = 11

CODES: Final = {
    types.BOOLEAN: BOOLEAN,
    types.BYTE: BYTE,
    types.BINARY: OCTETS,
    types.SHORT: SHORT,
    types.CHAR: CHAR,
    types.INT: INT,
    types.LONG: LONG,
    types.FLOAT: FLOAT,
    types.DOUBLE: DOUBLE,
    types.STRING: TEXT,
    types.NULL: NULL_TEXT,
}
"""1.0 type -> typed octets' type: the types that JMS map and stream messages know."""


def decode_map(octets: bytes) -> types.Map | None:
    """A map message's entries; `None` if these are not just its octets.

    Raises:
        LimitError: they may be, of too many values.
    """
    reader = Reader(octets)
    pairs: types.Map = []
    try:
        count = reader.i32()
        if count < 0 or count > reader.remaining():
            return None
        reader.spend(count)
        seen: set[str] = set()
        for _ in range(count):
            name = _read_text(reader)
            if name in seen:
                return None
            seen.add(name)
            pairs.append((Tagged(types.STRING, name), _read(reader)))
    except LimitError:
        raise
    except DecodeError:
        return None
    return pairs if encode_map(pairs) == octets else None


def decode_stream(octets: bytes) -> list[Tagged] | None:
    """A stream message's values, as `decode_map` reads entries."""
    reader = Reader(octets)
    values: list[Tagged] = []
    try:
        while reader.remaining():
            reader.spend(1)
            values.append(_read(reader))
    except LimitError:
        raise
    except DecodeError:
        return None
    return values if encode_stream(values) == octets else None


def encode_map(pairs: types.Map) -> bytes | None:
    """The octets of a map message; `None` where an entry has no place in one."""
    writer = Writer()
    writer.i32(len(pairs))
    for key, value in pairs:
        if key.code != types.STRING or not _write_text(writer, cast(str, key.value)):
            return None
        if not _write(writer, value):
            return None
    return writer.getvalue()


def encode_stream(values: list[Tagged]) -> bytes | None:
    """The octets of a stream message; `None` where a value has no place in one."""
    writer = Writer()
    for value in values:
        if not _write(writer, value):
            return None
    return writer.getvalue()


def _read_text(reader: Reader) -> str:
    start: int = reader.pos
    end: int = reader.end
    stop = reader.buf.find(b"\0", start, end)
    if stop < 0:
        raise DecodeError("text without an end")
    text = reader.text(stop - start)
    reader.skip(1)
    return text


def _read(reader: Reader) -> Tagged:
    code = reader.u8()
    if code == TEXT:
        return Tagged(types.STRING, _read_text(reader))
    if code == INT:
        return Tagged(types.INT, reader.i32())
    if code == LONG:
        return Tagged(types.LONG, reader.i64())
    if code == BOOLEAN:
        return Tagged(types.BOOLEAN, reader.u8() != 0)
    if code == DOUBLE:
        return Tagged(types.DOUBLE, reader.f64())
    if code == FLOAT:
        return Tagged(types.FLOAT, reader.f32())
    return _read_rare(reader, code)


def _read_rare(reader: Reader, code: int) -> Tagged:
    if code == BYTE:
        return Tagged(types.BYTE, reader.i8())
    if code == SHORT:
        return Tagged(types.SHORT, reader.i16())
    if code == NULL_TEXT:
        return Tagged(types.NULL, None)
    if code == OCTETS:
        return Tagged(types.BINARY, reader.take(reader.i32()))
    if code == CHAR:
        point = reader.u16()
        if 0xD800 <= point < 0xE000:
            raise DecodeError("half a character")
        return Tagged(types.CHAR, chr(point))
    raise DecodeError(f"no typed value has code {code}")


def _write_text(writer: Writer, text: str) -> bool:
    if "\0" in text:
        return False
    writer.raw(text.encode("utf-8"))
    writer.u8(0)
    return True


def _write(writer: Writer, value: Tagged) -> bool:
    code = CODES.get(value.code, 0)
    if code == 0:
        return False
    writer.u8(code)
    if code == TEXT:
        return _write_text(writer, cast(str, value.value))
    if code == NULL_TEXT:
        return True
    if code == OCTETS:
        octets = cast(bytes, value.value)
        writer.i32(len(octets))
        writer.raw(octets)
        return True
    if code == CHAR:
        point = ord(cast(str, value.value))
        writer.u16(point & 0xFFFF)
        return point <= 0xFFFF
    _write_number(writer, code, value.value)
    return True


def _write_number(writer: Writer, code: int, value: object) -> None:
    if code == FLOAT:
        writer.f32(cast(float, value))
    elif code == DOUBLE:
        writer.f64(cast(float, value))
    elif code == BOOLEAN:
        writer.u8(1 if value else 0)
    elif code == BYTE:
        writer.i8(cast(int, value))
    elif code == SHORT:
        writer.i16(cast(int, value))
    elif code == INT:
        writer.i32(cast(int, value))
    else:
        writer.i64(cast(int, value))

"""Octets -> `Tagged`: any value of any AMQP 1.0 type (part 1), and moving past one unread.

Depth counts every level of list, map, array and description. A count is checked against the octets
that are left, and against the values that the reader may still read, before anything is made of it;
elements that take no octets have a limit of their own.
"""

from __future__ import annotations

from gateway.amqp_1_0.primitives.codes import (
    BINARY,
    BOOLEAN,
    BYTE,
    CANONICAL,
    CHAR,
    DECIMAL32,
    DECIMAL64,
    DECIMAL128,
    DEPTH_MAX,
    DESCRIBED,
    DOUBLE,
    FLOAT,
    INT,
    LIST,
    LONG,
    MAP,
    NULL,
    SHORT,
    STRING,
    SYMBOL,
    TIMESTAMP,
    UBYTE,
    UINT,
    ULONG,
    UNKNOWN,
    USHORT,
    UUID,
    ZERO_WIDTH_MAX,
    Array,
    Described,
    Map,
)
from gateway.errors import DecodeError, LimitError
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged


def decode(reader: Reader, depth: int = DEPTH_MAX) -> Tagged:
    """The next value, whatever its type."""
    code = reader.u8()
    if code == DESCRIBED:
        if depth <= 0:
            raise LimitError("nested too deep")
        descriptor = decode(reader, depth - 1)
        return Tagged(DESCRIBED, Described(descriptor, decode(reader, depth - 1)))
    return Tagged(CANONICAL[code], decode_untyped(reader, code, depth))


def decode_untyped(reader: Reader, code: int, depth: int) -> object:
    """The value whose constructor `code` has been read already."""
    group = code >> 4
    if group >= 0xC:
        return _decode_compound(reader, code, depth)
    if group >= 0xA:
        return _decode_variable(reader, code)
    if group == 0x4:
        return _decode_empty(code)
    return _decode_fixed(reader, code)


def _unknown(code: int) -> DecodeError:
    return DecodeError(f"no type has the constructor 0x{code:02x}")


def _decode_empty(code: int) -> object:
    if code == NULL:
        return None
    if code == 0x41:
        return True
    if code == 0x42:
        return False
    if code == 0x43 or code == 0x44:
        return 0
    if code == 0x45:
        empty: list[Tagged] = []
        return empty
    raise _unknown(code)


def _decode_fixed(reader: Reader, code: int) -> object:
    group = code >> 4
    if group == 0x5:
        return _decode_fixed_one(reader, code)
    if code == USHORT:
        return reader.u16()
    if code == SHORT:
        return reader.i16()
    if code == UINT:
        return reader.u32()
    if code == INT:
        return reader.i32()
    if code == FLOAT:
        return reader.f32()
    if code == CHAR:
        return _decode_char(reader)
    if code == ULONG:
        return reader.u64()
    if code in (LONG, TIMESTAMP):
        return reader.i64()
    if code == DOUBLE:
        return reader.f64()
    if code in (UUID, DECIMAL128):
        return reader.take(16)
    if code == DECIMAL64:
        return reader.take(8)
    if code == DECIMAL32:
        return reader.take(4)
    raise _unknown(code)


def _decode_fixed_one(reader: Reader, code: int) -> object:
    if code == 0x52 or code == 0x53 or code == UBYTE:
        return reader.u8()
    if code == 0x54 or code == 0x55 or code == BYTE:
        return reader.i8()
    if code == BOOLEAN:
        octet = reader.u8()
        if octet > 1:
            raise DecodeError(f"a boolean of octet 0x{octet:02x}")
        return octet == 1
    raise _unknown(code)


def _decode_char(reader: Reader) -> str:
    point = reader.u32()
    if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        raise DecodeError(f"0x{point:x} is no Unicode character")
    return chr(point)


def _decode_variable(reader: Reader, code: int) -> object:
    if code == 0xA1:
        return reader.text(reader.u8())
    if code == 0xA0:
        return reader.take(reader.u8())
    if code == 0xA3:
        return ascii_text(reader, reader.u8())
    if code == STRING:
        return reader.text(reader.u32())
    if code == BINARY:
        return reader.take(reader.u32())
    if code == SYMBOL:
        return ascii_text(reader, reader.u32())
    raise _unknown(code)


def ascii_text(reader: Reader, count: int) -> str:
    """The next `count` octets as a symbol's text."""
    octets = reader.take(count)
    try:
        return octets.decode("ascii")
    except UnicodeDecodeError as error:
        raise DecodeError("a symbol that is not ASCII") from error


def _decode_compound(reader: Reader, code: int, depth: int) -> object:
    canonical: int = CANONICAL[code]
    if canonical == UNKNOWN:
        raise _unknown(code)
    if depth <= 0:
        raise LimitError("nested too deep")
    outer = reader.end
    count = enter(reader, code)
    if canonical != MAP:
        reader.spend(count)
    value: object
    if canonical == LIST:
        value = [decode(reader, depth - 1) for _ in range(count)]
    elif canonical == MAP:
        value = _decode_pairs(reader, count, depth - 1)
    else:
        value = _decode_array(reader, count, depth - 1)
    leave(reader, outer)
    return value


def enter(reader: Reader, code: int) -> int:
    """Read size and count of a list, map or array, and narrow `reader` to its content; the count.

    The caller keeps `reader.end` from before, for `leave`. A count that the octets cannot hold is
    refused, except in an array, whose elements may be empty: its decoder looks again.
    """
    if (code >> 4) & 1:
        size = reader.u32()
        if size < 4 or size > reader.remaining():
            raise DecodeError(f"a compound of {size} octets, {reader.remaining()} left")
        reader.end = reader.pos + size
        count = reader.u32()
    else:
        size = reader.u8()
        if size < 1 or size > reader.remaining():
            raise DecodeError(f"a compound of {size} octets, {reader.remaining()} left")
        reader.end = reader.pos + size
        count = reader.u8()
    if code < 0xE0 and count > reader.remaining():
        raise DecodeError(f"{count} elements in {reader.remaining()} octets")
    return count


def leave(reader: Reader, outer: int) -> None:
    """Widen `reader` again to end at `outer`; its content must have been read to the last octet."""
    if reader.pos != reader.end:
        raise DecodeError(f"{reader.remaining()} octets too many in a compound")
    reader.end = outer


def _decode_pairs(reader: Reader, count: int, depth: int) -> Map:
    if count & 1:
        raise DecodeError("a map with a key that has no value")
    reader.spend(count // 2)
    reader.spend_keys(count // 2)
    pairs: Map = []
    seen: set[tuple[int, object]] = set()
    for _ in range(count // 2):
        key = decode(reader, depth)
        if key.code < LIST and key.code != DESCRIBED:
            known = (key.code, key.value)
            if known in seen:
                raise DecodeError("a map with two identical keys")
            seen.add(known)
        pairs.append((key, decode(reader, depth)))
    return pairs


def decode_map(reader: Reader, code: int, depth: int = DEPTH_MAX) -> Map:
    """The pairs of the map whose constructor `code` has been read already."""
    outer = reader.end
    count = enter(reader, code)
    pairs = _decode_pairs(reader, count, depth - 1)
    leave(reader, outer)
    return pairs


def _decode_array(reader: Reader, count: int, depth: int) -> Array:
    descriptors: list[Tagged] = []
    code = reader.u8()
    while code == DESCRIBED:
        if len(descriptors) >= depth:
            raise LimitError("nested too deep")
        descriptors.append(decode(reader, depth))
        code = reader.u8()
    canonical: int = CANONICAL[code]
    if canonical == UNKNOWN:
        raise _unknown(code)
    if code >> 4 == 0x4:
        if count > ZERO_WIDTH_MAX:
            raise LimitError(f"{count} elements of no octets")
    elif count > reader.remaining():
        raise DecodeError(f"{count} elements in {reader.remaining()} octets")
    items = [decode_untyped(reader, code, depth) for _ in range(count)]
    return Array(canonical, items, descriptors)


def skip(reader: Reader, depth: int = DEPTH_MAX) -> None:
    """Move past the next value without looking into it."""
    code = reader.u8()
    while code == DESCRIBED:
        if depth <= 0:
            raise LimitError("nested too deep")
        depth -= 1
        skip(reader, depth)
        code = reader.u8()
    if CANONICAL[code] == UNKNOWN:
        raise _unknown(code)
    group = code >> 4
    if group >= 0xA:
        reader.skip(reader.u32() if group & 1 else reader.u8())
    elif group >= 0x5:
        reader.skip(1 << (group - 5))


def from_bytes(octets: bytes, depth: int = DEPTH_MAX) -> Tagged:
    """The one value that `octets` are; `DecodeError` if anything is left over."""
    reader = Reader(octets)
    tagged = decode(reader, depth)
    if reader.remaining():
        raise DecodeError(f"{reader.remaining()} octets behind a value")
    return tagged

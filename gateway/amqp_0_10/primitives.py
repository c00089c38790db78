"""The variable-width primitives of AMQP 0-10 that fields have: strings, binaries, range sets.

What the generated codec calls for a field that is no plain integer. Fixed-width values are read and
written by `wire.buffers`; typed values inside maps, lists and arrays are in `types`.
Text is UTF-8 here (``str8``, ``str16``); the other encodings occur in typed values only.
"""

from __future__ import annotations

from gateway.errors import DecodeError, LocalProtocolError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.serial import HALF, MASK
from gateway.wire.work import RANGE, WORK

Ranges = list[tuple[int, int]]


def get_vbin8(reader: Reader) -> bytes:
    """Up to 255 octets."""
    return reader.take(reader.u8())


def put_vbin8(writer: Writer, value: bytes) -> None:
    """Up to 255 octets; `LocalProtocolError` when there are more."""
    size = len(value)
    if size > 255:
        raise LocalProtocolError(f"{size} octets do not fit an 8-bit length")
    writer.u8(size)
    writer.raw(value)


def get_vbin16(reader: Reader) -> bytes:
    """Up to 65,535 octets."""
    return reader.take(reader.u16())


def put_vbin16(writer: Writer, value: bytes) -> None:
    """Up to 65,535 octets; `LocalProtocolError` when there are more."""
    size = len(value)
    if size > 65535:
        raise LocalProtocolError(f"{size} octets do not fit a 16-bit length")
    writer.u16(size)
    writer.raw(value)


def get_vbin32(reader: Reader) -> bytes:
    """Octets with a 32-bit length."""
    return reader.take(reader.u32())


def put_vbin32(writer: Writer, value: bytes) -> None:
    """Octets with a 32-bit length."""
    writer.u32(len(value))
    writer.raw(value)


def get_str8(reader: Reader) -> str:
    """UTF-8 text of up to 255 octets."""
    return reader.text(reader.u8())


def put_str8(writer: Writer, value: str) -> None:
    """UTF-8 text of up to 255 octets; `LocalProtocolError` when there are more."""
    put_vbin8(writer, value.encode("utf-8"))


def get_str16(reader: Reader) -> str:
    """UTF-8 text of up to 65,535 octets."""
    return reader.text(reader.u16())


def put_str16(writer: Writer, value: str) -> None:
    """UTF-8 text of up to 65,535 octets; `LocalProtocolError` when there are more."""
    put_vbin16(writer, value.encode("utf-8"))


def put_uuid(writer: Writer, value: bytes) -> None:
    """The 16 octets of a uuid."""
    if len(value) != 16:
        raise LocalProtocolError(f"a uuid of {len(value)} octets")
    writer.raw(value)


def get_sequence_set(reader: Reader) -> Ranges:
    """Ranges of serial numbers, each ``(first, last)``, inclusive, ascending."""
    size = reader.u16()
    if size % 8:
        raise DecodeError(f"a sequence-set of {size} octets")
    WORK.units += size // 8 * RANGE
    ranges: Ranges = []
    for _ in range(size // 8):
        first = reader.u32()
        last = reader.u32()
        if (last - first) & MASK >= HALF:
            raise DecodeError(f"inverted range {first}..{last}")
        if ranges and (first - ranges[-1][1] - 1) & MASK >= HALF:
            raise DecodeError(f"range {first}..{last} out of order")
        ranges.append((first, last))
    return ranges


def put_sequence_set(writer: Writer, ranges: Ranges) -> None:
    """Ranges of serial numbers, at most 8,191 of them."""
    size = len(ranges) * 8
    if size > 65535:
        raise LocalProtocolError(f"{len(ranges)} ranges do not fit a sequence-set")
    writer.u16(size)
    for first, last in ranges:
        writer.u32(first)
        writer.u32(last)


def get_byte_ranges(reader: Reader) -> Ranges:
    """Ranges of octet offsets, each ``(first, last)``, inclusive, ascending, not touching."""
    size = reader.u16()
    if size % 16:
        raise DecodeError(f"byte-ranges of {size} octets")
    WORK.units += size // 16 * RANGE
    ranges: Ranges = []
    floor = -2
    for _ in range(size // 16):
        first = reader.u64()
        last = reader.u64()
        if last < first or first <= floor + 1:
            raise DecodeError(f"byte range {first}..{last} out of order")
        floor = last
        ranges.append((first, last))
    return ranges


def put_byte_ranges(writer: Writer, ranges: Ranges) -> None:
    """Ranges of octet offsets, at most 4,095 of them."""
    size = len(ranges) * 16
    if size > 65535:
        raise LocalProtocolError(f"{len(ranges)} ranges do not fit byte-ranges")
    writer.u16(size)
    for first, last in ranges:
        writer.u64(first)
        writer.u64(last)

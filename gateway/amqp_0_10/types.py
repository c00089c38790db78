"""Typed values of AMQP 0-10: what stands in maps, lists, arrays and coded structs.

A value travels as `Tagged(code, value)`; this is the Python value of each code:

    bin8 bin16 bin32 bin64 bin128 bin256 bin512 bin1024 bin40 bin72   bytes of just that width
    int8 int16 int32 int64 uint8 uint16 uint32 uint64                 int
    boolean                          bool
    char, char-utf32                 str of one character
    float, double                    float
    datetime                         int, signed 64-bit (seconds; see the translation about ms)
    uuid                             bytes, 16
    vbin8 vbin16 vbin32              bytes
    str8 str16                       str (UTF-8); bytes where they are no UTF-8
    str8-latin str16-latin           str (ISO 8859-15)
    str8-utf16 str16-utf16           str (UTF-16, big-endian); bytes where they are no UTF-16
    map                              list of (str, Tagged), in order, duplicates kept
    list                             list of Tagged
    array                            Array
    struct32                         Struct32, not opened: the generated codec opens the known ones
    dec32 dec64                      (exponent, mantissa): mantissa / 10 ** exponent
    void                             None
    bit                              True
    a code that has no type          bytes, by the code's high digit; 0xB. and 0xE. are refused

Everything is checked against the octets that are there and against a depth; an array of void or bit
cannot have elements, because its count would be checked by nothing. An empty map, list or array may
come with size 0, without a count, as deployed clients send it. `DecodeError` is all that is raised
for what came; `LocalProtocolError` for a value that its code cannot carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

from mypy_extensions import mypyc_attr

from gateway.amqp_0_10 import _spec_constants as spec
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

DEPTH_MAX: Final = 32

FieldTable = list[tuple[str, Tagged]]

KEPT: Final = -1
"""The code of a map's only entry, if that is the whole map, encoded: it is written as it stands."""


def kept_map(octets: bytes) -> FieldTable:
    """A map that is at hand encoded, to be written; empty octets are an empty one."""
    return [("", Tagged(KEPT, octets))] if octets else []


@mypyc_attr(acyclic=True)
class Packed:
    """What the generated classes share: a code (class code << 8 | own code) and packed fields."""

    __slots__ = ()
    CODE: ClassVar[int] = 0

    def encode_fields(self, writer: Writer) -> None:
        """Write packing flags and fields; without fields, flags of which none is set."""
        writer.u16(0)


class Control(Packed):
    """Any control."""

    __slots__ = ()


@mypyc_attr(acyclic=True)
class Command(Packed):
    """Any command."""

    __slots__ = ()


class Struct(Packed):
    """Any struct that has a code."""

    __slots__ = ()


@final
@dataclass(init=False, slots=True)
class Array:
    """Values of one type.

    Attributes:
        code: the type of every element.
        values: the Python values, without their tags.
    """

    code: int
    values: list[object]

    def __init__(self, code: int, values: list[object]) -> None:
        self.code = code
        self.values = values


@final
@dataclass(init=False, slots=True)
class Struct32:
    """A coded struct, not opened.

    Attributes:
        code: class code << 8 | struct code.
        octets: packing flags and fields.
    """

    code: int
    octets: bytes

    def __init__(self, code: int, octets: bytes) -> None:
        self.code = code
        self.octets = octets


# Octets of a value by the high digit of its code, where that is fixed.
WIDTHS: Final = {
    0x0: 1,
    0x1: 2,
    0x2: 4,
    0x3: 8,
    0x4: 16,
    0x5: 32,
    0x6: 64,
    0x7: 128,
    0xC: 5,
    0xD: 9,
    0xF: 0,
}

# The bounds of the integer types.
INTEGERS: Final = {
    spec.INT8: (-(1 << 7), (1 << 7) - 1),
    spec.UINT8: (0, (1 << 8) - 1),
    spec.INT16: (-(1 << 15), (1 << 15) - 1),
    spec.UINT16: (0, (1 << 16) - 1),
    spec.INT32: (-(1 << 31), (1 << 31) - 1),
    spec.UINT32: (0, (1 << 32) - 1),
    spec.INT64: (-(1 << 63), (1 << 63) - 1),
    spec.UINT64: (0, (1 << 64) - 1),
    spec.DATETIME: (-(1 << 63), (1 << 63) - 1),
}

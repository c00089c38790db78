"""The codes of AMQP 1.0's primitive types (1.6), and the values that need a class of their own.

`types` says which Python value each code has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gateway.wire.tagged import Tagged

DESCRIBED: Final = 0x00
NULL: Final = 0x40
BOOLEAN: Final = 0x56
UBYTE: Final = 0x50
USHORT: Final = 0x60
UINT: Final = 0x70
ULONG: Final = 0x80
BYTE: Final = 0x51
SHORT: Final = 0x61
INT: Final = 0x71
LONG: Final = 0x81
FLOAT: Final = 0x72
DOUBLE: Final = 0x82
DECIMAL32: Final = 0x74
DECIMAL64: Final = 0x84
DECIMAL128: Final = 0x94
CHAR: Final = 0x73
TIMESTAMP: Final = 0x83
UUID: Final = 0x98
BINARY: Final = 0xB0
STRING: Final = 0xB1
SYMBOL: Final = 0xB3
LIST: Final = 0xD0
MAP: Final = 0xD1
ARRAY: Final = 0xF0

UNKNOWN: Final = 0xFF

# Encodings of a type beside the one that names it: constructor -> canonical code.
_SHORT_FORMS: Final = {
    0x41: BOOLEAN,
    0x42: BOOLEAN,
    0x43: UINT,
    0x52: UINT,
    0x44: ULONG,
    0x53: ULONG,
    0x54: INT,
    0x55: LONG,
    0xA0: BINARY,
    0xA1: STRING,
    0xA3: SYMBOL,
    0x45: LIST,
    0xC0: LIST,
    0xC1: MAP,
    0xE0: ARRAY,
}
TYPE_CODES: Final = (
    NULL, BOOLEAN, UBYTE, USHORT, UINT, ULONG, BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, DECIMAL32,
    DECIMAL64, DECIMAL128, CHAR, TIMESTAMP, UUID, BINARY, STRING, SYMBOL, LIST, MAP, ARRAY,
)  # fmt: skip


def _canonical_table() -> bytes:
    table = [UNKNOWN] * 256
    for code in TYPE_CODES:
        table[code] = code
    for code, canonical in _SHORT_FORMS.items():
        table[code] = canonical
    return bytes(table)


CANONICAL: Final = _canonical_table()
"""Constructor octet -> canonical code; `UNKNOWN` where no primitive type has it."""

DEPTH_MAX: Final = 32
# Elements of no octets in one array: ten octets would else stand for any amount of memory.
ZERO_WIDTH_MAX: Final = 256

RANGES: Final = {
    UBYTE: (0, 0xFF),
    USHORT: (0, 0xFFFF),
    UINT: (0, 0xFFFFFFFF),
    ULONG: (0, 0xFFFFFFFFFFFFFFFF),
    BYTE: (-0x80, 0x7F),
    SHORT: (-0x8000, 0x7FFF),
    INT: (-0x80000000, 0x7FFFFFFF),
    LONG: (-0x8000000000000000, 0x7FFFFFFFFFFFFFFF),
    TIMESTAMP: (-0x8000000000000000, 0x7FFFFFFFFFFFFFFF),
}
"""Least and greatest value of each integral type."""

WIDTHS: Final = {DECIMAL32: 4, DECIMAL64: 8, DECIMAL128: 16, UUID: 16}
"""Octets of the types whose value is kept as encoded."""

Map = list[tuple[Tagged, Tagged]]


@final
@dataclass(init=False, slots=True)
class Described:
    """A value with its descriptor (1.1.2), where we know no type for it."""

    descriptor: Tagged
    value: Tagged

    def __init__(self, descriptor: Tagged, value: Tagged) -> None:
        self.descriptor = descriptor
        self.value = value


@final
@dataclass(init=False, slots=True)
class Array:
    """Values of one type.

    Attributes:
        code: canonical code of the elements' primitive type.
        items: their values, as `Tagged.value` would have them.
        descriptors: descriptors that all elements share, outermost first; mostly none.
    """

    code: int
    items: list[object]
    descriptors: list[Tagged]

    def __init__(
        self, code: int, items: list[object], descriptors: list[Tagged] | None = None
    ) -> None:
        self.code = code
        self.items = items
        self.descriptors = [] if descriptors is None else descriptors

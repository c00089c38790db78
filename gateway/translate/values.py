"""Typed values: 0-10 <-> 1.0, by the tables in `mappings/values.yaml`.

A `Conversion` goes one way through one value, however deep, and notes whether the value would come
back by itself (`exact`) and whether the other protocol has a place for all of it (`possible`).
"""

from __future__ import annotations

from typing import Final, cast, final

from mypy_extensions import mypyc_attr

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10.decoding import read_value
from gateway.amqp_0_10.encoding import write_value
from gateway.amqp_0_10.types import Array as Array010
from gateway.amqp_0_10.types import FieldTable, Struct32
from gateway.amqp_1_0 import types as new
from gateway.errors import DecodeError
from gateway.translate.escrow import digest_value
from gateway.translate.mapping_rows import number
from gateway.translate.times import from_ms, to_ms
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

BOOLEAN: Final = number("values.boolean")
INTEGER: Final = number("values.integer")
FLOAT: Final = number("values.float")
UUID: Final = number("values.uuid")
BIN: Final = number("values.bin")
CHAR: Final = number("values.char")
DATETIME: Final = number("values.datetime")
STRING: Final = number("values.string")
CHARSET: Final = number("values.charset")
BINARY: Final = number("values.binary")
VOID: Final = number("values.void")
DECIMAL: Final = number("values.decimal")
COMPOUND: Final = number("values.compound")
SYMBOL: Final = number("values.symbol")
DESCRIBED: Final = number("values.described")

# Types whose Python values are the same on both sides, and which come back by themselves.
SAME: Final = {
    old.BOOLEAN: new.BOOLEAN,
    old.INT8: new.BYTE,
    old.INT16: new.SHORT,
    old.INT32: new.INT,
    old.INT64: new.LONG,
    old.UINT8: new.UBYTE,
    old.UINT16: new.USHORT,
    old.UINT32: new.UINT,
    old.UINT64: new.ULONG,
    old.FLOAT: new.FLOAT,
    old.DOUBLE: new.DOUBLE,
    old.UUID: new.UUID,
    old.VBIN8: new.BINARY,
    old.VBIN16: new.BINARY,
    old.VBIN32: new.BINARY,
    old.STR8: new.STRING,
    old.STR16: new.STRING,
    old.VOID: new.NULL,
}
BACK: Final = {
    new.BOOLEAN: old.BOOLEAN,
    new.BYTE: old.INT8,
    new.SHORT: old.INT16,
    new.INT: old.INT32,
    new.LONG: old.INT64,
    new.UBYTE: old.UINT8,
    new.USHORT: old.UINT16,
    new.UINT: old.UINT32,
    new.ULONG: old.UINT64,
    new.FLOAT: old.FLOAT,
    new.DOUBLE: old.DOUBLE,
    new.UUID: old.UUID,
    new.NULL: old.VOID,
}
LATIN_OR_UTF16: Final = frozenset(
    (old.STR8_LATIN, old.STR16_LATIN, old.STR8_UTF16, old.STR16_UTF16)
)
COMPOUNDS: Final = frozenset((old.MAP, old.LIST, old.ARRAY, old.STRUCT32))
TEXT_MAX: Final = 65_535
KEY_MAX: Final = 255

ROWS_0_10: Final = {
    old.BOOLEAN: BOOLEAN,
    old.BIT: BOOLEAN,
    old.FLOAT: FLOAT,
    old.DOUBLE: FLOAT,
    old.UUID: UUID,
    old.CHAR: CHAR,
    old.CHAR_UTF32: CHAR,
    old.DATETIME: DATETIME,
    old.STR8: STRING,
    old.STR16: STRING,
    old.VBIN8: BINARY,
    old.VBIN16: BINARY,
    old.VBIN32: BINARY,
    old.VOID: VOID,
    old.DEC32: DECIMAL,
    old.DEC64: DECIMAL,
}
ROWS_1_0: Final = {
    new.BOOLEAN: BOOLEAN,
    new.FLOAT: FLOAT,
    new.DOUBLE: FLOAT,
    new.UUID: UUID,
    new.CHAR: CHAR,
    new.TIMESTAMP: DATETIME,
    new.STRING: STRING,
    new.SYMBOL: SYMBOL,
    new.BINARY: BINARY,
    new.NULL: VOID,
    new.DECIMAL32: DECIMAL,
    new.DECIMAL64: DECIMAL,
    new.DECIMAL128: DECIMAL,
    new.DESCRIBED: DESCRIBED,
    new.LIST: COMPOUND,
    new.MAP: COMPOUND,
    new.ARRAY: COMPOUND,
}


def row_0_10(code: int) -> int:
    """The row of a 0-10 type."""
    if code in LATIN_OR_UTF16:
        return CHARSET
    if code in COMPOUNDS:
        return COMPOUND
    if code in SAME:
        return ROWS_0_10.get(code, INTEGER)
    return ROWS_0_10.get(code, BIN)


def row_1_0(code: int) -> int:
    """The row of a 1.0 type."""
    return ROWS_1_0.get(code, INTEGER)


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Conversion:
    """One value's way across.

    Attributes:
        exact: the result comes back as what went in, without escrow.
        possible: false when the other protocol lacks a type for some of it; the rest is void.
        unread: it has more values or levels than are read, and is left as it is.
        java: towards 0-10: times are written in milliseconds.
    """

    __slots__ = ("exact", "java", "possible", "unread")

    def __init__(self, java: bool = False) -> None:
        self.exact = True
        self.possible = True
        self.unread = False
        self.java = java

    def to_1_0(self, value: Tagged) -> Tagged:
        """A 0-10 value as a 1.0 one."""
        code = value.code
        same = SAME.get(code, new.UNKNOWN)
        if same != new.UNKNOWN:
            if same == new.STRING and isinstance(value.value, bytes):
                self.exact = False  # it is no UTF-8
                same = new.BINARY
            return Tagged(same, value.value)
        if code == old.DATETIME:
            return self._datetime_to_1_0(cast(int, value.value))
        if code in COMPOUNDS:
            return self._compound_to_1_0(value)
        self.exact = False
        return _odd_to_1_0(code, value.value)

    def _datetime_to_1_0(self, datetime: int) -> Tagged:
        timestamp_ms = to_ms(datetime)
        if from_ms(timestamp_ms, False) != datetime:
            self.exact = False
        return Tagged(new.TIMESTAMP, timestamp_ms)

    def _compound_to_1_0(self, value: Tagged) -> Tagged:
        if value.code == old.MAP:
            return self.map_to_1_0(cast(FieldTable, value.value))
        if value.code == old.LIST:
            return self.list_to_1_0(cast("list[Tagged]", value.value))
        if value.code == old.ARRAY:
            return self._array_to_1_0(cast(Array010, value.value))
        self.exact = False
        struct = cast(Struct32, value.value)
        return Tagged(new.BINARY, struct.code.to_bytes(2, "big") + struct.octets)

    def map_to_1_0(self, table: FieldTable) -> Tagged:
        """A map; where a key comes twice, which 1.0 does not allow, the later value stays."""
        pairs: dict[str, Tagged] = {}
        for key, item in table:
            if key in pairs:
                self.exact = False
            pairs[key] = self.to_1_0(item)
        out: new.Map = [(Tagged(new.STRING, key), item) for key, item in pairs.items()]
        return Tagged(new.MAP, out)

    def list_to_1_0(self, items: list[Tagged]) -> Tagged:
        """A list."""
        return Tagged(new.LIST, [self.to_1_0(item) for item in items])

    def _array_to_1_0(self, array: Array010) -> Tagged:
        if not array.values:
            return self._empty_array_to_1_0(array.code)
        items = [self.to_1_0(Tagged(array.code, item)) for item in array.values]
        code = items[0].code
        for item in items:
            if item.code != code:
                self.exact = False
                return Tagged(new.LIST, items)
        return Tagged(new.ARRAY, new.Array(code, [item.value for item in items]))

    def _empty_array_to_1_0(self, code: int) -> Tagged:
        element = SAME.get(code, new.UNKNOWN)
        if code == old.MAP:
            element = new.MAP
        elif code == old.LIST:
            element = new.LIST
        elif code == old.ARRAY:
            element = new.ARRAY
        elif code == old.DATETIME:
            element = new.TIMESTAMP
        elif element == new.UNKNOWN:
            self.exact = False
            element = new.NULL
        return Tagged(new.ARRAY, new.Array(element, []))

    def to_0_10(self, value: Tagged) -> Tagged:
        """A 1.0 value as a 0-10 one."""
        code = value.code
        back = BACK.get(code, -1)
        if back >= 0:
            return Tagged(back, value.value)
        if code == new.STRING:
            return self._text_to_0_10(cast(str, value.value))
        if code == new.BINARY:
            octets = cast(bytes, value.value)
            return Tagged(old.VBIN16 if len(octets) <= TEXT_MAX else old.VBIN32, octets)
        if code == new.TIMESTAMP:
            return self._timestamp_to_0_10(cast(int, value.value))
        if code == new.MAP:
            return self.map_to_0_10(cast(new.Map, value.value))
        if code == new.LIST:
            return self.list_to_0_10(cast("list[Tagged]", value.value))
        if code == new.ARRAY:
            return self._array_to_0_10(cast(new.Array, value.value))
        self.exact = False
        if code == new.SYMBOL or code == new.CHAR:
            return self._text_to_0_10(cast(str, value.value))
        self.possible = False
        return Tagged(old.VOID, None)

    def _text_to_0_10(self, text: str) -> Tagged:
        octets = text.encode("utf-8")
        if len(octets) <= TEXT_MAX:
            return Tagged(old.STR16, text)
        self.exact = False
        return Tagged(old.VBIN32, octets)

    def _timestamp_to_0_10(self, timestamp_ms: int) -> Tagged:
        datetime = from_ms(timestamp_ms, self.java)
        if to_ms(datetime) != timestamp_ms:
            self.exact = False
        return Tagged(old.DATETIME, datetime)

    def map_to_0_10(self, pairs: new.Map) -> Tagged:
        """A map; keys that are no text of at most 255 octets are impossible."""
        table: FieldTable = []
        for key, item in pairs:
            name = key.value
            if isinstance(name, str) and key.code == new.STRING and short_enough(name):
                table.append((name, self.to_0_10(item)))
            else:
                self.possible = False
        return Tagged(old.MAP, table)

    def list_to_0_10(self, items: list[Tagged]) -> Tagged:
        """A list."""
        return Tagged(old.LIST, [self.to_0_10(item) for item in items])

    def _array_to_0_10(self, array: new.Array) -> Tagged:
        if array.descriptors:
            self.possible = False
        if not array.items:
            return self._empty_array_to_0_10(array.code)
        items = [self.to_0_10(Tagged(array.code, item)) for item in array.items]
        code = items[0].code
        for item in items:
            if item.code == old.VOID:
                self.possible = False
            if item.code != code:
                code = old.VBIN32 if code in _OCTETS and item.code in _OCTETS else -1
        if code < 0:
            self.exact = False
            return Tagged(old.LIST, items)
        return Tagged(old.ARRAY, Array010(code, [item.value for item in items]))

    def _empty_array_to_0_10(self, code: int) -> Tagged:
        element = BACK.get(code, -1)
        if code == new.STRING:
            element = old.STR16
        elif code == new.BINARY:
            element = old.VBIN16
        elif code == new.TIMESTAMP:
            element = old.DATETIME
        elif code == new.MAP:
            element = old.MAP
        elif code == new.LIST:
            element = old.LIST
        elif code == new.ARRAY:
            element = old.ARRAY
        elif element < 0:
            self.exact = False
            element = old.VOID
        empty: list[object] = []
        return Tagged(old.ARRAY, Array010(element, empty))


_OCTETS: Final = frozenset((old.VBIN16, old.VBIN32))


def short_enough(name: str) -> bool:
    """Whether a name can be a 0-10 map key: at most 255 octets."""
    return len(name) <= KEY_MAX and len(name.encode("utf-8")) <= KEY_MAX


def _odd_to_1_0(code: int, value: object) -> Tagged:
    if code == old.BIT:
        return Tagged(new.BOOLEAN, True)
    if code == old.CHAR or code == old.CHAR_UTF32:
        return Tagged(new.CHAR, value)
    if code == old.DEC32 or code == old.DEC64:
        return _decimal(code, cast("tuple[int, int]", value))
    if isinstance(value, str):
        return Tagged(new.STRING, value)
    return Tagged(new.BINARY, value)


def _decimal(code: int, value: tuple[int, int]) -> Tagged:
    """IEEE 754 decimal in the binary integer encoding: dec32 fits decimal64, dec64 decimal128."""
    exponent, mantissa = value
    sign = 1 if mantissa < 0 else 0
    if code == old.DEC32:
        bits = sign << 63 | (398 - exponent) << 53 | abs(mantissa)
        return Tagged(new.DECIMAL64, bits.to_bytes(8, "big"))
    bits = sign << 127 | (6176 - exponent) << 113 | abs(mantissa)
    return Tagged(new.DECIMAL128, bits.to_bytes(16, "big"))


def digest_0_10(value: Tagged) -> int:
    """The digest of a visible 0-10 value, whatever the width of its length prefix."""
    return digest_value(Conversion().to_1_0(value))


def encode_0_10(value: Tagged) -> Tagged:
    """A 0-10 value as escrow keeps it: a 1.0 binary of its code and its octets."""
    writer = Writer()
    writer.u8(value.code)
    write_value(writer, value.code, value.value)
    return Tagged(new.BINARY, writer.getvalue())


def decode_0_10(kept: Tagged, depth: int) -> Tagged:
    """What `encode_0_10` made; `DecodeError` if it is something else."""
    if kept.code != new.BINARY:
        raise DecodeError("no 0-10 value")
    reader = Reader(cast(bytes, kept.value))
    code = reader.u8()
    value = Tagged(code, read_value(reader, code, depth))
    if reader.remaining():
        raise DecodeError("octets behind a value")
    return value

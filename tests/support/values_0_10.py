"""Hypothesis strategies for every AMQP 0-10 type, and for the generated classes by table row.

Each is made once: hypothesis looks at one that it has not seen, and that takes longer than to draw.
"""

from functools import cache

from hypothesis import strategies as st

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import _spec_constants as codes
from gateway.amqp_0_10.types import Array, Struct32
from gateway.codegen import amqp_0_10_tables as tables
from gateway.codegen.emit import class_name, field_name
from gateway.wire.tagged import Tagged

# Their codecs are not named: hypothesis would try each of a million characters with each, in a new
# clone. UTF-16 has those of UTF-8.
LATIN = bytes(range(256)).decode("iso8859-15")
CHARACTERS = {"iso8859-15": st.sampled_from(LATIN)}
ANY_CHARACTER = st.characters(codec="utf-8")


def text(max_octets: int, encoding: str = "utf-8") -> st.SearchStrategy[str]:
    return st.text(CHARACTERS.get(encoding, ANY_CHARACTER), max_size=40).filter(
        lambda value: len(value.encode(encoding)) <= max_octets
    )


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def unsigned(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


def octets(width: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=width, max_size=width)


BY_CODE: dict[int, st.SearchStrategy[object]] = {
    codes.BIN8: octets(1),
    codes.BIN16: octets(2),
    codes.BIN32: octets(4),
    codes.BIN64: octets(8),
    codes.BIN128: octets(16),
    codes.BIN256: octets(32),
    codes.BIN512: octets(64),
    codes.BIN1024: octets(128),
    codes.BIN40: octets(5),
    codes.BIN72: octets(9),
    codes.INT8: signed(8),
    codes.INT16: signed(16),
    codes.INT32: signed(32),
    codes.INT64: signed(64),
    codes.UINT8: unsigned(8),
    codes.UINT16: unsigned(16),
    codes.UINT32: unsigned(32),
    codes.UINT64: unsigned(64),
    codes.BOOLEAN: st.booleans(),
    codes.CHAR: CHARACTERS["iso8859-15"],
    codes.CHAR_UTF32: ANY_CHARACTER,
    codes.FLOAT: st.floats(width=32, allow_nan=False),
    codes.DOUBLE: st.floats(allow_nan=False),
    codes.DATETIME: signed(64),
    codes.UUID: octets(16),
    codes.VBIN8: st.binary(max_size=255),
    codes.VBIN16: st.binary(max_size=300),
    codes.VBIN32: st.binary(max_size=300),
    codes.STR8: text(255),
    codes.STR16: text(255),
    codes.STR8_LATIN: text(255, "iso8859-15"),
    codes.STR16_LATIN: text(255, "iso8859-15"),
    codes.STR8_UTF16: text(255, "utf-16-be"),
    codes.STR16_UTF16: text(255, "utf-16-be"),
    codes.STRUCT32: st.builds(Struct32, unsigned(16), st.binary(max_size=40)),
    codes.DEC32: st.tuples(unsigned(8), signed(32)),
    codes.DEC64: st.tuples(unsigned(8), signed(64)),
    codes.VOID: st.none(),
    codes.BIT: st.just(True),
    0x2F: octets(4),  # a code without a type: four octets by its high digit
    0x8F: st.binary(max_size=255),
    0xAF: st.binary(max_size=300),
}


@cache
def scalar(code: int) -> st.SearchStrategy[Tagged]:
    return BY_CODE[code].map(lambda value: Tagged(code, value))


scalars = st.sampled_from(sorted(BY_CODE)).flatmap(scalar)


def arrays(elements: int) -> st.SearchStrategy[Array]:
    @cache
    def of(code: int) -> st.SearchStrategy[Array]:
        return st.lists(BY_CODE[code], max_size=elements).map(lambda v: Array(code, v))

    with_width = sorted(code for code in BY_CODE if code < 0xF0)
    return st.sampled_from(with_width).flatmap(of)


def _deeper(inner: st.SearchStrategy[Tagged]) -> st.SearchStrategy[Tagged]:
    return st.one_of(
        st.lists(inner, max_size=4).map(lambda v: Tagged(codes.LIST, v)),
        st.lists(st.tuples(text(40), inner), max_size=4).map(lambda v: Tagged(codes.MAP, v)),
        arrays(4).map(lambda v: Tagged(codes.ARRAY, v)),
    )


tagged_values = st.recursive(scalars, _deeper, max_leaves=12)
field_tables = st.lists(st.tuples(text(60), tagged_values), max_size=5)


SEQUENCE_GAPS = st.lists(st.tuples(st.integers(2, 1000), st.integers(0, 5000)))
BYTE_GAPS = st.lists(st.tuples(st.integers(2, 1 << 40), st.integers(0, 1 << 40)))
BEGINNINGS = st.integers(0, 1000)


@st.composite
def sequence_sets(draw: st.DrawFn) -> list[tuple[int, int]]:
    first = draw(BY_CODE[codes.UINT32])
    ranges = []
    for gap, length in draw(SEQUENCE_GAPS):
        first = (first + gap) & 0xFFFFFFFF
        ranges.append((first, (first + length) & 0xFFFFFFFF))
        first = ranges[-1][1]
    return ranges


@st.composite
def byte_ranges(draw: st.DrawFn) -> list[tuple[int, int]]:
    at = draw(BEGINNINGS)
    ranges = []
    for gap, length in draw(BYTE_GAPS):
        ranges.append((at + gap, at + gap + length))
        at = ranges[-1][1]
    return ranges


BY_TYPE: dict[str, st.SearchStrategy[object]] = {
    "uint8": unsigned(8),
    "uint16": unsigned(16),
    "uint32": unsigned(32),
    "uint64": unsigned(64),
    "sequence-no": unsigned(32),
    "datetime": signed(64),
    "uuid": octets(16),
    "str8": text(255),
    "str16": text(65535),
    "vbin8": st.binary(max_size=255),
    "vbin16": st.binary(max_size=300),
    "vbin32": st.binary(max_size=300),
    "map": field_tables,
    "array": arrays(5),
    "str16-array": st.lists(text(255), max_size=5),
    "struct32": st.builds(Struct32, unsigned(16), st.binary(max_size=40)),
    "sequence-set": sequence_sets(),
    "byte-ranges": byte_ranges(),
    "bit": st.booleans(),
}
DOMAINS = {domain.name: domain.type for domain in tables.DOMAINS}
STRUCT_ROWS = {row.name: row for row in tables.STRUCTS}


def field_values(class_code_name: str, type_name: str) -> st.SearchStrategy[object]:
    for name in (type_name, f"{class_code_name}.{type_name}"):
        if name in ("str16-array", "connection.amqp-host-array"):
            return BY_TYPE["str16-array"]
        if name in DOMAINS:
            return field_values(class_code_name, DOMAINS[name])
    if type_name in STRUCT_ROWS:
        return instances(STRUCT_ROWS[type_name])
    return BY_TYPE[type_name]


def python_class(row: object) -> type:
    words = [row.name] if isinstance(row, tables.Struct) else [row.class_name, row.name]
    return getattr(spec, class_name(*words))


@cache
def instances(row: object) -> st.SearchStrategy[object]:
    """Instances of the generated class of one table row, any of its fields absent."""
    fields = {}
    for word in row.fields.split():
        name, _, type_name = word.partition(":")
        values = field_values(row.class_name, type_name)
        all_present = isinstance(row, tables.Struct) and not row.pack
        if type_name != "bit" and not all_present:
            values = st.none() | values
        fields[field_name(name.rstrip("*"))] = values
    made = python_class(row)
    return st.fixed_dictionaries(fields).map(lambda values: made(**values))

"""Typed values: maps, lists, arrays and every type code."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import values_0_10
from support.examples import examples
from support.work import units_of

from gateway.amqp_0_10 import _spec_constants as codes
from gateway.amqp_0_10.decoding import read_array, read_list, read_map, read_str16_array, read_value
from gateway.amqp_0_10.encoding import write_array, write_list, write_map, write_value
from gateway.amqp_0_10.types import DEPTH_MAX, Array, Struct32, kept_map
from gateway.codegen import amqp_0_10_tables as tables
from gateway.errors import DecodeError, LimitError, LocalProtocolError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import ELEMENT, ELEMENTS_MAX, WORK


def written(code: int, value: object) -> bytes:
    writer = Writer()
    write_value(writer, code, value)
    return writer.getvalue()


def read(code: int, octets: bytes, depth: int = DEPTH_MAX) -> object:
    reader = Reader(octets)
    value = read_value(reader, code, depth)
    assert reader.remaining() == 0
    return value


@given(values_0_10.tagged_values)
def test_a_value_is_read_as_it_was_written(tagged: Tagged) -> None:
    assert read(tagged.code, written(tagged.code, tagged.value)) == tagged.value


@given(values_0_10.field_tables)
def test_a_map_keeps_its_order_and_types(entries: list[tuple[str, Tagged]]) -> None:
    writer = Writer()
    write_map(writer, entries)
    assert read_map(Reader(writer.getvalue())) == entries


def test_every_type_code_of_the_specification_is_covered() -> None:
    compound = {codes.MAP, codes.LIST, codes.ARRAY}
    covered = set(values_0_10.BY_CODE) | compound
    assert {row.code for row in tables.TYPES if row.code is not None} <= covered


@settings(max_examples=examples(1000))
@given(st.integers(0, 255), st.binary(max_size=140))
def test_any_octets_of_any_type_code_decode_or_raise_a_decode_error(
    code: int, octets: bytes
) -> None:
    reader = Reader(octets)
    try:
        value = read_value(reader, code, DEPTH_MAX)
    except DecodeError:
        return
    if value == value:  # a NaN is not
        assert read(code, written(code, value)) == value


@pytest.mark.parametrize(
    ("code", "octets", "value"),
    [
        (codes.BOOLEAN, b"\x02", True),
        (codes.CHAR, b"\xa4", "\u20ac"),
        (codes.CHAR_UTF32, b"\x00\x01\xf6\x00", "\U0001f600"),
        (codes.STR8_LATIN, b"\x02\xe4\xa4", "\u00e4\u20ac"),
        (codes.STR16_UTF16, b"\x00\x02\x20\xac", "\u20ac"),
        (codes.STR16_UTF16, b"\x00\x01\x20", b"\x20"),
        (codes.STR8, b"\x02\xe4o", b"\xe4o"),
        (codes.STR16, b"\x00\x01\xff", b"\xff"),
        (codes.DEC32, b"\x02\xff\xff\xff\xff", (2, -1)),
        (codes.STRUCT32, b"\x00\x00\x00\x04\x04\x01\x00\x00", Struct32(0x0401, b"\x00\x00")),
        (codes.UINT64, b"\xff" * 8, 2**64 - 1),
        (codes.DATETIME, b"\xff" * 8, -1),
        (codes.MAP, b"\x00\x00\x00\x00", []),
        (codes.LIST, b"\x00\x00\x00\x00", []),
        (codes.ARRAY, b"\x00\x00\x00\x00", Array(codes.VOID, [])),
        (0x1F, b"ab", b"ab"),
        (0xF7, b"", b""),
    ],
)
def test_known_octets_have_known_values(code: int, octets: bytes, value: object) -> None:
    assert read(code, octets) == value


@pytest.mark.parametrize(
    ("code", "octets"),
    [
        (codes.STR8, b"\x05abc"),
        (codes.STR16, b"\x00\x02\xff"),
        (codes.CHAR_UTF32, b"\x00\x11\x00\x00"),
        (codes.CHAR_UTF32, b"\x00\x00\xd8\x00"),
        (codes.VBIN32, b"\xff\xff\xff\xffabc"),
        (0xB1, b"abcd"),
        (0xE1, b"abcd"),
        (codes.STRUCT32, b"\x00\x00\x00\x01\x04"),
    ],
)
def test_octets_that_break_their_type_are_refused(code: int, octets: bytes) -> None:
    with pytest.raises(DecodeError):
        read(code, octets)


@pytest.mark.parametrize("reader", [read_map, read_list])
def test_a_count_larger_than_the_octets_is_refused_at_once(reader: object) -> None:
    with pytest.raises(DecodeError, match="4294967295"):
        reader(Reader(b"\x00\x00\x00\x04\xff\xff\xff\xff"))


def test_an_array_cannot_count_elements_that_take_no_octets() -> None:
    with pytest.raises(DecodeError, match="3 array elements"):
        read_array(Reader(b"\x00\x00\x00\x08\xf0\x00\x00\x00\x03abc"))
    with pytest.raises(LocalProtocolError):
        write_array(Writer(), Array(codes.VOID, [None]))


@pytest.mark.parametrize("reader", [read_map, read_list, read_array])
def test_octets_left_over_inside_a_compound_are_refused(reader: object) -> None:
    head = b"\x20" if reader is read_array else b""
    body = head + b"\x00\x00\x00\x00" + b"x"
    with pytest.raises(DecodeError, match="left over"):
        reader(Reader(len(body).to_bytes(4, "big") + body))


def nested(depth: int) -> bytes:
    value: list[Tagged] = []
    for _ in range(depth - 1):
        value = [Tagged(codes.LIST, value)]
    writer = Writer()
    write_list(writer, value)
    return writer.getvalue()


def test_nesting_is_limited() -> None:
    assert read_list(Reader(nested(DEPTH_MAX)))
    with pytest.raises(LimitError, match="too deep"):
        read_list(Reader(nested(DEPTH_MAX + 1)))


def test_an_array_of_text_may_have_any_text_type_but_nothing_else() -> None:
    writer = Writer()
    write_array(writer, Array(codes.STR8, ["a", "b"]))
    assert read_str16_array(Reader(writer.getvalue())) == ["a", "b"]
    writer = Writer()
    write_array(writer, Array(codes.UINT8, [1]))
    with pytest.raises(DecodeError, match="array of text"):
        read_str16_array(Reader(writer.getvalue()))


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (codes.INT8, 128),
        (codes.UINT16, -1),
        (codes.STR16, 1),
        (codes.STR8, "x" * 256),
        (codes.VBIN16, b"x" * 65536),
        (codes.BIN16, b"x"),
        (codes.CHAR, "ab"),
        (codes.CHAR, "\u0394"),
        (codes.INT32, True),
        (codes.INT32, None),
        (codes.INT32, 1.0),
        (codes.MAP, Array(codes.INT8, [])),
        (codes.ARRAY, Struct32(1, b"")),
        (codes.INT8, (1, 2)),
    ],
)
def test_a_value_that_its_code_cannot_carry_is_our_defect(code: int, value: object) -> None:
    with pytest.raises(LocalProtocolError):
        written(code, value)


def nulls(number: int) -> Tagged:
    return Tagged(codes.LIST, [Tagged(codes.VOID, None)] * number)


def test_the_values_of_all_compounds_together_are_counted_and_limited() -> None:
    read(codes.LIST, written(codes.LIST, [nulls(ELEMENTS_MAX // 2 - 1)] * 2))
    with pytest.raises(LimitError):
        read(codes.LIST, written(codes.LIST, [nulls(ELEMENTS_MAX // 2)] * 2))
    with pytest.raises(LimitError):
        read(codes.MAP, written(codes.MAP, [("a", nulls(ELEMENTS_MAX))]))
    with pytest.raises(LimitError):
        read(codes.ARRAY, written(codes.ARRAY, Array(codes.INT8, [0] * (ELEMENTS_MAX + 1))))


def test_a_list_costs_its_values_and_one_that_is_too_long_nothing() -> None:
    def cost(number: int) -> int:
        octets = written(codes.LIST, nulls(number).value)
        return units_of(lambda: read(codes.LIST, octets))

    assert (cost(100), cost(1000)) == (100 * ELEMENT, 1000 * ELEMENT)
    octets = written(codes.LIST, nulls(1_000_000).value)
    before = WORK.units
    with pytest.raises(LimitError):
        read(codes.LIST, octets)
    assert WORK.units == before


def test_a_map_that_is_at_hand_encoded_is_written_as_it_stands() -> None:
    entries = [("a", Tagged(codes.INT8, 1)), ("b", Tagged(codes.STR16, "x"))]
    octets = written(codes.MAP, entries)
    assert written(codes.MAP, kept_map(octets)) == octets
    assert written(codes.MAP, kept_map(b"")) == written(codes.MAP, [])

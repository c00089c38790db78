"""Arrays and other compounds, type by type, both ways."""

import uuid

import pytest

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10.types import Array as OldArray
from gateway.amqp_0_10.types import Struct32
from gateway.amqp_1_0 import types as new
from gateway.errors import DecodeError
from gateway.translate.values import Conversion, decode_0_10, encode_0_10
from gateway.wire.tagged import Tagged

# 0-10 element type, 1.0 element type, a value of both.
PAIRS = [
    (old.BOOLEAN, new.BOOLEAN, True),
    (old.INT8, new.BYTE, -1),
    (old.INT64, new.LONG, -(2**40)),
    (old.UINT64, new.ULONG, 2**63),
    (old.DOUBLE, new.DOUBLE, 0.5),
    (old.UUID, new.UUID, uuid.UUID(int=7)),
    (old.STR16, new.STRING, "text"),
    (old.VBIN16, new.BINARY, b"octets"),
]
COMPOUNDS = [
    (old.DATETIME, new.TIMESTAMP, 1_700_000_000, 1_700_000_000_000),
    (
        old.MAP,
        new.MAP,
        [("k", Tagged(old.INT8, 1))],
        [(Tagged(new.STRING, "k"), Tagged(new.BYTE, 1))],
    ),
    (old.LIST, new.LIST, [Tagged(old.VOID, None)], [Tagged(new.NULL, None)]),
    (old.ARRAY, new.ARRAY, OldArray(old.INT8, [1]), new.Array(new.BYTE, [1])),
]
ELEMENTS = [(one, other, value, value) for one, other, value in PAIRS] + COMPOUNDS


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize(("in_0_10", "in_1_0", "ours", "theirs"), ELEMENTS)
def test_an_array_keeps_its_element_type(
    in_0_10: int, in_1_0: int, ours: object, theirs: object, count: int
) -> None:
    array_0_10 = Tagged(old.ARRAY, OldArray(in_0_10, [ours] * count))
    array_1_0 = Tagged(new.ARRAY, new.Array(in_1_0, [theirs] * count))
    there, back = Conversion(), Conversion()
    assert there.to_1_0(array_0_10) == array_1_0
    assert back.to_0_10(array_1_0) == array_0_10
    assert (there.exact, back.exact, back.possible) == (True, True, True)


def test_an_empty_array_of_a_type_that_the_other_side_lacks_says_that_it_is_not_exact() -> None:
    there, back = Conversion(), Conversion()
    made = there.to_1_0(Tagged(old.ARRAY, OldArray(old.STR16_LATIN, [])))
    assert made == Tagged(new.ARRAY, new.Array(new.NULL, []))
    made = back.to_0_10(Tagged(new.ARRAY, new.Array(new.SYMBOL, [])))
    assert made == Tagged(old.ARRAY, OldArray(old.VOID, []))
    assert (there.exact, back.exact) == (False, False)


def test_an_array_whose_elements_become_different_types_becomes_a_list() -> None:
    conversion = Conversion()
    text = "x" * 65_536
    made = conversion.to_0_10(Tagged(new.ARRAY, new.Array(new.STRING, ["a", text])))
    assert made == Tagged(old.LIST, [Tagged(old.STR16, "a"), Tagged(old.VBIN32, text.encode())])
    assert not conversion.exact


def test_octets_of_different_lengths_stay_an_array_of_the_wider_type() -> None:
    conversion = Conversion()
    values: list[object] = [b"a", bytes(65_536), b"b"]
    made = conversion.to_0_10(Tagged(new.ARRAY, new.Array(new.BINARY, values)))
    assert made == Tagged(old.ARRAY, OldArray(old.VBIN32, values))
    assert conversion.exact


def test_an_array_of_what_0_10_has_no_type_for_is_impossible() -> None:
    conversion = Conversion()
    decimal = bytes(4)
    conversion.to_0_10(Tagged(new.ARRAY, new.Array(new.DECIMAL32, [decimal])))
    assert not conversion.possible


def test_of_a_key_that_comes_twice_the_later_value_stays_and_that_is_not_exact() -> None:
    conversion = Conversion()
    table = [("k", Tagged(old.INT8, 1)), ("k", Tagged(old.INT8, 2))]
    made = conversion.to_1_0(Tagged(old.MAP, table))
    assert made == Tagged(new.MAP, [(Tagged(new.STRING, "k"), Tagged(new.BYTE, 2))])
    assert not conversion.exact


def test_a_struct_is_octets_in_1_0_with_its_code_before_it() -> None:
    conversion = Conversion()
    made = conversion.to_1_0(Tagged(old.STRUCT32, Struct32(0x0401, b"rest")))
    assert made == Tagged(new.BINARY, b"\x04\x01rest")
    assert not conversion.exact


@pytest.mark.parametrize(
    "kept",
    [Tagged(new.STRING, "x"), Tagged(new.BINARY, b""), Tagged(new.BINARY, b"\xff\x01")],
)
def test_what_is_no_value_that_escrow_kept_is_an_error(kept: Tagged) -> None:
    with pytest.raises(DecodeError):
        decode_0_10(kept, 8)


def test_octets_behind_a_value_that_escrow_kept_are_an_error() -> None:
    value = Tagged(old.STR16_LATIN, "é")
    kept = encode_0_10(value)
    assert decode_0_10(kept, 8) == value
    assert isinstance(kept.value, bytes)
    with pytest.raises(DecodeError):
        decode_0_10(Tagged(new.BINARY, kept.value + b"\0"), 8)


@pytest.mark.parametrize("code", [old.STR8, old.STR16])
def test_text_that_is_no_utf_8_is_octets_there_and_comes_back(code: int) -> None:
    conversion = Conversion()
    text = Tagged(code, b"\xe4")
    assert conversion.to_1_0(text) == Tagged(new.BINARY, b"\xe4")
    assert not conversion.exact
    assert decode_0_10(encode_0_10(text), 1) == text
    array = Tagged(old.ARRAY, OldArray(code, ["a", b"\xe4"]))
    assert conversion.to_1_0(array).code == new.LIST

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import values_1_0
from support.rules import rule
from support.work import units_of

from gateway.amqp_1_0 import types
from gateway.errors import DecodeError, LimitError, LocalProtocolError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import ELEMENT, ELEMENTS_MAX, WORK

U = types


@rule("1.0", "1.6.23", "ordered")
@given(values_1_0.values)
def test_any_value_survives_encoding_and_decoding(value):
    assert types.from_bytes(types.to_bytes(value)) == value


@given(values_1_0.values)
def test_skipping_a_value_ends_where_decoding_it_ends(value):
    octets = types.to_bytes(value)
    reader = Reader(octets + b"rest")
    types.skip(reader)
    assert reader.pos == len(octets)


@given(values_1_0.values, st.data())
def test_a_truncated_value_is_a_decode_error(value, data):
    octets = types.to_bytes(value)
    cut = data.draw(st.integers(0, len(octets) - 1))
    with pytest.raises(DecodeError):
        types.from_bytes(octets[:cut])


@given(st.binary(max_size=200))
def test_any_octets_decode_or_are_a_decode_error(octets):
    try:
        value = types.from_bytes(octets)
    except DecodeError:
        return
    again = types.to_bytes(value)
    assert types.to_bytes(types.from_bytes(again)) == again


@given(values_1_0.values, st.data())
def test_a_changed_octet_decodes_or_is_a_decode_error(value, data):
    octets = bytearray(types.to_bytes(value))
    octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    try:
        types.from_bytes(bytes(octets))
    except DecodeError:
        return


# Constructor by constructor: octets, canonical code, value (part 1, 1.6).
VECTORS = [
    ("40", U.NULL, None),
    ("5600", U.BOOLEAN, False),
    ("5601", U.BOOLEAN, True),
    ("41", U.BOOLEAN, True),
    ("42", U.BOOLEAN, False),
    ("50ff", U.UBYTE, 255),
    ("60ffff", U.USHORT, 65535),
    ("70ffffffff", U.UINT, 2**32 - 1),
    ("52ff", U.UINT, 255),
    ("43", U.UINT, 0),
    ("80ffffffffffffffff", U.ULONG, 2**64 - 1),
    ("53ff", U.ULONG, 255),
    ("44", U.ULONG, 0),
    ("5180", U.BYTE, -128),
    ("618000", U.SHORT, -(2**15)),
    ("7180000000", U.INT, -(2**31)),
    ("54ff", U.INT, -1),
    ("818000000000000000", U.LONG, -(2**63)),
    ("5580", U.LONG, -128),
    ("723f800000", U.FLOAT, 1.0),
    ("823ff0000000000000", U.DOUBLE, 1.0),
    ("7422500001", U.DECIMAL32, bytes.fromhex("22500001")),
    ("842234000000000001", U.DECIMAL64, bytes.fromhex("2234000000000001")),
    ("94" + "22" * 16, U.DECIMAL128, b"\x22" * 16),
    ("730001f600", U.CHAR, "\U0001f600"),
    ("830000013168bad1a1", U.TIMESTAMP, 0x013168BAD1A1),
    ("98" + "0123456789abcdef" * 2, U.UUID, bytes.fromhex("0123456789abcdef" * 2)),
    ("a003010203", U.BINARY, b"\1\2\3"),
    ("b000000001ff", U.BINARY, b"\xff"),
    ("a103e282ac", U.STRING, "\u20ac"),
    ("b10000000161", U.STRING, "a"),
    ("a30161", U.SYMBOL, "a"),
    ("b30000000161", U.SYMBOL, "a"),
    ("45", U.LIST, []),
    ("c0020140", U.LIST, [Tagged(U.NULL, None)]),
    ("d0000000050000000141", U.LIST, [Tagged(U.BOOLEAN, True)]),
    ("c10100", U.MAP, []),
    ("c105025301a100", U.MAP, [(Tagged(U.ULONG, 1), Tagged(U.STRING, ""))]),
    ("d10000000700000002" + "530142", U.MAP, [(Tagged(U.ULONG, 1), Tagged(U.BOOLEAN, False))]),
    ("e00402520102", U.ARRAY, types.Array(U.UINT, [1, 2])),
    ("f0000000070000000250" + "0102", U.ARRAY, types.Array(U.UBYTE, [1, 2])),
    ("e0020341", U.ARRAY, types.Array(U.BOOLEAN, [True, True, True])),
    ("e0060100a3017840", U.ARRAY, types.Array(U.NULL, [None], [Tagged(U.SYMBOL, "x")])),
]  # fmt: skip


@rule("1.0", "1.6", "every-encoding-is-read")
@pytest.mark.parametrize(("octets", "code", "value"), VECTORS)
def test_each_encoding_gives_its_type_and_value(octets, code, value):
    assert types.from_bytes(bytes.fromhex(octets)) == Tagged(code, value)


@rule("1.0", "1.6", "every-encoding-is-read")
def test_the_vectors_cover_every_constructor_that_there_is():
    constructors = {bytes.fromhex(octets)[0] for octets, _, _ in VECTORS}
    known = {code for code in range(1, 256) if types.CANONICAL[code] != types.UNKNOWN}
    assert constructors == known


@rule("1.0", "1.6", "smallest-encodings-are-written")
@pytest.mark.parametrize(
    ("code", "value", "octets"),
    [
        (U.UINT, 0, "43"),
        (U.UINT, 255, "52ff"),
        (U.UINT, 256, "7000000100"),
        (U.ULONG, 0, "44"),
        (U.ULONG, 256, "800000000000000100"),
        (U.INT, -128, "5480"),
        (U.INT, 128, "7100000080"),
        (U.LONG, 127, "557f"),
        (U.BOOLEAN, True, "41"),
        (U.LIST, [], "45"),
        (U.STRING, "", "a100"),
        (U.ARRAY, types.Array(U.SYMBOL, ["a"]), "e00401a30161"),
    ],
)
def test_the_smallest_encoding_is_written(code, value, octets):
    assert types.to_bytes(Tagged(code, value)).hex() == octets


@pytest.mark.parametrize("size", [253, 254, 255, 256, 257])
def test_values_around_255_octets_keep_their_size_fields_right(size):
    for value in (
        Tagged(U.STRING, "x" * size),
        Tagged(U.LIST, [Tagged(U.NULL, None)] * size),
        Tagged(U.ARRAY, types.Array(U.UBYTE, [7] * size)),
        Tagged(U.ARRAY, types.Array(U.BINARY, [b"x" * size])),
    ):
        assert types.from_bytes(types.to_bytes(value)) == value


@rule("1.0", "1.6.23", "even-number-of-items")
@rule("1.0", "1.6.23", "no-identical-keys")
@pytest.mark.parametrize(
    "octets",
    [
        "4f", "57", "ff", "00",
        "5602",  # a boolean that is neither
        "7300110000", "730000d800",  # beyond Unicode; a surrogate
        "a1ff", "a101ff",  # short; not UTF-8
        "a30180",  # not ASCII
        "c000", "c00100ff", "c00105", "c0020240",  # sizes and counts that do not fit
        "d0ffffffff00000001", "d00000000400000001",
        "c1020140",  # a key without value
        "c105044141" + "4141",  # two identical keys
        "e00105", "e0020550", "f0000000057fffffff50",
        "b07fffffff00",
    ],
)  # fmt: skip
def test_malformed_octets_are_a_decode_error(octets):
    with pytest.raises(DecodeError):
        types.from_bytes(bytes.fromhex(octets))


def test_elements_without_octets_are_limited_in_number():
    with pytest.raises(LimitError):
        types.from_bytes(bytes.fromhex("f0000000057fffffff41"))


def test_a_maps_keys_are_work_but_within_no_limit_of_values():
    pairs = [(Tagged(types.STRING, str(key)), Tagged(types.NULL, None)) for key in range(10_001)]
    few, many = (Writer(), Writer())
    types.encode_map(few, pairs[:10_000])
    types.encode_map(many, pairs)
    units = WORK.units
    assert len(types.from_bytes(few.getvalue()).value) == 10_000
    assert WORK.units - units >= 20_000 * ELEMENT
    with pytest.raises(LimitError, match="10001 values"):
        types.from_bytes(many.getvalue())


@pytest.mark.parametrize("nest", ["list", "descriptor", "value", "array"])
def test_depth_is_limited(nest):
    octets = b"\x40"
    for _ in range(40):
        if nest == "list":
            octets = b"\xd0" + (len(octets) + 4).to_bytes(4) + (1).to_bytes(4) + octets
        elif nest == "descriptor":
            octets = b"\x00" + octets + b"\x40"
        elif nest == "value":
            octets = b"\x00\x40" + octets
        else:
            octets = b"\xf0" + (len(octets) + 4).to_bytes(4) + (1).to_bytes(4) + octets
    if nest != "array":
        with pytest.raises(LimitError):
            types.from_bytes(octets)
    else:
        with pytest.raises(DecodeError):
            types.from_bytes(octets)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (U.UBYTE, 256), (U.UBYTE, -1), (U.INT, 2**31), (U.LONG, 2**63), (U.ULONG, -1),
        (U.UUID, b"short"), (U.SYMBOL, "\u20ac"), (0x99, None),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_its_type_is_our_own_error(code, value):
    with pytest.raises(LocalProtocolError):
        types.to_bytes(Tagged(code, value))


def nulls(number):
    return Tagged(U.LIST, [Tagged(U.NULL, None)] * number)


def test_the_values_of_all_compounds_together_are_counted_and_limited():
    two = [nulls(ELEMENTS_MAX // 2 - 1)] * 2
    types.from_bytes(types.to_bytes(Tagged(U.LIST, two)))
    for value in (
        Tagged(U.LIST, [*two, Tagged(U.INT, 1)]),
        Tagged(U.MAP, [(Tagged(U.INT, n), Tagged(U.INT, 0)) for n in range(ELEMENTS_MAX + 1)]),
        Tagged(U.ARRAY, types.Array(U.INT, [0] * (ELEMENTS_MAX + 1))),
    ):
        with pytest.raises(LimitError):
            types.from_bytes(types.to_bytes(value))


def test_a_list_costs_its_values_and_one_that_is_too_long_nothing():
    def cost(number):
        octets = types.to_bytes(nulls(number))
        return units_of(lambda: types.from_bytes(octets))

    assert (cost(100), cost(1000)) == (100 * ELEMENT, 1000 * ELEMENT)
    octets = types.to_bytes(nulls(1_000_000))
    before = WORK.units
    with pytest.raises(LimitError):
        types.from_bytes(octets)
    assert WORK.units == before

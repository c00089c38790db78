import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import values_1_0
from support.rules import rule

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0.primitives import fields
from gateway.codegen.amqp_1_0 import pascal, snake
from gateway.codegen.amqp_1_0_tables import COMPOSITES
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer

EXAMPLES = {
    "string": "s",
    "symbol": "s",
    "symbols": ["s", "t"],
    "uint": 1,
    "ulong": 1,
    "boolean": False,
    "binary": b"b",
    "txn-id": b"t",
    "sasl-code": 1,
}


def encoded(value):
    writer = Writer()
    value.encode(writer)
    return writer.getvalue()


def decoded(octets, kind):
    reader = Reader(octets)
    fields.read_descriptor(reader, _spec.SYMBOLS)
    value = getattr(_spec, pascal(kind.name)).decode(reader)
    assert reader.remaining() == 0
    return value


@pytest.mark.parametrize("kind", COMPOSITES, ids=lambda c: c.name)
@given(st.data())
def test_every_described_type_survives_encoding_and_decoding(kind, data):
    value = data.draw(values_1_0.composite(kind))
    assert decoded(encoded(value), kind) == value


@pytest.mark.parametrize("kind", COMPOSITES, ids=lambda c: c.name)
@given(st.data())
def test_every_described_type_in_pieces_is_a_decode_error(kind, data):
    octets = encoded(data.draw(values_1_0.composite(kind)))
    cut = data.draw(st.integers(3, len(octets) - 1))
    with pytest.raises(DecodeError):
        decoded(octets[:cut], kind)


@rule("1.0", "1.5", "descriptors-are-symbol-or-ulong")
@pytest.mark.parametrize("kind", COMPOSITES, ids=lambda c: c.name)
def test_both_descriptors_of_every_type_are_known(kind):
    writer = Writer()
    writer.raw(b"\x00\xa3" + bytes([len(kind.symbol)]) + kind.symbol.encode())
    assert fields.read_descriptor(Reader(writer.getvalue()), _spec.SYMBOLS) == kind.code
    assert (
        fields.read_descriptor(Reader(b"\x00\x80" + kind.code.to_bytes(8)), _spec.SYMBOLS)
        == kind.code
    )
    assert (
        fields.read_descriptor(Reader(b"\x00\x53" + bytes([kind.code])), _spec.SYMBOLS) == kind.code
    )


@pytest.mark.parametrize("kind", COMPOSITES, ids=lambda c: c.name)
def test_a_field_too_many_is_a_decode_error(kind):
    count = len(kind.fields) + 1
    octets = bytes([0, 0x53, kind.code, 0xC0, count + 1, count]) + b"\x40" * count
    with pytest.raises(DecodeError):
        decoded(octets, kind)


@rule("1.0", "1.4", "mandatory-is-not-null")
@rule("1.0", "2.8.14", "errors-have-a-condition")
@pytest.mark.parametrize(
    ("kind", "at"),
    [(kind, at) for kind in COMPOSITES for at, field in enumerate(kind.fields) if field.mandatory],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_mandatory_field_must_be_there_and_not_null(kind, at):
    given_fields = {snake(f.name): EXAMPLES[f.type] for f in kind.fields if f.mandatory}
    value = getattr(_spec, pascal(kind.name))(**given_fields)
    octets = encoded(value)
    assert decoded(octets, kind) == value
    reader = Reader(octets)
    fields.read_descriptor(reader, _spec.SYMBOLS)
    count = fields.enter_list(reader, "x", 99)
    starts = []
    for _ in range(count):
        starts.append(int(reader.pos))
        _spec.types.skip(reader)
    starts.append(len(octets))
    items = [octets[a:b] for a, b in itertools.pairwise(starts)]
    for changed in (items[:at], [*items[:at], b"\x40", *items[at + 1 :]]):
        body = b"".join(changed)
        head = b"\xd0" + (len(body) + 4).to_bytes(4) + len(changed).to_bytes(4)
        with pytest.raises(DecodeError, match="mandatory"):
            decoded(octets[:3] + head + body, kind)


@rule("1.0", "1.4", "trailing-nulls-may-be-left-out")
def test_trailing_nulls_are_left_out():
    assert encoded(_spec.Open(container_id="c")).hex() == "005310c00401a10163"
    assert encoded(_spec.Accepted()).hex() == "00532445"
    assert encoded(_spec.Rejected()).hex() == "00532545"
    assert (
        encoded(_spec.Disposition(role=True, first=1, settled=True)).hex()
        == "005315c006044152014041"
    )


@rule("1.0", "1.4", "trailing-nulls-may-be-left-out")
def test_trailing_nulls_that_are_there_are_taken():
    octets = bytes.fromhex("005315c0080641520140414040")
    assert decoded(octets, COMPOSITES[5]) == _spec.Disposition(role=True, first=1, settled=True)


@rule("1.0", "1.4", "null-is-empty-array")
def test_a_multiple_field_takes_one_symbol_or_an_array():
    one = bytes.fromhex("005330c00401a30161")
    assert _spec.decode_target(Reader(one)) == _spec.Coordinator(capabilities=["a"])
    several = bytes.fromhex("005330c00901e006 02a301610162".replace(" ", ""))
    assert _spec.decode_target(Reader(several)) == _spec.Coordinator(capabilities=["a", "b"])
    none = bytes.fromhex("005330c00501e00200a3")
    assert _spec.decode_target(Reader(none)) == _spec.Coordinator(capabilities=[])


def test_a_composite_longer_than_255_octets_becomes_a_list32():
    value = _spec.Open(container_id="c" * 400, properties={})
    octets = encoded(value)
    assert octets[3] == 0xD0
    assert decoded(octets, COMPOSITES[0]) == value


@pytest.mark.parametrize(
    "octets", ["40", "005324", "00532441", "00a300", "0053ff45", "005310c00101"]
)
def test_what_is_no_delivery_state_is_a_decode_error(octets):
    with pytest.raises(DecodeError):
        _spec.decode_delivery_state(Reader(bytes.fromhex(octets)))


@given(st.binary(max_size=120), st.sampled_from(COMPOSITES))
def test_any_octets_behind_a_descriptor_decode_or_are_a_decode_error(octets, kind):
    try:
        value = decoded(bytes([0, 0x53, kind.code]) + octets, kind)
    except (DecodeError, AssertionError):
        return
    assert decoded(encoded(value), kind) == value

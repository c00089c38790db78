"""Typed values: inferred, parsed from text, and shown without their types."""

import json
import uuid

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gateway.clients.letter import Letter, Typed, infer, parse, plain

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_was_inferred_is_shown_as_it_was(value: object) -> None:
    assert plain(infer(value)) == value


@pytest.mark.parametrize(
    ("value", "name"),
    [(None, "void"), (True, "boolean"), (7, "int64"), (2**63, "uint64"), (b"", "binary")],
)
def test_a_plain_value_has_one_type(value: object, name: str) -> None:
    assert infer(value) == Typed(name, value)


def test_what_no_protocol_can_carry_is_refused() -> None:
    for value in (2**64, -(2**63) - 1, {1, 2}, object()):
        with pytest.raises(ValueError, match=r"fit|type"):
            infer(value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("boolean", "true", True),
        ("int8", "-128", -128),
        ("uint64", str(2**64 - 1), 2**64 - 1),
        ("double", "1.5", 1.5),
        ("char", "ß", "ß"),
        ("string", "", ""),
        ("binary", "ü", "ü".encode()),
        ("uuid", "00000000-0000-0000-0000-00000000000a", bytes(15) + b"\n"),
        ("datetime", "-1", -1),
    ],
)
def test_a_scalar_is_read_from_its_text(name: str, text: str, value: object) -> None:
    assert parse(name, text) == Typed(name, value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("int8", "128"),
        ("uint8", "-1"),
        ("boolean", "yes"),
        ("char", "ab"),
        ("uuid", "x"),
        ("float", "x"),
        ("colour", "blue"),
    ],
)
def test_text_that_is_no_value_of_its_type_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=name):
        parse(name, text)


def test_octets_and_uuids_are_shown_as_text() -> None:
    assert plain(Typed("binary", b"text")) == "text"
    assert plain(Typed("binary", b"\xff")) == {"base64": "/w=="}
    one = uuid.uuid4()
    assert plain(Typed("uuid", one.bytes)) == str(one)


def test_a_letter_tells_only_what_was_said() -> None:
    assert Letter().as_json() == {"body": None}
    told = Letter(
        body=Typed("string", "x"),
        durable=False,
        properties={"n": Typed("int8", 1)},
        redelivered=True,
    ).as_json()
    assert json.loads(json.dumps(told)) == {
        "body": "x",
        "durable": False,
        "properties": {"n": 1},
        "redelivered": True,
    }

"""A letter that a protocol's codec writes is the letter that it reads."""

import dataclasses
import uuid

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import _spec_constants as codes
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec, sections, types
from gateway.clients import codec_0_10, codec_1_0
from gateway.clients.letter import INTEGERS, Letter, Typed
from gateway.errors import DecodeError
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged


def integers(name: str) -> st.SearchStrategy[Typed]:
    bits = int(name.lstrip("uint"))
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return st.integers(low, high).map(lambda value: Typed(name, value))


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
SCALARS = st.one_of(
    st.just(Typed("void", None)),
    st.booleans().map(lambda value: Typed("boolean", value)),
    *map(integers, INTEGERS),
    st.floats(width=32, allow_nan=False).map(lambda value: Typed("float", value)),
    st.floats(allow_nan=False).map(lambda value: Typed("double", value)),
    st.characters(codec="utf-8").map(lambda value: Typed("char", value)),
    TEXT.map(lambda value: Typed("string", value)),
    st.binary(max_size=20).map(lambda value: Typed("binary", value)),
    st.binary(min_size=16, max_size=16).map(lambda value: Typed("uuid", value)),
    st.integers(-(10**9), 10**10).map(lambda value: Typed("datetime", value * 1000)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda values: Typed("list", values))
        | st.dictionaries(TEXT, inner, max_size=3).map(lambda values: Typed("map", values))
    ),
    max_leaves=6,
)
BODIES = st.one_of(
    st.just(Typed("void", None)),
    st.text(st.characters(codec="utf-8"), min_size=1).map(lambda value: Typed("string", value)),
    st.binary(min_size=1).map(lambda value: Typed("binary", value)),
    VALUES.filter(lambda value: value.type in ("map", "list")),
)
LETTERS = st.builds(
    Letter,
    body=BODIES,
    subject=TEXT.filter(lambda text: len(text.encode()) < 256),
    durable=st.none() | st.booleans(),
    priority=st.none() | st.integers(0, 9),
    ttl_ms=st.none() | st.integers(0, 2**32 - 1),
    message_id=st.none() | st.uuids().map(str),
    correlation_id=st.none() | TEXT,
    reply_to=st.none() | st.sampled_from(["queue", "amq.topic/key"]),
    properties=st.dictionaries(TEXT, SCALARS, max_size=4),
)


@given(LETTERS)
def test_a_letter_survives_0_10(letter: Letter) -> None:
    header, body = codec_0_10.encode(letter, letter.subject or "")
    got = codec_0_10.decode(header + body, len(header))
    types_of = {"string": "text/plain", "map": "amqp/map", "list": "amqp/list"}
    assert got == dataclasses.replace(letter, content_type=types_of.get(letter.body.type))


@given(LETTERS)
def test_a_letter_survives_1_0(letter: Letter) -> None:
    got = codec_1_0.decode(codec_1_0.encode(letter))
    body = Typed("binary", b"") if letter.body.type == "void" else letter.body
    assert got == dataclasses.replace(letter, body=body)


def test_properties_of_types_that_only_one_protocol_has_are_sent_along() -> None:
    letter = Letter(native=[("n", Tagged(codes.DEC32, (2, 5)))])
    header, body = codec_0_10.encode(letter, "")
    assert codec_0_10.decode(header + body, len(header)).properties["n"].type == "other"
    letter = Letter(native=[("n", Tagged(types.DECIMAL32, bytes(4)))])
    assert codec_1_0.decode(codec_1_0.encode(letter)).properties["n"].type == "other"


@pytest.mark.parametrize("content_type", ["amqp/map", "amqp/list", "text/plain"])
def test_a_0_10_body_that_is_not_what_it_says_is_shown_as_it_is(content_type: str) -> None:
    header = write_header(None, spec.MessageProperties(content_type=content_type))
    assert codec_0_10.decode(header + b"\xff\xff", len(header)).body == Typed("binary", b"\xff\xff")


def test_1_0_bodies_of_every_kind_are_shown() -> None:
    writer = Writer()
    assert codec_1_0.decode(writer.getvalue()).body == Typed("void", None)
    for item in (1, 2):
        sections.write_sequence(writer, [Tagged(types.INT, item)])
    assert codec_1_0.decode(writer.getvalue()).body == Typed(
        "list", [Typed("list", [Typed("int32", 1)]), Typed("list", [Typed("int32", 2)])]
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Tagged(types.ULONG, 7), "7"),
        (Tagged(types.BINARY, b"\xff"), "\ufffd"),
        (Tagged(types.UUID, bytes(16)), str(uuid.UUID(int=0))),
        (Tagged(types.STRING, "x"), "x"),
    ],
)
def test_message_ids_of_every_type_are_shown_as_text(value: Tagged, shown: str) -> None:
    writer = Writer()
    _spec.Properties(message_id=value).encode(writer)
    assert codec_1_0.decode(writer.getvalue()).message_id == shown


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(DecodeError):
        codec_1_0.decode(b"\x01")
    with pytest.raises(DecodeError):
        codec_0_10.decode(b"\x00\x00\x00\x09abc", 7)

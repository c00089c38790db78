"""A number in a header of a message of either protocol; all else stays as it came."""

import pytest
from hypothesis import given
from translate.cases import new_message, old_message, s
from translate.generated import messages_0_10, messages_1_0
from translate.messages import arrived_0_10, arrived_1_0, data

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0 import types as new
from gateway.message import Kind, Message
from gateway.translate.facts import arrival_0_10
from gateway.translate.numbered import numbered
from gateway.translate.segment import open_header
from gateway.translate.view import READER
from gateway.wire.tagged import Tagged

NAME = "the number"


def headers_0_10(message: Message) -> list[tuple[str, Tagged]] | None:
    return open_header(message.payload, message.body_at, 32).properties.application_headers


def properties_1_0(message: Message) -> list[tuple[object, Tagged]]:
    found = sections.scan(message.payload)
    return [
        (key.value, value)
        for key, value in sections.read_application_properties(message.payload, found)
    ]


def test_a_header_of_that_name_gives_way_and_the_others_keep_their_order() -> None:
    headers = [("a", Tagged(old.STR16, "x")), (NAME, Tagged(old.STR8, "mine"))]
    message = old_message(b"body", headers=[*headers, ("b", Tagged(old.VOID, None))])
    made = numbered(message, NAME, 7, wide=False)
    assert headers_0_10(made) == [
        ("a", Tagged(old.STR16, "x")),
        ("b", Tagged(old.VOID, None)),
        (NAME, Tagged(old.UINT32, 7)),
    ]
    assert (made.body(), made.id, made.routing_key) == (b"body", message.id, message.routing_key)
    application = [(s(NAME), s("mine")), (s("a"), s("x"))]
    made = numbered(new_message(application=application, body=data(b"body")), NAME, 7, wide=False)
    assert properties_1_0(made) == [("a", s("x")), (NAME, Tagged(new.UINT, 7))]


@pytest.mark.parametrize("properties", [{}, {"subject": "s"}])
def test_a_message_of_1_0_without_application_properties_gets_them_in_their_place(
    properties: dict[str, str],
) -> None:
    message = new_message(body=data(b"body"), **properties)
    made = numbered(message, NAME, 1 << 40, wide=True)
    found = sections.scan(made.payload)
    assert properties_1_0(made) == [(NAME, Tagged(new.LONG, 1 << 40))]
    assert sections.data(made.payload, found) == [b"body"]
    assert made.payload[made.body_at :] == message.payload[message.body_at :]


def test_a_message_of_0_10_without_properties_gets_them() -> None:
    made = numbered(arrived_0_10(b"", b"body", "k"), NAME, 1 << 40, wide=True)
    assert headers_0_10(made) == [(NAME, Tagged(old.INT64, 1 << 40))]
    assert made.body() == b"body"
    arrival_0_10(made.payload, made.body_at)


def test_of_a_number_of_32_bits_the_last_ones_are_told() -> None:
    assert headers_0_10(numbered(old_message(), NAME, (1 << 32) + 3, wide=False)) == [
        (NAME, Tagged(old.UINT32, 3))
    ]


def test_what_does_not_decode_or_is_opaque_stays_as_it_is() -> None:
    for message in (
        arrived_0_10(b"\0\0\0\x0c\x04\x03\x00\x01\0\0\0\x04\0\0\0\x09", b"body", "k"),
        arrived_1_0(b"opaque", "", "", 9),
        arrived_1_0(b"\x00\x53\x74\xc1\x03\x02\xa1\x09"),
    ):
        assert numbered(message, NAME, 1, wide=False) is message


def seen(message: Message, made: Message) -> None:
    """Whoever reads both sees the same, but for the number."""
    assert READER.header(made, NAME) == Tagged(Kind.INTEGER, 5)
    told = dict(READER.headers(made))
    del told[NAME]
    headers = dict(READER.headers(message))
    headers.pop(NAME, None)
    assert repr(told) == repr(headers)
    assert READER.body_digest(made) == made.body_digest == message.body_digest
    assert numbered(made, NAME, 5, wide=False).payload == made.payload


@given(messages_0_10())
def test_nothing_but_the_number_changes_in_0_10(message: Message) -> None:
    made = numbered(message, NAME, 5, wide=False)
    if made is not message:
        seen(message, made)
        arrival = arrival_0_10(made.payload, made.body_at)
        assert arrival.id_digest == message.id_digest


@given(messages_1_0())
def test_nothing_but_the_number_changes_in_1_0(message: Message) -> None:
    made = numbered(message, NAME, 5, wide=False)
    if made is not message:
        seen(message, made)

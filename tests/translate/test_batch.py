"""A batch: its data sections are its messages."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from translate.messages import data, payload_1_0, sequences, value

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Header, Properties
from gateway.errors import DecodeError, LimitError
from gateway.translate.batch import messages_in
from gateway.wire.tagged import Tagged


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_each_data_section_is_a_message_whatever_stands_around_it(messages: list[bytes]) -> None:
    plain = data(*messages)
    around = payload_1_0(Header(durable=True), Properties(to="q"), body=plain, footer=[])
    assert messages_in(plain, 5) == messages
    assert messages_in(around, 5) == messages


def test_a_batch_may_not_hold_more_than_the_limit() -> None:
    messages_in(data(b"", b""), 2)
    with pytest.raises(LimitError):
        messages_in(data(b"", b"", b""), 2)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"opaque",
        payload_1_0(Header()),
        value(Tagged(types.STRING, "x")),
        sequences([]),
        data(b"x")[:-1],
    ],
)
def test_what_holds_no_messages_is_no_batch(payload: bytes) -> None:
    with pytest.raises(DecodeError):
        messages_in(payload, 5)


@given(st.binary(max_size=80))
def test_any_octets_are_a_batch_or_a_decode_error(octets: bytes) -> None:
    with suppress(DecodeError):
        assert messages_in(octets, 5)

"""One digest of a message-id, by whichever protocol the message came or leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from translate.messages import (
    arrived_0_10,
    arrived_1_0,
    context,
    data,
    message_0_10,
    payload_1_0,
)

from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10._spec_structs import MessageProperties
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Properties
from gateway.message import Message
from gateway.translate.escrow import HEADER, Deposit, digest_octets
from gateway.translate.ids import uuid_of
from gateway.translate.message import to_0_10, to_1_0
from gateway.translate.original_ids import NO_ID, PATH, digest_of
from gateway.wire.tagged import Tagged

U = bytes(range(16))
message_ids = st.one_of(
    st.binary(min_size=16, max_size=16).map(lambda value: Tagged(new.UUID, value)),
    st.uuids().map(lambda value: Tagged(new.STRING, f"ID:{value}")),
    st.text(max_size=40).map(lambda value: Tagged(new.STRING, value)),
    st.binary(max_size=40).map(lambda value: Tagged(new.BINARY, value)),
    st.integers(0, 2**64 - 1).map(lambda value: Tagged(new.ULONG, value)),
)


def with_id(message_id: Tagged | None) -> Message:
    return arrived_1_0(payload_1_0(Properties(message_id=message_id), body=data(b"x")), "", "q")


def with_escrow(uuid: bytes | None, text: object) -> Message:
    headers = [(HEADER, Tagged(STR16, text))]
    return message_0_10(mp=MessageProperties(message_id=uuid, application_headers=headers))


def escrow(visible: int, value: Tagged | None) -> str:
    deposit = Deposit(1000)
    deposit.keep(PATH, visible, value)
    text = deposit.text()
    assert text is not None
    return text


@given(message_ids)
def test_it_stays_the_same_from_hop_to_hop(message_id: Tagged) -> None:
    first = with_id(message_id)
    onward = to_0_10(first, context())
    second = arrived_0_10(onward.header, onward.body, "q")
    back = to_1_0(second, context())
    assert first.id_digest == onward.id_digest == second.id_digest == back.id_digest
    assert first.id_digest == digest_of(message_id)


def test_a_uuid_has_one_in_both_protocols() -> None:
    old = message_0_10(mp=MessageProperties(message_id=U))
    assert old.id_digest == with_id(Tagged(new.UUID, U)).id_digest != NO_ID


def test_without_escrow_the_uuid_goes_on_and_says_so() -> None:
    first = with_id(Tagged(new.STRING, "order-17"))
    onward = to_0_10(first, context(escrow=False))
    assert [loss.row for loss in onward.losses] == ["properties.message-id"]
    assert onward.id_digest == digest_of(Tagged(new.UUID, uuid_of(Tagged(new.STRING, "order-17"))))
    assert arrived_0_10(onward.header, onward.body, "q").id_digest == onward.id_digest


@pytest.mark.parametrize(
    "text",
    [
        escrow(digest_octets(b"other"), Tagged(new.STRING, "a")),
        escrow(digest_octets(U), Tagged(new.BOOLEAN, True)),
        "1####",
        7,
    ],
)
def test_an_escrow_that_says_nothing_of_it_changes_nothing(text: object) -> None:
    code = STR16 if isinstance(text, str) else 0x02
    headers = [(HEADER, Tagged(code, text))]
    message = message_0_10(mp=MessageProperties(message_id=U, application_headers=headers))
    assert message.id_digest == digest_of(Tagged(new.UUID, U))
    assert to_1_0(message, context()).id_digest == message.id_digest


def test_an_id_that_there_was_not_is_none() -> None:
    message = with_escrow(U, escrow(digest_octets(U), None))
    assert message.id_digest == to_1_0(message, context()).id_digest == NO_ID

"""The promise: what crosses and comes back is equal, and what does not cross is told."""

from hypothesis import given, settings
from support.examples import examples
from translate.generated import messages_0_10, messages_1_0
from translate.messages import (
    arrived_0_10,
    arrived_1_0,
    context,
    sent_to_0_10,
    sent_to_1_0,
    view_0_10,
    view_1_0,
)

from gateway.message import Message

AMPLE = 60_000


@settings(max_examples=examples(300))
@given(messages_0_10())
def test_a_0_10_message_comes_back_from_1_0_as_it_was(message: Message) -> None:
    ctx = context(escrow_max=AMPLE)
    payload, losses = sent_to_1_0(message, ctx)
    assert set(losses) <= {"replies.miss"}
    there = arrived_1_0(payload, message.exchange, message.routing_key)
    header, body, losses = sent_to_0_10(there, ctx)
    assert losses == []
    back = arrived_0_10(header, body, message.exchange)
    assert view_0_10(back) == view_0_10(message)


def test_one_character_under_the_name_of_the_jms_type_stays_what_it_was() -> None:
    header = bytes.fromhex("00000005040100020000000019040300010000001100000001") + (
        b"\x0ax-jms-type\x04\x00"
    )
    message = arrived_0_10(header, b"", "")
    ctx = context(escrow_max=AMPLE)
    payload, _losses = sent_to_1_0(message, ctx)
    there = arrived_1_0(payload, message.exchange, message.routing_key)
    back = arrived_0_10(*sent_to_0_10(there, ctx)[:2], "")
    assert view_0_10(back) == view_0_10(message)


@settings(max_examples=examples(300))
@given(messages_1_0())
def test_a_1_0_message_comes_back_from_0_10_as_it_was(message: Message) -> None:
    ctx = context(escrow_max=AMPLE)
    header, body, losses = sent_to_0_10(message, ctx)
    assert set(losses) <= {"body.opaque"}
    there = arrived_0_10(header, body, message.exchange)
    payload, losses = sent_to_1_0(there, ctx)
    assert set(losses) <= {"replies.miss"}
    seen = view_1_0(payload)
    wanted = view_1_0(message.payload)
    wanted["delivery_count"] = min(wanted["delivery_count"], 1)
    assert seen == wanted

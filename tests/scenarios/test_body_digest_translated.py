"""A body that a translation did not change by declaration has one digest wherever it is."""

import pytest
from hypothesis import given, settings
from support.examples import examples
from translate.cases import new_message, old_message, s
from translate.generated import messages_0_10, messages_1_0
from translate.messages import (
    arrived_0_10,
    arrived_1_0,
    body_map,
    context,
    data,
    sent_to_0_10,
    sent_to_1_0,
    sequences,
    value,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import types as new
from gateway.audit.digests import digest, digest_part
from gateway.message import Message
from gateway.translate.context import Translated10
from gateway.translate.facts import body_digest_1_0
from gateway.translate.message import to_0_10, to_1_0
from gateway.wire.tagged import Tagged

AMPLE = 60_000


def of_1_0(made: Translated10) -> int:
    if made.data_head:
        return digest_part(made.body, made.body_at, made.body_end)
    return body_digest_1_0(made.body, made.body_at, made.body_end)


def assert_one_digest(message: Message) -> None:
    there = to_1_0(message, context())
    assert there.body_changed or of_1_0(there) == message.body_digest
    back = to_0_10(message, context())
    assert back.body_changed or digest(back.body) == message.body_digest


@settings(max_examples=examples(200))
@given(messages_0_10())
def test_a_0_10_body_has_one_digest(message: Message) -> None:
    assert_one_digest(message)
    payload, _ = sent_to_1_0(message, context(escrow_max=AMPLE))
    assert_one_digest(arrived_1_0(payload, message.exchange, message.routing_key))


@settings(max_examples=examples(200))
@given(messages_1_0())
def test_a_1_0_body_has_one_digest(message: Message) -> None:
    assert_one_digest(message)
    header, body, _ = sent_to_0_10(message, context(escrow_max=AMPLE))
    assert_one_digest(arrived_0_10(header, body, message.exchange))


NULL = Tagged(new.NULL, None)
ARRAY_OF_LISTS = value(Tagged(new.DESCRIBED, new.Described(NULL, NULL)))


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        (data(b"x"), False),
        (data(b"a", b"b"), False),
        (b"", False),
        (ARRAY_OF_LISTS, False),
        (value(NULL), True),
        (value(s("x")), True),
        (value(Tagged(new.BINARY, b"x")), True),
        (value(Tagged(new.MAP, [])), True),
        (sequences([NULL]), True),
    ],
    ids=["data", "parts", "none", "opaque", "null", "text", "binary", "map", "sequence"],
)
def test_which_1_0_bodies_change(body: bytes, changed: bool) -> None:
    ctx = context()
    there = to_0_10(new_message(body=body), ctx)
    assert there.body_changed == changed
    back = to_1_0(arrived_0_10(there.header, there.body, ""), ctx)
    assert back.body_changed == changed
    assert to_1_0(new_message(body=body), ctx).body_changed is False


def test_which_0_10_bodies_change() -> None:
    ctx = context(text_body_value=True)
    text = old_message(b"x", content_type="text/plain")
    encoded = body_map([("a", Tagged(old.INT8, 1))])
    assert to_1_0(old_message(b"x"), ctx).body_changed is False
    assert to_1_0(text, context()).body_changed is False
    assert to_1_0(text, ctx).body_changed
    assert to_1_0(old_message(encoded, content_type="amqp/map"), ctx).body_changed
    assert to_0_10(old_message(encoded, content_type="amqp/map"), ctx).body_changed is False

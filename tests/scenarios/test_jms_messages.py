"""What clients of JMS, of either protocol, see of what those of the other sent."""

from typing import Any

import pytest
from hypothesis import given, settings
from support.examples import examples
from translate.cases import Seen, U, annotation, in_1_0, new_message, old_message, prop, s, sym
from translate.fields_cases import far_message
from translate.generated import messages_0_10
from translate.messages import (
    arrived_0_10,
    arrived_1_0,
    body_list,
    body_map,
    context,
    data,
    message_0_10,
    sent_to_0_10,
    sent_to_1_0,
    value,
    view_0_10,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties, ReplyTo
from gateway.amqp_1_0 import types as new
from gateway.message import Message
from gateway.translate import ids
from gateway.translate.replies import ReplyTable
from gateway.wire.tagged import Tagged

TEXT = data(b"text")
TYPE = ("x-jms-type", Tagged(old.STR16, "order"))
SUBJECT = ("qpid.subject", Tagged(old.STR16, "news.uk"))
IN_TOPIC = DeliveryProperties(routing_key="news.uk")


def annotations(**kinds: int) -> list[tuple[Tagged, Tagged]]:
    """Those of JMS clients, by the last word of their names."""
    return [
        (sym(f"x-opt-jms-{name.replace('_', '-')}"), Tagged(new.BYTE, kind))
        for name, kind in kinds.items()
    ]


def jms_message(**more: Any) -> Message:
    """A text message of the client of 1.0."""
    told = annotations(msg_type=5, dest=0)
    return new_message(**{"annotations": told, "body": value(s("text")), "to": "q", **more})


def to_jms(message: Message) -> dict[str, Any]:
    return in_1_0(message, context(jms=True))


# The type.


def test_the_type_in_the_subject_is_a_header_too() -> None:
    headers = Seen(jms_message(subject="order")).headers
    assert headers["x-jms-type"] == headers["qpid.subject"] == Tagged(old.STR16, "order")


def test_a_subject_of_others_is_no_type() -> None:
    assert "x-jms-type" not in Seen(new_message(subject="order")).headers


def test_a_property_under_the_name_of_the_type_stays() -> None:
    message = jms_message(subject="order", application=[(s("x-jms-type"), s("own"))])
    assert Seen(message).headers["x-jms-type"] == Tagged(old.STR16, "own")


def test_the_type_comes_back_as_the_subject_alone() -> None:
    header, body, _ = sent_to_0_10(jms_message(subject="order"), context())
    for jms in (False, True):
        back = in_1_0(arrived_0_10(header, body, ""), context(jms=jms))
        assert (back["subject"], back["application"]) == ("order", {})


def test_to_jms_the_subject_is_the_type_and_the_key_rides_beside_it() -> None:
    message = old_message(exchange="amq.topic", dp=IN_TOPIC, headers=[TYPE, SUBJECT])
    seen = to_jms(message)
    assert seen["subject"] == "order"
    assert annotation(seen, "x-opt-amqp-0-10-routing-key") == (new.STRING, "news.uk")
    assert prop(seen, "qpid.subject") == (new.STRING, "news.uk")
    assert in_1_0(message)["subject"] == "news.uk"


@pytest.mark.parametrize("headers", [[], [SUBJECT]])
def test_a_key_is_no_type(headers: Any) -> None:
    message = old_message(exchange="amq.topic", dp=IN_TOPIC, headers=headers)
    seen = to_jms(message)
    assert seen["subject"] is None
    assert prop(seen, "qpid.subject") == ((new.STRING, "news.uk") if headers else None)
    assert in_1_0(message)["subject"] == "news.uk"


def test_a_subject_that_has_been_in_1_0_is_no_key() -> None:
    header, body, _ = sent_to_0_10(
        new_message("amq.topic", "news.uk", subject="news.uk"), context()
    )
    assert to_jms(arrived_0_10(header, body, "amq.topic"))["subject"] == "news.uk"


def test_another_subject_of_a_message_without_a_type_is_seen() -> None:
    told = ("qpid.subject", Tagged(old.STR16, "told"))
    assert to_jms(old_message(exchange="x", dp=IN_TOPIC, headers=[told]))["subject"] == "told"


@settings(max_examples=examples(300))
@given(messages_0_10())
def test_a_0_10_message_comes_back_from_a_jms_receiver_as_it_was(message: Message) -> None:
    payload, _ = sent_to_1_0(message, context(escrow_max=60_000, jms=True))
    there = arrived_1_0(payload, message.exchange, message.routing_key)
    header, body, losses = sent_to_0_10(there, context(escrow_max=60_000))
    assert losses == []
    back = view_0_10(arrived_0_10(header, body, message.exchange))
    added = back.pop("app.x-amqp-1.0", None)  # the annotations that JMS is told
    wanted = view_0_10(message)
    assert added is None or wanted.pop("app.x-amqp-1.0", None) is None
    assert back == wanted


# Where it went, and where the reply goes.


@pytest.mark.parametrize(
    ("exchange", "key", "to", "kind"),
    [
        ("amq.topic", "news.uk", "amq.topic/news.uk", (new.BYTE, 1)),
        ("amq.direct", "k", "amq.direct/k", (new.BYTE, 0)),
        ("x", "k", "x/k", None),
        ("x", "", "x", None),
        ("", "q", "q", (new.BYTE, 0)),
    ],
)
def test_to_jms_the_destination_has_its_key_and_kind(
    exchange: str, key: str, to: str, kind: Any
) -> None:
    message = old_message(exchange=exchange, dp=DeliveryProperties(routing_key=key))
    seen = to_jms(message)
    assert (seen["to"], annotation(seen, "x-opt-jms-dest")) == (to, kind)
    others = in_1_0(message)
    assert (others["to"], annotation(others, "x-opt-jms-dest")) == (exchange or key, None)


def test_to_jms_a_reply_to_has_its_kind() -> None:
    for exchange, kind in (("amq.topic", 1), ("", 0), ("amq.direct", 0)):
        asking = old_message(reply_to=ReplyTo(exchange=exchange, routing_key="k"))
        assert annotation(to_jms(asking), "x-opt-jms-reply-to") == (new.BYTE, kind)
        assert annotation(in_1_0(asking), "x-opt-jms-reply-to") is None
    elsewhere = old_message(reply_to=ReplyTo(exchange="x", routing_key="k"))
    assert annotation(to_jms(elsewhere), "x-opt-jms-reply-to") is None


@pytest.mark.parametrize(
    ("told", "address", "pair"),
    [
        ({"reply_to": 1}, "news.replies", ("amq.topic", "news.replies")),
        ({"reply_to": 3}, "news.replies", ("amq.topic", "news.replies")),
        ({"reply_to": 1}, "q", ("amq.topic", "q")),
        ({"reply_to": 0}, "q", ("", "q")),
        ({"reply_to": 0}, "x/k", ("x", "k")),
        ({"reply_to": 0}, "x", ("x", "")),
        ({"reply_to": 2}, "unknown", ("", "unknown")),
        ({"dest": 1}, "news.replies", ("amq.topic", "news.replies")),
        ({"dest": 1}, "q", ("", "q")),
        ({"dest": 1, "reply_to": 0}, "unknown", ("", "unknown")),
        ({"reply_to": 7}, "unknown", ("", "unknown")),
        ({}, "amqp://here/x/a%20b", ("x", "a b")),
    ],
)
def test_a_reply_to_is_read_as_the_address_of_a_link(
    told: dict[str, int], address: str, pair: tuple[str, str]
) -> None:
    asking = new_message(annotations=annotations(**told), reply_to=address)
    found = Seen(asking).mp.reply_to
    assert found is not None
    assert (found.exchange, found.routing_key) == pair


def test_a_topic_of_an_upstreams_client_is_the_upstreams() -> None:
    found = Seen(far_message(reply_to="news", annotations=annotations(reply_to=1))).mp.reply_to
    assert found == ReplyTo(exchange="upstream.up", routing_key="news")


def test_a_topic_as_reply_to_comes_back_as_it_was() -> None:
    asking = jms_message(annotations=annotations(msg_type=5, reply_to=1), reply_to="news")
    header, body, losses = sent_to_0_10(asking, context())
    assert losses == []
    back = in_1_0(arrived_0_10(header, body, ""))
    assert back["reply_to"] == "news"
    assert annotation(back, "x-opt-jms-reply-to") == (new.BYTE, 1)


# Bodies.


def test_a_text_message_without_a_text_is_that_in_0_10() -> None:
    message = jms_message(body=value(Tagged(new.NULL, None)))
    header, body, losses = sent_to_0_10(message, context())
    seen = Seen(message)
    assert (body, losses, seen.mp.content_type) == (b"", [], "text/plain")
    assert seen.headers["JMS_AMQP_NULL"] == Tagged(old.BOOLEAN, True)
    back = in_1_0(arrived_0_10(header, body, ""))
    assert (back["body"], back["application"]) == ([(new.NULL, None)], {})
    assert annotation(back, "x-opt-jms-msg-type") == (new.BYTE, 5)


def test_what_says_null_itself_says_it_once() -> None:
    own = [(s("JMS_AMQP_NULL"), Tagged(new.BOOLEAN, True))]
    seen = Seen(jms_message(body=value(Tagged(new.NULL, None)), application=own))
    assert seen.mp.content_type == "text/plain"
    assert seen.headers["JMS_AMQP_NULL"] == Tagged(old.BOOLEAN, True)


@pytest.mark.parametrize("kind", [0, 2, 3])
def test_a_null_of_another_message_is_no_text(kind: int) -> None:
    told = annotations(msg_type=kind)
    seen = Seen(jms_message(body=value(Tagged(new.NULL, None)), annotations=told))
    assert seen.mp.content_type is None
    assert "JMS_AMQP_NULL" not in seen.headers


SIMPLE = [
    *(Tagged(old.BOOLEAN, True), Tagged(old.INT8, 1), Tagged(old.INT16, 1), Tagged(old.INT32, 1)),
    *(
        Tagged(old.INT64, 1),
        Tagged(old.FLOAT, 0.5),
        Tagged(old.DOUBLE, 0.5),
        Tagged(old.VOID, None),
    ),
    *(
        Tagged(old.CHAR, "c"),
        Tagged(old.STR16, "s"),
        Tagged(old.STR8, "s"),
        Tagged(old.VBIN32, b"b"),
    ),
]


def test_a_map_or_list_of_what_jms_knows_is_one_of_jms() -> None:
    entries = [(str(number), each) for number, each in enumerate(SIMPLE)]
    for content_type, body, kind in (
        ("amqp/map", body_map(entries), 2),
        ("amqp/map", body_map([]), 2),
        ("amqp/list", body_list(SIMPLE), 4),
    ):
        made = in_1_0(old_message(body, content_type=content_type))
        assert annotation(made, "x-opt-jms-msg-type") == (new.BYTE, kind)
    odd = body_map([*entries, ("odd", Tagged(old.UINT64, 1))])
    made = in_1_0(old_message(odd, content_type="amqp/map"))
    assert annotation(made, "x-opt-jms-msg-type") is None


# Requests and replies.

SPELT = f"ID:{ids.text_of_uuid(U)}"


def asked(replies: ReplyTable, *, java: bool = True, durable: bool = False) -> None:
    """A client of 0-10 has asked somebody of 1.0."""
    request = message_0_10(
        DeliveryProperties(delivery_mode=2 if durable else 1),
        MessageProperties(message_id=U, reply_to=ReplyTo(exchange="", routing_key="q")),
        java=java,
    )
    assert in_1_0(request, context(replies=replies))["message_id"] == (new.UUID, U)


@pytest.mark.parametrize(
    "answer", [Tagged(new.UUID, U), s(ids.text_of_uuid(U)), s(SPELT), Tagged(new.BINARY, U)]
)
def test_the_java_client_is_answered_by_its_own_spelling(answer: Tagged) -> None:
    replies = ReplyTable()
    asked(replies)
    reply = new_message(correlation_id=answer)
    ctx = context(replies=replies, java=True)
    assert Seen(reply, ctx).mp.correlation_id == SPELT.encode()
    header, body, losses = sent_to_0_10(reply, ctx)
    assert losses == []
    back = in_1_0(arrived_0_10(header, body, ""), context(replies=replies))
    assert back["correlation_id"] == (answer.code, answer.value)


def test_others_of_0_10_spell_it_without_a_prefix() -> None:
    replies = ReplyTable()
    asked(replies, java=False)
    seen = Seen(new_message(correlation_id=Tagged(new.UUID, U)), context(replies=replies))
    assert seen.mp.correlation_id == ids.text_of_uuid(U).encode()
    assert len(replies) == 0


def test_what_a_request_of_0_10_is_called_outlives_the_process_if_the_request_does() -> None:
    replies = ReplyTable(keep_new=True)
    asked(replies)
    assert replies.take_new() == []
    asked(replies, durable=True)
    [(uuid, _, message_id)] = replies.take_new()
    assert (uuid, ids.decode_id(message_id)) == (U, s(SPELT))


def test_an_id_that_1_0_gave_is_not_what_the_java_client_gave() -> None:
    replies = ReplyTable()
    request = new_message(message_id=s("odd"), reply_to="q")
    uuid = Seen(request, context(replies=replies)).mp.message_id
    assert uuid is not None
    seen = Seen(new_message(correlation_id=Tagged(new.UUID, uuid)), context(replies=replies))
    assert seen.mp.correlation_id == ids.text_of_uuid(uuid).encode()

"""What selectors know of a message: the same from both sides."""

import pytest
from support.rules import rule
from translate.cases import Seen, new_message, old_message, s, sym
from translate.messages import arrived_1_0, context, message_0_10, sent_to_1_0

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties, ReplyTo
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Header
from gateway.message import Kind, Message
from gateway.selectors.selector import Selector, read_selector
from gateway.translate.ids import text_of_uuid
from gateway.translate.replies import ReplyTable
from gateway.translate.view import READER, View
from gateway.wire.tagged import Tagged

UUID = bytes(range(16))
UUID_TEXT = "00010203-0405-0607-0809-0a0b0c0d0e0f"


def selectable(message: Message, name: str) -> Tagged | None:
    return READER.selectable(message, name)


def value(message: Message, name: str) -> object:
    found = selectable(message, name)
    return None if found is None else found.value


def both() -> list[Message]:
    """A message of either encoding that says the same."""
    return [
        old_message(
            dp=DeliveryProperties(delivery_mode=2, priority=7, timestamp=1_700_000_000),
            message_id=UUID,
            correlation_id=b"correlation",
            user_id=b"ann",
            reply_to=ReplyTo(exchange="amq.direct", routing_key="answers"),
            content_type="text/plain",
            headers=[
                ("qpid.subject", Tagged(old.STR16, "kind")),
                ("JMSXGroupID", Tagged(old.STR16, "group")),
                ("n", Tagged(old.INT32, 5)),
            ],
        ),
        new_message(
            header=Header(durable=True, priority=7),
            creation_time=1_700_000_000_000,
            message_id=Tagged(new.UUID, UUID),
            correlation_id=s("correlation"),
            user_id=b"ann",
            reply_to="amq.direct/answers",
            content_type="text/plain",
            subject="kind",
            group_id="group",
            application=[(s("n"), Tagged(new.INT, 5))],
        ),
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["JMSDeliveryMode", "amqp.delivery_mode"], "PERSISTENT"),
        (["amqp.durable"], True),
        (["JMSPriority", "amqp.priority"], 7),
        (["JMSTimestamp", "amqp.creation_time"], 1_700_000_000_000),
        (["JMSMessageID"], f"ID:{UUID_TEXT}"),
        (["amqp.message_id"], UUID_TEXT),
        (["JMSCorrelationID", "amqp.correlation_id"], "correlation"),
        (["JMSType", "amqp.jms_type", "amqp.subject"], "kind"),
        (["JMSReplyTo", "amqp.reply_to"], "amq.direct/answers"),
        (["JMSXUserID", "amqp.user_id"], "ann"),
        (["JMSXGroupID", "amqp.group_id"], "group"),
        (["JMSRedelivered", "amqp.redelivered"], False),
        (["amqp.delivery_count"], 0),
        (["JMSXDeliveryCount"], 1),
        (["JMSExpiration", "amqp.absolute_expiry_time"], 0),
        (["amqp.content_type"], "text/plain"),
        (["n"], 5),
        (["JMSUnknown", "amqp.unknown", "unknown"], None),
    ],
)
def test_a_property_looks_the_same_from_both_sides(names: list[str], expected: object) -> None:
    for message in both():
        assert [value(message, name) for name in names] == [expected] * len(names)


def test_a_selector_accepts_the_same_from_both_sides() -> None:
    text = "JMSType = 'kind' AND n BETWEEN 5 AND 6 AND JMSDeliveryMode <> 'NON_PERSISTENT'"
    selector = read_selector(text)
    assert isinstance(selector, Selector)
    for message in both():
        message.reader = READER
        assert selector.accepts(message)


@rule("1.0", "3.2.1", "absent-header-has-defaults")
def test_what_is_not_said_is_the_default_or_nothing() -> None:
    for message in (old_message(), new_message()):
        assert value(message, "JMSPriority") == 4
        assert value(message, "JMSDeliveryMode") == "NON_PERSISTENT"
        assert value(message, "JMSMessageID") is None
        assert value(message, "JMSCorrelationID") is None


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (s("ID:a"), "ID:a"),
        (s("a"), "ID:a"),
        (Tagged(new.ULONG, 5), "ID:5"),
        (Tagged(new.BINARY, b"a"), "ID:a"),
        (Tagged(new.BINARY, b"\xff"), None),
    ],
)
def test_a_1_0_message_id_of_any_type_is_a_text(given: Tagged, text: str | None) -> None:
    assert value(new_message(message_id=given), "JMSMessageID") == text


def test_octets_that_are_no_text_are_no_text() -> None:
    found = selectable(old_message(correlation_id=b"\xff"), "JMSCorrelationID")
    assert found == Tagged(Kind.BINARY, b"\xff")


def test_the_type_that_java_writes_comes_before_the_subject() -> None:
    headers = [("x-jms-type", Tagged(old.STR16, "t")), ("qpid.subject", Tagged(old.STR16, "s"))]
    message = old_message(headers=headers)
    assert (value(message, "JMSType"), value(message, "amqp.subject")) == ("t", "s")


def test_an_application_header_may_have_a_special_name() -> None:
    message = old_message(headers=[("JMS_AMQP_NULL", Tagged(old.BOOLEAN, True))])
    assert value(message, "JMS_AMQP_NULL") is True


def test_a_reader_does_not_mix_messages_up() -> None:
    one, two = old_message(user_id=b"ann"), old_message(user_id=b"bob")
    assert [value(each, "JMSXUserID") for each in (one, two, one)] == ["ann", "bob", "ann"]
    three, four = new_message(user_id=b"ann"), new_message(user_id=b"bob")
    assert [value(each, "JMSXUserID") for each in (three, four, three)] == ["ann", "bob", "ann"]


def test_of_what_cannot_be_opened_the_facts_are_known() -> None:
    spoiled = [old_message(), new_message()]
    for message in spoiled:
        message.payload, message.body_at = b"\0\0", 2
    for message in (*spoiled, arrived_1_0(b"opaque", "", "", 9)):
        assert value(message, "JMSPriority") == 4
        assert value(message, "JMSMessageID") is None


def test_who_asked_selects_the_answer_by_its_own_id() -> None:
    replies = ReplyTable()
    reader = View(replies)
    own_id = s("ID:client:1:1:1-1")
    ctx = context(replies=replies)
    request = Seen(new_message(message_id=own_id, reply_to="q"), ctx)
    assert request.mp.message_id is not None
    spelt = f"ID:{text_of_uuid(request.mp.message_id)}".encode()
    for answer in (spelt, request.mp.message_id):
        message = old_message(correlation_id=answer)
        for name in ("JMSCorrelationID", "amqp.correlation_id"):
            assert reader.selectable(message, name) == Tagged(Kind.STRING, own_id.value)
    assert value(old_message(correlation_id=spelt), "JMSCorrelationID") == spelt.decode()


def test_the_java_client_of_0_10_selects_an_answer_by_its_own_spelling() -> None:
    replies = ReplyTable()
    asking = MessageProperties(message_id=UUID, reply_to=ReplyTo(exchange="", routing_key="q"))
    sent_to_1_0(message_0_10(None, asking, java=True), context(replies=replies))
    answer = new_message(correlation_id=Tagged(new.UUID, UUID))
    found = View(replies).selectable(answer, "JMSCorrelationID")
    assert found == Tagged(Kind.STRING, f"ID:{UUID_TEXT}")
    assert value(answer, "JMSCorrelationID") == UUID_TEXT


def test_the_type_of_a_jms_message_is_a_header_too() -> None:
    told = [(sym("x-opt-jms-msg-type"), Tagged(new.BYTE, 5))]
    message = new_message(subject="order", annotations=told)
    assert READER.header(message, "x-jms-type") == Tagged(Kind.STRING, "order")
    assert value(message, "JMSType") == "order"
    own = new_message(subject="order", annotations=told, application=[(s("x-jms-type"), s("own"))])
    assert READER.header(own, "x-jms-type") == Tagged(Kind.STRING, "own")
    assert READER.header(new_message(annotations=told), "x-jms-type") is None


def test_the_key_of_a_topic_is_no_type() -> None:
    dp = DeliveryProperties(routing_key="news")
    in_topic = old_message(
        exchange="x", dp=dp, headers=[("qpid.subject", Tagged(old.STR16, "news"))]
    )
    assert selectable(in_topic, "JMSType") is None
    assert value(in_topic, "amqp.subject") == "news"
    told = old_message(exchange="x", dp=dp, headers=[("qpid.subject", Tagged(old.STR16, "told"))])
    assert value(told, "JMSType") == "told"

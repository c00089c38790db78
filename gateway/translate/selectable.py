"""What the identifiers of selectors stand for, besides application headers.

The names are those of JMS (3.8.1.1) and of AMQP's own properties behind ``amqp.``. Both encodings
are seen as one: values are what clients of either protocol are shown, as far as these agree. Times
are milliseconds; ids are text, under the JMS name with "ID:" before them.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Properties
from gateway.message import NO_PRIORITY, Flag, Kind, Message
from gateway.translate import names
from gateway.translate.addresses import address_of, reply_to_address
from gateway.translate.ids import PREFIX, text_of_uuid
from gateway.translate.times import to_ms
from gateway.wire.tagged import Tagged

Headers = dict[str, Tagged]

AMQP: Final = "amqp."
JMS: Final = "JMS"
MESSAGE_ID: Final = "amqp.message_id"
CORRELATION_ID: Final = "amqp.correlation_id"
DELIVERY_COUNT: Final = "amqp.delivery_count"
TYPE: Final = "amqp.jms_type"
JMS_MESSAGE_ID: Final = "JMSMessageID"
JMS_DELIVERY_COUNT: Final = "JMSXDeliveryCount"

# JMS names and what they are in AMQP; the group's are headers in both encodings.
ALIASES: Final = {
    "JMSCorrelationID": CORRELATION_ID,
    "JMSDeliveryMode": "amqp.delivery_mode",
    "JMSDestination": "amqp.to",
    "JMSExpiration": "amqp.absolute_expiry_time",
    "JMSPriority": "amqp.priority",
    "JMSRedelivered": "amqp.redelivered",
    "JMSReplyTo": "amqp.reply_to",
    "JMSTimestamp": "amqp.creation_time",
    "JMSType": TYPE,
    "JMSXUserID": "amqp.user_id",
    "JMSXAppID": names.APP_ID,
    "amqp.group_id": names.GROUP_ID,
    "amqp.group_sequence": names.GROUP_SEQUENCE,
}

PRIORITY_DEFAULT: Final = 4
PERSISTENT: Final = "PERSISTENT"
NON_PERSISTENT: Final = "NON_PERSISTENT"


def is_special(name: str) -> bool:
    """Whether it may be another name than that of an application header."""
    return name.startswith((AMQP, JMS))


def find(found: Headers, headers: Headers, name: str) -> Tagged | None:
    """A special name among what was found, or the header of that name all the same."""
    known = ALIASES.get(name, name)
    value = found.get(known)
    return headers.get(known) if value is None else value


def from_facts(message: Message, headers: Headers) -> Headers:
    """What is known of a message without looking inside."""
    priority = message.priority
    failed = message.delivery_count
    redelivered = failed > 0 or message.flags & Flag.REDELIVERED != 0
    found = {
        "amqp.durable": Tagged(Kind.BOOLEAN, message.durable),
        "amqp.delivery_mode": _text(PERSISTENT if message.durable else NON_PERSISTENT),
        "amqp.priority": Tagged(
            Kind.INTEGER, PRIORITY_DEFAULT if priority == NO_PRIORITY else priority
        ),
        "amqp.redelivered": Tagged(Kind.BOOLEAN, redelivered),
        DELIVERY_COUNT: Tagged(Kind.INTEGER, failed),
        JMS_DELIVERY_COUNT: Tagged(Kind.INTEGER, failed + 1),
        "amqp.absolute_expiry_time": Tagged(Kind.INTEGER, message.expires_ms),
    }
    to = address_of(message.exchange, message.routing_key)
    if to is not None:
        found["amqp.to"] = _text(to)
    jms_type = headers.get(names.JMS_TYPE) or headers.get(names.SUBJECT)
    if jms_type is not None:
        found[TYPE] = jms_type
    return found


def add_0_10(
    found: Headers,
    message: Message,
    headers: Headers,
    delivery: DeliveryProperties,
    properties: MessageProperties,
) -> None:
    """The properties of a 0-10 message."""
    subject = headers.get(names.SUBJECT)
    is_key = subject is not None and message.exchange and subject.value == message.routing_key
    if is_key and names.JMS_TYPE not in headers:
        del found[TYPE]  # clients of 0-10 say the key of a topic as its subject
    if subject is None and message.exchange and message.routing_key:
        subject = _text(message.routing_key)
    _add(found, "amqp.subject", subject or headers.get(names.JMS_TYPE))
    if delivery.timestamp is not None:
        found["amqp.creation_time"] = Tagged(Kind.INTEGER, to_ms(delivery.timestamp))
    if properties.message_id is not None:
        _add_message_id(found, text_of_uuid(properties.message_id))
    if properties.correlation_id is not None:
        found[CORRELATION_ID] = text_or_binary(properties.correlation_id)
    if properties.user_id is not None:
        found["amqp.user_id"] = text_or_binary(properties.user_id)
    reply_to = properties.reply_to
    if reply_to is not None:
        address = reply_to_address(reply_to.exchange or "", reply_to.routing_key or "")
        _add_text(found, "amqp.reply_to", address)
    _add_text(found, "amqp.content_type", properties.content_type)
    _add_text(found, "amqp.content_encoding", properties.content_encoding)


def add_1_0(found: Headers, properties: Properties) -> None:
    """The properties of a 1.0 message."""
    _add_text(found, "amqp.subject", properties.subject)
    _add_text(found, "amqp.to", properties.to)
    _add_text(found, "amqp.reply_to", properties.reply_to)
    _add_text(found, "amqp.content_type", properties.content_type)
    _add_text(found, "amqp.content_encoding", properties.content_encoding)
    if properties.creation_time is not None:
        found["amqp.creation_time"] = Tagged(Kind.INTEGER, properties.creation_time)
    if properties.user_id is not None:
        found["amqp.user_id"] = text_or_binary(properties.user_id)
    if properties.correlation_id is not None:
        add_correlation_id(found, properties.correlation_id)
    if properties.message_id is not None:
        message_id = _text_of_id(properties.message_id)
        if isinstance(message_id.value, str):
            _add_message_id(found, message_id.value)


def add_correlation_id(found: Headers, correlation_id: Tagged) -> None:
    """The correlation-id, of a type of 1.0."""
    found[CORRELATION_ID] = _text_of_id(correlation_id)


def text_or_binary(octets: bytes) -> Tagged:
    """Octets that may be text."""
    try:
        return _text(octets.decode("utf-8"))
    except UnicodeDecodeError:
        return Tagged(Kind.BINARY, octets)


def _text(text: str) -> Tagged:
    return Tagged(Kind.STRING, text)


def _add(found: Headers, name: str, value: Tagged | None) -> None:
    if value is not None:
        found[name] = value


def _add_text(found: Headers, name: str, text: str | None) -> None:
    if text is not None:
        found[name] = _text(text)


def _add_message_id(found: Headers, text: str) -> None:
    found[MESSAGE_ID] = _text(text)
    found[JMS_MESSAGE_ID] = _text(text if text.startswith(PREFIX) else PREFIX + text)


def _text_of_id(given: Tagged) -> Tagged:
    """A 1.0 id, which is of one of four types."""
    value = given.value
    if given.code == types.UUID and isinstance(value, bytes):
        return _text(text_of_uuid(value))
    if isinstance(value, bytes):
        return text_or_binary(value)
    return _text(str(value))

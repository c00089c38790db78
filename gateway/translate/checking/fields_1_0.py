"""The values of a 1.0 message, each with the row that maps it; what a hop writes anew is left out.

Names are of the fields; those of application-properties have ``app.`` in front, those of
annotations ``annotation.``.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import sections
from gateway.amqp_1_0._spec import AMQP_SEQUENCE, AMQP_VALUE, DATA, Properties
from gateway.amqp_1_0.types import STRING
from gateway.message import NEVER, NO_PRIORITY, NO_TTL, Message
from gateway.translate import content, names
from gateway.translate.application_headers import HEADERS_KEY
from gateway.translate.checking.fields_0_10 import DEPTH_MAX, SHORT_TTL, Values
from gateway.translate.checking.neutral import neutral_1_0
from gateway.translate.escrow import ANNOTATION
from gateway.translate.mapping_rows import number
from gateway.translate.values import row_1_0, short_enough
from gateway.wire.tagged import Tagged

ROW_ANNOTATIONS: Final = number("annotations.message")
ROW_FOOTER: Final = number("footer")
OWN_ROWS: Final = {
    names.DELIVERY_TIME: names.ROW_DELIVERY_TIME,
    names.TRACEPARENT: names.ROW_TRACE_CONTEXT,
    names.TRACESTATE: names.ROW_TRACE_CONTEXT,
    names.JMS_MSG_TYPE: content.ROW_JMS_MSG_TYPE,
}


def values_1_0(message: Message) -> Values:
    """Those of a message that is in 1.0's encoding; `DecodeError` if it is none."""
    payload = message.payload
    sections_ = sections.scan(payload)
    found: Values = {}
    if message.durable:
        found["durable"] = names.ROW_DURABLE, True
    if message.priority != NO_PRIORITY:
        found["priority"] = names.ROW_PRIORITY, message.priority
    if message.ttl_ms != NO_TTL and message.expires_ms != NEVER:
        found["ttl"] = names.ROW_TTL, SHORT_TTL
    properties = sections.properties(payload, sections_)
    if properties is not None:
        _properties(found, properties)
    for key, value in sections.read_application_properties(payload, sections_):
        name = key.value
        is_name = key.code == STRING and isinstance(name, str) and short_enough(name)
        row = row_1_0(value.code) if is_name else HEADERS_KEY
        found[f"app.{name}"] = row, neutral_1_0(value)
    annotations = sections.read_annotations(payload, sections_.message_annotations, sections_)
    for key, value in annotations:
        if key.value != ANNOTATION:
            own = OWN_ROWS.get(str(key.value), ROW_ANNOTATIONS)
            found[f"annotation.{key.value}"] = own, neutral_1_0(value)
    if sections_.footer != sections.ABSENT:
        pairs = sections.read_annotations(payload, sections_.footer, sections_)
        found["footer"] = ROW_FOOTER, tuple([(neutral_1_0(a), neutral_1_0(b)) for a, b in pairs])
    _body(found, payload, sections_)
    return found


def _properties(found: Values, properties: Properties) -> None:
    for name, row, value in (
        ("message-id", names.ROW_MESSAGE_ID, _plain(properties.message_id)),
        ("user-id", names.ROW_USER_ID, properties.user_id),
        ("to", names.ROW_TO, properties.to),
        ("subject", names.ROW_SUBJECT, properties.subject),
        ("reply-to", names.ROW_REPLY_TO, properties.reply_to),
        ("correlation-id", names.ROW_CORRELATION_ID, _plain(properties.correlation_id)),
        ("content-type", content.ROW_CONTENT_TYPE, properties.content_type),
        ("content-encoding", content.ROW_CONTENT_ENCODING, properties.content_encoding),
        ("absolute-expiry-time", names.ROW_EXPIRY, properties.absolute_expiry_time),
        ("creation-time", names.ROW_CREATION, properties.creation_time),
        ("group-id", names.ROW_GROUP_ID, properties.group_id),
        ("group-sequence", names.ROW_GROUP_SEQUENCE, properties.group_sequence),
        ("reply-to-group-id", names.ROW_REPLY_TO_GROUP_ID, properties.reply_to_group_id),
    ):
        if value is not None:
            found[name] = row, value


def _plain(value: Tagged | None) -> object:
    return None if value is None else neutral_1_0(value)


def _body(found: Values, payload: bytes, sections_: sections.Sections) -> None:
    """Data by its parts, all else by its values."""
    kind = sections_.body_kind
    if kind == DATA:
        found["body"] = content.ROW_DATA, (kind, tuple(sections.data(payload, sections_)))
    elif kind in (AMQP_VALUE, AMQP_SEQUENCE):
        values = sections.body_values(payload, sections_, DEPTH_MAX)
        row = content.ROW_SEQUENCE
        if kind == AMQP_VALUE:
            row = content.row_of(content.shape_of(AMQP_VALUE, values[0]))
        found["body"] = row, (kind, tuple([neutral_1_0(value) for value in values]))

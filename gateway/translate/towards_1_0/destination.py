"""Where a 0-10 message was published to, as 1.0 properties: the node, and its key or a subject.

A receiver of JMS has another sense of both (`Context.jms`): `to` is its JMSDestination, which has
the key in it, and the subject its JMSType, which is no key.
"""

from __future__ import annotations

from typing import cast

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Properties
from gateway.translate import names, routing_key
from gateway.translate.addresses import address_of, jms_kind, reply_to_address
from gateway.translate.application_headers import give_back, keep_header
from gateway.translate.crossing import Crossing
from gateway.translate.escrow import digest_node, digest_text
from gateway.translate.values import encode_0_10
from gateway.wire.tagged import Tagged

Headers = dict[str, Tagged]


def destination_to_1_0(
    crossing: Crossing,
    properties: Properties,
    headers: Headers,
    out: Headers,
    annotations: Headers,
) -> None:
    """Set `to` and the subject, and say what JMS wants to know besides."""
    message = crossing.message
    exchange = message.exchange
    key = message.routing_key
    entry = None
    if crossing.has_escrow:
        visible = digest_node(exchange, key)
        whole = crossing.take_typed(
            "routing-key", digest_text(key), names.ROW_ROUTING_KEY, new.STRING
        )
        if whole is not None and whole.present:
            key = cast(str, whole.value.value)
        entry = crossing.take_typed("properties.to", visible, names.ROW_TO, new.STRING)
    if entry is None:
        properties.to = address_of(exchange, key)
        if crossing.context.jms:
            _tell_jms(crossing, properties, exchange, key, annotations)
    elif entry.present:
        properties.to = cast(str, entry.value.value)
    source = _subject(crossing, properties, exchange, key, headers, out)
    if source == names.SUBJECT and names.JMS_MSG_TYPE in annotations:
        _note_no_type(crossing, properties.subject, headers)
    if crossing.context.jms and exchange and key and properties.subject != key:
        annotations[routing_key.ANNOTATION] = Tagged(new.STRING, key)


def _note_no_type(crossing: Crossing, subject: str | None, headers: Headers) -> None:
    """By an annotation that it did not come with, the subject would be taken for a JMSType."""
    name = names.JMS_TYPE
    if name not in headers and not crossing.has_escrow:
        crossing.keep_quietly(f"app.{name}", digest_text(subject), None, names.ROW_SUBJECT)


def _tell_jms(
    crossing: Crossing, properties: Properties, exchange: str, key: str, annotations: Headers
) -> None:
    """Have the JMSDestination be the node with its key, which is an address here, and its kind."""
    if exchange and key:
        properties.to = reply_to_address(exchange, key)
    kind = jms_kind(exchange)
    if kind is not None:
        annotations[names.JMS_DEST] = Tagged(new.BYTE, kind)


def _subject(
    crossing: Crossing,
    properties: Properties,
    exchange: str,
    key: str,
    headers: Headers,
    out: Headers,
) -> str:
    """Set the subject; which header it comes from, "" for another source or none."""
    explicit_text = None
    jms_type = None
    if headers:
        explicit_text = names.text_0_10(headers.get(names.SUBJECT))
        jms_type = names.text_0_10(headers.get(names.JMS_TYPE))
    source, subject = names.derive_subject(exchange, key, explicit_text, jms_type)
    entry = None
    if crossing.has_escrow:
        entry = crossing.take_typed(
            "properties.subject", digest_text(subject), names.ROW_SUBJECT, new.STRING
        )
    if entry is not None:
        properties.subject = cast(str, entry.value.value) if entry.present else None
        source = ""
    else:
        if crossing.context.jms and f"app.{names.SUBJECT}" not in crossing.withdrawal.entries:
            # What has been in 1.0 had its subject there; clients of 0-10 say a topic's key in it.
            is_key = not crossing.has_escrow and exchange != "" and explicit_text == key
            explicit = None if is_key else explicit_text
            source, subject = names.derive_jms_subject(explicit, jms_type)
        properties.subject = subject
        if subject is not None:
            _note_source(crossing, source, subject, headers)
    if explicit_text is not None:
        if crossing.has_escrow:
            give_back(crossing, names.SUBJECT, digest_text(explicit_text), headers, out)
        if source == names.SUBJECT:
            headers.pop(names.SUBJECT, None)
    return source


def _note_source(crossing: Crossing, source: str, subject: str, headers: Headers) -> None:
    """Keep where the subject came from, for a way back that makes the same header of it."""
    visible = digest_text(subject)
    if source == names.SUBJECT:
        original = headers[names.SUBJECT]
        if original.code != old.STR16 and original.code != old.STR8:
            keep_header(crossing, names.SUBJECT, visible, original)
        return
    crossing.keep_quietly("subject-from", visible, Tagged(new.STRING, source), names.ROW_SUBJECT)
    if source == names.JMS_TYPE:
        original = encode_0_10(headers[names.JMS_TYPE])
        crossing.keep(f"app.{names.JMS_TYPE}", visible, original, names.ROW_SUBJECT)
        del headers[names.JMS_TYPE]

"""The header and the addressing of a 1.0 message as 0-10 delivery-properties.

The redelivered flag is filled in when the message is sent (`towards_0_10.hop`).
"""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Properties
from gateway.errors import DecodeError
from gateway.message import NO_PRIORITY
from gateway.translate import names
from gateway.translate.addresses import address_of
from gateway.translate.application_headers import restore_header
from gateway.translate.crossing import ESCROW_MALFORMED, STR16_MAX, Crossing
from gateway.translate.escrow import NOTHING, digest_node, digest_number, digest_text
from gateway.translate.facts import with_excess
from gateway.translate.times import from_ms, to_ms
from gateway.translate.towards_1_0.hop import ttl_left
from gateway.translate.values import Conversion, digest_0_10
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

Fields = dict[str, Tagged]
STR8_MAX: Final = 255
PRIORITY_MAX: Final = 9
NON_PERSISTENT: Final = 1
PERSISTENT: Final = 2
OWN_STRUCTS: Final = frozenset((0x0401, 0x0403))


def cut(text: str) -> str:
    """The text, cut at a character to what a str8 holds."""
    octets = text.encode("utf-8")
    if len(octets) <= STR8_MAX:
        return text
    return octets[:STR8_MAX].decode("utf-8", "ignore")


def delivery_to_0_10(
    crossing: Crossing,
    properties: Properties,
    table: FieldTable,
    fields: Fields,
    annotations: Fields,
) -> DeliveryProperties:
    """Delivery-properties, and the headers that the subject becomes."""
    message = crossing.message
    dp = DeliveryProperties()
    dp.delivery_mode = PERSISTENT if message.durable else NON_PERSISTENT
    dp.ttl = ttl_left(message, crossing.context.now_ms)
    _priority(crossing, dp)
    exchange = cut(message.exchange)
    key = cut(message.routing_key)
    dp.exchange = exchange
    dp.routing_key = key
    if exchange != message.exchange or key != message.routing_key:
        whole = Tagged(new.STRING, message.routing_key)
        crossing.keep("routing-key", digest_text(key), whole, names.ROW_ROUTING_KEY)
    _times(crossing, properties, dp)
    if crossing.has_escrow:
        _restore_only_0_10(crossing, dp)
    _to(crossing, properties, exchange, key)
    _subject(crossing, properties, table, fields)
    if properties.subject is not None and names.JMS_MSG_TYPE in annotations:
        _type_in_subject(crossing, properties.subject, table, fields)
    return dp


def _priority(crossing: Crossing, dp: DeliveryProperties) -> None:
    priority = crossing.message.priority
    if priority == NO_PRIORITY:
        return
    entry = None
    if crossing.has_escrow:
        entry = crossing.take_typed(
            "dp.priority", digest_number(priority), names.ROW_PRIORITY, new.UBYTE
        )
    if entry is not None and entry.present:
        dp.priority = cast(int, entry.value.value)
    elif priority <= PRIORITY_MAX:
        dp.priority = priority
    else:
        dp.priority = PRIORITY_MAX
        original = Tagged(new.UBYTE, priority)
        crossing.keep("header.priority", digest_number(PRIORITY_MAX), original, names.ROW_PRIORITY)


def _times(crossing: Crossing, properties: Properties, dp: DeliveryProperties) -> None:
    dp.timestamp = _time(
        crossing,
        properties.creation_time,
        "dp.timestamp",
        "properties.creation-time",
        names.ROW_CREATION,
    )
    if dp.timestamp is None and crossing.context.timestamp:
        dp.timestamp = from_ms(crossing.message.arrived_ms, crossing.context.java)
    expiry = properties.absolute_expiry_time
    marker = None
    if crossing.has_escrow:
        marker = crossing.take("dp.ttl", digest_number(expiry), names.ROW_TTL)
    if marker is None or expiry is None:
        dp.expiration = _time(
            crossing, expiry, "dp.expiration", "properties.absolute-expiry-time", names.ROW_EXPIRY
        )
        return
    # The time was made of a ttl that header.ttl could not hold; dp.expiration is beside it.
    left = max(crossing.message.expires_ms - crossing.context.now_ms, 1)
    original = marker.value.value
    dp.ttl = with_excess(left, original) if isinstance(original, int) else left
    own = crossing.take_typed("dp.expiration", digest_number(expiry), names.ROW_EXPIRY, new.LONG)
    if own is not None and own.present:
        datetime = cast(int, own.value.value)
        dp.expiration = to_ms(datetime) if crossing.context.java else datetime


def _time(
    crossing: Crossing, timestamp_ms: int | None, path: str, path_1_0: str, row: int
) -> int | None:
    entry = None
    if crossing.has_escrow:
        entry = crossing.take_typed(path, digest_number(timestamp_ms), row, new.LONG)
    if timestamp_ms is None or (entry is not None and not entry.present):
        return None
    datetime = from_ms(timestamp_ms, crossing.context.java)
    if entry is not None and not crossing.context.java:
        datetime = cast(int, entry.value.value)
    if to_ms(datetime) != timestamp_ms:
        crossing.keep(path_1_0, digest_number(datetime), Tagged(new.TIMESTAMP, timestamp_ms), row)
    return datetime


def _restore_only_0_10(crossing: Crossing, dp: DeliveryProperties) -> None:
    """Restore the fields that 1.0 has nothing for."""
    row = names.ROW_DISCARD_UNROUTABLE
    dp.discard_unroutable = crossing.take("dp.discard-unroutable", NOTHING, row) is not None
    dp.immediate = crossing.take("dp.immediate", NOTHING, names.ROW_IMMEDIATE) is not None
    resume_id = crossing.take_typed("dp.resume-id", NOTHING, names.ROW_RESUME_ID, new.STRING)
    if resume_id is not None and resume_id.present:
        text = cast(str, resume_id.value.value)
        if len(text.encode("utf-8")) <= STR16_MAX:
            dp.resume_id = text
    resume_ttl = crossing.take_typed("dp.resume-ttl", NOTHING, names.ROW_RESUME_TTL, new.ULONG)
    if resume_ttl is not None and resume_ttl.present:
        dp.resume_ttl = cast(int, resume_ttl.value.value)


def other_structs(crossing: Crossing) -> bytes:
    """Structs of a header segment that are neither delivery- nor message-properties."""
    entry = crossing.take_typed("other-structs", NOTHING, names.ROW_OTHER_STRUCTS, new.BINARY)
    if entry is None or not entry.present:
        return b""
    octets = cast(bytes, entry.value.value)
    reader = Reader(octets)
    try:
        while reader.remaining():
            struct = reader.sub(reader.u32())
            if struct.u16() in OWN_STRUCTS:
                raise DecodeError("properties twice")
    except DecodeError:
        crossing.lose(ESCROW_MALFORMED)
        return b""
    return octets


def _to(crossing: Crossing, properties: Properties, exchange: str, key: str) -> None:
    if properties.to == address_of(crossing.message.exchange, crossing.message.routing_key):
        return
    visible = digest_node(exchange, key)
    if properties.to is None:
        crossing.keep_quietly("properties.to", visible, None, names.ROW_TO)
    else:
        crossing.keep("properties.to", visible, Tagged(new.STRING, properties.to), names.ROW_TO)


def _subject(crossing: Crossing, properties: Properties, table: FieldTable, fields: Fields) -> None:
    subject = properties.subject
    own = fields.get(names.SUBJECT)
    header: str | None = None
    if subject is not None:
        header = _subject_header(crossing, subject, table, fields)
        if header is not None and own is not None:
            del fields[names.SUBJECT]
            crossing.keep(f"app.{names.SUBJECT}", digest_text(header), own, names.ROW_SUBJECT)
        elif own is not None and own.code < new.LIST:  # it was beside the subject in 0-10
            header = names.text_0_10(Conversion().to_0_10(own))
    elif own is not None:
        header = stolen(crossing, names.SUBJECT, own, table, fields, names.ROW_SUBJECT)
    jms_type = _jms_type(crossing, table, fields)
    message = crossing.message
    back = names.derive_subject(message.exchange, message.routing_key, header, jms_type)[1]
    if back == subject:
        return
    path = "properties.subject"
    if subject is None:
        crossing.keep_quietly(path, digest_text(back), None, names.ROW_SUBJECT)
    else:
        crossing.keep(path, digest_text(back), Tagged(new.STRING, subject), names.ROW_SUBJECT)


def _subject_header(
    crossing: Crossing, subject: str, table: FieldTable, fields: Fields
) -> str | None:
    """Make the headers that a subject becomes; the text of qpid.subject."""
    if crossing.has_escrow:
        visible = digest_text(subject)
        source = crossing.take("subject-from", visible, names.ROW_SUBJECT)
        if source is not None:
            if source.value.value == names.JMS_TYPE and names.JMS_TYPE not in fields:
                kept_type = crossing.take(f"app.{names.JMS_TYPE}", visible, names.ROW_SUBJECT)
                if kept_type is not None:
                    restore_header(crossing, names.JMS_TYPE, kept_type.value, table)
            return None
        if f"app.{names.SUBJECT}" in crossing.withdrawal.entries:
            kept = crossing.take(f"app.{names.SUBJECT}", visible, names.ROW_SUBJECT)
            if kept is not None and restore_header(crossing, names.SUBJECT, kept.value, table):
                return subject
    if len(subject.encode("utf-8")) > STR16_MAX:
        return None
    table.append((names.SUBJECT, Tagged(old.STR16, subject)))
    return subject


def _type_in_subject(crossing: Crossing, subject: str, table: FieldTable, fields: Fields) -> None:
    """Of JMS clients the subject is the JMSType, which has a header of its own in 0-10."""
    name = names.JMS_TYPE
    headers = [header for header, _ in table]
    if names.SUBJECT not in headers or name in headers or name in fields:
        return
    path = f"app.{name}"
    if crossing.has_escrow and crossing.take(path, digest_text(subject), names.ROW_SUBJECT):
        return
    made = Tagged(old.STR16, subject)
    table.append((name, made))
    crossing.keep_quietly(path, digest_0_10(made), None, names.ROW_SUBJECT)


def _jms_type(crossing: Crossing, table: FieldTable, fields: Fields) -> str | None:
    for name, value in table:
        if name == names.JMS_TYPE:
            return names.text_0_10(value)
    own = fields.get(names.JMS_TYPE)
    if own is None or own.code >= new.LIST:
        return None
    if own.code == new.CHAR and f"app.{names.JMS_TYPE}" in crossing.withdrawal.entries:
        return None  # it was no text, and will be that again
    return names.text_0_10(Conversion().to_0_10(own))


def stolen(
    crossing: Crossing, name: str, own: Tagged, table: FieldTable, fields: Fields, row: int
) -> str | None:
    """A text property under the name of a header that has a meaning: kept as what it was."""
    if own.code != new.STRING and own.code != new.SYMBOL and own.code != new.CHAR:
        return None
    text = cast(str, own.value)
    if len(text.encode("utf-8")) > STR16_MAX or f"app.{name}" in crossing.withdrawal.entries:
        return None
    del fields[name]
    table.append((name, Tagged(old.STR16, text)))
    if own.code == new.STRING:
        crossing.keep_quietly(f"app.{name}", digest_text(text), own, row)
    else:
        crossing.keep(f"app.{name}", digest_text(text), own, row)
    return text

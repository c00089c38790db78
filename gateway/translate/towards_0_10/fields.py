"""The properties and annotations of a 1.0 message as 0-10 message-properties.

Each function takes its fields and the application properties that have a meaning out of what it is
given, restores originals from the escrow, and puts into escrow what would not come back by itself.
"""

from __future__ import annotations

from typing import cast

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import MessageProperties
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Properties
from gateway.translate import ids, names
from gateway.translate.application_headers import restore_header
from gateway.translate.crossing import STR16_MAX, Crossing
from gateway.translate.escrow import (
    NOTHING,
    digest_number,
    digest_octets,
    digest_text,
    digest_value,
)
from gateway.translate.original_ids import PATH, digest_of, digest_of_uuid
from gateway.translate.reply_to import reply_to_0_10
from gateway.translate.towards_0_10.delivery import Fields, stolen
from gateway.translate.values import Conversion, digest_0_10
from gateway.wire.tagged import Tagged


def properties_to_0_10(
    crossing: Crossing,
    properties: Properties,
    table: FieldTable,
    fields: Fields,
    annotations: Fields,
) -> MessageProperties:
    """Message-properties but for content, and the headers that properties become."""
    mp = MessageProperties()
    _message_id(crossing, properties, mp)
    _correlation_id(crossing, properties, mp)
    reply_to_0_10(crossing, properties, mp, annotations)
    _user_id(crossing, properties, mp)
    _app_id(crossing, mp, table, fields)
    _group_id(crossing, properties, table, fields)
    _group_sequence(crossing, properties, table, fields)
    _delivery_time(crossing, table, fields, annotations)
    if annotations:
        _trace_context(crossing, table, fields, annotations)
    if properties.reply_to_group_id is not None:
        original = Tagged(new.STRING, properties.reply_to_group_id)
        path = "properties.reply-to-group-id"
        crossing.keep(path, NOTHING, original, names.ROW_REPLY_TO_GROUP_ID)
    return mp


def _message_id(crossing: Crossing, properties: Properties, mp: MessageProperties) -> None:
    message_id = properties.message_id
    if message_id is None:
        return
    uuid = ids.uuid_of(message_id)
    mp.message_id = uuid
    kept = True
    if message_id.code != new.UUID:
        visible = digest_octets(uuid)
        kept = crossing.keep(PATH, visible, message_id, names.ROW_MESSAGE_ID)
    crossing.id_digest = digest_of(message_id) if kept else digest_of_uuid(uuid)
    if properties.reply_to is not None:
        # A request: a responder that gets it by 0-10 will name it by this uuid.
        encoded = new.to_bytes(message_id)
        crossing.context.replies.remember(
            uuid, encoded, crossing.context.now_ms, crossing.message.durable
        )


def _correlation_id(crossing: Crossing, properties: Properties, mp: MessageProperties) -> None:
    original = properties.correlation_id
    if original is None:
        return
    path = "properties.correlation-id"
    row = names.ROW_CORRELATION_ID
    octets = _asked_by(crossing, ids.octets_of(original))
    entry = None
    if crossing.has_escrow:
        entry = crossing.take_typed("mp.correlation-id", digest_value(original), row, new.BINARY)
    if entry is not None and entry.present:
        octets = cast(bytes, entry.value.value)
    if len(octets) > STR16_MAX:
        crossing.keep(path, NOTHING, original, row)
        return
    mp.correlation_id = octets
    back = ids.text_or_octets(octets)
    if (
        back.code != original.code
        or back.value != original.value
        or _request_id(crossing, octets) is not None
    ):
        crossing.keep(path, digest_octets(octets), original, row)


def _asked_by(crossing: Crossing, correlation_id: bytes) -> bytes:
    """The correlation-id as who asked by 0-10 spells it, if that was noted; else as it is."""
    request_id = _request_id(crossing, correlation_id)
    known = None if request_id is None else ids.decode_id(request_id)
    if known is None or known.code != new.STRING:
        return correlation_id
    text = cast(str, known.value)
    # a request of 1.0 may have any text: to 0-10 it goes by its uuid
    return correlation_id if ids.uuid_from_text(text) is None else text.encode("ascii")


def _request_id(crossing: Crossing, correlation_id: bytes) -> bytes | None:
    """The id of a request that is known, if the octets would come back as that."""
    uuid = ids.uuid_in(correlation_id)
    return None if uuid is None else crossing.context.replies.find(uuid, crossing.context.now_ms)


def _user_id(crossing: Crossing, properties: Properties, mp: MessageProperties) -> None:
    user_id = properties.user_id
    if user_id is None:
        return
    if len(user_id) <= STR16_MAX:
        mp.user_id = user_id
    else:
        crossing.lose(names.ROW_USER_ID)


def _app_id(crossing: Crossing, mp: MessageProperties, table: FieldTable, fields: Fields) -> None:
    name = names.APP_ID
    own = fields.get(name)
    if own is None or (own.code != new.STRING and own.code != new.BINARY):
        return
    octets = ids.octets_of(own)
    entry = None
    if crossing.has_escrow:
        entry = crossing.take("mp.app-id", digest_value(own), names.ROW_APP_ID)
    if len(octets) > STR16_MAX or (entry is not None and not entry.present):
        return
    del fields[name]
    mp.app_id = octets
    if crossing.has_escrow:
        header = crossing.take(f"app.{name}", digest_value(own), names.ROW_APP_ID)
        if header is not None:
            restore_header(crossing, name, header.value, table)
    if ids.text_or_octets(octets).code != own.code:
        crossing.keep(f"app.{name}", digest_octets(octets), own, names.ROW_APP_ID)


def _group_id(
    crossing: Crossing, properties: Properties, table: FieldTable, fields: Fields
) -> None:
    name = names.GROUP_ID
    path = "properties.group-id"
    group_id = properties.group_id
    own = fields.get(name)
    if group_id is None:
        if own is not None:
            text = stolen(crossing, name, own, table, fields, names.ROW_GROUP_ID)
            if text is not None:
                crossing.keep_quietly(path, digest_text(text), None, names.ROW_GROUP_ID)
    elif len(group_id.encode("utf-8")) > STR16_MAX:
        crossing.keep(path, NOTHING, Tagged(new.STRING, group_id), names.ROW_GROUP_ID)
    else:
        visible = digest_text(group_id)
        _give_header(crossing, name, Tagged(old.STR16, group_id), visible, table)
        _shadow(crossing, name, visible, fields, names.ROW_GROUP_ID)


def _give_header(
    crossing: Crossing, name: str, value: Tagged, visible: int, table: FieldTable
) -> None:
    """Add a header, in the type that the 0-10 publisher gave it if that is in escrow."""
    entry = None
    if crossing.has_escrow:
        entry = crossing.take(f"app.{name}", visible, names.ROW_GROUP_ID)
    if entry is None or not entry.present or not restore_header(crossing, name, entry.value, table):
        table.append((name, value))


def _shadow(crossing: Crossing, name: str, visible: int, fields: Fields, row: int) -> None:
    """Keep the application property whose name a field has taken."""
    own = fields.pop(name, None)
    if own is not None:
        crossing.keep(f"app.{name}", visible, own, row)


def _group_sequence(
    crossing: Crossing, properties: Properties, table: FieldTable, fields: Fields
) -> None:
    name = names.GROUP_SEQUENCE
    row = names.ROW_GROUP_SEQUENCE
    number = properties.group_sequence
    if number is None:
        number = names.number_1_0(fields.get(name), 0, names.UINT32_MAX)
        if number is None or f"app.{name}" in crossing.withdrawal.entries:
            return
        crossing.keep_quietly("properties.group-sequence", digest_number(number), None, row)
    visible = digest_number(number)
    code = old.INT32 if number <= names.INT32_MAX else old.UINT32
    _give_header(crossing, name, Tagged(code, number), visible, table)
    _shadow(crossing, name, visible, fields, row)


def _delivery_time(
    crossing: Crossing, table: FieldTable, fields: Fields, annotations: Fields
) -> None:
    name = names.NOT_VALID_BEFORE
    path = "annotations.x-opt-delivery-time"
    row = names.ROW_DELIVERY_TIME
    annotation = annotations.get(names.DELIVERY_TIME)
    number = _time_of(annotation)
    if number is None or annotation is None:
        number = names.number_1_0(fields.get(name), names.INT64_MIN, names.INT64_MAX)
        if number is None or f"app.{name}" in crossing.withdrawal.entries:
            return
        crossing.keep_quietly(path, digest_number(number), None, row)
    else:
        del annotations[names.DELIVERY_TIME]
        if annotation.code != new.LONG:
            crossing.keep(path, digest_number(number), annotation, row)
    visible = digest_number(number)
    _give_header(crossing, name, Tagged(old.INT64, number), visible, table)
    _shadow(crossing, name, visible, fields, row)


def _trace_context(
    crossing: Crossing, table: FieldTable, fields: Fields, annotations: Fields
) -> None:
    """An intermediary's, where the publisher has none; noted, so that it is an annotation again."""
    for name in names.TRACE_CONTEXT:
        annotation = annotations.get(name)
        if annotation is None or name in fields or f"app.{name}" in crossing.withdrawal.entries:
            continue
        conversion = Conversion()
        visible = conversion.to_0_10(annotation)
        if visible.code not in names.TRACE_CODES or not conversion.exact:
            continue  # no context: it stays among the annotations
        del annotations[name]
        table.append((name, visible))
        marked = Tagged(new.NULL, None)
        crossing.keep(f"annotations.{name}", digest_0_10(visible), marked, names.ROW_TRACE_CONTEXT)


def _time_of(annotation: Tagged | None) -> int | None:
    if annotation is not None and annotation.code == new.TIMESTAMP:
        return cast(int, annotation.value)
    return names.number_1_0(annotation, names.INT64_MIN, names.INT64_MAX)

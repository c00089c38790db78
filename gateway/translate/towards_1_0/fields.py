"""The fields of a 0-10 header segment as 1.0 properties and annotations.

Each function takes its fields and the headers that have a meaning out of what it is given, restores
originals from the escrow, and puts into escrow what would not come back by itself.
"""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Properties
from gateway.message import NO_PRIORITY, Flag
from gateway.translate import ids, names
from gateway.translate.application_headers import give_back, keep_header
from gateway.translate.crossing import ESCROW_MALFORMED, Crossing
from gateway.translate.escrow import (
    NOTHING,
    digest_number,
    digest_octets,
    digest_text,
    digest_value,
)
from gateway.translate.facts import TTL_MS_MAX
from gateway.translate.original_ids import digest_of
from gateway.translate.reply_to import reply_to_1_0
from gateway.translate.segment import HeaderSegment
from gateway.translate.times import from_ms, to_ms
from gateway.translate.towards_1_0.destination import destination_to_1_0
from gateway.translate.values import Conversion, digest_0_10
from gateway.wire.tagged import Tagged

Headers = dict[str, Tagged]
TTL_MAX: Final = 0xFFFFFFFF
PRIORITY_MAX_0_10: Final = 9


def properties_to_1_0(
    crossing: Crossing, header: HeaderSegment, headers: Headers, out: Headers, annotations: Headers
) -> Properties:
    """All properties but content-type and content-encoding, which depend on the body."""
    properties = Properties()
    dp = header.delivery
    mp = header.properties
    _message_id(crossing, mp, properties)
    _correlation_id(crossing, mp, properties)
    if mp.user_id is None or crossing.context.user_id:
        properties.user_id = mp.user_id
    else:
        crossing.lose(names.ROW_USER_ID)
    reply_to_1_0(crossing, mp, properties, annotations)
    _times(crossing, dp, properties)
    destination_to_1_0(crossing, properties, headers, out, annotations)
    _app_id(crossing, mp, headers, out)
    if headers or crossing.has_escrow:
        _group_id(crossing, properties, headers, out)
        _group_sequence(crossing, properties, headers, out)
        _delivery_time(crossing, headers, out, annotations)
    if crossing.has_escrow:
        _trace_context(crossing, headers, annotations)
        _restore_reply_to_group_id(crossing, properties)
    _only_0_10(crossing, dp, header.others)
    return properties


def _message_id(crossing: Crossing, mp: MessageProperties, properties: Properties) -> None:
    entry = None
    if crossing.has_escrow:
        visible = digest_octets(mp.message_id)
        entry = crossing.take("properties.message-id", visible, names.ROW_MESSAGE_ID)
    if entry is not None and (entry.value.code in ids.ID_CODES or not entry.present):
        properties.message_id = entry.value if entry.present else None
    elif mp.message_id is not None:
        properties.message_id = Tagged(new.UUID, mp.message_id)
        if mp.reply_to is not None and crossing.message.flags & Flag.TIMES_IN_MS:
            _remember_request(crossing, mp.message_id)
    crossing.id_digest = digest_of(properties.message_id)


def _remember_request(crossing: Crossing, uuid: bytes) -> None:
    """Note how the Java client, which asks, spells its id: as a text that an answer has to have."""
    spelt = Tagged(new.STRING, ids.PREFIX + ids.text_of_uuid(uuid))
    context = crossing.context
    context.replies.remember(
        uuid, new.to_bytes(spelt), context.now_ms, durable=crossing.message.durable
    )


def _correlation_id(crossing: Crossing, mp: MessageProperties, properties: Properties) -> None:
    octets = mp.correlation_id
    entry = None
    if crossing.has_escrow:
        visible = digest_octets(octets)
        entry = crossing.take("properties.correlation-id", visible, names.ROW_CORRELATION_ID)
    if entry is not None and (entry.value.code in ids.ID_CODES or not entry.present):
        properties.correlation_id = entry.value if entry.present else None
    elif octets is not None:
        request_id = _request_id(crossing, octets)
        answer = ids.text_or_octets(octets) if request_id is None else request_id
        properties.correlation_id = answer
        if ids.octets_of(answer) != octets:
            original = Tagged(new.BINARY, octets)
            path = "mp.correlation-id"
            crossing.keep_quietly(path, digest_value(answer), original, names.ROW_CORRELATION_ID)


def _request_id(crossing: Crossing, correlation_id: bytes) -> Tagged | None:
    """The id of the request that is answered, as its 1.0 publisher gave it."""
    uuid = ids.uuid_in(correlation_id)
    if uuid is None:
        return None
    known = crossing.context.replies.find(uuid, crossing.context.now_ms)
    if known is not None:
        return ids.decode_id(known)
    if ids.is_name_based(uuid):
        crossing.lose(names.ROW_REPLIES_MISS)
    return None


def _times(crossing: Crossing, dp: DeliveryProperties, properties: Properties) -> None:
    properties.creation_time = _time(
        crossing, dp.timestamp, "dp.timestamp", "properties.creation-time", names.ROW_CREATION
    )
    if properties.creation_time is None and crossing.context.timestamp:
        properties.creation_time = crossing.message.arrived_ms
    if crossing.message.ttl_ms <= TTL_MAX:
        properties.absolute_expiry_time = _time(
            crossing,
            dp.expiration,
            "dp.expiration",
            "properties.absolute-expiry-time",
            names.ROW_EXPIRY,
        )
        return
    # More ttl than header.ttl holds: absolute-expiry-time carries it, whatever dp.expiration was.
    expires_ms = crossing.message.expires_ms
    properties.absolute_expiry_time = expires_ms
    visible = digest_number(expires_ms)
    if dp.ttl is not None and dp.ttl > TTL_MS_MAX:
        crossing.keep("dp.ttl", visible, Tagged(new.ULONG, dp.ttl), names.ROW_TTL)
    else:
        crossing.keep_quietly("dp.ttl", visible, Tagged(new.NULL, None), names.ROW_TTL)
    if dp.expiration is None:
        crossing.keep_quietly("dp.expiration", visible, None, names.ROW_EXPIRY)
    else:
        crossing.keep("dp.expiration", visible, Tagged(new.LONG, dp.expiration), names.ROW_EXPIRY)


def _time(
    crossing: Crossing, datetime: int | None, path: str, path_1_0: str, row: int
) -> int | None:
    entry = None
    if crossing.has_escrow:
        entry = crossing.take_typed(path_1_0, digest_number(datetime), row, new.TIMESTAMP)
    if entry is not None:
        return cast(int, entry.value.value) if entry.present else None
    if datetime is None:
        return None
    timestamp_ms = to_ms(datetime)
    if from_ms(timestamp_ms, False) != datetime:
        crossing.keep(path, digest_number(timestamp_ms), Tagged(new.LONG, datetime), row)
    return timestamp_ms


def _app_id(crossing: Crossing, mp: MessageProperties, headers: Headers, out: Headers) -> None:
    app_id = mp.app_id
    if app_id is None:
        return
    name = names.APP_ID
    original = headers.get(name)
    entry = None
    if crossing.has_escrow:
        entry = crossing.take(f"app.{name}", digest_octets(app_id), names.ROW_APP_ID)
    if entry is not None and entry.present:
        out[name] = entry.value
    else:
        out[name] = ids.text_or_octets(app_id)
    if original is not None:
        del headers[name]
        keep_header(crossing, name, digest_value(out[name]), original)


def note_app_id(crossing: Crossing, mp: MessageProperties, out: Headers) -> None:
    """Keep that a property under app-id's name, made of a header, is not mp.app-id."""
    if mp.app_id is not None or not out:
        return
    visible = out.get(names.APP_ID)
    if visible is None:
        return
    if visible.code == new.STRING or visible.code == new.BINARY:
        crossing.keep_quietly("mp.app-id", digest_value(visible), None, names.ROW_APP_ID)


def _group_id(crossing: Crossing, properties: Properties, headers: Headers, out: Headers) -> None:
    original = headers.get(names.GROUP_ID)
    text = names.text_0_10(original)
    visible = digest_text(text)
    entry = None
    if crossing.has_escrow:
        entry = crossing.take_typed("properties.group-id", visible, names.ROW_GROUP_ID, new.STRING)
    if entry is not None and entry.present:
        properties.group_id = cast(str, entry.value.value)
    if text is None or original is None:
        return
    if crossing.has_escrow:
        give_back(crossing, names.GROUP_ID, visible, headers, out)
    headers.pop(names.GROUP_ID, None)
    if entry is None:
        properties.group_id = text
        if original.code != old.STR16 and original.code != old.STR8:
            keep_header(crossing, names.GROUP_ID, visible, original)


def _group_sequence(
    crossing: Crossing, properties: Properties, headers: Headers, out: Headers
) -> None:
    original = headers.get(names.GROUP_SEQUENCE)
    number = names.number_0_10(original, 0, names.UINT32_MAX)
    if number is None or original is None:
        return
    visible = digest_number(number)
    entry = None
    if crossing.has_escrow:
        entry = crossing.take("properties.group-sequence", visible, names.ROW_GROUP_SEQUENCE)
        give_back(crossing, names.GROUP_SEQUENCE, visible, headers, out)
    headers.pop(names.GROUP_SEQUENCE, None)
    if entry is None or entry.present:
        properties.group_sequence = number
        if original.code != (old.INT32 if number <= names.INT32_MAX else old.UINT32):
            keep_header(crossing, names.GROUP_SEQUENCE, visible, original)


def _restore_reply_to_group_id(crossing: Crossing, properties: Properties) -> None:
    path = "properties.reply-to-group-id"
    entry = crossing.take_typed(path, NOTHING, names.ROW_REPLY_TO_GROUP_ID, new.STRING)
    if entry is not None and entry.present:
        properties.reply_to_group_id = cast(str, entry.value.value)


def _delivery_time(
    crossing: Crossing, headers: Headers, out: Headers, annotations: Headers
) -> None:
    original = headers.get(names.NOT_VALID_BEFORE)
    number = names.number_0_10(original, names.INT64_MIN, names.INT64_MAX)
    if number is None or original is None:
        return
    visible = digest_number(number)
    entry = None
    if crossing.has_escrow:
        entry = crossing.take("annotations.x-opt-delivery-time", visible, names.ROW_DELIVERY_TIME)
        give_back(crossing, names.NOT_VALID_BEFORE, visible, headers, out)
    headers.pop(names.NOT_VALID_BEFORE, None)
    if entry is None:
        annotations[names.DELIVERY_TIME] = Tagged(new.LONG, number)
        if original.code != old.INT64:
            keep_header(crossing, names.NOT_VALID_BEFORE, visible, original)
    elif entry.present:
        annotations[names.DELIVERY_TIME] = entry.value


def _trace_context(crossing: Crossing, headers: Headers, annotations: Headers) -> None:
    """Headers that were annotations are so again; a publisher's own are properties."""
    for name in names.TRACE_CONTEXT:
        path = f"annotations.{name}"
        if path not in crossing.withdrawal.entries:
            continue
        header = headers.get(name)
        visible = NOTHING if header is None else digest_0_10(header)
        entry = crossing.take_typed(path, visible, names.ROW_TRACE_CONTEXT, new.NULL)
        if entry is None or header is None or not entry.present:
            continue
        if header.code in names.TRACE_CODES:
            del headers[name]
            annotations[name] = Conversion().to_1_0(header)
        else:
            crossing.lose(ESCROW_MALFORMED)


def _only_0_10(crossing: Crossing, dp: DeliveryProperties, others: bytes) -> None:
    yes = Tagged(new.BOOLEAN, True)
    if dp.discard_unroutable:
        crossing.keep("dp.discard-unroutable", NOTHING, yes, names.ROW_DISCARD_UNROUTABLE)
    if dp.immediate:
        crossing.keep("dp.immediate", NOTHING, yes, names.ROW_IMMEDIATE)
    if dp.resume_id is not None:
        original = Tagged(new.STRING, dp.resume_id)
        crossing.keep("dp.resume-id", NOTHING, original, names.ROW_RESUME_ID)
    if dp.resume_ttl is not None:
        original = Tagged(new.ULONG, dp.resume_ttl)
        crossing.keep("dp.resume-ttl", NOTHING, original, names.ROW_RESUME_TTL)
    if others:
        crossing.keep("other-structs", NOTHING, Tagged(new.BINARY, others), names.ROW_OTHER_STRUCTS)


def priority_to_1_0(crossing: Crossing) -> int:
    """The priority of the header section; `NO_PRIORITY` if it has none."""
    priority = crossing.message.priority
    if priority == NO_PRIORITY:
        return NO_PRIORITY
    entry = None
    if crossing.has_escrow:
        entry = crossing.take_typed(
            "header.priority", digest_number(priority), names.ROW_PRIORITY, new.UBYTE
        )
    if entry is not None and entry.present:
        return cast(int, entry.value.value)
    if priority > PRIORITY_MAX_0_10:
        original = Tagged(new.UBYTE, priority)
        crossing.keep_quietly("dp.priority", digest_number(priority), original, names.ROW_PRIORITY)
    return priority

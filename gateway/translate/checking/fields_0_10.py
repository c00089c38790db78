"""The values of a 0-10 message, each with the row that maps it; what a hop writes anew is left out.

Names are of the fields, without the struct; those of headers have ``app.`` in front.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.errors import DecodeError
from gateway.message import Flag, Message
from gateway.translate import content, names
from gateway.translate.checking.neutral import neutral_0_10
from gateway.translate.escrow import HEADER
from gateway.translate.segment import open_header
from gateway.translate.values import row_0_10

Values = dict[str, tuple[int, object]]  # the row, and the value, by name

DEPTH_MAX: Final = 40
PERSISTENT: Final = 2
TTL_MAX: Final = 0xFFFFFFFF  # of 1.0
LONG_TTL: Final = "more than 32 bits"
SHORT_TTL: Final = "no more"
EMPTY_BODY: Final = int(Flag.EMPTY_BODY)


def values_0_10(message: Message) -> Values:
    """Those of a message that is in 0-10's encoding; `DecodeError` if it is none."""
    segment = open_header(message.payload, message.body_at, DEPTH_MAX)
    if segment.malformed:
        raise DecodeError("application headers that do not decode")
    found: Values = {}
    _delivery(found, segment.delivery)
    _properties(found, segment.properties)
    if segment.others:
        found["other-structs"] = names.ROW_OTHER_STRUCTS, segment.others
    for name, value in segment.properties.application_headers or []:
        if name != HEADER:
            found[f"app.{name}"] = row_0_10(value.code), neutral_0_10(value)
    body = message.body()
    row, value_ = _body(segment.properties.content_type, body)
    found["body"] = row, value_
    if body or message.flags & EMPTY_BODY:
        found["segment"] = content.ROW_EMPTY, True
    return found


def _put(found: Values, name: str, row: int, value: object) -> None:
    if value is not None:
        found[name] = row, value


def _delivery(found: Values, dp: DeliveryProperties) -> None:
    if dp.delivery_mode == PERSISTENT:
        found["durable"] = names.ROW_DURABLE, True
    if dp.ttl:
        found["ttl"] = names.ROW_TTL, LONG_TTL if dp.ttl > TTL_MAX else SHORT_TTL
    _put(found, "priority", names.ROW_PRIORITY, dp.priority)
    _put(found, "creation-time", names.ROW_CREATION, dp.timestamp)
    _put(found, "absolute-expiry-time", names.ROW_EXPIRY, dp.expiration)
    _put(found, "resume-id", names.ROW_RESUME_ID, dp.resume_id)
    _put(found, "resume-ttl", names.ROW_RESUME_TTL, dp.resume_ttl)
    if dp.discard_unroutable:
        found["discard-unroutable"] = names.ROW_DISCARD_UNROUTABLE, True
    if dp.immediate:
        found["immediate"] = names.ROW_IMMEDIATE, True


def _properties(found: Values, mp: MessageProperties) -> None:
    _put(found, "message-id", names.ROW_MESSAGE_ID, mp.message_id)
    _put(found, "correlation-id", names.ROW_CORRELATION_ID, mp.correlation_id)
    _put(found, "user-id", names.ROW_USER_ID, mp.user_id)
    _put(found, "app-id", names.ROW_APP_ID, mp.app_id)
    _put(found, "content-type", content.ROW_CONTENT_TYPE, mp.content_type)
    _put(found, "content-encoding", content.ROW_CONTENT_ENCODING, mp.content_encoding)
    reply_to = mp.reply_to
    if reply_to is not None:
        pair = (reply_to.exchange or "", reply_to.routing_key or "")
        found["reply-to"] = names.ROW_REPLY_TO, pair


def _body(content_type: str | None, octets: bytes) -> tuple[int, object]:
    """A map or list by its values, since it may be encoded otherwise; all else by its octets."""
    if content_type == content.AMQP_MAP:
        table = content.read_body_map(octets, DEPTH_MAX)
        if table is not None:
            return content.ROW_MAP, tuple([(name, neutral_0_10(item)) for name, item in table])
    elif content_type == content.AMQP_LIST:
        items = content.read_body_list(octets, DEPTH_MAX)
        if items is not None:
            return content.ROW_LIST, tuple([neutral_0_10(item) for item in items])
    return content.ROW_DATA, octets

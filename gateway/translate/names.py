"""What both directions agree on: headers that have a meaning, the rows of the fields.

Paths in escrow towards 1.0 name 0-10 fields (``dp.``, ``mp.``, ``app.`` a header); those towards
0-10 name 1.0 fields (``header.``, ``properties.``, ``annotations``, ``app.`` a property).
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import types as new
from gateway.translate.mapping_rows import number
from gateway.translate.values import LATIN_OR_UTF16
from gateway.wire.tagged import Tagged

APP_ID: Final = "x-amqp-0-10.app-id"
GROUP_ID: Final = "JMSXGroupID"
GROUP_SEQUENCE: Final = "JMSXGroupSeq"
SUBJECT: Final = "qpid.subject"
JMS_TYPE: Final = "x-jms-type"
NOT_VALID_BEFORE: Final = "x-qpid-not-valid-before"
JMS_NULL: Final = "JMS_AMQP_NULL"
DELIVERY_TIME: Final = "x-opt-delivery-time"
JMS_MSG_TYPE: Final = "x-opt-jms-msg-type"
# Of what kind JMS clients know the node in `to`, and that in reply-to.
JMS_DEST: Final = "x-opt-jms-dest"
JMS_REPLY_TO: Final = "x-opt-jms-reply-to"
# W3C Trace Context: of a publisher a header or property, of an intermediary an annotation.
TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
TRACE_CONTEXT: Final = (TRACEPARENT, TRACESTATE)

ROW_DURABLE: Final = number("header.durable")
ROW_PRIORITY: Final = number("header.priority")
ROW_TTL: Final = number("header.ttl")
ROW_DELIVERY_COUNT: Final = number("header.delivery-count")
ROW_EXPIRY: Final = number("properties.absolute-expiry-time")
ROW_CREATION: Final = number("properties.creation-time")
ROW_TO: Final = number("properties.to")
ROW_SUBJECT: Final = number("properties.subject")
ROW_DISCARD_UNROUTABLE: Final = number("delivery.discard-unroutable")
ROW_IMMEDIATE: Final = number("delivery.immediate")
ROW_RESUME_ID: Final = number("delivery.resume-id")
ROW_RESUME_TTL: Final = number("delivery.resume-ttl")
ROW_OTHER_STRUCTS: Final = number("header.other-structs")
ROW_MESSAGE_ID: Final = number("properties.message-id")
ROW_CORRELATION_ID: Final = number("properties.correlation-id")
ROW_USER_ID: Final = number("properties.user-id")
ROW_REPLY_TO: Final = number("properties.reply-to")
ROW_REPLY_TO_UNKNOWN: Final = number("addresses.reply-to-unknown")
ROW_APP_ID: Final = number("properties.app-id")
ROW_GROUP_ID: Final = number("properties.group-id")
ROW_GROUP_SEQUENCE: Final = number("properties.group-sequence")
ROW_DELIVERY_TIME: Final = number("annotations.delivery-time")
ROW_TRACE_CONTEXT: Final = number("annotations.trace-context")
ROW_REPLY_TO_GROUP_ID: Final = number("properties.reply-to-group-id")
ROW_ROUTING_KEY: Final = number("delivery.routing-key")
ROW_JMS_DESTINATION: Final = number("annotations.jms-destination")
ROW_REPLIES_MISS: Final = number("replies.miss")

INTEGERS_0_10: Final = frozenset(
    (old.INT8, old.INT16, old.INT32, old.INT64, old.UINT8, old.UINT16, old.UINT32, old.UINT64)
)
TRACE_CODES: Final = (old.STR16, old.VBIN16)
INTEGERS_1_0: Final = frozenset(
    (new.BYTE, new.SHORT, new.INT, new.LONG, new.UBYTE, new.USHORT, new.UINT, new.ULONG)
)
INT32_MAX: Final = 0x7FFFFFFF
UINT32_MAX: Final = 0xFFFFFFFF
INT64_MAX: Final = 0x7FFFFFFFFFFFFFFF
INT64_MIN: Final = -0x8000000000000000


def text_0_10(value: Tagged | None) -> str | None:
    """The text of a 0-10 header; `None` if it is no text."""
    if value is None:
        return None
    code = value.code
    if code == old.STR16 or code == old.STR8 or code in LATIN_OR_UTF16:
        return value.value if isinstance(value.value, str) else None
    return None


def number_0_10(value: Tagged | None, least: int, greatest: int) -> int | None:
    """The number of a 0-10 header; `None` if it is none, or out of bounds."""
    if value is None or value.code not in INTEGERS_0_10:
        return None
    number = value.value
    return number if isinstance(number, int) and least <= number <= greatest else None


def number_1_0(value: Tagged | None, least: int, greatest: int) -> int | None:
    """The number of a 1.0 property; `None` if it is none, or out of bounds."""
    if value is None or value.code not in INTEGERS_1_0:
        return None
    number = value.value
    return number if isinstance(number, int) and least <= number <= greatest else None


def derive_subject(
    exchange: str, key: str, subject: str | None, jms_type: str | None
) -> tuple[str, str | None]:
    """The 1.0 subject of a 0-10 message, and the header it comes from ("" where from the key)."""
    if subject is not None:
        return SUBJECT, subject
    if exchange and key:
        return "", key
    return JMS_TYPE, jms_type


def derive_jms_subject(subject: str | None, jms_type: str | None) -> tuple[str, str | None]:
    """The same for a receiver to which the subject is the JMSType, which no key is."""
    if jms_type is not None and subject != jms_type:
        return JMS_TYPE, jms_type
    return ("" if subject is None else SUBJECT), subject

"""A translated message, as it is sent, translated back and held against what came.

What the receiver is given - the octets, with the escrow in them - must make the same message again,
but for the losses that were declared, row by row: so whatever was dropped or changed on the way is
seen, in whichever part of the message, and that without another description of the mapping. The way
back is by the code of the other direction; what both directions get wrong alike is not seen.

What is gained is no loss, and what the message brought in an escrow of its own stands for what is
visible of it: such values are not compared. Nor is what depends on who asks: the addresses of
answers where the escrow could not take the original, and ids that the reply table knows.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from gateway.amqp_1_0 import sections
from gateway.errors import DecodeError, LimitError, LocalProtocolError
from gateway.message import Loss, Message
from gateway.translate import names
from gateway.translate.checking.fields_0_10 import EMPTY_BODY, LONG_TTL, Values, values_0_10
from gateway.translate.checking.fields_1_0 import ROW_ANNOTATIONS, values_1_0
from gateway.translate.context import Context, Counts
from gateway.translate.escrow import ANNOTATION, HEADER, open_escrow
from gateway.translate.facts import (
    AMQP_0_10,
    arrival_0_10,
    arrival_1_0,
    message_from_0_10,
    message_from_1_0,
)
from gateway.translate.ids import uuid_in
from gateway.translate.mapping_rows import ALL, ROWS, number
from gateway.translate.message import to_0_10, to_1_0
from gateway.translate.names import JMS_MSG_TYPE, JMS_NULL
from gateway.translate.replies import ReplyTable
from gateway.translate.segment import open_header
from gateway.translate.towards_0_10.delivery import cut
from gateway.translate.towards_1_0.hop import delivery_payload

MALFORMED: Final = number("header.malformed")
ESCROW_MAX: Final = 65_535
DEPTH_MAX: Final = 32
BODY_ROWS: Final = frozenset(row.number for row in ALL if row.id.startswith("body."))
ADDRESS_ROWS: Final = frozenset(row.number for row in ALL if row.id.startswith("addresses."))
# Headers whose name a field takes: they are lost by its row.
TAKEN_NAMES: Final = {
    f"app.{names.APP_ID}": names.ROW_APP_ID,
    f"app.{names.GROUP_ID}": names.ROW_GROUP_ID,
    f"app.{names.GROUP_SEQUENCE}": names.ROW_GROUP_SEQUENCE,
    f"app.{names.SUBJECT}": names.ROW_SUBJECT,
    f"app.{names.JMS_TYPE}": names.ROW_SUBJECT,
    f"app.{names.NOT_VALID_BEFORE}": names.ROW_DELIVERY_TIME,
}
OF_THE_BODY: Final = ("body", "segment", "content-type", "content-encoding", "jms-msg-type")
NULL: Final = f"app.{JMS_NULL}"
JMS_TYPE: Final = f"annotation.{JMS_MSG_TYPE}"
_NOBODYS: Final = Counts()  # nobody asks what is lost on the way back, and to make one takes long


def differences(
    message: Message,
    header: bytes,
    body: bytes,
    losses: list[Loss],
    context: Context,
    *,
    empty_body: bool = False,
) -> list[int]:
    """The rows by which something is lost, and that was not declared; in their order.

    `header`, `body`: what is sent; of 1.0 all of it is `header`. `context`: it was translated in.
    """
    declared = Counter([ROWS[loss.row].number for loss in losses])
    if declared[MALFORMED]:
        return []
    try:
        came = _values(message)
        brought = _brought(message)
    except DecodeError:
        return []  # what cannot be read is a loss as a whole, or is not sent
    try:
        sent = _arrived(message, header, body, context)
        if empty_body:
            sent.flags |= EMPTY_BODY
        back = _values(_back(sent, context, message.encoding))
        missing = [name for name, (_, value) in came.items() if not _is_back(name, value, back)]
        if not missing:
            return []  # as nearly always
        seen = _values(sent)
        kept = _brought(sent)
    except LimitError:
        return []  # it is more by the other protocol than is read at once
    except (DecodeError, LocalProtocolError):
        return [MALFORMED]
    found: Counter[int] = Counter()
    for name in missing:
        if not _excused(name, brought, declared) and not _stands(name, came, back, kept, seen):
            found[came[name][0]] += 1
    return sorted([row for row, times in found.items() if times > declared[row]])


def _is_back(name: str, value: object, back: Values) -> bool:
    """Whether it is there again; how much is left of a ttl changes all the time."""
    return name in back and (back[name][1] == value or name == "ttl")


def _values(message: Message) -> Values:
    return values_0_10(message) if message.encoding == AMQP_0_10 else values_1_0(message)


def _arrived(message: Message, header: bytes, body: bytes, context: Context) -> Message:
    """What is sent, as whoever gets it takes it in."""
    if message.encoding == AMQP_0_10:  # so it is sent in 1.0
        return message_from_1_0(
            arrival_1_0(header),
            header,
            0,
            id=message.id,
            exchange=message.exchange,
            routing_key=message.routing_key,
            now_ms=context.now_ms,
            publisher=0,
            reader=None,
        )
    arrival = arrival_0_10(header, len(header))
    arrival.routing_key = cut(message.routing_key)
    return message_from_0_10(
        arrival,
        header + body,
        len(header),
        id=message.id,
        exchange=cut(message.exchange),
        now_ms=context.now_ms,
        publisher=0,
        times_in_ms=context.java,
        reader=None,
    )


def _back(sent: Message, context: Context, encoding: int) -> Message:
    """The message that it comes back as."""
    way = Context(
        context.nodes,
        ReplyTable(),
        _NOBODYS,
        escrow=context.escrow,
        escrow_max=context.escrow_max,
        depth_max=context.depth_max,
        text_body_value=context.text_body_value,
        now_ms=context.now_ms,
        gateway=context.gateway,
    )
    if encoding == AMQP_0_10:
        made = to_0_10(sent, way)
        if made.refusal is not None:
            raise DecodeError(made.refusal.description)
        again = _arrived(sent, made.header, made.body, way)
        if made.empty_body:
            again.flags |= EMPTY_BODY
        return again
    there = to_1_0(sent, way)
    payload = delivery_payload(sent, there, 0, context.now_ms)
    return _arrived(sent, payload, b"", way)


def _brought(message: Message) -> set[str]:
    """The paths of the escrow that is in a message."""
    text: object = None
    if message.encoding == AMQP_0_10:
        if message.payload.find(HEADER.encode(), 0, message.body_at) < 0:
            return set()
        segment = open_header(message.payload, message.body_at, DEPTH_MAX)
        for name, value in segment.properties.application_headers or []:
            text = value.value if name == HEADER else text
    else:
        found = sections.scan(message.payload)
        for key, value in sections.annotations(message.payload, found.message_annotations):
            text = value.value if key.value == ANNOTATION else text
    if not isinstance(text, str):
        return set()
    return set(open_escrow(text, ESCROW_MAX, DEPTH_MAX).entries)


def _excused(name: str, brought: set[str], declared: Counter[int]) -> bool:
    """Whether a value need not come back as it is visible."""
    of_body = name in OF_THE_BODY or name == JMS_TYPE
    if of_body and any([declared[row] for row in BODY_ROWS]):
        return True
    if name == "reply-to" and any([declared[row] for row in ADDRESS_ROWS]):
        return True
    if name in ("to", "subject") and declared[names.ROW_ROUTING_KEY]:
        return True
    if name.startswith("annotation.") and declared[ROW_ANNOTATIONS]:
        return True
    if name in TAKEN_NAMES and declared[TAKEN_NAMES[name]]:
        return True
    if not brought:
        return False
    shorts = {path.partition(".")[2] or path for path in brought}
    if name.startswith("app."):
        return name in brought or name.partition(".")[2] in shorts
    if of_body:
        return bool(shorts.intersection((*OF_THE_BODY, "body-segment")))
    if name.startswith("annotation."):
        return "annotations" in brought
    return name in shorts or (name in ("subject", "to") and "subject-from" in brought)


def _stands(name: str, came: Values, back: Values, kept: set[str], sent: Values) -> bool:
    """Whether something stands for a value that does not come back as it was."""
    value = came[name][1]
    if name == "priority":  # of more than 0-10 can say
        return name in sent and sent[name][1] == value
    if name.startswith("app.") and name in sent and _bare(sent[name][1]) == _bare(value):
        return True  # it is there, whatever becomes of it behind
    if name == "ttl":  # of more than 1.0 can say
        return value == LONG_TTL and "absolute-expiry-time" in sent
    if name == "segment":  # of a null, by a header that is lost
        return NULL in came and NULL not in sent
    if name not in back:
        return False
    if name == "reply-to":
        return not kept.intersection(("mp.reply-to", "properties.reply-to"))
    if name == "correlation-id":
        return isinstance(value, bytes) and uuid_in(value) is not None
    return False


def _bare(value: object) -> object:
    """A value of either protocol without its type."""
    return value[1] if isinstance(value, tuple) and len(value) == 2 else value

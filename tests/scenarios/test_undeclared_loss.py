"""For each mapping row: what is lost or changed on the way, and nobody said so, is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from translate.messages import (
    NOW_MS,
    arrived_1_0,
    body_list,
    body_map,
    context,
    data,
    message_0_10,
    payload_1_0,
    sequences,
    value,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties, ReplyTo
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Header, Properties
from gateway.message import Message
from gateway.translate import names, typed_bytes
from gateway.translate.checking.way_back import differences
from gateway.translate.escrow import ANNOTATION, HEADER, Deposit, open_escrow
from gateway.translate.mapping_rows import ALL, BY_NUMBER
from gateway.translate.message import to_0_10, to_1_0
from gateway.translate.segment import HeaderSegment, open_header
from gateway.translate.towards_1_0.hop import delivery_payload
from gateway.wire.tagged import Tagged

LONG = "k" * 300
DESCRIBED = Tagged(new.DESCRIBED, new.Described(Tagged(new.SYMBOL, "d"), Tagged(new.INT, 1)))
# What a hop writes anew, what is made by hand, or what is no value of its own.
NOT_COMPARED = {
    *("header.delivery-count", "annotations.delivery", "properties.content-length"),
    *("delivery.routing-key", "message-format", "header.malformed", "escrow.stale"),
    *("escrow.malformed", "replies.miss", "body.opaque", "body.unread", "body.empty"),
    "annotations.jms-destination",
    # Files and streams are made messages as they come: what is compared is what they are then.
    *("contents.message-id", "contents.reply-to", "contents.filename", "contents.class"),
    *("contents.message-fields", "contents.user-id"),
}


def without(text: str, path: str) -> str:
    """An escrow from which one value is gone."""
    entries = open_escrow(text, 65_535, 32).entries
    del entries[path]
    deposit = Deposit(65_535)
    for each, entry in entries.items():
        deposit.keep(each, entry.visible, entry.value if entry.present else None)
    return deposit.text() or "1"


@dataclass
class Sent10:
    """What is sent by 1.0, taken apart."""

    header: Header
    properties: Properties
    app: dict[str, Tagged]
    annotations: dict[str, Tagged]
    body: bytes

    def lose(self, path: str) -> None:
        text = self.annotations[ANNOTATION].value
        assert isinstance(text, str)
        self.annotations[ANNOTATION] = Tagged(new.STRING, without(text, path))


@dataclass
class Sent010:
    """What is sent by 0-10, taken apart."""

    segment: HeaderSegment
    app: dict[str, Tagged]
    body: bytes

    def lose(self, path: str) -> None:
        text = self.app[HEADER].value
        assert isinstance(text, str)
        self.app[HEADER] = Tagged(old.STR16, without(text, path))


Harm10 = Callable[[Sent10], object]
Harm010 = Callable[[Sent010], object]


def found_to_1_0(message: Message, harm: Harm10) -> list[str]:
    made = to_1_0(message, context())
    assert made.losses == []
    sent = arrived_1_0(delivery_payload(message, made, 0, NOW_MS), "x", "k")
    found = sections.scan(sent.payload)
    annotations = sections.annotations(sent.payload, found.message_annotations)
    parts = Sent10(
        sections.header(sent.payload, found) or Header(),
        sections.properties(sent.payload, found) or Properties(),
        dict(sections.application_properties(sent.payload, found)),
        {str(key.value): each for key, each in annotations},
        sent.payload[found.body_at : found.body_end],
    )
    harm(parts)
    payload = payload_1_0(
        parts.header,
        parts.properties,
        [(Tagged(new.STRING, name), each) for name, each in parts.app.items()],
        [(Tagged(new.SYMBOL, name), each) for name, each in parts.annotations.items()],
        parts.body,
    )
    rows = differences(message, payload, b"", [], context())
    return [BY_NUMBER[row].id for row in rows]


def found_to_0_10(message: Message, harm: Harm010) -> list[str]:
    made = to_0_10(message, context())
    assert made.losses == [], made.losses
    segment = open_header(made.header, len(made.header), 40)
    parts = Sent010(segment, dict(segment.properties.application_headers or []), made.body)
    harm(parts)
    segment.properties.application_headers = list(parts.app.items())
    header = write_header(segment.delivery, segment.properties) + segment.others
    rows = differences(
        message, header, parts.body, [], context(), empty_body=made.empty_body and not parts.body
    )
    return [BY_NUMBER[row].id for row in rows]


VALUES_0_10 = {
    "boolean": Tagged(old.BIT, True),
    "integer": Tagged(old.UINT16, 7),
    "float": Tagged(old.DOUBLE, 1.5),
    "uuid": Tagged(old.UUID, bytes(16)),
    "bin": Tagged(old.BIN32, b"1234"),
    "char": Tagged(old.CHAR_UTF32, "c"),
    "datetime": Tagged(old.DATETIME, 1_700_000_000),
    "string": Tagged(old.STR16, "text"),
    "charset": Tagged(old.STR16_LATIN, "e"),
    "binary": Tagged(old.VBIN16, b"octets"),
    "void": Tagged(old.VOID, None),
    "decimal": Tagged(old.DEC32, (2, 314)),
}


def whole_0_10() -> Message:
    """A message that has something for each row that leads to 1.0."""
    headers = [
        *VALUES_0_10.items(),
        ("compound", Tagged(old.LIST, [Tagged(old.INT8, 1)])),
        (names.GROUP_ID, Tagged(old.STR16, "group")),
        (names.GROUP_SEQUENCE, Tagged(old.INT32, 5)),
        (names.NOT_VALID_BEFORE, Tagged(old.INT64, 17)),
        (names.SUBJECT, Tagged(old.STR16, "subject")),
    ]
    dp = DeliveryProperties(
        delivery_mode=2,
        priority=4,
        ttl=60_000,
        timestamp=1_700_000_000,
        expiration=1_800_000_000,
        discard_unroutable=True,
        immediate=True,
        resume_id="r",
        resume_ttl=9,
        routing_key="k",
    )
    mp = MessageProperties(
        message_id=bytes(range(16)),
        correlation_id=b"correlation",
        reply_to=ReplyTo(exchange="x", routing_key="answers"),
        content_type="application/json",
        content_encoding="gzip",
        user_id=b"me",
        app_id=b"app",
        application_headers=headers,
    )
    others = b"\x00\x00\x00\x04\x04\x02\x03\x00"
    return message_0_10(dp, mp, b"body", exchange="x", others=others)


def whole_1_0() -> Message:
    """The same for 0-10."""
    values = {
        "boolean": Tagged(new.BOOLEAN, True),
        "integer": Tagged(new.UINT, 7),
        "float": Tagged(new.FLOAT, 1.5),
        "uuid": Tagged(new.UUID, bytes(16)),
        "char": Tagged(new.CHAR, "c"),
        "datetime": Tagged(new.TIMESTAMP, 1_700_000_000_123),
        "string": Tagged(new.STRING, "text"),
        "binary": Tagged(new.BINARY, b"octets"),
        "void": Tagged(new.NULL, None),
        "decimal": Tagged(new.DECIMAL32, b"1234"),
        "compound": Tagged(new.LIST, [Tagged(new.INT, 1)]),
        "symbol": Tagged(new.SYMBOL, "symbol"),
        "described": DESCRIBED,
        LONG: Tagged(new.INT, 1),
    }
    properties = Properties(
        message_id=Tagged(new.STRING, "order-17"),
        user_id=b"me",
        to="elsewhere",
        subject="subject",
        reply_to="answers",
        correlation_id=Tagged(new.ULONG, 17),
        content_type="application/json",
        content_encoding="gzip",
        absolute_expiry_time=1_800_000_000_123,
        creation_time=1_700_000_000_123,
        group_id="group",
        group_sequence=5,
        reply_to_group_id="others",
    )
    annotations = [
        (Tagged(new.SYMBOL, "x-opt-mine"), Tagged(new.INT, 3)),
        (Tagged(new.SYMBOL, names.DELIVERY_TIME), Tagged(new.LONG, 17)),
        (Tagged(new.SYMBOL, names.JMS_MSG_TYPE), Tagged(new.BYTE, 9)),
        (Tagged(new.SYMBOL, names.TRACEPARENT), Tagged(new.STRING, "00-1-1-01")),
    ]
    payload = payload_1_0(
        Header(durable=True, priority=12, ttl=60_000),
        properties,
        [(Tagged(new.STRING, name), each) for name, each in values.items()],
        annotations,
        data(b"body"),
        [(Tagged(new.SYMBOL, "x-opt-foot"), Tagged(new.INT, 4))],
    )
    return arrived_1_0(payload, "x", "k")


def set_of(part: str, name: str, to: object = None) -> Callable[[object], None]:
    def harm(sent: object) -> None:
        target = sent
        for each in part.split(".") if part else ():
            target = getattr(target, each)
        setattr(target, name, to)

    return harm


def escrow(path: str) -> Callable[[object], None]:
    return lambda sent: sent.lose(path)  # type: ignore[attr-defined]  # of either kind


def header(name: str) -> Callable[[object], None]:
    return lambda sent: sent.app.pop(name)  # type: ignore[attr-defined]  # of either kind


TO_1_0: dict[str, Callable[[object], None]] = {
    "header.durable": set_of("header", "durable", False),
    "header.priority": set_of("header", "priority", 5),
    "header.ttl": set_of("header", "ttl"),
    "properties.absolute-expiry-time": set_of("properties", "absolute_expiry_time", 1000),
    "properties.creation-time": set_of("properties", "creation_time"),
    "delivery.discard-unroutable": escrow("dp.discard-unroutable"),
    "delivery.immediate": escrow("dp.immediate"),
    "delivery.resume-id": escrow("dp.resume-id"),
    "delivery.resume-ttl": escrow("dp.resume-ttl"),
    "header.other-structs": escrow("other-structs"),
    "properties.message-id": set_of("properties", "message_id", Tagged(new.UUID, bytes(16))),
    "properties.correlation-id": set_of("properties", "correlation_id"),
    "properties.user-id": set_of("properties", "user_id", b"you"),
    "properties.reply-to": set_of("properties", "reply_to"),
    "properties.content-type": set_of("properties", "content_type", "text/x"),
    "properties.content-encoding": set_of("properties", "content_encoding"),
    "properties.app-id": header(names.APP_ID),
    "body.data": set_of("", "body", data(b"other")),
    "values.compound": escrow("app.compound"),
    **{f"values.{name}": header(name) for name in VALUES_0_10},
}
TO_0_10: dict[str, Callable[[object], None]] = {
    "header.durable": set_of("segment.delivery", "delivery_mode", 1),
    "header.priority": escrow("header.priority"),
    "header.ttl": set_of("segment.delivery", "ttl"),
    "properties.absolute-expiry-time": escrow("properties.absolute-expiry-time"),
    "properties.creation-time": set_of("segment.delivery", "timestamp", 1000),
    "properties.to": escrow("properties.to"),
    "properties.subject": header(names.SUBJECT),
    "properties.message-id": escrow("properties.message-id"),
    "properties.correlation-id": set_of("segment.properties", "correlation_id", b"18"),
    "properties.user-id": set_of("segment.properties", "user_id"),
    "properties.reply-to": set_of("segment.properties", "reply_to"),
    "properties.content-type": set_of("segment.properties", "content_type"),
    "properties.content-encoding": set_of("segment.properties", "content_encoding", "zip"),
    "properties.group-id": header(names.GROUP_ID),
    "properties.group-sequence": header(names.GROUP_SEQUENCE),
    "annotations.delivery-time": header(names.NOT_VALID_BEFORE),
    "annotations.trace-context": header(names.TRACEPARENT),
    "properties.reply-to-group-id": escrow("properties.reply-to-group-id"),
    "annotations.message": escrow("annotations"),
    "annotations.jms-msg-type": escrow("jms-msg-type"),
    "footer": escrow("footer"),
    "body.data": set_of("", "body", b"other"),
    "headers.key": escrow("odd-names"),
    **{
        f"values.{name}": header(name)
        for name in (
            *("boolean", "integer", "float", "uuid", "char", "datetime", "string", "binary"),
            *("void", "symbol"),
        )
    },
    **{f"values.{name}": escrow(f"app.{name}") for name in ("decimal", "compound", "described")},
}
ENTRIES = [("a", Tagged(old.INT32, 1))]
TYPED = [(Tagged(new.STRING, "a"), Tagged(new.INT, 1))]
MAP = Tagged(new.MAP, TYPED)
BODIES_0_10 = {
    "body.value-map": ("amqp/map", body_map(ENTRIES)),
    "body.value-list": ("amqp/list", body_list([Tagged(old.INT32, 1)])),
    "body.jms-map": ("jms/map-message", typed_bytes.encode_map(TYPED)),
    "body.jms-stream": ("jms/stream-message", typed_bytes.encode_stream([Tagged(new.INT, 1)])),
    "body.java-object": ("application/java-object-stream", b"object"),
    "body.text": ("text/plain", b"text"),
}
BODIES_1_0 = {
    "body.value-map": value(MAP),
    "body.value-list": value(Tagged(new.LIST, [Tagged(new.INT, 1)])),
    "body.text": value(Tagged(new.STRING, "text")),
    "body.value-binary": value(Tagged(new.BINARY, b"octets")),
    "body.value-null": value(Tagged(new.NULL, None)),
    "body.value-other": value(Tagged(new.INT, 1)),
    "body.sequence": sequences([Tagged(new.INT, 1)], [Tagged(new.INT, 2)]),
}


def nothing(sent: object) -> None:
    """No harm."""


def test_of_whole_messages_nothing_is_missing() -> None:
    assert found_to_1_0(whole_0_10(), nothing) == []
    assert found_to_0_10(whole_1_0(), nothing) == []


@pytest.mark.parametrize("row", TO_1_0)
def test_it_is_found_towards_1_0(row: str) -> None:
    assert row in found_to_1_0(whole_0_10(), TO_1_0[row])


@pytest.mark.parametrize("row", TO_0_10)
def test_it_is_found_towards_0_10(row: str) -> None:
    assert row in found_to_0_10(whole_1_0(), TO_0_10[row])


@pytest.mark.parametrize("row", BODIES_0_10)
def test_so_is_another_body_towards_1_0(row: str) -> None:
    content_type, octets = BODIES_0_10[row]
    assert octets is not None
    message = message_0_10(mp=MessageProperties(content_type=content_type), body=octets)
    assert found_to_1_0(message, nothing) == []
    found = found_to_1_0(message, set_of("", "body", data(b"other")))
    assert any(each.startswith("body.") for each in found)


@pytest.mark.parametrize("row", BODIES_1_0)
def test_so_is_another_body_towards_0_10(row: str) -> None:
    message = arrived_1_0(payload_1_0(body=BODIES_1_0[row]), "x", "k")
    assert found_to_0_10(message, nothing) == []
    assert row in found_to_0_10(message, set_of("", "body", b"other"))


def test_every_row_of_messages_is_tried() -> None:
    rows = {row.id for row in ALL if row.number < 300}
    assert {*TO_1_0, *TO_0_10, *BODIES_0_10, *BODIES_1_0} == rows - NOT_COMPARED

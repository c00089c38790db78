"""Messages for the translation's tests: built, and reduced to what "equal" means.

Equal (the promise of the mapping): same fields, types and values. The width of a length prefix,
the choice among encodings of one value, content-length and section splits are not part of it.
"""

from __future__ import annotations

from typing import Any

from support.field_names import field_names

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_0_10.encoding import write_list, write_map
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_0_10.types import Array as Array010
from gateway.amqp_0_10.types import Struct32
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import (
    APPLICATION_PROPERTIES,
    FOOTER,
    MESSAGE_ANNOTATIONS,
    Header,
    Properties,
)
from gateway.amqp_1_0.primitives import fields
from gateway.message import Flag, Message
from gateway.translate import content, facts
from gateway.translate.context import Context, Counts
from gateway.translate.message import to_0_10, to_1_0
from gateway.translate.replies import ReplyTable
from gateway.translate.segment import open_header
from gateway.translate.towards_1_0.hop import delivery_payload
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

NOW_MS = 1_700_000_000_000


class Names:
    """A virtual host with these queues and exchanges."""

    def __init__(self, queues: tuple[str, ...] = (), exchanges: tuple[str, ...] = ()) -> None:
        self.queues = set(queues)
        self.exchanges = set(exchanges)

    def is_queue(self, name: str) -> bool:
        return name in self.queues

    def is_exchange(self, name: str) -> bool:
        return name in self.exchanges

    def upstream_of(self, exchange: str, key: str) -> str:
        return "up" if (exchange or key).startswith("far-") else ""


def context(**settings: Any) -> Context:
    nodes = settings.pop("nodes", Names(("q",), ("x", "amq.topic")))
    replies = settings.pop("replies", ReplyTable())
    return Context(nodes, replies, Counts(), now_ms=NOW_MS, **settings)


def message_0_10(
    dp: DeliveryProperties | None = None,
    mp: MessageProperties | None = None,
    body: bytes | None = b"",
    exchange: str = "",
    others: bytes = b"",
    java: bool = False,
) -> Message:
    return arrived_0_10(write_header(dp, mp) + others, body, exchange, java)


def arrived_0_10(header: bytes, body: bytes | None, exchange: str, java: bool = False) -> Message:
    """A message as the server takes it in; without `body` it has no body segment."""
    arrival = facts.arrival_0_10(header, len(header))
    if body is not None and not body:
        arrival.flags |= Flag.EMPTY_BODY
    return facts.message_from_0_10(
        arrival,
        header + (body or b""),
        len(header),
        id=1,
        exchange=exchange,
        now_ms=NOW_MS,
        publisher=1,
        times_in_ms=java,
        reader=None,
    )


def arrived_1_0(
    payload: bytes, exchange: str = "", key: str = "", message_format: int = 0
) -> Message:
    arrival = facts.from_foreign(payload) if message_format else facts.arrival_1_0(payload)
    return facts.message_from_1_0(
        arrival,
        payload,
        message_format,
        id=1,
        exchange=exchange,
        routing_key=key,
        now_ms=NOW_MS,
        publisher=1,
        reader=None,
    )


def payload_1_0(
    header: Header | None = None,
    properties: Properties | None = None,
    application: list[tuple[Tagged, Tagged]] | None = None,
    annotations: list[tuple[Tagged, Tagged]] | None = None,
    body: bytes = b"",
    footer: list[tuple[Tagged, Tagged]] | None = None,
) -> bytes:
    writer = Writer()
    if header is not None:
        header.encode(writer)
    if annotations is not None:
        sections.write_map(writer, MESSAGE_ANNOTATIONS, annotations)
    if properties is not None:
        properties.encode(writer)
    if application is not None:
        sections.write_map(writer, APPLICATION_PROPERTIES, application)
    writer.raw(body)
    if footer is not None:
        sections.write_map(writer, FOOTER, footer)
    return writer.getvalue()


def data(*parts: bytes) -> bytes:
    writer = Writer()
    for part in parts:
        sections.write_data(writer, part)
    return writer.getvalue()


def value(tagged: Tagged) -> bytes:
    writer = Writer()
    sections.write_value(writer, tagged)
    return writer.getvalue()


def sequences(*lists: list[Tagged]) -> bytes:
    writer = Writer()
    for items in lists:
        sections.write_sequence(writer, items)
    return writer.getvalue()


def body_map(entries: list[tuple[str, Tagged]]) -> bytes:
    writer = Writer()
    write_map(writer, entries)
    return writer.getvalue()


def body_list(items: list[Tagged]) -> bytes:
    writer = Writer()
    write_list(writer, items)
    return writer.getvalue()


def sent_to_1_0(message: Message, ctx: Context) -> tuple[bytes, list[str]]:
    """The octets of one delivery to a 1.0 peer, and the rows of what it lost."""
    made = to_1_0(message, ctx)
    assert made.refusal is None
    payload = delivery_payload(message, made, message.delivery_count, NOW_MS)
    return payload, [loss.row for loss in made.losses]


def sent_to_0_10(message: Message, ctx: Context) -> tuple[bytes, bytes | None, list[str]]:
    """Header segment and body of one delivery to a 0-10 peer, and the rows of what it lost.

    `None`: there is no body segment.
    """
    made = to_0_10(message, ctx, message.delivery_count)
    assert made.refusal is None
    body = made.body if made.body or made.empty_body else None
    return made.header, body, [loss.row for loss in made.losses]


# What "equal" looks at.

_WIDTH = {
    old.STR8: old.STR16,
    old.VBIN8: old.VBIN16,
    old.VBIN32: old.VBIN16,
    old.STR8_LATIN: old.STR16_LATIN,
    old.STR8_UTF16: old.STR16_UTF16,
}


def plain(item: Any, widths: dict[int, int] | None = None) -> Any:
    """A value as plain data that compares by type and content; `widths` merges 0-10 codes."""
    if isinstance(item, Tagged):
        return (widths or {}).get(item.code, item.code), plain(item.value, widths)
    if isinstance(item, Array010):
        code = (widths or {}).get(item.code, item.code)
        return "array", code, [plain(each, widths) for each in item.values]
    if isinstance(item, new.Array):
        items = [plain(each) for each in item.items]
        return "array", item.code, items, [plain(each) for each in item.descriptors]
    if isinstance(item, new.Described):
        return "described", plain(item.descriptor), plain(item.value)
    if isinstance(item, Struct32):
        return item.code, item.octets
    if isinstance(item, float):
        return repr(item)
    if isinstance(item, list | tuple):
        return [plain(each, widths) for each in item]
    return item


def view_0_10(message: Message) -> dict[str, Any]:
    """The fields of a 0-10 message."""
    segment = open_header(message.payload, message.body_at, 40)
    dp = segment.delivery
    mp = segment.properties
    seen = {f"dp.{name}": getattr(dp, name) for name in field_names(dp)}
    seen |= {f"mp.{name}": getattr(mp, name) for name in field_names(mp)}
    seen["dp.delivery_mode"] = dp.delivery_mode == 2
    seen["dp.exchange"] = message.exchange
    seen["dp.routing_key"] = message.routing_key
    seen["dp.ttl"] = dp.ttl or None
    del seen["mp.content_length"]
    reply_to = mp.reply_to
    seen["mp.reply_to"] = reply_to and (reply_to.exchange, reply_to.routing_key)
    headers = seen.pop("mp.application_headers") or []
    seen |= {f"app.{name}": plain(item, _WIDTH) for name, item in headers}
    seen["others"] = segment.others
    seen["body"] = opened(mp.content_type, message.body())
    seen["has body"] = bool(message.body()) or message.flags & Flag.EMPTY_BODY != 0
    return seen


def opened(content_type: str | None, body: bytes) -> Any:
    """A map or list body as plain data, any other as its octets."""
    if content_type == "amqp/map":
        table = content.read_body_map(body, 40)
        return body if table is None else {name: plain(item, _WIDTH) for name, item in table}
    if content_type == "amqp/list":
        items = content.read_body_list(body, 40)
        return body if items is None else [plain(item, _WIDTH) for item in items]
    return body


def view_1_0(payload: bytes) -> dict[str, Any]:
    """The fields of a 1.0 message."""
    found = sections.scan(payload)
    header = sections.header(payload, found) or Header()
    properties = sections.properties(payload, found) or Properties()
    seen: dict[str, Any] = {
        "durable": header.durable or False,
        "priority": header.priority,
        "ttl": header.ttl or None,
        "delivery_count": header.delivery_count or 0,
    }
    seen |= {name: plain(getattr(properties, name)) for name in field_names(properties)}
    annotations = sections.annotations(payload, found.message_annotations)
    seen["annotations"] = by_key(annotations)
    seen["application"] = {}
    if found.application_properties != sections.ABSENT:
        reader = Reader(payload, found.application_properties)
        seen["application"] = by_key(fields.read_map(reader))
    seen["footer"] = by_key(sections.annotations(payload, found.footer))
    seen["body_kind"] = found.body_kind
    if found.body_kind == 0x75:
        seen["body"] = sections.data(payload, found)
    else:
        seen["body"] = [plain(each) for each in sections.body_values(payload, found, 40)]
    return seen


def by_key(pairs: list[tuple[Tagged, Tagged]]) -> dict[Any, Any]:
    return {repr(plain(key)): plain(item) for key, item in pairs}

"""Letters as 0-10 header and body segments, and back.

Bodies by content-type: amqp/map, amqp/list, text/* as text; anything else is binary.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import _spec_constants as codes
from gateway.amqp_0_10.decoding import read_list, read_map
from gateway.amqp_0_10.encoding import write_list, write_map
from gateway.amqp_0_10.structs import read_header, write_header
from gateway.amqp_0_10.types import FieldTable
from gateway.clients.letter import Letter, Typed
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

CODES: Final = {
    "void": codes.VOID,
    "boolean": codes.BOOLEAN,
    "int8": codes.INT8,
    "int16": codes.INT16,
    "int32": codes.INT32,
    "int64": codes.INT64,
    "uint8": codes.UINT8,
    "uint16": codes.UINT16,
    "uint32": codes.UINT32,
    "uint64": codes.UINT64,
    "float": codes.FLOAT,
    "double": codes.DOUBLE,
    "char": codes.CHAR_UTF32,
    "string": codes.STR16,
    "symbol": codes.STR16,
    "binary": codes.VBIN32,
    "uuid": codes.UUID,
    "datetime": codes.DATETIME,
}
NAMES: Final = {
    **{code: name for name, code in CODES.items() if name != "symbol"},
    codes.CHAR: "char",
    codes.STR8: "string",
    codes.STR8_LATIN: "string",
    codes.STR16_LATIN: "string",
    codes.VBIN8: "binary",
    codes.VBIN16: "binary",
    codes.BIT: "boolean",
}
MAP_TYPE: Final = "amqp/map"
LIST_TYPE: Final = "amqp/list"
TEXT_TYPE: Final = "text/plain"


def to_tagged(value: Typed) -> Tagged:
    """The 0-10 value; datetimes become whole seconds."""
    if value.type == "map":
        return Tagged(codes.MAP, to_table(value.value))
    if value.type == "list":
        return Tagged(codes.LIST, [to_tagged(each) for each in value.value])
    if value.type == "datetime":
        return Tagged(codes.DATETIME, value.value // 1000)
    return Tagged(CODES[value.type], value.value)


def to_table(values: dict[str, Typed]) -> FieldTable:
    """A map's entries."""
    return [(name, to_tagged(each)) for name, each in values.items()]


def from_tagged(value: Tagged) -> Typed:
    """The value with its type's name; of another type, shown as text."""
    content: Any = value.value  # Any: by code, as `types` says
    if value.code == codes.MAP:
        return Typed("map", from_table(content))
    if value.code == codes.LIST:
        return Typed("list", [from_tagged(each) for each in content])
    if value.code == codes.DATETIME:
        return Typed("datetime", content * 1000)
    if value.code in NAMES:
        if NAMES[value.code] == "string" and isinstance(content, bytes):
            return Typed("binary", content)
        return Typed(NAMES[value.code], content)
    return Typed("other", str(content))


def from_table(table: FieldTable) -> dict[str, Typed]:
    """A map's entries."""
    return {name: from_tagged(each) for name, each in table}


def encode(letter: Letter, routing_key: str) -> tuple[bytes, bytes]:
    """Header segment and body segment of a letter."""
    content_type, body = _encode_body(letter.body)
    delivery = spec.DeliveryProperties(
        routing_key=routing_key,
        priority=letter.priority,
        ttl=letter.ttl_ms,
        delivery_mode=None if letter.durable is None else 2 if letter.durable else 1,
    )
    headers = to_table(letter.properties) + letter.native
    exchange, _, key = (letter.reply_to or "").partition("/")
    reply_to = spec.ReplyTo(exchange=exchange if key else "", routing_key=key or exchange)
    correlation_id = letter.correlation_id
    properties = spec.MessageProperties(
        content_length=len(body),
        message_id=None if letter.message_id is None else uuid.UUID(letter.message_id).bytes,
        correlation_id=None if correlation_id is None else correlation_id.encode(),
        reply_to=None if letter.reply_to is None else reply_to,
        content_type=letter.content_type or content_type,
        app_id=None if letter.app_id is None else letter.app_id.encode(),
        application_headers=headers or None,
    )
    return write_header(delivery, properties), body


def _encode_body(body: Typed) -> tuple[str | None, bytes]:
    if body.type == "string":
        return TEXT_TYPE, body.value.encode()
    if body.type == "binary":
        return None, body.value
    if body.type in ("map", "list"):
        writer = Writer()
        if body.type == "map":
            write_map(writer, to_table(body.value))
            return MAP_TYPE, writer.getvalue()
        write_list(writer, [to_tagged(each) for each in body.value])
        return LIST_TYPE, writer.getvalue()
    return None, b""


def decode(payload: bytes, body_at: int) -> Letter:
    """The letter in a transfer's header and body segments.

    Raises:
        DecodeError: the header does not decode.
    """
    delivery, _fragment, properties = read_header(payload, body_at)
    delivery = delivery or spec.DeliveryProperties()
    properties = properties or spec.MessageProperties()
    message_id, correlation_id = properties.message_id, properties.correlation_id
    mode = delivery.delivery_mode
    return Letter(
        body=_decode_body(properties.content_type, payload[body_at:]),
        subject=delivery.routing_key,
        content_type=properties.content_type,
        durable=None if mode is None else mode == spec.DeliveryMode.PERSISTENT,
        priority=delivery.priority,
        ttl_ms=delivery.ttl,
        message_id=None if message_id is None else str(uuid.UUID(bytes=message_id)),
        correlation_id=None
        if correlation_id is None
        else correlation_id.decode("utf-8", "replace"),
        reply_to=_reply_to(properties.reply_to),
        properties=from_table(properties.application_headers or []),
        redelivered=delivery.redelivered,
    )


def _reply_to(reply_to: spec.ReplyTo | None) -> str | None:
    if reply_to is None:
        return None
    exchange, key = reply_to.exchange or "", reply_to.routing_key or ""
    return f"{exchange}/{key}" if exchange else key


def _decode_body(content_type: str | None, body: bytes) -> Typed:
    try:
        if content_type == MAP_TYPE:
            return Typed("map", from_table(read_map(Reader(body))))
        if content_type == LIST_TYPE:
            return Typed("list", [from_tagged(each) for each in read_list(Reader(body))])
        if content_type is not None and content_type.startswith("text/"):
            return Typed("string", body.decode())
    except (DecodeError, UnicodeDecodeError):
        pass  # it is not what it says: shown as it is
    return Typed("binary", body) if body else Typed("void", None)

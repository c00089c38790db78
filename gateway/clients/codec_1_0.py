"""Letters as AMQP 1.0 messages, and back.

Text, maps and lists are amqp-values, binary is a data section, nothing is an empty data section.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from gateway.amqp_1_0 import _spec, sections, types
from gateway.amqp_1_0.sections import Sections
from gateway.clients.letter import Letter, Typed
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

CODES: Final = {
    "void": types.NULL,
    "boolean": types.BOOLEAN,
    "int8": types.BYTE,
    "int16": types.SHORT,
    "int32": types.INT,
    "int64": types.LONG,
    "uint8": types.UBYTE,
    "uint16": types.USHORT,
    "uint32": types.UINT,
    "uint64": types.ULONG,
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "char": types.CHAR,
    "string": types.STRING,
    "symbol": types.SYMBOL,
    "binary": types.BINARY,
    "uuid": types.UUID,
    "datetime": types.TIMESTAMP,
}
NAMES: Final = {code: name for name, code in CODES.items()}


def to_tagged(value: Typed) -> Tagged:
    """The 1.0 value."""
    if value.type == "map":
        pairs = [
            (Tagged(types.STRING, name), to_tagged(each)) for name, each in value.value.items()
        ]
        return Tagged(types.MAP, pairs)
    if value.type == "list":
        return Tagged(types.LIST, [to_tagged(each) for each in value.value])
    return Tagged(CODES[value.type], value.value)


def from_tagged(value: Tagged) -> Typed:
    """The value with its type's name; of another type, shown as text."""
    content: Any = value.value  # Any: by code, as `types` says
    if value.code == types.MAP:
        return Typed("map", {str(key.value): from_tagged(each) for key, each in content})
    if value.code == types.LIST:
        return Typed("list", [from_tagged(each) for each in content])
    if value.code in NAMES:
        return Typed(NAMES[value.code], content)
    return Typed("other", str(content))


def encode(letter: Letter) -> bytes:
    """All sections of a letter."""
    writer = Writer()
    if letter.durable is not None or letter.priority is not None or letter.ttl_ms is not None:
        _spec.Header(durable=letter.durable, priority=letter.priority, ttl=letter.ttl_ms).encode(
            writer
        )
    properties = _spec.Properties(
        message_id=_text_id(letter.message_id),
        subject=letter.subject,
        reply_to=letter.reply_to,
        correlation_id=_text_id(letter.correlation_id),
        # Only beside data sections (3.2.4).
        content_type=letter.content_type if letter.body.type in ("binary", "void") else None,
    )
    properties.encode(writer)
    values = {name: to_tagged(each) for name, each in letter.properties.items()}
    values.update(letter.native)
    if values:
        sections.write_application_properties(writer, values)
    if letter.body.type in ("binary", "void"):
        sections.write_data(writer, letter.body.value or b"")
    else:
        sections.write_value(writer, to_tagged(letter.body))
    return writer.getvalue()


def _text_id(text: str | None) -> Tagged | None:
    return None if text is None else Tagged(types.STRING, text)


def decode(payload: bytes) -> Letter:
    """The letter in a delivery.

    Raises:
        DecodeError: it is not a message of sections.
    """
    found = sections.scan(payload)
    header = sections.header(payload, found) or _spec.Header()
    properties = sections.properties(payload, found) or _spec.Properties()
    values = sections.application_properties(payload, found)
    return Letter(
        body=_decode_body(payload, found),
        subject=properties.subject,
        content_type=properties.content_type,
        durable=header.durable,
        priority=header.priority,
        ttl_ms=header.ttl,
        message_id=_shown_id(properties.message_id),
        correlation_id=_shown_id(properties.correlation_id),
        reply_to=properties.reply_to,
        properties={name: from_tagged(each) for name, each in values.items()},
        redelivered=bool(header.delivery_count),
    )


def _shown_id(value: Tagged | None) -> str | None:
    if value is None:
        return None
    if value.code == types.UUID and isinstance(value.value, bytes):
        return str(uuid.UUID(bytes=value.value))
    if isinstance(value.value, bytes):
        return value.value.decode("utf-8", "replace")
    return str(value.value)


def _decode_body(payload: bytes, found: Sections) -> Typed:
    if found.body_kind == _spec.DATA:
        return Typed("binary", b"".join(sections.data(payload, found)))
    values = [from_tagged(each) for each in sections.body_values(payload, found)]
    if not values:
        return Typed("void", None)
    return values[0] if found.body_kind == _spec.AMQP_VALUE else Typed("list", values)

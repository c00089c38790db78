"""A message and a row of the topology as JSON: for people, and so that nothing of it is lost.

What is to be read again stands beside what is to be read by people: `stored` and `payload` make the
same message, octet by octet, and `value` the same row. What else is in a line is the same once
more, in words and with types, and nobody reads it again.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from gateway.bridge.branches.rows import branch_row
from gateway.bridge.durable.imports import import_row
from gateway.bridge.durable.topology_rows import (
    BindingRow,
    QueueRow,
    RowKind,
    binding_row,
    exchange_row,
    host_row,
    queue_row,
)
from gateway.bridge.staging.rows import staged_row
from gateway.clients import codec_0_10, codec_1_0
from gateway.clients.letter import Letter, Typed
from gateway.errors import DecodeError
from gateway.message import NEVER, NO_PRIORITY, NO_TTL, Encoding, Flag, Message
from gateway.offline.living import Copy
from gateway.store.interface import TopologyRow
from gateway.wire.tagged import Tagged

Told = dict[str, Any]  # Any: what JSON holds

ENCODINGS: Final = {int(Encoding.AMQP_0_10): "0-10", int(Encoding.AMQP_1_0): "1.0"}
# What of a message is kept as it is, and between which numbers it is.
_I64: Final = (-(1 << 63), (1 << 63) - 1)
_U32: Final = (0, (1 << 32) - 1)
NUMBERS: Final = {
    "encoding": (0, 1),
    "body_at": (0, 1 << 32),
    "message_format": _U32,
    "priority": (-(1 << 15), (1 << 15) - 1),
    "ttl_ms": _I64,
    "expires_ms": _I64,
    "arrived_ms": _I64,
    "delivery_count": _U32,
    "flags": _U32,
    "id_digest": _I64,
    "body_digest": _I64,
}
TEXTS: Final = ("exchange", "routing_key")


def letter_of(message: Message) -> Letter | None:
    """What people can read of it; `None` where its octets are none of its protocol's."""
    try:
        if message.encoding == Encoding.AMQP_0_10:
            return codec_0_10.decode(message.payload, message.body_at)
        return None if message.message_format else codec_1_0.decode(message.payload)
    except (DecodeError, ValueError):
        return None


def moment(at_ms: int) -> str | None:
    """A time as ISO 8601 has it, if a calendar has it."""
    try:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def summary(copy: Copy) -> Told:
    """What an operator asks of a message, without its body."""
    message = copy.message
    letter = letter_of(message)
    redelivered = copy.delivery_count > 0 or message.flags & Flag.REDELIVERED != 0
    told: Told = {
        "message": message.id,
        "position": copy.position,
        "size": len(message.payload),
        "protocol": ENCODINGS.get(message.encoding, "?"),
        "priority": None if message.priority == NO_PRIORITY else message.priority,
        "durable": message.durable,
        "redelivered": redelivered,
        "delivery_count": copy.delivery_count,
        "arrived": moment(message.arrived_ms),
        "expires": None if message.expires_ms == NEVER else moment(message.expires_ms),
        "ttl_ms": None if message.ttl_ms == NO_TTL else message.ttl_ms,
        "exchange": message.exchange,
        "routing_key": message.routing_key,
        "readable": letter is not None,
    }
    if letter is not None:
        for name in ("message_id", "correlation_id", "subject", "reply_to", "content_type"):
            told[name] = getattr(letter, name)
    return told


def message_line(copy: Copy, host: str, queue: str) -> Told:
    """A copy, as an export has it."""
    message = copy.message
    letter = letter_of(message)
    told: Told = {"type": "message", "host": host, "queue": queue, "queue_number": copy.queue}
    told.update(summary(copy))
    if letter is not None:
        told["properties"] = {name: typed(each) for name, each in letter.properties.items()}
        told["body"] = typed(letter.body)
    told["annotations"] = encoded(copy.annotations)
    told["stored"] = {name: getattr(message, name) for name in (*NUMBERS, *TEXTS)}
    told["payload"] = encoded(message.payload)
    return told


def typed(value: Typed) -> Told:
    """A value with the name of its type, and those in it; octets that are text are that, too."""
    content: Any = value.value
    told: Told = {"type": value.type}
    if isinstance(content, dict):
        content = {name: typed(each) for name, each in content.items()}
    elif isinstance(content, list):
        content = [typed(each) for each in content]
    elif value.type == "uuid" and isinstance(content, bytes):
        content = str(uuid.UUID(bytes=content))
    elif isinstance(content, bytes):
        told["base64"] = encoded(content)
        try:
            content = content.decode()
        except UnicodeDecodeError:
            return told
        return {**told, "text": content}
    elif isinstance(content, float):
        content = repr(content)  # NaN is none of JSON's numbers
    elif content is not None and not isinstance(content, (bool, int, str)):
        content = str(content)
    told["value"] = content
    return told


def message_in(line: Told, message_id: int) -> tuple[Message, int, bytes]:
    """The message of an export's line, under a new number, and its copy's count and annotations.

    Raises:
        ValueError: it is none, or something of it is missing.
    """
    stored = line.get("stored")
    if not isinstance(stored, dict):
        raise ValueError("it has no `stored`")
    numbers = {name: _number(stored, name, *span) for name, span in NUMBERS.items()}
    texts = {name: _text(stored, name) for name in TEXTS}
    payload = decoded(line, "payload")
    if numbers["body_at"] > len(payload):
        raise ValueError("its body begins behind its end")
    durable = line.get("durable")
    if not isinstance(durable, bool):
        raise ValueError("it does not say whether it is `durable`")
    facts: dict[str, Any] = {**numbers, **texts}  # Any: as `Message` has each of them
    message = Message(
        message_id, payload=payload, durable=durable, publisher=0, reader=None, **facts
    )
    return message, _number(line, "delivery_count", *_U32), decoded(line, "annotations")


def row_line(row: TopologyRow) -> Told:
    """A row of the topology, as an export has it."""
    told: Told = {"type": "topology", "kind": _kind_name(row.kind), "number": row.kind}
    read = _READERS.get(row.kind)
    try:
        if read is not None:
            told.update(read(row.value))
    except DecodeError as error:
        told["unreadable"] = str(error)
    told["key"] = row.key
    told["value"] = encoded(row.value)
    return told


def row_in(line: Told) -> TopologyRow:
    """The row of an export's line. ValueError."""
    return TopologyRow(_number(line, "number", *_U32), _text(line, "key"), decoded(line, "value"))


def encoded(octets: bytes) -> str:
    """In base64."""
    return base64.b64encode(octets).decode("ascii")


def decoded(line: Told, name: str) -> bytes:
    """What is in base64 there. ValueError."""
    try:
        return base64.b64decode(_text(line, name), validate=True)
    except binascii.Error:
        raise ValueError(f"`{name}` is no base64") from None


def _number(line: Told, name: str, least: int, most: int) -> int:
    value = line.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"`{name}` is no number from {least} to {most}")
    return value


def _text(line: Told, name: str) -> str:
    value = line.get(name)
    if not isinstance(value, str):
        raise ValueError(f"`{name}` is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`{name}` is no UTF-8") from None
    return value


def _kind_name(kind: int) -> str:
    try:
        return RowKind(kind).name.lower()
    except ValueError:
        return str(kind)


def queue_facts(row: QueueRow) -> Told:
    """How a queue was declared."""
    settings = row.settings
    subscriber = settings.subscriber
    return {
        "host": row.host,
        "name": row.name,
        "queue_number": row.number,
        "upstream": row.upstream or "",
        "exclusive": settings.exclusive,
        "auto_delete": settings.auto_delete,
        "alternate_exchange": settings.alternate_exchange,
        "max_count": settings.max_count,
        "max_size": settings.max_size,
        "policy": settings.discipline.policy.name.lower(),
        "maker": settings.maker,
        "subscriber": None
        if subscriber is None
        else {
            "user": subscriber.user,
            "container": subscriber.container,
            "link": subscriber.link,
        },
    }


def _exchange(value: bytes) -> Told:
    row = exchange_row(value)
    return {
        "host": row.host,
        "name": row.name,
        "exchange_type": row.type,
        "auto_delete": row.auto_delete,
        "alternate_exchange": row.alternate_exchange,
        "maker": row.maker,
    }


def binding_facts(row: BindingRow) -> Told:
    """Which queue is bound to which exchange, and by what."""
    return {
        "host": row.host,
        "exchange": row.exchange,
        "queue": row.queue,
        "binding_key": row.key,
        "arguments": {name: _shown(each) for name, each in row.arguments.items()},
    }


def _shown(value: Tagged) -> Any:  # Any: what JSON holds
    plain = value.value
    if isinstance(plain, bytes):
        return {"base64": encoded(plain)}
    return plain if isinstance(plain, (bool, int, str)) or plain is None else str(plain)


def _branch(value: bytes) -> Told:
    row = branch_row(value)
    return {
        "host": row.host,
        "branch": row.text,
        "queue_number": row.number,
        "prepared": moment(row.prepared_ms),
        "user": row.user,
    }


def _import(value: bytes) -> Told:
    row = import_row(value)
    return {"sha256": row.digest, "who": row.who, "at": moment(row.at_ms)}


def _staged(value: bytes) -> Told:
    row = staged_row(value)
    told = {"host": row.host, "user": row.user, "identifier": row.identifier}
    return {**told, "size": row.size, "heard": moment(row.at_ms)}


_READERS: Final[dict[int, Callable[[bytes], Told]]] = {
    RowKind.EXCHANGE: _exchange,
    RowKind.BINDING: lambda value: binding_facts(binding_row(value)),
    RowKind.DEBT: lambda value: binding_facts(binding_row(value)),
    RowKind.PLAIN_HOST: lambda value: {"host": host_row(value)},
    RowKind.BRANCH: _branch,
    RowKind.STAGED: _staged,
    RowKind.IMPORT: _import,
    **dict.fromkeys(
        (RowKind.QUEUE, RowKind.TRANSIT, RowKind.DELETED, RowKind.UNREADABLE),
        lambda value: queue_facts(queue_row(value)),
    ),
}

"""Proton's messages as JSON: a value is a pair [type, value] with the type names of AMQP 1.0.

Octets are hexadecimal, integers and floating point are text. A body of type ``data`` or
``sequence`` is that section, every other one an amqp-value section.
"""

import uuid
from collections.abc import Callable
from typing import Any

import proton

_MAKERS: dict[str, Callable[[Any], object]] = {
    "null": lambda given: None,
    "boolean": bool,
    "byte": lambda given: proton.byte(int(given)),
    "short": lambda given: proton.short(int(given)),
    "int": lambda given: proton.int32(int(given)),
    "long": int,
    "ubyte": lambda given: proton.ubyte(int(given)),
    "ushort": lambda given: proton.ushort(int(given)),
    "uint": lambda given: proton.uint(int(given)),
    "ulong": lambda given: proton.ulong(int(given)),
    "float": lambda given: proton.float32(float(given)),
    "double": float,
    "decimal64": lambda given: proton.decimal64(int(given)),
    "char": proton.char,
    "string": str,
    "symbol": proton.symbol,
    "binary": bytes.fromhex,
    "uuid": uuid.UUID,
    "timestamp": lambda given: proton.timestamp(int(given)),
    "list": lambda given: [value(item) for item in given],
    "map": lambda given: mapped(given),
}
# Subclasses before the classes they derive from: bool is an int, symbol a str.
_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (proton.byte, "byte"),
    (proton.short, "short"),
    (proton.int32, "int"),
    (proton.ubyte, "ubyte"),
    (proton.ushort, "ushort"),
    (proton.uint, "uint"),
    (proton.ulong, "ulong"),
    (proton.timestamp, "timestamp"),
    (proton.decimal32, "decimal32"),
    (proton.decimal64, "decimal64"),
    (int, "long"),
    (proton.float32, "float"),
    (float, "double"),
    (proton.char, "char"),
    (proton.symbol, "symbol"),
    (str, "string"),
    (uuid.UUID, "uuid"),
)
_FIELDS = {
    "message-id": "id",
    "user-id": "user_id",
    "to": "address",
    "subject": "subject",
    "reply-to": "reply_to",
    "correlation-id": "correlation_id",
    "content-type": "content_type",
    "content-encoding": "content_encoding",
    "absolute-expiry-time": "expiry_time",
    "creation-time": "creation_time",
    "group-id": "group_id",
    "group-sequence": "group_sequence",
    "reply-to-group-id": "reply_to_group_id",
}


def value(pair: list[Any]) -> object:
    kind, given = pair
    return _MAKERS[kind](given)


def mapped(entries: dict[str, list[Any]]) -> dict[str, object]:
    return {name: value(pair) for name, pair in entries.items()}


def pair_of(given: object) -> list[object]:
    if given is None:
        return ["null", None]
    if isinstance(given, bytes | memoryview):
        return ["binary", bytes(given).hex()]
    if isinstance(given, dict):
        return ["map", {str(name): pair_of(item) for name, item in given.items()}]
    if isinstance(given, proton.Described):
        return ["described", [pair_of(given.descriptor), pair_of(given.value)]]
    if isinstance(given, proton.Array):
        return ["array", [pair_of(item) for item in given.elements]]
    if isinstance(given, list):
        return ["list", [pair_of(item) for item in given]]
    for kind, name in _NAMES:
        if isinstance(given, kind):
            return [name, given if kind is bool else _text(given)]
    return [type(given).__name__, repr(given)]


def _text(given: object) -> str:
    # proton's own number classes print as ``ubyte(1)``
    if isinstance(given, int):
        return str(int(given))
    return str(float(given)) if isinstance(given, float) else str(given)


def message(wanted: dict[str, Any]) -> proton.Message:
    kind, given = wanted.get("body", ["null", None])
    section = {"data": "binary", "sequence": "list"}.get(kind)
    made = proton.Message(body=value([section or kind, given]), inferred=section is not None)
    made.durable = wanted.get("durable", False)
    for name, number in (("priority", wanted.get("priority")), ("ttl", wanted.get("ttl-ms"))):
        if number is not None:
            # proton keeps seconds
            setattr(made, name, number / 1000 if name == "ttl" else number)
    for member, attribute in _FIELDS.items():
        if member in wanted:
            field = wanted[member]
            field = value(field) if isinstance(field, list) else field
            setattr(made, attribute, field / 1000 if member.endswith("-time") else field)
    made.properties = mapped(wanted.get("properties", {})) or None
    annotations = mapped(wanted.get("annotations", {}))
    made.annotations = {proton.symbol(name): item for name, item in annotations.items()} or None
    return made


def describe(got: proton.Message) -> dict[str, object]:
    body = pair_of(got.body)
    if got.inferred:
        body[0] = {"binary": "data", "list": "sequence"}.get(str(body[0]), body[0])
    properties: dict[str, Any] = got.properties or {}
    line: dict[str, object] = {
        "body": body,
        "durable": bool(got.durable),
        "priority": got.priority,
        "ttl-ms": round(got.ttl * 1000),
        "delivery-count": got.delivery_count,
        "first-acquirer": bool(got.first_acquirer),
        "properties": {name: pair_of(item) for name, item in properties.items()},
        "annotations": {str(name): pair_of(item) for name, item in (got.annotations or {}).items()},
    }
    for member, attribute in _FIELDS.items():
        field = getattr(got, attribute)
        # proton shows an absent symbol as one that reads "None"
        if field not in (None, "", b"", 0, "None"):
            line[member] = _field(member, field)
    return line


def _field(member: str, field: Any) -> list[object]:
    """A property field with its type of AMQP 1.0, where proton hands out a plain int or seconds."""
    if member.endswith("-time"):
        return ["timestamp", str(round(field * 1000))]
    kind = "uint" if member == "group-sequence" else "ulong"
    return [kind, str(field)] if type(field) is int else pair_of(field)

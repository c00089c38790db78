"""A message as a person writes it, without a protocol: body, header fields and typed properties.

A value keeps the name of its type, because the two protocols have types that Python does not tell
apart. `infer` types what was written plainly, `plain` gives it back for JSON.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, final

from gateway.wire.tagged import Tagged

INTEGERS: Final = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
TYPES: Final = (
    "void",
    "boolean",
    *INTEGERS,
    "float",
    "double",
    "char",
    "string",
    "symbol",
    "binary",
    "uuid",
    "datetime",
    "map",
    "list",
    "other",
)


@final
@dataclass(frozen=True, slots=True)
class Typed:
    """A value and its type's name, of `TYPES`.

    The Python value: None, bool, int (datetime: milliseconds since 1970), float, str, bytes (uuid:
    16), dict of `Typed`, list of `Typed`.
    """

    type: str
    value: Any  # Any: by type, as above


@dataclass(slots=True)
class Letter:
    """What is sent and received; `None` is "not said".

    Attributes:
        body: a `Typed` string, binary, map or list; void for none.
        subject: 1.0 subject, 0-10 routing key, unless the address gives the key.
        redelivered: received ones only.
        app_id: of 0-10 only; for sending.
        native: more properties, of types that only the protocol at hand has, as its package has
            them; for sending.
    """

    body: Typed = Typed("void", None)
    subject: str | None = None
    content_type: str | None = None
    durable: bool | None = None
    priority: int | None = None
    ttl_ms: int | None = None
    message_id: str | None = None
    correlation_id: str | None = None
    reply_to: str | None = None
    properties: dict[str, Typed] = field(default_factory=dict)
    redelivered: bool = False
    app_id: str | None = None
    native: list[tuple[str, Tagged]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:  # Any: what `json.dumps` takes
        """Everything that was said."""
        told: dict[str, Any] = {"body": plain(self.body)}
        for name in (
            "subject",
            "content_type",
            "durable",
            "priority",
            "ttl_ms",
            "message_id",
            "correlation_id",
            "reply_to",
        ):
            value = getattr(self, name)
            if value is not None:
                told[name] = value
        if self.properties:
            told["properties"] = {name: plain(value) for name, value in self.properties.items()}
        if self.redelivered:
            told["redelivered"] = True
        return told


def infer(value: Any) -> Typed:  # Any: a value as it comes out of YAML or JSON
    """The type that a plain value has; integers are int64 where they fit.

    Raises:
        ValueError: neither protocol has a type for it.
    """
    if value is None:
        return Typed("void", None)
    if isinstance(value, bool):
        return Typed("boolean", value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{value} does not fit into 64 bits")
        return Typed("int64" if value < 2**63 else "uint64", value)
    if isinstance(value, float):
        return Typed("double", value)
    if isinstance(value, str):
        return Typed("string", value)
    if isinstance(value, bytes):
        return Typed("binary", value)
    if isinstance(value, dict):
        return Typed("map", {str(key): infer(each) for key, each in value.items()})
    if isinstance(value, list):
        return Typed("list", [infer(each) for each in value])
    raise ValueError(f"{type(value).__name__} is no type of AMQP")


def plain(value: Typed) -> Any:  # Any: what `json.dumps` takes
    """A value without its type: binary as text if it is UTF-8, else in base64."""
    if value.type == "map":
        return {name: plain(each) for name, each in value.value.items()}
    if value.type == "list":
        return [plain(each) for each in value.value]
    if value.type == "uuid":
        return str(uuid.UUID(bytes=value.value))
    if isinstance(value.value, bytes):
        try:
            return value.value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value.value).decode()}
    return value.value


def parse(type_name: str, text: str) -> Typed:
    """A scalar of a named type from its text.

    Raises:
        ValueError: no such type, or the text is none of its values.
    """
    if type_name not in PARSERS:
        raise ValueError(f"type {type_name} is not one of {', '.join(PARSERS)}")
    try:
        return Typed(type_name, PARSERS[type_name](text))
    except (ValueError, KeyError):
        raise ValueError(f"{text!r} is no {type_name}") from None


def _integer(name: str) -> Callable[[str], int]:
    bits = int(name.removeprefix("u").removeprefix("int"))
    low, high = (0, 2**bits) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))

    def read(text: str) -> int:
        value = int(text)
        if not low <= value < high:
            raise ValueError(text)
        return value

    return read


def _char(text: str) -> str:
    if len(text) != 1:
        raise ValueError(text)
    return text


PARSERS: Final[dict[str, Callable[[str], Any]]] = {
    "boolean": {"true": True, "false": False}.__getitem__,
    **{name: _integer(name) for name in INTEGERS},
    "float": float,
    "double": float,
    "char": _char,
    "string": str,
    "binary": str.encode,
    "uuid": lambda text: uuid.UUID(text).bytes,
    "datetime": int,
}

"""Durations, sizes and socket addresses as people write them, and the pydantic types for them.

Inside the gateway a duration is an ``int`` of milliseconds and a size an ``int`` of octets; the
names of the keys carry no unit because the values do.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final, NamedTuple

from pydantic import BeforeValidator, GetPydanticSchema, PlainSerializer, WithJsonSchema
from pydantic_core import core_schema

MILLISECONDS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
OCTETS: Final = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}


def parse_duration(text: object) -> int:
    """``"30s"`` -> 30000. Raises ValueError when it is no number with a unit."""
    found = re.fullmatch(r"(\d{1,12})(ms|s|m|h|d)", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError('must be a duration with its unit, such as "500ms", "30s", "5m" or "24h"')
    return int(found[1]) * MILLISECONDS[found[2]]


def format_duration(value_ms: int) -> str:
    """The shortest spelling that `parse_duration` reads back as the same number."""
    for unit, factor in reversed(MILLISECONDS.items()):
        if value_ms and value_ms % factor == 0:
            return f"{value_ms // factor}{unit}"
    return "0s"


def parse_size(text: object) -> int:
    """``"64KiB"`` or ``65536`` -> 65536. Raises ValueError otherwise."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    found = re.fullmatch(r"(\d{1,15})(B|KiB|MiB|GiB|TiB)?", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError('must be a size, such as 65535, "64KiB", "16MiB" or "1GiB"')
    return int(found[1]) * OCTETS[found[2] or "B"]


def format_size(octets: int) -> str | int:
    """The shortest spelling that `parse_size` reads back as the same number."""
    for unit, factor in reversed(OCTETS.items()):
        if octets and octets % factor == 0 and factor > 1:
            return f"{octets // factor}{unit}"
    return octets


class Address(NamedTuple):
    """Where to listen: an IP address (never a name, so that it means one thing) and a port."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.host).is_loopback

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: object) -> Address:
    """``"127.0.0.1:5672"``, ``"[::1]:5672"``; port 0 takes a free one. Raises ValueError."""
    if isinstance(text, Address):
        return text
    found = re.fullmatch(r"(\[.+\]|[^:]+):(\d{1,5})", text) if isinstance(text, str) else None
    if found is None or int(found[2]) > 65535:
        raise ValueError('must be an IP address and a port, such as "127.0.0.1:5672"')
    host = "127.0.0.1" if found[1] == "localhost" else found[1].strip("[]")
    try:
        return Address(str(ipaddress.ip_address(host)), int(found[2]))
    except ValueError:
        raise ValueError(
            f'must begin with an IP address ("0.0.0.0" for all), not "{host}"'
        ) from None


class Host(NamedTuple):
    """What to dial: TLS or not, a name or an IP address, a port."""

    tls: bool
    host: str
    port: int

    @property
    def private(self) -> bool:
        """Whether nobody can read along: TLS, or this machine."""
        if self.tls or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'amqps' if self.tls else 'amqp'}://{host}:{self.port}"


def parse_host(text: object) -> Host:
    """``"amqps://broker.example:5671"``; the port may be left out. Raises ValueError."""
    if isinstance(text, Host):
        return text
    form = r"(amqps?)://(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?/?"
    found = re.fullmatch(form, text) if isinstance(text, str) else None
    if found is None or not 0 < int(found[3] or 1) <= 65535:
        shown = "" if not isinstance(text, str) or "@" not in text else "; no password in it"
        raise ValueError(f'must be "amqp://HOST:PORT" or "amqps://HOST:PORT"{shown}')
    tls = found[1] == "amqps"
    return Host(tls, found[2].strip("[]"), int(found[3] or (5671 if tls else 5672)))


class Bounded:
    """Checks a parsed number against the range that a key allows, in the key's own spelling."""

    def __init__(self, parse: Any, spell: Any, minimum: str | int, maximum: str | int) -> None:
        # Any: the pair is one of the two above, whose spellings differ in type.
        self.parse, self.spell = parse, spell
        self.minimum: int = parse(minimum)
        self.maximum: int = parse(maximum)

    def __call__(self, text: object) -> int:
        """Parse, then check; ValueError says which end was passed."""
        value: int = self.parse(text)
        if value < self.minimum:
            raise ValueError(f"must be at least {self.spell(self.minimum)}")
        if value > self.maximum:
            raise ValueError(f"must be at most {self.spell(self.maximum)}")
        return value


def duration(minimum: str, maximum: str) -> tuple[object, ...]:
    """What `Annotated[int, *duration(...)]` needs: a duration, kept as milliseconds."""
    return (
        BeforeValidator(Bounded(parse_duration, format_duration, minimum, maximum)),
        PlainSerializer(format_duration, return_type=str),
        WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,12}(ms|s|m|h|d)$"}),
    )


def size(minimum: str | int, maximum: str | int) -> tuple[object, ...]:
    """What `Annotated[int, *size(...)]` needs: a size, kept as octets."""
    return (
        BeforeValidator(Bounded(parse_size, format_size, minimum, maximum)),
        PlainSerializer(format_size),
        WithJsonSchema(
            {
                "type": ["integer", "string"],
                "minimum": 0,
                "pattern": r"^[0-9]{1,15}(B|KiB|MiB|GiB|TiB)?$",
            }
        ),
    )


def address() -> tuple[object, ...]:
    """What `Annotated[Address, *address()]` needs."""
    return (
        GetPydanticSchema(lambda _source, _next: core_schema.any_schema()),
        BeforeValidator(parse_address),
        PlainSerializer(str, return_type=str),
        WithJsonSchema({"type": "string", "pattern": r"^(\[.+\]|[^:]+):[0-9]{1,5}$"}),
    )


def host() -> tuple[object, ...]:
    """What `Annotated[Host, *host()]` needs."""
    return (
        GetPydanticSchema(lambda _source, _next: core_schema.any_schema()),
        BeforeValidator(parse_host),
        PlainSerializer(str, return_type=str),
        WithJsonSchema({"type": "string", "pattern": r"^amqps?://[^@/]+/?$"}),
    )

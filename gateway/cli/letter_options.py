"""What `send` and `receive` are asked for, looked at before anything is sent.

Each option is written alone, as the protocol writes it: what that cannot hold is named by it.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from typing import Any, Final

import click
import yaml

from gateway.clients import codec_0_10, codec_1_0
from gateway.clients.letter import Letter, Typed, infer, parse
from gateway.errors import ConfigurationError, GatewayError
from gateway.files.whole import BODY_MAX
from gateway.files.yaml_text import BodyLoader, load_yaml, said

SECONDS_MAX: Final = 1_000_000.0
SHOWN_MAX: Final = 80
HOST: Final = re.compile(rb"[A-Za-z0-9_.:%-]{1,253}")
EMPTY: Final = Letter()
# The parts of a letter that an option gives each.
OPTIONS: Final = {
    "subject": "--subject",
    "content_type": "--content-type",
    "priority": "--priority",
    "ttl_ms": "--ttl",
    "message_id": "--message-id",
    "correlation_id": "--correlation-id",
    "reply_to": "--reply-to",
}


class Seconds(click.FloatRange):
    """A time to wait: above zero, and a number."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True, max=SECONDS_MAX)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:  # Any: as click has it
        """The number; `nan` is below no limit."""
        seconds = super().convert(value, param, ctx)
        if seconds != seconds:
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return seconds


def body_of(text: str | None, file: Any, map_body: str | None) -> Typed:
    """The body that was asked for, by one of three options."""
    given = [each for each in (text, file, map_body) if each is not None]
    if len(given) > 1:
        raise click.UsageError("--body, --body-file and --map exclude one another")
    if file is not None:
        try:
            octets = file.read(BODY_MAX + 1)
        except OSError as error:
            raise click.UsageError(f"--body-file: {error.strerror}") from None
        if len(octets) > BODY_MAX:
            raise click.UsageError(f"--body-file: is larger than {BODY_MAX} octets")
        return Typed("binary", octets)
    if map_body is not None:
        return _map(map_body)
    return Typed("void", None) if text is None else Typed("string", text)


def _map(text: str) -> Typed:
    try:
        made = infer(load_yaml(text, BodyLoader))
    except yaml.YAMLError as error:
        raise click.UsageError(f"--map: no JSON: {said(error)}") from None
    except (ConfigurationError, ValueError) as error:
        raise click.UsageError(f"--map: {error}") from None
    if made.type not in ("map", "list"):
        raise click.UsageError("--map wants a JSON object or array")
    return made


def property_of(text: str) -> tuple[str, Typed]:
    """An application property."""
    declared, equals, value = text.partition("=")
    name, _, type_name = declared.partition(":")
    if not equals or not name:
        raise click.UsageError(f"--property {text}: want NAME=VALUE or NAME:TYPE=VALUE")
    try:
        return name, parse(type_name or "string", value)
    except ValueError as error:
        raise click.UsageError(f"--property {name}: {error}") from None


def check_letter(protocol: str, letter: Letter, body_option: str) -> None:
    """Refuse the first option that cannot be sent by this protocol."""
    if protocol == "0-10" and letter.message_id is not None:
        try:
            uuid.UUID(letter.message_id)
        except ValueError:
            raise click.UsageError(f"--message-id: {letter.message_id!r} is no UUID") from None
    _check(protocol, body_option, Letter(body=letter.body))
    for name, option in OPTIONS.items():
        _check(protocol, option, replace(EMPTY, **{name: getattr(letter, name)}))
    for name, value in letter.properties.items():
        _check(protocol, f"--property {name}", Letter(properties={name: value}))


def check_names(protocol: str, names: dict[str, str]) -> None:
    """The same of names of nodes, and of what else has a name."""
    for option, name in names.items():
        parts = re.split("/", name, maxsplit=1) if protocol == "0-10" else [name]
        for part in parts:
            _check(protocol, option, Letter(subject=part))


def check_host(host: str) -> None:
    """The same of a name or an address to connect to."""
    try:
        name = host.encode("idna")
    except UnicodeError:
        name = b""
    if not HOST.fullmatch(name):
        shown = host if len(host) <= SHOWN_MAX else f"{host[:SHOWN_MAX]}..."
        raise click.UsageError(f"--host: {shown!r} is no name of a host, and no address")


def _check(protocol: str, option: str, letter: Letter) -> None:
    try:
        if protocol == "0-10":
            codec_0_10.encode(letter, letter.subject or "")
        else:
            codec_1_0.encode(letter)
    except UnicodeEncodeError:
        raise click.UsageError(f"{option}: no UTF-8") from None
    except (GatewayError, ValueError, OverflowError) as error:
        raise click.UsageError(f"{option}: AMQP {protocol} cannot hold it: {error}") from None

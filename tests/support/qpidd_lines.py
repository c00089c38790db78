"""Conversations that a real qpidd has answered, and lines of them as commands of 0-10.

A line is who says it, and what: a command with its fields, as `QueueDeclare(queue="q")`; or
`publish("body", key="q")`, `subscribe("q")` with credit without end, `hear` what has come since,
`end` the session. Who has ended, or was ended, has a new session with the next line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from support.field_names import field_names

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32, STR16
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_0_10.types import Command, FieldTable
from gateway.wire.tagged import Tagged

FOLDER = Path(__file__).parents[1] / "vectors" / "qpidd"
ENDLESS = 0xFFFFFFFF


class Said(NamedTuple):
    """Commands that are sent one behind the other, the last with that header and body."""

    commands: tuple[Command, ...] = ()
    header: bytes | None = None
    body: bytes = b""


def corpus() -> dict[str, list[dict[str, Any]]]:  # Any: what YAML holds
    """The conversations of each file: a name, lines, and departures by line with their reason."""
    return {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}


def table(*, args: dict[str, str | int] | None = None, **values: str | int) -> FieldTable:
    """A field table of texts and numbers; `args`: those whose names are no words."""
    return [
        (name, Tagged(STR16, value) if isinstance(value, str) else Tagged(INT32, value))
        for name, value in ((args or {}) | values).items()
    ]


def publish(
    body: str, key: str = "", to: str = "", headers: FieldTable | None = None, **fields: Any
) -> Said:
    """message.transfer; `fields` are delivery properties."""
    delivery = spec.DeliveryProperties(routing_key=key, **fields)
    message = spec.MessageProperties(application_headers=headers) if headers else None
    transfer = spec.MessageTransfer(destination=to)
    return Said((transfer,), write_header(delivery, message), body.encode())


def subscribe(queue: str, destination: str = "d", credit: int = ENDLESS, **fields: Any) -> Said:
    """message.subscribe, and credit."""
    flows = [
        spec.MessageFlow(destination=destination, unit=unit, value=value)
        for unit, value in ((0, credit), (1, ENDLESS))
    ]
    return Said((spec.MessageSubscribe(queue=queue, destination=destination, **fields), *flows))


_WORDS = {name: getattr(spec, name) for name in spec.__dict__ if name[0].isupper()}
_WORDS |= {"table": table, "publish": publish, "subscribe": subscribe}


def read(line: str) -> tuple[str, Said | str]:
    """Who says it, and what; of what is no command the word."""
    who, _, what = line.partition(": ")
    if what in ("hear", "end"):
        return who, what
    said = eval(what, {"__builtins__": {}}, _WORDS)  # of our own files
    return who, said if isinstance(said, Said) else Said((said,))


def result_in_words(result: object) -> str:
    """A struct, by the fields of it that say something."""
    if result is None:
        return "nothing"
    fields = [(name, getattr(result, name)) for name in field_names(result)]
    said = [f"{name}={value!r}" for name, value in fields if value]
    return f"{type(result).__name__}({', '.join(said)})"


def delivery_in_words(transfer: spec.MessageTransfer, redelivered: bool, body: bytes) -> str:
    """A message that came."""
    again = " again" if redelivered else ""
    return f"{transfer.destination} gets {body.decode()}{again}"

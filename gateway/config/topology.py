"""Exchanges, queues and bindings that are there from the start, whoever connects first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from gateway.amqp_0_10._spec_constants import BOOLEAN, INT64, STR16
from gateway.amqp_0_10.types import FieldTable
from gateway.bridge.exchanges.exchange import DIRECT, FANOUT, HEADERS, TOPIC
from gateway.bridge.seams import QueueSettings
from gateway.config.section import Section
from gateway.faces.arguments.of_exchanges import AskedOfExchange
from gateway.faces.arguments.of_queues import Asked, invalid
from gateway.message import Refusal
from gateway.wire.tagged import Tagged

if TYPE_CHECKING:
    from gateway.config.settings import HostSettings, Settings

Name = Annotated[str, Field(min_length=1, max_length=255)]
Arguments = dict[str, bool | int | str]

PREDECLARED: Final = {
    "amq.direct": DIRECT,
    "amq.topic": TOPIC,
    "amq.fanout": FANOUT,
    "amq.match": HEADERS,
    "amq.headers": HEADERS,
}
RESERVED: Final = ("amq.", "qpid.")
MATCH: Final = "x-match"


class ExchangeSection(Section):
    """An exchange that is made at start, if it is not there."""

    name: Name
    """Its name."""
    type: Literal["direct", "topic", "fanout", "headers"]
    """How it routes."""
    durable: bool = True
    """It survives a restart also when it is not in the configuration any more."""
    alternate_exchange: str = ""
    """Where what it cannot route goes: one of these, or a predeclared one."""
    arguments: Arguments = Field(default_factory=dict)
    """What a client would say in exchange.declare: `qpid.msg_sequence` and `qpid.ive`."""


class QueueSection(Section):
    """A queue that is made at start, if it is not there."""

    name: Name
    """Its name."""
    durable: bool = True
    """It survives a restart, with its durable messages."""
    alternate_exchange: str = ""
    """Where what is rejected, or pushed out, goes: one of these exchanges, or a predeclared one."""
    arguments: Arguments = Field(default_factory=dict)
    """What a client would say in queue.declare, as `qpid.max_count: 1000`; only those that have an
    effect."""


class BindingSection(Section):
    """A binding that is made at start, if it is not there."""

    exchange: Name
    """One of these exchanges, or a predeclared one."""
    queue: Name
    """One of these queues."""
    key: str = ""
    """Its binding key."""
    arguments: Arguments = Field(default_factory=dict)
    """Of a headers exchange: `x-match`, all or any, and the headers."""


def field_table(arguments: Arguments) -> FieldTable:
    """As a client would send them."""
    return [(name, _tagged(value)) for name, value in arguments.items()]


def _tagged(value: bool | int | str) -> Tagged:
    if isinstance(value, bool):
        return Tagged(BOOLEAN, value)
    return Tagged(STR16, value) if isinstance(value, str) else Tagged(INT64, value)


def queue_settings(section: QueueSection) -> QueueSettings | Refusal:
    """What a queue is made with."""
    settings = QueueSettings(durable=section.durable, alternate_exchange=section.alternate_exchange)
    asked = Asked(remote=False)
    refusal = asked.read(field_table(section.arguments)) or asked.apply(settings)
    if refusal is None and asked.ignored:
        return invalid(f"{asked.ignored[0]} has no effect")
    return refusal or settings


def queue_arguments(hosts: object) -> Iterator[tuple[str, str]]:
    """What is wrong with arguments in `hosts` as they are written, whatever else is wrong there."""
    for number, host in enumerate(hosts if isinstance(hosts, list) else []):
        queues = host.get("queues") if isinstance(host, dict) else None
        for place, queue in enumerate(queues if isinstance(queues, list) else []):
            given = queue.get("arguments") if isinstance(queue, dict) else None
            if not isinstance(given, dict):
                continue
            known = {
                name: value
                for name, value in given.items()
                if isinstance(name, str) and isinstance(value, bool | int | str)
            }
            made = queue_settings(QueueSection(name="a queue", arguments=known))
            if isinstance(made, Refusal):
                yield f"virtual_hosts.{number}.queues.{place}.arguments", made.description


def topology_rules(settings: Settings) -> Iterator[tuple[list[str], str]]:
    """What is wrong with them: the key to blame, and why."""
    for number, host in enumerate(settings.virtual_hosts):
        yield from _of_host(f"virtual_hosts.{number}", host)


def _of_host(path: str, host: HostSettings) -> Iterator[tuple[list[str], str]]:
    types = {each.name: each.type for each in host.exchanges}
    exchanges = PREDECLARED | types
    if len(types) < len(host.exchanges):
        yield [f"{path}.exchanges"], "two exchanges have the same name"
    queues = {each.name for each in host.queues}
    if len(queues) < len(host.queues):
        yield [f"{path}.queues"], "two queues have the same name"
    for number, exchange in enumerate(host.exchanges):
        at = f"{path}.exchanges.{number}"
        if exchange.name.startswith(RESERVED):
            yield [f"{at}.name"], f"{exchange.name!r} is reserved"
        for name in AskedOfExchange(field_table(exchange.arguments)).ignored(local=True):
            yield [f"{at}.arguments"], f"{name} has no effect"
        yield from _alternate(at, exchange.alternate_exchange, exchanges)
    for number, queue in enumerate(host.queues):
        at = f"{path}.queues.{number}"
        yield from _alternate(at, queue.alternate_exchange, exchanges)
        made = queue_settings(queue)
        if isinstance(made, Refusal):
            yield [f"{at}.arguments"], made.description
    for number, binding in enumerate(host.bindings):
        at = f"{path}.bindings.{number}"
        matches = binding.arguments.get(MATCH) in ("all", "any")
        if binding.exchange not in exchanges:
            why = f"there is no exchange {binding.exchange!r}"
            yield [f"{at}.exchange", f"{path}.exchanges"], why
        elif exchanges[binding.exchange] == HEADERS and not matches:
            yield [f"{at}.arguments"], "a headers binding needs x-match: all or any"
        if binding.queue not in queues:
            why = f"there is no queue {binding.queue!r} here"
            yield [f"{at}.queue", f"{path}.queues"], why


def _alternate(path: str, name: str, known: dict[str, str]) -> Iterator[tuple[list[str], str]]:
    if name and name not in known:
        exchanges = f"{path.partition('.queues')[0].partition('.exchanges')[0]}.exchanges"
        yield [f"{path}.alternate_exchange", exchanges], f"there is no exchange {name!r}"

"""Makes the exchanges, queues and bindings of the configuration, as far as they are not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from twisted.logger import Logger

from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.config import Settings
from gateway.config.settings import HostSettings
from gateway.config.topology import field_table, queue_settings
from gateway.errors import ConfigurationError
from gateway.faces.arguments.of_exchanges import AskedOfExchange
from gateway.faces.arguments.of_queues import encoded
from gateway.faces.server_0_10.declare import neutral
from gateway.message import Refusal

log: Final = Logger(namespace="gateway.service.Service")


@final
class Itself:
    """The gateway as an `Owner`: of nothing."""

    def owner_id(self) -> int:
        """See `Owner`."""
        return 0

    def connection_id(self) -> int:
        """See `Owner`."""
        return 0

    def user(self) -> str:
        """See `Owner`."""
        return ""


def declare(settings: Settings, bridge: Bridge) -> None:
    """All of them.

    Raises:
        ConfigurationError: what is there is of another kind.
    """
    problems: list[tuple[str, str]] = []
    for number, section in enumerate(settings.virtual_hosts):
        host = bridge.hosts[section.name]
        problems += _of_host(f"virtual_hosts.{number}", section, host)
    if problems:
        raise ConfigurationError(problems)


def _of_host(path: str, section: HostSettings, host: VirtualHost) -> Iterator[tuple[str, str]]:
    alternates = [each for each in section.exchanges if not each.alternate_exchange]
    others = [each for each in section.exchanges if each.alternate_exchange]
    for exchange in (*alternates, *others):
        asked = AskedOfExchange(field_table(exchange.arguments))
        made = host.declaring.declare_exchange(
            exchange.name,
            exchange.type,
            durable=exchange.durable,
            alternate_exchange=exchange.alternate_exchange,
            arguments=encoded(asked.told()),
            numbers=asked.numbers,
            remembers=asked.remembers,
        )
        if isinstance(made, Refusal):
            yield f"{path}.exchanges.{section.exchanges.index(exchange)}", made.description
    for number, each in enumerate(section.queues):
        wanted = queue_settings(each)
        assert isinstance(wanted, QueueSettings)  # it was looked at when it was read
        wanted.arguments = encoded(field_table(each.arguments))
        queue = host.declaring.declare_queue(each.name, wanted, Itself())
        if isinstance(queue, Refusal):
            yield f"{path}.queues.{number}", queue.description
        else:
            _tell(queue, wanted)
    for number, binding in enumerate(section.bindings):
        arguments = field_table(binding.arguments)
        refusal = host.bindings.bind(
            binding.queue,
            binding.exchange,
            binding.key,
            neutral(arguments),
            encoded(arguments),
            Itself(),
        )
        if refusal is not None:
            yield f"{path}.bindings.{number}", refusal.description


def _tell(queue: Queue, wanted: QueueSettings) -> None:
    """One that is there stays as it was declared."""
    if queue.placement is None and _said(queue.settings) != _said(wanted):
        log.warn(
            "queue {name} was declared otherwise than the configuration has it, and stays as it"
            " is: {found}; wanted: {wanted}",
            name=repr(queue.name),
            found=_said(queue.settings),
            wanted=_said(wanted),
        )


def _said(settings: QueueSettings) -> str:
    words = [
        "durable" if settings.durable else "transient",
        f"max_count={settings.max_count}",
        f"max_size={settings.max_size}",
        settings.in_words(),
    ]
    if settings.alternate_exchange:
        words.append(f"alternate_exchange={settings.alternate_exchange}")
    return " ".join([word for word in words if word])

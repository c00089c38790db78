"""What one upstream calls its nodes: by the node rules, else by its profile.

Sources: rows of remote queues; `translate.profiles.profile` has what a broker's addresses look
like.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.bridge import Bridge
from gateway.bridge.exchanges.exchange import KEYED, TOPIC
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import Target
from gateway.faces.dialled.settings import UpstreamSettings
from gateway.message import Message
from gateway.translate.profiles.profile import Profile


@final
class UpstreamAddresses:
    """Addresses at one upstream, and what its management calls its nodes."""

    def __init__(self, bridge: Bridge, settings: UpstreamSettings, profile: Profile) -> None:
        self._bridge = bridge
        self._settings = settings
        self._profile = profile

    def queue_address(self, host: str, queue: str) -> str:
        """The address of a queue's node; "" if it has none."""
        rules = self._settings.rules
        address = None if rules is None else rules.queue_address(host, queue)
        return self._profile.queue_address(queue) if address is None else address

    def shadow_address(self, host: str, queue: str) -> str:
        """The address of the shadow of a queue; "" if it has none."""
        rules = self._settings.rules
        name = None if rules is None else rules.shadow_name(host, queue)
        return "" if name is None else self._profile.queue_address(name)

    def managed_name(self, host: str, queue: str) -> str:
        """What its management calls a queue's node; "" if it knows none, or there is none."""
        if self._profile.management == "none":
            return ""
        found = self._profile.queue.read(self.queue_address(host, queue))
        return "" if found is None else found["queue"]

    def made_name(self, host: str, queue: str) -> str:
        """The same of a queue that is to be made when it is missing; else ""."""
        name = self.managed_name(host, queue)
        rules = self._settings.rules
        return name if name and rules is not None and rules.creates(host, queue) else ""

    def exchange_address(self, host: str, exchange: str, key: str) -> str:
        """Where a message to an exchange's node goes; "" if nowhere."""
        rules = self._settings.rules
        address = None if rules is None else rules.exchange_address(host, exchange, key)
        if address is not None:
            return address
        keyed = self.exchange_type(host, exchange) in KEYED
        return self._profile.exchange_address(exchange, key, keyed)

    def subscription_address(
        self, host: str, exchange: str, key: str, name: str, *, durable: bool = False
    ) -> str:
        """The source of a binding of queue `name` to an exchange."""
        kind = self.exchange_type(host, exchange)
        rules = self._settings.rules
        if rules is not None:
            wildcards = self._profile.wildcards if kind == TOPIC else None
            address = rules.subscription_address(
                host, exchange, key, name=name, wildcards=wildcards
            )
            if address is not None:
                return address
        return self._profile.subscription_address(
            exchange, key, kind=kind, name=name, durable=durable
        )

    def exchange_type(self, host: str, exchange: str) -> str:
        """The type of a local exchange; "" if it is gone."""
        found = self._bridge.hosts[host].topology.find_exchange(exchange)
        return "" if found is None else found.type

    def queue_target(self, queue: Queue) -> str | None:
        """The one address to which all that is in `queue` goes; `None`: it depends."""
        if queue.target == Target.QUEUE:
            return self.queue_address(queue.host, queue.name)
        if queue.target == Target.SHADOW:
            return self.shadow_address(queue.host, queue.name)
        return None

    def target_of(self, queue: Queue, message: Message) -> str:
        """The address to which a message in `queue` goes."""
        if queue.target == Target.ADDRESS:
            return message.routing_key
        if queue.target == Target.EXCHANGE:
            return self.exchange_address(queue.host, queue.name, message.routing_key)
        if queue.target == Target.SHADOW:
            return self.shadow_address(queue.host, queue.name)
        return self.queue_address(queue.host, queue.name)

    def target_capabilities(self, queue: Queue) -> list[str]:
        """What the targets of `queue` are asked to be."""
        if queue.target == Target.EXCHANGE:
            return self._profile.exchange_capabilities
        by_name = queue.target == Target.QUEUE or queue.target == Target.SHADOW
        return self._profile.queue_capabilities if by_name else []

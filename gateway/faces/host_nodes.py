"""The names of a virtual host, as translations ask for them."""

from __future__ import annotations

from typing import final

from gateway.bridge.host import VirtualHost
from gateway.faces import asking
from gateway.permissions.asked import Asked


@final
class HostNodes:
    """The names of one virtual host, as the translation asks for them. Implements `Exchanges`."""

    __slots__ = ("host",)

    def __init__(self, host: VirtualHost) -> None:
        self.host = host

    def is_queue(self, name: str) -> bool:
        """Whether there is a queue of that name."""
        return self.host.topology.find_queue(name) is not None

    def is_exchange(self, name: str) -> bool:
        """Whether there is an exchange of that name.

        Rules with wildcards know many names: one with "/" after the name of an exchange is that
        exchange and a key, unless it was declared.
        """
        exchange, slash, _ = name.partition("/")
        if slash and exchange and self.host.topology.find_exchange(exchange) is not None:
            return name in self.host.topology.exchanges
        return self.host.topology.find_exchange(name) is not None

    def to_hide(self, exchange: str) -> Asked:
        """The question whether somebody may make an exchange that is there."""
        found = self.host.topology.find_exchange(exchange)
        assert found is not None  # since an address means it
        return asking.to_hide(found)

    def upstream_of(self, exchange: str, key: str) -> str:
        """The upstream of the node that this names; "" if the node is local, or none."""
        found = self.host.topology.find_exchange(exchange)
        placement = None if found is None else found.placement
        if not exchange:
            queue = self.host.topology.find_queue(key)
            placement = None if queue is None else queue.placement
        return "" if placement is None else placement.remote.name

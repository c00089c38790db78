"""What a face of either protocol needs to translate: contexts, and whose user-id is whose."""

from __future__ import annotations

from typing import final

from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.faces.face import FaceSettings
from gateway.translate.context import Context


@final
class HostNodes:
    """The names of one virtual host, as the translation asks for them."""

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

    def upstream_of(self, exchange: str, key: str) -> str:
        """The upstream where the node lives that this names; "" if it lives here, or is none."""
        found = self.host.topology.find_exchange(exchange)
        placement = None if found is None else found.placement
        if not exchange:
            queue = self.host.topology.find_queue(key)
            placement = None if queue is None else queue.placement
        return "" if placement is None else placement.remote.name


@final
class Crossings:
    """The translation contexts of one connection, one a virtual host."""

    __slots__ = ("bridge", "contexts", "settings")

    def __init__(self, bridge: Bridge, settings: FaceSettings) -> None:
        self.bridge = bridge
        self.settings = settings
        self.contexts: dict[str, Context] = {}

    def context(self, host: VirtualHost, *, java: bool = False) -> Context:
        """The context of a translation that happens now."""
        context = self.contexts.get(host.name)
        if context is None:
            settings = self.settings
            context = Context(
                HostNodes(host),
                settings.replies_of(host.name),
                settings.translated,
                escrow=settings.escrow,
                escrow_max=settings.limits.escrow_max,
                depth_max=settings.limits.depth_max,
                text_body_value=settings.text_body_value,
                timestamp=settings.timestamp,
                java=java,
                gateway=settings.container_id,
            )
            self.contexts[host.name] = context
        context.now_ms = self.bridge.now_ms
        return context


def is_own(user_id: bytes, identity: str) -> bool:
    """Whether a message's user-id is the connection's user, with or without a realm."""
    claimed = user_id.decode("utf-8", "replace")
    return claimed == identity or claimed.partition("@")[0] == identity.partition("@")[0]

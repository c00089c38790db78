"""Exchanges: from a message's routing key or headers to the queues that get a copy.

Each type is a `Router`; a queue comes out of a route once, however many of its bindings match
(0-10 exchange.bind, rule multiple-bindings). The direct and fanout types are here, the others in
`topic` and `headers`.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.bridge.headers import HeadersRouter
from gateway.bridge.queues import Queue
from gateway.bridge.remote import Placement
from gateway.bridge.topic import TopicRouter
from gateway.message import Message
from gateway.wire.tagged import Tagged

DIRECT: Final = "direct"
TOPIC: Final = "topic"
FANOUT: Final = "fanout"
HEADERS: Final = "headers"
TYPES: Final = (DIRECT, TOPIC, FANOUT, HEADERS)


class Router(Protocol):
    """How one exchange finds queues. Bindings are told apart by (queue, key)."""

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Add a binding that is not there yet."""

    def unbind(self, queue: Queue, key: str) -> None:
        """Remove a binding that is there."""

    def route(self, message: Message) -> list[Queue]:
        """The queues that get a copy, each once; the caller must not change the list."""


@final
class DirectRouter:
    """The routing key equals the binding key."""

    __slots__ = ("_by_key", "_nowhere")

    def __init__(self) -> None:
        self._by_key: dict[str, list[Queue]] = {}
        self._nowhere: list[Queue] = []

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """As `Router`."""
        self._by_key[key] = [*self._by_key.get(key, self._nowhere), queue]

    def unbind(self, queue: Queue, key: str) -> None:
        """As `Router`."""
        left = [other for other in self._by_key[key] if other is not queue]
        if left:
            self._by_key[key] = left
        else:
            del self._by_key[key]

    def route(self, message: Message) -> list[Queue]:
        """As `Router`."""
        return self._by_key.get(message.routing_key, self._nowhere)


@final
class FanoutRouter:
    """Every bound queue, whatever the keys."""

    __slots__ = ("_bindings", "_queues")

    def __init__(self) -> None:
        self._bindings: dict[int, int] = {}
        self._queues: list[Queue] = []

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """As `Router`."""
        count = self._bindings.get(queue.number, 0)
        self._bindings[queue.number] = count + 1
        if count == 0:
            self._queues = [*self._queues, queue]

    def unbind(self, queue: Queue, key: str) -> None:
        """As `Router`."""
        count = self._bindings[queue.number] - 1
        if count:
            self._bindings[queue.number] = count
            return
        del self._bindings[queue.number]
        self._queues = [other for other in self._queues if other is not queue]

    def route(self, message: Message) -> list[Queue]:
        """As `Router`."""
        return self._queues


@final
class OutboundRouter:
    """A remote exchange: everything goes to its upstream, which knows the bindings."""

    __slots__ = ("queue",)

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Nothing: what a binding brings comes from the upstream (`feed`)."""

    def unbind(self, queue: Queue, key: str) -> None:
        """Nothing."""

    def route(self, message: Message) -> list[Queue]:
        """As `Router`."""
        return self.queue.only


def make_router(type: str, route_cache_max: int) -> Router | None:
    """The router of an exchange type; `None` when there is no such type."""
    if type == DIRECT:
        return DirectRouter()
    if type == TOPIC:
        return TopicRouter(route_cache_max)
    if type == FANOUT:
        return FanoutRouter()
    if type == HEADERS:
        return HeadersRouter()
    return None


@final
class Binding:
    """One binding of an exchange: how it was made, for queries and for the store.

    Attributes:
        owners: who must live for it to stay (`scopes`); `None` when it is for good.
    """

    __slots__ = ("arguments", "encoded", "key", "owners", "queue")

    def __init__(
        self, queue: Queue, key: str, arguments: dict[str, Tagged], encoded: bytes
    ) -> None:
        self.queue = queue
        self.key = key
        self.arguments = arguments
        self.encoded = encoded
        self.owners: set[int] | None = None


@final
class Exchange:
    """One exchange of one virtual host.

    Attributes:
        name, type, durable, auto_delete, alternate_exchange, arguments: as declared.
        bindings: by (queue name, key).
        alternate_of: how many exchanges and queues name it as their alternate.
        node: the audit log's number of its name.
        placement: of a remote exchange, where it lives; `None` for local ones.
        routed: copies routed by it since it exists.
        pending: those of them that a transaction holds.
    """

    __slots__ = (
        "alternate_exchange",
        "alternate_of",
        "arguments",
        "auto_delete",
        "bindings",
        "durable",
        "name",
        "node",
        "pending",
        "placement",
        "predeclared",
        "routed",
        "router",
        "type",
    )

    def __init__(
        self,
        name: str,
        type: str,
        router: Router,
        *,
        durable: bool,
        auto_delete: bool,
        alternate_exchange: str,
        arguments: bytes,
        predeclared: bool,
    ) -> None:
        self.name = name
        self.type = type
        self.router = router
        self.durable = durable
        self.auto_delete = auto_delete
        self.alternate_exchange = alternate_exchange
        self.arguments = arguments
        self.predeclared = predeclared
        self.bindings: dict[tuple[str, str], Binding] = {}
        self.alternate_of = 0
        self.node = 0
        self.placement: Placement | None = None
        self.routed = 0
        self.pending = 0

    def add(self, binding: Binding) -> None:
        """Add a binding that is not there yet."""
        self.bindings[(binding.queue.name, binding.key)] = binding
        binding.queue.bindings[(self.name, binding.key)] = binding.encoded
        self.router.bind(binding.queue, binding.key, binding.arguments)

    def remove(self, binding: Binding) -> None:
        """Remove a binding that is there."""
        del self.bindings[(binding.queue.name, binding.key)]
        del binding.queue.bindings[(self.name, binding.key)]
        self.router.unbind(binding.queue, binding.key)

"""Exchanges: from a message's routing key or headers to the queues that get a copy.

Each type is a `Router`; a queue comes out of a route once, however many of its bindings match
(0-10 exchange.bind, rule multiple-bindings). The direct and fanout types are here, the others in
`topic` and `headers`. Bindings with a selector are routed apart, those of one selector together, so
that it is asked once of a message, and only when one of them matches.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.bridge.exchanges.headers import HeadersRouter
from gateway.bridge.exchanges.marks import Marks
from gateway.bridge.exchanges.topic import TopicRouter
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import Placement
from gateway.message import Message
from gateway.selectors.selector import Selector
from gateway.wire.accounts import Account, weigh
from gateway.wire.tagged import Tagged
from gateway.wire.work import VERB, WORK

DIRECT: Final = "direct"
TOPIC: Final = "topic"
FANOUT: Final = "fanout"
HEADERS: Final = "headers"
BINDING_OCTETS: Final = 1024  # what a binding takes, apart from its key and arguments
SELECTED_CACHE_MAX: Final = 100  # routing keys that the bindings of one selector remember
TYPES: Final = (DIRECT, TOPIC, FANOUT, HEADERS)
KEYED: Final = (DIRECT, TOPIC)  # those to which a routing key means something


class Router(Protocol):
    """How one exchange finds queues. Bindings are told apart by (queue, key)."""

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Add a binding that does not exist yet."""

    def unbind(self, queue: Queue, key: str) -> None:
        """Remove a binding that exists."""

    def route(self, message: Message) -> list[Queue] | None:
        """The queues that get a copy, each once; the caller must not change the list.

        `None`: to find them would be too much work, or the routing key is not one.
        """


@final
class QueueSet:
    """Queues that are routed to together; to add or remove one costs the same however many."""

    __slots__ = ("_listed", "_queues")

    def __init__(self) -> None:
        self._queues: dict[int, Queue] = {}
        self._listed: list[Queue] | None = None

    def __len__(self) -> int:
        return len(self._queues)

    def add(self, queue: Queue) -> None:
        """One more."""
        self._queues[queue.number] = queue
        self._listed = None

    def remove(self, queue: Queue) -> None:
        """One less."""
        del self._queues[queue.number]
        self._listed = None

    def listed(self) -> list[Queue]:
        """All of them, in a list that never changes."""
        listed = self._listed
        if listed is None:
            listed = list(self._queues.values())
            self._listed = listed
        return listed


@final
class DirectRouter:
    """The routing key equals the binding key."""

    __slots__ = ("_by_key", "_nowhere")

    def __init__(self) -> None:
        self._by_key: dict[str, QueueSet] = {}
        self._nowhere: list[Queue] = []

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Add `queue` to those of the key."""
        bound = self._by_key.get(key)
        if bound is None:
            bound = self._by_key[key] = QueueSet()
        bound.add(queue)

    def unbind(self, queue: Queue, key: str) -> None:
        """Take it out of those of the key."""
        bound = self._by_key[key]
        bound.remove(queue)
        if not len(bound):
            del self._by_key[key]

    def route(self, message: Message) -> list[Queue]:
        """The queues of the routing key, each once."""
        return self.bound_by(message.routing_key)

    def bound_by(self, key: str) -> list[Queue]:
        """The queues of a key, each once."""
        bound = self._by_key.get(key)
        return self._nowhere if bound is None else bound.listed()


@final
class FanoutRouter:
    """Every bound queue, whatever the keys."""

    __slots__ = ("_bindings", "_queues")

    def __init__(self) -> None:
        self._bindings: dict[int, int] = {}
        self._queues = QueueSet()

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Add `queue`, or count another key of it."""
        count = self._bindings.get(queue.number, 0)
        self._bindings[queue.number] = count + 1
        if count == 0:
            self._queues.add(queue)

    def unbind(self, queue: Queue, key: str) -> None:
        """Take it out with its last key."""
        count = self._bindings[queue.number] - 1
        if count:
            self._bindings[queue.number] = count
            return
        del self._bindings[queue.number]
        self._queues.remove(queue)

    def route(self, message: Message) -> list[Queue]:
        """Every queue."""
        return self._queues.listed()


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
        """The transit queue in front of the upstream."""
        return self.queue.only


def make_router(type: str, route_cache_max: int, cached: Account) -> Router | None:
    """The router of an exchange type; `None` when there is no such type."""
    if type == DIRECT:
        return DirectRouter()
    if type == TOPIC:
        return TopicRouter(route_cache_max, cached)
    if type == FANOUT:
        return FanoutRouter()
    if type == HEADERS:
        return HeadersRouter()
    return None


@final
class Selected:
    """The bindings of an exchange that have one selector.

    Attributes:
        count: how many they are.
    """

    __slots__ = ("count", "router", "selector")

    def __init__(self, selector: Selector, router: Router) -> None:
        self.selector = selector
        self.router = router
        self.count = 0


@final
class SelectingRouter:
    """An exchange's router where some bindings have selectors; `plain` has the others."""

    __slots__ = ("_cached", "_selected", "_type", "plain")

    def __init__(self, type: str, plain: Router) -> None:
        self._type = type
        self.plain = plain
        self._cached = plain.cached if isinstance(plain, TopicRouter) else Account()
        self._selected: dict[str, Selected] = {}

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Add a binding without a selector."""
        self.plain.bind(queue, key, arguments)

    def unbind(self, queue: Queue, key: str) -> None:
        """Remove such a binding."""
        self.plain.unbind(queue, key)

    def bind_selected(
        self, queue: Queue, key: str, arguments: dict[str, Tagged], selector: Selector
    ) -> None:
        """Add a binding with a selector."""
        selected = self._selected.get(selector.text)
        if selected is None:
            router = make_router(self._type, SELECTED_CACHE_MAX, self._cached)
            assert router is not None
            selected = self._selected[selector.text] = Selected(selector, router)
        selected.count += 1
        selected.router.bind(queue, key, arguments)

    def unbind_selected(self, queue: Queue, key: str, selector: Selector) -> None:
        """Remove such a binding; the last one leaves `idle` behind."""
        selected = self._selected[selector.text]
        selected.router.unbind(queue, key)
        selected.count -= 1
        if selected.count == 0:
            del self._selected[selector.text]

    @property
    def idle(self) -> bool:
        """Whether there are no selectors any more."""
        return not self._selected

    def routers(self) -> list[Router]:
        """That of the bindings without a selector, and one for each selector."""
        return [self.plain, *[each.router for each in self._selected.values()]]

    def route(self, message: Message) -> list[Queue] | None:
        """The queues of bindings whose key matches and whose selector, if any, accepts."""
        end = WORK.units + VERB
        given_up = WORK.given_up
        plain = self.plain.route(message)
        if plain is None:
            return None
        found: dict[int, Queue] = {}
        for queue in plain:
            found[queue.number] = queue
        for selected in self._selected.values():
            queues = selected.router.route(message)
            if queues and selected.selector.accepts(message):
                for queue in queues:
                    found[queue.number] = queue
            # What a selector was given up on may be what its queue is there for.
            if queues is None or WORK.units > end or WORK.given_up > given_up:
                return None
        return list(found.values())


@final
class Binding:
    """One binding of an exchange: how it was made, for queries and for the store.

    Attributes:
        owners: who must live for it to stay (`scopes`); `None` when it is for good.
        selector: what it lets in, of the messages that match; `None`: all of them.
        octets: that it takes.
    """

    __slots__ = ("arguments", "encoded", "key", "octets", "owners", "queue", "selector")

    def __init__(
        self,
        queue: Queue,
        key: str,
        arguments: dict[str, Tagged],
        encoded: bytes,
        selector: Selector | None,
    ) -> None:
        self.queue = queue
        self.key = key
        self.arguments = arguments
        self.encoded = encoded
        self.selector = selector
        self.octets = BINDING_OCTETS + 8 * len(key) + len(encoded) + weigh(arguments)
        if selector is not None:
            self.octets += selector.octets
        self.owners: set[int] | None = None

    def selects_as(self, other: Binding) -> bool:
        """Whether the selectors of both are the same."""
        mine, others = self.selector, other.selector
        if mine is None or others is None:
            return mine is others
        return mine.text == others.text


@final
class Exchange:
    """One exchange of one virtual host.

    Attributes:
        name, type, durable, auto_delete, alternate_exchange, arguments: as declared.
        bindings: by queue name, then key; none of a queue is empty. `bound`: how many they are.
        alternate_of: how many exchanges and queues name it as their alternate.
        node: the audit log's number of its name.
        placement: of a remote exchange, where it lives; `None` for local ones.
        routed: copies routed by it since it exists.
        pending: those of them that a transaction holds, or that come in over several turns.
        kept: octets that it takes, which its virtual host's account knows of.
        deleted: gone by name.
        maker, made_by, dynamic, serves: as of a queue's settings.
        marks: what else it does with what comes; `None`: nothing.
    """

    __slots__ = (
        "alternate_exchange",
        "alternate_of",
        "arguments",
        "auto_delete",
        "bindings",
        "bound",
        "deleted",
        "durable",
        "dynamic",
        "kept",
        "made_by",
        "maker",
        "marks",
        "name",
        "node",
        "pending",
        "placement",
        "predeclared",
        "routed",
        "router",
        "serves",
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
        self.bindings: dict[str, dict[str, Binding]] = {}
        self.bound = 0
        self.alternate_of = 0
        self.node = 0
        self.placement: Placement | None = None
        self.routed = 0
        self.pending = 0
        self.kept = 0
        self.deleted = False
        self.maker = ""
        self.made_by = 0
        self.dynamic = False
        self.serves = 0
        self.marks: Marks | None = None

    def add(self, binding: Binding) -> None:
        """Add a binding that does not exist yet."""
        queue = binding.queue
        keys = self.bindings.get(queue.name)
        if keys is None:
            keys = {}
            self.bindings[queue.name] = keys
            queue.bindings[self.name] = keys
        keys[binding.key] = binding
        self.bound += 1
        self.connect(binding)

    def remove(self, binding: Binding) -> None:
        """Remove a binding that exists."""
        keys = self.bindings[binding.queue.name]
        del keys[binding.key]
        if not keys:
            self.detach(binding.queue)
        self.bound -= 1
        self.disconnect(binding)

    def detach(self, queue: Queue) -> dict[str, Binding]:
        """Forget all bindings of a queue, which are left to be disconnected."""
        keys = self.bindings.pop(queue.name)
        del queue.bindings[self.name]
        self.bound -= len(keys)
        return keys

    def find(self, queue: str, key: str) -> Binding | None:
        """The binding of a queue by that key."""
        keys = self.bindings.get(queue)
        return None if keys is None else keys.get(key)

    def bound_by(self, key: str) -> list[Binding]:
        """All bindings of a direct exchange by that key."""
        router = self.router
        routers = router.routers() if isinstance(router, SelectingRouter) else [router]
        found: list[Binding] = []
        for each in routers:
            assert isinstance(each, DirectRouter)
            found += [self.bindings[queue.name][key] for queue in each.bound_by(key)]
        return found

    def is_new_to(self, queue: Queue, key: str) -> bool:
        """Whether a binding by that key would bring the queue something that none brings it yet."""
        keys = self.bindings.get(queue.name)
        return keys is None or (self.type != FANOUT and key not in keys)

    def every(self) -> list[Binding]:
        """All bindings."""
        return [binding for keys in self.bindings.values() for binding in keys.values()]

    def forget_routes(self) -> None:
        """It is deleted, and has no bindings any more: remember nothing of it."""
        if isinstance(self.router, TopicRouter):
            self.router.forget()

    def connect(self, binding: Binding) -> None:
        """Route by a binding from now on."""
        selector = binding.selector
        router = self.router
        if selector is None or isinstance(router, OutboundRouter):
            router.bind(binding.queue, binding.key, binding.arguments)
            return
        if not isinstance(router, SelectingRouter):
            router = SelectingRouter(self.type, router)
            self.router = router
        router.bind_selected(binding.queue, binding.key, binding.arguments, selector)

    def disconnect(self, binding: Binding) -> None:
        """Route by it no longer."""
        selector = binding.selector
        router = self.router
        if selector is None or not isinstance(router, SelectingRouter):
            router.unbind(binding.queue, binding.key)
            return
        router.unbind_selected(binding.queue, binding.key, selector)
        if router.idle:
            self.router = router.plain

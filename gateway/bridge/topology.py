"""The names of one virtual host: its exchanges and queues, made and removed.

What may be declared and deleted is in `declaring`, `bindings` has what binds them, and
`durable.topology_writes` the rows of what is durable. Messages are not touched: what becomes of
those of a deleted queue is the host's affair.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.durable.topology_rows import QueueRow, RowKind, row_key
from gateway.bridge.durable.topology_writes import TopologyWrites
from gateway.bridge.exchanges.bindings import Bindings
from gateway.bridge.exchanges.exchange import (
    DIRECT,
    FANOUT,
    HEADERS,
    TOPIC,
    Exchange,
    make_router,
)
from gateway.bridge.exchanges.marks import Marks
from gateway.bridge.ledger import Ledger
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.node_names import NodeNames
from gateway.bridge.queues.line import Line
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import Placement
from gateway.bridge.seams import QueueSettings
from gateway.bridge.senders import Senders
from gateway.bridge.turns import TurnBook
from gateway.message import Message
from gateway.wire.accounts import Account
from gateway.wire.tagged import Tagged
from gateway.wire.work import NODE, WORK

PREDECLARED: Final = (
    ("amq.direct", DIRECT),
    ("amq.topic", TOPIC),
    ("amq.fanout", FANOUT),
    ("amq.match", HEADERS),
    ("amq.headers", HEADERS),
    # Where management clients send to and listen; what they ask is answered by the face.
    ("qmf.default.direct", DIRECT),
    ("qmf.default.topic", TOPIC),
)
UNKNOWN_EXCHANGE: Final = "(unknown exchange)"
DEFAULT_EXCHANGE: Final = "(default exchange)"
NODE_OCTETS: Final = 4096  # what a queue or an exchange takes, apart from name and arguments
COUNT_MAX: Final = (1 << 63) - 1
QUEUE: Final = "queue"
EXCHANGE: Final = "exchange"


class Rules(Protocol):
    """What the node rules of the host say, and make: see `nodes`."""

    def make_queue(self, name: str) -> Queue | None:
        """The remote queue that a rule knows by that name."""

    def make_exchange(self, name: str) -> Exchange | None:
        """The remote exchange that a rule knows by that name."""

    def adopt_queue(self, queue: Queue) -> None:
        """A queue comes from the store: perhaps a rule places it."""

    def forget_queue(self, queue: Queue) -> None:
        """A queue is deleted."""

    def adopt_exchange(self, exchange: Exchange) -> None:
        """An exchange is made: perhaps a rule places it."""


@final
class DefaultRouter:
    """The default exchange: every queue is bound to it by its name, and nothing else is."""

    __slots__ = ("_nowhere", "_queues", "_topology")

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._queues = topology.queues
        self._nowhere: list[Queue] = []

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Never called: the topology refuses it."""

    def unbind(self, queue: Queue, key: str) -> None:
        """Never called."""

    def route(self, message: Message) -> list[Queue]:
        """The queue whose name is the routing key, made now if a rule knows it."""
        queue = self._queues.get(message.routing_key)
        if queue is None:
            queue = self._topology.find_queue(message.routing_key)
        return self._nowhere if queue is None else queue.by_name


def octets_of(name: str, arguments: bytes) -> int:
    """What a queue or an exchange takes."""
    return NODE_OCTETS + 8 * len(name) + len(arguments)


@final
class Topology:
    """Exchanges and queues by name, lines by queue number.

    Attributes:
        local_nodes: there may be some that live here (`BridgeLimits`).
        unknown: stands for exchanges that do not exist, in the audit log.
        rows: what the store keeps of it.
        rules: which nodes are remote; `None`: all are local.
        subscribed: the queues of durable subscriptions, by `Subscriber.key`.
        keeping_out: how many queues keep out messages for which there is a binding.
        routes: octets of the routes that topic exchanges remember.
        senders: the links that send to its nodes.
    """

    __slots__ = (
        "_host",
        "_limits",
        "bindings",
        "exchanges",
        "keeping_out",
        "lines",
        "local_nodes",
        "names",
        "queues",
        "routes",
        "rows",
        "rules",
        "senders",
        "subscribed",
        "unknown",
    )

    def __init__(
        self, host: str, prefix: str, ledger: Ledger, turns: TurnBook, limits: BridgeLimits
    ) -> None:
        self._host = host
        self._limits = limits
        self.local_nodes = limits.local_nodes
        self.routes = Account(limits.route_cache_octets_max)
        self.names = NodeNames(prefix, ledger)
        self.rows = TopologyWrites(host, turns)
        self.bindings = Bindings(host, self, self.names, turns, limits)
        self.senders = Senders(turns.spread)
        self.rules: Rules | None = None
        self.keeping_out = 0
        self.queues: dict[str, Queue] = {}
        self.subscribed: dict[str, Queue] = {}
        self.lines: dict[int, Line] = {}
        self.exchanges: dict[str, Exchange] = {}
        self.unknown = self.predeclare(UNKNOWN_EXCHANGE, DIRECT)
        default = Exchange(
            "",
            DIRECT,
            DefaultRouter(self),
            durable=True,
            auto_delete=False,
            alternate_exchange="",
            arguments=b"",
            predeclared=True,
        )
        default.node = self.names.name(DEFAULT_EXCHANGE)
        self.exchanges[""] = default
        for name, type in PREDECLARED:
            self.exchanges[name] = self.predeclare(name, type)

    def find_queue(self, name: str) -> Queue | None:
        """The queue of that name, made now if a rule knows it."""
        queue = self.queues.get(name)
        if queue is None and self.rules is not None and name:
            return self.rules.make_queue(name)
        return queue

    def find_exchange(self, name: str) -> Exchange | None:
        """The exchange of that name, made now if a rule knows it."""
        exchange = self.exchanges.get(name)
        if exchange is None and self.rules is not None:
            return self.rules.make_exchange(name)
        return exchange

    def add_exchange(
        self,
        name: str,
        type: str,
        *,
        durable: bool,
        auto_delete: bool,
        alternate_exchange: str,
        arguments: bytes,
        numbers: bool = False,
        remembers: bool = False,
    ) -> Exchange:
        """Make an exchange that was checked; its row is the caller's to write."""
        WORK.units += NODE
        router = make_router(type, self._limits.route_cache_max, self.routes)
        assert router is not None
        exchange = Exchange(
            name,
            type,
            router,
            durable=durable,
            auto_delete=auto_delete,
            alternate_exchange=alternate_exchange,
            arguments=arguments,
            predeclared=False,
        )
        exchange.node = self.names.name(name)
        if numbers or remembers:
            exchange.marks = Marks(numbers=numbers, remembers=remembers)
        if self.rules is not None:
            self.rules.adopt_exchange(exchange)
        exchange.kept = octets_of(name, arguments)
        self.bindings.kept.note(exchange.kept)
        self.exchanges[name] = exchange
        self.names.record(Reason.EXCHANGE_DECLARED, 0, exchange.node, durable)
        return exchange

    def remove_exchange(self, exchange: Exchange) -> None:
        """Delete it with its bindings."""
        WORK.units += NODE
        exchange.auto_delete = False
        exchange.deleted = True
        self.bindings.remove_all_of_exchange(exchange)
        exchange.forget_routes()
        if exchange.marks is not None:
            exchange.marks.forget()
        del self.exchanges[exchange.name]
        self.bindings.kept.give(exchange.kept)
        self.count_alternate(exchange.alternate_exchange, -1)
        self.rows.remove_exchange(exchange)
        self.names.record(Reason.EXCHANGE_DELETED, 0, exchange.node, exchange.durable)
        self.names.forget(exchange.name, exchange.node)
        self.senders.on_deleted(EXCHANGE, exchange.name)

    def alternate_of(self, queue: Queue) -> Exchange | None:
        """Where a queue's rejected and orphaned messages go."""
        name = queue.settings.alternate_exchange
        return self.find_exchange(name) if name else None

    def count_alternate(self, name: str, change: int) -> None:
        """Something names `name` as its alternate exchange, or no longer does."""
        exchange = self.find_exchange(name) if name else None
        if exchange is not None:
            exchange.alternate_of += change

    def add_queue(
        self, number: int, name: str, settings: QueueSettings, first_position: int
    ) -> Queue:
        """Make a queue that was checked; line and row are the caller's to add."""
        WORK.units += NODE
        settings.max_count = min(settings.max_count, COUNT_MAX)
        settings.max_size = min(settings.max_size, COUNT_MAX)
        queue = Queue(number, self._host, name, row_key(self._host, name), settings, first_position)
        if settings.max_size == 0:
            queue.max_size = self._limits.queue_size_default
        queue.node = self.names.name(name)
        if settings.subscriber is not None:
            self.subscribed[settings.subscriber.key()] = queue
        elif self.rules is not None:
            self.rules.adopt_queue(queue)
        self.queues[name] = queue
        self.bindings.kept.note(octets_of(name, settings.arguments) + queue.entrance.octets)
        self.keeping_out += queue.entrance.guarded
        self.count_alternate(settings.alternate_exchange, 1)
        words = settings.in_words()
        self.names.record(Reason.QUEUE_DECLARED, queue.node, 0, settings.durable, whose=words)
        return queue

    def make_transit(
        self, number: int, name: str, text: str, placement: Placement, first_position: int
    ) -> Queue:
        """A queue of what is on its way only; `text` is what the audit log calls it."""
        key = row_key(self._host, name, "transit")
        queue = Queue(number, self._host, name, key, QueueSettings(), first_position)
        queue.node = self.names.name(text)
        queue.node_name = text
        queue.transit = True
        queue.placement = placement
        return queue

    def remove_outbound(self, queue: Queue) -> None:
        """Forget a transit queue that stood for no queue, and its rows."""
        del self.lines[queue.number]
        self.rows.remove_queue(RowKind.TRANSIT, queue)
        if queue.users.links == 0:
            self.forget_queue(queue)
        else:
            self.rows.store_deleted(queue)

    def route_locally(self, exchange: Exchange) -> None:
        """An exchange that was remote routes to what is bound to it."""
        router = make_router(exchange.type, self._limits.route_cache_max, self.routes)
        assert router is not None
        exchange.router = router
        for binding in exchange.every():
            exchange.connect(binding)

    def withdraw_exchange(self, exchange: Exchange) -> None:
        """Take away an exchange that was predeclared."""
        exchange.deleted = True
        self.bindings.remove_all_of_exchange(exchange)
        del self.exchanges[exchange.name]
        self.bindings.kept.give(exchange.kept)
        self.names.forget(exchange.name, exchange.node)
        self.senders.on_deleted(EXCHANGE, exchange.name)

    def remove_queue(self, queue: Queue) -> None:
        """Delete its name, bindings and rows."""
        WORK.units += NODE
        queue.deleted = True
        if self.rules is not None:
            self.rules.forget_queue(queue)
        self.bindings.remove_all_of_queue(queue)
        del self.queues[queue.name]
        if queue.settings.subscriber is not None:
            self.subscribed.pop(queue.settings.subscriber.key(), None)
        octets = octets_of(queue.name, queue.settings.arguments)
        self.bindings.kept.give(octets + queue.entrance.octets)
        del self.lines[queue.number]
        self.keeping_out -= queue.entrance.guarded
        self.count_alternate(queue.settings.alternate_exchange, -1)
        self.rows.remove_queue(RowKind.QUEUE, queue)
        self.names.record(Reason.QUEUE_DELETED, queue.node, 0, queue.settings.durable)

    def recover_deleted(self, row: QueueRow, first_position: int) -> Queue:
        """A queue that was deleted while copies of it were with subscribers."""
        key = row.numbered_key()
        queue = Queue(row.number, self._host, row.name, key, row.settings, first_position)
        queue.node = self.names.name(row.name)
        queue.rows.written = queue.deleted = queue.rows.marked = True
        return queue

    def forget_queue(self, queue: Queue) -> None:
        """A deleted queue has nothing outstanding any more: store and audit log can forget it."""
        self.rows.remove_deleted(queue)
        self.names.forget(queue.node_name or queue.name, queue.node)
        queue.only = queue.by_name = []  # it holds itself no more

    def predeclare(self, name: str, type: str) -> Exchange:
        """An exchange that nobody declares and nobody deletes."""
        router = make_router(type, self._limits.route_cache_max, self.routes)
        assert router is not None
        exchange = Exchange(
            name,
            type,
            router,
            durable=True,
            auto_delete=False,
            alternate_exchange="",
            arguments=b"",
            predeclared=True,
        )
        exchange.node = self.names.name(name)
        return exchange

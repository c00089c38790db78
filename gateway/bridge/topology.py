"""The names of one virtual host: its exchanges and queues, and what may be done to them.

Every rule of declare and delete is here (0-10 classes exchange and queue), with the rows that the
store keeps of what is durable; `bindings` has those of bind and unbind. Messages are not touched:
what becomes of those of a deleted queue is the host's affair.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.durable.topology_rows import ExchangeRow, QueueRow, RowKind, row_key
from gateway.bridge.exchanges.bindings import Bindings
from gateway.bridge.exchanges.exchange import (
    DIRECT,
    FANOUT,
    HEADERS,
    TOPIC,
    TYPES,
    Exchange,
    make_router,
)
from gateway.bridge.ledger import Ledger
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.node_names import NodeNames
from gateway.bridge.queues.dispatch import Line
from gateway.bridge.queues.queue import Queue
from gateway.bridge.refusals import not_found, too_many
from gateway.bridge.remote.remote import Target
from gateway.bridge.seams import QueueSettings
from gateway.bridge.turns import TurnBook
from gateway.message import Condition, Message, Refusal
from gateway.wire.tagged import Tagged

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
RESERVED: Final = ("amq.", "qpid.", "upstream.")
UNKNOWN_EXCHANGE: Final = "(unknown exchange)"
DEFAULT_EXCHANGE: Final = "(default exchange)"
COUNT_MAX: Final = (1 << 63) - 1


class Rules(Protocol):
    """What the node rules of the host say, and make: see `nodes`."""

    def make_queue(self, name: str) -> Queue | None:
        """The remote queue that a rule knows by that name."""

    def make_exchange(self, name: str) -> Exchange | None:
        """The remote exchange that a rule knows by that name."""

    def adopt_queue(self, queue: Queue) -> None:
        """A queue comes from the store: perhaps a rule places it."""

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
        """As `routing.Router`."""
        queue = self._queues.get(message.routing_key)
        if queue is None:
            queue = self._topology.find_queue(message.routing_key)
        return self._nowhere if queue is None else queue.only


@final
class Topology:
    """Exchanges and queues by name, lines by queue number.

    Attributes:
        unknown: stands for exchanges that do not exist, in the audit log.
        rules: which nodes are remote; `None`: all are here.
        no_local: how many queues keep out what their owners publish.
    """

    __slots__ = (
        "_host",
        "_limits",
        "_turns",
        "bindings",
        "exchanges",
        "lines",
        "names",
        "no_local",
        "queues",
        "rules",
        "unknown",
    )

    def __init__(
        self, host: str, prefix: str, ledger: Ledger, turns: TurnBook, limits: BridgeLimits
    ) -> None:
        self._host = host
        self._turns = turns
        self._limits = limits
        self.names = NodeNames(prefix, ledger)
        self.bindings = Bindings(host, self, self.names, turns, limits)
        self.rules: Rules | None = None
        self.no_local = 0
        self.queues: dict[str, Queue] = {}
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

    def check_exchange(
        self, name: str, type: str, alternate_exchange: str, passive: bool
    ) -> Exchange | Refusal | None:
        """An existing exchange that fits, a refusal, or `None`: it can be made."""
        exchange = self.find_exchange(name)
        if not name:
            return Refusal(Condition.INVALID_ARGUMENT, "an exchange needs a name")
        if exchange is None:
            if passive:
                return not_found("exchange", name)
            return self._check_new_exchange(name, type, alternate_exchange)
        if exchange.placement is not None and not exchange.predeclared:
            if type in TYPES:
                exchange.type = type  # What it is, the upstream knows.
            return exchange
        if type and type != exchange.type:
            return Refusal(Condition.NOT_ALLOWED, f"exchange {name!r} is of type {exchange.type}")
        if alternate_exchange and alternate_exchange != exchange.alternate_exchange:
            return Refusal(
                Condition.NOT_ALLOWED,
                f"exchange {name!r} has the alternate {exchange.alternate_exchange!r}",
            )
        return exchange

    def _check_new_exchange(self, name: str, type: str, alternate_exchange: str) -> Refusal | None:
        if name.startswith(RESERVED):
            return Refusal(Condition.NOT_ALLOWED, f"exchange name {name!r} is reserved")
        if type not in TYPES:
            return not_found("exchange type", type)
        if alternate_exchange and self.find_exchange(alternate_exchange) is None:
            return not_found("alternate exchange", alternate_exchange)
        if len(name.encode()) > self._limits.name_max:
            return Refusal(Condition.INVALID_ARGUMENT, "the exchange name is too long")
        if len(self.exchanges) >= self._limits.exchanges_max:
            return too_many("exchanges")
        return None

    def add_exchange(
        self,
        name: str,
        type: str,
        *,
        durable: bool,
        auto_delete: bool,
        alternate_exchange: str,
        arguments: bytes,
    ) -> Exchange:
        """Make an exchange that was checked; its row is the caller's to write."""
        router = make_router(type, self._limits.route_cache_max)
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
        if self.rules is not None:
            self.rules.adopt_exchange(exchange)
        self.exchanges[name] = exchange
        self.names.record(Reason.EXCHANGE_DECLARED, 0, exchange.node, durable)
        return exchange

    def store_exchange(self, exchange: Exchange) -> None:
        """Write its row, if it is durable."""
        if exchange.durable:
            row = ExchangeRow(
                self._host,
                exchange.name,
                exchange.type,
                exchange.auto_delete,
                exchange.alternate_exchange,
                exchange.arguments,
            )
            self._turns.writes.topology(RowKind.EXCHANGE, row.key(), row.encoded())

    def check_exchange_deletion(self, name: str, if_unused: bool) -> Exchange | Refusal:
        """The exchange, if it may be deleted."""
        exchange = self.exchanges.get(name)
        if not name:
            return Refusal(Condition.INVALID_ARGUMENT, "the default exchange cannot be deleted")
        if exchange is None:
            return not_found("exchange", name)
        if exchange.predeclared:
            return Refusal(Condition.NOT_ALLOWED, f"exchange {name!r} is predeclared")
        if exchange.alternate_of:
            return Refusal(Condition.NOT_ALLOWED, f"exchange {name!r} is an alternate exchange")
        if if_unused and exchange.bindings:
            return Refusal(Condition.PRECONDITION_FAILED, f"exchange {name!r} has bindings")
        return exchange

    def remove_exchange(self, exchange: Exchange) -> None:
        """Delete it with its bindings."""
        exchange.auto_delete = False
        for binding in list(exchange.bindings.values()):
            self.bindings.remove(exchange, binding)
        del self.exchanges[exchange.name]
        self.count_alternate(exchange.alternate_exchange, -1)
        if exchange.durable:
            key = row_key(self._host, exchange.name)
            self._turns.writes.topology_removed(RowKind.EXCHANGE, key)
        self.names.record(Reason.EXCHANGE_DELETED, 0, exchange.node, exchange.durable)
        self.names.forget(exchange.name, exchange.node)

    def alternate_of(self, queue: Queue) -> Exchange | None:
        """Where a queue's rejected and orphaned messages go."""
        name = queue.settings.alternate_exchange
        return self.find_exchange(name) if name else None

    def count_alternate(self, name: str, change: int) -> None:
        """Something names `name` as its alternate exchange, or no longer does."""
        exchange = self.find_exchange(name) if name else None
        if exchange is not None:
            exchange.alternate_of += change

    def check_new_queue(self, name: str, settings: QueueSettings) -> Refusal | None:
        """Why the queue cannot be made."""
        if not name:
            return Refusal(Condition.INVALID_ARGUMENT, "a queue needs a name")
        if len(name.encode()) > self._limits.name_max:
            return Refusal(Condition.INVALID_ARGUMENT, "the queue name is too long")
        if min(settings.max_count, settings.max_size, settings.auto_delete_timeout_ms) < 0:
            return Refusal(Condition.INVALID_ARGUMENT, "a queue's limits cannot be negative")
        alternate = settings.alternate_exchange
        if alternate and self.find_exchange(alternate) is None:
            return not_found("alternate exchange", alternate)
        if len(self.queues) >= self._limits.queues_max:
            return too_many("queues")
        return None

    def add_queue(
        self, number: int, name: str, settings: QueueSettings, first_position: int
    ) -> Queue:
        """Make a queue that was checked; line and row are the caller's to add."""
        settings.max_count = min(settings.max_count, COUNT_MAX)
        settings.max_size = min(settings.max_size, COUNT_MAX)
        queue = Queue(number, self._host, name, row_key(self._host, name), settings, first_position)
        if settings.max_size == 0:
            queue.max_size = self._limits.queue_size_default
        queue.node = self.names.name(name)
        if self.rules is not None:
            self.rules.adopt_queue(queue)
        self.queues[name] = queue
        self.no_local += settings.no_local
        self.count_alternate(settings.alternate_exchange, 1)
        self.names.record(Reason.QUEUE_DECLARED, queue.node, 0, settings.durable)
        return queue

    def store_queue(self, queue: Queue) -> None:
        """Write its row, if it is durable."""
        if queue.settings.durable:
            self._store_row(queue)

    def _store_row(self, queue: Queue) -> None:
        queue.stored = True
        row = QueueRow(self._host, queue.node_name or queue.name, queue.number, queue.settings)
        kind = RowKind.QUEUE if queue.target == Target.QUEUE else RowKind.TRANSIT
        self._turns.writes.topology(kind, queue.key, row.encoded())

    def store_transit(self, queue: Queue) -> None:
        """A transit queue is to hold a copy that nobody else would send again."""
        if not queue.stored:
            self._store_row(queue)
            if queue.used:
                self.mark_dispatched(queue)

    def store_transit_again(self, queue: Queue, name: str) -> None:
        """Its row says `name` from now on."""
        row = QueueRow(self._host, name, queue.number, queue.settings)
        self._turns.writes.topology(RowKind.TRANSIT, queue.key, row.encoded())

    def remove_outbound(self, queue: Queue) -> None:
        """Forget a transit queue that stood for no queue, and its rows."""
        del self.lines[queue.number]
        if queue.stored:
            self._remove_rows(RowKind.TRANSIT, queue)
        if queue.links == 0:
            self.forget_queue(queue)
        else:
            self.store_deleted(queue)

    def route_here(self, exchange: Exchange) -> None:
        """An exchange that was remote routes to what is bound to it."""
        router = make_router(exchange.type, self._limits.route_cache_max)
        assert router is not None
        exchange.router = router
        for binding in exchange.bindings.values():
            exchange.connect(binding)

    def withdraw_exchange(self, exchange: Exchange) -> None:
        """Take away an exchange that was predeclared."""
        for binding in list(exchange.bindings.values()):
            self.bindings.remove(exchange, binding)
        del self.exchanges[exchange.name]
        self.names.forget(exchange.name, exchange.node)

    def mark_dispatched(self, queue: Queue) -> None:
        """A durable queue is about to be read: the store knows before anything is sent."""
        if queue.stored and not queue.marked:
            queue.marked = True
            queue.safe_after = self._turns.number
            self._turns.writes.topology(RowKind.DISPATCHED, queue.key, b"")

    def remove_queue(self, queue: Queue) -> None:
        """Delete its name, bindings and rows."""
        queue.deleted = True
        for exchange_name, key in list(queue.bindings):
            exchange = self.exchanges[exchange_name]
            self.bindings.remove(exchange, exchange.bindings[(queue.name, key)])
        del self.queues[queue.name]
        del self.lines[queue.number]
        self.no_local -= queue.settings.no_local
        self.count_alternate(queue.settings.alternate_exchange, -1)
        if queue.stored:
            self._remove_rows(RowKind.QUEUE, queue)
        self.names.record(Reason.QUEUE_DELETED, queue.node, 0, queue.settings.durable)

    def _remove_rows(self, kind: RowKind, queue: Queue) -> None:
        self._turns.writes.topology_removed(kind, queue.key)
        self._turns.writes.topology_removed(RowKind.DISPATCHED, queue.key)
        self._turns.writes.topology_removed(RowKind.SEEN, queue.key)
        queue.stored = False

    def store_deleted(self, queue: Queue) -> None:
        """What a deleted queue still has is with subscribers: the store keeps its name for that."""
        entry = queue.places.next_at(0)
        while entry is not None and not entry.durable:
            entry = queue.places.next_at(entry.position + 1)
        if entry is not None:
            row = self._deleted_row(queue)
            self._turns.writes.topology(RowKind.DELETED, row.numbered_key(), row.encoded())
            queue.stored = True

    def _deleted_row(self, queue: Queue) -> QueueRow:
        return QueueRow(self._host, queue.node_name or queue.name, queue.number, queue.settings)

    def recover_deleted(self, row: QueueRow, first_position: int) -> Queue:
        """A queue that was deleted while copies of it were with subscribers."""
        key = row.numbered_key()
        queue = Queue(row.number, self._host, row.name, key, row.settings, first_position)
        queue.node = self.names.name(row.name)
        queue.stored = queue.deleted = queue.marked = True
        return queue

    def forget_queue(self, queue: Queue) -> None:
        """A deleted queue has nothing outstanding any more: store and audit log can forget it."""
        if queue.stored:
            key = self._deleted_row(queue).numbered_key()
            self._turns.writes.topology_removed(RowKind.DELETED, key)
            queue.stored = False
        self.names.forget(queue.node_name or queue.name, queue.node)

    def predeclare(self, name: str, type: str) -> Exchange:
        """An exchange that nobody declares and nobody deletes."""
        router = make_router(type, self._limits.route_cache_max)
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

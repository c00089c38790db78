"""The names of one virtual host: its exchanges, queues and bindings, and what may be done to them.

Every rule of declare, delete, bind and unbind is here (0-10 classes exchange and queue), with the
rows that the store keeps of what is durable. Messages are not touched: what becomes of those of a
deleted queue is the host's affair.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Flag, Reason
from gateway.bridge.dispatch import Line
from gateway.bridge.filters import binding_selector
from gateway.bridge.headers import match_of
from gateway.bridge.ledger import Ledger
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues import Queue
from gateway.bridge.remote import Target
from gateway.bridge.routing import (
    DIRECT,
    FANOUT,
    HEADERS,
    TOPIC,
    TYPES,
    Binding,
    Exchange,
    make_router,
)
from gateway.bridge.rows import BindingRow, ExchangeRow, QueueRow, RowKind, row_key
from gateway.bridge.scopes import Scopes
from gateway.bridge.seams import Bound, Owner, QueueSettings
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

    def on_bound(self, exchange: Exchange, binding: Binding) -> None:
        """A queue is bound to a remote exchange."""

    def on_unbound(self, exchange: Exchange, binding: Binding) -> None:
        """It no longer is."""


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
        "_bindings",
        "_host",
        "_ledger",
        "_limits",
        "_names",
        "_prefix",
        "_scopes",
        "_turns",
        "exchanges",
        "lines",
        "no_local",
        "queues",
        "rules",
        "unknown",
    )

    def __init__(
        self, host: str, prefix: str, ledger: Ledger, turns: TurnBook, limits: BridgeLimits
    ) -> None:
        self._host = host
        self._prefix = prefix
        self._ledger = ledger
        self._turns = turns
        self._limits = limits
        self._bindings = 0
        self._scopes = Scopes()
        self._names: dict[str, int] = {}
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
        default.node = self.name(DEFAULT_EXCHANGE)
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
        exchange.node = self.name(name)
        if self.rules is not None:
            self.rules.adopt_exchange(exchange)
        self.exchanges[name] = exchange
        self._record(Reason.EXCHANGE_DECLARED, 0, exchange.node, durable)
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
            self.remove_binding(exchange, binding)
        del self.exchanges[exchange.name]
        self.count_alternate(exchange.alternate_exchange, -1)
        if exchange.durable:
            key = row_key(self._host, exchange.name)
            self._turns.writes.topology_removed(RowKind.EXCHANGE, key)
        self._record(Reason.EXCHANGE_DELETED, 0, exchange.node, exchange.durable)
        self.forget(exchange.name, exchange.node)

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
        queue.node = self.name(name)
        if self.rules is not None:
            self.rules.adopt_queue(queue)
        self.queues[name] = queue
        self.no_local += settings.no_local
        self.count_alternate(settings.alternate_exchange, 1)
        self._record(Reason.QUEUE_DECLARED, queue.node, 0, settings.durable)
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
            self._turns.writes.topology_removed(RowKind.TRANSIT, queue.key)
            self._turns.writes.topology_removed(RowKind.DISPATCHED, queue.key)
        if queue.links == 0:
            self.forget_queue(queue)

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
            self.remove_binding(exchange, binding)
        del self.exchanges[exchange.name]
        self.forget(exchange.name, exchange.node)

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
            self.remove_binding(exchange, exchange.bindings[(queue.name, key)])
        del self.queues[queue.name]
        del self.lines[queue.number]
        self.no_local -= queue.settings.no_local
        self.count_alternate(queue.settings.alternate_exchange, -1)
        if queue.stored:
            self._turns.writes.topology_removed(RowKind.QUEUE, queue.key)
            self._turns.writes.topology_removed(RowKind.DISPATCHED, queue.key)
        self._record(Reason.QUEUE_DELETED, queue.node, 0, queue.settings.durable)

    def forget_queue(self, queue: Queue) -> None:
        """A deleted queue has nothing outstanding any more: the audit log can forget its name."""
        self.forget(queue.node_name or queue.name, queue.node)

    def check_binding(
        self, queue_name: str, exchange_name: str, owner: Owner | None
    ) -> Refusal | None:
        """Why nothing can be bound or unbound between the two."""
        if not exchange_name:
            return Refusal(Condition.INVALID_ARGUMENT, "the default exchange's bindings are fixed")
        if not queue_name:
            return Refusal(Condition.INVALID_ARGUMENT, "a binding needs a queue name")
        queue = self.find_queue(queue_name)
        if queue is None:
            return not_found("queue", queue_name)
        if self.find_exchange(exchange_name) is None:
            return not_found("exchange", exchange_name)
        return locked(queue, owner)

    def add_binding(
        self,
        queue_name: str,
        exchange_name: str,
        key: str,
        arguments: dict[str, Tagged],
        encoded: bytes,
        scope: Owner | None,
    ) -> Refusal | None:
        """Bind what `check_binding` has passed, for the life of `scope` if there is one."""
        queue = self.queues[queue_name]
        exchange = self.exchanges[exchange_name]
        selector = binding_selector(arguments)
        if isinstance(selector, Refusal):
            return selector
        binding = Binding(queue, key, arguments, encoded, selector)
        existing = exchange.bindings.get((queue_name, key))
        if existing is not None:
            self._bind_again(exchange, existing, binding, scope)
            return None
        if exchange.type == HEADERS and not match_of(arguments):
            return Refusal(Condition.INVALID_ARGUMENT, "x-match is neither all nor any")
        if len(key.encode()) > self._limits.key_max:
            return Refusal(Condition.INVALID_ARGUMENT, "the binding key is too long")
        if self._bindings >= self._limits.bindings_max:
            return too_many("bindings")
        placement = exchange.placement
        if placement is not None:
            refusal = placement.remote.can_feed(
                self._host, exchange_name, queue_name, key, arguments
            )
            if refusal is not None:
                return refusal
        if scope is not None:
            binding.owners = set()
        self.put_binding(exchange, binding)
        if scope is None:
            self._store_binding(exchange, binding)
        else:
            self._scopes.add(scope.owner_id(), exchange_name, binding)
        return None

    def _bind_again(
        self, exchange: Exchange, binding: Binding, wanted: Binding, scope: Owner | None
    ) -> None:
        if exchange.placement is None and not binding.selects_as(wanted):
            self._select_anew(exchange, binding, wanted)
        if scope is not None:
            self._scopes.add(scope.owner_id(), exchange.name, binding)
        elif binding.owners is not None:
            self._scopes.forget(exchange.name, binding)
            self._store_binding(exchange, binding)
            if exchange.placement is not None and self.rules is not None:
                self.rules.on_unbound(exchange, binding)
                self.rules.on_bound(exchange, binding)

    def _select_anew(self, exchange: Exchange, binding: Binding, wanted: Binding) -> None:
        """A binding is made again with another selector: from now on that one counts."""
        exchange.remove(binding)
        binding.arguments = wanted.arguments
        binding.encoded = wanted.encoded
        binding.selector = wanted.selector
        exchange.add(binding)
        if binding.owners is None:
            self._store_binding(exchange, binding)

    def _store_binding(self, exchange: Exchange, binding: Binding) -> None:
        queue = binding.queue
        if queue.kept and exchange.durable:
            row = BindingRow(
                self._host,
                exchange.name,
                queue.name,
                binding.key,
                binding.arguments,
                binding.encoded,
            )
            self._turns.writes.topology(RowKind.BINDING, row.row_key(), row.encoded())

    def end_scope(self, owner: Owner) -> None:
        """An owner is gone: so are the bindings that were for its life only."""
        for exchange_name, binding in self._scopes.end(owner.owner_id()):
            self.remove_binding(self.exchanges[exchange_name], binding)

    def put_binding(self, exchange: Exchange, binding: Binding) -> None:
        """Add a binding that is not there yet."""
        exchange.add(binding)
        self._bindings += 1
        if exchange.placement is not None and self.rules is not None:
            self.rules.on_bound(exchange, binding)
        self._record(Reason.BOUND, binding.queue.node, exchange.node, False)

    def remove_binding(self, exchange: Exchange, binding: Binding) -> None:
        """Remove a binding that is there; the last one takes an auto-delete exchange with it."""
        queue = binding.queue
        stored = queue.kept and exchange.durable and binding.owners is None
        if exchange.placement is not None and self.rules is not None:
            self.rules.on_unbound(exchange, binding)
        self._scopes.forget(exchange.name, binding)
        exchange.remove(binding)
        self._bindings -= 1
        self._record(Reason.UNBOUND, queue.node, exchange.node, False)
        if stored:
            key = row_key(self._host, exchange.name, queue.name, binding.key)
            self._turns.writes.topology_removed(RowKind.BINDING, key)
        if exchange.auto_delete and not exchange.bindings and not exchange.alternate_of:
            self.remove_exchange(exchange)

    def bound(
        self,
        exchange_name: str,
        queue_name: str | None,
        key: str | None,
        arguments: dict[str, Tagged] | None,
    ) -> Bound:
        """The five facts of exchange.bound: each given part is tested against the rest."""
        exchange = self.find_exchange(exchange_name)
        no_queue = queue_name is not None and self.find_queue(queue_name) is None
        if exchange is None or no_queue:
            return Bound(exchange_not_found=exchange is None, queue_not_found=no_queue)
        if not exchange_name:
            return self._bound_by_default(queue_name, key)
        if queue_name is None:
            found = list(exchange.bindings.values())
        else:
            found = [
                exchange.bindings[(queue_name, bound_key)]
                for bound_exchange, bound_key in self.queues[queue_name].bindings
                if bound_exchange == exchange_name
            ]
            if not found:
                return Bound(queue_not_matched=True)
        if key is not None:
            found = [binding for binding in found if binding.key == key]
            if not found:
                return Bound(key_not_matched=True)
        if arguments is not None:
            found = [binding for binding in found if binding.arguments == arguments]
            if not found:
                return Bound(args_not_matched=True)
        return Bound(queue_not_matched=not found)

    def _bound_by_default(self, queue_name: str | None, key: str | None) -> Bound:
        if key is None:
            return Bound(queue_not_matched=not self.queues)
        if queue_name is None:
            return Bound(key_not_matched=key not in self.queues)
        return Bound(key_not_matched=key != queue_name)

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
        exchange.node = self.name(name)
        return exchange

    def name(self, name: str) -> int:
        """The audit log's number for the name of a thing that comes to be (`forget`)."""
        self._names[name] = self._names.get(name, 0) + 1
        return self._ledger.audit.name(self._prefix + name)

    def forget(self, name: str, number: int) -> None:
        """An exchange, a queue and a deleted queue of one name share its number."""
        uses = self._names[name] - 1
        if uses:
            self._names[name] = uses
            return
        del self._names[name]
        self._ledger.audit.forget(number)

    def _record(self, reason: Reason, node: int, exchange: int, durable: bool) -> None:
        self._ledger.audit.topology(
            self._ledger.now_ms,
            reason=reason,
            node=node,
            exchange=exchange,
            flags=int(Flag.DURABLE) if durable else 0,
        )


def not_found(what: str, name: str) -> Refusal:
    """There is no such thing."""
    return Refusal(Condition.NOT_FOUND, f"there is no {what} {name!r}")


def too_many(what: str) -> Refusal:
    """A limit of the gateway."""
    return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, f"there are too many {what}")


def locked(queue: Queue, owner: Owner | None) -> Refusal | None:
    """Whether the queue is exclusive to another owner than `owner`."""
    if queue.owner is None or (owner is not None and queue.owner.owner_id() == owner.owner_id()):
        return None
    return Refusal(Condition.RESOURCE_LOCKED, f"queue {queue.name!r} is exclusive to another")

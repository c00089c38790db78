"""Exchanges and queues come and go: the verbs declare, delete and purge.

All rules of declare and delete are these (0-10 classes exchange and queue). What a remote queue is,
its rule says (`nodes`), and its upstream deletes and empties it.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import TYPES, Exchange
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.owners import Owners
from gateway.bridge.queues.entrance import Entrance
from gateway.bridge.queues.queue import Queue
from gateway.bridge.refusals import OCTETS, alone, homeless, locked, not_found, too_many
from gateway.bridge.remote.inlets import Inlets, LineMaker
from gateway.bridge.remote.remote import REJECTED_QUEUE, LookUpWaiter
from gateway.bridge.seams import Owner, QueueSettings
from gateway.bridge.settlement import Settlement
from gateway.bridge.spread.clearing import EVERYBODY
from gateway.bridge.topology import Topology, octets_of
from gateway.message import Condition, Refusal

RESERVED: Final = ("amq.", "qpid.", "upstream.")


@final
class Declaring:
    """The exchanges and queues of one host, as clients ask for them."""

    __slots__ = (
        "_inlets",
        "_limits",
        "_lines",
        "_name",
        "_numbers",
        "_owners",
        "_settlement",
        "_topology",
    )

    def __init__(
        self,
        name: str,
        topology: Topology,
        inlets: Inlets,
        owners: Owners,
        numbers: Numbers,
        settlement: Settlement,
        limits: BridgeLimits,
        lines: LineMaker,
    ) -> None:
        self._name = name
        self._topology = topology
        self._inlets = inlets
        self._owners = owners
        self._numbers = numbers
        self._settlement = settlement
        self._limits = limits
        self._lines = lines

    def declare_exchange(
        self,
        name: str,
        type: str,
        *,
        durable: bool = False,
        auto_delete: bool = False,
        alternate_exchange: str = "",
        arguments: bytes = b"",
        passive: bool = False,
        numbers: bool = False,
        remembers: bool = False,
    ) -> Exchange | Refusal:
        """Make an exchange of `type` direct, topic, fanout or headers, or check that it exists.

        `numbers`, `remembers`: see `Marks`.

        An existing one: its type (when `type` is given) and its alternate (when one is given) must
        be the same, else not-allowed; all else is ignored. Refused too: not-found (passive and not
        there; unknown type or alternate), not-allowed (reserved name), invalid-argument (no name).
        """
        topology = self._topology
        exchange = self._check_exchange(name, type, alternate_exchange, arguments, passive)
        if exchange is not None:
            return exchange
        exchange = topology.add_exchange(
            name,
            type,
            durable=durable,
            auto_delete=auto_delete,
            alternate_exchange=alternate_exchange,
            arguments=arguments,
            numbers=numbers,
            remembers=remembers,
        )
        topology.count_alternate(alternate_exchange, 1)
        topology.rows.store_exchange(exchange)
        return exchange

    def _check_exchange(
        self, name: str, type: str, alternate_exchange: str, arguments: bytes, passive: bool
    ) -> Exchange | Refusal | None:
        """An existing exchange that fits, a refusal, or `None`: it can be made."""
        exchange = self._topology.find_exchange(name)
        if not name:
            return Refusal(Condition.INVALID_ARGUMENT, "an exchange needs a name")
        if exchange is None:
            if passive:
                return not_found("exchange", name)
            return self._check_new_exchange(name, type, alternate_exchange, arguments)
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

    def _check_new_exchange(
        self, name: str, type: str, alternate_exchange: str, arguments: bytes
    ) -> Refusal | None:
        if name.startswith(RESERVED):
            return Refusal(Condition.NOT_ALLOWED, f"exchange name {name!r} is reserved")
        if type not in TYPES:
            return not_found("exchange type", type)
        if not self._limits.local_nodes:
            return homeless("exchange", name)
        if alternate_exchange and self._topology.find_exchange(alternate_exchange) is None:
            return not_found("alternate exchange", alternate_exchange)
        if len(name.encode()) > self._limits.name_max:
            return Refusal(Condition.INVALID_ARGUMENT, "the exchange name is too long")
        if len(self._topology.exchanges) >= self._limits.exchanges_max:
            return too_many("exchanges")
        if not self._topology.bindings.kept.has_room(octets_of(name, arguments)):
            return too_many(OCTETS)
        return None

    def delete_exchange(self, name: str, if_unused: bool = False) -> Refusal | None:
        """Delete it and its bindings.

        Refused: not-found, not-allowed (predeclared, or an alternate of something),
        precondition-failed (`if_unused` and it has bindings), invalid-argument (no name).
        """
        exchange = self._check_exchange_deletion(name, if_unused)
        if isinstance(exchange, Refusal):
            return exchange
        self._topology.remove_exchange(exchange)
        return None

    def _check_exchange_deletion(self, name: str, if_unused: bool) -> Exchange | Refusal:
        """The exchange, if it may be deleted."""
        exchange = self._topology.exchanges.get(name)
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

    def declare_queue(
        self,
        name: str,
        settings: QueueSettings,
        owner: Owner,
        *,
        passive: bool = False,
        private: bool = False,
    ) -> Queue | Refusal:
        """Make a queue, or check that it exists.

        `private`: it is of one link alone, and goes with it, so that it may always be here.

        An existing one keeps its settings; whether it is there is answered (passive) to all, and
        whether it is theirs alone. Refused: resource-locked (exclusive to another owner, or
        exclusive asked while others use it), not-allowed (another alternate; what upstreams
        reject goes there, and it would not stay), not-found (passive and not there; unknown
        alternate), invalid-argument (no name).
        """
        queue = self._topology.find_queue(name)
        if queue is not None and self._owners.has_left(queue):
            queue = self._topology.find_queue(name)
        if queue is not None:
            return self._redeclare(queue, settings, owner, passive)
        if passive:
            return not_found("queue", name)
        return self.make_queue(name, settings, owner, private=private)

    def make_queue(
        self, name: str, settings: QueueSettings, owner: Owner, *, private: bool = False
    ) -> Queue | Refusal:
        """The same of a queue that is known not to exist; no rule places that of a subscriber."""
        refusal = self._check_new_queue(name, settings)
        if refusal is None and not private and not self._limits.local_nodes:
            refusal = homeless("queue", name)
        if refusal is not None:
            return refusal
        queue = self._topology.add_queue(
            self._numbers.next_queue(), name, settings, self._numbers.first_position
        )
        self._topology.lines[queue.number] = self._lines.make_line(queue)
        if settings.exclusive:
            self._owners.give(queue, owner)
        self._topology.rows.store_queue(queue)
        return queue

    def _check_new_queue(self, name: str, settings: QueueSettings) -> Refusal | None:
        """Why the queue cannot be made."""
        if not name:
            return Refusal(Condition.INVALID_ARGUMENT, "a queue needs a name")
        if len(name.encode()) > self._limits.name_max:
            return Refusal(Condition.INVALID_ARGUMENT, "the queue name is too long")
        passing = not settings.durable or settings.exclusive or settings.auto_delete
        if name == REJECTED_QUEUE and passing:
            text = f"queue {name!r} is the gateway's: durable, and nobody's alone"
            return Refusal(Condition.NOT_ALLOWED, text)
        if min(settings.max_count, settings.max_size, settings.auto_delete_timeout_ms) < 0:
            return Refusal(Condition.INVALID_ARGUMENT, "a queue's limits cannot be negative")
        alternate = settings.alternate_exchange
        if alternate and self._topology.find_exchange(alternate) is None:
            return not_found("alternate exchange", alternate)
        if len(self._topology.queues) >= self._limits.queues_max:
            return too_many("queues")
        octets = octets_of(name, settings.arguments) + Entrance(settings).octets
        if not self._topology.bindings.kept.has_room(octets):
            return too_many(OCTETS)
        return None

    def _redeclare(
        self, queue: Queue, settings: QueueSettings, owner: Owner, passive: bool
    ) -> Queue | Refusal:
        refusal = locked(queue, owner)
        if passive and not settings.exclusive and refusal is not None:
            # That it is there, others may hear; but not of another user's subscription.
            refusal = None if refusal.condition == Condition.RESOURCE_LOCKED else refusal
        elif passive and settings.exclusive and queue.owner is None:
            refusal = Refusal(Condition.RESOURCE_LOCKED, f"queue {queue.name!r} is not exclusive")
        if refusal is not None:
            return refusal
        if passive:
            return queue
        alternate = settings.alternate_exchange
        if queue.placement is not None:
            return self._redeclare_remote(queue, settings, owner)
        if alternate and alternate != queue.settings.alternate_exchange:
            return Refusal(Condition.NOT_ALLOWED, f"queue {queue.name!r} has another alternate")
        if settings.exclusive and queue.owner is None:
            if queue.users.subscriptions or not queue.settings.exclusive:
                return Refusal(Condition.RESOURCE_LOCKED, f"queue {queue.name!r} is shared")
            self._owners.give(queue, owner)
        return queue

    def _redeclare_remote(
        self, queue: Queue, settings: QueueSettings, owner: Owner
    ) -> Queue | Refusal:
        """The rules say what a remote queue is; but for the alternate that is named first.

        Exclusive is among the gateway's clients, for the life of `owner`; other gateways of a group
        would not know of it.
        """
        if settings.exclusive and not self._limits.local_nodes:
            return alone(queue.name)
        alternate = settings.alternate_exchange
        known = queue.settings.alternate_exchange
        if alternate and known and alternate != known:
            return Refusal(Condition.NOT_ALLOWED, f"queue {queue.name!r} has another alternate")
        if alternate and self._topology.find_exchange(alternate) is None:
            return not_found("alternate exchange", alternate)
        if settings.exclusive and queue.owner is None:
            if self._inlets.of(queue.name):
                return Refusal(Condition.RESOURCE_LOCKED, f"queue {queue.name!r} is shared")
            self._owners.give(queue, owner)
        if alternate and not known:
            queue.settings.alternate_exchange = alternate
            self._topology.count_alternate(alternate, 1)
        return queue

    def delete_at_upstream(
        self,
        name: str,
        waiter: LookUpWaiter,
        token: int,
        owner: Owner | None = None,
        *,
        if_unused: bool = False,
        if_empty: bool = False,
    ) -> bool | Refusal:
        """Have the upstream of a remote queue delete its node; `False`: the queue is local.

        `waiter.on_looked_up(token, refusal)` follows; then it is `delete_queue`'s turn.
        """
        queue = self._topology.find_queue(name)
        if queue is None or queue.placement is None:
            return False
        refusal = self._undeletable(queue, owner, if_unused, if_empty)
        if refusal is None and if_empty:
            text = f"how many messages queue {name!r} has is not known here"
            refusal = Refusal(Condition.NOT_IMPLEMENTED, text)
        if refusal is None:
            refusal = queue.placement.remote.delete(self._name, name, waiter, token)
        return True if refusal is None else refusal

    def purge_at_upstream(
        self, name: str, waiter: LookUpWaiter, token: int, owner: Owner | None = None
    ) -> bool | Refusal:
        """Have the upstream of a remote queue empty its node, or empty a long queue bit by bit.

        `waiter.on_looked_up(token, refusal)` follows; then it is `purge_queue`'s turn. `False`: it
        is at once.
        """
        queue = self._topology.find_queue(name)
        if queue is None:
            return False
        refusal = locked(queue, owner)
        if refusal is None and queue.placement is None:
            return self._settlement.clearing.purge(queue, waiter, token)
        if refusal is None and queue.placement is not None:
            refusal = queue.placement.remote.purge(self._name, name, waiter, token)
        return True if refusal is None else refusal

    def delete_queue(
        self,
        name: str,
        owner: Owner | None = None,
        *,
        if_unused: bool = False,
        if_empty: bool = False,
    ) -> Refusal | None:
        """Delete it; its messages go to its alternate exchange, else are dropped and counted.

        Subscribers are told (`on_cancelled`, resource-deleted); unsettled deliveries of `owner` can
        still be settled, those of others are taken back; without `owner` none is. Refused:
        not-found, resource-locked, precondition-failed. Of a remote queue: what the gateway has of
        it.
        """
        queue = self._topology.find_queue(name)
        if not name:
            return Refusal(Condition.INVALID_ARGUMENT, "a queue needs a name")
        if queue is None:
            return not_found("queue", name)
        refusal = self._undeletable(queue, owner, if_unused, if_empty)
        if refusal is not None:
            return refusal
        if queue.placement is not None:
            queue.placement.remote.unserve(queue)
        self._owners.delete(queue, EVERYBODY if owner is None else owner.owner_id())
        return None

    def _undeletable(
        self, queue: Queue, owner: Owner | None, if_unused: bool, if_empty: bool
    ) -> Refusal | None:
        name = queue.name
        refusal = locked(queue, owner)
        if refusal is not None:
            return refusal
        used = queue.users.subscriptions if queue.placement is None else len(self._inlets.of(name))
        if if_unused and used:
            return Refusal(Condition.PRECONDITION_FAILED, f"queue {name!r} has subscriptions")
        if if_empty and queue.depth:
            return Refusal(Condition.PRECONDITION_FAILED, f"queue {name!r} has messages")
        return None

    def purge_queue(self, name: str, owner: Owner | None = None) -> int | Refusal:
        """Drop all messages that nobody has acquired; their number. not-found, resource-locked.

        Of a remote queue: those that the gateway keeps.
        """
        queue = self._topology.find_queue(name)
        if queue is None:
            return not_found("queue", name)
        refusal = locked(queue, owner)
        if refusal is not None:
            return refusal
        if queue.transit:
            return 0  # What is on its way to the gateway was not in the queue yet.
        purged = self._settlement.purge(queue)
        self._topology.names.record(Reason.PURGE, queue.node, 0, queue.settings.durable, purged)
        return purged

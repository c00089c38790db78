"""One virtual host: the verbs that faces call, each answered by a value.

The rules of names are in `topology`, what happens to a copy that a subscriber is done with in
`settlement`; here the verbs put them together with routing, dispatch and ownership.
"""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Reason
from gateway.bridge.dispatch import Dispatcher, Line
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.nodes import Nodes
from gateway.bridge.numbers import Numbers
from gateway.bridge.places import Entry
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues import Queue
from gateway.bridge.refusals import locked, not_found, too_many
from gateway.bridge.remote import LookUpWaiter
from gateway.bridge.routing import Exchange
from gateway.bridge.seams import (
    Bound,
    Filter,
    Outlet,
    Owner,
    Published,
    Publisher,
    QueueSettings,
)
from gateway.bridge.settlement import Settlement
from gateway.bridge.subscription import Subscription
from gateway.bridge.topology import Topology
from gateway.bridge.transacting import Transacting
from gateway.bridge.transaction import Transaction
from gateway.bridge.transit import Transit
from gateway.message import NEVER, Condition, Delivery, Message, Outcome, Refusal
from gateway.wire.tagged import Tagged


@final
class Owned:
    """What hangs on one owner: subscriptions by number, exclusive queues by number."""

    __slots__ = ("queues", "subscriptions")

    def __init__(self) -> None:
        self.subscriptions: dict[int, Subscription] = {}
        self.queues: dict[int, Queue] = {}


@final
class VirtualHost:
    """The four verbs and the topology of one virtual host."""

    __slots__ = (
        "_dispatcher",
        "_limits",
        "_numbers",
        "_owned",
        "_publishing",
        "_settlement",
        "_transacting",
        "_transit",
        "name",
        "nodes",
        "topology",
    )

    def __init__(
        self,
        name: str,
        topology: Topology,
        dispatcher: Dispatcher,
        numbers: Numbers,
        limits: BridgeLimits,
    ) -> None:
        self.name = name
        self.topology = topology
        self._dispatcher = dispatcher
        self._numbers = numbers
        self._limits = limits
        self._publishing = Publishing(topology, dispatcher.copies)
        self.nodes = Nodes(name, topology, dispatcher, numbers, limits, self._publishing, self)
        self._transit = Transit(topology, dispatcher.copies, self._publishing, self.nodes)
        self._settlement = Settlement(topology, dispatcher, self._publishing, self._transit)
        self._transacting = Transacting(
            self._publishing, self._settlement, dispatcher.copies, numbers, limits
        )
        self._owned: dict[int, Owned] = {}

    def publish(
        self,
        message: Message,
        publisher: Publisher | None,
        token: int,
        link: int = 0,
        *,
        transaction: Transaction | None = None,
    ) -> Published:
        """Route `message` by its `exchange` and `routing_key` and put a copy in each queue.

        One copy a queue, however many bindings match. `DONE`: every copy is in its queue, nothing
        durable among them. `IN_TURN`: safe with the current turn (`Bridge.wait`). `PENDING`: the
        copies are in, but too much is held: `publisher.on_published(token, outcome)` when it is not
        (without a publisher the answer is as if there were room). `UNROUTABLE`: no queue took it,
        nor the exchange's alternate, which is tried once unless the message has
        `Flag.TELL_UNROUTABLE` or `Flag.DISCARD_UNROUTABLE`. `REFUSED`: nothing was enqueued;
        not-found (no such exchange) or resource-limit-exceeded (a queue is full). `link` is the
        publisher's number in the audit log (`Bridge.next_link_number`).

        In a `transaction` it is routed and checked now and held: `DONE`. Refused there, too:
        resource-limit-exceeded (it holds too much), not-implemented (a second resource).
        """
        if transaction is not None:
            return self._transacting.publish(message, link, transaction)
        return self._publishing.publish(message, publisher, token, link)

    def begin(self, connection: int) -> Transaction:
        """A transaction; `connection` is whose, in the audit log. One that is empty may be kept."""
        return self._transacting.begin(connection)

    def enlist(self, transaction: Transaction, deliveries: list[Delivery]) -> Refusal | None:
        """Whether unsettled deliveries may be accepted by the commit: not-implemented if not."""
        return self._transacting.enlist(transaction, deliveries)

    def commit(
        self,
        transaction: Transaction,
        deliveries: list[Delivery],
        publisher: Publisher,
        token: int,
    ) -> Published:
        """Do all that the transaction holds, and accept `deliveries` (see `enlist`), or nothing.

        `IN_TURN`: done; safe with the current turn. `PENDING`: `publisher.on_published(token,
        outcome)` follows, also without room; `REJECTED` says that it was rolled back, and the
        deliveries have gone back. `REFUSED`: rolled back; the deliveries are as they were.
        """
        return self._transacting.commit(transaction, deliveries, publisher, token)

    def rollback(self, transaction: Transaction) -> None:
        """Forget what it holds; deliveries that were to be accepted are as they were."""
        self._transacting.rollback(transaction)

    def subscribe(
        self,
        queue: str,
        outlet: Outlet,
        owner: Owner,
        *,
        acquire: bool,
        exclusive: bool,
        settled: bool,
        filter: Filter | None = None,
        selector: str = "",
        no_local: bool = False,
    ) -> Subscription | Refusal:
        """Begin to take (`acquire`) or browse the messages of `queue`; starts without credit.

        On a remote queue the subscription is `attaching` until `Outlet.on_attached`, or
        `on_cancelled`; `selector` and `no_local` are the upstream's affair there, and for a local
        queue `filter` is what counts. Refused: not-found; resource-locked (the queue is exclusive
        to another owner, or a subscription of it is exclusive, or `exclusive` was asked and there
        are others); resource-limit-exceeded.
        """
        found = self.topology.find_queue(queue)
        if found is None:
            return not_found("queue", queue)
        if found.placement is not None:
            refusal = locked(found, owner)
            if refusal is not None:
                return refusal
            subscription = self.nodes.subscribe(
                found,
                found.placement,
                outlet,
                owner,
                acquire=acquire,
                exclusive=exclusive,
                settled=settled,
                selector=selector,
                no_local=no_local,
            )
            if isinstance(subscription, Subscription):
                self._owned_by(owner).subscriptions[subscription.number] = subscription
            return subscription
        refusal = self._check_subscription(found, owner, exclusive)
        if refusal is not None:
            return refusal
        return self._join(
            found,
            outlet,
            owner,
            acquire=acquire,
            exclusive=exclusive,
            settled=settled,
            filter=filter,
        )

    def relay(self, queue: Queue, outlet: Outlet, owner: Owner) -> Subscription:
        """Take what is in the queue in front of an upstream, to send it there: for `Remote.serve`.

        What its `settle` means is said in `transit`: `REJECTED` goes by the rules of the node,
        `RELEASED` and `MODIFIED` end the copy if its publisher takes them (`Flag.OUTCOMES`), unless
        a reason says that the upstream's answer is not known. `DeliverStatus.REFUSED` is as
        rejected. The outlet is the only one on the queue.
        """
        return self._join(
            queue, outlet, owner, acquire=True, exclusive=True, settled=False, filter=None
        )

    def _join(
        self,
        found: Queue,
        outlet: Outlet,
        owner: Owner,
        *,
        acquire: bool,
        exclusive: bool,
        settled: bool,
        filter: Filter | None,
    ) -> Subscription:
        line = self.topology.lines[found.number]
        subscription = Subscription(
            self._numbers.next_link(),
            found,
            outlet,
            owner,
            line,
            acquire=acquire,
            exclusive=exclusive,
            settled=settled,
            filter=filter,
        )
        self.topology.mark_dispatched(found)
        found.delete_at_ms = NEVER
        line.join(subscription)
        self._owned_by(owner).subscriptions[subscription.number] = subscription
        return subscription

    def _check_subscription(self, queue: Queue, owner: Owner, exclusive: bool) -> Refusal | None:
        refusal = locked(queue, owner)
        if refusal is not None:
            return refusal
        others = self.topology.lines[queue.number].subscriptions
        if len(others) >= self._limits.subscriptions_max:
            return too_many("subscriptions")
        if exclusive and others:
            return Refusal(Condition.RESOURCE_LOCKED, f"queue {queue.name!r} has subscriptions")
        for other in others.values():
            if other.exclusive:
                return Refusal(
                    Condition.RESOURCE_LOCKED, f"queue {queue.name!r} has an exclusive subscription"
                )
            break  # An exclusive one is alone.
        return None

    def settle(self, delivery: Delivery, outcome: Outcome, reason: Reason = Reason.NONE) -> bool:
        """End `delivery`; `False` when it had ended before (audited as settled too late).

        Of an acquired delivery: `ACCEPTED` removes the copy; `RELEASED` gives it back to its place;
        `MODIFIED` too, counted as failed with `delivery_failed`, kept from this subscription with
        `undeliverable_here`; `REJECTED` sends it to the queue's alternate exchange, else drops it.
        A browsed one just ends. What was durable is safe with the current turn (`Bridge.wait`).
        `reason` (session ended, connection lost, link detached ...) with `RELEASED` or `MODIFIED`:
        it was not the peer's doing, and is audited as requeued.
        """
        return self._settlement.settle(delivery, outcome, reason)

    def look_up(self, name: str, waiter: LookUpWaiter, token: int) -> bool:
        """Whether to wait for `waiter.on_looked_up(token, refusal)`: an upstream was asked.

        `False` for local and unknown names: what is known here is the answer.
        """
        queue = self.topology.find_queue(name)
        if queue is None or queue.placement is None:
            return False
        return queue.placement.remote.look_up(self.name, name, waiter, token)

    def acquire(self, delivery: Delivery) -> bool:
        """Make a browsed, unsettled delivery an acquired one; `False` if the copy is not free.

        Also `False` for what was browsed in a remote queue: we hold it, but the upstream gave a
        copy.
        """
        return self._settlement.acquire(delivery)

    def release_owner(self, owner: Owner) -> None:
        """A session or connection ended: its subscriptions, scoped bindings, exclusive queues.

        The face settles what is unsettled first (`MODIFIED_FAILED`).
        """
        self.topology.bindings.end_scope(owner)
        owned = self._owned.get(owner.owner_id())
        if owned is None:
            return
        for subscription in list(owned.subscriptions.values()):
            subscription.cancel()
        for queue in list(owned.queues.values()):
            queue.owner = None
            owned.queues.pop(queue.number, None)
            if queue.settings.auto_delete and not queue.deleted:
                self._delete_unused(queue)
        self._owned.pop(owner.owner_id(), None)

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
    ) -> Exchange | Refusal:
        """Make an exchange of `type` direct, topic, fanout or headers, or check that it is there.

        An existing one: its type (when `type` is given) and its alternate (when one is given) must
        be the same, else not-allowed; all else is ignored. Refused too: not-found (passive and not
        there; unknown type or alternate), not-allowed (reserved name), invalid-argument (no name).
        """
        topology = self.topology
        exchange = topology.check_exchange(name, type, alternate_exchange, passive)
        if exchange is not None:
            return exchange
        exchange = topology.add_exchange(
            name,
            type,
            durable=durable,
            auto_delete=auto_delete,
            alternate_exchange=alternate_exchange,
            arguments=arguments,
        )
        topology.count_alternate(alternate_exchange, 1)
        topology.store_exchange(exchange)
        return exchange

    def delete_exchange(self, name: str, if_unused: bool = False) -> Refusal | None:
        """Delete it and its bindings.

        Refused: not-found, not-allowed (predeclared, or an alternate of something),
        precondition-failed (`if_unused` and it has bindings), invalid-argument (no name).
        """
        exchange = self.topology.check_exchange_deletion(name, if_unused)
        if isinstance(exchange, Refusal):
            return exchange
        self.topology.remove_exchange(exchange)
        return None

    def declare_queue(
        self, name: str, settings: QueueSettings, owner: Owner, *, passive: bool = False
    ) -> Queue | Refusal:
        """Make a queue, or check that it is there.

        An existing one keeps its settings. Refused: resource-locked (exclusive to another owner, or
        exclusive asked while others use it), not-allowed (another alternate), not-found (passive
        and not there; unknown alternate), invalid-argument (no name).
        """
        queue = self.topology.find_queue(name)
        if queue is not None:
            return self._redeclare(queue, settings, owner, passive)
        if passive:
            return not_found("queue", name)
        refusal = self.topology.check_new_queue(name, settings)
        if refusal is not None:
            return refusal
        queue = self.topology.add_queue(
            self._numbers.next_queue(), name, settings, self._numbers.first_position
        )
        self.add_line(queue)
        if settings.exclusive:
            self._give(queue, owner)
        self.topology.store_queue(queue)
        return queue

    def _redeclare(
        self, queue: Queue, settings: QueueSettings, owner: Owner, passive: bool
    ) -> Queue | Refusal:
        refusal = locked(queue, owner)
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
            if queue.subscriptions or not queue.settings.exclusive:
                return Refusal(Condition.RESOURCE_LOCKED, f"queue {queue.name!r} is shared")
            self._give(queue, owner)
        return queue

    def _redeclare_remote(
        self, queue: Queue, settings: QueueSettings, owner: Owner
    ) -> Queue | Refusal:
        """The rules say what a remote queue is; but for the alternate that is named first.

        Exclusive is among our own clients, for the life of `owner`.
        """
        alternate = settings.alternate_exchange
        known = queue.settings.alternate_exchange
        if alternate and known and alternate != known:
            return Refusal(Condition.NOT_ALLOWED, f"queue {queue.name!r} has another alternate")
        if alternate and self.topology.find_exchange(alternate) is None:
            return not_found("alternate exchange", alternate)
        if settings.exclusive and queue.owner is None:
            if queue.name in self.nodes.inlets:
                return Refusal(Condition.RESOURCE_LOCKED, f"queue {queue.name!r} is shared")
            self._give(queue, owner)
        if alternate and not known:
            queue.settings.alternate_exchange = alternate
            self.topology.count_alternate(alternate, 1)
        return queue

    def _give(self, queue: Queue, owner: Owner) -> None:
        queue.owner = owner
        queue.delete_at_ms = NEVER
        self._owned_by(owner).queues[queue.number] = queue

    def delete_there(
        self,
        name: str,
        waiter: LookUpWaiter,
        token: int,
        owner: Owner | None = None,
        *,
        if_unused: bool = False,
        if_empty: bool = False,
    ) -> bool | Refusal:
        """Delete a remote queue's node; `False`: the queue is local, nothing is to be done there.

        `waiter.on_looked_up(token, refusal)` follows; then it is `delete_queue`'s turn.
        """
        queue = self.topology.find_queue(name)
        if queue is None or queue.placement is None:
            return False
        refusal = self._undeletable(queue, owner, if_unused, if_empty)
        if refusal is None and if_empty:
            text = f"how many messages queue {name!r} has is not known here"
            refusal = Refusal(Condition.NOT_IMPLEMENTED, text)
        if refusal is None:
            refusal = queue.placement.remote.delete(self.name, name, waiter, token)
        return True if refusal is None else refusal

    def purge_there(
        self, name: str, waiter: LookUpWaiter, token: int, owner: Owner | None = None
    ) -> bool | Refusal:
        """Empty a remote queue's node, as `delete_there` deletes it; then `purge_queue`."""
        queue = self.topology.find_queue(name)
        if queue is None or queue.placement is None:
            return False
        refusal = locked(queue, owner)
        if refusal is None:
            refusal = queue.placement.remote.purge(self.name, name, waiter, token)
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

        Subscribers are told (`on_cancelled`, resource-deleted); their unsettled deliveries can
        still be settled. Refused: not-found, resource-locked, precondition-failed. Of a remote
        queue: what there is of it here.
        """
        queue = self.topology.find_queue(name)
        if not name:
            return Refusal(Condition.INVALID_ARGUMENT, "a queue needs a name")
        if queue is None:
            return not_found("queue", name)
        refusal = self._undeletable(queue, owner, if_unused, if_empty)
        if refusal is not None:
            return refusal
        if queue.placement is not None:
            queue.placement.remote.unserve(queue)
        self._delete(queue)
        return None

    def _undeletable(
        self, queue: Queue, owner: Owner | None, if_unused: bool, if_empty: bool
    ) -> Refusal | None:
        name = queue.name
        refusal = locked(queue, owner)
        if refusal is not None:
            return refusal
        used = queue.subscriptions if queue.placement is None else name in self.nodes.inlets
        if if_unused and used:
            return Refusal(Condition.PRECONDITION_FAILED, f"queue {name!r} has subscriptions")
        if if_empty and queue.depth:
            return Refusal(Condition.PRECONDITION_FAILED, f"queue {name!r} has messages")
        return None

    def purge_queue(self, name: str, owner: Owner | None = None) -> int | Refusal:
        """Drop all messages that nobody has acquired; their number. not-found, resource-locked.

        Of a remote queue: those that are kept here.
        """
        queue = self.topology.find_queue(name)
        if queue is None:
            return not_found("queue", name)
        refusal = locked(queue, owner)
        if refusal is not None:
            return refusal
        if queue.transit:
            return 0  # What is on its way here was not in the queue yet.
        return self._settlement.purge(queue)

    def bind(
        self,
        queue: str,
        exchange: str,
        key: str,
        arguments: dict[str, Tagged],
        encoded: bytes,
        owner: Owner | None = None,
        *,
        scoped: bool = False,
    ) -> Refusal | None:
        """Bind; a second binding of the same queue, exchange and key changes nothing.

        `scoped`: it is not stored, and ends with `owner`, unless somebody binds the same otherwise.
        `arguments` have codes of `Kind` (the match of a headers exchange), `encoded` is how they
        came. Refused: not-found, resource-locked, invalid-argument (default exchange, empty queue
        name, unknown x-match), resource-limit-exceeded.
        """
        refusal = self.topology.bindings.check(queue, exchange, owner)
        if refusal is not None:
            return refusal
        scope = owner if scoped else None
        return self.topology.bindings.add(queue, exchange, key, arguments, encoded, scope)

    def unbind(
        self, queue: str, exchange: str, key: str, owner: Owner | None = None
    ) -> Refusal | None:
        """Unbind. Refused: not-found (queue, exchange or binding), invalid-argument."""
        refusal = self.topology.bindings.check(queue, exchange, owner)
        if refusal is not None:
            return refusal
        found = self.topology.exchanges[exchange]
        binding = found.bindings.get((queue, key))
        if binding is None:
            return not_found("binding", key)
        self.topology.bindings.remove(found, binding)
        return None

    def queue(self, name: str) -> Queue | None:
        """The queue of that name."""
        return self.topology.find_queue(name)

    def exchange(self, name: str) -> Exchange | None:
        """The exchange of that name; "" is the default exchange."""
        return self.topology.find_exchange(name)

    def bound(
        self,
        exchange: str,
        queue: str | None = None,
        key: str | None = None,
        arguments: dict[str, Tagged] | None = None,
    ) -> Bound:
        """Whether there is a binding with the parts that are given (`None` is "any")."""
        return self.topology.bindings.bound(exchange, queue, key, arguments)

    def add_line(self, queue: Queue) -> None:
        """A new queue can be subscribed to: for `declare_queue` and recovery."""
        self.topology.lines[queue.number] = self.make_line(queue)

    def make_line(self, queue: Queue) -> Line:
        """As `nodes.LineMaker`."""
        return Line(queue, self._dispatcher, self)

    def on_subscription_left(self, subscription: Subscription) -> None:
        """As `dispatch.Left`."""
        owner_id = subscription.owner.owner_id()
        owned = self._owned.get(owner_id)
        if owned is not None:
            owned.subscriptions.pop(subscription.number, None)
            if not owned.subscriptions and not owned.queues:
                del self._owned[owner_id]
        queue = subscription.queue
        if queue.inbound:
            self.nodes.on_left(subscription)
            return
        # An exclusive queue is deleted when its owner ends (0-10 queue.declare, auto-delete).
        if queue.settings.auto_delete and queue.owner is None:
            self._delete_unused(queue)

    def on_link_gone(self, subscription: Subscription) -> None:
        """As `dispatch.Left`."""
        self._settlement.forget_link(subscription)

    def on_unsendable(self, queue: Queue, entry: Entry, refusal: Refusal | None) -> None:
        """As `dispatch.Left`."""
        self._transit.on_unsendable(queue, entry, refusal)

    def on_recovered(self, queue: Queue) -> None:
        """A queue is back, its owner is not: who was exclusive for its life is deleted."""
        if queue.settings.exclusive and queue.settings.auto_delete:
            self._delete_unused(queue)

    def on_deadline(self, queue: Queue, now_ms: int) -> None:
        """The time that `Deadlines` had for `queue` has come."""
        if queue.deleted:
            return
        if queue.delete_at_ms != NEVER and queue.delete_at_ms <= now_ms:
            self._delete(queue)
        elif queue.delete_at_ms != NEVER:
            self._dispatcher.copies.deadlines.arm(queue, queue.delete_at_ms)

    def _delete_unused(self, queue: Queue) -> None:
        """An auto-delete queue has lost its last user, perhaps."""
        if queue.deleted or queue.subscriptions:
            return
        timeout_ms = queue.settings.auto_delete_timeout_ms
        if timeout_ms == 0:
            self._delete(queue)
            return
        copies = self._dispatcher.copies
        queue.delete_at_ms = copies.ledger.now_ms + timeout_ms
        copies.deadlines.arm(queue, queue.delete_at_ms)

    def _delete(self, queue: Queue) -> None:
        line = self.topology.lines[queue.number]
        unused = queue.links == 0
        if queue.owner is not None:
            owned = self._owned.get(queue.owner.owner_id())
            if owned is not None:
                owned.queues.pop(queue.number, None)
            queue.owner = None
        self.topology.remove_queue(queue)
        self._numbers.queue_deleted(queue.next_position)
        self._settlement.abandon(queue)
        line.cancel_all(Condition.RESOURCE_DELETED, f"queue {queue.name!r} was deleted")
        if unused:
            self.topology.forget_queue(queue)

    def _owned_by(self, owner: Owner) -> Owned:
        owner_id = owner.owner_id()
        owned = self._owned.get(owner_id)
        if owned is None:
            owned = Owned()
            self._owned[owner_id] = owned
        return owned

"""One virtual host: the verbs that faces call, each answered by a value.

What each verb promises stands here; what it does is in `publishing`, `subscribing`, `settlement`,
`transacting` and `declaring`. The rules of names are in `topology` and `bindings`, what hangs on a
session or connection in `owners`.
"""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Reason
from gateway.bridge.declaring import Declaring
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.owners import Owners
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.dispatch import Dispatcher, Line
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.refusals import not_found
from gateway.bridge.remote.nodes import Nodes
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.remote.transit import Transit
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
from gateway.bridge.subscribing import Subscribing
from gateway.bridge.topology import Topology
from gateway.bridge.transacting import Transacting
from gateway.bridge.transaction import Transaction
from gateway.message import Delivery, Message, Outcome, Refusal
from gateway.wire.tagged import Tagged


@final
class VirtualHost:
    """The four verbs and the topology of one virtual host."""

    __slots__ = (
        "_declaring",
        "_dispatcher",
        "_owners",
        "_publishing",
        "_settlement",
        "_subscribing",
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
        self._publishing = Publishing(topology, dispatcher.copies)
        self.nodes = Nodes(name, topology, dispatcher, numbers, limits, self._publishing, self)
        self._transit = Transit(topology, dispatcher.copies, self._publishing, self.nodes)
        self._settlement = Settlement(topology, dispatcher, self._publishing, self._transit)
        self._transacting = Transacting(
            self._publishing, self._settlement, dispatcher.copies, numbers, limits
        )
        self._owners = Owners(topology, dispatcher, numbers, self._settlement)
        self._subscribing = Subscribing(topology, self.nodes, self._owners, numbers, limits)
        self._declaring = Declaring(
            name, topology, self.nodes, self._owners, numbers, self._settlement, self
        )

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
        copies are in, but one goes to an upstream, or too much is held:
        `publisher.on_published(token, outcome)` follows at the end of a turn (without a publisher
        the answer is as if there were room); released, modified and rejected of an upstream are
        told as they are to who has `Flag.OUTCOMES`. `UNROUTABLE`: no queue took it,
        nor the exchange's alternate, which is tried once unless the message has
        `Flag.TELL_UNROUTABLE` or `Flag.DISCARD_UNROUTABLE`. `REFUSED`: nothing was enqueued;
        not-found (no such exchange) or resource-limit-exceeded (a queue is full). `link` is the
        publisher's number in the audit log (`Bridge.next_link_number`).

        In a `transaction` it is routed and checked now and held: `DONE`; to an upstream it goes at
        once, `PENDING`, and the outcome is what it will be if the transaction is committed; only
        who asked for outcomes hears one other than accepted, everybody hears it of the commit.
        Refused there, too: resource-limit-exceeded (it holds too much), not-implemented (a second
        resource).
        """
        if transaction is not None:
            return self._transacting.publish(message, publisher, token, link, transaction)
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
        deliveries have gone back as failed; with `Condition.IN_DOUBT` nobody knows its end.
        `REFUSED`: rolled back; the deliveries are as they were. Deliveries that are to have another
        outcome, or another fate if it fails, are in `transaction.retirements` before.
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
        return self._subscribing.subscribe(
            queue,
            outlet,
            owner,
            acquire=acquire,
            exclusive=exclusive,
            settled=settled,
            filter=filter,
            selector=selector,
            no_local=no_local,
        )

    def relay(self, queue: Queue, outlet: Outlet, owner: Owner) -> Subscription:
        """Take what is in the queue in front of an upstream, to send it there: for `Remote.serve`.

        What its `settle` means is said in `transit`: `REJECTED` goes by the rules of the node,
        `RELEASED` and `MODIFIED` end the copy if its publisher takes them (`Flag.OUTCOMES`), unless
        a reason says that the upstream's answer is not known. `DeliverStatus.REFUSED` is as
        rejected. The outlet is the only one on the queue.
        """
        return self._subscribing.relay(queue, outlet, owner)

    def settle(self, delivery: Delivery, outcome: Outcome, reason: Reason = Reason.NONE) -> bool:
        """End `delivery`; `False`, audited as settled too late, when it had ended before.

        Also `False` when its upstream has taken it back.
        Of an acquired delivery: `ACCEPTED` removes the copy; `RELEASED` gives it back to its place;
        `MODIFIED` too, counted as failed with `delivery_failed`, kept from this subscription with
        `undeliverable_here`, its annotations in place of the copy's (they follow it to an alternate
        exchange and over a restart); `REJECTED` sends it to the queue's alternate exchange, else
        drops it. A browsed one just ends. What was durable is safe with the current turn
        (`Bridge.wait`).
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

    def reach(self, name: str, waiter: LookUpWaiter, token: int) -> bool:
        """Whether to wait for `waiter.on_looked_up(token, refusal)` before publishing to a queue.

        `False` for local and unknown names, where messages are kept here, and where the upstream is
        known to have the node, or cannot be asked: then they wait for it. An upstream that does not
        say so soon is taken to have it.
        """
        queue = self.topology.find_queue(name)
        placement = None if queue is None else queue.placement
        if queue is None or placement is None or placement.spool or placement.rests:
            return False
        return placement.remote.reach(queue, waiter, token)

    def reach_binding(
        self, queue: str, exchange: str, key: str, waiter: LookUpWaiter, token: int
    ) -> bool:
        """Whether to wait for `waiter.on_looked_up(token, None)` until a binding takes effect.

        `False` for local exchanges, and where the upstream feeds it already, does not want to, or
        cannot be asked: then it takes effect later. The waiter is told, too, when
        the upstream does not want to, or does not say so soon.
        """
        feed = self.nodes.feeds.get((exchange, queue, key))
        return feed is not None and feed.reach(waiter, token)

    def acquire(self, delivery: Delivery) -> bool:
        """Make a browsed, unsettled delivery an acquired one; `False` if the copy is not free.

        Also `False` for what was browsed in a remote queue: we hold it, but the upstream gave a
        copy.
        """
        return self._settlement.acquire(delivery)

    def is_from_upstream(self, delivery: Delivery) -> bool:
        """Whether an unsettled delivery is of a remote queue."""
        return self._settlement.queue_of(delivery).inbound

    def release_owner(self, owner: Owner) -> None:
        """A session or connection ended: its subscriptions, scoped bindings, exclusive queues.

        The face settles what is unsettled first (`MODIFIED_FAILED`).
        """
        self._owners.release(owner)

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
        return self._declaring.declare(name, settings, owner, passive=passive)

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
        return self._declaring.delete_there(
            name, waiter, token, owner, if_unused=if_unused, if_empty=if_empty
        )

    def purge_there(
        self, name: str, waiter: LookUpWaiter, token: int, owner: Owner | None = None
    ) -> bool | Refusal:
        """Empty a remote queue's node, as `delete_there` deletes it; then `purge_queue`."""
        return self._declaring.purge_there(name, waiter, token, owner)

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
        return self._declaring.delete(name, owner, if_unused=if_unused, if_empty=if_empty)

    def purge_queue(self, name: str, owner: Owner | None = None) -> int | Refusal:
        """Drop all messages that nobody has acquired; their number. not-found, resource-locked.

        Of a remote queue: those that are kept here.
        """
        return self._declaring.purge(name, owner)

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
        self._owners.left(subscription)
        queue = subscription.queue
        if queue.inbound:
            self.nodes.on_left(subscription)
            return
        # An exclusive queue is deleted when its owner ends (0-10 queue.declare, auto-delete).
        if queue.settings.auto_delete and queue.owner is None:
            self._owners.delete_unused(queue)

    def on_link_gone(self, subscription: Subscription) -> None:
        """As `dispatch.Left`."""
        self._settlement.forget_link(subscription)

    def on_unsendable(self, queue: Queue, entry: Entry, refusal: Refusal | None) -> None:
        """As `dispatch.Left`."""
        self._transit.on_unsendable(queue, entry, refusal)

    def on_recovered(self, queue: Queue) -> None:
        """A queue is back, its owner is not: who was exclusive for its life is deleted."""
        if queue.deleted:
            self._settlement.end_deleted(queue)
        elif queue.settings.exclusive and queue.settings.auto_delete:
            self._owners.delete_unused(queue)

    def on_deadline(self, queue: Queue, now_ms: int) -> None:
        """The time that `Deadlines` had for `queue` has come."""
        self._owners.on_deadline(queue, now_ms)

"""Who takes from which queue: the verb subscribe, for clients and for relays.

A remote queue has no line of its own for clients: `inlets` makes each an inlet.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.owners import Owners
from gateway.bridge.queues.latency import UPSTREAM, Latency
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.refusals import alone, crowded, locked, not_found, reserved
from gateway.bridge.remote.inlets import Inlets
from gateway.bridge.seams import Outlet, Owner, SubscribeOptions
from gateway.bridge.topology import Topology
from gateway.message import NEVER, Refusal


@final
class Subscribing:
    """Begins subscriptions; how they end, their lines say."""

    __slots__ = ("_inlets", "_latency", "_limits", "_numbers", "_owners", "_topology")

    def __init__(
        self,
        topology: Topology,
        inlets: Inlets,
        owners: Owners,
        numbers: Numbers,
        limits: BridgeLimits,
        latency: Latency,
    ) -> None:
        self._topology = topology
        self._inlets = inlets
        self._owners = owners
        self._numbers = numbers
        self._limits = limits
        self._latency = latency

    def subscribe(
        self,
        queue: str,
        outlet: Outlet,
        owner: Owner,
        options: SubscribeOptions,
    ) -> Subscription | Refusal:
        """Begin to take or browse the messages of `queue`; starts without credit.

        On a remote queue the subscription is `attaching` until `Outlet.on_attached`, or
        `on_cancelled`. Refused: not-found; resource-locked (the queue is exclusive to another
        owner, or a temporary one of another connection, or a subscription of it is exclusive, or an
        exclusive one was asked and there are others); resource-limit-exceeded.
        """
        found = self._topology.find_queue(queue)
        if found is None:
            return not_found("queue", queue)
        taken = reserved(f"queue {queue!r}", found.settings.serves, owner)
        if taken is not None:
            return taken
        if found.placement is not None:
            refusal = locked(found, owner)
            if refusal is None and options.exclusive and not self._limits.local_nodes:
                refusal = alone(queue)
            if refusal is not None:
                return refusal
            subscription = self._inlets.subscribe(found, found.placement, outlet, owner, options)
            if isinstance(subscription, Subscription):
                self._owners.subscribed(subscription)
            return subscription
        refusal = self._check_subscription(found, owner, options.exclusive)
        if refusal is not None:
            return refusal
        return self._join(found, outlet, owner, options)

    def subscribe_there(
        self, exchange: Exchange, outlet: Outlet, owner: Owner, options: SubscribeOptions
    ) -> Subscription | Refusal:
        """Begin, or go on with, a durable subscription that the exchange's upstream keeps.

        Nothing of it lives here (`SubscribeOptions.kept_there`); it is `attaching` as above.
        """
        placement, kept = exchange.placement, options.kept_there
        assert placement is not None and kept is not None
        subscription = self._inlets.subscribe_there(kept.name, placement, outlet, owner, options)
        if isinstance(subscription, Subscription):
            self._owners.subscribed(subscription)
        return subscription

    def relay(self, queue: Queue, outlet: Outlet, owner: Owner) -> Subscription:
        """Take what is in the queue in front of an upstream, to send it on: for `Remote.serve`.

        What its `settle` means is said in `transit`: `REJECTED` goes by the rules of the node,
        `RELEASED` and `MODIFIED` end the copy if its publisher takes them (`Flag.OUTCOMES`), unless
        a reason says that the upstream's answer is not known. `DeliverStatus.REFUSED` is as
        rejected. The outlet is the only one on the queue.
        """
        return self._join(queue, outlet, owner, SubscribeOptions(exclusive=True, target=UPSTREAM))

    def _join(
        self, found: Queue, outlet: Outlet, owner: Owner, options: SubscribeOptions
    ) -> Subscription:
        line = self._topology.lines[found.number]
        number = self._numbers.next_link()
        runs = self._latency.settled_by(options.target, inbound=found.inbound)
        subscription = Subscription(number, found, outlet, owner, line, options, runs)
        self._topology.rows.mark_dispatched(found)
        found.users.delete_at_ms = NEVER
        line.join(subscription)
        self._owners.subscribed(subscription)
        return subscription

    def _check_subscription(self, queue: Queue, owner: Owner, exclusive: bool) -> Refusal | None:
        refusal = locked(queue, owner)
        if refusal is not None:
            return refusal
        others = self._topology.lines[queue.number].subscriptions
        first = next(iter(others.values()), None)  # An exclusive one is alone.
        return crowded(
            queue.name,
            len(others),
            alone=first is not None and first.exclusive,
            exclusive=exclusive,
            subscriptions_max=self._limits.subscriptions_max,
        )

"""The inlets of one virtual host: one for each subscription to a remote queue."""

from __future__ import annotations

from typing import Protocol, final

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.line import Line
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.refusals import crowded
from gateway.bridge.remote.inlet import Handover, QueueInlet
from gateway.bridge.remote.keeping import Keeping
from gateway.bridge.remote.remote import Placement
from gateway.bridge.remote.sources import Sources
from gateway.bridge.seams import Outlet, Owner, SubscribeOptions
from gateway.bridge.topology import Topology
from gateway.message import Refusal


class LineMaker(Protocol):
    """The virtual host, which lines belong to."""

    def make_line(self, queue: Queue) -> Line:
        """A line for `queue`."""


@final
class Inlets:
    """Makes them, and knows those whose subscription lives.

    Attributes:
        by_queue: by name of the queue and number of the subscription.
    """

    __slots__ = (
        "_dispatcher",
        "_keeping",
        "_limits",
        "_lines",
        "_numbers",
        "_sources",
        "_topology",
        "by_queue",
    )

    def __init__(
        self,
        topology: Topology,
        sources: Sources,
        keeping: Keeping,
        dispatcher: Dispatcher,
        numbers: Numbers,
        limits: BridgeLimits,
        lines: LineMaker,
    ) -> None:
        self._topology = topology
        self._sources = sources
        self._keeping = keeping
        self._dispatcher = dispatcher
        self._numbers = numbers
        self._limits = limits
        self._lines = lines
        self.by_queue: dict[str, dict[int, QueueInlet]] = {}

    def subscribe(
        self,
        queue: Queue,
        placement: Placement,
        outlet: Outlet,
        owner: Owner,
        options: SubscribeOptions,
    ) -> Subscription | Refusal:
        """An inlet, and its subscription, which is attaching."""
        return self.subscribe_there(
            queue.name, placement.takers or placement, outlet, owner, options
        )

    def subscribe_there(
        self,
        name: str,
        placement: Placement,
        outlet: Outlet,
        owner: Owner,
        options: SubscribeOptions,
    ) -> Subscription | Refusal:
        """The same of what has a name at the upstream, a queue's or a subscription's."""
        others = self.by_queue.get(name, {})
        first = next(iter(others.values()), None)  # An exclusive one is alone.
        refusal = crowded(
            name,
            len(others),
            alone=first is not None and first.exclusive,
            exclusive=options.exclusive,
            subscriptions_max=self._limits.subscriptions_max,
        )
        if refusal is not None:
            return refusal
        behind = self._behind(name, placement)
        inlet = QueueInlet(
            behind,
            self._lines.make_line(behind),
            self._dispatcher,
            self._sources.of(placement.remote),
            self._keeping,
            link=self._numbers.next_link(),
            prefetch=self._limits.remote_prefetch,
            options=options,
        )
        subscription = Subscription(
            self._numbers.next_link(),
            behind,
            Handover(inlet, outlet, not options.acquire),
            owner,
            inlet,
            SubscribeOptions(exclusive=options.exclusive, settled=options.settled),
            self._dispatcher.copies.ledger.latency.settled_by(options.target, inbound=True),
        )
        inlet.begin(subscription)
        self.by_queue.setdefault(name, {})[subscription.number] = inlet
        inlet.connect(placement.remote.open(inlet))
        return subscription

    def on_left(self, subscription: Subscription) -> None:
        """The subscription of an inlet is cancelled."""
        name = subscription.queue_name
        inlets = self.by_queue.get(name)
        if inlets is not None:
            inlets.pop(subscription.number, None)
            if not inlets:
                del self.by_queue[name]

    def of(self, queue: str) -> list[QueueInlet]:
        """Those of a queue."""
        return list(self.by_queue.get(queue, {}).values())

    def stop(self) -> None:
        """Nothing more is sent to clients."""
        for inlets in self.by_queue.values():
            for inlet in inlets.values():
                inlet.stop()

    def _behind(self, name: str, placement: Placement) -> Queue:
        """A transit queue behind the upstream, for one subscription to its queue `name`."""
        number = self._numbers.next_queue()
        text = f"{name} from {placement.remote.name}"
        first = self._numbers.first_position
        queue = self._topology.make_transit(number, name, text, placement, first)
        queue.inbound = True
        return queue

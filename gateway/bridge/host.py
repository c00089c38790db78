"""One virtual host: its parts, which callers hold and call, and what spans them.

Each verb is a method of the part that does it, and promises what its docstring says: publish of
`publishing`, subscribe of `subscribing`, settle of `settlement`, transactions of `transacting`,
distributed ones of `branches`, declare and delete of `declaring`, bind of `bindings`, questions to
upstreams of `reaching`, names of `topology`. The host itself is what the parts call when one of
them cannot do it alone.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.branches.branches import Branches
from gateway.bridge.declaring import Declaring
from gateway.bridge.durable.subscriptions import DurableSubscriptions
from gateway.bridge.exchanges.bindings import Bindings
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.owners import Owners
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.line import Line
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.remote.nodes import Nodes
from gateway.bridge.remote.reaching import Reaching
from gateway.bridge.remote.transit import Transit
from gateway.bridge.settlement import Settlement
from gateway.bridge.staging.area import StagingArea
from gateway.bridge.subscribing import Subscribing
from gateway.bridge.topology import Topology
from gateway.bridge.transacting import Transacting
from gateway.message import MessageReader, Refusal


@final
class VirtualHost:
    """The parts of one virtual host. Implements `dispatch.Left` and `inlets.LineMaker`.

    Attributes:
        topology: exchanges and queues by name.
        bindings: between them.
        declaring: exchanges and queues come and go; `durable_subscriptions`: those with a user.
        publishing, subscribing, settlement, transacting: messages come in, go out and end.
        branches: distributed transactions.
        owners: what hangs on a session or connection.
        nodes: what is at upstreams; `reaching` asks those.
        staging: content that is not whole yet, or not published.
        reader: looks inside its messages.
    """

    __slots__ = (
        "_dispatcher",
        "_transit",
        "bindings",
        "branches",
        "declaring",
        "durable_subscriptions",
        "name",
        "nodes",
        "owners",
        "publishing",
        "reaching",
        "reader",
        "settlement",
        "staging",
        "subscribing",
        "topology",
        "transacting",
    )

    def __init__(
        self,
        name: str,
        topology: Topology,
        dispatcher: Dispatcher,
        numbers: Numbers,
        limits: BridgeLimits,
        reader: MessageReader,
    ) -> None:
        self.name = name
        self.reader = reader
        self.topology = topology
        self.bindings: Bindings = topology.bindings
        self._dispatcher = dispatcher
        copies = dispatcher.copies
        self.staging = StagingArea(name, copies.turns, copies.pressure, limits)
        self.publishing = Publishing(topology, dispatcher.copies, numbers)
        topology.bindings.repeating = self.publishing
        self.nodes = Nodes(name, topology, dispatcher, numbers, limits, self.publishing, self)
        self._transit = Transit(topology, dispatcher.copies, self.publishing, self.nodes)
        self.settlement = Settlement(topology, dispatcher, self.publishing, self._transit)
        self.transacting = Transacting(
            self.publishing, self.settlement, dispatcher.copies, numbers, limits
        )
        self.branches = Branches(
            name,
            topology.names,
            self.transacting,
            self.settlement,
            dispatcher.copies,
            numbers,
            limits,
        )
        self.owners = Owners(topology, dispatcher, numbers, self.settlement)
        self.publishing.displacing.destroys = self.owners
        self.subscribing = Subscribing(
            topology, self.nodes.inlets, self.owners, numbers, limits, copies.ledger.latency
        )
        self.declaring = Declaring(
            name,
            topology,
            self.nodes.inlets,
            self.owners,
            numbers,
            self.settlement,
            limits,
            self,
        )
        self.durable_subscriptions = DurableSubscriptions(topology, self.declaring, limits)
        self.reaching = Reaching(name, topology, self.nodes.feeds)

    def add_line(self, queue: Queue) -> None:
        """A recovered queue can be subscribed to."""
        self.topology.lines[queue.number] = self.make_line(queue)

    def make_line(self, queue: Queue) -> Line:
        """What dispatches from `queue`, and tells this host who left."""
        self.owners.attend(queue)
        return Line(queue, self._dispatcher, self)

    def on_subscription_left(self, subscription: Subscription) -> None:
        """It was cancelled: it is no longer its owner's, and may have been its queue's last."""
        self.owners.left(subscription)
        queue = subscription.queue
        if queue.inbound:
            self.nodes.inlets.on_left(subscription)
            return
        if queue.settings.auto_delete:
            self.owners.delete_unused(queue)

    def on_link_gone(self, subscription: Subscription) -> None:
        """It was cancelled, and nothing of it is unsettled any more."""
        self.settlement.forget_link(subscription)

    def on_unsendable(self, queue: Queue, entry: Entry, refusal: Refusal | None) -> None:
        """A copy of a remote queue that its only outlet cannot send; `refusal`: nor any other."""
        self._transit.on_unsendable(queue, entry, refusal)

    def on_recovered(self, queue: Queue) -> None:
        """A queue is back, its owner is not: who was exclusive for its life is deleted."""
        if queue.deleted:
            self.settlement.end_deleted(queue)
        elif queue.settings.exclusive and queue.settings.auto_delete:
            self.owners.delete_unused(queue)
        else:
            self.publishing.displacing.recovered(queue)

"""The remote nodes of one virtual host: what the rules say is at an upstream, made when asked for.

A remote queue is a transit queue (or, with a spool, a durable one) that its upstream serves; a
remote exchange routes everything to one transit queue of its own, and what is bound to it is fed by
a link; a subscription to a remote queue is an inlet. `upstream.NAME` is an exchange whose keys are
addresses at that upstream.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.durable.topology_rows import row_key
from gateway.bridge.exchanges.exchange import DIRECT, TOPIC, Binding, Exchange, OutboundRouter
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.dispatch import Dispatcher, Line
from gateway.bridge.queues.places import AVAILABLE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.refusals import crowded
from gateway.bridge.remote.feed import BindingFeed
from gateway.bridge.remote.inlet import Handover, QueueInlet
from gateway.bridge.remote.keeping import Keeping
from gateway.bridge.remote.remote import Placement, Placements, Remote, Target
from gateway.bridge.seams import Outlet, Owner, QueueSettings, SubscribeOptions
from gateway.bridge.topology import Topology
from gateway.message import RELEASED, Refusal

REJECTED_QUEUE: Final = "gateway.rejected"
TOWARDS: Final = " to "
BY_ADDRESS: Final = "upstream."


class LineMaker(Protocol):
    """The virtual host, which lines belong to."""

    def make_line(self, queue: Queue) -> Line:
        """A line for `queue`."""


@final
class Nodes:
    """Implements `topology.Rules`, `bindings.Feeding`, `keeping.LastResort`.

    Attributes:
        outbound: transit queues that stand for no queue: of remote exchanges, and by address.
        sources: by upstream, what stands for it in the ledger, where its messages come in.
        inlets: by queue and number of the subscription.
        feeds: by exchange, queue and key of the binding; `starved` of them had no room.
        keeping: of what came settled and was not sent on.
    """

    __slots__ = (
        "_dispatcher",
        "_host",
        "_limits",
        "_lines",
        "_numbers",
        "_placements",
        "_publishing",
        "_started",
        "_topology",
        "feeds",
        "inlets",
        "keeping",
        "outbound",
        "sources",
        "starved",
    )

    def __init__(
        self,
        host: str,
        topology: Topology,
        dispatcher: Dispatcher,
        numbers: Numbers,
        limits: BridgeLimits,
        publishing: Publishing,
        lines: LineMaker,
    ) -> None:
        self._host = host
        self._topology = topology
        self._dispatcher = dispatcher
        self._numbers = numbers
        self._limits = limits
        self._publishing = publishing
        self._lines = lines
        self._placements: Placements | None = None
        self._started = False
        self.outbound: dict[str, Queue] = {}
        self.sources: dict[str, Exchange] = {}
        self.inlets: dict[str, dict[int, QueueInlet]] = {}
        self.feeds: dict[tuple[str, str, str], BindingFeed] = {}
        self.starved: list[BindingFeed] = []
        self.keeping = Keeping(topology, dispatcher.copies, publishing, self)

    def place(self, placements: Placements | None, remotes: list[Remote]) -> None:
        """The node rules: once, before anything is recovered or declared."""
        topology = self._topology
        self._placements = placements
        topology.rules = self
        topology.bindings.feeding = self
        for exchange in list(topology.exchanges.values()):
            self.adopt_exchange(exchange)
        for remote in remotes:
            self.add_remote(remote)

    def replace(self, placements: Placements) -> None:
        """Other rules, from now on; `moving` sees to the nodes that there are."""
        self._placements = placements
        self._topology.rules = self
        self._topology.bindings.feeding = self

    def add_remote(self, remote: Remote) -> None:
        """An upstream: the exchange whose keys are addresses there."""
        name = BY_ADDRESS + remote.name
        exchange = self._topology.predeclare(name, DIRECT)
        self._topology.exchanges[name] = exchange
        self.send_out(exchange, Placement(remote), Target.ADDRESS)

    def start(self) -> None:
        """Everything is recovered: make what rules name, have it served, open what is bound."""
        self.make_named()
        self._started = True
        for queue in [*self._topology.queues.values(), *self.outbound.values()]:
            self._serve(queue)
        for exchange in list(self._topology.exchanges.values()):
            if exchange.placement is not None:
                for binding in list(exchange.bindings.values()):
                    self.on_bound(exchange, binding)

    def make_named(self) -> None:
        """Make the queues that rules name one by one."""
        if self._placements is not None:
            for name in self._placements.queues(self._host):
                self._topology.find_queue(name)

    # As `Rules`.

    def make_queue(self, name: str) -> Queue | None:
        """As `Rules`; `None` also when there are too many."""
        placement = self._placement(name)
        limits = self._limits
        topology = self._topology
        if (
            placement is None
            or len(topology.queues) >= limits.queues_max
            or len(name.encode()) > limits.name_max
        ):
            return None
        settings = QueueSettings(durable=placement.spool)
        number = self._numbers.next_queue()
        queue = topology.add_queue(number, name, settings, self._numbers.first_position)
        topology.lines[number] = self._lines.make_line(queue)
        topology.store_queue(queue)
        if self._started:
            self._serve(queue)
        return queue

    def make_exchange(self, name: str) -> Exchange | None:
        """As `Rules`; `None` also when there are too many."""
        limits = self._limits
        topology = self._topology
        if (
            self._placements is None
            or self._placements.exchange(self._host, name) is None
            or len(topology.exchanges) >= limits.exchanges_max
            or len(name.encode()) > limits.name_max
        ):
            return None
        return topology.add_exchange(
            name, TOPIC, durable=True, auto_delete=False, alternate_exchange="", arguments=b""
        )

    def adopt_queue(self, queue: Queue) -> None:
        """As `Rules`. What the store has of a transit queue is sent on like all else."""
        placement = self._placement(queue.name)
        queue.placement = placement
        if placement is not None and not placement.spool:
            queue.transit = True
            queue.settings.durable = False

    def adopt_exchange(self, exchange: Exchange) -> None:
        """As `Rules`."""
        if self._placements is None or not exchange.name:
            return
        placement = self._placements.exchange(self._host, exchange.name)
        if placement is not None:
            self.send_out(exchange, placement, Target.EXCHANGE)

    def on_bound(self, exchange: Exchange, binding: Binding) -> None:
        """As `Rules`."""
        placement = exchange.placement
        key = (exchange.name, binding.queue.name, binding.key)
        if placement is None or not self._started or key in self.feeds:
            return
        feed = BindingFeed(
            exchange,
            binding,
            self.source(placement.remote),
            self._publishing,
            self._dispatcher,
            link=self._numbers.next_link(),
            prefetch=self._limits.remote_prefetch,
            starved=self.starved,
        )
        self.feeds[key] = feed
        feed.connect(placement.remote.feed(feed))

    def on_unbound(self, exchange: Exchange, binding: Binding) -> None:
        """As `Rules`."""
        feed = self.feeds.pop((exchange.name, binding.queue.name, binding.key), None)
        if feed is not None:
            feed.close()

    def recover_outbound(self, text: str, number: int, settings: QueueSettings) -> Queue:
        """A queue "EXCHANGE to UPSTREAM", which the store has copies of.

        If no rule places the exchange there any more, a local queue of that name keeps them.
        """
        topology = self._topology
        name = text.rpartition(TOWARDS)[0]
        topology.find_exchange(name)
        queue = self.outbound.get(name)
        if queue is None or queue.node_name != text:
            first = self._numbers.first_position
            queue = topology.add_queue(number, text, settings, first)
            queue.placement = None
            queue.transit = False
            queue.settings.durable = True
            topology.store_queue(queue)
        else:
            del topology.lines[queue.number]
            queue.number = number
        queue.stored = True
        topology.lines[number] = self._lines.make_line(queue)
        return queue

    # Subscriptions.

    def subscribe(
        self,
        queue: Queue,
        placement: Placement,
        outlet: Outlet,
        owner: Owner,
        options: SubscribeOptions,
    ) -> Subscription | Refusal:
        """An inlet, and its subscription, which is attaching."""
        others = self.inlets.get(queue.name, {})
        first = next(iter(others.values()), None)  # An exclusive one is alone.
        refusal = crowded(
            queue.name,
            len(others),
            alone=first is not None and first.exclusive,
            exclusive=options.exclusive,
            subscriptions_max=self._limits.subscriptions_max,
        )
        if refusal is not None:
            return refusal
        behind = self._behind(queue.name, placement)
        inlet = QueueInlet(
            behind,
            self._lines.make_line(behind),
            self._dispatcher,
            self.source(placement.remote),
            self.keeping,
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
        )
        inlet.begin(subscription)
        self.inlets.setdefault(queue.name, {})[subscription.number] = inlet
        inlet.connect(placement.remote.open(inlet))
        return subscription

    def on_left(self, subscription: Subscription) -> None:
        """The subscription of an inlet is cancelled."""
        name = subscription.queue_name
        inlets = self.inlets.get(name)
        if inlets is not None:
            inlets.pop(subscription.number, None)
            if not inlets:
                del self.inlets[name]

    # What the bridge calls.

    def drain(self) -> None:
        """Nothing more is sent to clients, and nothing more is wanted from upstreams."""
        for feed in self.feeds.values():
            feed.stop()
        for inlets in self.inlets.values():
            for inlet in inlets.values():
                inlet.stop()

    def tend(self) -> None:
        """Feeds for which there was no room: is there now?"""
        if self.starved:
            hungry = self.starved.copy()
            self.starved.clear()
            for feed in hungry:
                feed.feed_again()

    def rejected_queue(self) -> Queue:
        """Where what an upstream rejected goes: a local, durable queue, made when it is needed."""
        topology = self._topology
        queue = topology.queues.get(REJECTED_QUEUE)
        if queue is None:
            number = self._numbers.next_queue()
            settings = QueueSettings(durable=True)
            first = self._numbers.first_position
            queue = topology.add_queue(number, REJECTED_QUEUE, settings, first)
            queue.max_size = 0
            topology.lines[number] = self._lines.make_line(queue)
            topology.store_queue(queue)
        return queue

    def rename(self, queue: Queue, text: str) -> None:
        """A transit queue belongs to another upstream.

        What waits in front of that goes on by the new name, by which a restart will know it; what
        is behind the old one, or still with it, keeps the old name.
        """
        if queue.node_name == text:
            return
        if queue.unsettled == 0 and (queue.depth == 0 or not queue.inbound):
            before = queue.node
            after = self._topology.names.name(text)
            entry = queue.places.next_at(0)
            while entry is not None:
                self._move(queue, entry, before, after)
                entry = queue.places.next_at(entry.position + 1)
            self._topology.names.forget(queue.node_name, before)
            queue.node = after
            queue.node_name = text
        if queue.stored:
            self._topology.store_transit_again(queue, text)

    def _move(self, queue: Queue, entry: Entry, before: int, after: int) -> None:
        """In the books, a copy that stays where it is leaves one queue for another."""
        ledger = self._dispatcher.copies.ledger
        exchange = self._topology.exchanges[queue.name]
        queue.node = before
        ledger.moved(queue, entry, Reason.OPERATOR)
        ledger.routed(entry.message, exchange, 1, Reason.OPERATOR)
        queue.node = after
        ledger.entered(queue, entry, exchange, True)

    def end_feed(self, exchange: Exchange, binding: Binding) -> None:
        """The exchange lives elsewhere from now on; another feed is made there."""
        feed = self.feeds.pop((exchange.name, binding.queue.name, binding.key), None)
        if feed is not None:
            feed.move()

    def unsend(self, exchange: Exchange) -> None:
        """The exchange lives here from now on, or not at all: its transit queue is gone.

        What is in that goes back to its publishers as released.
        """
        queue = self.outbound.pop(exchange.name, None)
        if queue is None:
            return
        copies = self._dispatcher.copies
        queue.deleted = True
        entry = queue.places.next_at(0)
        while entry is not None:
            if entry.holder == AVAILABLE:
                copies.ledger.purged(queue, entry, Reason.OPERATOR)
                copies.leave(queue, entry, RELEASED)
            entry = queue.places.next_at(entry.position + 1)
        self._topology.remove_outbound(queue)

    # The rest.

    def _placement(self, name: str) -> Placement | None:
        if self._placements is None or name == REJECTED_QUEUE:
            return None
        return self._placements.queue(self._host, name)

    def _serve(self, queue: Queue) -> None:
        if queue.placement is not None:
            queue.placement.remote.serve(queue)

    def source(self, remote: Remote) -> Exchange:
        """What stands for an upstream in the ledger, where its messages come in."""
        source = self.sources.get(remote.name)
        if source is None:
            source = self._topology.predeclare(f"upstream {remote.name}", DIRECT)
            self.sources[remote.name] = source
        return source

    def send_out(self, exchange: Exchange, placement: Placement, target: Target) -> None:
        """`exchange` is remote: everything that it routes goes to one transit queue."""
        queue = self.outbound.get(exchange.name)
        if queue is None:
            text = f"{exchange.name}{TOWARDS}{placement.remote.name}"
            queue = self._transit(exchange.name, text, placement)
            queue.target = target
            self.outbound[exchange.name] = queue
            self._topology.lines[queue.number] = self._lines.make_line(queue)
            if self._started:
                self._serve(queue)
        exchange.placement = placement
        exchange.router = OutboundRouter(queue)

    def _behind(self, name: str, placement: Placement) -> Queue:
        """A transit queue behind the upstream, for one subscription to its queue `name`."""
        queue = self._transit(name, f"{name} from {placement.remote.name}", placement)
        queue.inbound = True
        return queue

    def _transit(self, name: str, text: str, placement: Placement) -> Queue:
        number = self._numbers.next_queue()
        first = self._numbers.first_position
        key = row_key(self._host, name, "transit")
        queue = Queue(number, self._host, name, key, QueueSettings(), first)
        queue.node = self._topology.names.name(text)
        queue.node_name = text
        queue.transit = True
        queue.placement = placement
        return queue

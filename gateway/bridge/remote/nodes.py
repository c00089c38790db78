"""The remote nodes of one virtual host: what the rules say is at an upstream, made when asked for.

A remote queue is a transit queue (or, with a spool, a durable one) that its upstream serves; a
remote exchange routes everything to one transit queue of its own, and what is bound to it is fed by
a link (`feeds`); a subscription to a remote queue is an inlet (`inlets`). `upstream.NAME` is an
exchange whose keys are addresses at that upstream.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import DIRECT, TOPIC, Exchange, OutboundRouter
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.places import AVAILABLE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.carrying import Carriers
from gateway.bridge.remote.feeds import Feeds
from gateway.bridge.remote.inlets import Inlets, LineMaker
from gateway.bridge.remote.keeping import Keeping
from gateway.bridge.remote.remote import REJECTED_QUEUE, Placement, Placements, Remote, Target
from gateway.bridge.remote.shadows import Shadow, Shadowing, Shadows
from gateway.bridge.remote.sources import Sources
from gateway.bridge.seams import QueueSettings
from gateway.bridge.topology import Topology
from gateway.message import RELEASED

TOWARDS: Final = " to "
SHADOW: Final = " shadow"  # before that, of the queue in front of a shadow
BY_ADDRESS: Final = "upstream."


@final
class Nodes:
    """Implements `topology.Rules`, `keeping.LastResort`.

    Attributes:
        outbound: transit queues that stand for no queue: of remote exchanges, by address, and of
            what is carried.
        carriers: of what one upstream holds and is to be elsewhere.
        sources: what stands for upstreams in the ledger.
        inlets: of subscriptions to remote queues.
        feeds: of bindings to remote exchanges.
        keeping: of what came settled and was not sent on.
        shadows: of queues, wherever they live.
    """

    __slots__ = (
        "_dispatcher",
        "_host",
        "_limits",
        "_lines",
        "_numbers",
        "_placements",
        "_topology",
        "carriers",
        "feeds",
        "inlets",
        "keeping",
        "outbound",
        "shadows",
        "sources",
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
        self._lines = lines
        self._placements: Placements | None = None
        self.outbound: dict[str, Queue] = {}
        self.shadows: Shadows = publishing.placing.shadows
        self.sources = Sources(topology)
        self.keeping = Keeping(topology, dispatcher.copies, publishing, self)
        self.inlets = Inlets(
            topology, self.sources, self.keeping, dispatcher, numbers, limits, lines
        )
        self.feeds = Feeds(self.sources, publishing, dispatcher, numbers, limits)
        self.carriers = Carriers(
            topology,
            self.sources,
            publishing,
            dispatcher,
            numbers,
            limits,
            lines,
            self.outbound,
        )

    def place(self, placements: Placements | None, remotes: list[Remote]) -> None:
        """The node rules: once, before anything is recovered or declared."""
        topology = self._topology
        self._placements = placements
        topology.rules = self
        topology.bindings.feeding = self.feeds
        for exchange in list(topology.exchanges.values()):
            self.adopt_exchange(exchange)
        for remote in remotes:
            self.add_remote(remote)

    def replace(self, placements: Placements) -> None:
        """Other rules, from now on; `moving` sees to the nodes that there are."""
        self._placements = placements
        self._topology.rules = self
        self._topology.bindings.feeding = self.feeds

    def add_remote(self, remote: Remote) -> None:
        """An upstream: the exchange whose keys are addresses at it."""
        name = BY_ADDRESS + remote.name
        exchange = self._topology.predeclare(name, DIRECT)
        self._topology.exchanges[name] = exchange
        self.send_out(exchange, Placement(remote), Target.ADDRESS)

    def start(self) -> None:
        """Everything is recovered: make what rules name, have it served, open what is bound."""
        self.make_named()
        self.feeds.started = True
        for queue in [*self._topology.queues.values(), *self.in_front()]:
            self._serve(queue)
        for exchange in list(self._topology.exchanges.values()):
            if exchange.placement is not None:
                for binding in exchange.every():
                    self.feeds.on_bound(exchange, binding)

    def make_named(self) -> None:
        """Make the queues that rules name one by one."""
        if self._placements is not None:
            for name in self._placements.queues(self._host):
                self._topology.find_queue(name)

    # What the topology asks.

    def make_queue(self, name: str) -> Queue | None:
        """The remote queue that a rule knows by that name, made now.

        `None`: no rule does, there are too many queues, or the name is too long.
        """
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
        topology.rows.store_queue(queue)
        if self.feeds.started:
            self._serve(queue)
        return queue

    def make_exchange(self, name: str) -> Exchange | None:
        """The remote exchange that a rule knows by that name, made now.

        `None`: no rule does, there are too many exchanges, or the name is too long.
        """
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
        """Place a queue that comes from the store, if a rule says so.

        What the store has of a transit queue is sent on like all else.
        """
        placement = self._placement(queue.name)
        queue.placement = placement
        if placement is not None and not placement.spool:
            queue.transit = True
            queue.settings.durable = False
        self.shadow(queue)

    def forget_queue(self, queue: Queue) -> None:
        """A queue is deleted, and so is its shadow."""
        if queue.shadowed:
            self._end_shadow(queue)

    def adopt_exchange(self, exchange: Exchange) -> None:
        """Place an exchange that was made, if a rule says so: what is published goes out."""
        if self._placements is None or not exchange.name:
            return
        placement = self._placements.exchange(self._host, exchange.name)
        if placement is not None:
            self.send_out(exchange, placement, Target.EXCHANGE)

    def recover_outbound(self, text: str, number: int, settings: QueueSettings) -> Queue:
        """A queue "EXCHANGE to UPSTREAM", which the store has copies of.

        If no rule places the exchange at it any more, a local queue of that name keeps them.
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
            topology.rows.store_queue(queue)
        else:
            del topology.lines[queue.number]
            queue.number = number
        queue.rows.written = True
        topology.lines[number] = self._lines.make_line(queue)
        return queue

    # What the bridge calls.

    def drain(self) -> None:
        """Nothing more is sent to clients, and nothing more is wanted from upstreams."""
        self.feeds.stop()
        self.inlets.stop()
        self.carriers.stop()

    def dead_letters(self, queue: Queue) -> Queue:
        """Where what is rejected of a remote queue goes: as its rule says.

        What is rejected there goes no further than to the gateway's own.
        """
        placement = queue.placement
        name = REJECTED_QUEUE if placement is None else placement.dead_letters
        if name in (REJECTED_QUEUE, queue.name):
            return self.rejected_queue()
        found = self._topology.find_queue(name)
        return self.rejected_queue() if found is None else found

    def rejected_queue(self) -> Queue:
        """The last resort of what was rejected: a local, durable queue, made when it is needed."""
        topology = self._topology
        queue = topology.queues.get(REJECTED_QUEUE)
        if queue is None:
            number = self._numbers.next_queue()
            settings = QueueSettings(durable=True)
            first = self._numbers.first_position
            queue = topology.add_queue(number, REJECTED_QUEUE, settings, first)
            queue.max_size = 0
            topology.lines[number] = self._lines.make_line(queue)
            topology.rows.store_queue(queue)
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
        if queue.rows.written:
            self._topology.rows.store_transit_again(queue, text)

    def _move(self, queue: Queue, entry: Entry, before: int, after: int) -> None:
        """In the ledger, a copy that stays where it is leaves one queue for another."""
        ledger = self._dispatcher.copies.ledger
        exchange = self._topology.exchanges[queue.name]
        queue.node = before
        ledger.moved(queue, entry, Reason.OPERATOR)
        ledger.routed(entry.message, exchange, 1, Reason.OPERATOR)
        queue.node = after
        ledger.entered(queue, entry, exchange, True)

    def unsend(self, exchange: Exchange) -> None:
        """The exchange is local from now on, or not at all: its transit queue is gone.

        What is in that goes back to its publishers as released.
        """
        queue = self.outbound.pop(exchange.name, None)
        if queue is not None:
            self._remove(queue)

    def in_front(self) -> list[Queue]:
        """All queues that stand in front of upstreams, and for no queue that clients see."""
        return [*self.outbound.values(), *self.shadows.queues()]

    def shadow(self, queue: Queue) -> None:
        """Have the shadow of a queue be as the rules say: begin it, end it, or leave it."""
        how = None
        named = queue.name != REJECTED_QUEUE and queue.settings.subscriber is None
        if self._placements is not None and named:
            how = self._placements.shadow(self._host, queue.name)
        before = self.shadows.by_queue.get(queue.number)
        if before is not None and how is not None and _is_same(before, how):
            before.change(how)
            return
        if before is not None:
            self._end_shadow(queue)
        if how is not None:
            self._begin_shadow(queue, how)

    def _begin_shadow(self, queue: Queue, how: Shadowing) -> None:
        topology = self._topology
        number = self._numbers.next_queue()
        first = self._numbers.first_position
        text = f"{queue.name}{SHADOW}{TOWARDS}{how.placement.remote.name}"
        own = topology.make_transit(number, queue.name, text, how.placement, first)
        own.transit = False  # nobody waits for what becomes of it
        own.target = Target.SHADOW
        topology.lines[number] = self._lines.make_line(own)
        self.shadows.begin(queue, Shadow(own, how))
        if self.feeds.started:
            self._serve(own)

    def _end_shadow(self, queue: Queue) -> None:
        """What it has is gone; what is under way is, too."""
        shadow = self.shadows.end(queue)
        if shadow is not None:
            leave(shadow.how.placement, shadow.queue)
            self._remove(shadow.queue)

    def _remove(self, queue: Queue) -> None:
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

    def send_out(self, exchange: Exchange, placement: Placement, target: Target) -> None:
        """`exchange` is remote: everything that it routes goes to one transit queue."""
        topology = self._topology
        queue = self.outbound.get(exchange.name)
        if queue is None:
            text = f"{exchange.name}{TOWARDS}{placement.remote.name}"
            number = self._numbers.next_queue()
            first = self._numbers.first_position
            queue = topology.make_transit(number, exchange.name, text, placement, first)
            queue.target = target
            self.outbound[exchange.name] = queue
            topology.lines[number] = self._lines.make_line(queue)
            if self.feeds.started:
                self._serve(queue)
        exchange.placement = placement
        exchange.router = OutboundRouter(queue)


def leave(before: Placement, queue: Queue) -> None:
    """Have the upstream where it was send nothing more of it."""
    if queue.unsettled:
        before.remote.abandon(queue)
    else:
        before.remote.unserve(queue)


def _is_same(shadow: Shadow, how: Shadowing) -> bool:
    return shadow.how.placement.same_node(how.placement)

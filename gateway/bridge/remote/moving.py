"""Other node rules while the bridge is at work: what of its nodes moves, and how.

A change is planned, and nothing happens if it cannot be. Then what is to move rests (`hold`): what
is in flight settles while nothing new is sent or fetched. At last everything moves at once
(`carry_out`), between two turns, and what is kept is kept by its new rule. Publishers wait and
subscriptions stay; a queue that is to become local, or was local, must be empty and unused.
"""

from __future__ import annotations

from typing import NamedTuple, final

from gateway.bridge.bridge import Bridge
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.host import VirtualHost
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.nodes import BY_ADDRESS, TOWARDS, leave
from gateway.bridge.remote.remote import REJECTED_QUEUE, Placement, Placements, Remote, Target

Problem = tuple[str, str]


class Departure(NamedTuple):
    """A queue that moves from one upstream to another.

    Attributes:
        host, queue: their names.
        before, after: where it lives, and is to live.
    """

    host: str
    queue: str
    before: Placement
    after: Placement


@final
class Moving:
    """One change of the rules, from its plan to its end.

    Args:
        placements: the new rules.
        remotes: the upstreams that there will be.
    """

    def __init__(self, bridge: Bridge, placements: Placements, remotes: list[Remote]) -> None:
        self._bridge = bridge
        self._placements = placements
        self._remotes: dict[str, Remote] = {remote.name: remote for remote in remotes}
        self._held: list[Placement] = []

    def problems(self) -> list[Problem]:
        """Why it cannot be done now: which node, and what about it."""
        found: list[Problem] = []
        for host in self._bridge.hosts.values():
            for queue in host.topology.queues.values():
                problem = self._queue_problem(host, queue)
                if problem:
                    found.append((f"queue {_named(host, queue.name)}", problem))
            for exchange in host.topology.exchanges.values():
                problem = self._exchange_problem(host, exchange)
                if problem:
                    found.append((f"exchange {_named(host, exchange.name)}", problem))
        return found

    def hold(self) -> None:
        """Let what is to move rest: its links give no credit, its copies wait."""
        for host in self._bridge.hosts.values():
            for queue in host.topology.queues.values():
                self._hold(queue.placement, self._queue(host, queue))
            for exchange in host.topology.exchanges.values():
                self._hold(exchange.placement, self._exchange(host, exchange))
        tell_all(self._bridge)

    def _hold(self, before: Placement | None, after: Placement | None) -> None:
        if before is None or before.held or (after is not None and before.same_node(after)):
            return
        before.held = True
        self._held.append(before)

    def release(self) -> None:
        """It does not take place: everything goes on as before."""
        for placement in self._held:
            placement.held = False
        self._held = []
        tell_all(self._bridge)

    def unsettled(self) -> int:
        """What is still in flight of what is to move, both ways."""
        return held_and_unsettled(self._bridge)

    def from_upstreams(self) -> list[Departure]:
        """Queues that move from one upstream to another."""
        found: list[Departure] = []
        for host in self._bridge.hosts.values():
            for queue in host.topology.queues.values():
                before, after = queue.placement, self._queue(host, queue)
                if before is not None and after is not None and not before.same_node(after):
                    found.append(Departure(host.name, queue.name, before, after))
        return found

    def move_takers(self) -> None:
        """Subscriptions to these take from the new place from now on; all else is as before."""
        for departure in self.from_upstreams():
            departure.before.takers = departure.after
            move_inlets(self._bridge.hosts[departure.host], departure.queue, departure.after)

    def return_takers(self) -> None:
        """They take from the old place again."""
        for departure in self.from_upstreams():
            departure.before.takers = None
            move_inlets(self._bridge.hosts[departure.host], departure.queue, departure.before)

    def carry_out(self) -> None:
        """Everything lives by the new rules; a turn's end must follow.

        What has not settled by now is given back: from a client it comes too late, and what an
        upstream became of is not known, so that it is sent again, marked.
        """
        for host in self._bridge.hosts.values():
            exchanges = list(host.topology.exchanges.values())
            moves = [(each, self._exchange(host, each)) for each in exchanges]
            queues = [(each, self._queue(host, each)) for each in host.topology.queues.values()]
            host.nodes.replace(self._placements)
            for queue, after in queues:
                self._move_queue(host, queue, after)
                host.nodes.shadow(queue)
            for exchange, after in moves:
                self._move_exchange(host, exchange, after)
            for name, remote in self._remotes.items():
                if BY_ADDRESS + name not in host.topology.exchanges:
                    host.nodes.add_remote(remote)
            host.nodes.make_named()
        for placement in self._held:
            placement.held = False
        self._held = []
        tell_all(self._bridge)

    # The plan.

    def _queue(self, host: VirtualHost, queue: Queue) -> Placement | None:
        """Where it will live; what the gateway has made for itself, and for subscribers, here."""
        if queue.name == REJECTED_QUEUE or queue.settings.subscriber is not None:
            return None
        return self._placements.queue(host.name, queue.name)

    def _exchange(self, host: VirtualHost, exchange: Exchange) -> Placement | None:
        """Where it will live; an upstream's own by-address exchange goes with that."""
        name = exchange.name
        if exchange.predeclared and name.startswith(BY_ADDRESS):
            remote = self._remotes.get(name[len(BY_ADDRESS) :])
            before = exchange.placement
            if remote is None or (before is not None and before.remote is remote):
                return before if remote is not None else None
            return Placement(remote)
        return self._placements.exchange(host.name, name) if name else None

    def _queue_problem(self, host: VirtualHost, queue: Queue) -> str:
        before, after = queue.placement, self._queue(host, queue)
        if before is None and after is None:
            return ""
        if before is not None and after is not None and before.spool == after.spool:
            return ""
        if after is not None and before is not None:
            what = "be kept otherwise (spool)"
        else:
            what = "be local" if after is None else f"live at {after.remote.name}"
        used = (
            queue.users.subscriptions if before is None else len(host.nodes.inlets.of(queue.name))
        )
        if queue.depth:
            return f"holds {queue.depth} messages: it must be empty before it can {what}"
        if used and (before is None or after is None):
            return f"has {used} subscriptions: they must end before it can {what}"
        return ""

    def _exchange_problem(self, host: VirtualHost, exchange: Exchange) -> str:
        outbound = host.nodes.outbound.get(exchange.name)
        if outbound is None or outbound.depth == 0 or self._exchange(host, exchange) is not None:
            return ""
        return f"has {outbound.depth} messages on their way: they must be gone before it can move"

    # The moves.

    def _move_queue(self, host: VirtualHost, queue: Queue, after: Placement | None) -> None:
        before = queue.placement
        if before is None and after is None:
            return
        inlets = host.nodes.inlets.of(queue.name)
        if before is not None and after is not None and before.same_node(after):
            queue.placement = after
            for inlet in inlets:
                inlet.queue.placement = after
            return
        if before is not None:
            leave(before, queue)
        queue.placement = after
        queue.transit = after is not None and not after.spool
        queue.settings.durable = not queue.transit
        host.topology.rows.store_moved(queue)
        if after is None:
            return
        after.remote.serve(queue)
        if before is not None:
            before.takers = None
        move_inlets(host, queue.name, after)

    def _move_exchange(
        self, host: VirtualHost, exchange: Exchange, after: Placement | None
    ) -> None:
        before = exchange.placement
        nodes = host.nodes
        if before is after:
            return
        outbound = nodes.outbound.get(exchange.name)
        if before is not None and after is not None and before.same_node(after):
            exchange.placement = after
            if outbound is not None:
                outbound.placement = after
            return
        if before is not None:
            for binding in exchange.every():
                nodes.feeds.move(exchange, binding)
            if outbound is not None:
                leave(before, outbound)
        if after is None:
            exchange.placement = None
            nodes.unsend(exchange)
            if exchange.predeclared and exchange.name.startswith(BY_ADDRESS):
                host.topology.withdraw_exchange(exchange)
            else:
                host.topology.route_locally(exchange)
            return
        if outbound is None:
            nodes.send_out(exchange, after, Target.EXCHANGE)
        else:
            exchange.placement = after
            outbound.placement = after
            nodes.rename(outbound, f"{exchange.name}{TOWARDS}{after.remote.name}")
            after.remote.serve(outbound)
        for binding in exchange.every():
            nodes.feeds.on_bound(exchange, binding)


@final
class Resting:
    """All nodes of one upstream rest for a while, so that its connection can be made anew."""

    def __init__(self, bridge: Bridge, remote: Remote) -> None:
        self._bridge = bridge
        self._remote = remote
        self._held: list[Placement] = []

    def hold(self) -> None:
        """Nothing new goes to the upstream or is wanted from it."""
        for host in self._bridge.hosts.values():
            topology = host.topology
            placements = [queue.placement for queue in topology.queues.values()]
            placements += [exchange.placement for exchange in topology.exchanges.values()]
            placements += [queue.placement for queue in host.nodes.shadows.queues()]
            for placement in placements:
                if placement is not None and placement.remote is self._remote:
                    placement.held = True
                    self._held.append(placement)
        tell_all(self._bridge)

    def unsettled(self) -> int:
        """What is still in flight, both ways."""
        return held_and_unsettled(self._bridge)

    def release(self) -> None:
        """Everything goes on."""
        for placement in self._held:
            placement.held = False
        self._held = []
        tell_all(self._bridge)


def move_inlets(host: VirtualHost, name: str, to: Placement) -> None:
    """What takes from a queue takes from another place, unless it does already."""
    source = host.nodes.sources.of(to.remote)
    for inlet in host.nodes.inlets.of(name):
        if inlet.queue.placement is not to:
            inlet.move(to, source)
            host.nodes.rename(inlet.queue, f"{name} from {to.remote.name}")


def _named(host: VirtualHost, name: str) -> str:
    return f"{name!r} of virtual host {host.name!r}"


def tell_all(bridge: Bridge) -> None:
    """Whoever rests, or rests no more, looks at what it may do."""
    for host in bridge.hosts.values():
        nodes = host.nodes
        for inlets in nodes.inlets.by_queue.values():
            for inlet in inlets.values():
                placement = inlet.queue.placement
                if placement is not None and placement.rests:
                    inlet.rest()
                else:
                    inlet.tell_credit()
        nodes.feeds.stop()
        for queue in [*host.topology.queues.values(), *nodes.in_front()]:
            if queue.placement is not None:
                host.topology.lines[queue.number].on_entered()


def held_and_unsettled(bridge: Bridge) -> int:
    """How much is in flight of nodes that are held, both ways."""
    count = 0
    for queue in bridge.living_queues().rest():
        placement = queue.placement
        if placement is not None and placement.held:
            count += queue.unsettled
    for host in bridge.hosts.values():
        for feed in host.nodes.feeds.by_binding.values():
            if feed.rests:
                count += feed.open
    return count

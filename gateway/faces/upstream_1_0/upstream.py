"""One upstream: a 1.0 container that the gateway dials, and all that goes to it and comes from it.

It lives as long as the gateway. Connections come and go (`connect` is called when a transport is
up); relays, receivers, feeders and look-ups stay, and their links are attached anew on each; some
may be on detours. What they share is an `UpstreamContext`; none of them knows the `Upstream`.
Sources: 1.0 part 2.6; rows of remote queues.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0._spec import Error
from gateway.amqp_1_0.redirects import Redirect
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import (
    Branch,
    Feed,
    FeedSource,
    Inlet,
    LookUpWaiter,
    Source,
    Target,
    Work,
)
from gateway.faces.dialled.dialled import DepthWaiter
from gateway.faces.dialled.health import UpstreamState
from gateway.faces.dialled.location import Location
from gateway.faces.upstream_1_0.connection import UpstreamConnection
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.detours import Detours
from gateway.faces.upstream_1_0.links import Links
from gateway.faces.upstream_1_0.managing.management import Management
from gateway.faces.upstream_1_0.managing.queues import ManagedQueues
from gateway.faces.upstream_1_0.receiving.feeder import feeding_refused
from gateway.faces.upstream_1_0.receiving.feeders import Feeders
from gateway.faces.upstream_1_0.receiving.look_ups import LookUp
from gateway.faces.upstream_1_0.receiving.receiver import Receiver
from gateway.faces.upstream_1_0.sending.relay import Relay
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.faces.upstream_1_0.tokens import Cbs
from gateway.faces.upstream_1_0.transactions import UpstreamTransactions
from gateway.message import Refusal
from gateway.wire.tagged import Tagged


@final
class Upstream:
    """Implements `dialled.dialled.DialledUpstream`, and `connection.Home` of its own connection.

    Attributes:
        context: what all its links share.
        health: how it is, for operators.
        links: those of its own connection.
        management: requests to its management node, where the profile says that it has one.
        location: where the container is that was dialled last.
        detours: the connections beside it.
    """

    def __init__(self, context: UpstreamContext) -> None:
        self.context = context
        self.health = context.health
        self.links = context.links
        self.location = Location()
        self.detours = Detours(context, self)
        self._redirect: Redirect | None = None
        self._connection: UpstreamConnection | None = None
        self._relays: dict[Queue, Relay] = {}
        self._transactions = UpstreamTransactions(context)
        self.management = Management(context)
        self._queues = ManagedQueues(context, self.management)
        self._feeders = Feeders(context, self.management)
        self._cbs: Cbs | None = None
        tokens = context.settings.tokens
        if tokens is not None:
            self._cbs = Cbs(context, context.links, tokens)

    # As a `Remote`.

    @property
    def name(self) -> str:
        """The name that the configuration gives it."""
        return self.context.name

    @property
    def transactional(self) -> bool:
        """Whether the profile says so."""
        return self.context.profile.transactions

    def begin_transaction(self, work: Work) -> Branch:
        """Declare one at the upstream's coordinator."""
        return self._transactions.begin(work)

    def serve(self, queue: Queue) -> None:
        """Send what is in `queue` to its node."""
        relay = Relay(self.context, self.detours, self._queues, self._feeders, self, queue)
        self._relays[queue] = relay
        if self.health.connected and queue.target == Target.QUEUE:
            self._queues.make(queue.host, queue.name)
        relay.start()

    def unserve(self, queue: Queue) -> None:
        """Send nothing more from `queue`."""
        relay = self._relays.get(queue)
        if relay is not None:
            relay.stop()

    def abandon(self, queue: Queue) -> None:
        """Send nothing more from `queue`, and wait for nothing."""
        relay = self._relays.get(queue)
        if relay is not None:
            relay.abandon()

    def open(self, inlet: Inlet) -> Source:
        """A link for one subscription."""
        receiver = Receiver(
            self.context, self._queues, self.management, self._feeders.tidier, inlet
        )
        self.context.takers.add(receiver)
        self.context.touch()
        return receiver

    def can_feed(
        self, host: str, exchange: str, queue: str, key: str, arguments: dict[str, Tagged]
    ) -> Refusal | None:
        """Why not, as far as the profile and the rules say."""
        return feeding_refused(self.context, host, exchange, queue, key, arguments)

    def feed(self, feed: Feed) -> FeedSource:
        """A link for one binding."""
        feeder = self._feeders.open(feed)
        self.context.touch()
        return feeder

    def look_up(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether the node exists, unless asking would make it."""
        addresses = self.context.addresses
        if self.context.profile.missing == "auto" or addresses.made_name(host, queue):
            return False
        self.look_up_address(addresses.queue_address(host, queue), waiter, token)
        return True

    def reach(self, queue: Queue, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether its relay's link is, or can be, attached."""
        relay = self._relays.get(queue)
        return self.health.connected and relay is not None and relay.reach(waiter, token)

    def delete(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        """By its management; nothing in 1.0 itself deletes a node that was not made by a link."""
        return self._queues.remove(host, queue, waiter, token)

    def purge(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        """By its management, too."""
        return self._queues.remove(host, queue, waiter, token, purge=True)

    # What the net layer asks and tells.

    def look_up_address(
        self, address: str, waiter: LookUpWaiter, token: int, *, exchange: bool = False
    ) -> None:
        """Ask whether there is a node of that address; of an `exchange`: whether we may send."""
        LookUp(self.context, address, waiter, token, exchange=exchange)
        self.context.touch()

    def ask_depth(self, host: str, queue: str, waiter: DepthWaiter) -> bool:
        """Nothing in 1.0 itself says so."""
        return False

    def connect(
        self, now_ms: int, *, connection_id: int = 0, location: Location | None = None
    ) -> UpstreamConnection:
        """A transport is up: the face of it. The connection before it, if any, is over."""
        context = self.context
        context.bridge.now_ms = now_ms
        before = self._connection
        if before is not None:
            before.receive_eof(now_ms)
        self.location = location or Location()
        self.location.hostname = context.settings.hostname or self.location.hostname
        connection = UpstreamConnection(context, self, connection_id, now_ms, self.location)
        self._connection = connection
        context.transports.add(connection, own=True)
        self.health.change(UpstreamState.CONNECTING)
        return connection

    def on_unreachable(self, problem: str) -> None:
        """No transport to it could be had."""
        self.health.fail(problem)
        self.health.change(UpstreamState.DOWN)

    def take_redirect(self) -> Redirect | None:
        """Where the next connection is to go, told once."""
        redirect = self._redirect
        self._redirect = None
        return redirect

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called; also while there is no connection."""
        return self.context.sleepers.next_deadline()

    def handle_deadline(self, now_ms: int) -> None:
        """Back-offs are over, answers are late."""
        self.context.handle_deadline(now_ms)

    # As the `Home` of its own connection, and the `Origin` of its detours.

    @property
    def title(self) -> str:
        """Its name, in the audit log."""
        return self.context.name

    def on_open(self, connection: UpstreamConnection) -> None:
        """The peer has opened: attach everything."""
        self.context.counts.connections_made += 1
        if self._cbs is not None:
            self._cbs.open(connection.location.hostname)
        for queue, relay in self._relays.items():
            if queue.target == Target.QUEUE:
                self._queues.make(queue.host, queue.name)
            relay.outflow.resume()  # it may have no link that would tell it
        self._feeders.tidier.open()
        self.links.open(connection.connection, connection.number)
        self.health.change(UpstreamState.UP)

    def on_end(
        self,
        connection: UpstreamConnection,
        why: str,
        *,
        opened: bool,
        asked: bool,
        broken: bool,
    ) -> None:
        """The connection is over; `asked`: in good order; `broken`: by the peer."""
        if connection is not self._connection:
            return
        self._connection = None
        self.context.transports.remove(connection)
        self.context.counts.end(opened=opened, asked=asked)
        self.health.fail(why)
        if self._cbs is not None:
            self._cbs.lose()
        if broken and not asked:
            self.on_broken(self.links)
        self.links.lose()
        for slot in self.links.slots:
            slot.ask_anew()
        self.health.change(UpstreamState.DOWN)

    def on_broken(self, links: Links) -> None:
        """The peer has broken the connection of these links; they have not been told yet."""
        for relay in list(self._relays.values()):
            relay.on_broken(links)

    def on_redirect(self, redirect: Redirect | None) -> None:
        """The peer has closed the connection and sends us elsewhere."""
        if redirect is not None:
            self.context.counts.redirected += 1
            self._redirect = redirect

    def redirects(
        self, slot: LinkSlot, error: Error | None, connection: UpstreamConnection
    ) -> bool:
        """A link may be redirected to another address, or to a detour."""
        return self.detours.take(slot, error, connection)

    def on_relay_over(self, queue: Queue) -> None:
        """Its relay has stopped, and nothing of it is unsettled."""
        self._relays.pop(queue, None)

    def outstanding(self) -> bool:
        """Whether anything is unsettled, either way."""
        for relay in self._relays.values():
            if relay.unsettled():
                return True
        return self.context.takers.outstanding()

    def links_attached(self) -> int:
        """On its own connection and on detours."""
        return len([slot for slot in self.detours.all_slots() if slot.attached])

    def links_wanted(self) -> int:
        """The same, attached or not."""
        return len(self.detours.all_slots())

    def flush(self) -> None:
        """The turn ends: attach what is due, give credit."""
        self.links.flush()
        self.context.takers.give_credit()

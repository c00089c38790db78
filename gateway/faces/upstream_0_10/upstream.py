"""One upstream of 0-10: an old broker that the gateway dials, and all that goes to and from it.

It lives as long as the gateway. Connections come and go (`connect` is called when a transport is
up); relays, receivers and look-ups stay, and their sessions are attached anew on each. What such an
upstream is not asked for - transactions, nodes that are made, deleted or emptied - is refused by
name. Rows: of remote queues.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0.redirects import Redirect
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import (
    Branch,
    Feed,
    FeedSource,
    Inlet,
    LookUpWaiter,
    Source,
    Work,
)
from gateway.errors import LocalProtocolError
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.dialled import DepthWaiter
from gateway.faces.dialled.health import UpstreamState
from gateway.faces.dialled.location import Location
from gateway.faces.upstream_0_10.connection import UpstreamConnection
from gateway.faces.upstream_0_10.feeder import Feeder, feeding_refused
from gateway.faces.upstream_0_10.look_ups import DepthAsked, LookUp
from gateway.faces.upstream_0_10.receiver import Receiver
from gateway.faces.upstream_0_10.relay import Relay
from gateway.faces.upstream_0_10.replies import Replies
from gateway.faces.upstream_0_10.sessions import Sessions
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged


@final
class Upstream010:
    """Implements `dialled.dialled.DialledUpstream`, and `connection.Home`.

    Attributes:
        context: what all that it has shares.
        health: how it is, for operators.
        sessions: those of its connection.
    """

    def __init__(self, context: DialledContext) -> None:
        self.context = context
        self.health = context.health
        self.sessions = Sessions(context)
        self._connection: UpstreamConnection | None = None
        self._relays: dict[Queue, Relay] = {}
        self._feeders: dict[Feeder, None] = {}
        self._replies: dict[str, Replies] = {}  # by virtual host

    # As a `Remote`.

    @property
    def name(self) -> str:
        """The name that the configuration gives it."""
        return self.context.name

    @property
    def transactional(self) -> bool:
        """It is asked for no transactions."""
        return False

    def begin_transaction(self, work: Work) -> Branch:
        """Never: it is not `transactional`."""
        raise LocalProtocolError(f"upstream {self.name} has no transactions")

    def serve(self, queue: Queue) -> None:
        """Send what is in `queue` to its node."""
        relay = Relay(self.context, self.sessions, self, self._replies_of(queue.host), self, queue)
        self._relays[queue] = relay
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
        """A session for one subscription."""
        receiver = Receiver(self.context, self.sessions, self._replies_of(inlet.host), inlet)
        self.context.takers.add(receiver)
        self.context.touch()
        return receiver

    def can_feed(
        self, host: str, exchange: str, queue: str, key: str, arguments: dict[str, Tagged]
    ) -> Refusal | None:
        """Why not, as far as the profile says."""
        return feeding_refused(self.context, host, exchange, queue, key, arguments)

    def feed(self, feed: Feed) -> FeedSource:
        """A session for one binding."""
        feeder = Feeder(self.context, self.sessions, self._replies_of(feed.host), self, feed)
        self._feeders[feeder] = None
        self.context.takers.add(feeder)
        self.context.touch()
        return feeder

    def _replies_of(self, host: str) -> Replies:
        replies = self._replies.get(host)
        if replies is None:
            found = self.context.bridge.hosts[host]
            replies = self._replies[host] = Replies(self.context, self.sessions, found)
        return replies

    def look_up(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether the node exists."""
        address = self.context.addresses.queue_address(host, queue)
        self.look_up_address(address, waiter, token)
        return True

    def reach(self, queue: Queue, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether its relay finds the node."""
        relay = self._relays.get(queue)
        return self.health.connected and relay is not None and relay.reach(waiter, token)

    def delete(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        """Never: it is the old broker's own."""
        return self._unable("delete a queue for others")

    def purge(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        """Never, either."""
        return self._unable("empty a queue for others")

    def _unable(self, what: str) -> Refusal:
        return Refusal(Condition.NOT_IMPLEMENTED, f"upstream {self.name} does not {what}")

    # What the net layer asks and tells.

    def look_up_address(
        self, address: str, waiter: LookUpWaiter, token: int, *, exchange: bool = False
    ) -> None:
        """Ask whether there is a node of that name."""
        LookUp(self.context, self.sessions, address, waiter, token, exchange=exchange)
        self.context.touch()

    def ask_depth(self, host: str, queue: str, waiter: DepthWaiter) -> bool:
        """By queue.query."""
        name = self.context.addresses.queue_address(host, queue)
        DepthAsked(self.context, self.sessions, name, waiter)
        self.context.touch()
        return True

    def connect(
        self, now_ms: int, *, connection_id: int = 0, location: Location | None = None
    ) -> UpstreamConnection:
        """A transport is up: the face of it. The connection before it, if any, is over."""
        context = self.context
        context.bridge.now_ms = now_ms
        before = self._connection
        if before is not None:
            before.receive_eof(now_ms)
        where = location or Location()
        connection = UpstreamConnection(context, self, connection_id, now_ms, where)
        self._connection = connection
        context.transports.add(connection, own=True)
        self.health.change(UpstreamState.CONNECTING)
        return connection

    def on_unreachable(self, problem: str) -> None:
        """No transport to it could be had."""
        self.health.fail(problem)
        self.health.change(UpstreamState.DOWN)

    def take_redirect(self) -> Redirect | None:
        """Redirects are not followed."""
        return None

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called; also while there is no connection."""
        return self.context.sleepers.next_deadline()

    def handle_deadline(self, now_ms: int) -> None:
        """Back-offs are over, answers are late."""
        self.context.handle_deadline(now_ms)

    # As the `Home` of its connection.

    def on_open(self, connection: UpstreamConnection) -> None:
        """The peer has opened: attach everything."""
        self.context.counts.connections_made += 1
        self.sessions.open(connection.connection, connection.number)
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
        if broken and not asked:
            for relay in list(self._relays.values()):
                relay.on_broken()
        self.sessions.lose()
        self.health.change(UpstreamState.DOWN)

    def on_relay_over(self, queue: Queue) -> None:
        """Its relay has stopped, and nothing of it is unsettled."""
        self._relays.pop(queue, None)

    # As the `FeederList` of its feeders, and `Bound` to its relays.

    def forget_feeder(self, feeder: Feeder) -> None:
        """It is over."""
        self._feeders.pop(feeder, None)

    def of_exchange(self, host: str, exchange: str) -> list[Feeder]:
        """Those of one exchange's bindings."""
        return [
            feeder
            for feeder in self._feeders
            if feeder.feed.exchange == exchange and feeder.feed.host == host
        ]

    def outstanding(self) -> bool:
        """Whether anything is unsettled, either way."""
        for relay in self._relays.values():
            if relay.unsettled():
                return True
        return self.context.takers.outstanding()

    def links_attached(self) -> int:
        """How many sessions are attached ..."""
        return self.sessions.attached()

    def links_wanted(self) -> int:
        """... of how many that are asked for."""
        return len(self.sessions.slots)

    def flush(self) -> None:
        """The turn ends: attach what is wanted, say what was gathered, give credit."""
        self.sessions.flush()
        self.context.takers.give_credit()

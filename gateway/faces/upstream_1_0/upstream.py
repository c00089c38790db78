"""One upstream: a 1.0 container that the gateway dials, and all that goes to it and comes from it.

It lives as long as the gateway. Connections come and go (`connect` is called when a transport is
up); relays, receivers, feeders and look-ups stay, and their links are attached anew on each; some
may be on detours.
Sources: 1.0 part 2.6; rows of remote queues.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, final

from gateway.amqp_1_0._spec import DeliveryState, Error
from gateway.amqp_1_0.redirects import Redirect
from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
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
from gateway.faces.face import FaceSettings, Turns
from gateway.faces.host_nodes import HostNodes
from gateway.faces.upstream_1_0.addresses import UpstreamAddresses
from gateway.faces.upstream_1_0.connection import UpstreamConnection
from gateway.faces.upstream_1_0.detours import Detours
from gateway.faces.upstream_1_0.errors import text_of
from gateway.faces.upstream_1_0.links import Links
from gateway.faces.upstream_1_0.location import Location
from gateway.faces.upstream_1_0.managing.managed import Maker, removing
from gateway.faces.upstream_1_0.managing.management import Management
from gateway.faces.upstream_1_0.managing.tidying import Tidier
from gateway.faces.upstream_1_0.receiving.feeder import Feeder, feeding_refused
from gateway.faces.upstream_1_0.receiving.look_ups import LookUp
from gateway.faces.upstream_1_0.receiving.receiver import Receiver
from gateway.faces.upstream_1_0.receiving.seen_before import SeenBefore
from gateway.faces.upstream_1_0.sending.relay import Relay
from gateway.faces.upstream_1_0.settings import NodeRules, UpstreamCounts, UpstreamSettings
from gateway.faces.upstream_1_0.sleepers import Sleepers
from gateway.faces.upstream_1_0.slot import LinkSlot, Sleeper, UpstreamLink
from gateway.faces.upstream_1_0.tokens import Cbs
from gateway.faces.upstream_1_0.transactions import Coordinator
from gateway.message import Refusal
from gateway.translate.context import Context
from gateway.translate.profiles.profile import Profile
from gateway.wire.tagged import Tagged

if TYPE_CHECKING:
    from gateway.faces.upstream_1_0.receiving.reply_nodes import ReplyNodes


class UpstreamState(IntEnum):
    """How far the connection is."""

    DOWN = 0
    CONNECTING = 1  # the transport is up, the peer has not opened
    UP = 2


@final
class Upstream:
    """Implements `bridge.remote.remote.Remote`, and `connection.Home` of its own connection.

    Attributes:
        addresses: what its nodes are called there.
        tidier: removes what was made for bindings there.
        management: requests to its management node, where the profile says that it has one.
        state, state_since_ms: for operators.
        turned_ms: since when it is connected, or since when it is not.
        last_error: what went wrong last, for operators; "" if nothing did, or it is over.
        last_error_ms: when that was.
        solved: while `on_change` tells that a problem is over: which.
        seen_before: what may come again from it.
        location: where the container is that was dialled last.
        links: those of its own connection.
        detours: the connections beside it.
        redirect: where the peer last sent us; the net layer takes it (`take_redirect`).
        on_change: called when `state` or `last_error` has changed with it.
    """

    def __init__(
        self,
        bridge: Bridge,
        turns: Turns,
        settings: UpstreamSettings,
        profile: Profile,
        faces: FaceSettings,
        counts: UpstreamCounts,
    ) -> None:
        self.bridge = bridge
        self.turns = turns
        self.settings = settings
        self.profile = profile
        self.faces = faces
        self.counts = counts
        self.state = UpstreamState.DOWN
        self.state_since_ms = bridge.now_ms
        self.turned_ms = bridge.now_ms
        self.last_error = ""
        self.last_error_ms = 0
        self.solved = ""
        self.on_change: Callable[[], None] | None = None
        self.draining = False
        self.sleepers = Sleepers()
        self.seen_before = SeenBefore()
        one_by_one = profile.errors_end_session
        self.links = Links(bridge, settings, counts, self.sleepers, one_at_a_time=one_by_one)
        self.detours = Detours(self)
        self.location = Location()
        self._redirect: Redirect | None = None
        self._connection: UpstreamConnection | None = None
        self._relays: dict[Queue, Relay] = {}
        self._receivers: dict[Receiver, None] = {}
        self._feeders: dict[Feeder, None] = {}
        self._look_ups: dict[LookUp, None] = {}
        self._owing: dict[Receiver | Feeder, None] = {}
        self._names = 0
        self.addresses = UpstreamAddresses(bridge, settings, profile)
        self._coordinator = Coordinator(self)
        self.management = Management(self)
        self._maker = Maker(self)
        self.tidier = Tidier(self)
        self._cbs: Cbs | None = None
        if settings.tokens is not None:
            self._cbs = Cbs(self, self.links, settings.tokens)

    # As a `Remote`.

    @property
    def name(self) -> str:
        """As configured."""
        return self.settings.name

    @property
    def title(self) -> str:
        """The same, in the audit log."""
        return self.settings.name

    @property
    def transactional(self) -> bool:
        """As the profile says."""
        return self.profile.transactions

    def begin_transaction(self, work: Work) -> Branch:
        """Declare one at the coordinator."""
        return self._coordinator.begin(work)

    def serve(self, queue: Queue) -> None:
        """Send what is in `queue` to its node."""
        relay = Relay(self, self.bridge.hosts[queue.host], queue)
        self._relays[queue] = relay
        if self.connected and queue.target == Target.QUEUE:
            self.make(queue.host, queue.name)
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

    def on_relay_over(self, queue: Queue) -> None:
        """Its relay has stopped, and nothing of it is unsettled."""
        self._relays.pop(queue, None)

    def open(self, inlet: Inlet) -> Source:
        """A link for one subscription."""
        receiver = Receiver(self, inlet)
        self._receivers[receiver] = None
        self.touch()
        return receiver

    def can_feed(
        self, host: str, exchange: str, queue: str, key: str, arguments: dict[str, Tagged]
    ) -> Refusal | None:
        """As far as the profile and the rules say."""
        return feeding_refused(self, host, exchange, queue, key, arguments)

    def feed(self, feed: Feed) -> FeedSource:
        """A link for one binding."""
        feeder = Feeder(self, feed)
        self._feeders[feeder] = None
        self.touch()
        return feeder

    def look_up(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether the node is there, unless asking would make it."""
        if self.profile.missing == "auto" or self.addresses.made_name(host, queue):
            return False
        self.look_up_address(self.addresses.queue_address(host, queue), waiter, token)
        return True

    def reach(self, queue: Queue, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether its relay's link is, or can be, attached."""
        relay = self._relays.get(queue)
        return self.connected and relay is not None and relay.reach(waiter, token)

    def look_up_address(
        self, address: str, waiter: LookUpWaiter, token: int, *, exchange: bool = False
    ) -> None:
        """Ask whether there is a node of that address; of an `exchange`: whether we may send."""
        self._look_ups[LookUp(self, address, waiter, token, exchange=exchange)] = None
        self.touch()

    def forget_look_up(self, look_up: LookUp) -> None:
        """It was answered."""
        self._look_ups.pop(look_up, None)

    def delete(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        """By its management; nothing in 1.0 itself deletes a node that was not made by a link."""
        return removing(self, host, queue, waiter, token)

    def purge(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        """In the same way."""
        return removing(self, host, queue, waiter, token, purge=True)

    # What links ask.

    @property
    def connected(self) -> bool:
        """The peer has opened, and the connection has not ended."""
        return self.state == UpstreamState.UP

    def add(
        self,
        user: UpstreamLink,
        *,
        alone: bool = False,
        address: str = "",
        beside: LinkSlot | None = None,
        stays: bool = False,
    ) -> LinkSlot:
        """A place for a link, attached when the turn ends or the next connection is open.

        `alone`: it gets a session of its own, since it may be refused or be slow. `address`: of the
        node, unless a redirect tells another: the slot's is the one to attach to. `beside`: it has
        to be in the session of that link. `stays`: it is of no use on another connection.
        """
        slot = self.links.add(user, alone=alone, address=address, beside=beside, stays=stays)
        self.touch()
        return slot

    def drop(self, slot: LinkSlot, *, closed: bool = True) -> None:
        """Forget a link; it is detached if it is attached. Its user is not called."""
        slot.links.drop(slot, closed=closed)
        self.touch()

    def retry(self, slot: LinkSlot) -> None:
        """Attach again after a back-off: for `on_detach` and `on_failed`."""
        self.detours.recall(slot)
        slot.links.retry(slot)

    def hurry(self, slot: LinkSlot) -> None:
        """Attach now what backs off."""
        slot.links.hurry(slot)
        self.touch()

    def progress(self, slot: LinkSlot) -> None:
        """The link does its work: its next back-off is the shortest again."""
        slot.failures = 0

    def room(self, slot: LinkSlot, holding: int) -> int:
        """How much credit a receiver may give so that its session can hold what comes."""
        return slot.links.room(slot, holding)

    def freed(self, slot: LinkSlot | None) -> None:
        """A receiver has settled something."""
        if slot is not None:
            slot.links.freed(slot)

    @property
    def resumes(self) -> bool:
        """Whether what is unsettled when a link is lost waits for the link to be resumed."""
        return self.profile.resume and self.settings.resume

    def wake(self, sleeper: Sleeper, at_ms: int) -> None:
        """Call `sleeper.handle_deadline` then; a later wish replaces this one."""
        self.sleepers.wake(sleeper, at_ms)

    def unwake(self, sleeper: Sleeper) -> None:
        """Do not call it."""
        self.sleepers.unwake(sleeper)

    def touch(self) -> None:
        """There is something to send, or may be, by any connection."""
        if self._connection is not None:
            self.turns.touch(self._connection)
        if self.detours.standing:
            self.detours.touch()

    def owe(self, user: Receiver | Feeder) -> None:
        """Have it look at its credit at the end of the turn."""
        if user not in self._owing:  # it asks several times for each message
            self._owing[user] = None
            self.touch()

    def forget(self, receiver: Receiver) -> None:
        """The receiver's link is over."""
        self._receivers.pop(receiver, None)
        self._owing.pop(receiver, None)

    def fed_from(self, queue: str) -> list[Feed]:
        """The bindings that are fed from that queue of our making there."""
        return [
            feeder.feed
            for feeder in self._feeders
            if feeder.managed is not None and feeder.managed.queue == queue
        ]

    def feeders_of(self, host: str, exchange: str) -> list[Feeder]:
        """Those of one exchange's bindings."""
        return [
            feeder
            for feeder in self._feeders
            if feeder.feed.exchange == exchange and feeder.feed.host == host
        ]

    def forget_feeder(self, feeder: Feeder) -> None:
        """The feeder's link is over."""
        self._feeders.pop(feeder, None)
        self._owing.pop(feeder, None)

    def may_send(self) -> bool:
        """Whether deliveries may go there, by any connection that has room."""
        return not self.draining and (self.connected or len(self.detours.standing) > 0)

    def context(self, host: VirtualHost, replies: ReplyNodes | None = None) -> Context:
        """The context of translations towards this upstream."""
        faces = self.faces
        return Context(
            HostNodes(host),
            faces.replies_of(host.name),
            faces.translated,
            escrow=self.profile.escrow and faces.escrow,
            escrow_max=faces.limits.escrow_max,
            depth_max=faces.limits.depth_max,
            text_body_value=self.profile.text_body == "value",
            timestamp=faces.timestamp,
            gateway=faces.container_id,
            upstream=self.name,
            user_id=self.profile.user_id,
            value_lists=self.profile.value_lists,
            reply_address=replies,
        )

    def link_name(self, node: str) -> str:
        """A name for a link of `node`, unique at this upstream; to be kept for each attach."""
        self._names += 1
        return f"{self.settings.container_id}<{node}-{self._names}"

    def make(self, host: str, queue: str) -> bool:
        """Make a queue's node, if a rule wants that; whether it does."""
        name = self.addresses.made_name(host, queue)
        if name:
            self._maker.make(name)
        return name != ""

    # Connections.

    def connect(
        self, now_ms: int, *, connection_id: int = 0, location: Location | None = None
    ) -> UpstreamConnection:
        """A transport is up: the face of it. The connection before it, if any, is over."""
        self.bridge.now_ms = now_ms
        before = self._connection
        if before is not None:
            before.receive_eof(now_ms)
        self.location = location or Location()
        self.location.hostname = self.settings.hostname or self.location.hostname
        connection = UpstreamConnection(self, self, connection_id, now_ms, self.location)
        self._connection = connection
        self._change(UpstreamState.CONNECTING)
        return connection

    def on_unreachable(self, problem: str) -> None:
        """No transport to it could be had."""
        self._fail(problem)
        self._change(UpstreamState.DOWN)

    def on_open(self, connection: UpstreamConnection) -> None:
        """The peer has opened: attach everything."""
        self.counts.connections_made += 1
        if self._cbs is not None:
            self._cbs.open(connection.location.hostname)
        for queue, relay in self._relays.items():
            if queue.target == Target.QUEUE:
                self.make(queue.host, queue.name)
            relay.resume()  # it may have no link that would tell it
        self.tidier.open()
        self.links.open(connection.connection, connection.number)
        self._change(UpstreamState.UP)

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
        self.counts.end(opened=opened, asked=asked)
        self._fail(why)
        if self._cbs is not None:
            self._cbs.lose()
        if broken and not asked:
            self.on_broken(self.links)
        self.links.lose()
        for slot in self.links.slots:
            slot.ask_anew()
        self._change(UpstreamState.DOWN)

    def on_broken(self, links: Links) -> None:
        """The peer has broken the connection of these links; they have not been told yet."""
        for relay in list(self._relays.values()):
            relay.on_broken(links)

    def _fail(self, problem: str) -> None:
        self.last_error = problem
        self.last_error_ms = self.bridge.now_ms

    def _change(self, state: UpstreamState) -> None:
        if state != self.state:
            now_ms = self.bridge.now_ms
            if UpstreamState.UP in (state, self.state):
                self.turned_ms = now_ms
            self.state = state
            self.state_since_ms = now_ms
        if self.on_change is not None:
            self.on_change()

    def note_link(self, link: int, node: int, slot: LinkSlot, flags: int = 0) -> None:
        """A link is attached: the audit log learns where `link`, a number of ours, leads to."""
        audit = self.bridge.audit
        peer = audit.name(f"link {link}: {slot.address} at {self.name}")
        number = slot.links.number
        audit.link_attached(
            self.bridge.now_ms, link, connection=number, node=node, peer=peer, flags=flags
        )
        audit.forget(peer)

    def note_error(self, error: Error | None, whose: str = "") -> None:
        """The peer ended something with an error."""
        if error is not None:
            text = text_of(error)
            self.note_problem(f"{whose}: {text}" if whose else text)

    def note_problem(self, problem: str) -> None:
        """Something went wrong that operators may want to know of."""
        self._fail(problem)
        if self.on_change is not None:
            self.on_change()

    def note_solved(self, problem: str) -> None:
        """What `note_problem` told is over."""
        if self.last_error == problem:
            self.last_error = ""
        self.solved = problem
        if self.on_change is not None:
            self.on_change()
        self.solved = ""

    def on_settled(
        self, user: UpstreamLink, delivery_ids: set[int], state: DeliveryState | None
    ) -> None:
        """It has settled deliveries to `user` before us; what it answered is of no concern."""
        if isinstance(user, (Receiver, Feeder)):
            user.on_settled(delivery_ids, state)

    def on_redirect(self, redirect: Redirect | None) -> None:
        """The peer has closed the connection and sends us elsewhere."""
        if redirect is not None:
            self.counts.redirected += 1
            self._redirect = redirect

    def take_redirect(self) -> Redirect | None:
        """Where the next connection is to go, told once."""
        redirect = self._redirect
        self._redirect = None
        return redirect

    # The connection's face asks.

    def flush(self) -> None:
        """The turn ends: attach what is due, give credit."""
        self.links.flush()
        self.give_credit()

    def give_credit(self) -> None:
        """Have whoever looks at its credit once a turn do so."""
        owing = self._owing
        if owing:
            self._owing = {}
            for user in owing:
                user.flush()

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called; also while there is no connection."""
        return self.sleepers.next_deadline()

    def handle_deadline(self, now_ms: int) -> None:
        """Back-offs are over, answers are late."""
        self.bridge.now_ms = now_ms
        self.sleepers.run(now_ms)
        self.touch()

    def drain(self, now_ms: int) -> None:
        """Graceful stop: nothing new is sent, no credit is given."""
        self.draining = True
        for receiver in self._receivers:
            receiver.on_credit()
        for feeder in self._feeders:
            feeder.on_credit()

    def outstanding(self) -> bool:
        """Whether anything is unsettled, either way."""
        for relay in self._relays.values():
            if relay.unsettled():
                return True
        for receiver in self._receivers:
            if receiver.outstanding():
                return True
        return any([feeder.outstanding() for feeder in self._feeders])


__all__ = [
    "NodeRules",
    "Upstream",
    "UpstreamConnection",
    "UpstreamCounts",
    "UpstreamSettings",
    "UpstreamState",
]

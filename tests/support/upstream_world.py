"""A bridge, an `Upstream`, and a scripted 1.0 container that it talks to; time stands still.

`Broker` answers as it was told to: every attach is accepted unless `refusals` or `answers` say
otherwise; a sender of the gateway's gets `credit`. What happened is in `events`; deliveries,
dispositions and errors are the test's to send, on the links that `link` finds.
"""

from __future__ import annotations

from support.bridge_world import Consumer, World
from support.derivations import derive_here

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0.connection import Connection
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.remote.remote import Placement
from gateway.bridge.seams import SubscribeOptions
from gateway.faces.dialled.settings import UpstreamCounts, UpstreamSettings
from gateway.faces.face import FaceSettings
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.upstream import Upstream
from gateway.message import Refusal
from gateway.translate.profiles.profile import Profile
from gateway.translate.view import READER
from gateway.wire.limits import Limits

COORDINATOR = "a coordinator"


def address_of(terminus):
    """The address of a source or target; a coordinator has none."""
    return COORDINATOR if isinstance(terminus, _spec.Coordinator) else terminus.address


class Turns:
    """Remembers whether another turn was asked for."""

    def __init__(self):
        self.touched = False

    def touch(self, face):
        self.touched = True


class Placements:
    """Which names are remote, as the test says; makes the upstream of each incarnation."""

    def __init__(self, make):
        self.make = make
        self.remotes = {}
        self.queues_placed = {}
        self.exchanges_placed = {}
        self.shadows = {}

    def begin(self, bridge):
        made = self.remotes["broker"] = self.make(bridge)
        for placed in (self.queues_placed, self.exchanges_placed):
            for placement in placed.values():
                placement.remote = made

    def queue(self, host, name):
        return self.queues_placed.get(name)

    def exchange(self, host, name):
        return self.exchanges_placed.get(name)

    def shadow(self, host, name):
        return self.shadows.get(name)

    def queues(self, host):
        return list(self.queues_placed)


class RemoteConsumer(Consumer):
    """An `Outlet` that also remembers whether it was told that its node is there."""

    def __init__(self):
        super().__init__()
        self.attached = 0
        self.why = []

    def on_attached(self):
        self.attached += 1

    def on_cancelled(self, condition, description):
        super().on_cancelled(condition, description)
        self.why.append(description)


class Broker:
    """One connection of the container."""

    def __init__(self, now_ms, *, limits=None, credit=100):
        self.connection = Connection(
            server=True,
            container_id="broker",
            limits=limits or Limits(),
            now_ms=now_ms,
            mechanisms=["ANONYMOUS"],
        )
        self.credit = credit
        self.refusals = {}  # by address: an Error, told by a null terminus and a detach
        self.session_errors = {}  # by address: an Error that ends the session
        self.answers = {}  # by address: called with the attach event, answers it
        self.opens = True  # answers our open
        self.closes = True  # and our close
        self.begins = True
        self.events = []
        self.attached = []  # our attaches, in order
        self.asked_for = []  # and their addresses
        self.sessions = []
        self.tags = 0

    def receive(self, octets, now_ms):
        for event in self.connection.receive_data(octets, now_ms):
            self._react(event)

    def _react(self, event):
        if isinstance(event, events.OpenReceived):
            if self.opens:
                self.connection.send_open()
        elif isinstance(event, events.BeginReceived):
            if self.begins and event.begin.remote_channel is None:
                self.sessions.append(event.session)
                event.session.send_begin()
        elif isinstance(event, events.AttachReceived):
            self._on_attach(event)
        elif isinstance(event, events.DetachReceived):
            event.link.send_detach(closed=event.detach.closed is True)
        elif isinstance(event, events.EndReceived):
            event.session.send_end()
        elif isinstance(event, events.CloseReceived) and self.closes:
            self.connection.send_close()
        self.events.append(event)

    def _on_attach(self, event):
        self.attached.append(event)
        link, attach = event.link, event.attach
        terminus = attach.source if attach.role else attach.target
        address = address_of(terminus)
        self.asked_for.append(address)
        if address in self.refusals:
            link.refuse(self.refusals[address])
        elif address in self.session_errors:
            link.session.send_end(error=self.session_errors[address])
        elif address in self.answers:
            self.answers[address](event)
        else:
            self.accept(event)

    def accept(self, event, **changes):
        """Answer an attach with what it asked for, but for `changes`."""
        attach = event.attach
        modes = {"source": attach.source, "target": attach.target}
        if attach.snd_settle_mode is not None:
            modes["snd_settle_mode"] = attach.snd_settle_mode
        modes.update(changes)
        event.link.send_attach(**modes)
        if event.link.role and self.credit:
            event.link.send_flow(credit=self.credit)

    # What the test asks and says.

    def take_all(self, kind):
        found = [event for event in self.events if isinstance(event, kind)]
        self.events = [event for event in self.events if not isinstance(event, kind)]
        return found

    def links(self, address, *, sends):
        """The attached links of an address, in order: those by which the broker sends, or not."""
        found = []
        for event in self.attached:
            if event.attach.role != sends or not event.link.attached:
                continue
            terminus = event.attach.source if event.attach.role else event.attach.target
            if address_of(terminus) == address:
                found.append(event.link)
        return found

    def link(self, address, *, sends=True):
        """The one link by which the broker sends from an address, or receives for it."""
        links = self.links(address, sends=sends)
        assert len(links) == 1, f"{len(links)} links of {address}"
        return links[0]

    def deliver(self, address, payload, *, settled=False, **more):
        """Send one message by the link from an address."""
        self.tags += 1
        tag = self.tags.to_bytes(4, "big")
        return self.link(address).send_delivery(tag, b"", payload, settled=settled, **more)

    def states(self):
        """The states that we were told for deliveries, in order, taken."""
        return [
            event.state
            for event in self.take_all(events.DispositionReceived)
            for _ in event.deliveries
        ]

    def received(self):
        """The deliveries that we sent, taken."""
        return self.take_all(events.DeliveryReceived)

    def settle(self, delivery, state=None, *, settled=True):
        """Settle a delivery of ours: accepted, unless told otherwise."""
        session = delivery.link.session
        session.settle_incoming(delivery.delivery_id, state or _spec.Accepted(), settled=settled)


class Roads:
    """Implements `upstream_1_0.detours.Dialling`: containers at other places, which the test opens.

    Attributes:
        dialled: the detours that wait for a transport, in order.
        brokers: the container at each place that was opened, by its host.
    """

    def __init__(self, world):
        self.world = world
        self.dialled = []
        self.brokers = {}
        self.faces = {}
        self.hung_up = []

    def dial(self, detour):
        self.dialled.append(detour)

    def hang_up(self, detour):
        self.hung_up.append(detour.location.network_host)

    def open(self, *, prepare=None, kind=Broker, **broker):
        """The transport of the detour that was dialled first is up; the container there."""
        detour = self.dialled.pop(0)
        host = detour.location.network_host
        self.faces[host] = detour.connect(self.world.now_ms, hostname=host)
        made = self.brokers[host] = kind(self.world.now_ms, **broker)
        if prepare is not None:
            prepare(made)
        self.world.step()
        return made

    def refuse(self, problem="refused"):
        """Nobody listens where the detour that was dialled first leads."""
        self.dialled.pop(0).on_unreachable(problem)
        self.world.step()

    def lose(self, host):
        """The transport there is gone."""
        del self.brokers[host]
        self.faces.pop(host).receive_eof(self.world.now_ms)
        self.world.step()

    def step(self):
        """Carry octets once, all ways; whether there were any."""
        moved = False
        for host, broker in list(self.brokers.items()):
            face = self.faces[host]
            octets = face.data_to_send()
            if octets:
                broker.receive(octets, self.world.now_ms)
                moved = True
            octets = broker.connection.data_to_send()
            if octets:
                face.receive_data(octets, self.world.now_ms)
                moved = True
        return moved


class UpstreamWorld:
    """Everything; `connect` first. Queue names are addresses, unless the profile says more."""

    def __init__(self, *, profile=None, limits=None, bridge_limits=None, rules=None, **settings):
        self.limits = limits or Limits()
        self.faces = FaceSettings(
            limits=self.limits,
            container_id="gateway",
            federation_tag="01234567-89ab-cdef-0123-456789abcdef",
            version="1",
        )
        self.counts = UpstreamCounts()
        self.turns = Turns()
        self.roads = Roads(self)
        self.placements = Placements(self._make)
        self._settings = UpstreamSettings(
            name="broker",
            container_id="gateway",
            limits=self.limits,
            mechanisms=lambda secure: [],
            derive=derive_here,
            random=lambda: 0.0,
            rules=rules,
            **settings,
        )
        self._profile = profile or Profile()
        self.world = World(reader=READER, limits=bridge_limits, rules=self.placements)
        self.face = None
        self.broker = None

    def _make(self, bridge):
        self.bridge = bridge
        self.upstream = Upstream(
            UpstreamContext(
                bridge,
                self.turns,
                self._settings,
                self._profile,
                self.faces,
                self.counts,
            )
        )
        self.upstream.detours.dialling = self.roads
        return self.upstream

    @property
    def host(self):
        return self.world.host

    @property
    def now_ms(self):
        return self.world.now_ms

    def place(self, *queues, exchange=None, **rule):
        """Nodes that live at the upstream."""
        for name in queues:
            self.placements.queues_placed[name] = Placement(self.upstream, **rule)
        if exchange is not None:
            self.placements.exchanges_placed[exchange] = Placement(self.upstream, **rule)
        return self

    def connect(self, *, prepare=None, kind=Broker, location=None, **broker):
        """A transport is up: talk until all is quiet."""
        self.face = self.upstream.connect(self.now_ms, location=location)
        self.broker = kind(self.now_ms, **broker)
        if prepare is not None:
            prepare(self.broker)
        self.step()
        return self.broker

    def lose(self):
        """The transport is gone."""
        face, self.face = self.face, None
        face.receive_eof(self.now_ms)
        self.step()

    def step(self):
        """Carry octets, end turns, until all is quiet."""
        for _ in range(200):
            self.world.turn()
            face, broker = self.face, self.broker
            self.turns.touched = False
            moved = self.roads.step()
            if face is None:
                if moved or (self.roads.brokers and self.turns.touched):
                    continue
                return
            octets = face.data_to_send()
            moved = moved or self.turns.touched  # what the flush asked for is of the next turn
            if octets:
                broker.receive(octets, self.now_ms)
                moved = True
            octets = broker.connection.data_to_send()
            if octets:
                face.receive_data(octets, self.now_ms)
                moved = True
            if not moved:
                return
        raise AssertionError("it does not end")

    def pass_time(self, ms):
        """Time passes; the deadlines of the bridge and of the upstream are met one by one.

        The broker keeps its connection alive by itself.
        """
        end = self.now_ms + ms
        for _ in range(10_000):
            deadlines = [self.bridge.next_deadline(), self.upstream.next_deadline()]
            due = [each for each in deadlines if each is not None and each <= end]
            if not due:
                break
            self.world.now_ms = max(self.now_ms, min(due))
            self.bridge.now_ms = self.now_ms
            if deadlines[0] is not None and deadlines[0] <= self.now_ms:
                self.bridge.handle_deadline(self.now_ms)
            self.upstream.handle_deadline(self.now_ms)
            self.step()
        else:
            raise AssertionError("the deadlines do not end")
        self.world.now_ms = end
        self.bridge.now_ms = end
        self.step()

    def subscribe(self, queue="q", *, credit=10, acquire=True, settled=False, **more):
        """A client's subscription; its outlet and itself."""
        consumer = RemoteConsumer()
        subscription = self.host.subscribing.subscribe(
            queue,
            consumer,
            self.world.owner(),
            SubscribeOptions(acquire=acquire, settled=settled, **more),
        )
        assert isinstance(subscription, Subscription), subscription
        if credit:
            subscription.grant(credit)
        self.step()
        return consumer, subscription

    def publish(self, *bodies, key="q", exchange="", publisher=None, durable=False, flags=0):
        """Publish 0-10-less messages with these bodies; what the bridge answered, in order."""
        answers = []
        for number, body in enumerate(bodies, 1):
            message = self.world.message(
                body, exchange=exchange, key=key, durable=durable, flags=flags
            )
            answers.append(self.host.publishing.publish(message, publisher, number))
        self.step()
        return answers

    def refusal(self, found):
        """Of an answer that must be one."""
        assert isinstance(found, Refusal), found
        return found

    def settle(self, delivery, outcome):
        """A client settles."""
        self.host.settlement.settle(delivery, outcome)
        self.step()

    def check(self):
        """The ledger balances."""
        return self.world.check()

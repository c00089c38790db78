"""Whatever links are redirected to, and whatever ends: messages are accounted for, and go on."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support.bridge_world import Producer
from support.examples import examples
from support.face_1_0 import message
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, types
from gateway.faces.dialled.location import Location
from gateway.message import ACCEPTED, RELEASED
from gateway.translate.profiles.profile import Profile
from gateway.wire.tagged import Tagged

HOSTS = ("a.example", "b.example", "c.example")
ADDRESSES = ("q", "r", "q-1")
STEPS = (
    *("publish", "subscribe", "deliver", "accept", "release", "cancel"),
    *("redirect", "redirect", "redirect", "open", "open", "refuse", "lose", "settle", "settle"),
    *("lose all", "connect", "wait", "detach"),
)
scripts = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 5), st.integers(0, 5)), max_size=60
)


class Script:
    """A world to which things happen by name."""

    def __init__(self, *, resume):
        self.w = UpstreamWorld(profile=Profile(resume=resume), detours_max=2).place("q", "r")
        self.producer = Producer()
        self.published = 0
        self.subscriptions = []
        self.connect()

    def connect(self):
        if self.w.face is None:
            self.w.connect(location=Location(network_host=HOSTS[0], port=5672, hostname=HOSTS[0]))

    def brokers(self):
        main = [] if self.w.face is None else [self.w.broker]
        return [*main, *self.w.roads.brokers.values()]

    def links(self):
        return [
            (broker, event.link)
            for broker in self.brokers()
            for event in broker.attached
            if event.link.attached
        ]

    def run(self, step, one, other):
        w = self.w
        roads = w.roads
        if step == "publish":
            self.published += 1
            w.publish(b"x", key=("q", "r")[one % 2], publisher=self.producer)
        elif step == "subscribe" and len(self.subscriptions) < 3:
            self.subscriptions.append(w.subscribe(("q", "r")[one % 2]))
        elif step == "cancel" and self.subscriptions:
            consumer, subscription = self.subscriptions.pop()
            subscription.cancel()
            self.end(consumer, RELEASED)
        elif step in ("accept", "release") and self.subscriptions:
            consumer, _ = self.subscriptions[one % len(self.subscriptions)]
            self.end(consumer, ACCEPTED if step == "accept" else RELEASED)
        elif step == "connect":
            self.connect()
        elif step == "lose all" and w.face is not None:
            w.lose()
        elif step == "open" and roads.dialled:
            roads.open()
        elif step == "refuse" and roads.dialled:
            roads.refuse()
        elif step == "lose" and roads.brokers:
            roads.lose(sorted(roads.brokers)[one % len(roads.brokers)])
        elif step == "settle":
            self.settle()
        elif step == "wait":
            w.pass_time(500 * one)
        else:
            self.to_a_link(step, one, other)
        w.step()
        assert len(w.upstream.detours.standing) <= 2

    def to_a_link(self, step, one, other):
        links = self.links()
        if not links or step not in ("redirect", "detach", "deliver"):
            return
        broker, link = links[one % len(links)]
        if step == "deliver":
            if link.role is _spec.SENDER and link.credit:
                broker.tags += 1
                tag = broker.tags.to_bytes(4, "big")
                link.send_delivery(tag, b"", message(b"y"), settled=False)
        elif step == "detach":
            link.send_detach(error=_spec.Error(condition="amqp:link:detach-forced"))
        else:
            info = {"address": Tagged(types.STRING, ADDRESSES[other % 3])}
            if other > 2:
                info["network-host"] = Tagged(types.STRING, HOSTS[(one + other) % 3])
            error = _spec.Error(condition="amqp:link:redirect", info=info)
            link.send_detach(closed=one % 2 == 0, error=error)

    def end(self, consumer, outcome):
        deliveries, consumer.deliveries = consumer.deliveries, []
        for delivery in deliveries:
            self.w.settle(delivery, outcome)

    def settle(self):
        for broker in self.brokers():
            for delivery in broker.received():
                if delivery.link.attached:
                    broker.settle(delivery)

    def finish(self):
        """Everything is there, and nothing is redirected any more."""
        w = self.w
        self.connect()
        for _ in range(12):
            while w.roads.dialled:
                w.roads.refuse()
            for host in list(w.roads.brokers):
                w.roads.lose(host)
            w.pass_time(60_000)
            self.settle()
            w.step()
        for consumer, subscription in self.subscriptions:
            subscription.cancel()
            self.end(consumer, RELEASED)
        w.step()


@given(script=scripts, resume=st.booleans())
@settings(max_examples=examples(100))
def test_every_publisher_hears_and_the_ledger_balances(script, resume):
    s = Script(resume=resume)
    for step, one, other in script:
        s.run(step, one, other)
    s.finish()
    assert [outcome for _, outcome in s.producer.published] == [ACCEPTED] * s.published
    assert not s.w.upstream.outstanding()
    s.w.check()

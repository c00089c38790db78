"""When there is a detour, and when it goes."""

from support.bridge_world import Producer
from support.face_1_0 import message
from support.redirects import HOME, OTHER, attaches, bodies, connect, redirect, redirecting
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events
from gateway.audit.schema import Kind
from gateway.message import ACCEPTED, Condition


def test_a_detour_goes_when_its_last_link_has_left():
    w = UpstreamWorld().place("q", "r")
    connect(w, prepare=redirecting("q", "r", host=OTHER))
    subscriptions = [w.subscribe(name)[1] for name in ("q", "r")]
    other = w.roads.open()
    subscriptions[0].cancel()
    w.step()
    w.pass_time(1_000)
    assert other.take_all(events.CloseReceived) == []
    subscriptions[1].cancel()
    w.step()
    w.pass_time(1_000)
    # The senders of both queues are there as well, and stay.
    assert other.take_all(events.CloseReceived) == []
    for name in ("q", "r"):
        w.upstream.abandon(w.host.topology.find_queue(name))
    w.step()
    (closed,) = other.take_all(events.CloseReceived)
    assert closed.error is None
    assert w.roads.hung_up == [OTHER]
    assert list(w.upstream.detours.standing) == []
    assert w.counts.connections_lost == 0


def test_a_detour_that_is_lost_sends_its_links_back_to_ask_again():
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    consumer, _ = w.subscribe("q")
    other = w.roads.open()
    other.deliver("q", message(b"1"))
    w.step()
    asked = attaches(broker, "q")
    w.roads.lose(OTHER)
    assert attaches(broker, "q") == asked
    assert w.roads.dialled == []
    assert w.counts.connections_lost == 1
    assert "b.example:5672" in w.upstream.health.last_error
    w.pass_time(1_500)
    assert attaches(broker, "q") > asked
    other = w.roads.open()
    other.deliver("q", message(b"2"))
    w.step()
    assert bodies(consumer) == [b"1", b"2"]
    w.check()


def test_a_place_that_refuses_is_dialled_less_and_less_often():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    tries = 0
    for _ in range(120):
        while w.roads.dialled:
            tries += 1
            w.roads.refuse()
        w.pass_time(500)
    assert 3 <= tries <= 8
    assert w.counts.connections_refused == tries


def test_a_place_that_refuses_is_left_alone_by_links_that_come_just_then():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    w.roads.refuse()
    for _ in range(5):
        w.subscribe("q")
    assert w.roads.dialled == []


def test_an_error_at_the_other_place_is_mapped_as_any_and_the_first_one_is_asked_again():
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    gone = _spec.Error(condition="amqp:not-found", description="no")
    other = w.roads.open(prepare=lambda other: other.refusals.update(q=gone))
    assert attaches(other, "q") == 1
    assert list(w.upstream.detours.standing) == []
    broker.refusals.clear()
    w.pass_time(2_000)
    assert len(broker.received()) == 1


def test_a_subscription_that_the_other_place_refuses_is_refused():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    consumer, _ = w.subscribe("q")
    gone = _spec.Error(condition="amqp:not-found", description="no")
    w.roads.open(prepare=lambda other: other.refusals.update(q=gone))
    assert consumer.cancelled == [Condition.NOT_FOUND]


def test_there_are_as_many_detours_as_the_configuration_allows():
    w = UpstreamWorld(detours_max=2).place("q", "r", "s")

    def prepare(broker):
        for name in ("q", "r", "s"):
            broker.refusals[name] = redirect(host=f"{name}.example")

    connect(w, prepare=prepare)
    for name in ("q", "r", "s"):
        w.publish(b"x", key=name, publisher=Producer())
    assert len(w.roads.dialled) == 2
    w.roads.open()
    w.roads.open()
    w.pass_time(5_000)
    assert w.roads.dialled == []


def test_without_detours_a_redirect_elsewhere_is_an_end_as_any_other():
    w = UpstreamWorld(detours_max=0).place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    assert w.roads.dialled == []
    broker.refusals.clear()
    w.pass_time(2_000)
    assert len(broker.received()) == 1


def test_a_detour_goes_on_while_the_upstream_itself_is_away():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    consumer, _ = w.subscribe("q")
    producer = Producer()
    other = w.roads.open()
    w.lose()
    other.deliver("q", message(b"y"))
    w.publish(b"x", publisher=producer)
    (sent,) = other.received()
    other.settle(sent)
    w.step()
    assert bodies(consumer) == [b"y"]
    assert producer.published == [(1, ACCEPTED)]


def test_a_new_connection_is_asked_at_the_configured_address():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", address="q-7"))
    w.subscribe("q")
    w.lose()
    broker = connect(w)
    assert broker.link("q").credit == 10
    assert broker.links("q-7", sends=True) == []


def test_a_detour_is_a_connection_in_the_audit_log():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER, address="q-7"))
    w.subscribe("q")
    w.roads.open()
    w.roads.lose(OTHER)
    records = w.world.blocks.raw()
    opened = [each for each in records if each["kind"] == Kind.CONNECTION_OPENED]
    assert [each["peer"] for each in opened] == [
        "broker",
        "broker, redirected to b.example:5672",
    ]
    assert sum(each["kind"] == Kind.CONNECTION_CLOSED for each in records) == 1
    attached = [each["peer"] for each in records if each["kind"] == Kind.LINK_ATTACHED]
    assert {each.partition(": ")[2] for each in attached} == {"q-7 at broker"}


def test_a_message_that_breaks_a_detour_is_suspected_there_alone():
    w = UpstreamWorld().place("q", "r")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    poisoned = Producer()
    w.publish(b"ok", key="r", publisher=Producer())
    w.publish(b"poison", key="q", publisher=poisoned)
    for _ in range(12):
        while w.roads.dialled:
            w.roads.open()
        if OTHER in w.roads.brokers and w.roads.brokers[OTHER].received():
            w.roads.lose(OTHER)
        w.pass_time(30_000)
    assert w.counts.poison == 1
    assert len(poisoned.published) == 1
    assert len(broker.received()) == 1
    assert w.upstream.health.connected


def test_a_redirect_back_to_the_upstream_uses_its_own_connection():
    w = UpstreamWorld().place("q")
    broker = connect(w)
    broker.refusals["q"] = redirect(host=OTHER)
    w.subscribe("q")
    back = redirecting("q", host=HOME, port=5672, address="q-7")
    w.roads.open(prepare=back)
    assert broker.link("q-7").credit == 10
    assert list(w.upstream.detours.standing) == []


def test_a_detour_that_nobody_needs_when_it_opens_is_closed_at_once():
    class Waiter:
        told = 0

        def on_looked_up(self, token, refusal):
            self.told += 1

    w = UpstreamWorld()
    connect(w, prepare=redirecting("q", host=OTHER))
    waiter = Waiter()
    w.upstream.look_up_address("q", waiter, 1)
    w.step()
    assert len(w.roads.dialled) == 1
    w.pass_time(60_000)
    assert waiter.told == 1
    other = w.roads.open()
    assert other.attached == []
    assert len(other.take_all(events.CloseReceived)) == 1

import pytest
from support.face_1_0 import message
from support.frames_1_0 import give_up
from support.upstream_receivers import bodies, world
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.subscription import UNLIMITED
from gateway.bridge.seams import DeliverStatus
from gateway.message import (
    ACCEPTED,
)
from gateway.wire.limits import Limits


def test_credit_follows_the_subscription():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=0)
    assert broker.link("q").credit == 0
    subscription.grant(8)
    w.step()
    assert broker.link("q").credit == 8
    subscription.stop()
    w.step()
    assert broker.link("q").credit == 0
    assert consumer.cancelled == []


def test_credit_is_refilled_as_the_client_grants_more():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=4)
    for number in range(20):
        assert broker.link("q").credit > 0
        broker.deliver("q", message(b"%d" % number))
        w.step()
        w.settle(consumer.take()[0], ACCEPTED)
        subscription.add(1)
        w.step()
    assert len(broker.states()) == 20


def test_a_drain_is_the_upstreams_to_answer():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=5)
    subscription.drain()
    w.step()
    link = broker.link("q")
    assert link.drain
    assert consumer.drained == 0
    broker.deliver("q", message(b"last"))
    link.send_drained()
    w.step()
    assert bodies(consumer) == [b"last"]
    assert consumer.drained == 1
    subscription.grant(3)
    w.step()
    assert not link.drain
    assert link.credit == 3


def test_a_drain_that_is_never_answered_ends_with_its_link():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"one"))
    subscription.drain()
    w.step()
    link = broker.link("q")
    w.pass_time(29_000)
    broker.deliver("q", message(b"two"))
    w.step()
    w.pass_time(29_000)
    assert consumer.drained == 0
    w.pass_time(1_000)
    assert consumer.drained == 1
    assert not link.attached
    assert w.upstream.health.last_error == "no answer to a drain of 'q'"
    assert consumer.cancelled == []
    subscription.grant(5)
    w.pass_time(2_000)
    assert broker.link("q").credit == 5
    assert [w.host.settlement.settle(delivery, ACCEPTED) for delivery in consumer.take()] == [
        False,
        False,
    ]
    w.check()


def test_a_drain_is_over_when_the_credit_was_used_up():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=1)
    subscription.drain()
    w.step()
    broker.deliver("q", message(b"last"))
    w.step()
    assert bodies(consumer) == [b"last"]
    assert consumer.drained == 1


def test_where_drain_is_not_answered_credit_is_taken_back_after_a_while():
    w = world(drain=False)
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=5)
    subscription.drain()
    w.step()
    assert not broker.link("q").drain
    broker.deliver("q", message(b"one"))
    w.step()
    assert consumer.drained == 0
    w.pass_time(200)
    assert broker.link("q").credit == 0
    assert bodies(consumer) == [b"one"]
    assert consumer.drained == 1


@pytest.mark.parametrize("credit", [7, UNLIMITED])
def test_a_drain_goes_on_beyond_what_a_link_may_bring_at_a_time(credit):
    w = UpstreamWorld(
        bridge_limits=BridgeLimits(remote_prefetch=3), limits=Limits(link_credit=3)
    ).place("q")
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=credit)
    subscription.drain()
    for number in range(6):
        w.step()
        link = broker.link("q")
        assert link.drain
        assert link.credit
        link.send_delivery(b"%d" % number, b"", message(b"%d" % number), settled=False)
    w.step()
    assert consumer.drained == 0
    broker.link("q").send_drained()
    w.step()
    assert bodies(consumer) == [b"%d" % number for number in range(6)]
    assert consumer.drained == 1


def test_a_transfer_beyond_the_credit_ends_the_link_and_nothing_else():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(credit=1)
    other, _ = w.subscribe("r", credit=1)
    link = broker.link("q")
    link.credit = 5
    link.send_delivery(b"1", b"", message(b"one"), settled=False)
    link.send_delivery(b"2", b"", message(b"two"), settled=False)
    w.step()
    broker.deliver("r", message(b"other"))
    w.step()
    assert bodies(other) == [b"other"]
    assert consumer.cancelled == []
    w.pass_time(2_000)
    assert broker.link("q").name == link.name


def test_where_credit_is_counted_anew_it_is_given_only_when_it_was_used_up():
    w = world(credit="when-used-up")
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=4)
    link = broker.link("q")
    for number, left in ((1, 3), (2, 2), (3, 1), (4, 3)):
        broker.deliver("q", message(b"%d" % number))
        w.step()
        w.settle(consumer.take()[0], ACCEPTED)
        subscription.add(1)
        w.step()
        assert link.credit == left


def test_where_credit_is_counted_anew_what_is_under_way_comes_on_top():
    w = world(credit="when-used-up")
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=3)
    link = broker.link("q")
    subscription.stop()
    w.world.turn()
    w.face.data_to_send()  # credit 0, still under way while three messages come
    subscription.grant(2)
    link.credit = 5
    for number in range(5):
        broker.deliver("q", message(b"%d" % number))
    w.step()
    subscription.grant(5)
    w.step()
    assert bodies(consumer) == [b"0", b"1", b"2", b"3", b"4"]
    assert broker.link("q") is link


def test_the_credit_of_an_aborted_delivery_is_given_again():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(credit=1)
    link = broker.link("q")
    give_up(link, begun=True)
    w.step()
    assert link.credit == 1
    broker.deliver("q", message(b"whole"))
    w.step()
    assert bodies(consumer) == [b"whole"]


@pytest.mark.parametrize("end", ["stop", "cancel"])
def test_credit_is_taken_back_before_what_was_fetched_so_that_it_does_not_come_again_by_it(end):
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    consumer.answers.append(DeliverStatus.BLOCKED)
    broker.deliver("q", message(b"one"))
    w.step()
    before = len(broker.events)
    getattr(subscription, end)()
    w.step()
    first, second = broker.events[before : before + 2]
    assert (type(first), type(second)) == (events.FlowReceived, events.DispositionReceived)
    assert broker.states() == [_spec.Released()]


def test_octets_that_are_no_message_do_not_use_up_the_credit():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    consumer, _ = w.subscribe(credit=2)
    for _ in range(2):
        broker.deliver("q", b"\x00\x53\x75\xa0")
    w.step()
    assert [state.error.condition for state in broker.states()] == ["amqp:decode-error"] * 2
    broker.deliver("q", message(b"one"))
    broker.deliver("q", message(b"two"))
    w.step()
    assert len(consumer.deliveries) == 2

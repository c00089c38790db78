import pytest
from support.face_1_0 import body_of, message
from support.upstream_receivers import asked, bodies, world
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.bridge.queues.subscription import UNLIMITED
from gateway.faces.upstream_1_0.receiving.receiver import SETTLED_CREDIT_MAX
from gateway.message import (
    ACCEPTED,
    RELEASED,
    Condition,
)
from gateway.translate.profiles.profile import Profile


def test_a_peer_that_settles_by_itself_is_refused_where_outcomes_count():
    w = world()
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, snd_settle_mode=_spec.SND_SETTLED)
    consumer, _ = w.subscribe()
    assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]


def test_what_the_client_need_not_settle_is_accepted_when_it_was_sent_to_it():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(settled=True, credit=1)
    broker.deliver("q", message(b"one"))
    w.step()
    assert bodies(consumer) == [b"one"]
    assert broker.states() == [_spec.Accepted()]
    w.check()


def test_what_comes_settled_is_passed_on():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message(b"one"), settled=True)
    w.step()
    w.settle(consumer.take()[0], ACCEPTED)
    assert broker.states() == []
    w.check()


def settling(*, credit=10, limits=None, **profile):
    """A client without acceptance, at an upstream that is asked to settle; who is asked."""
    w = UpstreamWorld(profile=Profile(**profile), bridge_limits=limits).place("q", settled=True)
    broker = w.connect()
    consumer, subscription = w.subscribe(settled=True, credit=credit)
    return w, broker, consumer, subscription


def test_settled_deliveries_are_asked_for_where_a_rule_wants_it_and_the_client_does_not_settle():
    w, broker, consumer, _ = settling()
    assert asked(broker)[1].snd_settle_mode == _spec.SND_SETTLED
    broker.deliver("q", message(b"one"), settled=True)
    w.step()
    assert bodies(consumer) == [b"one"]
    assert broker.states() == []
    w.check()


def test_who_settles_is_not_sent_settled_deliveries():
    w = UpstreamWorld().place("q", settled=True)
    broker = w.connect()
    w.subscribe()
    assert asked(broker)[1].snd_settle_mode == _spec.SND_UNSETTLED


def test_a_broker_that_does_not_settle_is_not_asked_to():
    _, broker, _, _ = settling(settled=False)
    assert asked(broker)[1].snd_settle_mode == _spec.SND_UNSETTLED


@pytest.mark.parametrize("mode", [_spec.SND_UNSETTLED, _spec.SND_MIXED])
def test_a_broker_that_answers_with_another_mode_is_told_of_each_delivery(mode):
    w = UpstreamWorld().place("q", settled=True)
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, snd_settle_mode=mode)
    consumer, subscription = w.subscribe(settled=True, credit=UNLIMITED)
    assert broker.link("q").credit > SETTLED_CREDIT_MAX
    broker.deliver("q", message(b"one"))
    w.step()
    assert broker.states() == [_spec.Accepted()]
    subscription.cancel()
    assert bodies(consumer) == [b"one"]
    w.check()


def test_little_credit_is_given_where_nothing_can_be_given_back():
    w, broker, _, subscription = settling(credit=3)
    assert broker.link("q").credit == 3
    subscription.grant(UNLIMITED)
    w.step()
    assert broker.link("q").credit == SETTLED_CREDIT_MAX
    w.check()


def test_what_came_settled_and_was_not_sent_goes_back_to_its_node():
    w, broker, consumer, subscription = settling()
    for number in range(3):
        broker.deliver("q", message(b"%d" % number), settled=True)
    octets = broker.connection.data_to_send()
    w.face.receive_data(octets, w.now_ms)
    subscription.stop()
    w.step()
    assert consumer.bodies() == []
    again = broker.received()
    assert [body_of(each.payload) for each in again] == [b"0", b"1", b"2"]
    for each in again:
        broker.settle(each)
    w.step()
    assert w.host.topology.find_queue("q").depth == 0
    w.check()


def test_what_comes_settled_after_the_client_left_goes_back_too():
    w, broker, consumer, subscription = settling()
    broker.link("q").send_delivery(b"late", b"", message(b"late"), settled=True)
    late = broker.connection.data_to_send()
    subscription.cancel()
    w.face.receive_data(late, w.now_ms)
    w.step()
    assert consumer.bodies() == []
    assert [body_of(each.payload) for each in broker.received()] == [b"late"]
    assert broker.links("q", sends=True) == []  # the broker has answered that nothing more comes
    w.check()


def test_a_link_that_may_still_bring_settled_deliveries_is_kept_longer():
    w, broker, _, subscription = settling()
    link = broker.link("q")
    subscription.cancel()
    w.face.data_to_send()  # the flow is lost on the broker
    w.pass_time(4_900)
    assert link.attached
    w.pass_time(200)
    assert not link.attached


def test_a_client_that_leaves_in_a_drain_is_not_waited_for_any_longer():
    w, broker, _, subscription = settling()
    link = broker.link("q")
    subscription.drain()
    w.step()
    link.send_delivery(b"late", b"", message(b"late"), settled=True)
    late = broker.connection.data_to_send()
    subscription.cancel()
    w.face.data_to_send()  # the flow is lost on the broker
    w.face.receive_data(late, w.now_ms)
    w.pass_time(4_900)
    assert link.attached
    w.pass_time(200)
    assert not link.attached
    w.check()


def test_what_a_mixed_sender_settled_survives_its_connection():
    w = world()
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, snd_settle_mode=_spec.SND_MIXED)
    consumer, _ = w.subscribe()
    broker.deliver("q", message(b"one"), settled=True)
    w.step()
    w.lose()
    w.settle(consumer.take()[0], RELEASED)
    broker = w.connect()
    assert [body_of(each.payload) for each in broker.received()] == [b"one"]
    w.check()

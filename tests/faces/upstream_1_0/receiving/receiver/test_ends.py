import pytest
from support.face_1_0 import body_of, message
from support.upstream_receivers import BROKEN, FORCED, bodies, world

from gateway.amqp_1_0 import _spec, events
from gateway.audit.schema import Reason
from gateway.bridge.seams import DeliverStatus
from gateway.message import (
    ACCEPTED,
    RELEASED,
    Condition,
)


def test_after_the_connection_is_lost_the_link_comes_back_and_what_is_held_is_too_late():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(credit=5)
    broker.deliver("q", message(b"one"))
    w.step()
    held = consumer.take()[0]
    w.lose()
    assert w.counts.unsettled_lost == 1
    broker = w.connect()
    assert consumer.attached == 1
    broker.deliver("q", message(b"one", header=_spec.Header(delivery_count=1)))
    w.step()
    w.settle(held, ACCEPTED)
    assert broker.states() == []
    again = consumer.take()[0]
    w.settle(again, ACCEPTED)
    assert broker.states() == [_spec.Accepted()]
    w.check()


def test_a_detach_that_passes_is_followed_by_another_attach_of_the_same_name():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    name = broker.link("q").name
    broker.link("q").send_detach(error=FORCED)
    w.step()
    assert broker.links("q", sends=True) == []
    w.pass_time(1_000)
    assert broker.link("q").name == name
    assert broker.link("q").credit == 10
    assert consumer.attached == 1
    assert consumer.cancelled == []


def test_a_node_that_goes_away_ends_the_subscription():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message(b"held"))
    w.step()
    broker.link("q").send_detach(error=_spec.Error(condition="amqp:resource-deleted"))
    w.step()
    assert consumer.cancelled == [Condition.RESOURCE_DELETED]
    w.settle(consumer.take()[0], ACCEPTED)
    w.check()


def test_a_lock_that_is_met_while_coming_back_is_waited_for():
    w = world()
    w.connect()
    consumer, _ = w.subscribe()
    w.lose()
    locked = _spec.Error(condition="amqp:resource-locked")
    broker = w.connect(prepare=lambda b: b.refusals.update(q=locked))
    assert consumer.cancelled == []
    broker.refusals.clear()
    w.pass_time(2_000)
    assert broker.link("q").credit == 10


def test_a_client_that_leaves_keeps_the_link_until_its_last_outcome():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"held"))
    w.step()
    subscription.cancel()
    w.step()
    assert broker.link("q").credit == 0
    w.settle(consumer.take()[0], ACCEPTED)
    assert broker.states() == [_spec.Accepted()]
    assert broker.links("q", sends=True) == []
    (detached,) = broker.take_all(events.DetachReceived)
    assert detached.detach.closed
    w.check()


def test_what_comes_after_the_client_left_is_released():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    link = broker.link("q")
    link.send_delivery(b"late", b"", message(b"late"), settled=False)
    late = broker.connection.data_to_send()
    subscription.cancel()
    w.face.receive_data(late, w.now_ms)
    w.step()
    assert consumer.bodies() == []
    assert broker.states() == [_spec.Released()]
    w.check()


def test_what_was_fetched_and_not_sent_is_released_when_the_client_stops():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=10)
    for number in range(3):
        broker.deliver("q", message(b"%d" % number))
    octets = broker.connection.data_to_send()
    w.face.receive_data(octets, w.now_ms)
    subscription.stop()
    w.step()
    assert consumer.bodies() == []
    assert broker.states() == [_spec.Released()] * 3
    w.check()


def test_a_delivery_over_which_the_link_ends_twice_is_poison():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    for _ in range(2):
        broker.deliver("q", message(b"bad"))
        w.step()
        consumer.take()
        broker.link("q").send_detach(error=BROKEN)
        w.step()
        w.pass_time(5_000)
    broker.deliver("q", message(b"bad"))
    broker.deliver("q", message(b"good"))
    w.step()
    assert bodies(consumer) == [b"good"]
    (state,) = broker.states()
    assert isinstance(state, _spec.Rejected)
    assert w.counts.poison == 1
    assert w.bridge.counts.refusals == {Reason.POISON: 1}
    w.check()


def test_after_a_client_has_left_a_lost_link_still_takes_back_what_it_holds():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"one"))
    w.step()
    delivery = consumer.take()[0]
    subscription.cancel()
    w.step()
    w.lose()
    assert w.host.settlement.settle(delivery, ACCEPTED) is False
    w.check()
    assert w.bridge.pressure.messages == 0


def test_what_is_under_way_when_a_client_stops_and_then_leaves_is_released():
    w = world()
    broker = w.connect()
    _consumer, subscription = w.subscribe()
    subscription.stop()
    w.world.turn()
    stopped = w.face.data_to_send()
    broker.deliver("q", message(b"late"))
    late = broker.connection.data_to_send()
    broker.receive(stopped, w.now_ms)
    subscription.cancel()
    w.world.turn()
    left = w.face.data_to_send()
    w.face.receive_data(late, w.now_ms)
    broker.receive(left, w.now_ms)
    w.step()
    assert broker.states() == [_spec.Released()]
    assert broker.links("q", sends=True) == []


def test_what_was_here_before_is_marked_until_it_has_ended():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"one"))
    w.step()
    consumer.take()
    w.lose()
    broker = w.connect()
    consumer.answers.append(DeliverStatus.BLOCKED)
    broker.deliver("q", message(b"one"))
    w.step()
    subscription.stop()
    w.step()
    assert broker.states() == [_spec.Released()]
    subscription.grant(10)
    subscription.resume()
    w.step()
    broker.deliver("q", message(b"one"))
    w.step()
    assert consumer.take()[0].delivery_count == 1


@pytest.mark.parametrize(
    "state", [_spec.Released(), _spec.Modified(delivery_failed=True), _spec.Rejected()]
)
def test_what_the_upstream_takes_back_by_itself_is_settled_too_late(state):
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=1)
    delivery = broker.deliver("q", message(b"one"))
    w.step()
    delivery.link.session.settle_outgoing(delivery, state)
    w.step()
    assert not w.host.settlement.settle(consumer.take()[0], ACCEPTED)
    subscription.add(1)
    w.step()
    assert broker.states() == []
    assert w.bridge.counts.settled_too_late == 1
    broker.deliver("q", message(b"one"))
    w.step()
    assert consumer.take()[0].delivery_count == 1  # it may have been here before
    w.check()


def test_what_the_upstream_takes_back_is_not_sent_to_the_client_any_more():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=2)
    consumer.answers.append(DeliverStatus.BLOCKED)
    delivery = broker.deliver("q", message(b"one"))
    w.step()
    delivery.link.session.settle_outgoing(delivery, _spec.Released())
    w.step()
    subscription.resume()
    w.step()
    assert bodies(consumer) == []
    assert subscription.queue.depth == 0
    w.check()


@pytest.mark.parametrize("state", [None, _spec.Accepted()])
def test_what_the_upstream_forgets_with_the_client_is_ours_and_told_to_be_late(state):
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(credit=2)
    first = broker.deliver("q", message(b"one"))
    second = broker.deliver("q", message(b"two"))
    w.step()
    for delivery in (first, second):
        delivery.link.session.settle_outgoing(delivery, state)
    w.step()
    one, two = consumer.take()
    assert not w.host.settlement.settle(one, ACCEPTED)
    assert w.bridge.counts.settled_too_late == 1
    assert w.host.settlement.settle(two, RELEASED)
    w.step()
    assert [body_of(event.payload) for event in broker.received()] == [b"two"]
    assert broker.states() == []
    w.check()


def test_what_the_upstream_forgets_before_the_client_has_it_is_as_if_it_had_come_settled():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=2)
    consumer.answers.append(DeliverStatus.BLOCKED)
    delivery = broker.deliver("q", message(b"one"))
    w.step()
    delivery.link.session.settle_outgoing(delivery, None)
    w.step()
    w.lose()
    subscription.resume()
    w.step()
    assert bodies(consumer) == [b"one"]
    assert w.host.settlement.settle(consumer.take()[0], ACCEPTED)
    assert w.bridge.counts.settled_too_late == 0
    w.check()

"""Links of nodes that move to another address or upstream: the old ones go, new ones come."""

from support.bridge_world import Producer
from support.face_1_0 import body_of, message
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events
from gateway.bridge.remote.moving import Moving
from gateway.bridge.remote.remote import Placement
from gateway.message import ACCEPTED, Condition, OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template

NOT_FOUND = _spec.Error(condition="amqp:not-found", description="no such node")


def world(**profile):
    return UpstreamWorld(profile=Profile(**profile)).place("q")


def moving(w):
    """Everything is to live at another address, as far as the rules say."""
    names = list(w.placements.queues_placed)
    exchanges = list(w.placements.exchanges_placed)
    for name in names:
        w.placements.queues_placed[name] = Placement(w.upstream, way="other")
    for name in exchanges:
        w.placements.exchanges_placed[name] = Placement(w.upstream, way="other")
    return Moving(w.bridge, w.placements, [w.upstream])


def test_a_subscription_gets_another_link_and_hears_nothing_of_it():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"one"))
    w.step()
    w.host.settlement.settle(consumer.take()[0], ACCEPTED)
    w.step()
    before = broker.link("q")
    change = moving(w)
    change.hold()
    w.step()
    assert before.credit == 0
    change.carry_out()
    w.step()
    assert broker.link("q") is not before
    assert (consumer.attached, consumer.cancelled) == (1, [])
    broker.deliver("q", message(b"two"))
    w.step()
    assert [body_of(payload) for payload in consumer.bodies()] == [b"two"]
    assert not subscription.attaching


def test_a_refusal_at_the_new_place_is_tried_again_for_a_while():
    w = world()
    broker = w.connect()
    consumer, _subscription = w.subscribe()
    broker.refusals["q"] = NOT_FOUND
    moving(w).carry_out()
    w.step()
    assert consumer.cancelled == []
    assert "no such node" in w.upstream.health.last_error
    w.pass_time(20_000)
    assert consumer.cancelled == []
    del broker.refusals["q"]
    w.pass_time(30_000)
    assert len(broker.links("q", sends=True)) == 1
    assert (consumer.attached, consumer.cancelled) == (1, [])


def test_a_refusal_that_lasts_ends_the_subscription():
    w = world()
    broker = w.connect()
    consumer, _subscription = w.subscribe()
    broker.refusals["q"] = NOT_FOUND
    moving(w).carry_out()
    w.pass_time(61_000)
    assert len(consumer.cancelled) == 1


def test_what_a_client_holds_for_too_long_is_released_to_the_old_place():
    w = world()
    broker = w.connect()
    consumer, _subscription = w.subscribe()
    broker.deliver("q", message(b"one"))
    w.step()
    change = moving(w)
    change.hold()
    change.carry_out()
    w.step()
    assert isinstance(broker.states()[0], _spec.Released)
    assert not w.host.settlement.settle(consumer.deliveries[0], ACCEPTED)


def test_what_the_old_place_has_not_settled_is_sent_again_marked():
    w = world()
    producer = Producer()
    broker = w.connect()
    w.publish(b"one", publisher=producer)
    w.step()
    assert len(broker.received()) == 1
    change = moving(w)
    change.hold()
    assert change.unsettled() == 1
    change.carry_out()
    w.step()
    (again,) = broker.received()
    broker.settle(again)
    w.step()
    assert [outcome.kind for _, outcome in producer.published] == [OutcomeKind.ACCEPTED]
    assert w.counts.unsettled_lost == 1


def test_nothing_is_sent_while_a_rule_is_paused():
    w = world()
    producer = Producer()
    broker = w.connect()
    w.placements.queues_placed["q"] = Placement(w.upstream, paused=True)
    Moving(w.bridge, w.placements, [w.upstream]).carry_out()
    w.publish(b"one", publisher=producer)
    w.step()
    assert broker.received() == []
    w.placements.queues_placed["q"] = Placement(w.upstream)
    Moving(w.bridge, w.placements, [w.upstream]).carry_out()
    w.step()
    assert len(broker.received()) == 1


def test_a_durable_subscription_that_moves_is_detached_and_not_closed():
    w = UpstreamWorld(
        profile=Profile(
            exchange=Template("{exchange}"),
            subscription=Template("{exchange}"),
            subscriptions="wildcard-address",
            durable_subscriptions=True,
        )
    ).place(exchange="x")
    broker = w.connect()
    w.host.declaring.declare_exchange("x", "topic")
    w.world.queue("here", durable=True)
    assert w.host.bindings.bind("here", "x", "k", {}, b"") is None
    w.step()
    broker.take_all(events.DetachReceived)
    moving(w).carry_out()
    w.step()
    closed = [
        event.detach.closed is True
        for event in broker.take_all(events.DetachReceived)
        if event.link.role == _spec.SENDER
    ]
    assert closed == [False]
    assert len(broker.links("x", sends=True)) == 1


def test_a_rule_says_how_often_a_message_is_offered():
    w = UpstreamWorld(redelivery_min_ms=10, redelivery_max_ms=10).place("q", max_redeliveries=1)
    producer = Producer()
    broker = w.connect()
    w.publish(b"one", publisher=producer)
    w.step()
    for _ in range(2):
        (delivery,) = broker.received()
        broker.settle(delivery, _spec.Released())
        w.step()
        w.pass_time(20)
    assert broker.received() == []
    rejected = w.host.topology.find_queue("gateway.rejected")
    assert rejected is not None and rejected.depth == 1


def test_a_switch_to_a_broker_that_cannot_browse_ends_browsers_only():
    w = world(browse="none")
    w.connect()
    consumer, _subscription = w.subscribe()
    moving(w).carry_out()
    w.step()
    assert consumer.cancelled == []
    browser, _ = w.subscribe(acquire=False)
    assert browser.cancelled == [Condition.NOT_IMPLEMENTED]

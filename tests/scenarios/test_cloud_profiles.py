"""The profiles of brokers that are services, against scripts of what their documents say."""

from support.bridge_world import Producer
from support.face_1_0 import message as encoded
from support.service_bus import BUSY, IDLE, NAMESPACE, SIZE_MAX, ServiceBus
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events
from gateway.bridge.remote.remote import OnRejected
from gateway.faces.dialled.settings import CbsToken
from gateway.message import ACCEPTED, MODIFIED_FAILED, Condition, Flag, Outcome, OutcomeKind
from gateway.translate.conditions import to_code
from gateway.translate.profiles.loading import load_profile


def bus_world(**more):
    return UpstreamWorld(
        profile=load_profile("azure-service-bus"),
        tokens=lambda audience, now_ms: CbsToken("jwt", "t", expires_ms=now_ms + 3_600_000),
        hostname=NAMESPACE,
        **more,
    )


def settle(w, broker, state=None):
    deliveries = broker.received()
    for delivery in deliveries:
        broker.settle(delivery, state)
    w.step()
    return deliveries


# Azure Service Bus.


def test_a_queue_is_an_entity_and_what_is_sent_to_it_is_confirmed_when_it_is_stored():
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer)
    assert producer.published == []
    assert len(settle(w, bus)) == 1
    assert producer.published == [(1, ACCEPTED)]
    assert bus.refused == []
    w.check()


def test_an_exchange_is_a_topic_and_a_binding_reads_its_subscription():
    w = bus_world()
    bus = w.connect(kind=ServiceBus)
    w.place(exchange="events")
    w.world.queue("mine")
    assert w.host.bindings.bind("mine", "events", "a.#", {}, b"") is None
    w.publish(b"x", exchange="events", key="a.b", publisher=Producer())
    assert sorted(bus.paths()) == ["events", "events/Subscriptions/mine"]
    assert len(settle(w, bus)) == 1
    bus.deliver("events/Subscriptions/mine", encoded(b"fed"))
    w.step()
    consumer, _ = w.subscribe("mine")
    assert len(consumer.deliveries) == 1


def test_what_is_larger_than_the_entity_takes_is_not_sent_and_is_506():
    w = bus_world().place("orders", on_rejected=OnRejected.EXCEPTION)
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x" * SIZE_MAX, key="orders", publisher=producer)
    ((_, outcome),) = producer.published
    assert outcome.kind == OutcomeKind.REJECTED
    assert to_code(outcome.condition) == 506
    assert bus.received() == []


def states_for(outcome):
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    consumer, _ = w.subscribe("orders")
    bus.deliver("orders", encoded(b"x"))
    w.step()
    (delivery,) = consumer.take()
    w.settle(delivery, outcome)
    return bus.states()


def test_complete_abandon_and_dead_letter_are_outcomes_and_nothing_is_deferred():
    assert states_for(ACCEPTED) == [_spec.Accepted()]
    abandoned = _spec.Modified(delivery_failed=True)
    assert states_for(MODIFIED_FAILED) == [abandoned]
    elsewhere = Outcome(OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True)
    assert states_for(elsewhere) == [abandoned]  # else only its sequence number finds it again
    assert states_for(Outcome(OutcomeKind.RELEASED)) == [_spec.Released()]
    (state,) = states_for(Outcome(OutcomeKind.REJECTED, condition=Condition.PRECONDITION_FAILED))
    assert isinstance(state, _spec.Rejected)


def test_an_idle_link_that_is_detached_is_attached_again_without_a_word():
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer)
    settle(w, bus)
    consumer, _ = w.subscribe("orders")
    for _ in range(3):
        w.pass_time(600_000)
        bus.link("orders", sends=True).send_detach(closed=True, error=IDLE)
        bus.link("orders", sends=False).send_detach(closed=True, error=IDLE)
        w.step()
        w.pass_time(5_000)
    assert w.upstream.health.last_error == ""
    assert consumer.cancelled == []
    w.publish(b"y", key="orders", publisher=producer)
    bus.deliver("orders", encoded(b"z"))
    w.step()
    assert len(settle(w, bus)) == 1
    assert len(consumer.deliveries) == 1


def test_a_busy_service_is_tried_again_later_and_nothing_is_dead_lettered():
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer)
    for _ in range(3):
        assert len(settle(w, bus, _spec.Rejected(error=BUSY))) == 1
        assert producer.published == []
        assert bus.received() == []  # not at once
        w.pass_time(60_000)
    settle(w, bus)
    assert producer.published == [(1, ACCEPTED)]
    w.check()


def test_a_service_may_be_busy_for_as_long_as_it_likes():
    w = bus_world(max_redeliveries=2).place("orders")
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer)
    for _ in range(30):
        settle(w, bus, _spec.Rejected(error=BUSY))
        w.pass_time(60_000)
    assert producer.published == []
    settle(w, bus)
    assert producer.published == [(1, ACCEPTED)]
    w.check()


def test_a_publisher_that_takes_outcomes_hears_released_of_a_busy_service():
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer, flags=int(Flag.OUTCOMES))
    settle(w, bus, _spec.Rejected(error=BUSY))
    assert [outcome.kind for _, outcome in producer.published] == [OutcomeKind.RELEASED]
    w.check()


def test_a_busy_service_that_detaches_accuses_no_message():
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer)
    for _ in range(4):
        assert len(bus.received()) == 1
        bus.link("orders", sends=False).send_detach(closed=True, error=BUSY)
        w.step()
        w.pass_time(60_000)
    settle(w, bus)
    assert producer.published == [(1, ACCEPTED)]
    assert w.counts.poison == 0


def test_a_full_entity_rejects_and_that_is_told():
    w = bus_world().place("orders", on_rejected=OnRejected.EXCEPTION)
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer)
    error = _spec.Error(condition="amqp:resource-limit-exceeded", description="quota")
    settle(w, bus, _spec.Rejected(error=error))
    assert to_code(producer.published[0][1].condition) == 506


def test_selectors_and_browsing_are_refused_without_asking():
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    for more in ({"selector": "a = 1"}, {"acquire": False}):
        consumer, _ = w.subscribe("orders", **more)
        assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]
    assert not [each for each in bus.attached if each.attach.role][1:]  # replies only


def test_links_whose_token_expired_come_back_with_a_new_one():
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer)
    settle(w, bus)
    bus.link("orders", sends=False).send_detach(
        closed=True,
        error=_spec.Error(condition="amqp:unauthorized-access", description="ExpiredToken"),
    )
    w.step()
    w.publish(b"y", key="orders", publisher=producer)
    w.pass_time(5_000)
    assert len(settle(w, bus)) == 1
    assert "ExpiredToken" in w.upstream.health.last_error


def test_what_was_unsettled_when_the_connection_went_is_sent_again():
    w = bus_world().place("orders")
    bus = w.connect(kind=ServiceBus)
    producer = Producer()
    w.publish(b"x", key="orders", publisher=producer)
    w.lose()
    bus = w.connect(kind=ServiceBus)
    assert all(each.attach.unsettled is None for each in bus.attached)  # it recovers no links
    settle(w, bus)
    assert producer.published == [(1, ACCEPTED)]
    w.check()


# Amazon MQ, which is ActiveMQ Classic.


def mq_world():
    return UpstreamWorld(profile=load_profile("amazon-mq"))


def test_amazon_mq_is_what_activemq_is():
    ours, theirs = load_profile("amazon-mq"), load_profile("activemq")
    for name in ("subscriptions", "missing", "selector", "transactions", "dynamic_nodes"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert not ours.undeliverable_here
    assert ours.queue.text == theirs.queue.text


def test_queues_and_topics_of_amazon_mq():
    w = mq_world().place("orders", exchange="events.all")
    broker = w.connect()
    w.publish(b"x", key="orders", publisher=Producer())
    w.publish(b"x", exchange="events.all", key="a.b", publisher=Producer())
    targets = [each.attach.target for each in broker.attached if not each.attach.role]
    assert [(each.address, each.capabilities) for each in targets] == [
        ("orders", ["queue"]),
        ("topic://events%2Eall.a.b", ["topic"]),
    ]


def test_what_the_standby_took_over_is_sent_again():
    """The active broker stops: its clients are sent away; the standby has the same store."""
    w = mq_world().place("orders")
    active = w.connect()
    producer = Producer()
    consumer, _ = w.subscribe("orders")
    w.publish(b"x", b"y", key="orders", publisher=producer)
    first, _second = active.received()
    active.settle(first)
    active.deliver("orders", encoded(b"z"))
    w.step()
    (held,) = consumer.take()
    error = _spec.Error(condition="amqp:connection:forced", description="broker is stopping")
    active.connection.send_close(error=error)
    w.step()
    assert "broker is stopping" in w.upstream.health.last_error
    standby = w.connect()
    assert len(settle(w, standby)) == 1  # what was not confirmed, and only that
    standby.deliver("orders", encoded(b"z"))
    w.step()
    w.settle(held, ACCEPTED)
    assert standby.states() == []  # it was the active broker's
    (again,) = consumer.take()
    assert again.message.delivery_count > 0
    w.settle(again, ACCEPTED)
    assert standby.states() == [_spec.Accepted()]
    assert [token for token, _ in producer.published] == [1, 2]
    assert standby.take_all(events.DetachReceived) == []
    w.check()

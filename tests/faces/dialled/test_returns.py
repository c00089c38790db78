import pytest
from support.bridge_world import Producer
from support.upstream_relays import bodies, publish, world
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0._spec import Error, Modified, Received, Rejected, Released
from gateway.bridge.remote.remote import OnRejected
from gateway.message import Condition, Flag, OutcomeKind
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

NOT_FOUND = Error(condition="amqp:not-found", description="no such queue")


UNAUTHORIZED = Error(condition="amqp:unauthorized-access")


def section_of(payload):
    """The header section, which comes first."""
    return _spec.Header.decode(Reader(payload, 3))


def test_what_was_sent_and_not_settled_when_the_connection_is_lost_goes_again_marked():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", b"b", publisher=producer)
    first, _second = broker.received()
    broker.settle(first)
    w.step()
    w.lose()
    broker = w.connect()
    (again,) = broker.received()
    assert again.payload.endswith(b"b")
    assert section_of(again.payload).delivery_count == 1
    broker.settle(again)
    w.step()
    assert [token for token, _ in producer.published] == [1, 2]
    assert w.counts.unsettled_lost == 1
    w.check()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (Released(), OutcomeKind.RELEASED),
        (Modified(delivery_failed=True), OutcomeKind.MODIFIED),
        (Rejected(error=NOT_FOUND), OutcomeKind.REJECTED),
    ],
)
def test_who_takes_outcomes_gets_them_as_they_are(state, kind):
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer, flags=Flag.OUTCOMES)
    broker.settle(broker.received()[0], state)
    w.step()
    ((token, outcome),) = producer.published
    assert (token, outcome.kind) == (1, kind)
    w.check()


def test_what_the_upstream_released_goes_again_after_a_while_in_order():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    broker.settle(broker.received()[0], Released())
    w.step()
    publish(w, b"b", publisher=Producer())
    assert broker.received() == []
    w.pass_time(2_000)
    assert bodies(broker.received()) == [b"a", b"b"]
    assert producer.published == []


def test_annotations_of_a_modified_outcome_go_out_with_the_next_attempt():
    w = world()
    broker = w.connect()
    publish(w, b"a", publisher=Producer())
    noted = Modified(message_annotations={"x-opt-seen": Tagged(types.STRING, "once")})
    broker.settle(broker.received()[0], noted)
    w.step()
    w.pass_time(2_000)
    assert b"x-opt-seen" in broker.received()[0].payload


def test_released_too_often_a_message_is_taken_to_be_rejected():
    w = world(max_redeliveries=2)
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    for _ in range(3):
        broker.settle(broker.received()[0], Released())
        w.step()
        w.pass_time(60_000)
    assert broker.received() == []
    assert [outcome.kind for _, outcome in producer.published] == [OutcomeKind.ACCEPTED]
    assert w.host.topology.find_queue("gateway.rejected").depth == 1
    w.check()


def test_undeliverable_here_is_not_tried_again():
    w = world()
    broker = w.connect()
    publish(w, b"a", publisher=Producer())
    broker.settle(broker.received()[0], Modified(undeliverable_here=True))
    w.step()
    w.pass_time(60_000)
    assert broker.received() == []
    assert w.host.topology.find_queue("gateway.rejected").depth == 1


def test_settled_without_an_outcome_is_no_success():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    delivery = broker.received()[0]
    delivery.link.session.settle_incoming(delivery.delivery_id, None, settled=True)
    w.step()
    assert producer.published == []
    w.pass_time(2_000)
    assert bodies(broker.received()) == [b"a"]


def test_a_state_that_is_no_outcome_settles_nothing():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    delivery = broker.received()[0]
    broker.settle(delivery, Received(section_number=0, section_offset=0), settled=False)
    w.step()
    assert producer.published == []
    broker.settle(delivery)
    w.step()
    assert len(producer.published) == 1


def test_what_the_upstream_rejects_can_be_an_exception_to_its_publisher():
    w = UpstreamWorld().place("q", on_rejected=OnRejected.EXCEPTION)
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    broker.settle(broker.received()[0], Rejected(error=UNAUTHORIZED))
    w.step()
    ((_, outcome),) = producer.published
    assert outcome.kind == OutcomeKind.REJECTED
    assert outcome.condition == Condition.UNAUTHORIZED_ACCESS


def test_what_came_back_and_then_expired_is_forgotten():
    w = world(redelivery_min_ms=100, redelivery_max_ms=100)
    broker = w.connect()
    producer = Producer()
    for _ in range(10):
        for number in range(40):
            message = w.world.message(b"short", key="q", ttl_ms=50)
            w.host.publishing.publish(message, producer, number)
        w.step()
        for delivery in broker.received():
            broker.settle(delivery, _spec.Released())
        w.step()
        w.pass_time(200)
    assert len(producer.published) == 400
    assert w.bridge.pressure.messages == 0
    assert len(w.upstream._relays[w.host.topology.find_queue("q")]._returns._attempts) < 200

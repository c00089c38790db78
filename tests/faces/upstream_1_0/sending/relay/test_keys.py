import pytest
from support.bridge_world import Producer
from support.face_1_0 import message as encoded
from support.upstream_relays import publish, publish_encoded, world
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, sections
from gateway.amqp_1_0._spec import Released
from gateway.message import Condition, Flag, OutcomeKind
from gateway.translate import mapping_rows, routing_key
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template
from gateway.wire.buffers import Reader


def test_messages_to_an_exchange_go_each_to_the_address_of_its_key():
    w = UpstreamWorld(profile=Profile(exchange=Template("{exchange|word}.{key|percent}")))
    w.place(exchange="events")
    w.host.declaring.declare_exchange("events", "topic")
    broker = w.connect()
    publish(w, b"a", exchange="events", key="x", publisher=Producer())
    publish(w, b"b", exchange="events", key="y", publisher=Producer())
    assert {delivery.link.attach.target.address for delivery in broker.received()} == {
        "events.x",
        "events.y",
    }


def through_exchange(payload, *, key="a.b", **profile):
    """What leaves, behind its header section, of a message that was published with a key."""
    profile = Profile(exchange=Template("{exchange|word}.{key|percent}"), **profile)
    w = UpstreamWorld(profile=profile).place(exchange="events")
    w.host.declaring.declare_exchange("events", "topic")
    broker = w.connect()
    publish_encoded(w, payload, exchange="events", key=key, publisher=Producer())
    (delivery,) = broker.received()
    found = sections.scan(delivery.payload)
    head = encoded(header=_spec.Header.decode(Reader(delivery.payload, found.header)))
    return w, delivery.payload[len(head) - len(encoded()) :]


ABOUT = _spec.Properties(subject="what it is about")


@pytest.mark.parametrize("properties", [None, _spec.Properties(), ABOUT])
def test_a_key_that_the_subject_is_not_goes_as_an_annotation(properties):
    _, payload = through_exchange(encoded(properties=properties))
    assert routing_key.take(payload) == ("a.b", encoded(properties=properties))


def test_a_key_that_is_the_subject_adds_nothing():
    payload = encoded(properties=_spec.Properties(subject="a.b"))
    assert through_exchange(payload)[1] == payload


def test_what_was_published_before_does_not_keep_its_old_key():
    stale = routing_key.annotated(encoded(), "a.c")
    assert routing_key.take(through_exchange(stale)[1])[0] == "a.b"
    told = encoded(properties=_spec.Properties(subject="a.b"))
    assert through_exchange(routing_key.annotated(told, "a.c"))[1] == told


def test_a_broker_that_annotates_the_key_itself_is_sent_no_annotation():
    assert through_exchange(encoded(), keys_in="annotations")[1] == encoded()


def test_where_nothing_may_be_added_a_key_that_is_not_told_is_a_counted_loss():
    w, payload = through_exchange(encoded(), escrow=False)
    assert payload == encoded()
    assert w.faces.translated.lost[mapping_rows.number("delivery.routing-key")] == 1


def test_messages_to_a_queue_say_no_key():
    w = world()
    broker = w.connect()
    publish(w, b"a", publisher=Producer())
    assert routing_key.take(broker.received()[0].payload)[0] is None


def test_an_exchange_that_releases_what_it_has_no_route_for_is_not_asked_again():
    profile = Profile(exchange=Template("{exchange|word}.{key|percent}"), unroutable="released")
    w = UpstreamWorld(profile=profile).place(exchange="events")
    w.host.declaring.declare_exchange("events", "topic")
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", exchange="events", key="x", publisher=producer)
    publish(w, b"b", exchange="events", key="x", publisher=producer, flags=Flag.TELL_UNROUTABLE)
    for delivery in broker.received():
        broker.settle(delivery, Released())
    w.step()
    assert [outcome.kind for _, outcome in producer.published] == [
        OutcomeKind.ACCEPTED,
        OutcomeKind.REJECTED,
    ]
    assert producer.published[1][1].condition == Condition.UNROUTABLE
    assert w.bridge.counts.unroutable == 2
    assert w.host.topology.find_queue("gateway.rejected") is None
    w.check()

"""What a 1.0 receiver adds to a message by a modified outcome, and who sees it later (3.4.5)."""

import pytest
from support.face_1_0 import Hub, message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, sections, types
from gateway.translate.mapping_rows import ROWS
from gateway.translate.outcomes import MERGED_MAX
from gateway.wire.tagged import Tagged
from gateway.wire.work import VERB, WORK

MODIFIED = ROWS["outcomes.modified"].number


def string(text):
    return Tagged(types.STRING, text)


def symbols(**values):
    return [(Tagged(types.SYMBOL, key), string(value)) for key, value in values.items()]


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


def modify(client, receiver, **annotations):
    """Take the one message that has come, and give it back with these annotations."""
    (event,) = client.take_all(events.DeliveryReceived)
    values = {key: string(value) for key, value in annotations.items()}
    receiver.session.settle_incoming(
        event.delivery_id, _spec.Modified(message_annotations=values or None)
    )
    client.step()


def seen(client):
    """The annotations of the one message that has come, which stays unsettled."""
    (event,) = [one for one in client.events if isinstance(one, events.DeliveryReceived)]
    found = sections.scan(event.payload)
    pairs = sections.annotations(event.payload, found.message_annotations)
    return {key.value: value.value for key, value in pairs}


@rule("1.0", "3.4.5", "annotations-are-merged")
def test_annotations_are_merged_into_later_deliveries_of_the_copy(hub):
    client = hub.client()
    client.send(client.sender("q"), message(annotations=symbols(a="1", b="2")))
    receiver = client.receiver("q")
    assert seen(client) == {"a": "1", "b": "2"}
    modify(client, receiver, b="3", c="4")
    assert seen(client) == {"a": "1", "b": "3", "c": "4"}
    modify(client, receiver, c="5")
    assert seen(client) == {"a": "1", "b": "3", "c": "5"}
    modify(client, receiver)
    assert seen(client) == {"a": "1", "b": "3", "c": "5"}


def test_a_message_that_came_by_0_10_carries_them_to_1_0(hub):
    hub.world.send(b"body")
    client = hub.client()
    receiver = client.receiver("q")
    before = seen(client)
    modify(client, receiver, c="4")
    assert seen(client) == before | {"c": "4"}


def test_they_go_with_the_copy_to_the_alternate_exchange(hub):
    hub.world.queue("dead")
    hub.host.bindings.bind("dead", "amq.fanout", "", {}, b"")
    hub.world.queue("work", alternate_exchange="amq.fanout")
    client = hub.client()
    client.send(client.sender("work"), message())
    receiver = client.receiver("work")
    modify(client, receiver, why="poison")
    (event,) = client.take_all(events.DeliveryReceived)
    receiver.session.settle_incoming(event.delivery_id, _spec.Rejected())
    client.step()
    client.receiver("dead")
    assert seen(client) == {"why": "poison"}


def test_what_they_take_counts_as_held_and_is_let_go(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    held = hub.world.bridge.pressure.octets
    receiver = client.receiver("q", credit=1)
    modify(client, receiver, text="x" * 1000)
    assert hub.world.bridge.pressure.octets > held + 1000
    assert hub.host.declaring.purge_queue("q") == 1
    assert hub.world.bridge.pressure.octets == 0


def test_too_many_are_a_counted_loss_and_those_before_stay(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q")
    modify(client, receiver, a="1")
    modify(client, receiver, b="x" * MERGED_MAX)
    assert seen(client) == {"a": "1"}
    assert hub.settings.translated.lost[MODIFIED] == 1


def test_a_browser_adds_nothing(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    browser = client.receiver("q", distribution_mode="copy")
    modify(client, browser, a="1")
    client.receiver("q")
    assert seen(client) == {}


def annotated(client, receiver, count, **modified):
    """Give back so many messages by one disposition; what it took, in units of work."""
    deliveries = client.take_all(events.DeliveryReceived)
    assert len(deliveries) == count
    state = _spec.Modified(**modified)
    for delivery in deliveries:
        receiver.session.settle_incoming(delivery.delivery_id, state)
    before = WORK.units
    client.step()
    return WORK.units - before


def test_very_many_messages_have_the_annotations_of_one_disposition_put_together_once(hub):
    many = {f"x-{number}": Tagged(types.BOOLEAN, True) for number in range(500)}
    client = hub.client()
    sender = client.sender("q")
    for _ in range(200):
        client.send(sender, message(), settled=True)
    receiver = client.receiver("q", credit=200)
    plain = annotated(client, receiver, 200)
    receiver.send_flow(credit=200)
    client.step()
    assert annotated(client, receiver, 200, message_annotations=many) < plain + 80_000
    receiver.send_flow(credit=1)
    client.step()
    assert len(seen(client)) == 500


def test_what_would_be_too_much_work_is_a_counted_loss(hub):
    client = hub.client()
    sender = client.sender("q")
    for _ in range(100):
        client.send(sender, message(), settled=True)
    receiver = client.receiver("q", credit=100)
    for number, event in enumerate(client.take_all(events.DeliveryReceived)):
        own = _spec.Modified(message_annotations={f"own-{number}": string("x")})
        receiver.session.settle_incoming(event.delivery_id, own)
    receiver.send_flow(credit=100)
    client.step()
    many = {f"x-{number}": Tagged(types.BOOLEAN, True) for number in range(900)}
    assert annotated(client, receiver, 100, message_annotations=many) < 2 * VERB
    lost = hub.settings.translated.lost[MODIFIED]
    assert 0 < lost < 100


def test_a_default_outcome_is_granted_without_annotations(hub):
    asked = _spec.Modified(message_annotations={"a": string("1")}, undeliverable_here=True)
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q", default_outcome=asked)
    granted = receiver.attach.source.default_outcome
    assert granted == _spec.Modified(undeliverable_here=True)

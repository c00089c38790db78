"""Batches of a 1.0 sender: opened, published one by one, answered with one outcome."""

import pytest
from support.face_1_0 import Hub, body_of, message

from gateway.amqp_1_0 import _spec, events, sections
from gateway.audit.schema import Kind
from gateway.bridge.limits import BridgeLimits
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits

ACCEPTED = _spec.Accepted()


@pytest.fixture
def hub():
    hub = Hub(limits=Limits(batch_max=4))
    hub.world.queue("q")
    yield hub
    hub.end()


def batch(*messages):
    writer = Writer()
    for octets in messages:
        sections.write_data(writer, octets)
    return writer.getvalue()


def send(client, link, *messages, **more):
    return client.send(link, batch(*messages), message_format=BATCH_FORMAT, **more)


def bodies(client):
    return [body_of(payload) for payload in client.received()]


def numbered(number, **properties):
    return message(b"%d" % number, properties=_spec.Properties(**properties))


def test_a_queue_holds_the_messages_of_a_batch(hub):
    client = hub.client()
    octets = numbered(1, subject="s")
    assert send(client, client.sender("q"), octets, numbered(2)) == ACCEPTED
    assert hub.host.topology.find_queue("q").depth == 2
    client.receiver("q")
    first, second = client.take_all(events.DeliveryReceived)
    assert (first.message_format, second.message_format) == (0, 0)
    assert first.payload.endswith(octets)
    assert body_of(second.payload) == b"2"


def test_each_message_of_a_batch_has_its_own_records(hub):
    client = hub.client()
    send(client, client.sender("q"), numbered(1), numbered(2))
    records = hub.world.blocks.records()
    for kind in (Kind.RECEIVED, Kind.ENTERED):
        found = [record.message for record in records if record.kind == kind]
        assert len(found) == len(set(found)) == 2


def test_each_message_of_a_batch_is_routed_by_what_it_says(hub):
    hub.world.queue("other")
    client = hub.client()
    send(client, client.sender(None), numbered(1, to="q"), numbered(2, to="other"))
    client.receiver("other")
    assert bodies(client) == [b"2"]
    client.receiver("q")
    assert bodies(client) == [b"1"]


def test_a_durable_batch_is_accepted_once_when_it_is_on_disk(hub):
    hub.world.queue("durable", durable=True)
    hub.world.auto_commit = False
    client = hub.client()
    sender = client.sender("durable")
    durable = message(header=_spec.Header(durable=True))
    assert send(client, sender, durable, message(), durable) is None
    hub.world.commit()
    client.step()
    (told,) = client.take_all(events.DispositionReceived)
    assert told.state == ACCEPTED
    hub.world.auto_commit = True


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(
    ("wrong", "condition"),
    [
        (b"nonsense", "amqp:decode-error"),
        (numbered(2, user_id=b"somebody"), "amqp:not-allowed"),
    ],
    ids=["no message", "not the user"],
)
def test_nothing_of_a_batch_is_published_when_a_message_in_it_is_refused(
    hub, wrong, condition, settled
):
    client = hub.client(user=("user", "pass"))
    state = send(client, client.sender("q"), numbered(1), wrong, settled=settled)
    assert hub.host.topology.find_queue("q").depth == 0
    if not settled:
        assert state.error.condition == condition
        assert state.error.description.startswith("message 2 of the batch: ")


def test_what_is_no_batch_is_rejected(hub):
    client = hub.client()
    sender = client.sender("q")
    state = client.send(sender, b"opaque", message_format=BATCH_FORMAT)
    assert state.error.condition == "amqp:decode-error"
    state = send(client, sender, *[message()] * 5)
    assert state.error.condition == "amqp:resource-limit-exceeded"


def test_a_message_refused_after_others_were_taken_rejects_the_batch_and_says_how_many(hub):
    hub.world.queue("small", max_count=2)
    client = hub.client()
    state = send(client, client.sender("small"), *[message()] * 4)
    assert state.error.condition == "amqp:resource-limit-exceeded"
    assert state.error.description.startswith("2 of 4 messages were taken: ")
    assert hub.host.topology.find_queue("small").depth == 2


def test_an_unroutable_message_counts_as_the_link_has_it(hub):
    client = hub.client()
    assert send(client, client.sender("amq.fanout"), message(), message()) == ACCEPTED
    state = send(client, client.sender("amq.direct"), message(), message(), tag=b"2")
    assert state.error.condition == "amqp:not-found"
    assert state.error.description.startswith("0 of 2 ")


def pressed(messages_max=100):
    limits = BridgeLimits(messages_high=2, messages_low=1, messages_max=messages_max)
    hub = Hub(bridge_limits=limits)
    hub.world.queue("q")
    return hub


def test_a_batch_is_accepted_when_the_last_of_what_is_held_back_is_let_go():
    hub = pressed()
    client = hub.client()
    sender = client.sender("q")
    assert send(client, sender, *[message()] * 4) is None
    assert send(client, sender, message(), tag=b"2", settled=True) is None
    client.receiver("q", snd_settle_mode=1)
    (told,) = client.take_all(events.DispositionReceived)
    assert told.state == ACCEPTED
    hub.end()


def test_a_batch_that_was_ended_is_rejected_when_what_is_held_back_is_let_go():
    hub = pressed(messages_max=4)
    client = hub.client()
    assert send(client, client.sender("q"), *[message()] * 5) is None
    client.receiver("q", snd_settle_mode=1)
    (told,) = client.take_all(events.DispositionReceived)
    assert told.state.error.description.startswith("4 of 5 messages were taken: ")
    hub.end()


def test_a_sender_that_leaves_meanwhile_is_not_told():
    hub = pressed()
    client = hub.client()
    sender = client.sender("q")
    send(client, sender, *[message()] * 4)
    sender.session.send_end()
    client.step()
    client.receiver("q", snd_settle_mode=1)
    assert client.take_all(events.DispositionReceived) == []
    hub.end()


def test_a_sender_that_cannot_be_rejected_is_detached():
    hub = pressed(messages_max=4)
    client = hub.client()
    sender = client.sender("q", source=_spec.Source(outcomes=["amqp:accepted:list"]))
    assert send(client, sender, *[message()] * 5) is None
    client.receiver("q", snd_settle_mode=1)
    assert client.refused() == "amqp:resource-limit-exceeded"
    hub.end()

"""What becomes of deliveries when a client settles them, or goes."""

import pytest
from support.face_1_0 import Hub, message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, sections

ACCEPTED = _spec.Accepted()


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


@rule("1.0", "2.7.3", "settle-modes-of-the-peer-are-respected")
@rule("1.0", "2.7.5", "settled-mode-settles")
def test_a_receiver_of_settled_deliveries_has_nothing_to_settle(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    client.receiver("q", snd_settle_mode=_spec.SND_SETTLED)
    event = client.take(events.DeliveryReceived)
    assert event.settled
    assert hub.host.topology.find_queue("q").depth == 0


def outcomes_on(hub, state, **attach):
    """Publish, receive, settle with `state`; then what the queue has."""
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q", credit=1, **attach)
    event = client.take(events.DeliveryReceived)
    receiver.session.settle_incoming(event.delivery_id, state)
    client.step()
    return client, receiver


@rule("1.0", "3.2.1", "delivery-count-tells-failures")
@rule("1.0", "3.4.2", "accepted-leaves-the-source")
@rule("1.0", "3.4.4", "released-counts-nothing")
@rule("1.0", "3.4.5", "failed-counts")
@rule("1.0", "3.5.2", "moved-once")
@pytest.mark.parametrize(
    ("state", "depth", "count"),
    [
        (_spec.Accepted(), 0, None),
        (_spec.Rejected(), 0, None),
        (_spec.Released(), 1, 0),
        (_spec.Modified(), 1, 0),
        (_spec.Modified(delivery_failed=True), 1, 1),
        (None, 1, 1),
    ],
)
def test_each_outcome_does_to_the_queue_what_it_says(hub, state, depth, count):
    client, receiver = outcomes_on(hub, state)
    assert hub.host.topology.find_queue("q").depth == depth
    if depth:
        receiver.send_flow(credit=1)
        client.step()
        event = client.take(events.DeliveryReceived)
        header = sections.header(event.payload, sections.scan(event.payload))
        assert (header.delivery_count or 0) == count
        assert (header.first_acquirer is True) == (count == 0)


def test_a_delivery_count_that_cannot_grow_stays_what_it_is(hub):
    client = hub.client()
    most = _spec.Header(durable=True, delivery_count=0xFFFFFFFF)
    client.send(client.sender("q"), message(header=most))
    receiver = client.receiver("q")
    for _ in range(2):
        event = client.take(events.DeliveryReceived)
        header = sections.header(event.payload, sections.scan(event.payload))
        assert header.delivery_count == 0xFFFFFFFF
        receiver.session.settle_incoming(event.delivery_id, _spec.Modified(delivery_failed=True))
        client.step()


@rule("1.0", "3.4.5", "undeliverable-here-is-not-redelivered")
def test_undeliverable_here_keeps_a_message_from_that_receiver_only(hub):
    client, receiver = outcomes_on(hub, _spec.Modified(undeliverable_here=True))
    receiver.send_flow(credit=1)
    client.step()
    assert client.received() == []
    client.receiver("q")
    assert len(client.received()) == 1


@rule("1.0", "3.5.3", "default-outcome-is-applied")
@pytest.mark.parametrize(("default", "depth"), [(_spec.Accepted(), 0), (_spec.Released(), 1)])
def test_the_default_outcome_of_the_source_stands_for_none(hub, default, depth):
    outcomes_on(hub, None, default_outcome=default)
    assert hub.host.topology.find_queue("q").depth == depth


@rule("1.0", "2.7.3", "settle-modes-of-the-peer-are-respected")
def test_a_receiver_of_the_second_mode_hears_of_our_settlement_when_it_is_safe():
    hub = Hub()
    hub.world.queue("q", durable=True)
    client = hub.client()
    client.send(client.sender("q"), message(header=_spec.Header(durable=True)))
    receiver = client.receiver("q", rcv_settle_mode=_spec.RCV_SECOND)
    event = client.take(events.DeliveryReceived)
    hub.world.auto_commit = False
    receiver.session.settle_incoming(event.delivery_id, ACCEPTED, settled=False)
    client.step()
    assert client.take_all(events.SenderDispositionReceived) == []
    hub.world.commit()
    hub.world.auto_commit = True
    client.step()
    assert client.take(events.SenderDispositionReceived).settled
    hub.end()


def test_what_a_lost_connection_held_comes_back_as_failed(hub):
    first, second = hub.client(), hub.client()
    first.send(first.sender("q"), message())
    first.receiver("q")
    assert len(first.received()) == 1
    first.face.receive_eof(hub.world.now_ms)
    second.receiver("q")
    event = second.take(events.DeliveryReceived)
    header = sections.header(event.payload, sections.scan(event.payload))
    assert header.delivery_count == 1


@pytest.mark.parametrize("how", ["detach", "end"])
def test_what_a_detached_receiver_held_comes_back(hub, how):
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q")
    client.received()
    if how == "detach":
        receiver.send_detach()
    else:
        receiver.session.send_end()
    client.step()
    client.receiver("q")
    assert len(client.received()) == 1

"""What a client is told of the deliveries that it settles, and when."""

import pytest
from support.face_1_0 import Hub, message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events

OUTCOMES = [
    _spec.Accepted(),
    _spec.Rejected(),
    _spec.Released(),
    _spec.Modified(delivery_failed=True),
    _spec.Modified(undeliverable_here=True),
]


def confirmed(client):
    """The delivery-ids that each disposition is of, taken."""
    return [event.delivery_ids for event in client.take_all(events.SenderDispositionReceived)]


def test_settlements_are_confirmed_with_the_commit_of_their_own_turn():
    hub = Hub()
    hub.world.queue("q", durable=True)
    client = hub.client()
    sender = client.sender("q")
    for number in range(2):
        payload = message(header=_spec.Header(durable=True))
        client.send(sender, payload, tag=bytes([number]))
    receiver = client.receiver("q", rcv_settle_mode=_spec.RCV_SECOND)
    deliveries = client.take_all(events.DeliveryReceived)
    hub.world.auto_commit = False
    for event in deliveries:
        receiver.session.settle_incoming(event.delivery_id, _spec.Accepted(), settled=False)
        client.step()
    assert confirmed(client) == []
    for event in deliveries:
        told = []
        while not told:
            hub.world.calls.pop(0)()
            client.step()
            told = confirmed(client)
        assert told == [[event.delivery_id]]
    hub.world.auto_commit = True
    hub.end()


def second(count, **more):
    """A receiver of mode second that has so many deliveries: hub, client, receiver, their ids."""
    hub = Hub()
    hub.world.queue("q")
    client = hub.client()
    sender = client.sender("q")
    for number in range(count):
        client.send(sender, message(), tag=bytes([number]))
    receiver = client.receiver("q", credit=count, rcv_settle_mode=_spec.RCV_SECOND, **more)
    numbers = [event.delivery_id for event in client.take_all(events.DeliveryReceived)]
    return hub, client, receiver, numbers


def told(client):
    """Delivery-ids, whether settled, and the state of each disposition, taken."""
    found = client.take_all(events.SenderDispositionReceived)
    return [(event.delivery_ids, event.settled, event.state) for event in found]


@rule("1.0", "2.7.3", "settle-modes-of-the-peer-are-respected")
@pytest.mark.parametrize("copy", [False, True], ids=["consumes", "browses"])
@pytest.mark.parametrize("outcome", OUTCOMES, ids=repr)
def test_each_outcome_that_is_not_settled_is_answered_with_it_settled(outcome, copy):
    mode = {"distribution_mode": _spec.DISTRIBUTION_COPY} if copy else {}
    hub, client, receiver, [number] = second(1, **mode)
    receiver.session.settle_incoming(number, outcome, settled=False)
    client.step()
    assert told(client) == [([number], True, outcome)]
    assert not receiver.session.unsettled_in
    hub.end()


def test_a_range_of_outcomes_is_answered_with_one_disposition():
    hub, client, receiver, numbers = second(20)
    for number in numbers:
        receiver.session.settle_incoming(number, _spec.Accepted(), settled=False)
    client.step()
    assert told(client) == [(numbers, True, _spec.Accepted())]
    hub.end()


def test_outcomes_of_several_kinds_and_in_any_order_are_each_answered():
    hub, client, receiver, numbers = second(len(OUTCOMES))
    by_number = dict(zip(reversed(numbers), OUTCOMES, strict=True))
    for number, outcome in by_number.items():
        receiver.session.settle_incoming(number, outcome, settled=False)
    client.step()
    answered = {
        number: state for found, settled, state in told(client) for number in found if settled
    }
    assert answered == by_number
    hub.end()


def test_a_state_that_is_no_outcome_is_not_answered():
    hub, client, receiver, [number] = second(1)
    state = _spec.Received(section_number=0, section_offset=0)
    receiver.session.settle_incoming(number, state, settled=False)
    client.step()
    assert told(client) == []
    receiver.session.settle_incoming(number, _spec.Accepted(), settled=False)
    client.step()
    assert told(client) == [([number], True, _spec.Accepted())]
    hub.end()


def test_an_outcome_that_is_told_twice_is_answered_once():
    hub, client, receiver, [number] = second(1)
    for _ in range(2):
        receiver.session.settle_incoming(number, _spec.Accepted(), settled=False)
        client.face.receive_data(client.connection.data_to_send(), hub.world.now_ms)
    client.step()
    assert told(client) == [([number], True, _spec.Accepted())]
    hub.end()

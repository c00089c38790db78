"""What a client is told of the deliveries that it settles, and when."""

from support.face_1_0 import Hub, message

from gateway.amqp_1_0 import _spec, events


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

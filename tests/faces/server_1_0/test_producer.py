"""What a sender of a client is told of its messages, and when."""

from support.face_1_0 import Hub, message

from gateway.amqp_1_0 import _spec, events

DURABLE = _spec.Header(durable=True)


def told(client):
    """How many deliveries each disposition is of, taken."""
    return [len(event.deliveries) for event in client.take_all(events.DispositionReceived)]


def test_messages_are_accepted_with_the_commit_of_their_own_turn():
    hub = Hub()
    hub.world.queue("q", durable=True)
    client = hub.client()
    sender = client.sender("q")
    hub.world.auto_commit = False
    for turn in range(2):
        for number in range(3):
            tag = bytes([turn, number])
            sender.send_delivery(tag, b"", message(header=DURABLE), settled=False)
        client.step()
    assert told(client) == []
    commits = hub.world.calls
    first = []
    while not first:
        commits.pop(0)()
        client.step()
        first = told(client)
    assert first == [3]
    hub.world.auto_commit = True
    client.step()
    assert told(client) == [3]
    hub.end()

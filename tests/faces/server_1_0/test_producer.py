"""What a sender of a client is told of its messages, and when."""

from support.face_1_0 import House, message

from gateway.amqp_1_0 import _spec, events

DURABLE = _spec.Header(durable=True)


def told(client):
    """How many deliveries each disposition is of, taken."""
    return [len(event.deliveries) for event in client.take_all(events.DispositionReceived)]


def test_messages_are_accepted_with_the_commit_of_their_own_turn():
    house = House()
    house.world.queue("q", durable=True)
    client = house.client()
    sender = client.sender("q")
    house.world.auto_commit = False
    for turn in range(2):
        for number in range(3):
            tag = bytes([turn, number])
            sender.send_delivery(tag, b"", message(header=DURABLE), settled=False)
        client.step()
    assert told(client) == []
    commits = house.world.calls
    first = []
    while not first:
        commits.pop(0)()
        client.step()
        first = told(client)
    assert first == [3]
    house.world.auto_commit = True
    client.step()
    assert told(client) == [3]
    house.end()

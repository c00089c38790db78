"""What a sender of a client is told of its messages, and when."""

import pytest
from support.controller_1_0 import Controller
from support.face_1_0 import Hub, message
from support.own_rules import own_rules

from gateway.amqp_1_0 import _spec, events, sections
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits

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


NOBODY = message(properties=_spec.Properties(to="nobody"))
REFUSED = [
    (None, NOBODY, {}, "nothing has the name"),
    (None, message(properties=_spec.Properties(to="secret")), {}, "rules forbid the node"),
    (None, message(), {}, "it has no address"),
    ("amq.topic", message(properties=_spec.Properties(subject="b")), {}, "rules forbid the key"),
    ("q", message(properties=_spec.Properties(user_id=b"eve")), {}, "another user's"),
    ("q", b"\x00\x53\x75", {}, "no message"),
    ("q", b"no batch", {"message_format": BATCH_FORMAT}, "no batch"),
    ("full", message(), {}, "the queue is full"),
]


@pytest.mark.parametrize(
    ("address", "payload", "more"), [each[:3] for each in REFUSED], ids=[e[3] for e in REFUSED]
)
def test_what_is_refused_gives_its_credit_back(address, payload, more):
    hub = Hub(limits=Limits(link_credit=4))
    hub.world.queue("q")
    hub.world.queue("secret")
    hub.world.queue("full", max_size=1)
    hub.settings.access.rules = own_rules(
        "allow: publish, exchange: amq.topic, key: a",
        "allow: publish, queue: q",
        "allow: publish, queue: full",
    )
    client = hub.client(user=("user", "pass"))
    sender = client.sender(address)
    for number in range(20):
        assert sender.credit > 0
        state = client.send(sender, payload, tag=bytes([number]), **more)
        assert isinstance(state, _spec.Rejected)
    hub.end()


def test_a_batch_that_is_refused_gives_its_credit_back():
    hub = Hub(limits=Limits(link_credit=4, batch_max=1))
    hub.world.queue("q")
    client = hub.client()
    sender = client.sender("q")
    writer = Writer()
    for octets in (b"ab", b"cd"):
        sections.write_data(writer, octets)
    for number in range(20):
        assert sender.credit > 0
        tag = bytes([number])
        state = client.send(sender, writer.getvalue(), tag=tag, message_format=BATCH_FORMAT)
        assert isinstance(state, _spec.Rejected)
    hub.end()


def test_what_is_refused_in_a_transaction_gives_its_credit_back():
    at = Controller(limits=Limits(link_credit=4))
    txn_id = at.declares()
    sender = at.sender(None)
    for number in range(20):
        assert sender.credit > 0
        state = _spec.TransactionalState(txn_id=txn_id)
        sender.send_delivery(bytes([number]), b"", NOBODY, settled=False, state=state)
        at.client.step()
    at.hub.end()

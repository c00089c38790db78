"""What a sender of a client is told of its messages, and when."""

import pytest
from support.controller_1_0 import Controller
from support.face_1_0 import Hub, message
from support.frames_1_0 import give_up
from support.own_rules import own_rules
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, sections
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits

ACCEPTED = _spec.Accepted()


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


@rule("1.0", "3.2.1", "durable-survives")
def test_a_durable_message_is_accepted_when_it_is_on_disk():
    hub = Hub()
    hub.world.queue("q", durable=True)
    client = hub.client()
    sender = client.sender("q")
    hub.world.auto_commit = False
    payload = message(header=_spec.Header(durable=True))
    assert client.send(sender, payload) is None
    assert not client.face.drained()
    assert client.face.owed() == 0
    hub.world.commit()
    client.step()
    assert client.take(events.DispositionReceived).state == ACCEPTED
    hub.world.auto_commit = True
    client.step()
    assert client.face.drained()
    hub.end()


def test_a_footer_in_front_of_the_body_goes_on_behind_it(hub):
    client = hub.client()
    footer = b"\x00\x53\x78\xc1\x08\x02\xa3\x03sum\x54\x07"
    payload = message(properties=_spec.Properties(subject="s"))
    found = sections.scan(payload)
    wrong = payload[: found.body_at] + footer + payload[found.body_at :]
    assert client.send(client.sender("q"), wrong) == ACCEPTED
    client.receiver("q")
    [received] = client.received()
    assert received.endswith(payload + footer)


@rule("1.0", "2.7.5", "first-mode-settles-on-arrival")
def test_many_accepts_are_one_disposition(hub):
    client = hub.client()
    sender = client.sender("q")
    for number in range(50):
        sender.send_delivery(bytes([number]), b"", message(), settled=False)
    client.step()
    dispositions = client.take_all(events.DispositionReceived)
    assert [len(event.deliveries) for event in dispositions] == [50]


def test_credit_is_given_again_as_it_is_used(hub):
    client = hub.client()
    sender = client.sender("q")
    limit = hub.settings.limits.link_credit
    assert sender.credit == limit
    for number in range(3 * limit):
        if sender.credit == 0:
            client.step()
        assert sender.credit > 0
        sender.send_delivery(number.to_bytes(4), b"", message(), settled=True)
    client.step()
    assert hub.host.topology.find_queue("q").depth == 3 * limit


def test_a_settled_message_needs_no_answer(hub):
    client = hub.client()
    assert client.send(client.sender("q"), message(), settled=True) is None
    assert hub.host.topology.find_queue("q").depth == 1


@pytest.mark.parametrize("kind", [{}, {"begun": True}, {"resume": True}])
@pytest.mark.parametrize("address", ["q", "amq.topic", None, "coordinator"])
def test_the_credit_of_deliveries_that_come_to_nothing_is_given_again(hub, address, kind):
    client = hub.client()
    if address == "coordinator":
        sender = Controller(hub=hub, client=client).control
    else:
        sender = client.sender(address)
    for _ in range(2 * hub.settings.limits.link_credit):
        give_up(sender, **kind)
        client.step()
        assert sender.credit > 0


@rule("1.0", "2.7.5", "second-mode-waits-for-the-sender")
def test_a_sender_of_the_second_mode_settles_last(hub):
    client = hub.client()
    sender = client.sender("q", rcv_settle_mode=_spec.RCV_SECOND)
    out = sender.send_delivery(b"t", b"", message(), settled=False)
    client.step()
    event = client.take(events.DispositionReceived)
    assert (event.settled, event.state) == (False, ACCEPTED)
    sender.session.settle_outgoing(out, ACCEPTED)
    client.step()
    assert client.face.drained()


@rule("1.0", "3.4.3", "rejected-carries-the-error")
def test_octets_that_are_no_message_are_rejected(hub):
    client = hub.client()
    state = client.send(client.sender("q"), b"\x00\x53\x24\x45")
    assert state.error.condition == "amqp:decode-error"


@rule("1.0", "3.2.4", "user-id-is-checked")
@pytest.mark.parametrize(
    ("user_id", "state"), [(b"user", "accepted"), (b"user@realm", "accepted"), (b"eve", "rejected")]
)
def test_a_user_may_only_claim_to_be_itself(hub, user_id, state):
    client = hub.client(user=("user", "pass"))
    got = client.send(client.sender("q"), message(properties=_spec.Properties(user_id=user_id)))
    if state == "accepted":
        assert got == ACCEPTED
    else:
        assert got.error.condition == "amqp:not-allowed"


def test_a_full_queue_rejects(hub):
    hub.world.queue("small", max_count=1)
    client = hub.client()
    sender = client.sender("small")
    assert client.send(sender, message(), tag=b"1") == ACCEPTED
    state = client.send(sender, message(), tag=b"2")
    assert state.error.condition == "amqp:resource-limit-exceeded"


def test_a_sender_that_cannot_be_rejected_is_detached(hub):
    client = hub.client()
    sender = client.sender("q", source=_spec.Source(outcomes=["amqp:accepted:list"]))
    client.send(sender, b"nonsense")
    assert client.refused() == "amqp:decode-error"


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
    hub.settings.access.in_force.rules = own_rules(
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

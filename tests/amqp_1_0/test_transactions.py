import pytest
from support.frames_1_0 import octets_of, read_payloads
from support.pair_1_0 import T0, Pair
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, transactions, types
from gateway.amqp_1_0._spec import (
    Accepted,
    Declare,
    Declared,
    Discharge,
    Error,
    Rejected,
    Released,
    TransactionalState,
)
from gateway.errors import DecodeError
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

TXN = b"txn-1"


def test_declares_and_discharges_are_read_as_they_were_written():
    read = transactions.coordination_of
    assert read(transactions.declare_payload()) == Declare()
    identity = Tagged(types.STRING, "xid")
    assert read(transactions.declare_payload(identity)) == Declare(global_id=identity)
    for fail in (False, True):
        payload = transactions.discharge_payload(TXN, fail=fail)
        assert read(payload) == Discharge(txn_id=TXN, fail=fail)


def test_sections_before_the_body_are_passed_over():
    header = b"\x00\x53\x70\x45"
    assert transactions.coordination_of(header + transactions.declare_payload()) == Declare()


@pytest.mark.parametrize("payload", [b"", b"\x00\x53\x75\xa0\x00", b"\x00\x53\x77\x40", b"\x00"])
def test_what_asks_for_nothing_is_no_coordination(payload):
    with pytest.raises(DecodeError):
        transactions.coordination_of(payload)


def test_the_reply_to_a_declare_is_an_id_or_an_error():
    assert transactions.declared(Declared(txn_id=TXN)) == TXN
    error = Error(condition="amqp:resource-limit-exceeded")
    assert transactions.declared(Rejected(error=error)) is error


def test_the_reply_to_a_discharge_is_nothing_or_an_error():
    assert transactions.discharged(Accepted()) is None
    error = Error(condition="amqp:transaction:unknown-id")
    assert transactions.discharged(Rejected(error=error)) is error


def test_a_rejection_without_a_reason_is_a_rollback():
    assert transactions.discharged(Rejected()).condition == "amqp:transaction:rollback"


@pytest.mark.parametrize("state", [None, Released(), TransactionalState(txn_id=TXN)])
def test_an_answer_that_a_coordinator_must_not_give_is_an_error(state):
    assert transactions.declared(state).condition == "amqp:illegal-state"
    assert transactions.discharged(state).condition == "amqp:illegal-state"
    assert transactions.discharged(Declared(txn_id=TXN)).condition == "amqp:illegal-state"
    assert transactions.declared(Accepted()).condition == "amqp:illegal-state"


def test_the_outcome_that_is_presumed_is_that_of_the_right_transaction():
    state = transactions.retiring(TXN, Accepted())
    assert transactions.presumed(state, TXN) == Accepted()
    assert transactions.presumed(state, b"other") is None
    assert transactions.presumed(Accepted(), TXN) is None
    assert transactions.presumed(None, TXN) is None


# Through the pipe: a controller of ours, and a resource that is a connection of ours.


def controlled(session, pair):
    link = session.attach("control", _spec.SENDER)
    link.send_attach(
        source=transactions.control_source(),
        target=transactions.coordinator(),
        snd_settle_mode=_spec.SND_UNSETTLED,
    )
    pair.step()
    attached = pair.take("server", events.AttachReceived)
    target = attached.attach.target
    assert isinstance(target, _spec.Coordinator)
    attached.link.send_attach(source=attached.attach.source, target=target)
    attached.link.send_flow(credit=10)
    pair.step()
    assert not pair.take("client", events.AttachReceived).link.refused
    pair.take("client", events.FlowReceived)
    return link


def asked(pair, link, payload, reply):
    """Send on the control link, have the resource reply; what was asked, and the reply's state."""
    link.send_delivery(b"c", b"", payload, settled=False)
    pair.step()
    came = pair.take("server", events.DeliveryReceived)
    came.link.session.settle_incoming(came.delivery_id, reply)
    pair.step()
    told = pair.take("client", events.DispositionReceived)
    assert told.settled
    return transactions.coordination_of(came.payload), told.state


@rule("1.0", "4.5.2", "no-global-id-without-the-capability")
def test_a_transaction_is_declared_and_discharged():
    pair = Pair().open()
    session, _ = pair.begin()
    link = controlled(session, pair)
    asks, state = asked(pair, link, transactions.declare_payload(), Declared(txn_id=TXN))
    assert asks == Declare()
    assert transactions.declared(state) == TXN
    payload = transactions.discharge_payload(TXN, fail=False)
    asks, state = asked(pair, link, payload, Accepted())
    assert asks == Discharge(txn_id=TXN, fail=False)
    assert transactions.discharged(state) is None


def test_a_commit_that_fails_says_why():
    pair = Pair().open()
    session, _ = pair.begin()
    link = controlled(session, pair)
    error = Error(condition="amqp:transaction:timeout", description="too late")
    payload = transactions.discharge_payload(TXN, fail=False)
    _, state = asked(pair, link, payload, Rejected(error=error))
    assert transactions.discharged(state) == error


def test_a_peer_without_coordinator_refuses_the_control_link():
    pair = Pair().open()
    session, _ = pair.begin()
    link = session.attach("control", _spec.SENDER)
    link.send_attach(source=transactions.control_source(), target=transactions.coordinator())
    pair.step()
    pair.take("server", events.AttachReceived).link.refuse(Error(condition="amqp:not-implemented"))
    pair.step()
    assert pair.take("client", events.AttachReceived).link.refused
    detach = pair.take("client", events.DetachReceived).detach
    assert detach.error.condition == "amqp:not-implemented"


def test_a_posted_delivery_is_presumed_then_settled():
    pair = Pair().open()
    session, theirs = pair.begin()
    link, receiver = pair.attach(session, _spec.SENDER)
    receiver.send_flow(credit=1)
    pair.step()
    delivery = link.send_delivery(
        b"t", b"", b"x", settled=False, state=transactions.posting(TXN), context="mine"
    )
    pair.step()
    came = pair.take("server", events.DeliveryReceived)
    assert came.state == TransactionalState(txn_id=TXN)
    outcome = transactions.retiring(TXN, Accepted())
    theirs.settle_incoming(came.delivery_id, outcome, settled=False)
    pair.step()
    told = pair.take("client", events.DispositionReceived)
    assert (told.settled, [each.context for each in told.deliveries]) == (False, ["mine"])
    assert transactions.presumed(told.state, TXN) == Accepted()
    session.settle_outgoing(delivery, Accepted())
    pair.step()
    settled = pair.take("server", events.SenderDispositionReceived)
    assert (settled.settled, settled.delivery_ids) == (True, [came.delivery_id])
    assert not session.sending.unsettled


@rule("1.0", "4.4.1", "posting-carries-the-state")
@pytest.mark.parametrize("size", [0, 1, 300, 900, 3000])
def test_every_frame_of_a_posted_delivery_names_the_transaction(size):
    pair = Pair(server_limits=Limits(max_frame_size=512)).open()
    session, _ = pair.begin()
    link, receiver = pair.attach(session, _spec.SENDER)
    receiver.send_flow(credit=1)
    pair.step()
    body = bytes(i % 251 for i in range(size))
    link.send_delivery(
        b"t" * 32, body[:9], body[9:], settled=False, state=transactions.posting(TXN)
    )
    sent = pair.to_server()
    found = read_payloads(sent)
    assert len(found) == 1 or size > 300
    assert all(transfer.state == TransactionalState(txn_id=TXN) for _, transfer, _ in found)
    assert max(len(octets_of(each)) + len(payload) for _, each, payload in found) <= 512
    assert pair.take("server", events.DeliveryReceived).payload == body


def test_a_retired_delivery_stays_unsettled_until_the_discharge():
    pair = Pair().open()
    session, theirs = pair.begin()
    link, sender = pair.attach(session, _spec.RECEIVER)
    link.send_flow(credit=2)
    pair.step()
    for tag in (b"1", b"2"):
        sender.send_delivery(tag, b"", b"x", settled=False)
    pair.step()
    ids = [e.delivery_id for e in pair.at_client if isinstance(e, events.DeliveryReceived)]
    for number in ids:
        session.settle_incoming(number, transactions.retiring(TXN, Accepted()), settled=False)
    pair.step()
    told = pair.take("server", events.DispositionReceived)
    assert (told.settled, len(told.deliveries)) == (False, 2)
    assert told.state == TransactionalState(txn_id=TXN, outcome=Accepted())
    assert list(session.unsettled_in) == ids
    for number in ids:
        session.settle_incoming(number, Accepted())
    pair.step()
    assert pair.take("server", events.DispositionReceived).settled
    assert not session.unsettled_in
    assert not theirs.sending.unsettled
    assert pair.now == T0

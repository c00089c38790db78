"""What a client retires in a transaction, and what becomes of it."""

import pytest
from support.controller_1_0 import ACCEPTED, COMMITTED, Controller, bodies, error_of
from support.rules import rule

from gateway.amqp_1_0 import _spec, sections, types
from gateway.amqp_1_0._spec import Modified, Rejected, Released, TransactionalState
from gateway.faces.features import Feature
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

ROLLBACK = "amqp:transaction:rollback"


@rule("1.0", "4.4.2", "retired-at-the-discharge")
@pytest.mark.parametrize("settled", [False, True])
def test_what_is_accepted_is_gone_after_the_commit(settled):
    at = Controller()
    at.puts(b"1", b"2")
    receiver = at.receiver()
    found = at.gets(receiver)
    txn_id = at.declares()
    for event in found:
        at.retires(event, txn_id, settled=settled)
    assert at.depth() == 2
    assert at.settlements() == []
    assert not at.client.face.drained()
    assert at.client.face.owed() > 0
    assert at.commits(txn_id) == ACCEPTED
    assert at.depth() == 0
    assert at.settlements() == ([] if settled else [ACCEPTED])  # of both at once
    assert at.client.face.drained()
    assert at.ended() == [COMMITTED]
    at.end()


@pytest.mark.parametrize(
    ("outcome", "left"),
    [
        (Rejected(), 0),
        (Released(), 1),
        (Modified(delivery_failed=True), 1),
        (Modified(undeliverable_here=True), 1),
    ],
)
def test_any_outcome_is_applied_at_the_discharge(outcome, left):
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(credit=1)
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id, outcome)
    assert at.commits(txn_id) == ACCEPTED
    assert at.settlements() == [outcome]
    assert at.depth() == left
    again = at.gets(at.receiver())
    assert len(again) == left
    if outcome == Modified(delivery_failed=True):
        found = sections.scan(again[0].payload)
        assert sections.header(again[0].payload, found).delivery_count == 1
    at.end()


def test_after_a_rollback_a_delivery_is_the_links_as_before():
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver()
    (event,) = at.gets(receiver)
    first, second = at.declares(), at.declares()
    at.retires(event, first)
    assert at.rolls_back(first) == ACCEPTED
    assert at.settlements() == []
    assert at.gets(receiver) == []
    at.retires(event, second)
    at.commits(second)
    assert at.settlements() == [ACCEPTED]
    assert at.depth() == 0
    at.end()


@rule("1.0", "4.4.4", "settled-by-the-controller-takes-the-default-outcome")
@pytest.mark.parametrize("how", ["rollback", "link"])
def test_after_a_rollback_a_settled_delivery_has_the_default_outcome(how):
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(credit=1)
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id, settled=True)
    assert at.client.face.transactions.kept == 1
    if how == "rollback":
        at.rolls_back(txn_id)
    else:
        at.control.send_detach()
        at.client.step()
    assert at.client.face.transactions.kept == 0
    (again,) = at.gets(at.receiver())
    found = sections.scan(again.payload)
    assert sections.header(again.payload, found).delivery_count == 1
    at.end()


def test_what_is_settled_without_an_outcome_has_the_default_one_at_the_commit():
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(default_outcome=Rejected())
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id, None)
    at.retires(event, txn_id, None, settled=True)
    at.commits(txn_id)
    assert at.depth() == 0
    at.end()


def test_the_last_outcome_in_a_transaction_counts():
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(credit=1)
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id, ACCEPTED)
    at.retires(event, txn_id, Released())
    at.commits(txn_id)
    assert (at.depth(), at.settlements()) == (1, [Released()])
    at.end()


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(("outcome", "left"), [(ACCEPTED, 0), (Rejected(), 0), (Released(), 1)])
def test_an_outcome_outside_of_its_transaction_is_applied_and_fails_the_discharge(
    outcome, left, settled
):
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(credit=1)
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id)
    at.posts(at.sender("r"), txn_id)
    if settled:
        at.settles(event, outcome)
    else:
        event.link.session.write(
            _spec.Disposition(role=_spec.RECEIVER, first=event.delivery_id, state=outcome)
        )
        at.client.step()
    assert at.depth() == left
    assert len(at.gets(at.receiver())) == left
    assert error_of(at.commits(txn_id)) == ROLLBACK
    assert at.depth("r") == 0
    at.end()


def test_an_outcome_outside_of_a_transaction_that_is_rolled_back_is_no_error():
    at = Controller()
    at.puts(b"1")
    (event,) = at.gets(at.receiver(credit=1))
    txn_id = at.declares()
    at.retires(event, txn_id)
    at.settles(event, Released())
    assert at.rolls_back(txn_id) == ACCEPTED
    assert at.depth() == 1
    at.end()


def test_a_delivery_that_is_settled_later_stays_in_its_transaction():
    at = Controller()
    at.puts(b"1", b"2")
    receiver = at.receiver()
    first, second = at.gets(receiver)
    good, bad = at.declares(), at.declares()
    at.retires(first, good)
    at.retires(second, bad)
    at.settles(first, None)
    at.settles(second, None)
    at.commits(good)
    at.rolls_back(bad)
    assert at.depth() == 1
    at.end()


@rule("1.0", "4.4.2", "not-of-two-transactions")
@pytest.mark.parametrize("settled", [False, True])
def test_a_delivery_in_two_transactions_ends_the_control_link(settled):
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(credit=1)
    (event,) = at.gets(receiver)
    first, second = at.declares(), at.declares()
    at.retires(event, first)
    at.retires(event, second, settled=settled)
    assert at.detached() == ROLLBACK
    if not settled:
        at.settles(event)
    assert at.depth() == (1 if settled else 0)
    at.end()


def test_the_end_of_a_link_leaves_what_it_retired_in_the_transaction():
    at = Controller()
    at.puts(b"1", b"2")
    receiver = at.receiver()
    first, second = at.gets(receiver)
    good, bad = at.declares(), at.declares()
    at.retires(first, good)
    at.retires(second, bad)
    receiver.send_detach()
    at.client.step()
    assert at.depth() == 2
    assert at.gets(at.receiver()) == []
    at.commits(good)
    at.rolls_back(bad)
    assert at.depth() == 1
    at.end()


def says_of(event, txn_id, *, settled=True, last=None):
    """A disposition that the client's own session would not send: the link has gone."""
    event.link.session.write(
        _spec.Disposition(
            role=_spec.RECEIVER,
            first=event.delivery_id,
            last=last,
            settled=settled,
            state=TransactionalState(txn_id=txn_id, outcome=ACCEPTED),
        )
    )


@rule("1.0", "4.4.4", "unprocessable-fails-the-discharge")
@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("heard", [True, False], ids=["detached before", "in one read"])
@pytest.mark.parametrize("closed", [True, False])
def test_an_outcome_for_a_delivery_whose_link_has_gone_fails_the_discharge(closed, heard, settled):
    at = Controller()
    at.puts(b"1", b"2")
    receiver = at.receiver()
    first, second = at.gets(receiver)
    good, bad = at.declares(), at.declares()
    at.retires(first, good)
    receiver.send_detach(closed=closed)
    if heard:
        at.client.step()
    says_of(second, bad, settled=settled)
    at.client.step()
    assert error_of(at.commits(bad)) == ROLLBACK
    assert at.commits(good) == ACCEPTED
    assert at.depth() == 1
    assert bodies(at.gets(at.receiver())) == [b"2"]
    at.end()


def test_an_outcome_for_a_delivery_of_a_queue_that_is_deleted_fails_the_discharge():
    at = Controller()
    at.puts(b"1")
    (event,) = at.gets(at.receiver())
    txn_id = at.declares()
    assert at.hub.host.declaring.delete_queue("q") is None
    at.client.step()
    says_of(event, txn_id)
    at.client.step()
    assert error_of(at.commits(txn_id)) == ROLLBACK
    at.end()


def test_a_range_may_hold_what_has_been_settled_before():
    at = Controller()
    at.puts(b"1", b"2")
    receiver = at.receiver()
    first, second = at.gets(receiver)
    txn_id = at.declares()
    at.settles(first)
    says_of(first, txn_id, last=second.delivery_id)
    at.client.step()
    assert at.commits(txn_id) == ACCEPTED
    assert at.depth() == 0
    at.end()


def test_a_browser_may_settle_in_a_transaction_and_changes_nothing():
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(distribution_mode=_spec.DISTRIBUTION_COPY)
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id)
    assert at.commits(txn_id) == ACCEPTED
    assert at.depth() == 1
    at.end()


def test_what_is_retired_and_settled_counts_among_what_is_unsettled():
    at = Controller(limits=Limits(unsettled_max=2))
    at.puts(b"1", b"2", b"3")
    receiver = at.receiver()
    found = at.gets(receiver)
    assert len(found) == 2
    txn_id = at.declares()
    for event in found:
        at.retires(event, txn_id, settled=True)
    assert at.gets(receiver) == []
    at.commits(txn_id)
    assert bodies(at.gets(receiver)) == [b"3"]
    at.end()


def test_a_delivery_of_another_resource_fails_the_discharge():
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver()
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.posts(at.sender("r"), txn_id)
    at.retires(event, txn_id)
    assert at.hub.settings.counts.unsupported[Feature.REFUSED] == 1
    assert error_of(at.commits(txn_id)) == ROLLBACK
    at.settles(event)
    assert at.depth() == 0
    at.end()


@rule("1.0", "4.4.3", "unsupported-acquisition-is-refused")
def test_acquisition_in_a_transaction_ends_the_link():
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(credit=0)
    flow = _spec.Flow(
        incoming_window=100,
        next_outgoing_id=0,
        outgoing_window=100,
        handle=receiver.handle_out,
        delivery_count=0,
        link_credit=10,
        properties={"txn-id": binary(at.declares())},
    )
    at.session.write(flow)
    at.client.step()
    assert at.detached() == "amqp:not-implemented"
    assert at.gets(receiver) == []
    assert at.hub.settings.counts.unsupported[Feature.TRANSACTIONAL_ACQUISITION] == 1
    at.end()


def binary(octets):
    return Tagged(types.BINARY, octets)

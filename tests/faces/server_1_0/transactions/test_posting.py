"""What a client posts in a transaction, and what it hears of it."""

import pytest
from support.controller_1_0 import ACCEPTED, COMMITTED, ROLLED_BACK, Controller, bodies, error_of
from support.face_1_0 import message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, sections
from gateway.amqp_1_0._spec import TransactionalState
from gateway.amqp_1_0.transactions import discharge_payload
from gateway.bridge.limits import BridgeLimits
from gateway.faces.features import Feature
from gateway.message import ACCEPTED as BRIDGE_ACCEPTED
from gateway.message import Condition, Outcome, OutcomeKind
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer

ROLLBACK = "amqp:transaction:rollback"
UNKNOWN_ID = "amqp:transaction:unknown-id"
REJECTED = Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED, description="no")


@rule("1.0", "4.4.1", "posted-is-held-until-the-discharge")
@rule("1.0", "4.4.1", "presumptive-outcome-is-told")
def test_what_is_posted_has_its_outcome_at_once_and_is_there_after_the_commit():
    at = Controller()
    sender = at.sender()
    txn_id = at.declares()
    presumed = TransactionalState(txn_id=txn_id, outcome=ACCEPTED)
    assert at.posts(sender, txn_id) == presumed
    assert at.posts(sender, txn_id) == presumed
    assert at.depth() == 0
    assert not at.client.face.drained()
    assert at.commits(txn_id) == ACCEPTED
    assert at.depth() == 2
    assert at.client.face.drained()
    assert at.ended() == [COMMITTED]
    at.end()


def test_a_rollback_drops_what_was_posted():
    at = Controller()
    txn_id = at.declares()
    at.posts(at.sender(), txn_id)
    assert at.rolls_back(txn_id) == ACCEPTED
    assert at.depth() == 0
    assert at.ended() == [ROLLED_BACK]
    at.end()


def test_transactions_of_one_session_do_not_mix():
    at = Controller()
    sender = at.sender()
    first, second, third = [at.declares() for _ in range(3)]
    for number, txn_id in enumerate((first, second, third, first)):
        at.posts(sender, txn_id, b"%d" % number)
    at.posts(sender, first, b"settled", settled=True)
    at.commits(second)
    at.rolls_back(third)
    at.commits(first)
    receiver = at.receiver()
    assert bodies(at.gets(receiver)) == [b"1", b"0", b"3", b"settled"]
    at.end()


def test_a_transaction_goes_across_the_sessions_of_its_connection():
    at = Controller()
    txn_id = at.declares()
    elsewhere = at.client.sender("q")
    assert at.posts(elsewhere, txn_id).outcome == ACCEPTED
    at.commits(txn_id)
    assert at.depth() == 1
    at.end()


@rule("1.0", "4.5.4", "unknown-id")
@pytest.mark.parametrize("settled", [False, True])
def test_work_in_a_transaction_that_is_not_known_ends_the_link(settled):
    at = Controller()
    at.posts(at.sender(), b"t", settled=settled)
    assert at.detached() == UNKNOWN_ID
    at.puts(b"1")
    receiver = at.receiver()
    (event,) = at.gets(receiver)
    at.retires(event, b"t", settled=settled)
    assert at.detached() == UNKNOWN_ID
    assert at.depth() == 1
    at.end()


def test_a_transaction_of_another_connection_is_not_known():
    at = Controller()
    txn_id = at.declares()
    other = at.hub.client("other")
    sender = other.sender("q")
    other.send(sender, message(), state=TransactionalState(txn_id=txn_id))
    assert other.refused() == UNKNOWN_ID
    at.end()


def test_what_is_rejected_is_told_and_fails_the_discharge():
    at = Controller(bridge_limits=BridgeLimits(transaction_octets_max=2000))
    txn_id = at.declares()
    sender = at.sender()
    state = at.posts(sender, txn_id, bytes(3000))
    assert state.txn_id == txn_id
    assert error_of(state.outcome) == "amqp:resource-limit-exceeded"
    state = at.posts(at.sender("amq.direct/nobody"), txn_id)
    assert error_of(state.outcome) == "amqp:not-found"
    at.posts(sender, txn_id)
    assert error_of(at.commits(txn_id)) == ROLLBACK
    assert (at.depth(), at.ended()) == (0, [ROLLED_BACK])
    at.end()


@rule("1.0", "4.4.1", "settled-post-that-fails-rolls-back")
@rule("1.0", "4.4.4", "unprocessable-fails-the-discharge")
@pytest.mark.parametrize("payload", [b"garbage", message(bytes(3000))])
def test_what_was_settled_and_failed_fails_the_discharge(payload):
    at = Controller(bridge_limits=BridgeLimits(transaction_octets_max=2000))
    txn_id = at.declares()
    sender = at.sender()
    at.posts(sender, txn_id)
    at.client.send(sender, payload, settled=True, state=TransactionalState(txn_id=txn_id))
    assert error_of(at.commits(txn_id)) == ROLLBACK
    assert (at.depth(), at.ended()) == (0, [ROLLED_BACK])
    at.end()


def test_a_second_resource_is_refused_and_the_transaction_can_only_roll_back():
    at = Controller()
    txn_id = at.declares()
    at.posts(at.sender(), txn_id)
    state = at.posts(at.sender("r"), txn_id)
    assert error_of(state.outcome) == "amqp:not-implemented"
    assert at.hub.settings.counts.unsupported[Feature.REFUSED] == 1
    state = at.commits(txn_id)
    assert error_of(state) == ROLLBACK
    assert "not for both" in state.error.description
    assert (at.depth(), at.ended()) == (0, [ROLLED_BACK])
    at.end()


def test_an_upstream_without_transactions_is_none_for_them():
    at = Controller()
    at.remote.transactional = False
    txn_id = at.declares()
    state = at.posts(at.sender("r"), txn_id)
    assert error_of(state.outcome) == "amqp:not-implemented"
    assert error_of(at.commits(txn_id)) == ROLLBACK
    at.end()


@rule("1.0", "4.4.4", "state-reflects-the-discharge")
def test_a_sender_of_the_second_mode_hears_of_the_discharge():
    at = Controller()
    sender = at.sender(rcv_settle_mode=_spec.RCV_SECOND)
    txn_id = at.declares()
    sender.send_delivery(
        b"t", b"", message(), settled=False, state=TransactionalState(txn_id=txn_id)
    )
    at.client.step()
    event = at.client.take(events.DispositionReceived)
    assert (event.settled, event.state.outcome) == (False, ACCEPTED)
    at.control.send_delivery(b"c", b"", discharge_payload(txn_id, fail=False), settled=False)
    at.client.step()
    (out,) = event.deliveries
    told = at.client.take_all(events.DispositionReceived)
    assert sorted([(each.settled, each.state == ACCEPTED) for each in told]) == [
        (False, True),
        (True, True),
    ]
    assert [each.deliveries for each in told if not each.settled] == [[out]]
    sender.session.settle_outgoing(out, ACCEPTED)
    at.client.step()
    at.end()


def test_a_batch_is_in_the_transaction_as_a_whole_or_ends_it():
    at = Controller(bridge_limits=BridgeLimits(transaction_octets_max=2000))
    sender = at.sender()
    good, bad = at.declares(), at.declares()

    def batch(*parts):
        writer = Writer()
        for part in parts:
            sections.write_data(writer, message(part))
        return writer.getvalue()

    def posted(txn_id, *parts):
        state = TransactionalState(txn_id=txn_id)
        return at.client.send(sender, batch(*parts), message_format=BATCH_FORMAT, state=state)

    assert posted(good, b"1", b"2") == TransactionalState(txn_id=good, outcome=ACCEPTED)
    assert error_of(posted(bad, b"3", bytes(3000)).outcome) == "amqp:resource-limit-exceeded"
    assert error_of(at.commits(bad)) == ROLLBACK
    assert at.commits(good) == ACCEPTED
    assert at.depth() == 2
    at.end()


def test_what_the_upstream_rejects_is_told_and_fails_the_discharge():
    at = Controller()
    txn_id = at.declares()
    sender = at.sender("r")
    at.posts(sender, txn_id)
    at.posts(sender, txn_id)
    branch = at.begins()
    at.presumes(branch, REJECTED, BRIDGE_ACCEPTED)
    first, second = at.told()
    assert error_of(first.outcome) == "amqp:not-allowed"
    assert second == TransactionalState(txn_id=txn_id, outcome=ACCEPTED)
    assert error_of(at.commits(txn_id)) == ROLLBACK
    assert branch.discharged == [True]
    branch.work.on_discharged(None)
    at.hub.step()
    at.end()


def test_what_was_settled_and_the_upstream_rejects_fails_the_discharge():
    at = Controller()
    txn_id = at.declares()
    at.posts(at.sender("r"), txn_id, settled=True)
    branch = at.begins()
    at.presumes(branch, REJECTED)
    assert error_of(at.commits(txn_id)) == ROLLBACK
    assert branch.discharged == [True]
    branch.work.on_discharged(None)
    at.hub.step()
    at.end()


def test_a_link_that_goes_before_outcomes_are_told_fails_the_discharge():
    at = Controller()
    txn_id = at.declares()
    elsewhere = at.client.sender("r")
    at.posts(elsewhere, txn_id)
    elsewhere.session.send_end()
    at.client.step()
    assert error_of(at.commits(txn_id)) == ROLLBACK
    at.end()


def test_a_queue_that_is_deleted_takes_the_transaction_with_it():
    at = Controller()
    txn_id = at.declares()
    assert isinstance(at.posts(at.sender(), txn_id), TransactionalState)
    assert at.hub.host.declaring.delete_queue("q") is None
    assert error_of(at.commits(txn_id)) == ROLLBACK
    assert at.ended() == [ROLLED_BACK]
    at.end()


def test_a_detach_waits_for_the_presumed_outcome():
    at = Controller()
    txn_id = at.declares()
    sender = at.sender("r")
    at.posts(sender, txn_id)
    sender.send_detach()
    branch = at.begins()
    assert at.client.take_all(events.DetachReceived) == []
    at.presumes(branch, BRIDGE_ACCEPTED)
    assert at.client.take(events.DetachReceived).detach.error is None
    at.commits(txn_id)
    branch.work.on_discharged(None)
    at.hub.step()
    assert ACCEPTED in at.told()
    at.end()

"""The coordinator of 1.0 clients: declares, discharges, and what is neither."""

import pytest
from support.controller_1_0 import (
    ACCEPTED,
    COMMITTED,
    IN_DOUBT,
    ROLLED_BACK,
    Controller,
    error_of,
)
from support.face_1_0 import message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, types
from gateway.amqp_1_0.transactions import declare_payload, discharge_payload
from gateway.bridge.limits import BridgeLimits
from gateway.faces.features import Feature
from gateway.message import ACCEPTED as BRIDGE_ACCEPTED
from gateway.message import Condition, Refusal
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

ROLLBACK = "amqp:transaction:rollback"
UNKNOWN_ID = "amqp:transaction:unknown-id"
ONLY_ACCEPTED = ["amqp:accepted:list"]


def test_the_coordinator_says_what_it_can():
    at = Controller()
    target = at.control.attach.target
    assert isinstance(target, _spec.Coordinator)
    assert target.capabilities == [
        "amqp:local-transactions",
        "amqp:multi-txns-per-ssn",
        "amqp:multi-ssns-per-txn",
    ]
    assert at.control.credit == Limits().link_credit
    at.end()


def test_a_declare_has_an_id_of_its_own():
    at = Controller()
    ids = [at.declares() for _ in range(3)]
    assert len(set(ids)) == 3
    assert all(len(txn_id) <= 32 for txn_id in ids)
    at.end()


def test_credit_is_given_again_as_it_is_used():
    at = Controller(limits=Limits(link_credit=4))
    for _ in range(20):
        assert at.commits(at.declares()) == ACCEPTED
    at.end()


@rule("1.0", "4.2", "settled-declare-is-an-illegal-state")
@pytest.mark.parametrize("payload", [declare_payload(), discharge_payload(b"t", fail=True)])
def test_what_comes_settled_ends_the_link(payload):
    at = Controller()
    assert at.says(payload, settled=True) is None
    assert at.detached() == "amqp:illegal-state"
    at.end()


@rule("1.0", "4.2", "failed-declare-is-rejected")
def test_there_are_so_many_transactions_at_a_time():
    at = Controller(limits=Limits(transactions_max=2))
    first = at.declares()
    at.declares()
    assert error_of(at.says(declare_payload())) == "amqp:resource-limit-exceeded"
    counts = at.hub.settings.counts
    assert counts.transactions_refused == 1
    assert counts.transactions_declared - counts.transactions_discharged == 2
    assert at.rolls_back(first) == ACCEPTED
    at.declares()
    at.end()
    assert counts.transactions_declared == counts.transactions_discharged == 3


@rule("1.0", "4.2", "failed-declare-detaches-where-rejected-is-not-taken")
def test_who_cannot_hear_of_a_rejection_loses_the_link():
    at = Controller(outcomes=ONLY_ACCEPTED, limits=Limits(transactions_max=1))
    at.declares()
    at.says(declare_payload())
    assert at.detached() == "amqp:resource-limit-exceeded"
    at.end()


def test_distributed_transactions_are_not_offered():
    at = Controller()
    state = at.says(declare_payload(Tagged(types.STRING, "global")))
    assert error_of(state) == "amqp:not-implemented"
    assert at.hub.settings.counts.unsupported[Feature.DTX] == 1
    at.end()


@pytest.mark.parametrize(
    "payload",
    [b"", b"garbage", message(b"data"), bytes.fromhex("0053770053240045"), declare_payload()[:-1]],
)
def test_what_is_no_declare_or_discharge_is_rejected(payload):
    at = Controller()
    assert error_of(at.says(payload)) == "amqp:decode-error"
    at.declares()
    at.end()


def test_there_is_no_transactional_work_on_a_control_link():
    at = Controller()
    txn_id = at.declares()
    state = at.says(declare_payload(), state=_spec.TransactionalState(txn_id=txn_id))
    assert error_of(state) == "amqp:illegal-state"
    at.end()


@rule("1.0", "4.5.4", "unknown-id")
@pytest.mark.parametrize("fail", [False, True])
def test_a_transaction_that_is_not_known_cannot_be_discharged(fail):
    at = Controller()
    txn_id = at.declares()
    assert at.commits(txn_id) == ACCEPTED
    for unknown in (txn_id, b"", b"x" * 32):
        assert error_of(at.says(discharge_payload(unknown, fail=fail))) == UNKNOWN_ID
    at.end()


@rule("1.0", "4.3", "failed-discharge-is-rejected")
def test_a_commit_for_which_there_is_no_room_is_rejected_and_rolled_back():
    at = Controller()
    at.hub.world.queue("small", max_count=1)
    txn_id = at.declares()
    sender = at.sender("small")
    at.posts(sender, txn_id)
    at.posts(sender, txn_id)
    state = at.commits(txn_id)
    assert error_of(state) == ROLLBACK
    assert "small" in state.error.description
    assert at.depth("small") == 0
    assert at.ended() == [ROLLED_BACK]
    at.end()


@rule("1.0", "4.3", "failed-discharge-detaches-where-rejected-is-not-taken")
def test_a_commit_that_fails_ends_the_link_where_it_cannot_be_rejected():
    at = Controller(outcomes=ONLY_ACCEPTED)
    at.hub.world.queue("small", max_count=1)
    txn_id = at.declares()
    sender = at.sender("small")
    at.posts(sender, txn_id)
    at.posts(sender, txn_id)
    at.commits(txn_id)
    assert at.detached() == ROLLBACK
    at.end()


@rule("1.0", "4.3", "rollback-always-works")
def test_a_transaction_that_can_only_roll_back_rolls_back():
    at = Controller()
    txn_id = at.declares()
    at.posts(at.sender("q"), txn_id)
    at.posts(at.sender("r"), txn_id)
    assert at.rolls_back(txn_id) == ACCEPTED
    assert (at.depth(), at.ended()) == (0, [ROLLED_BACK])
    at.end()


@rule("1.0", "4.3", "coordinator-link-lost-rolls-back")
@pytest.mark.parametrize("how", ["detach", "end", "lost"])
def test_the_end_of_the_control_link_rolls_back(how):
    at = Controller()
    sender = at.client.sender("q")  # of another session
    txn_id = at.declares()
    at.posts(sender, txn_id)
    if how == "detach":
        at.control.send_detach()
    elif how == "end":
        at.session.send_end()
    else:
        at.client.face.receive_eof(at.hub.world.now_ms)
    at.client.step()
    assert (at.depth(), at.ended()) == (0, [ROLLED_BACK])
    if how != "lost":
        at.client.events = []
        at.posts(sender, txn_id)
        assert at.detached() == UNKNOWN_ID
    at.end()


def test_each_control_link_rolls_back_its_own_transactions():
    at = Controller()
    other = at.control_link()
    mine, theirs = at.declares(), at.declares(other)
    sender = at.sender()
    at.posts(sender, mine, b"mine")
    at.posts(sender, theirs, b"theirs")
    at.control.send_detach()
    at.client.step()
    assert at.commits(theirs, other) == ACCEPTED
    assert at.depth() == 1
    assert at.ended() == [ROLLED_BACK, COMMITTED]
    at.end()


def test_a_discharge_while_a_delivery_is_not_complete_ends_the_control_link():
    at = Controller()
    txn_id = at.declares()
    sender = at.sender()
    begins_to_post(sender, txn_id)
    at.client.step()
    at.commits(txn_id)
    assert at.detached() == ROLLBACK
    assert at.depth() == 0
    at.end()


def begins_to_post(sender, txn_id):
    """The first transfer of a delivery, without the others."""
    session = sender.session
    session.write(
        _spec.Transfer(
            handle=sender.handle_out,
            delivery_id=session.sending.next_delivery_id,
            delivery_tag=b"unfinished",
            state=_spec.TransactionalState(txn_id=txn_id),
            more=True,
        )
    )
    session.sending.next_delivery_id += 1


# Durability, upstreams.


def test_a_discharge_is_accepted_when_all_of_it_is_on_disk():
    at = Controller(durable=True)
    at.puts(b"old", durable=True)
    receiver = at.receiver()
    (old,) = at.gets(receiver)
    txn_id = at.declares()
    sender = at.sender()
    at.posts(sender, txn_id, b"1", durable=True)
    at.posts(sender, txn_id, b"2", durable=True)
    at.retires(old, txn_id)
    at.hub.world.auto_commit = False
    assert at.commits(txn_id) is None
    assert at.settlements() == []
    assert len(at.hub.world.calls) == 1  # one commit of the store
    assert not at.client.face.drained()
    at.hub.world.commit()
    at.hub.world.auto_commit = True
    at.client.step()
    assert at.told() == [ACCEPTED]
    assert at.settlements() == [ACCEPTED]
    at.end()


def test_a_crash_before_the_commit_leaves_nothing_and_one_behind_it_everything():
    at = Controller(durable=True)
    sender = at.sender()
    first, second = at.declares(), at.declares()
    at.posts(sender, first, b"1", durable=True)
    at.posts(sender, first, b"2", durable=True)
    at.posts(sender, second, b"3", durable=True)
    assert at.commits(first) == ACCEPTED
    at.hub.world.crash()
    assert at.depth() == 2


def test_a_discharge_at_an_upstream_is_accepted_when_that_has():
    at = Controller()
    txn_id = at.declares()
    assert at.posts(at.sender("r"), txn_id) is None
    branch = at.begins()
    at.presumes(branch, BRIDGE_ACCEPTED)
    assert at.told() == [_spec.TransactionalState(txn_id=txn_id, outcome=ACCEPTED)]
    assert at.commits(txn_id) is None
    assert branch.discharged == [False]
    assert error_of(at.commits(txn_id)) == UNKNOWN_ID
    branch.work.on_discharged(None)
    at.hub.step()
    assert at.told() == [ACCEPTED]
    assert at.ended() == [COMMITTED]
    at.end()


@pytest.mark.parametrize(
    ("lost", "condition", "how"),
    [(False, ROLLBACK, ROLLED_BACK), (True, "amqp:transaction:timeout", IN_DOUBT)],
)
def test_a_discharge_that_fails_at_the_upstream_is_rejected(lost, condition, how):
    at = Controller()
    txn_id = at.declares()
    at.posts(at.sender("r"), txn_id)
    branch = at.begins()
    at.presumes(branch, BRIDGE_ACCEPTED)
    at.told()
    at.commits(txn_id)
    why = Refusal(Condition.INTERNAL_ERROR, "it burns")
    (branch.work.on_lost if lost else branch.work.on_discharged)(why)
    at.hub.step()
    (state,) = at.told()
    assert error_of(state) == condition
    assert "it burns" in state.error.description
    assert at.ended() == [how]
    at.end()


def test_a_commit_that_is_under_way_goes_on_without_its_link():
    at = Controller()
    txn_id = at.declares()
    at.posts(at.sender("r"), txn_id)
    branch = at.begins()
    at.presumes(branch, BRIDGE_ACCEPTED)
    at.commits(txn_id)
    at.client.face.receive_eof(at.hub.world.now_ms)
    assert branch.discharged == [False]
    branch.work.on_discharged(None)
    at.hub.step()
    assert at.ended() == [COMMITTED]
    at.end()


def test_a_full_gateway_keeps_the_answer_of_a_commit_back():
    at = Controller(bridge_limits=BridgeLimits(octets_high=100, octets_low=50))
    txn_id = at.declares()
    at.posts(at.sender(), txn_id, bytes(200))
    assert at.commits(txn_id) is None
    at.hub.host.declaring.purge_queue("q")
    at.client.step()
    assert at.told() == [ACCEPTED]
    at.end()


def test_events_of_credit_that_was_given_up_are_no_work():
    at = Controller(limits=Limits(link_credit=2))
    for _ in range(4):
        at.control.send_delivery(b"t", b"", declare_payload(), settled=False)
        at.client.step()
    assert len(at.client.take_all(events.DispositionReceived)) == 4
    at.end()

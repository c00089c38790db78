"""Work in transactions over 1.0: what is posted and retired, and what becomes of it."""

import pytest
from support.controller_1_0 import ACCEPTED, COMMITTED, ROLLED_BACK, Controller, error_of
from support.face_1_0 import body_of, message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, sections, types
from gateway.amqp_1_0._spec import Modified, Rejected, Released, TransactionalState
from gateway.amqp_1_0.transactions import discharge_payload
from gateway.bridge.limits import BridgeLimits
from gateway.faces.features import Feature
from gateway.message import ACCEPTED as BRIDGE_ACCEPTED
from gateway.message import Condition, Outcome, OutcomeKind, Refusal
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

ROLLBACK = "amqp:transaction:rollback"
UNKNOWN_ID = "amqp:transaction:unknown-id"
REJECTED = Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED, description="no")


def bodies(found):
    return [body_of(event.payload) for event in found]


# Posting.


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


def test_who_knows_of_a_rejection_may_commit_the_rest():
    at = Controller(bridge_limits=BridgeLimits(transaction_octets_max=2000))
    txn_id = at.declares()
    sender = at.sender()
    state = at.posts(sender, txn_id, bytes(3000))
    assert state.txn_id == txn_id
    assert error_of(state.outcome) == "amqp:resource-limit-exceeded"
    state = at.posts(at.sender("amq.direct/nobody"), txn_id)
    assert error_of(state.outcome) == "amqp:not-found"
    at.posts(sender, txn_id)
    assert at.commits(txn_id) == ACCEPTED
    assert at.depth() == 1
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


def test_what_the_upstream_rejects_is_told_and_the_rest_committed():
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
    assert at.commits(txn_id) is None
    assert branch.discharged == [False]
    branch.work.on_discharged(None)
    at.hub.step()
    assert at.told() == [ACCEPTED]
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


# Retiring.


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


def test_another_outcome_takes_a_delivery_out_of_its_transaction():
    at = Controller()
    at.puts(b"1")
    receiver = at.receiver(credit=1)
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id)
    at.settles(event, Released())
    assert len(at.gets(at.receiver())) == 1
    assert at.commits(txn_id) == ACCEPTED
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


# Deliveries of an upstream.


def retired_far(at, outcome=ACCEPTED, *, settled=False):
    """A delivery of the upstream, in a transaction of which the commit is asked for."""
    session = at.session
    receiver = session.attach("far", _spec.RECEIVER)
    receiver.send_attach(source=_spec.Source(address="r"), target=_spec.Target(address="here"))
    at.client.step()
    at.brings()
    at.client.take(events.AttachReceived)
    receiver.send_flow(credit=10)
    at.client.step()
    at.brings(b"1")
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id, outcome, settled=settled)
    assert at.remote.branches == []
    assert at.commits(txn_id) is None
    branch = at.begins()
    assert branch.retired == [0]
    assert branch.discharged == [False]
    return receiver, event, branch


@pytest.mark.parametrize("outcome", [ACCEPTED, Released(), Modified(delivery_failed=True)])
def test_what_is_retired_at_an_upstream_is_so_when_it_says_so(outcome):
    at = Controller()
    _, _, branch = retired_far(at, outcome)
    assert at.settlements() == []
    branch.work.on_discharged(None)
    at.hub.step()
    assert (at.told(), at.settlements()) == ([ACCEPTED], [outcome])
    ((_, told),) = at.remote.inlets[-1][1].published
    assert told.kind != OutcomeKind.REJECTED
    at.end()


REFUSED = Refusal(Condition.INTERNAL_ERROR, "it burns")


@pytest.mark.parametrize("settled", [False, True])
def test_what_an_upstream_does_not_commit_is_as_it_was(settled):
    at = Controller()
    _, event, branch = retired_far(at, settled=settled)
    branch.work.on_discharged(REFUSED)
    at.hub.step()
    (state,) = at.told()
    assert error_of(state) == ROLLBACK
    published = at.remote.inlets[-1][1].published
    assert [outcome.kind for _, outcome in published] == ([OutcomeKind.MODIFIED] if settled else [])
    if not settled:
        at.settles(event)
        assert [outcome.kind for _, outcome in published] == [OutcomeKind.ACCEPTED]
    at.end()


def test_a_link_that_goes_while_the_commit_is_under_way_takes_nothing_with_it():
    at = Controller()
    receiver, _, branch = retired_far(at)
    receiver.send_detach()
    at.client.step()
    published = at.remote.inlets[-1][1].published
    assert published == []
    branch.work.on_discharged(None)
    at.hub.step()
    assert [outcome.kind for _, outcome in published] == [OutcomeKind.ACCEPTED]
    assert at.client.face.transactions.kept == 0
    at.end()


def test_an_outcome_comes_too_late_while_the_commit_is_under_way():
    at = Controller()
    _, event, branch = retired_far(at)
    at.settles(event, Released())
    branch.work.on_discharged(None)
    at.hub.step()
    published = at.remote.inlets[-1][1].published
    assert [outcome.kind for _, outcome in published] == [OutcomeKind.ACCEPTED]
    at.end()

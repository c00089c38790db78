"""The counters of checkpoints, on frames: what they tell that no record tells."""

import pytest
from support.audit_frames import found, ledger_of, spans

from gateway.accounting.steps.balance import balances
from gateway.accounting.steps.counters import counter_breaks
from gateway.accounting.steps.identities import IDENTITIES
from gateway.accounting.steps.ledger import incarnations
from gateway.audit.schema import Flag, Kind, Outcome, Reason

DECLARED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DECLARED}
DELETED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DELETED}
COPY = {"node": "q", "message": 5, "position": 1, "mix": 77}
RECEIVED = {"kind": Kind.RECEIVED, "exchange": "x", "copies": 1, "message": 5}
ENTERED = COPY | {"kind": Kind.ENTERED, "exchange": "x"}
SENT = COPY | {"kind": Kind.SENT, "link": 3}
ENDED = COPY | {"kind": Kind.SETTLED, "link": 3}
ACCEPTED = ENDED | {"outcome": Outcome.ACCEPTED, "flags": Flag.REMOVED}
RELEASED = ENDED | {"outcome": Outcome.RELEASED}
REJECTED = ENDED | {"outcome": Outcome.REJECTED}
DEAD = COPY | {"kind": Kind.DEAD_LETTERED, "reason": Reason.REJECTED}
CLOCK = {"kind": Kind.CLOCK, "window": 2}
WHOLE = (DECLARED, RECEIVED, ENTERED, SENT, ACCEPTED)


def queue(entered: int = 1, depth: int = 0, **said: int) -> dict:
    said = {"message": entered, "position": depth, "id_digest": 77 * depth} | said
    return {"kind": Kind.QUEUE_CHECKPOINT, "node": "q", "window": 1} | said


def outlet(sent: int = 1, unsettled: int = 0) -> dict:
    said = {"message": sent, "copies": unsettled, "link": 3, "node": "q"}
    return {"kind": Kind.OUTLET_CHECKPOINT, "window": 1} | said


def route(routed: int = 1, exchange: str = "x") -> dict:
    said = {"message": routed, "exchange": exchange}
    return {"kind": Kind.ROUTE_CHECKPOINT, "window": 1} | said


def breaks(frames, *lines: dict):
    records = frames.records(*lines)
    summed = ledger_of(records)
    balance = balances(summed, records, incarnations(summed))
    return counter_breaks(*(balance[of.name].failed for of in IDENTITIES))


def test_counters_that_agree_tell_nothing(frames):
    assert found(breaks(frames, *WHOLE, queue(), outlet(), route())) == []


def test_one_below_the_log_is_of_something_that_began_anew(frames):
    assert found(breaks(frames, *WHOLE, queue(0), outlet(0), route(0))) == []


def test_a_message_without_records_is_told_once_for_its_route_its_queue_and_its_outlet(frames):
    told = breaks(frames, *WHOLE, queue(2), outlet(2), route(2))
    assert found(told) == [("LOST", None, "q", 1)]
    assert spans(told) == [(0, 6)]


@pytest.mark.parametrize(
    ("lines", "node", "count"),
    [
        ((queue(), outlet(3), route()), "q", 2),
        ((queue(), outlet(), route(2)), "x", 1),
        ((queue(2), outlet(), route(3), route(1, "y")), "x", 1),
    ],
    ids=["sent", "routed", "routed and not all entered"],
)
def test_what_goes_beyond_what_entered_is_told_by_itself(frames, lines, node, count):
    others = [each for each in found(breaks(frames, *WHOLE, *lines)) if each[2:] != ("q", 1)]
    assert ("LOST", None, node, count) in others


def test_what_the_depth_tells_the_counter_does_not_tell_again(frames):
    assert found(breaks(frames, *WHOLE, queue(2, depth=1), outlet(), route(2))) == []


def test_it_is_told_at_its_first_checkpoint_only(frames):
    later = queue(3) | {"window": 2}
    told = breaks(frames, *WHOLE, queue(2), CLOCK, queue(2) | {"window": 2}, CLOCK, later)
    assert sorted(spans(told)) == [(0, 6), (8, 10)]


def test_a_name_that_is_not_declared_may_be_anothers_that_was_renamed(frames):
    assert found(breaks(frames, RECEIVED, ENTERED, SENT, ACCEPTED, queue(2))) == []


@pytest.mark.parametrize(
    "lines",
    [(SENT, RELEASED), (SENT, ENDED | {"kind": Kind.REQUEUED}), (SENT, REJECTED, DEAD, ENTERED)],
    ids=["released", "requeued", "dead letter"],
)
def test_a_copy_that_is_with_somebody_although_it_was_given_back_is_stuck(frames, lines):
    said = queue(1 + (ENTERED in lines), depth=1, copies=1)
    told = breaks(frames, DECLARED, RECEIVED, ENTERED, *lines, said)
    assert found(told) == [("STUCK", None, "q", 1)]


def test_what_somebody_has_is_not_stuck(frames):
    for lines in ((SENT,), (SENT, REJECTED)):  # whose dead letter waits for its turn
        said = queue(depth=1, copies=1)
        assert found(breaks(frames, DECLARED, RECEIVED, ENTERED, *lines, said)) == []


def test_of_a_deleted_queue_it_is_not_said(frames):
    lines = (DECLARED, RECEIVED, ENTERED, SENT, DELETED, RELEASED, queue(depth=1, copies=1))
    assert found(breaks(frames, *lines)) == []


def test_what_an_outlet_was_sent_without_a_record_is_not_stuck_besides(frames):
    lines = (DECLARED, RECEIVED, ENTERED, queue(depth=1, copies=1), outlet(1, 1), route())
    assert found(breaks(frames, *lines)) == []

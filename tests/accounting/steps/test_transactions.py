"""Transactions, on frames: what of them may be done is what their end says."""

import pytest
from support.audit_frames import found

from gateway.accounting.steps.transactions import half_done
from gateway.audit.schema import Flag, Kind, Outcome

OF = {"transaction": 3, "message": 5, "node": "q", "position": 1}
ENTERED = OF | {"kind": Kind.ENTERED}
ON_ITS_WAY = ENTERED | {"flags": Flag.TRANSIT}
DROPPED = OF | {"kind": Kind.ROLLED_BACK}
ACCEPTED = OF | {"kind": Kind.SETTLED, "outcome": Outcome.ACCEPTED, "flags": Flag.REMOVED}
GIVEN_UP = ACCEPTED | {"outcome": Outcome.ROLLED_BACK}


def ended(outcome: Outcome) -> dict:
    return {"kind": Kind.TRANSACTION, "transaction": 3, "outcome": outcome}


COMMITTED, ROLLED_BACK = ended(Outcome.COMMITTED), ended(Outcome.ROLLED_BACK)


@pytest.mark.parametrize(
    "lines",
    [
        (ENTERED, ACCEPTED, COMMITTED),
        (DROPPED, ROLLED_BACK),
        (ON_ITS_WAY, ACCEPTED, COMMITTED),
        (ON_ITS_WAY, GIVEN_UP, ROLLED_BACK),
        (ENTERED, GIVEN_UP, ended(Outcome.IN_DOUBT)),
        (ENTERED, DROPPED),
        (ENTERED, COMMITTED, DROPPED | {"transaction": 4}, ROLLED_BACK | {"transaction": 4}),
        (ENTERED, COMMITTED, DROPPED | {"incarnation": 2}, ROLLED_BACK | {"incarnation": 2}),
        (ENTERED | {"flags": Flag.REROUTED}, ROLLED_BACK),
    ],
    ids=[
        *("committed", "rolled back", "committed there", "rolled back there", "in doubt"),
        *("under way", "another", "of another run", "what was given back"),
    ],
)
def test_what_agrees_with_its_end_is_whole(frames, lines):
    assert found(half_done(frames.records(*lines))) == []


def test_what_is_rolled_back_of_a_committed_one_is_lost(frames):
    for undone in (DROPPED, GIVEN_UP):
        lines = (ENTERED | {"message": 6}, undone, COMMITTED)
        assert found(half_done(frames.records(*lines))) == [("LOST", 5, "q", 1)]


def test_what_is_done_of_one_that_is_rolled_back_is_a_duplicate(frames):
    for done in (ENTERED, ACCEPTED):
        lines = (DROPPED | {"message": 6}, done, ROLLED_BACK)
        assert found(half_done(frames.records(*lines))) == [("DUPLICATE", 5, "q", 1)]


def test_of_one_transaction_there_is_one_break_which_names_the_first_of_its_copies(frames):
    lines = (DROPPED, DROPPED | {"message": 6}, COMMITTED)
    (row,) = half_done(frames.records(*lines)).collect()
    assert (row["message"], row["count"], row["since"], row["sequence"]) == (5, 2, None, 1)
    assert row["detail"] == "transaction 3 is committed, and 2 of its steps are rolled back"

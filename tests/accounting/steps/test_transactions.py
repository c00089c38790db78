"""Transactions, on frames: what of them may be done is what their end says."""

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from support.audit_frames import found

from gateway.accounting.steps.transactions import END_MAX, Branches, transaction_breaks
from gateway.audit.schema import Flag, Kind, Outcome, Reason

OF = {"transaction": 3, "message": 5, "node": "q", "position": 1}
ENTERED = OF | {"kind": Kind.ENTERED}
ON_ITS_WAY = ENTERED | {"flags": Flag.TRANSIT}
RECEIVED = OF | {"kind": Kind.RECEIVED, "position": 0}
DROPPED = OF | {"kind": Kind.ROLLED_BACK}
ACCEPTED = OF | {"kind": Kind.SETTLED, "outcome": Outcome.ACCEPTED, "flags": Flag.REMOVED}
STARTED = {"kind": Kind.INCARNATION_STARTED, "incarnation": 2}
GIVEN_UP = ACCEPTED | {"outcome": Outcome.ROLLED_BACK}


def breaks(frames, *lines: dict, stopped: bool = False, behind: int = 0) -> DataFrame:
    """What is told of these; `behind` them the run has so many other records."""
    records = frames.records(*lines)
    runs = records.groupBy("incarnation").agg((F.max("sequence") + behind).alias("last_sequence"))
    return transaction_breaks(records, runs.withColumn("stopped", F.lit(stopped)))


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
        (RECEIVED, ON_ITS_WAY),
        (ENTERED, COMMITTED, DROPPED | {"transaction": 4}, ROLLED_BACK | {"transaction": 4}),
        (ENTERED, COMMITTED, DROPPED | {"incarnation": 2}, ROLLED_BACK | {"incarnation": 2}),
        (ENTERED | {"flags": Flag.REROUTED}, ROLLED_BACK),
        (ACCEPTED, COMMITTED | {"reason": Reason.OPERATOR}, COMMITTED),
    ],
    ids=[
        *("committed", "rolled back", "committed there", "rolled back there", "in doubt"),
        *("under way", "held", "another", "of another run", "what was given back"),
        "decided by an operator",
    ],
)
def test_what_agrees_with_its_end_is_whole(frames, lines):
    assert found(breaks(frames, *lines)) == []


def test_what_is_done_of_one_that_has_ended_is_an_orphan_and_what_an_upstream_undoes_is_not(frames):
    (row,) = breaks(frames, ENTERED, COMMITTED, ACCEPTED | {"message": 6}).collect()
    assert (row["class"], row["message"], row["sequence"]) == ("ORPHAN_SETTLEMENT", 6, 3)
    assert found(breaks(frames, GIVEN_UP, ROLLED_BACK, GIVEN_UP)) == []


@pytest.mark.parametrize(
    "lines",
    [
        (RECEIVED, ON_ITS_WAY, ENTERED | {"flags": Flag.REROUTED}),
        (ENTERED, COMMITTED),
        (GIVEN_UP, ended(Outcome.IN_DOUBT), GIVEN_UP),
    ],
    ids=["held", "committed", "in doubt"],
)
def test_what_was_only_held_or_has_ended_is_not_without_an_end(frames, lines):
    assert found(breaks(frames, *lines, stopped=True, behind=END_MAX)) == []


def test_what_was_done_or_undone_without_an_end_is_stuck_where_it_cannot_be_under_way(frames):
    lines = (RECEIVED, ENTERED, ACCEPTED | {"message": 6}, DROPPED)
    assert found(breaks(frames, *lines, behind=END_MAX)) == []
    for told in ({"stopped": True}, {"behind": END_MAX + 1}):
        (row,) = breaks(frames, *lines, **told).collect()
        assert (row["class"], row["message"], row["node"], row["count"]) == ("STUCK", 5, "q", 3)
        assert (row["since"], row["sequence"]) == (4, 4 + told.get("behind", 0))
        assert row["detail"] == (
            "transaction 3 never ended, and 3 of its steps are done or rolled back"
        )


@pytest.mark.parametrize("stopped", [True, False])
def test_a_branch_that_is_prepared_or_comes_back_has_not_ended(frames, stopped):
    lines = (ended(Outcome.PREPARED), ended(Outcome.RECOVERED), ACCEPTED)
    assert len(found(breaks(frames, *lines, stopped=True))) == 1


def branch(outcome: Outcome, run: int, transaction: int, node: str | None = "branch x") -> dict:
    told = {"kind": Kind.TRANSACTION, "outcome": outcome, "incarnation": run}
    return told | {"transaction": transaction, "node": node}


PREPARED = branch(Outcome.PREPARED, 1, 3)


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        ((PREPARED,), []),
        ((PREPARED, STARTED), []),
        ((PREPARED, RECEIVED | {"incarnation": 2}), [(2, 1)]),
        ((PREPARED, branch(Outcome.COMMITTED, 1, 3, None), RECEIVED | {"incarnation": 2}), []),
        (
            (PREPARED, branch(Outcome.COMMITTED, 1, 4, None), RECEIVED | {"incarnation": 2}),
            [(3, 1)],
        ),
        ((PREPARED, branch(Outcome.RECOVERED, 2, 1), RECEIVED | {"incarnation": 2}), []),
        ((PREPARED, branch(Outcome.RECOVERED, 2, 1), RECEIVED | {"incarnation": 3}), [(3, 2)]),
        ((PREPARED, STARTED, branch(Outcome.RECOVERED, 3, 1)), []),
        (
            (
                *(PREPARED, branch(Outcome.RECOVERED, 2, 1, "branch y")),
                *(branch(Outcome.RECOVERED, 2, 2, "branch z"), RECEIVED | {"incarnation": 2}),
            ),
            [(2, 1)],
        ),
        (
            (
                PREPARED,
                branch(Outcome.RECOVERED, 2, 1),
                branch(Outcome.ROLLED_BACK, 2, 1, None),
                RECEIVED | {"incarnation": 3},
            ),
            [],
        ),
    ],
)
def test_a_branch_that_does_not_come_back_is_lost(frames, lines, lost):
    records = frames.records(*lines)
    past = F.when(F.col("kind") != int(Kind.INCARNATION_STARTED), F.col("sequence"))
    runs = records.groupBy("incarnation").agg(F.min(past).alias("opened_sequence"))
    runs = runs.withColumns({"stopped": F.lit(False), "last_sequence": F.lit(9)})
    found = Branches(records, runs.withColumn("first_sequence", F.lit(1))).breaks().collect()
    told = [row for row in found if row["class"] == "LOST"]
    assert [(row["sequence"], row["since"]) for row in told] == lost
    assert {row["node"] for row in told} <= {"branch x"}


def judged(frames, *lines: dict) -> list[tuple]:
    """Of branches, and of transactions; the first run ended in order, and the next is open."""
    records = frames.records(*lines)
    past = F.when(F.col("kind") != int(Kind.INCARNATION_STARTED), F.col("sequence"))
    runs = records.groupBy("incarnation").agg(
        F.min(past).alias("opened_sequence"),
        F.min("sequence").alias("first_sequence"),
        F.max("sequence").alias("last_sequence"),
        F.expr("incarnation = 1").alias("stopped"),
    )
    rows = [*Branches(records, runs).breaks().collect()]
    rows += transaction_breaks(records, runs).collect()
    return sorted((row["class"], row["sequence"], row["message"]) for row in rows)


SHELF = OF | {"node": "branch x"}
TAKEN = SHELF | {"kind": Kind.MOVED, "reason": Reason.BRANCH}
UNTAKEN = SHELF | {"kind": Kind.PURGED, "reason": Reason.ROLLBACK}
BACK = branch(Outcome.RECOVERED, 2, 1)
DONE = branch(Outcome.COMMITTED, 1, 3)
UNDONE = branch(Outcome.ROLLED_BACK, 1, 3)
LATER = {"incarnation": 2, "transaction": 1}
OPEN = RECEIVED | {"incarnation": 2}
AS_ANOTHER = {"node": "branch y"}
BRANCHES = {
    "committed": ((PREPARED, TAKEN, DONE, OPEN), []),
    "rolled back": ((PREPARED, UNTAKEN, UNDONE, OPEN), []),
    "came back": ((PREPARED, BACK, TAKEN | LATER, DONE | LATER, OPEN), []),
    "another that was prepared again": (
        (PREPARED, TAKEN, DONE, PREPARED | {"transaction": 4}, DONE | {"transaction": 4}, OPEN),
        [],
    ),
    "of the first run that is there": ((BACK, TAKEN | LATER, DONE | LATER), []),
    "its commit is missing": ((PREPARED, TAKEN, OPEN), [("STUCK", 2, 5)]),
    "its rollback is missing": ((PREPARED, UNTAKEN, OPEN), [("STUCK", 2, 5)]),
    "its prepared is missing": ((TAKEN, DONE, OPEN), [("ORPHAN_SETTLEMENT", 2, None)]),
    "its prepared is missing, and it came back": (
        (RECEIVED, BACK, TAKEN | LATER, DONE | LATER, OPEN),
        [("ORPHAN_SETTLEMENT", 2, None)],
    ),
    "its recovered is missing": (
        (PREPARED, TAKEN | LATER, DONE | LATER, OPEN),
        [("LOST", 2, None)],
    ),
    "prepared twice": ((PREPARED, PREPARED, TAKEN, DONE), [("DUPLICATE", 2, None)]),
    "came back twice": ((PREPARED, BACK, BACK, OPEN), [("DUPLICATE", 3, None)]),
    "prepared as another": (
        (PREPARED | AS_ANOTHER, TAKEN, DONE, OPEN),
        [("ORPHAN_SETTLEMENT", 3, None)],
    ),
    "ended as another": (
        (PREPARED, TAKEN, DONE | AS_ANOTHER, OPEN),
        [("ORPHAN_SETTLEMENT", 3, None)],
    ),
    "came back as another": ((PREPARED, BACK | AS_ANOTHER, OPEN), [("ORPHAN_SETTLEMENT", 2, None)]),
    "came back as another, and ended": (
        (PREPARED, BACK | AS_ANOTHER, TAKEN | LATER, DONE | LATER, OPEN),
        [("ORPHAN_SETTLEMENT", 4, None)],
    ),
    "prepared behind its end": (
        (UNTAKEN, UNDONE, PREPARED, OPEN),
        [("ORPHAN_SETTLEMENT", 3, None)],
    ),
    "done in part": ((PREPARED, TAKEN, UNDONE), [("DUPLICATE", 2, 5)]),
}


@pytest.mark.parametrize("case", BRANCHES)
def test_a_branch_is_prepared_once_and_comes_back_once_until_it_has_its_end(frames, case):
    lines, wanted = BRANCHES[case]
    assert judged(frames, *lines) == wanted


def test_what_is_rolled_back_of_a_committed_one_is_lost(frames):
    for undone in (DROPPED, GIVEN_UP):
        lines = (ENTERED | {"message": 6}, undone, COMMITTED)
        assert found(breaks(frames, *lines)) == [("LOST", 5, "q", 1)]


def test_what_is_done_of_one_that_is_rolled_back_is_a_duplicate(frames):
    for done in (ENTERED, ACCEPTED):
        lines = (DROPPED | {"message": 6}, done, ROLLED_BACK)
        assert found(breaks(frames, *lines)) == [("DUPLICATE", 5, "q", 1)]


def test_of_one_transaction_there_is_one_break_which_names_the_first_of_its_copies(frames):
    lines = (DROPPED, DROPPED | {"message": 6}, COMMITTED)
    (row,) = breaks(frames, *lines).collect()
    assert (row["message"], row["count"], row["since"], row["sequence"]) == (5, 2, None, 1)
    assert row["detail"] == "transaction 3 is committed, and 2 of its steps are rolled back"


def test_what_ends_again_has_one_end_too_many(frames):
    for again in (COMMITTED, ended(Outcome.IN_DOUBT)):
        (row,) = breaks(frames, ENTERED, COMMITTED, again).collect()
        assert (row["class"], row["message"], row["count"]) == ("DUPLICATE", None, 1)
        assert (row["since"], row["sequence"]) == (None, 3)
        assert row["detail"] == "transaction 3 ended 2 times"
    prepared = ended(Outcome.PREPARED)
    assert found(breaks(frames, prepared, prepared, DROPPED, ROLLED_BACK)) == []

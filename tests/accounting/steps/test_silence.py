"""What no checkpoint names, on frames: when that says that nothing is there."""

import pytest
from support.audit_frames import CHECKPOINTS, Cases, ledger_of

from gateway.accounting.steps import copies
from gateway.accounting.steps.balance import balances
from gateway.accounting.steps.ledger import incarnations
from gateway.audit.schema import Kind, Reason

DECLARED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DECLARED}
DELETED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DELETED}
RECEIVED = {"kind": Kind.RECEIVED, "exchange": "x", "copies": 1, "message": 5}
COPY = {"node": "q", "message": 5, "position": 1, "mix": 77}
ENTERED = COPY | {"kind": Kind.ENTERED, "exchange": "x"}
OTHER = ENTERED | {"message": 6, "position": 2, "mix": 1024}
PURGED = COPY | {"kind": Kind.PURGED}
ROUTES = {"kind": Kind.ROUTE_CHECKPOINT, "exchange": "x", "message": 2}
HOLDS = {"kind": Kind.QUEUE_CHECKPOINT, "node": "q", "position": 1, "id_digest": 77}
EMPTY = {"kind": Kind.QUEUE_CHECKPOINT, "node": "q"}
NAMED = EMPTY | {"node": "another"}
CLOCK = {"kind": Kind.CLOCK}
RECOVERED = COPY | {"kind": Kind.RECOVERED}
SENT = {"kind": Kind.SENT, "node": "another", "message": 7, "position": 3, "link": 4}
OUTLET = {"kind": Kind.OUTLET_CHECKPOINT, "link": 4, "message": 1, "copies": 1}
STOPPED = {"kind": Kind.INCARNATION_STOPPED}


def in_windows(lines: tuple[dict, ...]) -> list[dict]:
    """As the data source numbers them: a run of checkpoints begins one."""
    window, before, numbered = 0, False, []
    for line in lines:
        checkpoint = line["kind"] in CHECKPOINTS
        window += checkpoint and not before
        before = checkpoint
        numbered.append(line | {"window": window})
    return numbered


CASES = {
    "lost": (DECLARED, ENTERED, DELETED, ROUTES, CLOCK, STOPPED),
    "nothing else said": (DECLARED, ENTERED, DELETED, CLOCK, STOPPED),
    "held": (DECLARED, ENTERED, DELETED, HOLDS, ROUTES, CLOCK, STOPPED),
    "purged later": (DECLARED, ENTERED, DELETED, ROUTES, CLOCK, PURGED, ROUTES, CLOCK, STOPPED),
    "declared again": (DECLARED, ENTERED, DELETED, PURGED, DECLARED, OTHER, CLOCK, STOPPED),
    "not deleted": (DECLARED, ENTERED, HOLDS, ROUTES, CLOCK, STOPPED),
    "two": (DECLARED, ENTERED, DELETED, ROUTES, CLOCK, ROUTES, CLOCK),
    "one": (DECLARED, ENTERED, DELETED, ROUTES, CLOCK),
    "deleted behind the first": (DECLARED, ROUTES, ENTERED, DELETED, ROUTES, CLOCK),
    "held by the second": (DECLARED, ENTERED, DELETED, ROUTES, CLOCK, HOLDS, ROUTES, CLOCK),
    "entered late": (DECLARED, DELETED, ROUTES, CLOCK, ENTERED, ROUTES, CLOCK),
    "purged": (DECLARED, ENTERED, DELETED, ROUTES, PURGED, ROUTES),
    "of two exchanges": (
        *(DECLARED, ENTERED, DELETED),
        *(ROUTES | {"exchange": name} for name in "xy"),
        CLOCK,
    ),
    "before and behind": (
        *(DECLARED, ENTERED, OTHER, HOLDS, ROUTES, CLOCK),
        *(DELETED, ROUTES, CLOCK, STOPPED),
    ),
    "vanished": (DECLARED, ENTERED, NAMED, ROUTES, CLOCK, NAMED, ROUTES, STOPPED),
    "vanished later": (DECLARED, ENTERED, HOLDS, NAMED, ROUTES, CLOCK, NAMED, ROUTES, STOPPED),
    "vanished while it runs": (DECLARED, ENTERED, NAMED, ROUTES, CLOCK, NAMED, ROUTES, CLOCK),
    "vanished with its routes": (DECLARED, ENTERED, NAMED, CLOCK, STOPPED),
    "vanished with consumers alone": (DECLARED, RECOVERED, NAMED, SENT, NAMED, OUTLET, STOPPED),
    "of no whole one": (DECLARED, ENTERED, ROUTES, CLOCK, STOPPED),
    "of no routes": (DECLARED, ENTERED, NAMED, PURGED | {"node": "another"}, CLOCK, STOPPED),
    "of no stop": (DECLARED, ENTERED, NAMED, CLOCK),
    "entered behind it": (DECLARED, NAMED, ROUTES, CLOCK, ENTERED, STOPPED),
    "nothing left": (DECLARED, ENTERED, PURGED, NAMED, ROUTES, CLOCK, NAMED, STOPPED),
    "once while it runs": (DECLARED, ENTERED, NAMED, ROUTES, CLOCK),
    "left twice": (DECLARED, ENTERED, DELETED, PURGED, PURGED, ROUTES, CLOCK, STOPPED),
}


@pytest.fixture(scope="module")
def lost(frames) -> dict[str, list[tuple]]:
    cases = Cases({name: tuple(in_windows(lines)) for name, lines in CASES.items()})
    records = frames.records(*cases.lines)
    summed = ledger_of(records)
    runs = incarnations(summed)
    failures = balances(summed, records, runs)["queues"].failures
    still = copies.still_there(copies.copy_states(copies.copy_steps(records)))
    candidates = copies.candidates(failures, copies.with_fate(still, runs))
    told = cases.told(copies.queue_breaks(failures, candidates))
    return {name: [each[:4] for each in found] for name, found in told.items()}


LOST = [("LOST", 5, "q", 1)]


@pytest.mark.parametrize("case", ["lost", "nothing else said"])
def test_a_deleted_queue_that_the_last_checkpoint_does_not_name_is_empty(lost, case):
    assert lost[case] == LOST


@pytest.mark.parametrize("case", ["held", "purged later", "declared again", "not deleted"])
def test_what_it_names_or_is_not_deleted_may_be_there(lost, case):
    assert lost[case] == []


def test_while_it_runs_two_of_one_route_show_that_a_whole_one_was_silent(lost):
    assert lost["two"] == LOST


@pytest.mark.parametrize(
    "case",
    [
        *("one", "deleted behind the first", "held by the second", "entered late"),
        *("purged", "of two exchanges"),
    ],
)
def test_less_does_not_show_it(lost, case):
    assert lost[case] == []


@pytest.mark.parametrize(
    "case",
    [
        *("vanished", "vanished later", "vanished while it runs", "vanished with its routes"),
        "vanished with consumers alone",
    ],
)
def test_a_queue_that_no_record_deletes_is_empty_where_others_are_named(lost, case):
    assert lost[case] == LOST


@pytest.mark.parametrize(
    "case",
    [
        *("of no whole one", "of no routes", "of no stop", "entered behind it", "nothing left"),
        "once while it runs",
    ],
)
def test_where_it_need_not_be_named_it_is_not_called_empty(lost, case):
    assert lost[case] == []


def test_lost_before_and_behind_a_checkpoint_are_two(lost):
    assert lost["before and behind"] == [*LOST, ("LOST", 6, "q", 1)]


def test_what_left_a_deleted_queue_twice_is_told_with_that(lost):
    assert lost["left twice"] == []


def test_it_is_lost_since_the_last_checkpoint_that_named_it(frames):
    lines = (DECLARED, ENTERED, HOLDS, ROUTES, CLOCK, DELETED, ROUTES, CLOCK, STOPPED)
    records = frames.records(*in_windows(lines))
    summed = ledger_of(records)
    failures = balances(summed, records, incarnations(summed))["queues"].failures
    assert [(row["since"], row["sequence"]) for row in failures.collect()] == [(3, 9)]


def test_a_route_that_no_checkpoint_names_has_nothing_pending_at_the_end(frames):
    records = frames.records(*in_windows((RECEIVED, RECEIVED, ENTERED, STOPPED)))
    summed = ledger_of(records)
    failed = balances(summed, records, incarnations(summed))["routes"].failures
    assert [(row["route"], row["excess"]) for row in failed.collect()] == [("x", 1)]
    running = frames.records(RECEIVED)
    summed = ledger_of(running)
    assert balances(summed, running, incarnations(summed))["routes"].compared.count() == 0

"""What no checkpoint names, on frames: when that says that nothing is there."""

import pytest
from support.audit_frames import found, ledger_of

from gateway.accounting.steps import copies
from gateway.accounting.steps.balance import balances
from gateway.accounting.steps.ledger import incarnations
from gateway.audit.schema import Kind, Reason

DECLARED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DECLARED}
DELETED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DELETED}
RECEIVED = {"kind": Kind.RECEIVED, "exchange": "x", "copies": 1, "message": 5}
ENTERED = {
    "kind": Kind.ENTERED,
    "exchange": "x",
    "node": "q",
    "message": 5,
    "position": 1,
    "mix": 77,
}
OTHER = ENTERED | {"message": 6, "position": 2, "mix": 1024}
PURGED = {"kind": Kind.PURGED, "node": "q", "message": 5, "position": 1, "mix": 77}
ROUTES = {"kind": Kind.ROUTE_CHECKPOINT, "exchange": "x", "message": 2}
HOLDS = {"kind": Kind.QUEUE_CHECKPOINT, "node": "q", "position": 1, "id_digest": 77}
EMPTY = {"kind": Kind.QUEUE_CHECKPOINT, "node": "q"}
CLOCK = {"kind": Kind.CLOCK}
STOPPED = {"kind": Kind.INCARNATION_STOPPED}
CHECKPOINTS = (Kind.QUEUE_CHECKPOINT, Kind.OUTLET_CHECKPOINT, Kind.ROUTE_CHECKPOINT)


def in_windows(lines: tuple[dict, ...]) -> list[dict]:
    """As the data source numbers them: a run of checkpoints begins one."""
    window, before, numbered = 0, False, []
    for line in lines:
        checkpoint = line["kind"] in CHECKPOINTS
        window += checkpoint and not before
        before = checkpoint
        numbered.append(line | {"window": window})
    return numbered


def lost(frames, *lines: dict) -> list[tuple]:
    records = frames.records(*in_windows(lines))
    summed = ledger_of(records)
    runs = incarnations(summed)
    failures = balances(summed, records, runs)["queues"].failures
    still = copies.still_there(copies.copy_states(copies.copy_steps(records)))
    candidates = copies.candidates(failures, copies.with_fate(still, runs))
    return found(copies.queue_breaks(failures, candidates))


LOST = [("LOST", 5, "q", 1)]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ((DECLARED, ENTERED, DELETED, ROUTES, CLOCK, STOPPED), LOST),
        ((DECLARED, ENTERED, DELETED, CLOCK, STOPPED), LOST),
        ((DECLARED, ENTERED, DELETED, HOLDS, ROUTES, CLOCK, STOPPED), []),
        ((DECLARED, ENTERED, DELETED, ROUTES, CLOCK, PURGED, ROUTES, CLOCK, STOPPED), []),
        ((DECLARED, ENTERED, DELETED, PURGED, DECLARED, OTHER, CLOCK, STOPPED), []),
        ((DECLARED, ENTERED, HOLDS, ROUTES, CLOCK, STOPPED), []),
    ],
    ids=["lost", "nothing else said", "held", "purged later", "declared again", "not deleted"],
)
def test_a_deleted_queue_that_the_last_checkpoint_does_not_name_is_empty(frames, lines, wanted):
    assert lost(frames, *lines) == wanted


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ((DECLARED, ENTERED, DELETED, ROUTES, CLOCK, ROUTES, CLOCK), LOST),
        ((DECLARED, ENTERED, DELETED, ROUTES, CLOCK), []),
        ((DECLARED, ROUTES, ENTERED, DELETED, ROUTES, CLOCK), []),
        ((DECLARED, ENTERED, DELETED, ROUTES, CLOCK, HOLDS, ROUTES, CLOCK), []),
        ((DECLARED, DELETED, ROUTES, CLOCK, ENTERED, ROUTES, CLOCK), []),
        ((DECLARED, ENTERED, DELETED, ROUTES, PURGED, ROUTES), []),
        (
            (DECLARED, ENTERED, DELETED, *(ROUTES | {"exchange": name} for name in "xy"), CLOCK),
            [],
        ),
    ],
    ids=[
        *("lost", "one checkpoint", "deleted behind the first", "held", "entered late"),
        *("purged", "of two exchanges"),
    ],
)
def test_while_it_runs_two_of_one_route_show_that_a_whole_one_was_silent(frames, lines, wanted):
    assert lost(frames, *lines) == wanted


def test_lost_before_and_behind_a_checkpoint_are_two(frames):
    lines = (DECLARED, ENTERED, OTHER, HOLDS, ROUTES, CLOCK, DELETED, ROUTES, CLOCK, STOPPED)
    assert lost(frames, *lines) == [*LOST, ("LOST", 6, "q", 1)]


def test_it_is_lost_since_the_last_checkpoint_that_named_it(frames):
    lines = (DECLARED, ENTERED, HOLDS, ROUTES, CLOCK, DELETED, ROUTES, CLOCK, STOPPED)
    records = frames.records(*in_windows(lines))
    summed = ledger_of(records)
    failures = balances(summed, records, incarnations(summed))["queues"].failures
    assert [(row["since"], row["sequence"]) for row in failures.collect()] == [(3, 9)]


def test_what_left_a_deleted_queue_twice_is_told_with_that(frames):
    lines = (DECLARED, ENTERED, DELETED, PURGED, PURGED, ROUTES, CLOCK, STOPPED)
    assert lost(frames, *lines) == []


def test_a_route_that_no_checkpoint_names_has_nothing_pending_at_the_end(frames):
    records = frames.records(*in_windows((RECEIVED, RECEIVED, ENTERED, STOPPED)))
    summed = ledger_of(records)
    failed = balances(summed, records, incarnations(summed))["routes"].failures
    assert [(row["route"], row["excess"]) for row in failed.collect()] == [("x", 1)]
    running = frames.records(RECEIVED)
    summed = ledger_of(running)
    assert balances(summed, running, incarnations(summed))["routes"].compared.count() == 0

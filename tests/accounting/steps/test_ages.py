"""What took too long: a bound that is reached is not passed, and a copy has one age in all runs."""

from support.audit_frames import found, spans

from gateway.accounting.steps import ages, copies
from gateway.accounting.steps.ages import Bounds
from gateway.audit.schema import Flag, Kind, Outcome

COPY = {"message": 5, "node": "q", "position": 1, "mix": 77}
ENTERED = COPY | {"kind": Kind.ENTERED, "flags": Flag.DURABLE, "time_ms": 1000}
SENT = COPY | {"kind": Kind.SENT, "time_ms": 1500}
ACCEPTED = COPY | {"kind": Kind.SETTLED, "outcome": Outcome.ACCEPTED, "flags": Flag.REMOVED}
RECOVERED = ENTERED | {"kind": Kind.RECOVERED, "incarnation": 2, "time_ms": 9000}
BOUNDS = Bounds(stuck_ms=10_000, late_ms=10_000)


def states(frames, *lines: dict, stopped: bool = False):
    """Of copies, in a log of one run or two."""
    made = copies.copy_states(copies.copy_steps(frames.records(*lines)))
    last = max(line.get("incarnation", 1) for line in lines)
    runs = frames.table(
        "incarnation bigint, opened_sequence bigint, stopped boolean",
        *((number, number, stopped) for number in range(1, last + 1)),
    )
    return copies.with_fate(made, runs)


def stuck(frames, *lines: dict, end_ms: int = 12_000, missed: tuple = (), **said: bool):
    open_copies = copies.still_there(states(frames, *lines, **said))
    named = frames.table("message bigint, node string, position bigint", *missed)
    return ages.stuck(open_copies, named, BOUNDS, end_ms, 99)


def late(frames, *lines: dict):
    return ages.late(states(frames, *lines), BOUNDS)


def test_what_is_still_there_after_the_bound_is_stuck(frames):
    breaks = stuck(frames, ENTERED, SENT)
    assert found(breaks) == [("STUCK", 5, "q", 1)]
    assert spans(breaks) == [(2, 99)]
    assert found(stuck(frames, ENTERED, SENT, end_ms=11_000)) == []


def test_a_restart_makes_no_copy_younger(frames):
    assert found(stuck(frames, ENTERED, RECOVERED)) == [("STUCK", 5, "q", 1)]


def test_what_has_left_or_is_gone_with_its_process_is_not_stuck(frames):
    assert found(stuck(frames, ENTERED, SENT, ACCEPTED | {"time_ms": 2000})) == []
    transient = ENTERED | {"flags": 0}
    assert found(stuck(frames, transient)) == [("STUCK", 5, "q", 1)]
    assert found(stuck(frames, transient, stopped=True)) == []
    assert found(stuck(frames, ENTERED, {"kind": Kind.CLOCK, "incarnation": 2})) == []


def test_what_a_checkpoint_misses_is_not_stuck_too(frames):
    assert found(stuck(frames, ENTERED, missed=((5, "q", 1),))) == []


def test_what_is_settled_after_the_bound_is_late(frames):
    assert found(late(frames, ENTERED, SENT, ACCEPTED | {"time_ms": 11_000})) == []
    breaks = late(frames, ENTERED, SENT, ACCEPTED | {"time_ms": 11_001})
    assert found(breaks) == [("LATE", 5, "q", 1)]
    assert spans(breaks) == [(None, 3)]


def test_what_is_settled_as_it_is_sent_may_be_late_and_what_expires_is_not(frames):
    settled = SENT | {"flags": Flag.SETTLED, "time_ms": 20_000}
    assert found(late(frames, ENTERED, settled)) == [("LATE", 5, "q", 1)]
    assert found(late(frames, ENTERED, COPY | {"kind": Kind.EXPIRED, "time_ms": 20_000})) == []


def test_what_came_before_a_clock_was_right_has_no_age(frames):
    again = ENTERED | {"message": 6, "position": 2, "incarnation": 2}
    copy = states(frames, ENTERED, RECOVERED, again)
    skews = frames.table("incarnation bigint", (1,))
    assert [row["message"] for row in ages.timed(copy, skews).collect()] == [6]
    assert ages.timed(copy, frames.table("incarnation bigint")).count() == 2


def test_without_bounds_nothing_takes_too_long(frames):
    none = Bounds(stuck_ms=0, late_ms=0)
    copy = states(frames, ENTERED, ACCEPTED | {"time_ms": 20_000})
    assert found(ages.late(copy, none)) == []
    missed = frames.table("message bigint, node string, position bigint")
    still = copies.still_there(states(frames, ENTERED))
    assert found(ages.stuck(still, missed, none, 1 << 60, 99)) == []

"""Single copies, on three-line frames: which sequences of steps are breaks, and of what class."""

import pytest
from support.audit_frames import found, spans

from gateway.accounting.steps import copies
from gateway.audit.schema import Flag, Kind, Outcome

COPY = {"message": 5, "node": "q", "position": 1, "mix": 77}
ENTERED = COPY | {"kind": Kind.ENTERED, "flags": Flag.DURABLE}
SENT = COPY | {"kind": Kind.SENT}
ACCEPTED = COPY | {"kind": Kind.SETTLED, "outcome": Outcome.ACCEPTED, "flags": Flag.REMOVED}
RELEASED = COPY | {"kind": Kind.SETTLED, "outcome": Outcome.RELEASED}
REQUEUED = COPY | {"kind": Kind.REQUEUED, "outcome": Outcome.MODIFIED}
EXPIRED = COPY | {"kind": Kind.EXPIRED}
RECOVERED = COPY | {"kind": Kind.RECOVERED, "flags": Flag.DURABLE, "incarnation": 2}
BROWSED = SENT | {"flags": Flag.COPY}
UPSTREAM = SENT | {"flags": Flag.UNQUEUED, "position": 0}


def breaks(frames, *lines: dict) -> list[str]:
    steps = copies.copy_steps(frames.records(*lines))
    return [name for name, *_rest in found(copies.step_breaks(copies.with_previous(steps)))]


def test_in_out_back_out_exit_is_fine(frames):
    assert breaks(frames, ENTERED, SENT, RELEASED, SENT, REQUEUED, SENT, ACCEPTED) == []


def test_other_ways_to_leave_are_fine(frames):
    assert breaks(frames, ENTERED, EXPIRED) == []
    assert breaks(frames, ENTERED, SENT | {"flags": Flag.SETTLED}) == []
    assert breaks(frames, ENTERED, BROWSED, BROWSED, SENT, ACCEPTED) == []


def test_a_copy_that_went_back_is_gone(frames):
    late = ACCEPTED | {"outcome": Outcome.SETTLED_TOO_LATE}
    returned = COPY | {"kind": Kind.RETURNED}
    assert breaks(frames, ENTERED, SENT, late) == []
    assert breaks(frames, ENTERED, SENT, RELEASED, returned) == []
    assert breaks(frames, ENTERED, returned, returned) == ["DUPLICATE"]


def test_a_copy_that_is_sent_while_it_is_out_is_a_duplicate_with_its_id(frames):
    steps = copies.copy_steps(frames.records(ENTERED, SENT, SENT))
    assert found(copies.step_breaks(copies.with_previous(steps))) == [("DUPLICATE", 5, "q", 1)]


def test_a_copy_that_leaves_twice_is_a_duplicate(frames):
    assert breaks(frames, ENTERED, SENT, ACCEPTED, ACCEPTED) == ["DUPLICATE"]
    assert breaks(frames, ENTERED, SENT, ACCEPTED, SENT) == ["DUPLICATE"]
    assert breaks(frames, ENTERED, EXPIRED, EXPIRED) == ["DUPLICATE"]


def test_a_copy_that_enters_twice_is_a_duplicate_unless_it_was_rerouted(frames):
    back = ENTERED | {"flags": Flag.REROUTED}
    assert breaks(frames, ENTERED, ENTERED) == ["DUPLICATE"]
    assert breaks(frames, ENTERED, COPY | {"kind": Kind.MOVED}, back) == []


def test_a_settlement_of_what_was_not_out_is_an_orphan(frames):
    assert breaks(frames, ENTERED, ACCEPTED) == ["ORPHAN_SETTLEMENT"]
    assert breaks(frames, ENTERED, RELEASED) == ["ORPHAN_SETTLEMENT"]
    assert breaks(frames, ACCEPTED) == ["ORPHAN_SETTLEMENT"]


def test_a_settlement_by_an_outlet_that_it_was_not_sent_to_is_an_orphan(frames):
    to_7, by_9 = SENT | {"link": 7}, {"link": 9}
    assert breaks(frames, ENTERED, to_7, ACCEPTED | {"link": 7}) == []
    for end in (ACCEPTED, RELEASED, REQUEUED):
        steps = copies.copy_steps(frames.records(ENTERED, to_7, end | by_9))
        broken = copies.step_breaks(copies.with_previous(steps))
        (row,) = broken.collect()
        assert (row["class"], row["message"], row["node"]) == ("ORPHAN_SETTLEMENT", 5, "q")
        how = "requeued" if end is REQUEUED else "settled"
        assert row["detail"] == f"{how} by outlet 9, sent to outlet 7"


def test_who_browses_a_copy_settles_it_beside_whoever_has_it(frames):
    browsed, seen = BROWSED | {"link": 9}, ACCEPTED | {"link": 9, "flags": Flag.COPY}
    steps = (ENTERED, SENT | {"link": 7}, browsed, seen, ACCEPTED | {"link": 7})
    assert breaks(frames, *steps) == []


def test_a_restart_brings_back_what_was_there_whatever_it_was_doing(frames):
    again = {"incarnation": 2}
    assert breaks(frames, ENTERED, RECOVERED, SENT | again, ACCEPTED | again) == []
    assert breaks(frames, ENTERED, SENT, RECOVERED, SENT | again) == []


def test_what_had_left_must_not_come_back_with_a_restart(frames):
    assert breaks(frames, ENTERED, SENT, ACCEPTED, RECOVERED) == ["DUPLICATE"]


def test_what_was_not_recovered_cannot_be_sent(frames):
    assert breaks(frames, ENTERED, SENT | {"incarnation": 2}) == ["ORPHAN_SETTLEMENT"]


def test_what_is_recovered_must_have_entered(frames):
    assert breaks(frames, RECOVERED) == ["ORPHAN_SETTLEMENT"]


def test_a_remote_copy_is_sent_without_entering_and_again_after_it_came_back(frames):
    accepted = ACCEPTED | {"flags": Flag.UNQUEUED, "position": 0}
    released = RELEASED | {"flags": Flag.UNQUEUED, "position": 0}
    assert breaks(frames, UPSTREAM, released, UPSTREAM, accepted) == []
    assert breaks(frames, UPSTREAM, accepted, UPSTREAM) == ["DUPLICATE"]


@pytest.mark.parametrize(
    "lines",
    [
        (SENT, ENTERED, ACCEPTED),
        (SENT | {"flags": Flag.SETTLED}, ENTERED),
        (ENTERED, ACCEPTED, SENT),
        (ENTERED, REQUEUED, SENT, SENT, ACCEPTED),
        (ENTERED, SENT | {"incarnation": 2}, RECOVERED, ACCEPTED | {"incarnation": 2}),
    ],
    ids=["sent", "sent settled", "settled", "requeued", "sent in front of recovered"],
)
def test_a_step_in_front_of_the_one_that_it_follows_is_one_orphan(frames, lines):
    assert breaks(frames, *lines) == ["ORPHAN_SETTLEMENT"]
    if "incarnation" not in lines[1]:
        assert open_copies(frames, *lines).count() == 0


def test_what_is_there_although_it_says_that_it_was_removed_is_told_of_by_that_alone(frames):
    removed = RELEASED | {"flags": Flag.REMOVED}
    assert breaks(frames, ENTERED, SENT, removed, SENT, ACCEPTED) == ["LOST"]
    assert breaks(frames, ENTERED, SENT, removed, RECOVERED) == ["LOST"]


def test_an_outcome_that_there_is_not_is_an_orphan(frames):
    assert breaks(frames, ENTERED, SENT, ACCEPTED | {"outcome": 77}) == ["ORPHAN_SETTLEMENT"]
    stays = ACCEPTED | {"flags": 0}
    for more in ((), (SENT, ACCEPTED)):
        assert breaks(frames, ENTERED, SENT, stays, *more) == ["ORPHAN_SETTLEMENT"]


def open_copies(frames, *lines: dict):
    return copies.still_there(copies.copy_states(copies.copy_steps(frames.records(*lines))))


def runs(frames, *numbers: int, stopped: bool = False):
    schema = "incarnation bigint, opened_sequence bigint, stopped boolean"
    return frames.table(schema, *((number, 9 * number, stopped) for number in numbers))


def at_restart(frames, *lines: dict, later: tuple[int, ...] = (1, 2), failed: tuple = ()):
    """What a restart misses; `failed`: checkpoints that miss something, too."""
    still = copies.with_fate(open_copies(frames, *lines), runs(frames, *later))
    named = copies.candidates(frames.table(FAILED, *failed), still).where("certain")
    paired = copies.with_previous(copies.copy_steps(frames.records(*lines)))
    away = copies.away(paired, runs(frames, *later))
    return copies.lost_at_restart(copies.not_back(still, away), named)


def at_checkpoints(frames, failed: tuple, *lines: dict, later: tuple[int, ...] = (1,)):
    """What checkpoints miss; `later`: which runs there are."""
    still = copies.with_fate(open_copies(frames, *lines), runs(frames, *later))
    failures = frames.table(FAILED, *failed)
    return copies.queue_breaks(failures, copies.candidates(failures, still))


def test_a_durable_copy_that_is_not_recovered_is_lost_with_its_id(frames):
    lost = at_restart(frames, ENTERED, SENT)
    assert found(lost) == [("LOST", 5, "q", 1)]
    assert spans(lost) == [(2, 18)]


def test_a_durable_copy_that_one_restart_does_not_recover_and_the_next_one_does_is_lost(frames):
    lines = (ENTERED, RECOVERED | {"incarnation": 3})
    lost = at_restart(frames, *lines, later=(1, 2, 3))
    assert found(lost) == [("LOST", 5, "q", 1)]
    assert spans(lost) == [(1, 18)]
    assert found(at_restart(frames, *lines, later=(1, 3))) == []


def test_a_step_is_judged_by_the_one_before_it_or_by_all_the_log(frames):
    steps = copies.copy_steps(frames.records(ACCEPTED, {"kind": Kind.CLOCK}, ACCEPTED))
    assert spans(copies.step_breaks(copies.with_previous(steps))) == [(0, 1), (1, 3)]


def test_a_transient_copy_goes_with_its_process(frames):
    assert found(at_restart(frames, ENTERED | {"flags": 0})) == []


def test_what_has_left_is_not_there_whatever_was_recorded_of_it_later(frames):
    assert open_copies(frames, ENTERED, SENT, SENT, ACCEPTED, RELEASED).count() == 0


def test_what_is_open_in_the_last_incarnation_is_not_gone(frames):
    assert found(at_restart(frames, ENTERED, later=(1,))) == []


FAILED = (
    "incarnation bigint, node string, sequence bigint, computed bigint, stated bigint, "
    "excess bigint, computed_checksum bigint, checksum bigint, since bigint"
)
OTHER = ENTERED | {"message": 6, "position": 2, "mix": 1024}


def test_a_copy_that_the_depth_lacks_is_lost_by_name_if_it_is_the_only_one(frames):
    lost = at_checkpoints(frames, ((1, "q", 10, 1, 0, 1, 77, 0, 4),), ENTERED)
    assert found(lost) == [("LOST", 5, "q", 1)]
    assert spans(lost) == [(4, 10)]


def test_the_checksum_tells_which_of_several_is_lost(frames):
    failed = (1, "q", 10, 2, 1, 1, 77 ^ 1024, 77, 4)
    assert found(at_checkpoints(frames, (failed,), ENTERED, OTHER)) == [("LOST", 6, "q", 1)]


def test_only_a_copy_with_the_right_checksum_is_named(frames):
    (row,) = at_checkpoints(frames, ((1, "q", 10, 1, 0, 1, 1024, 0, 4),), ENTERED).collect()
    assert (row["class"], row["message"], row["certain"]) == ("LOST", None, False)


def test_of_two_checkpoints_of_a_queue_each_names_what_it_lacks(frames):
    failed = ((1, "q", 10, 1, 0, 1, 77, 0, 4), (1, "q", 20, 1, 0, 1, 1024, 0, 10))
    lost = at_checkpoints(frames, failed, ENTERED, OTHER)
    assert found(lost) == [("LOST", 5, "q", 1), ("LOST", 6, "q", 1)]
    assert sorted(spans(lost)) == [(4, 10), (10, 20)]


def test_where_it_cannot_be_told_the_candidates_are_listed(frames):
    others = [ENTERED | {"message": n, "position": n, "mix": n} for n in (6, 7)]
    lost = at_checkpoints(frames, ((1, "q", 10, 3, 1, 2, 0, 0, 4),), ENTERED, *others)
    (row,) = lost.collect()
    assert (row["class"], row["message"], row["count"], row["certain"]) == ("LOST", None, 2, False)
    assert row["detail"].endswith("among messages 5, 6, 7")


def test_what_a_checkpoint_and_the_restart_lack_is_lost_once_and_the_restart_names_it(frames):
    failed = ((1, "q", 10, 3, 1, 2, 0, 0, 4),)
    others = [ENTERED | {"message": n, "position": n, "mix": n} for n in (6, 7)]
    lines = (ENTERED, *others, RECOVERED)
    assert found(at_restart(frames, *lines, failed=failed)) == []
    named = at_checkpoints(frames, failed, *lines, later=(1, 2))
    assert found(named) == [("LOST", 6, "q", 1), ("LOST", 7, "q", 1)]


def test_more_in_the_queue_than_the_log_says_is_a_duplicate(frames):
    failed = (1, "q", 10, 0, 1, -1, 0, 77, 4)
    more = at_checkpoints(frames, (failed,), ENTERED, SENT, ACCEPTED)
    assert found(more) == [("DUPLICATE", None, "q", 1)]


def test_what_is_given_back_stays_but_on_its_way_from_or_to_an_upstream(frames):
    gone = RELEASED | {"flags": Flag.REMOVED}
    assert breaks(frames, ENTERED, SENT, gone) == ["LOST"]
    assert breaks(frames, ENTERED, SENT, gone | {"outcome": Outcome.MODIFIED}) == ["LOST"]
    assert breaks(frames, ENTERED, SENT, gone | {"outcome": Outcome.REJECTED}) == []
    assert breaks(frames, ENTERED | {"flags": Flag.TRANSIT}, SENT, gone) == []
    upstream = {"flags": Flag.REMOVED | Flag.UNQUEUED, "position": 0}
    assert breaks(frames, UPSTREAM, gone | upstream) == []

"""Single copies, on three-line frames: which sequences of steps are breaks, and of what class."""

from support.audit_frames import found

from gateway.accounting import copies
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


def open_copies(frames, *lines: dict):
    return copies.still_there(copies.copy_states(copies.copy_steps(frames.records(*lines))))


def runs(frames, *numbers: int):
    return frames.table(
        "incarnation bigint, opened_sequence bigint", *((n, 9 * n) for n in numbers)
    )


def test_a_durable_copy_that_is_not_recovered_is_lost_with_its_id(frames):
    still = open_copies(frames, ENTERED, SENT)
    gone = copies.ended_with_process(still, runs(frames, 1, 2))
    assert found(copies.lost_at_restart(gone)) == [("LOST", 5, "q", 1)]
    assert spans(copies.lost_at_restart(gone)) == [(2, 18)]


def spans(breaks) -> list[tuple]:
    """Between which records something shows that a missing one may explain."""
    return [(row["since"], row["sequence"]) for row in breaks.collect()]


def test_a_step_is_judged_by_the_one_before_it_or_by_all_the_log(frames):
    steps = copies.copy_steps(frames.records(ACCEPTED, {"kind": Kind.CLOCK}, ACCEPTED))
    assert spans(copies.step_breaks(copies.with_previous(steps))) == [(0, 1), (1, 3)]


def test_a_transient_copy_goes_with_its_process(frames):
    still = open_copies(frames, ENTERED | {"flags": 0})
    gone = copies.ended_with_process(still, runs(frames, 1, 2))
    assert found(copies.lost_at_restart(gone)) == []
    assert gone.count() == 1


def test_what_has_left_is_not_there_whatever_was_recorded_of_it_later(frames):
    assert open_copies(frames, ENTERED, SENT, SENT, ACCEPTED, RELEASED).count() == 0


def test_what_is_open_in_the_last_incarnation_is_not_gone(frames):
    still = open_copies(frames, ENTERED)
    assert copies.ended_with_process(still, runs(frames, 1)).count() == 0


FAILED = (
    "incarnation bigint, node string, sequence bigint, computed bigint, stated bigint, "
    "excess bigint, computed_checksum bigint, checksum bigint, since bigint"
)


def test_a_copy_that_the_depth_lacks_is_lost_by_name_if_it_is_the_only_one(frames):
    still = open_copies(frames, ENTERED)
    failed = frames.table(FAILED, (1, "q", 10, 1, 0, 1, 77, 0, 4))
    assert found(copies.queue_breaks(failed, still)) == [("LOST", 5, "q", 1)]
    assert spans(copies.queue_breaks(failed, still)) == [(4, 10)]


def test_the_checksum_tells_which_of_several_is_lost(frames):
    other = ENTERED | {"message": 6, "position": 2, "mix": 1024}
    still = open_copies(frames, ENTERED, other)
    failed = frames.table(FAILED, (1, "q", 10, 2, 1, 1, 77 ^ 1024, 77, 4))
    assert found(copies.queue_breaks(failed, still)) == [("LOST", 6, "q", 1)]


def test_only_a_copy_with_the_right_checksum_is_named(frames):
    failed = frames.table(FAILED, (1, "q", 10, 1, 0, 1, 1024, 0, 4))
    (row,) = copies.queue_breaks(failed, open_copies(frames, ENTERED)).collect()
    assert (row["class"], row["message"], row["certain"]) == ("LOST", None, False)


def test_of_two_checkpoints_of_a_queue_each_names_what_it_lacks(frames):
    other = ENTERED | {"message": 6, "position": 2, "mix": 1024}
    rows = ((1, "q", 10, 1, 0, 1, 77, 0, 4), (1, "q", 20, 1, 0, 1, 1024, 0, 10))
    breaks = copies.queue_breaks(frames.table(FAILED, *rows), open_copies(frames, ENTERED, other))
    assert found(breaks) == [("LOST", 5, "q", 1), ("LOST", 6, "q", 1)]
    assert sorted(spans(breaks)) == [(4, 10), (10, 20)]


def test_where_it_cannot_be_told_the_candidates_are_listed(frames):
    others = [ENTERED | {"message": n, "position": n, "mix": n} for n in (6, 7)]
    still = open_copies(frames, ENTERED, *others)
    failed = frames.table(FAILED, (1, "q", 10, 3, 1, 2, 0, 0, 4))
    (row,) = copies.queue_breaks(failed, still).collect()
    assert (row["class"], row["message"], row["count"], row["certain"]) == ("LOST", None, 2, False)
    assert row["detail"].endswith("among messages 5, 6, 7")


def test_more_in_the_queue_than_the_log_says_is_a_duplicate(frames):
    failed = frames.table(FAILED, (1, "q", 10, 0, 1, -1, 0, 77, 4))
    still = open_copies(frames, ENTERED, SENT, ACCEPTED)
    assert found(copies.queue_breaks(failed, still)) == [("DUPLICATE", None, "q", 1)]


RECEIVED = {"kind": Kind.RECEIVED, "message": 5, "exchange": "x", "copies": 2, "body_digest": 9}


def test_a_body_that_changes_on_its_way_is_mutated(frames):
    sent = SENT | {"body_digest": 8}
    messages = copies.message_states(frames.records(RECEIVED, sent))
    assert found(copies.mutated(messages)) == [("MUTATED", 5, None, 1)]
    assert spans(copies.mutated(messages)) == [(None, 2)]  # whatever may be missing


def test_a_translated_body_may_differ_and_one_that_was_not_hashed_is_not_compared(frames):
    translated = SENT | {"body_digest": 8, "flags": Flag.TRANSLATED}
    messages = copies.message_states(frames.records(RECEIVED, translated, SENT))
    assert found(copies.mutated(messages)) == []


ROUTE_FAILED = (
    "incarnation bigint, route string, sequence bigint, computed bigint, stated bigint, "
    "excess bigint, since bigint"
)


def test_a_copy_that_never_arrives_is_lost_with_its_message(frames):
    messages = copies.message_states(frames.records(RECEIVED, ENTERED | {"exchange": "x"}))
    failed = frames.table(ROUTE_FAILED, (1, "x", 10, 1, 0, 1, 4))
    assert found(copies.route_breaks(failed, messages)) == [("LOST", 5, "x", 1)]
    assert spans(copies.route_breaks(failed, messages)) == [(4, 10)]


def test_more_arrivals_than_copies_are_duplicates(frames):
    one = RECEIVED | {"copies": 1}
    messages = copies.message_states(frames.records(one, ENTERED, ENTERED | {"node": "r"}))
    assert found(copies.routed_twice(messages)) == [("DUPLICATE", 5, "x", 1)]
    assert spans(copies.routed_twice(messages)) == [(1, 3)]

"""Copies that came back, ended or entered otherwise than their records say, on frames."""

from support.audit_frames import doubtful_of

from gateway.accounting.steps import copies, messages, mistaken, otherwise
from gateway.audit.schema import Flag, Kind

ENTERED = {"kind": Kind.ENTERED, "node": "q", "flags": Flag.DURABLE}
RECOVERED = {"kind": Kind.RECOVERED, "node": "q", "flags": Flag.DURABLE, "incarnation": 2}
RECEIVED = {"kind": Kind.RECEIVED, "exchange": "x", "copies": 1}
FAILED = (
    "incarnation bigint, node string, sequence bigint, since bigint, computed_checksum bigint,"
    " checksum bigint"
)


def copy(message: int, position: int = 1) -> dict:
    return {"message": message, "position": position, "mix": 100 * message + position}


def steps(frames, *lines: dict):
    return copies.with_previous(copies.copy_steps(frames.records(*lines)))


def displaced(frames, *lines: dict, failed: tuple = ()) -> list[tuple]:
    rows = otherwise.displaced(steps(frames, *lines), frames.table(FAILED, *failed)).collect()
    return [(row["message"], row["position"], row["said_position"], row["at"]) for row in rows]


def test_what_is_recovered_where_it_never_was_is_the_copy_that_was_not(frames):
    lines = (ENTERED | copy(5), ENTERED | copy(6))
    assert displaced(frames, *lines, RECOVERED | copy(5, 9), RECOVERED | copy(6)) == [(5, 1, 9, 3)]


def test_what_had_left_or_is_recovered_too_or_was_not_stored_is_no_such_copy(frames):
    expired = copy(5) | {"kind": Kind.EXPIRED, "node": "q"}
    for lines in (
        (ENTERED | copy(5), expired),
        (ENTERED | copy(5), RECOVERED | copy(5)),
        (ENTERED | copy(5) | {"flags": 0},),
        (ENTERED | copy(5, 8) | {"node": "r"},),
    ):
        assert displaced(frames, *lines, RECOVERED | copy(5, 9)) == []


def test_what_came_back_as_another_message_is_the_copy_of_its_place_with_that_body(frames):
    """Of both that were there; the record of message 6 names message 5."""
    bodies = [ENTERED | copy(5, 1) | {"body_digest": 7}, ENTERED | copy(6, 2) | {"body_digest": 8}]
    back = RECOVERED | copy(5, 2) | {"body_digest": 8}
    assert displaced(frames, *bodies, back) == [(6, 2, 2, 3)]
    exchanged = (back, RECOVERED | copy(6, 1) | {"body_digest": 7})
    assert sorted(displaced(frames, *bodies, *exchanged)) == [(5, 1, 1, 4), (6, 2, 2, 3)]
    unknown = RECOVERED | copy(9, 2)
    assert displaced(frames, ENTERED | copy(6, 2), unknown) == [(6, 2, 2, 2)]


def test_what_is_recovered_in_another_queue_is_the_copy_that_was_not(frames):
    lines = (ENTERED | copy(5), RECOVERED | copy(5) | {"node": "r"})
    (row,) = otherwise.displaced(steps(frames, *lines), frames.table(FAILED)).collect()
    assert (row["message"], row["node"], row["said_node"], row["at"]) == (5, "q", "r", 2)


def test_what_a_checkpoint_had_as_it_came_back_entered_otherwise(frames):
    lines = (ENTERED | copy(5), RECOVERED | copy(5, 9))
    missing = copy(5)["mix"] ^ copy(5, 9)["mix"]
    failed = (1, "q", 20, 0, missing, 0)
    assert displaced(frames, *lines, failed=(failed,)) == [(5, 9, 1, 1)]
    for other in ((1, "q", 20, 0, missing + 1, 0), (1, "q", 20, 1, missing, 0)):
        assert displaced(frames, *lines, failed=(other,)) == [(5, 1, 9, 2)]


def test_what_came_back_twice_in_one_queue_is_the_copy_of_another_that_was_not(frames):
    lines = (ENTERED | copy(5), ENTERED | copy(5) | {"node": "r"}, RECOVERED | copy(5))
    again = otherwise.displaced(steps(frames, *lines, RECOVERED | copy(5)), frames.table(FAILED))
    assert [(row["node"], row["said_node"], row["at"]) for row in again.collect()] == [
        ("r", "q", 4)
    ]


def left(frames, *lines: dict) -> list[tuple]:
    moved = steps(frames, *lines)
    states = doubtful_of(frames.records(*lines), moved)
    rows = otherwise.left_otherwise(mistaken.taken(moved, states)).collect()
    return [(row["message"], row["position"], row["at"]) for row in rows]


def test_what_leaves_as_no_copy_of_its_queue_is_the_one_in_that_place_or_of_that_message(frames):
    evicted = {"kind": Kind.EVICTED, "node": "q"}
    there = (ENTERED | copy(5, 1), ENTERED | copy(6, 2))
    assert left(frames, *there, evicted | copy(6, 1)) == [(5, 1, 3)]
    assert left(frames, *there, evicted | copy(6, 9)) == [(6, 2, 3)]
    exchanged = (evicted | copy(6, 1), evicted | copy(5, 2))
    assert sorted(left(frames, *there, *exchanged)) == [(5, 1, 3), (6, 2, 4)]


def test_what_leaves_is_no_other_copy_if_its_own_has_come_without_a_record(frames):
    evicted = {"kind": Kind.EVICTED, "node": "q"}
    came = [RECEIVED | {"message": number} for number in (5, 6)]
    lines = (*came, ENTERED | copy(5, 1), evicted | copy(6, 1))
    assert left(frames, *lines) == []
    taken = {"kind": Kind.SENT, "node": "q", "flags": Flag.SETTLED}
    assert left(frames, ENTERED | copy(5), taken | copy(5), evicted | copy(6)) == []
    assert left(frames, ENTERED | copy(5), evicted | copy(6) | {"node": "r"}) == []


def test_what_came_by_no_record_did_by_that_of_another_message_that_came_twice(frames):
    lines = (
        *(RECEIVED | {"message": 6}, ENTERED | copy(5) | {"exchange": "x"}),
        *(RECEIVED | {"message": 6}, ENTERED | copy(6) | {"exchange": "x"}),
    )
    states = doubtful(frames, *lines)
    unsaid = states.where(messages.UNSAID)
    rows = otherwise.received_otherwise(states, unsaid, frames.records(*lines)).collect()
    assert [(row["message"], row["said_message"], row["at"]) for row in rows] == [(5, 6, 1)]


def doubtful(frames, *lines: dict):
    return doubtful_of(frames.records(*lines), steps(frames, *lines))


def test_of_what_a_transaction_held_the_end_of_another_message_is_that_of_the_one_without(frames):
    came = [RECEIVED | {"message": number, "transaction": number} for number in (5, 6, 7)]
    ends = [{"kind": Kind.ROLLED_BACK, "exchange": "x", "message": 6, "transaction": 6}] * 2
    ends[0] = ends[0] | {"transaction": 5}
    records = frames.records(*came, *ends)
    states = doubtful(frames, *came, *ends)
    short = messages.on_their_routes(states.where("ended < routed"), records)
    found = otherwise.ended_otherwise(short, states.where("beyond > 0"), records).collect()
    assert [(row["message"], row["said_message"], row["at"]) for row in found] == [(5, 6, 4)]


def test_what_entered_by_another_transaction_than_it_came_is_of_the_one_by_which_it_came(frames):
    came = RECEIVED | {"message": 5, "transaction": 3}
    entered = ENTERED | copy(5) | {"exchange": "x"}
    for transaction, right in ((3, []), (4, [(5, 2, 3)]), (0, [(5, 2, 3)])):
        states = doubtful(frames, came, entered | {"transaction": transaction})
        rows = otherwise.held_otherwise(states).collect()
        assert [(row["message"], row["at"], row["transaction"]) for row in rows] == right
    for flags in (Flag.TRANSIT, Flag.REROUTED):
        states = doubtful(frames, came, entered | {"flags": flags})
        assert otherwise.held_otherwise(states).collect() == []

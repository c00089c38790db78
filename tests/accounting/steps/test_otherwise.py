"""Copies that came back, ended or entered otherwise than their records say, on frames."""

from support.audit_frames import doubtful_of

from gateway.accounting.steps import copies, messages, otherwise
from gateway.audit.schema import Flag, Kind

ENTERED = {"kind": Kind.ENTERED, "node": "q", "flags": Flag.DURABLE}
RECOVERED = {"kind": Kind.RECOVERED, "node": "q", "flags": Flag.DURABLE, "incarnation": 2}
RECEIVED = {"kind": Kind.RECEIVED, "exchange": "x", "copies": 1}


def copy(message: int, position: int = 1) -> dict:
    return {"message": message, "position": position, "mix": 100 * message + position}


def steps(frames, *lines: dict):
    return copies.with_previous(copies.copy_steps(frames.records(*lines)))


def displaced(frames, *lines: dict) -> list[tuple]:
    rows = otherwise.displaced(steps(frames, *lines)).collect()
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
    (row,) = otherwise.displaced(steps(frames, *lines)).collect()
    assert (row["message"], row["node"], row["said_node"], row["at"]) == (5, "q", "r", 2)


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

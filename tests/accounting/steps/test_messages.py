"""Messages on their routes, on three-line frames: what became of their copies and their bodies."""

from support.audit_frames import found, spans

from gateway.accounting.steps import confirmed, messages
from gateway.audit.schema import Flag, Kind, Reason

COPY = {"message": 5, "node": "q", "position": 1, "mix": 77}
ENTERED = COPY | {"kind": Kind.ENTERED, "flags": Flag.DURABLE}
SENT = COPY | {"kind": Kind.SENT}
RECEIVED = {"kind": Kind.RECEIVED, "message": 5, "exchange": "x", "copies": 2, "body_digest": 9}


def test_a_body_that_changes_on_its_way_is_mutated(frames):
    sent = SENT | {"body_digest": 8}
    states = messages.message_states(frames.records(RECEIVED, sent))
    assert found(messages.mutated(states)) == [("MUTATED", 5, "q", 1)]
    assert spans(messages.mutated(states)) == [(None, 2)]  # whatever may be missing


def test_a_translated_body_may_differ_and_one_that_was_not_hashed_is_not_compared(frames):
    translated = SENT | {"body_digest": 8, "flags": Flag.TRANSLATED}
    states = messages.message_states(frames.records(RECEIVED, translated, SENT))
    assert found(messages.mutated(states)) == []


ROUTE_FAILED = (
    "incarnation bigint, route string, sequence bigint, computed bigint, stated bigint, "
    "excess bigint, since bigint"
)


def test_a_copy_that_never_arrives_is_lost_with_its_message(frames):
    records = frames.records(RECEIVED, ENTERED | {"exchange": "x"})
    states = confirmed.with_told(messages.message_states(records), records)
    failed = frames.table(ROUTE_FAILED, (1, "x", 10, 1, 0, 1, 4))
    assert found(messages.route_breaks(failed, states)) == [("LOST", 5, "x", 1)]
    assert spans(messages.route_breaks(failed, states)) == [(4, 10)]


def test_more_arrivals_than_copies_are_duplicates(frames):
    one = RECEIVED | {"copies": 1}
    states = messages.message_states(frames.records(one, ENTERED, ENTERED | {"node": "r"}))
    assert found(messages.routed_twice(states)) == [("DUPLICATE", 5, "x", 1)]
    assert spans(messages.routed_twice(states)) == [(1, 3)]


DEAD = COPY | {"kind": Kind.DEAD_LETTERED}
MOVED = COPY | {"kind": Kind.MOVED}
ROUTED = {"kind": Kind.ROUTED, "message": 5, "exchange": "dead", "copies": 1}
UNROUTABLE = {"kind": Kind.UNROUTABLE, "message": 5, "exchange": "x"}
ELSEWHERE = UNROUTABLE | {"reason": Reason.ALTERNATE_EXCHANGE}
REST = ({"kind": Kind.CLOCK}, {"kind": Kind.CLOCK})


def nowhere(frames, *lines: dict):
    ends = frames.table("incarnation bigint, last_sequence bigint", (1, len(lines)))
    return messages.led_nowhere(messages.message_states(frames.records(*lines)), ends)


def test_what_goes_on_elsewhere_says_where(frames):
    for left in (DEAD, MOVED, ELSEWHERE):
        assert found(nowhere(frames, RECEIVED, left, ROUTED, *REST)) == []
        lost = nowhere(frames, RECEIVED, left, *REST)
        assert found(lost) == [("LOST", 5, left.get("node"), 1)]
        assert spans(lost) == [(2, 4)]


def test_what_goes_on_twice_says_so_twice(frames):
    lines = (RECEIVED, ELSEWHERE, ROUTED, DEAD, *REST)
    assert [row["count"] for row in nowhere(frames, *lines).collect()] == [1]


def test_what_has_no_alternate_goes_nowhere_by_right(frames):
    assert found(nowhere(frames, RECEIVED, UNROUTABLE, *REST)) == []


def test_what_the_log_ends_with_is_not_judged(frames):
    assert found(nowhere(frames, RECEIVED, DEAD, *REST[1:])) == []

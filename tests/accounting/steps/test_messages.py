"""Messages on their routes, on three-line frames: what became of their copies and their bodies."""

from support.audit_frames import doubtful_of, found, ledger_of, spans

from gateway.accounting.steps import confirmed, copies, messages
from gateway.accounting.steps.ledger import incarnations
from gateway.audit.schema import Flag, Kind, Reason

COPY = {"message": 5, "node": "q", "position": 1, "mix": 77}
ENTERED = COPY | {"kind": Kind.ENTERED, "flags": Flag.DURABLE}
SENT = COPY | {"kind": Kind.SENT}
RECEIVED = {"kind": Kind.RECEIVED, "message": 5, "exchange": "x", "copies": 2, "body_digest": 9}


def states_of(frames, *lines: dict):
    records = frames.records(*lines)
    return messages.message_states(records, incarnations(ledger_of(records)))


def test_a_body_that_changes_on_its_way_is_mutated(frames):
    states = states_of(frames, RECEIVED, SENT | {"body_digest": 8})
    assert found(messages.mutated(states)) == [("MUTATED", 5, "q", 1)]
    assert spans(messages.mutated(states)) == [(None, 2)]  # whatever may be missing


def test_a_translated_body_may_differ(frames):
    states = states_of(frames, RECEIVED, SENT | {"body_digest": 8, "flags": Flag.TRANSLATED})
    assert found(messages.mutated(states)) == []


def test_a_digest_of_0_is_another_one_but_of_what_a_branch_has_again_after_a_restart(frames):
    other = {kind: COPY | {"kind": kind} for kind in (Kind.ENTERED, Kind.RECOVERED, Kind.SENT)}
    checked = {"kind": Kind.QUEUE_CHECKPOINT, "node": "q"}
    for kind, step in other.items():
        before = states_of(frames, RECEIVED, step, checked)
        behind = states_of(frames, RECEIVED, checked, step)
        told = [len(found(messages.mutated(each))) for each in (before, behind)]
        assert told == [kind != Kind.SENT, 1]


ROUTE_FAILED = (
    "incarnation bigint, route string, sequence bigint, computed bigint, stated bigint, "
    "excess bigint, since bigint"
)


def test_a_copy_that_never_arrives_is_lost_with_its_message(frames):
    records = frames.records(RECEIVED, ENTERED | {"exchange": "x"})
    states = states_of(frames, RECEIVED, ENTERED | {"exchange": "x"})
    states = confirmed.with_told(states, records)
    failed = frames.table(ROUTE_FAILED, (1, "x", 10, 1, 0, 1, 4))
    assert found(messages.route_breaks(failed, states)) == [("LOST", 5, "x", 1)]
    assert spans(messages.route_breaks(failed, states)) == [(4, 10)]


def doubtful(frames, *lines: dict):
    records = frames.records(*lines)
    return doubtful_of(records, copies.with_previous(copies.copy_steps(records)))


def test_more_arrivals_than_copies_are_duplicates(frames):
    one = RECEIVED | {"copies": 1}
    states = doubtful(frames, one, ENTERED, ENTERED | {"node": "r"})
    assert found(messages.routed_twice(states)) == [("DUPLICATE", 5, "x", 1)]
    assert spans(messages.routed_twice(states)) == [(1, 3)]


RUNS = "incarnation bigint, first_sequence bigint, last_sequence bigint"


def never_came(frames, *lines: dict):
    """What never came, where the run began with record 3 of the log."""
    unsaid = doubtful(frames, *lines).where(messages.UNSAID)
    return messages.never_came(unsaid, frames.table(RUNS, (1, 3, 9)))


def test_what_arrives_and_was_never_received_is_lost_with_its_message_since_its_run_began(frames):
    arrived = ENTERED | {"exchange": "x"}
    lost = never_came(frames, arrived, arrived | {"node": "r"}, SENT)
    assert found(lost) == [("LOST", 5, "x", 1)]
    assert spans(lost) == [(2, 1)]
    assert lost.first()["detail"].startswith("2 of its copies arrived, ")
    assert spans(never_came(frames, arrived | {"transaction": 3})) == [(0, 1)]


def test_what_was_received_or_goes_on_from_an_earlier_run_has_come(frames):
    onward = (COPY | {"kind": Kind.RECOVERED}, DEAD, ROUTED)
    arrived = ENTERED | {"node": "dead", "exchange": "dead", "flags": Flag.REROUTED}
    assert found(never_came(frames, RECEIVED, ENTERED, ENTERED | {"node": "r"})) == []
    assert found(never_came(frames, *onward, arrived)) == []
    assert found(never_came(frames, *onward[:2], arrived)) == []  # which is told as going nowhere


DEAD = COPY | {"kind": Kind.DEAD_LETTERED}
MOVED = COPY | {"kind": Kind.MOVED}
ROUTED = {"kind": Kind.ROUTED, "message": 5, "exchange": "dead", "copies": 1}
UNROUTABLE = {"kind": Kind.UNROUTABLE, "message": 5, "exchange": "x"}
ELSEWHERE = UNROUTABLE | {"reason": Reason.ALTERNATE_EXCHANGE}
REST = ({"kind": Kind.CLOCK}, {"kind": Kind.CLOCK})


def nowhere(frames, *lines: dict):
    return messages.led_nowhere(doubtful(frames, *lines), frames.table(RUNS, (1, 1, len(lines))))


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


def test_what_the_log_ends_with_is_not_judged_unless_it_has_arrived(frames):
    assert found(nowhere(frames, RECEIVED | {"copies": 1}, ENTERED, DEAD, *REST[1:])) == []
    arrived = ENTERED | {"node": "dead", "flags": Flag.REROUTED}
    one = RECEIVED | {"copies": 1}
    lines = (one, ENTERED, DEAD, arrived)
    assert found(nowhere(frames, *lines)) == [("LOST", 5, "q", 1)]
    assert found(messages.routed_twice(doubtful(frames, *lines))) == []

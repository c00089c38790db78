"""The counters of checkpoints, on frames: what they tell that no record tells."""

import pytest
from support.audit_frames import Cases, ledger_of

from gateway.accounting.steps.balance import balances
from gateway.accounting.steps.counters import counter_breaks
from gateway.accounting.steps.identities import IDENTITIES
from gateway.accounting.steps.ledger import incarnations
from gateway.audit.schema import Flag, Kind, Outcome, Reason

DECLARED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DECLARED}
DELETED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DELETED}
COPY = {"node": "q", "message": 5, "position": 1, "mix": 77}
RECEIVED = {"kind": Kind.RECEIVED, "exchange": "x", "copies": 1, "message": 5}
ENTERED = COPY | {"kind": Kind.ENTERED, "exchange": "x"}
SENT = COPY | {"kind": Kind.SENT, "link": 3}
ENDED = COPY | {"kind": Kind.SETTLED, "link": 3}
ACCEPTED = ENDED | {"outcome": Outcome.ACCEPTED, "flags": Flag.REMOVED}
RELEASED = ENDED | {"outcome": Outcome.RELEASED}
REJECTED = ENDED | {"outcome": Outcome.REJECTED}
DEAD = COPY | {"kind": Kind.DEAD_LETTERED, "reason": Reason.REJECTED}
CLOCK = {"kind": Kind.CLOCK, "window": 2}
HELD = (DECLARED, RECEIVED, ENTERED)
WHOLE = (*HELD, SENT, ACCEPTED)


def queue(entered: int = 1, depth: int = 0, **said: int) -> dict:
    said = {"message": entered, "position": depth, "id_digest": 77 * depth} | said
    return {"kind": Kind.QUEUE_CHECKPOINT, "node": "q", "window": 1} | said


def outlet(sent: int = 1, unsettled: int = 0) -> dict:
    said = {"message": sent, "copies": unsettled, "link": 3, "node": "q"}
    return {"kind": Kind.OUTLET_CHECKPOINT, "window": 1} | said


def route(routed: int = 1, exchange: str = "x") -> dict:
    said = {"message": routed, "exchange": exchange}
    return {"kind": Kind.ROUTE_CHECKPOINT, "window": 1} | said


CASES = {
    "agree": (*WHOLE, queue(), outlet(), route()),
    "below": (*WHOLE, queue(0), outlet(0), route(0)),
    "above": (*WHOLE, queue(2), outlet(2), route(2)),
    "sent": (*WHOLE, queue(), outlet(3), route()),
    "routed": (*WHOLE, queue(), outlet(), route(2)),
    "routed and not all entered": (*WHOLE, queue(2), outlet(), route(3), route(1, "y")),
    "depth": (*WHOLE, queue(2, depth=1), outlet(), route(2)),
    "twice": (
        *(*WHOLE, queue(2), CLOCK, queue(2) | {"window": 2}, CLOCK),
        queue(3) | {"window": 2},
    ),
    "not declared": (RECEIVED, ENTERED, SENT, ACCEPTED, queue(2)),
    "released": (*HELD, SENT, RELEASED, queue(depth=1, copies=1)),
    "requeued": (*HELD, SENT, ENDED | {"kind": Kind.REQUEUED}, queue(depth=1, copies=1)),
    "dead letter": (*HELD, SENT, REJECTED, DEAD, ENTERED, queue(2, depth=1, copies=1)),
    "sent still": (*HELD, SENT, queue(depth=1, copies=1)),
    "waits for its turn": (*HELD, SENT, REJECTED, queue(depth=1, copies=1)),
    "deleted": (*HELD, SENT, DELETED, RELEASED, queue(depth=1, copies=1)),
    "sent without a record": (*HELD, queue(depth=1, copies=1), outlet(1, 1), route()),
}

CAME = "incarnation bigint, earliest bigint, latest bigint, message bigint, less bigint,"
CAME += " seen boolean"
LATER = (CLOCK, queue(3) | {"window": 2}, outlet(3) | {"window": 2}, route(3) | {"window": 2})
CASES |= {
    "named": CASES["above"],
    "named before": (*CASES["above"], *LATER),
    "named of its route": CASES["routed"],
    "another one of its route": (*WHOLE, queue(), outlet(), route(2), route(1, "y")),
    "in another minute": (
        *(*WHOLE, queue(2), outlet(), route(), CLOCK, queue(2) | {"window": 2}),
        route(2) | {"window": 2},
    ),
}
# Messages that are told of by name, and between which records of the story they came.
NAMED = {
    "named": [(3, 6)],
    "named before": [(3, 6)],
    "named of its route": [(3, 6)],
    "another one of its route": [(3, 6)],
}


@pytest.fixture(scope="module")
def told(frames) -> dict[str, list[tuple]]:
    cases = Cases(CASES)
    records = frames.records(*cases.lines)
    summed = ledger_of(records)
    balance = balances(summed, records, incarnations(summed))
    failed = (balance[of.name].failed for of in IDENTITIES)
    named = [(name, *span) for name, spans in NAMED.items() for span in spans]
    rows = [(*cases.places(*span), message, 1, False) for message, span in enumerate(named)]
    return cases.told(counter_breaks(*failed, frames.table(CAME, *rows)))


def test_counters_that_agree_tell_nothing(told):
    assert told["agree"] == []


def test_one_below_the_log_is_of_something_that_began_anew(told):
    assert told["below"] == []


def test_a_message_without_records_is_told_once_for_its_route_its_queue_and_its_outlet(told):
    assert told["above"] == [("LOST", None, "q", 1, 0, 6)]


@pytest.mark.parametrize(
    ("case", "node", "count"),
    [("sent", "q", 2), ("routed", "x", 1), ("routed and not all entered", "x", 1)],
)
def test_what_goes_beyond_what_entered_is_told_by_itself(told, case, node, count):
    others = [each[:4] for each in told[case] if each[2:4] != ("q", 1)]
    assert ("LOST", None, node, count) in others


def test_what_is_told_of_by_name_is_not_told_by_counters(told):
    assert told["named"] == told["named of its route"] == []
    assert [each[2:] for each in told["named before"]] == [("q", 1, 6, 10)]
    assert len(told["another one of its route"]) == 1


def test_what_was_routed_in_another_minute_than_something_entered_is_told_by_itself(told):
    assert [each[2:4] for each in told["in another minute"]] == [("q", 1), ("x", 1)]


def test_what_the_depth_tells_the_counter_does_not_tell_again(told):
    assert told["depth"] == []


def test_it_is_told_at_its_first_checkpoint_only(told):
    assert [each[4:] for each in told["twice"]] == [(0, 6), (8, 10)]


def test_a_name_that_is_not_declared_may_be_anothers_that_was_renamed(told):
    assert told["not declared"] == []


@pytest.mark.parametrize("case", ["released", "requeued", "dead letter"])
def test_a_copy_that_is_with_somebody_although_it_was_given_back_is_stuck(told, case):
    assert [each[:4] for each in told[case]] == [("STUCK", None, "q", 1)]


@pytest.mark.parametrize("case", ["sent still", "waits for its turn"])
def test_what_somebody_has_is_not_stuck(told, case):
    assert told[case] == []


def test_of_a_deleted_queue_it_is_not_said(told):
    assert told["deleted"] == []


def test_what_an_outlet_was_sent_without_a_record_is_not_stuck_besides(told):
    assert told["sent without a record"] == []

"""The three identities, on three-line frames."""

import pytest
from support.audit_frames import found, ledger_of

from gateway.accounting.steps import identities, outlets
from gateway.accounting.steps.identities import IDENTITIES, OUTLET, QUEUE, ROUTE, with_route
from gateway.accounting.steps.ledger import incarnations, losses
from gateway.audit.schema import Flag, Kind, Outcome, Reason

ENTERED = {"kind": Kind.ENTERED, "node": "q", "exchange": "x", "mix": 7, "message": 1}
SENT = {"kind": Kind.SENT, "node": "q", "link": 3, "message": 1}
ACCEPTED = {
    "kind": Kind.SETTLED,
    "node": "q",
    "link": 3,
    "outcome": Outcome.ACCEPTED,
    "flags": Flag.REMOVED,
    "mix": 7,
    "message": 1,
}
RECEIVED = {"kind": Kind.RECEIVED, "exchange": "x", "copies": 2}


def queue_checkpoint(depth: int, checksum: int, window: int = 1) -> dict:
    return {
        "kind": Kind.QUEUE_CHECKPOINT,
        "node": "q",
        "position": depth,
        "id_digest": checksum,
        "window": window,
    }


def failures(frames, identity, *lines: dict):
    records = frames.records(*lines)
    windows = identities.sums(with_route(ledger_of(records)), identity)
    said = identities.statements(with_route(records), identity)
    return identities.failures(identities.compared(windows, said, identity), identity)


def totals(frames, identity, *lines: dict) -> dict:
    windows = identities.sums(with_route(ledger_of(frames.records(*lines))), identity)
    (row,) = identities.totals(windows, identity).collect()
    return {name: value for name, value in row.asDict().items() if value}


def test_terms_are_named_once_and_in_order(spark):
    for identity in IDENTITIES:
        assert tuple(identity.terms()) == identity.term_names


def test_a_queue_that_is_as_deep_as_it_says_is_balanced(frames):
    lines = (ENTERED, queue_checkpoint(1, 7), ACCEPTED | {"window": 1}, queue_checkpoint(0, 0, 2))
    assert failures(frames, QUEUE, *lines).count() == 0


def test_a_depth_that_the_log_does_not_give_fails_at_its_first_checkpoint(frames):
    lines = (ENTERED, queue_checkpoint(0, 0), queue_checkpoint(0, 0, 2))
    (row,) = failures(frames, QUEUE, *lines).collect()
    assert (row["sequence"], row["computed"], row["stated"], row["excess"]) == (2, 1, 0, 1)


def test_the_right_depth_with_other_copies_fails_by_its_checksum(frames):
    (row,) = failures(frames, QUEUE, ENTERED, queue_checkpoint(1, 8)).collect()
    assert (row["excess"], row["computed_checksum"], row["checksum"]) == (0, 7, 8)


def test_a_failure_is_of_the_time_since_the_checkpoint_before_or_the_begin_of_its_run(frames):
    runs = frames.table("incarnation bigint, last_sequence bigint", (1, 40), (2, 90))
    lines = (ENTERED, queue_checkpoint(1, 7), ENTERED | {"window": 1}, queue_checkpoint(1, 7, 2))
    late = failures(frames, QUEUE, *lines)
    assert [row["since"] for row in identities.since_begin(late, runs).collect()] == [2]
    for incarnation, since in ((1, 0), (2, 40)):
        lost = (line | {"incarnation": incarnation} for line in (ENTERED, queue_checkpoint(0, 0)))
        early = failures(frames, QUEUE, *lost)
        assert [row["since"] for row in identities.since_begin(early, runs).collect()] == [since]


def test_what_a_checkpoint_has_said_is_not_said_again_but_what_is_wrong_behind_it_is(frames):
    lines = (
        *(ENTERED, queue_checkpoint(0, 0), ENTERED | {"window": 1, "mix": 9}),
        *(queue_checkpoint(1, 9, 2), queue_checkpoint(0, 0, 3)),
    )
    failed = failures(frames, QUEUE, *lines).orderBy("sequence").collect()
    terms = ("since", "sequence", "computed", "stated", "excess", "computed_checksum", "checksum")
    assert [tuple(row[name] for name in terms) for row in failed] == [
        (None, 2, 1, 0, 1, 7, 0),
        (4, 5, 1, 0, 1, 9, 0),
    ]


def failing(frames, identity, *lines: dict) -> list[int]:
    return sorted(row["sequence"] for row in failures(frames, identity, *lines).collect())


def test_a_queue_with_the_copies_again_that_it_had_before_does_not_fail_again(frames):
    wrong, right = queue_checkpoint(0, 0), queue_checkpoint(1, 7)
    assert failing(frames, QUEUE, ENTERED, wrong, right, right) == [2]
    assert failing(frames, QUEUE, ENTERED, right, wrong, wrong, right) == [3]
    assert failing(frames, QUEUE, ENTERED, wrong, right, right, wrong, wrong, right) == [2, 5]
    other = queue_checkpoint(1, 9)
    assert failing(frames, QUEUE, ENTERED, wrong, other, right) == [2, 3, 4]


def test_what_is_wrong_already_is_so_still_when_a_queue_has_the_copies_again(frames):
    lines = (ENTERED, queue_checkpoint(0, 0), ENTERED | {"window": 1, "mix": 9})
    once, still = queue_checkpoint(0, 0, 2), queue_checkpoint(1, 9, 2)
    assert failing(frames, QUEUE, *lines, once, still, still) == [2, 4]


def test_what_an_outlet_owes_is_told_once_unless_it_is_off_by_another_number(frames):
    ends = {"kind": Kind.OUTLET_CHECKPOINT, "link": 3, "window": 1}
    more, owes, not_so = (ends | {"copies": count} for count in (2, 1, 0))
    assert failing(frames, OUTLET, SENT, not_so, owes) == [2]
    assert failing(frames, OUTLET, SENT, not_so, not_so) == [2]
    assert failing(frames, OUTLET, SENT, not_so, more) == [2, 3]
    assert failing(frames, OUTLET, SENT, not_so, owes, not_so) == [2, 4]


def test_a_checkpoint_of_a_queue_that_nothing_happened_to_must_say_nothing(frames):
    assert failures(frames, QUEUE, queue_checkpoint(0, 0)).count() == 0
    assert failures(frames, QUEUE, queue_checkpoint(2, 0)).count() == 1


@pytest.mark.parametrize(
    ("kind", "term"),
    [
        (Kind.EXPIRED, "expired"),
        (Kind.DEAD_LETTERED, "dead_lettered"),
        (Kind.EVICTED, "evicted"),
        (Kind.REPLACED, "replaced"),
        (Kind.PURGED, "purged"),
        (Kind.MOVED, "moved"),
        (Kind.RETURNED, "returned"),
    ],
)
def test_each_way_out_of_a_queue_is_a_term(frames, kind, term):
    assert totals(frames, QUEUE, ENTERED, {"kind": kind, "node": "q"}) == {
        "incarnation": 1,
        "node": "q",
        "entered": 1,
        term: 1,
        "of_node": "q",
    }


def test_settlements_take_a_copy_out_only_for_good(frames):
    released = ACCEPTED | {"outcome": Outcome.RELEASED, "flags": 0}
    rejected = ACCEPTED | {"outcome": Outcome.REJECTED}
    kept = rejected | {"flags": 0}
    assert totals(frames, QUEUE, ENTERED, SENT, released)["depth"] == 1
    assert totals(frames, QUEUE, ENTERED, SENT, kept)["depth"] == 1
    assert totals(frames, QUEUE, ENTERED, SENT, rejected)["rejected"] == 1
    assert totals(frames, QUEUE, ENTERED, SENT | {"flags": Flag.SETTLED})["accepted"] == 1


def test_what_went_back_to_its_upstream_or_publisher_is_returned(frames):
    transacted = (Outcome.ROLLED_BACK, Outcome.IN_DOUBT)
    for outcome in (Outcome.RELEASED, Outcome.MODIFIED, Outcome.SETTLED_TOO_LATE, *transacted):
        went = totals(frames, QUEUE, ENTERED, SENT, ACCEPTED | {"outcome": outcome})
        assert (went["returned"], went.get("accepted", 0), went.get("depth", 0)) == (1, 0, 0)


def test_browsing_does_not_touch_the_queue_but_counts_at_the_outlet(frames):
    lines = (ENTERED, SENT | {"flags": Flag.COPY}, ACCEPTED | {"flags": Flag.COPY})
    assert totals(frames, QUEUE, *lines)["depth"] == 1
    outlet = totals(frames, OUTLET, *lines)
    assert (outlet["sent"], outlet["browsed"], outlet.get("accepted", 0)) == (1, 1, 0)
    once = totals(frames, OUTLET, SENT | {"flags": Flag.COPY | Flag.SETTLED})
    assert (once["sent"], once["browsed"], once.get("unsettled", 0)) == (1, 1, 0)


def test_an_outlet_has_back_what_a_transaction_gave_up(frames):
    for outcome in (Outcome.ROLLED_BACK, Outcome.IN_DOUBT):
        outlet = totals(frames, OUTLET, SENT, ACCEPTED | {"outcome": outcome})
        assert (outlet["released"], outlet.get("unsettled", 0)) == (1, 0)


def test_an_outlet_owes_what_it_was_sent(frames):
    said = {"kind": Kind.OUTLET_CHECKPOINT, "link": 3, "window": 1, "copies": 1}
    assert failures(frames, OUTLET, SENT, said).count() == 0
    here, gone = (
        frames.table("incarnation bigint, link bigint", *rows) for rows in ((), ((1, 3),))
    )
    short = failures(frames, OUTLET, SENT, SENT, said)
    assert found(outlets.outlet_breaks(short, here)) == [("STUCK", None, None, 1)]
    assert found(outlets.outlet_breaks(short, gone)) == []  # which is told when it is gone
    over = failures(frames, OUTLET, SENT, ACCEPTED, said)
    assert found(outlets.outlet_breaks(over, gone)) == [("ORPHAN_SETTLEMENT", None, None, 1)]


def test_a_route_counts_copies_and_what_became_of_them(frames):
    upstream = SENT | {"flags": Flag.UNQUEUED, "exchange": "x", "node": "remote"}
    again = upstream | {"flags": Flag.UNQUEUED | Flag.REDELIVERED}
    row = totals(frames, ROUTE, RECEIVED | {"copies": 3}, ENTERED, upstream, again)
    assert (row["copies"], row["entered"], row["sent_upstream"], row["pending"]) == (3, 1, 1, 1)


def test_a_route_without_exchange_is_named_by_its_node(frames):
    row = totals(frames, ROUTE, {"kind": Kind.RECEIVED, "node": "remote", "copies": 1})
    assert row["route"] == "remote"


def test_incarnations_say_whether_they_opened_and_stopped(frames):
    lines = (
        {"kind": Kind.INCARNATION_STARTED},
        {"kind": Kind.CLOCK},
        {"kind": Kind.INCARNATION_STOPPED},
        {"kind": Kind.INCARNATION_STARTED, "incarnation": 2},
        {"kind": Kind.TOPOLOGY, "incarnation": 2},
        {"kind": Kind.RECOVERED, "incarnation": 2},
    )
    table = incarnations(ledger_of(frames.records(*lines))).orderBy("incarnation")
    assert [(row["opened_sequence"], row["stopped"]) for row in table.collect()] == [
        (2, True),
        (None, False),
    ]


def test_declared_losses_are_counted_by_row(frames):
    loss = {"kind": Kind.TRANSLATED_WITH_LOSS, "exchange": "body.value-map", "reason": Reason.DROP}
    (row,) = losses(ledger_of(frames.records(loss, loss))).collect()
    assert (row["row"], row["count"]) == ("body.value-map", 2)

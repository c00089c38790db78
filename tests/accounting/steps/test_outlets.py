"""Outlets that are gone: which of their deliveries never ended, on frames."""

import pytest
from support.audit_frames import Cases, doubtful_of, ledger_of

from gateway.accounting.steps import causes, copies, identities, outlets
from gateway.accounting.steps.identities import OUTLET
from gateway.accounting.steps.ledger import incarnations
from gateway.audit.schema import Flag, Kind, Outcome

COPY = {"node": "q", "message": 5, "position": 1, "mix": 77}
ENTERED = COPY | {"kind": Kind.ENTERED}
SENT = COPY | {"kind": Kind.SENT, "link": 3}
ENDED = COPY | {"kind": Kind.SETTLED, "link": 3}
ACCEPTED = ENDED | {"outcome": Outcome.ACCEPTED, "flags": Flag.REMOVED}
RELEASED = ENDED | {"outcome": Outcome.RELEASED}
BROWSED = SENT | {"flags": Flag.COPY}
SEEN = ACCEPTED | {"flags": Flag.COPY}
OTHER = {"message": 6, "position": 2, "mix": 1024}
GONE = {"kind": Kind.LINK_DETACHED, "link": 3}
SAID = {"kind": Kind.OUTLET_CHECKPOINT, "link": 3, "copies": 1}
OTHERS = SAID | {"link": 4}
CLOCK = {"kind": Kind.CLOCK}
STOPPED = {"kind": Kind.INCARNATION_STOPPED}

CASES = {
    "ended": (ENTERED, SENT, ACCEPTED, GONE),
    "still there": (ENTERED, SENT),
    "still there at the stop": (ENTERED, SENT, SAID, OTHERS, STOPPED),
    "not there at the stop": (ENTERED, SENT, SAID, ENTERED | OTHER, OTHERS, STOPPED),
    "never there": (ENTERED, SENT, OTHERS, CLOCK, STOPPED),
    "of no checkpoint at the stop": (ENTERED, SENT, SAID, ENTERED | OTHER, STOPPED),
    "no more at the stop": (ENTERED, SENT, ACCEPTED, STOPPED),
    "never ended": (ENTERED, SENT, GONE),
    "one of two": (ENTERED, ENTERED | OTHER, SENT, SENT | OTHER, ACCEPTED, GONE),
    "both": (ENTERED, ENTERED | OTHER, SENT, SENT | OTHER, GONE),
    "given back, and sent again": (ENTERED, SENT, RELEASED, SENT, GONE),
    "browsed": (ENTERED, BROWSED, SENT, ACCEPTED, GONE),
    "seen": (ENTERED, BROWSED, SEEN, SENT, ACCEPTED, GONE),
    "settled by another": (ENTERED, SENT, ACCEPTED | {"link": 4}, GONE),
    "settled by another, and one more": (
        *(ENTERED, ENTERED | OTHER, SENT, SENT | OTHER, ACCEPTED | {"link": 4}, GONE),
    ),
    "sent elsewhere while it was out": (
        *(ENTERED, SENT, SENT | {"link": 4}, ACCEPTED | {"link": 4}, GONE),
    ),
    "browsing ends more often": (ENTERED, ENTERED | OTHER, SENT, SENT | OTHER, SEEN, GONE),
    "settled twice, and one never": (
        *(ENTERED, SENT, ACCEPTED, ACCEPTED, ENTERED | OTHER, SENT | OTHER),
        *(ENTERED | OTHER | {"position": 3}, SENT | OTHER | {"position": 3}, GONE),
    ),
}


@pytest.fixture(scope="module")
def told(frames) -> dict[str, list[tuple]]:
    cases = Cases(CASES)
    records = frames.records(*cases.lines).cache()
    summed = ledger_of(records)
    totals = identities.totals(identities.sums(summed, OUTLET), OUTLET)
    steps = copies.with_previous(copies.copy_steps(records))
    known = causes.effects(steps, doubtful_of(records, steps), incarnations(summed)).cache()
    owing = outlets.gone(totals, summed, incarnations(summed)).cache()
    return cases.told(outlets.detached_breaks(owing, outlets.owed(owing, records), known))


@pytest.mark.parametrize(
    "case",
    [
        *("ended", "still there", "still there at the stop", "of no checkpoint at the stop"),
        *("no more at the stop", "seen"),
    ],
)
def test_an_outlet_that_is_there_or_whose_deliveries_ended_owes_nothing(told, case):
    assert told[case] == []


def test_what_an_outlet_that_is_gone_was_sent_and_never_ended_is_named_with_its_record(told):
    assert told["never ended"] == [("STUCK", 5, "q", 1, 2, 3)]
    assert told["one of two"] == [("STUCK", 6, "q", 1, 4, 6)]
    assert told["both"] == [("STUCK", 5, "q", 1, 3, 5), ("STUCK", 6, "q", 1, 4, 5)]


def test_an_outlet_that_the_checkpoint_of_an_orderly_stop_does_not_name_is_gone(told):
    assert told["not there at the stop"] == [("STUCK", 5, "q", 1, 2, 6)]
    assert told["never there"] == [("STUCK", 5, "q", 1, 2, 5)]


def test_of_several_deliveries_of_a_copy_it_is_the_last_one(told):
    assert told["given back, and sent again"] == [("STUCK", 5, "q", 1, 4, 5)]


def test_a_browser_that_is_gone_owes_what_it_looked_at(told):
    assert told["browsed"] == [("STUCK", 5, "q", 1, 2, 5)]


@pytest.mark.parametrize("case", ["settled by another", "sent elsewhere while it was out"])
def test_a_copy_that_is_told_of_otherwise_is_not_told_again(told, case):
    assert told[case] == []


def test_what_never_ended_beside_that_is_named(told):
    assert told["settled by another, and one more"] == [("STUCK", 6, "q", 1, 4, 6)]
    named = [each[:4] for each in told["settled twice, and one never"]]
    assert named == [("STUCK", 6, "q", 1), ("STUCK", 6, "q", 1)]


def test_where_the_records_show_another_number_nobody_is_named(told):
    assert told["browsing ends more often"] == [("STUCK", None, "q", 1, 3, 6)]

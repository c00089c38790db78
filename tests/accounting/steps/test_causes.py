"""What single copies explain of a checkpoint that fails, on frames: told of once."""

import pytest
from support.audit_frames import Cases, doubtful_of, ledger_of

from gateway.accounting.steps import causes, confirmed, copies, messages, outlets, supposed
from gateway.accounting.steps.balance import balances
from gateway.accounting.steps.counters import counter_breaks
from gateway.accounting.steps.identities import FAILS, OUTLET, QUEUE, ROUTE
from gateway.accounting.steps.ledger import incarnations
from gateway.accounting.steps.outlets import outlet_breaks
from gateway.audit.schema import Flag, Kind, Outcome, Reason

DECLARED = {"kind": Kind.TOPOLOGY, "node": "q", "reason": Reason.QUEUE_DECLARED}
COPY = {"node": "q", "message": 5, "position": 1, "mix": 77}
ENTERED = COPY | {"kind": Kind.ENTERED}
SENT = COPY | {"kind": Kind.SENT, "link": 3}
ENDED = COPY | {"kind": Kind.SETTLED, "link": 3}
ACCEPTED = ENDED | {"outcome": Outcome.ACCEPTED, "flags": Flag.REMOVED}
RELEASED = ENDED | {"outcome": Outcome.RELEASED}
REQUEUED = ENDED | {"kind": Kind.REQUEUED}
EXPIRED = COPY | {"kind": Kind.EXPIRED}
OTHER = ENTERED | {"message": 6, "position": 2, "mix": 1024}
RECEIVED = {"kind": Kind.RECEIVED, "message": 5, "exchange": "x", "copies": 1}
ROUTE_SAYS = {"kind": Kind.ROUTE_CHECKPOINT, "exchange": "x", "message": 1, "window": 1}
AFTER, LATER = {"window": 1}, {"window": 2}
HELD = (DECLARED, ENTERED)
CAME = (DECLARED, RECEIVED)  # and entered, of which there is no record
WHOLE = (*HELD, SENT, ACCEPTED)


def queue(entered: int = 1, depth: int = 0, checksum: int | None = None, **said: int) -> dict:
    checksum = 77 * depth if checksum is None else checksum
    said |= {"message": entered, "position": depth, "id_digest": checksum}
    return {"kind": Kind.QUEUE_CHECKPOINT, "node": "q", "window": 1} | said


def outlet(sent: int = 1, unsettled: int = 0, link: int = 3) -> dict:
    said = {"message": sent, "copies": unsettled, "link": link, "node": "q"}
    return {"kind": Kind.OUTLET_CHECKPOINT, "window": 1} | said


EXPLAINED = {
    "in order": (*WHOLE, queue(), outlet()),
    "settled twice": (*WHOLE, ACCEPTED, queue(), outlet()),
    "settled thrice": (*WHOLE, ACCEPTED, ACCEPTED, queue(), outlet()),
    "ended twice": (*HELD, EXPIRED, EXPIRED, queue()),
    "entered twice": (*HELD, ENTERED, SENT, ACCEPTED, queue(), outlet()),
    "entered twice, and there": (*HELD, ENTERED, queue(depth=1)),
    "settled, and never entered": (DECLARED, ACCEPTED, queue(0), outlet(0)),
    "no record of its sending": (*HELD, ACCEPTED, queue(), outlet()),
    "given back before it was sent": (*HELD, REQUEUED, SENT, ACCEPTED, queue(), outlet()),
    "given back twice": (*HELD, SENT, RELEASED, RELEASED, queue(depth=1), outlet()),
    "sent while it was out": (
        *(*HELD, SENT, SENT | {"link": 4}, ACCEPTED | {"link": 4}),
        *(queue(), outlet(), outlet(link=4)),
    ),
    "settled by another": (*HELD, SENT, ACCEPTED | {"link": 4}, queue(), outlet()),
    "came without a record, and left": (*CAME, SENT, ACCEPTED, queue(), outlet(), ROUTE_SAYS),
    "came without a record, and left behind a checkpoint": (
        *(*CAME, queue(depth=1), ROUTE_SAYS, AFTER | SENT, AFTER | ACCEPTED),
        *(queue() | LATER, outlet() | LATER),
    ),
    "came without a record, and is with somebody": (
        *(*CAME, SENT, queue(depth=1, copies=1), outlet(unsettled=1), ROUTE_SAYS),
    ),
    "it came and entered without a record": (
        *(DECLARED, SENT, ACCEPTED, queue(), outlet(), ROUTE_SAYS),
    ),
    "it came and entered without a record, and left behind a checkpoint": (
        *(DECLARED, queue(depth=1), ROUTE_SAYS, AFTER | SENT, AFTER | ACCEPTED),
        *(queue() | LATER, outlet() | LATER),
    ),
    "its record of having entered comes too late": (
        *(*CAME, SENT, ENTERED | {"exchange": "x"}, ACCEPTED, queue(), outlet(), ROUTE_SAYS),
    ),
}
LOST_TOO = {
    "settled twice": (*WHOLE, OTHER, ACCEPTED, queue(2)),
    "entered twice": (*HELD, OTHER, ENTERED, queue(2, depth=1)),
    "came without a record, and left": (
        *(*CAME, OTHER, SENT, ACCEPTED, queue(2), outlet(), ROUTE_SAYS),
    ),
    "came without a record, and is there": (
        *(*CAME, OTHER, SENT, queue(2, depth=1, copies=1), outlet(unsettled=1), ROUTE_SAYS),
    ),
    "came without a record, one window earlier": (
        *(*CAME, queue(depth=1), ROUTE_SAYS, AFTER | SENT, AFTER | ACCEPTED, AFTER | OTHER),
        *(queue(2) | LATER, outlet() | LATER),
    ),
    "in another window": (
        *WHOLE,
        ACCEPTED,
        queue(),
        OTHER | {"window": 1},
        queue(2) | {"window": 2},
    ),
}
THIRD = OTHER | {"message": 7, "position": 3, "mix": 2048}
STUCK_TOO = {  # and how many are
    "by its queue": (
        *(*HELD, OTHER, SENT, ACCEPTED, ACCEPTED),
        queue(2, depth=1, checksum=1024, copies=1),
    ),
    "by its outlet": (
        *(*HELD, OTHER, THIRD, SENT, ACCEPTED, ACCEPTED),
        *(THIRD | {"kind": Kind.SENT, "link": 3}, OTHER | {"kind": Kind.SENT, "link": 3}),
        *(queue(3, depth=2, checksum=1024 ^ 2048), outlet(3)),
    ),
}
RIGHT = {"the checkpoint has it so, too": (*HELD, ENTERED, queue(2, depth=2, checksum=0))}


def told(frames, stories: dict[str, tuple[dict, ...]]) -> dict[str, list[tuple]]:
    cases = Cases(stories)
    records = frames.records(*cases.lines).cache()
    summed = ledger_of(records)
    runs = incarnations(summed)
    balance = balances(summed, records, runs)
    steps = copies.with_previous(copies.copy_steps(records))
    doubtful = doubtful_of(records, steps)
    known = causes.effects(steps, doubtful, runs)
    queues = causes.of_queues(balance[QUEUE.name].failed, known).cache()
    ends = causes.of_outlets(balance[OUTLET.name].failed, known).cache()
    still = copies.still_there(copies.copy_states(steps))
    still = copies.with_fate(still, runs)
    failures = queues.where(FAILS)
    found = copies.queue_breaks(failures, copies.candidates(failures, still))
    gone = outlets.gone(balance[OUTLET.name].totals, summed, runs)
    found = found.union(outlet_breaks(ends.where(FAILS), gone))
    routes = causes.of_routes(balance[ROUTE.name].failed, doubtful, records).cache()
    short = confirmed.with_told(doubtful.where(confirmed.SHORT), records)
    found = found.union(messages.route_breaks(routes.where(FAILS), short))
    came = supposed.came_unsaid(doubtful.where("not received and arrived > 0"), steps)
    return cases.told(found.union(counter_breaks(queues, ends, routes, came)))


SENT_AGAIN = (*HELD, SENT, SENT | {"link": 4})
OTHER_SENT = SENT | {"message": 6, "position": 2}
OTHER_AGAIN = (OTHER, OTHER_SENT, OTHER_SENT | {"link": 4})
DETACHED = {"kind": Kind.LINK_DETACHED, "link": 3}
UNENDED = {  # and whether that is known
    "by its checkpoint": (True, (*SENT_AGAIN, outlet())),
    "by a checkpoint in between": (True, (*HELD, SENT, outlet(), SENT | {"link": 4} | AFTER)),
    "still there by its checkpoint": (False, (*SENT_AGAIN, outlet(unsettled=1))),
    "of two that were sent again one": (
        False,
        (*SENT_AGAIN, *OTHER_AGAIN, outlet(sent=2, unsettled=1)),
    ),
    "its outlet is gone": (
        True,
        (*HELD, SENT, DETACHED, SENT | {"link": 4}),
    ),
    "its outlet is gone, but has ended it": (
        False,
        (*SENT_AGAIN, *OTHER_AGAIN, RELEASED, DETACHED),
    ),
}


@pytest.mark.parametrize("case", UNENDED)
def test_what_was_sent_again_is_stuck_where_its_first_outlet_has_it_no_more(ended, case):
    rows = [row for row in ended[case] if row[1] == 5 and row[0] in ("STUCK", "DUPLICATE")]
    assert rows[0][0] == ("STUCK" if UNENDED[case][0] else "DUPLICATE")


@pytest.fixture(scope="module")
def ended(frames) -> dict[str, list[tuple]]:
    cases = Cases({name: lines for name, (_known, lines) in UNENDED.items()})
    records = frames.records(*cases.lines).cache()
    summed = ledger_of(records)
    runs = incarnations(summed)
    balance = balances(summed, records, runs)[OUTLET.name]
    steps = copies.with_previous(copies.copy_steps(records))
    known = causes.effects(steps, doubtful_of(records, steps), runs)
    owed = outlets.owed(outlets.gone(balance.totals, summed, runs), records)
    unended = causes.never_ended(balance.failed, known, owed)
    return cases.told(copies.step_breaks(steps, unended))


@pytest.fixture(scope="module")
def explained(frames) -> dict[str, list[tuple]]:
    return told(frames, EXPLAINED | RIGHT)


@pytest.fixture(scope="module")
def left(frames) -> dict[str, list[tuple]]:
    return told(frames, {f"lost, {name}": lines for name, lines in LOST_TOO.items()} | STUCK_TOO)


@pytest.mark.parametrize("case", [*EXPLAINED, *RIGHT])
def test_what_a_copy_explains_that_is_told_of_is_not_told_again(explained, case):
    assert explained[case] == []


@pytest.mark.parametrize("case", LOST_TOO)
def test_what_is_lost_between_the_same_checkpoints_is_told_all_the_same_by_name(left, case):
    assert [each[:4] for each in left[f"lost, {case}"]] == [("LOST", 6, "q", 1)]


@pytest.mark.parametrize(("case", "count"), [("by its queue", 1), ("by its outlet", 2)])
def test_what_somebody_has_besides_is_told_all_the_same(left, case, count):
    assert [(each[0], each[3]) for each in left[case]] == [("STUCK", count)]

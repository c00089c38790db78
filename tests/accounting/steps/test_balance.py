"""Sums that people see, on frames: over all runs they add up as they do in each."""

import pytest

from gateway.accounting.steps.balance import LAPSED, queue_results, sums_over_all
from gateway.accounting.steps.identities import IDENTITIES, OUTLET, QUEUE, ROUTE, Identity


def results(frames, identity: Identity, *runs: dict):
    """The results of one thing in each run."""
    lapsed = LAPSED[identity.name] if identity is QUEUE else ()
    names = ("incarnation", *identity.term_names, identity.rest, *lapsed)
    rows = [
        tuple(({"incarnation": number} | run).get(name, 0) for name in names)
        for number, run in enumerate(runs, 1)
    ]
    return frames.table(", ".join(f"{name} bigint" for name in names), *rows)


def sums(frames, identity: Identity, *runs: dict) -> dict:
    table = results(frames, identity, *runs)
    fates = [(number, run.get("stopped", False)) for number, run in enumerate(runs, 1)]
    fated = frames.table("incarnation bigint, stopped boolean", *(fates or [(1, True)]))
    (row,) = sums_over_all(table, identity, fated, (1, len(runs))).collect()
    terms = row.asDict()
    assert terms.pop("rows") == len(runs)
    return {name: value for name, value in terms.items() if value}


def adds_up(said: dict, identity: Identity) -> bool:
    incoming = sum(said.pop(name, 0) for name in identity.term_names[: identity.incoming])
    return incoming == sum(said.values())


def test_a_copy_that_was_recovered_is_the_same_copy_still(frames):
    runs = (
        {"entered": 5, "accepted": 1, "depth": 4, "gone_with_process": 1, "in_doubt": 1},
        {"recovered": 2, "accepted": 1, "depth": 1},
        {"recovered": 1, "entered": 2, "depth": 3, "gone_at_stop": 1},
    )
    said = sums(frames, QUEUE, *runs)
    assert (said["entered"], said["accepted"], said["depth"]) == (7, 2, 2)
    assert "recovered" not in said
    assert adds_up(said, QUEUE)


def test_what_is_recovered_by_the_first_run_that_the_log_has_counts(frames):
    said = sums(frames, QUEUE, {"recovered": 3, "depth": 3}, {"recovered": 3, "depth": 3})
    assert (said["recovered"], said["depth"]) == (3, 3)
    assert adds_up(said, QUEUE)


@pytest.mark.parametrize(("identity", "first"), [(OUTLET, "sent"), (ROUTE, "copies")])
def test_what_ended_with_a_process_is_told_as_that(frames, identity, first):
    runs = ({first: 3, identity.rest: 2}, {first: 4, identity.rest: 1})
    said = sums(frames, identity, *runs)
    wrong = {name for name in identity.term_names if name in said} - {first}
    assert (said["cut_off"], said[identity.rest], wrong) == (2, 1, set())
    stopped, _last = runs
    said = sums(frames, identity, stopped | {"stopped": True}, *runs)
    assert (said["open_at_stop"], said["cut_off"], said[identity.rest]) == (2, 2, 1)


def test_of_nothing_each_sum_is_nothing(frames):
    for identity in IDENTITIES:
        assert sums(frames, identity) == {}


def test_what_a_stop_drops_is_told_apart_from_what_a_kill_does(frames):
    schema = "incarnation bigint, node string, durable boolean, transit boolean, "
    schema += "stopped boolean, until bigint"
    still = frames.table(
        schema,
        (1, "q", False, False, False, 9),
        (1, "q", True, False, False, 9),
        (2, "q", False, False, True, None),
        (2, "q", False, True, True, None),
        (3, "q", False, False, False, None),
    )
    table = frames.table("incarnation bigint, node string", *((run, "q") for run in (1, 2, 3)))
    rows = queue_results(table, still).orderBy("incarnation").collect()
    found = [tuple(row[name] for name in LAPSED[QUEUE.name]) for row in rows]
    assert found == [(1, 0, 0), (0, 1, 1), (0, 0, 0)]

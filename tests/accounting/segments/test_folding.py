"""What is folded within a part of a log, and that nothing of it is missed."""

from __future__ import annotations

import os
import random
from contextlib import nullcontext
from pathlib import Path

import pytest
from support.hand_log import HandLog
from support.spark_work import several_partitions

from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.segments.parts import EVERYTHING, part_batches
from gateway.accounting.steps.ages import Bounds
from gateway.audit.reader import segment_paths
from gateway.audit.schema import Kind

GONE = [{"kind": "RECEIVED", "exchange": "topic", "copies": 1}]
GONE += [{"kind": "ENTERED", "exchange": "topic", "position": 3, "node": "q"}]
GONE += [{"kind": "SENT", "position": 3, "node": "q", "link": 7}]
ENDED = {"kind": "SETTLED", "position": 3, "node": "q", "link": 7}
GONE += [ENDED | {"outcome": "ACCEPTED", "flags": "REMOVED"}]
MOVED = {"kind": "MOVED", "position": 3, "node": "q"}
FOLLOWED = {"kind": "ROUTED", "exchange": "topic", "copies": 1}
GONE_ON = GONE[1] | {"node": "r", "flags": "REROUTED"}
LEFT = [step | {"node": "r"} for step in GONE[2:]]
REMOTE = {"position": 3, "node": "q", "link": 9, "flags": "UNQUEUED", "exchange": "topic"}
UPSTREAM = [REMOTE | {"kind": "SENT"}, REMOTE | {"kind": "SETTLED", "outcome": "ACCEPTED"}]
# First and last of an outlet are never folded: what comes before and after is not known there.
OTHERS = [{"kind": "SENT", "message": n, "position": n, "node": "q", "link": 7} for n in (1, 9)]


def left(directory: Path, *steps: dict, late_ms: int = 0) -> list[str]:
    """The kinds of records of message 5 that go on, where these are its steps."""
    log = HandLog(directory / "log")
    log.start()
    for step in (OTHERS[0], *({"message": 5} | step for step in steps), OTHERS[1]):
        log.add(**step)
    (path,) = segment_paths(log.end())
    batches = part_batches(path.name, 0, path.read_bytes(), EVERYTHING._replace(late_ms=late_ms))
    rows = [row for batch in batches for row in batch.to_pylist() if row["sequence"]]
    return [Kind(row["kind"]).name for row in rows if row["message"] == 5]


def test_a_message_that_came_and_left_in_order_does_not_go_on(tmp_path):
    assert left(tmp_path, *GONE) == []


@pytest.mark.parametrize(
    "steps",
    [
        GONE[:3],
        GONE[1:],
        [*GONE, GONE[3]],
        [*GONE, GONE[2]],
        [GONE[0], GONE[1], GONE[1], *GONE[2:]],
        [GONE[0] | {"copies": 2}, *GONE[1:]],
        [GONE[0] | {"body_digest": 1}, GONE[1], GONE[2] | {"body_digest": 2}, GONE[3]],
        [GONE[0] | {"body_digest": 1}, GONE[1] | {"body_digest": 1}, *GONE[2:]],
        [GONE[0] | {"transaction": 1}, *GONE[1:]],
        [*GONE[:3], ENDED | {"outcome": "RELEASED", "flags": "REMOVED"}],
        [*GONE[:3], {"kind": "DEAD_LETTERED", "node": "q", "position": 3}],
        [*GONE, {"kind": "RECOVERED", "node": "q", "position": 3}],
        [GONE[0], GONE[1] | {"position": 4}, *GONE[2:]],
        [GONE[0], GONE[1] | {"node": "other"}, *GONE[2:]],
        [GONE[0], *GONE],
        [*GONE[:3], GONE[3] | {"link": 9}],
        [*GONE[:2], GONE[2] | {"flags": "COPY", "link": 9}, *GONE[2:]],
        [*GONE[:3], {"kind": "REQUEUED", "node": "q", "position": 3, "link": 9}, *GONE[2:]],
        [GONE[1], GONE[0], *GONE[2:]],
        [*GONE[:2], MOVED, GONE_ON, FOLLOWED, *LEFT],
        [UPSTREAM[0], GONE[0], UPSTREAM[1]],
        [GONE[0], GONE[1] | {"flags": "DURABLE"}, *GONE[2:]],
        [*GONE[:3], GONE[3] | {"outcome": 77}],
        [*GONE[:3], GONE[3] | {"flags": ""}],
        [*GONE[:3], {"kind": "TRANSLATION_CHECKED", "link": 7, "exchange": "footer"}, GONE[3]],
    ],
)
def test_what_is_open_or_odd_goes_on_whole(tmp_path, steps):
    assert left(tmp_path, *steps) == [step["kind"] for step in steps]


def test_what_went_to_an_upstream_at_once_is_folded(tmp_path):
    assert left(tmp_path, GONE[0], *UPSTREAM) == []


def test_what_was_looked_at_and_crossed_whole_is_folded(tmp_path):
    looked = {"kind": "TRANSLATION_CHECKED", "link": 7}
    assert left(tmp_path, *GONE[:3], looked, GONE[3]) == []


def test_what_went_on_elsewhere_is_folded(tmp_path):
    assert left(tmp_path, *GONE[:2], MOVED, FOLLOWED, GONE_ON, *LEFT) == []


def test_what_was_given_back_and_taken_again_is_folded(tmp_path):
    back = GONE[3] | {"outcome": "RELEASED", "flags": ""}
    again = GONE[2] | {"flags": "REDELIVERED"}
    assert left(tmp_path, *GONE[:3], back, again, GONE[3]) == []


def test_what_was_browsed_besides_is_folded(tmp_path):
    browsed = {"flags": "COPY", "link": 9}
    steps = [*GONE[:2], GONE[2] | browsed, GONE[3] | browsed, *GONE[2:]]
    assert left(tmp_path, *steps) == []


def test_what_is_settled_late_goes_on_where_there_is_a_bound(tmp_path):
    assert len(left(tmp_path, *GONE, late_ms=1)) == 4
    log = tmp_path / "other"
    log.mkdir()
    assert left(log, *GONE, late_ms=2) == []


def test_two_copies_of_one_message_are_told_apart(tmp_path):
    steps = [GONE[0] | {"copies": 2}, GONE[1], GONE[1] | {"node": "r"}]
    steps += [GONE[2] | {"node": "r"}, GONE[2]]
    steps += [GONE[3] | {"node": "r"}, GONE[3]]
    assert left(tmp_path, *steps) == []


class Wild(HandLog):
    """Messages with histories that are mostly legal, cut into segments anywhere."""

    def __init__(self, directory: Path, seed: int) -> None:
        super().__init__(directory)
        self.random = random.Random(seed)
        self.start()

    def history(self, message: int) -> list[dict]:
        """Of one message; often something is left out, there twice, or changed."""
        chance = self.random.random
        exchange = self.random.choice(["topic", "fanout", "upstream far"])
        nodes = self.random.sample(["a", "b", "c"], self.random.choice([1, 1, 1, 2]))
        said = {"body_digest": 9, "size": 10, "id_digest": message // 2 if chance() < 0.1 else 0}
        transaction = {"transaction": message % 5 + 1} if chance() < 0.05 else {}
        steps = [{"kind": "RECEIVED", "exchange": exchange, "copies": len(nodes), **said}]
        steps[0] |= transaction | ({"flags": "DURABLE"} if chance() < 0.5 else {})
        for node in nodes:
            steps += self.copy(message, node, exchange, transaction, steps[0].get("flags", ""))
        if chance() < 0.1:
            self.spoil(steps)
        return [{"message": message} | step for step in steps]

    def copy(
        self, message: int, node: str, exchange: str, transaction: dict, flags: str
    ) -> list[dict]:
        chance = self.random.random
        at = {"node": node, "position": message}
        bodied = at | {"body_digest": 9}
        sent = {"kind": "SENT", "link": ord(node), **bodied}
        settled = {"kind": "SETTLED", "link": ord(node), **at}
        if chance() < 0.05:
            return [{"kind": "UNROUTABLE", "exchange": exchange}]
        if chance() < 0.1:
            remote = {"flags": "UNQUEUED", "exchange": exchange}
            return [sent | remote, settled | {"outcome": "ACCEPTED", "flags": "UNQUEUED"}]
        durable = {"flags": flags} if chance() < 0.98 else {"flags": "DURABLE"}
        steps = [{"kind": "ENTERED", "exchange": exchange, **bodied, **durable, **transaction}]
        if chance() < 0.1:
            steps += [sent | {"flags": "COPY"}, settled | {"flags": "COPY", "outcome": "ACCEPTED"}]
        again = {}
        while chance() < 0.15:
            steps += [sent | again, settled | {"outcome": "RELEASED"}]
            again = {"flags": "REDELIVERED"}
        kind = self.random.choice(["EXPIRED", "PURGED", "EVICTED", "", "", "", "", "", "", ""])
        if chance() < 0.05:
            steps.append({"kind": "DEAD_LETTERED", **at})
            if chance() < 0.8:
                steps += [{"kind": "ROUTED", "exchange": "dead", "copies": 1}]
                steps += [{"kind": "ENTERED", **bodied, "node": "dead", "exchange": "dead"}]
                steps[-1]["flags"] = "REROUTED"
        elif kind:
            steps.append({"kind": kind, **at})
        elif chance() < 0.3:
            steps.append(sent | {"flags": "SETTLED"})
        else:
            steps += [sent | again, settled | {"outcome": "ACCEPTED", "flags": "REMOVED"}]
        return steps

    def spoil(self, steps: list[dict]) -> None:
        place = self.random.randrange(len(steps))
        match self.random.randrange(7):
            case 0:
                del steps[place]
            case 1:
                steps.append(dict(steps[place]))
            case 2:
                steps[place] = steps[place] | {"body_digest": 4}
            case 3:
                steps.insert(self.random.randrange(len(steps)), steps.pop(place))
            case 4:
                steps[place] = steps[place] | {"position": 7}
            case 5:
                steps[place] = steps[place] | {"link": 7}
            case _:
                steps.append({"kind": "RECOVERED", "node": "a", "position": 1})

    def write(self, messages: int) -> Path:
        histories = [self.history(number) for number in range(1, messages + 1)]
        open_ones: list[list[dict]] = []
        while histories or open_ones:
            while histories and len(open_ones) < 3:
                open_ones.append(histories.pop(0))
            one = self.random.choice(open_ones)
            if one:
                self.add(**one.pop(0))
            if not one:
                open_ones.remove(one)
            if self.random.random() < 0.001:
                self.checkpoint({"a": {"entered": 1}}, {"topic": {"routed": 2}})
            if self.random.random() < 0.002:
                self.cut()
        for number in range(1, 6):
            ended = self.random.choice(["COMMITTED", "ROLLED_BACK"])
            self.add("TRANSACTION", outcome=ended, transaction=number)
        return self.end()


def facts(result: Result, out: Path) -> dict:
    from pyarrow import parquet

    breaks = parquet.read_table(out / "breaks").to_pylist()
    ledger = parquet.read_table(out / "ledger").to_pylist()
    return {
        "breaks": sorted(breaks, key=str),
        "ledger": sorted(ledger, key=str),
        "classes": result.classes,
        "sums": result.sums,
        "queues": result.queues,
        "outlets": result.outlets,
        "published_again": result.published_again,
        "runs": result.incarnations,
        "figures": sorted(result.figures, key=str),
    }


@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("GATEWAY_EXPLORE", "1"))))
def test_what_is_found_is_the_same_as_without_folding_and_in_one_partition(spark, tmp_path, seed):
    log = Wild(tmp_path / "log", seed).write(1500)
    told = {}
    for fold in (True, False):
        out = tmp_path / str(fold)
        with nullcontext() if fold else several_partitions(spark):
            result = reconcile(spark, log, out, bounds=Bounds(late_ms=40), fold=fold)
        told[fold] = facts(result, out)
    assert {"LOST", "DUPLICATE", "MUTATED", "ORPHAN_SETTLEMENT"} <= set(told[True]["classes"])
    for name, value in told[False].items():
        assert told[True][name] == value, name

"""What a state does without: nothing that is found later is otherwise by that."""

import random

import pyspark.sql.functions as F  # noqa: N812
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from support.audit_frames import ledger_of

from gateway.accounting.segments.columns import CHECKPOINTS
from gateway.accounting.segments.parts import PARTS_SCHEMA
from gateway.accounting.segments.summing import SUMS
from gateway.accounting.state.condensed import summed_up, without_ended, without_repeated
from gateway.accounting.steps.balance import balances, differences
from gateway.accounting.steps.confirmed import still_open
from gateway.accounting.steps.identities import IDENTITIES
from gateway.accounting.steps.ledger import incarnations, kind_is, ledger
from gateway.audit.schema import Flag, Kind, Outcome, Reason

RUNS = 8
CHECKS = 16
FOUND = ("sequence", "since", "computed", "excess", "computed_checksum", "unseen", "stuck")


class Life:
    """One run of a gateway; of each third one checkpoints are wrong, for good or for once."""

    def __init__(self, run: int, chance: random.Random) -> None:
        self.run, self.chance = run, chance
        self.lines: list[dict] = []
        self.held = {"a": dict[int, int](), "b": dict[int, int]()}
        self.entered = {"a": 0, "b": 0}
        self.sent = {3: 0, 4: 0}
        self.off = 0
        self.window = 0

    def add(self, kind: Kind, **said: object) -> None:
        self.lines.append({"kind": kind, "incarnation": self.run, "window": self.window, **said})

    def go_on(self) -> None:
        queue = self.chance.choice("ab")
        copy = self.run * 1000 + len(self.lines)
        where = {"node": queue, "message": copy, "position": copy, "mix": copy * 7919}
        self.add(Kind.RECEIVED, exchange="x", copies=1, message=copy)
        self.add(Kind.ENTERED, exchange="x", **where)
        self.entered[queue] += 1
        self.held[queue][copy] = copy * 7919
        if self.chance.random() < 0.7:
            link = 3 if queue == "a" else 4
            self.add(Kind.SENT, link=link, **where)
            self.add(Kind.SETTLED, link=link, outcome=Outcome.ACCEPTED, flags=Flag.REMOVED, **where)
            self.sent[link] += 1
            del self.held[queue][copy]

    def check(self) -> None:
        self.window += 1
        if self.run % 3 == 0 and self.chance.random() < 0.3:
            self.off = self.chance.choice((0, 1, -1))
        for queue, held in self.held.items():
            checksum = 0
            for mix in held.values():
                checksum ^= mix
            wrong = self.off if queue == "a" else 0
            depth = {"position": len(held) + wrong, "id_digest": checksum ^ (wrong * 5)}
            more = {"message": self.entered[queue] + max(wrong, 0), "copies": 0}
            self.add(Kind.QUEUE_CHECKPOINT, node=queue, **depth, **more)
        for link, sent in self.sent.items():
            self.add(Kind.OUTLET_CHECKPOINT, node="a", link=link, message=sent, copies=0)
        self.add(Kind.ROUTE_CHECKPOINT, exchange="x", message=sum(self.entered.values()), copies=0)


def lives(seed: int) -> list[Life]:
    chance = random.Random(seed)
    made = [Life(run, chance) for run in range(1, RUNS + 1)]
    for life in made:
        life.add(Kind.INCARNATION_STARTED)
        for queue in "ab":
            life.add(Kind.TOPOLOGY, node=queue, reason=Reason.QUEUE_DECLARED)
        for _ in range(CHECKS):
            for _ in range(chance.randrange(4)):
                life.go_on()
            life.check()
        if chance.random() < 0.5:
            life.add(Kind.INCARNATION_STOPPED)
    return made


def parts_of(spark, records):
    """One part, as the log's come, with the sums of these records."""
    names = [field.name for field in SUMS]
    listed = ledger_of(records).agg(F.collect_list(F.struct(*names)).alias("sums"))
    empty = spark.createDataFrame([], from_arrow_schema(PARTS_SCHEMA))
    return empty.unionByName(listed, allowMissingColumns=True)


def judged(summed, records) -> dict[str, list]:
    """What fails, and what each thing comes to."""
    runs = incarnations(summed)
    told: dict[str, list] = {}
    for name, each in balances(summed, records, runs).items():
        keys = ("incarnation", each.identity.key)
        told[name] = sorted(map(tuple, each.failed.select(*keys, *FOUND).collect()), key=str)
        results = each.results()
        told[f"sums of {name}"] = sorted(map(tuple, results.collect()), key=str)
    return told


@pytest.fixture(scope="module")
def both(spark, frames) -> dict:
    """A log judged at once, and in two halves with a state between them."""
    made = lives(seed=20261127)
    lines = [line for life in made for line in life.lines]
    records = frames.records(*lines).cache()
    halves = [len(life.lines) // (2 if life.run < RUNS - 2 else 6) for life in made]
    begins = [sum(len(life.lines) for life in made[:at]) for at in range(RUNS)]
    closed = F.lit(False)
    for begin, half in zip(begins, halves, strict=True):
        closed |= F.col("sequence").between(begin + 1, begin + half)
    before, behind = records.where(closed), records.where(~closed)
    summed = ledger_of(records)
    differ = differences(balances(summed, records, incarnations(summed)).values())
    kept = without_repeated(before, differ).cache()
    carried = summed_up(parts_of(spark, before), kept, (-1, -7))
    parts = parts_of(spark, behind).unionByName(carried, allowMissingColumns=True).cache()
    return {
        "whole": judged(summed, records),
        "halves": judged(ledger(parts), kept.unionByName(behind)),
        "checkpoints": [each.where(kind_is(*CHECKPOINTS)).count() for each in (before, kept)],
        "sums": [ledger_of(before).count(), carried.select(F.inline("sums")).count()],
        "place": carried.select("ordinal", "part").first(),
    }


@pytest.mark.parametrize("what", [each.name for each in IDENTITIES])
def test_what_fails_is_the_same_and_between_the_same_records(both, what):
    assert both["halves"][what] == both["whole"][what]


@pytest.mark.parametrize("what", [each.name for each in IDENTITIES])
def test_what_all_comes_to_is_the_same(both, what):
    assert both["halves"][f"sums of {what}"] == both["whole"][f"sums of {what}"]


def test_something_fails_in_that_log(both):
    assert len(both["whole"]["queues"]) > 4


def test_there_is_less_of_it(both):
    (all_said, kept), (all_summed, summed) = both["checkpoints"], both["sums"]
    assert kept < all_said * 3 / 4
    assert summed < all_summed * 3 / 4
    assert tuple(both["place"]) == (-1, -7)


def still(spark, frames, *lines: dict, wrong: tuple[int, ...] = ()) -> list[tuple]:
    """What a state has of these records: kind and link, of ranges first, last and how many."""
    records = frames.records(*lines)
    links = spark.createDataFrame([(1, link) for link in wrong], "incarnation bigint, link bigint")
    rows = without_ended(records, ledger_of(records), links).orderBy("sequence").collect()
    return [
        (Kind(row["kind"]).name, row["link"])
        + ((row["message"], row["position"], row["copies"]) if row["kind"] == 15 else ())
        for row in rows
    ]


def told(first: int, last: int, link: int, copies: int) -> dict:
    said = {"message": first, "position": last, "link": link, "copies": copies}
    return {"kind": Kind.CONFIRMED, "outcome": Outcome.ACCEPTED, **said}


def test_what_was_told_of_messages_that_left_is_as_many_of_no_message(spark, frames):
    waits = {"kind": Kind.ENTERED, "message": 7, "node": "q", "position": 7}
    ranges = [told(1, 4, 3, 4), told(5, 6, 3, 2), told(7, 9, 3, 2), told(8, 8, 4, 1)]
    others = [told(1, 4, 5, 3), told(10, 11, 5, 2)]
    assert still(spark, frames, waits, *ranges, *others, wrong=(5,)) == [
        ("ENTERED", 0),
        ("CONFIRMED", 3, 1, 0, 6),
        ("CONFIRMED", 3, 7, 9, 2),
        ("CONFIRMED", 4, 1, 0, 1),
        ("CONFIRMED", 5, 1, 4, 3),
        ("CONFIRMED", 5, 10, 11, 2),
    ]


def test_links_that_ended_are_let_go_but_for_what_is_asked_of_them(spark, frames):
    came = [{"kind": Kind.LINK_ATTACHED, "link": link, "connection": 9} for link in range(1, 6)]
    came[2]["peer"] = "link 3: q"
    went = [{"kind": Kind.LINK_DETACHED, "link": link} for link in range(1, 5)]
    sent = {"kind": Kind.SENT, "message": 7, "node": "q", "position": 7, "link": 2}
    lost = {"kind": Kind.TRANSLATED_WITH_LOSS, "message": 6, "link": 4, "exchange": "row"}
    session = [{"kind": each} for each in (Kind.SESSION_ATTACHED, Kind.SESSION_DETACHED)]
    left = still(spark, frames, *came, sent, lost, *went, *session)
    assert [link for kind, link in left if kind == "LINK_ATTACHED"] == [2, 3, 4, 5]
    assert [link for kind, link in left if kind == "LINK_DETACHED"] == [2, 3, 4]
    assert len(left) == 9


def test_ranges_that_are_right_over_several_parts_are_open_no_more(spark):
    names = "incarnation bigint, link bigint, first bigint, last bigint, messages bigint"
    rows = [
        *[(1, 3, message, message, at, 0) for message, at in ((4, 10), (6, 12), (9, 15))],
        (1, 3, 4, 6, 2, 20),  # of two messages, which came in front of it
        (1, 4, 4, 6, 2, 20),  # and of these only one
        (1, 4, 4, 4, 10, 0),
        *[(1, 5, 1, 9, 0, 0), (1, 5, 4, 6, 2, 20)],  # of a span it is not known
    ]
    left = still_open(spark.createDataFrame(rows, f"{names}, sequence bigint"))
    assert sorted(map(tuple, left.collect())) == sorted([rows[2], *rows[4:]])

"""What people and programs are told of a comparison; nothing here needs Spark."""

import json

from gateway.accounting.comparing.job import Compared, Side
from gateway.accounting.comparing.logs import Facts
from gateway.accounting.comparing.told import as_json, headline, notes, summary
from gateway.accounting.comparing.verdicts import Verdict
from gateway.accounting.telling.ran import Ran

HERE = Facts("/logs/a\x1b", "a", 100, 0, 1_790_000_060_000, False, 3, True, True)
ROW = {
    "id_digest": -1,
    "text": None,
    "verdict": "missing there",
    "why": "times",
    "age": "older",
    "here": 1,
    "here_at_most": 2,
    "there": 0,
    "there_at_most": 0,
    "queue": None,
    "here_first_ms": 1_790_000_000_001,
    "there_first_ms": None,
    "there_at": None,
    "here_log": 0,
    "here_message": 17,
}
RAN = Ran("somebody", 1.0, 2.0, {}, "grace 60 s")


def compared(**changes: object) -> Compared:
    said: dict = {
        "here": Side("/logs/a\x1b", "what it sent", [HERE], 1_204, 3, 1_790_000_060_000),
        "there": Side("l.csv", "what it says", [], 1_200, 0, None, unread=2, timeless=1),
        "by_queue": False,
        "rows": 1_202,
        "counts": {Verdict.MISSING_THERE: 2, Verdict.MATCHED: 1_200},
        "ages": {Verdict.MISSING_THERE: {"older": 1, "< 1 min": 1}},
        "unsure": 4,
        "wrong": 2,
        "tolerate": 0,
        "let_pass": (),
        "listed": [ROW],
        "differing": 12,
    }
    return Compared(**(said | changes))


def clean(**changes: object) -> Compared:
    """What has no fault but what is said."""
    sides = {name: Side(name, "what it sent", [], 1, 0, None) for name in ("here", "there")}
    found = {"counts": {Verdict.MATCHED: 1}, "ages": {}, "unsure": 0, "wrong": 0}
    return compared(**(sides | found | {"listed": [], "differing": 0} | changes))


def test_the_lines_say_what_matches_what_does_not_since_when_and_what_to_type():
    assert summary(compared(), "/out/report.json").splitlines() == [
        "not matched: /logs/a\\x1b and l.csv",
        "  here     1,204 what it sent, 3 without an id, which nobody can compare, until "
        "2026-09-21 14:14:20 UTC",
        "  there    1,200 what it says",
        "  ids      1,200 matched (4 of them sent again or turned away), 2 missing there",
        "  age      missing there: 1 < 1 min, 1 older",
        "  note     /logs/a\\x1b: is damaged, records that are missing: 3; `reconcile` says where",
        "  note     /logs/a\\x1b: before schema version 4 what left has no id, and those of 0-10 "
        "are others",
        "  note     l.csv: lines not read, for their id, their count or their columns: 2",
        "  note     l.csv: lines whose time is none: 1",
        "  missing there: id with digest ffffffffffffffff, 1 to 2 here, 0 there, "
        "2026-09-21 14:13:20.001 UTC; amqp-gateway audit trace --message 17 $'/logs/a\\x1b'",
        "  and 2 more",
        "  report   /out/report.json",
    ]


def test_it_matches_if_nothing_disagrees_that_may_not_and_everything_was_read():
    open_ = {Verdict.MATCHED: 1, Verdict.NOT_YET_THERE: 1}
    assert headline(clean()) == "matched"
    assert headline(clean(counts=open_)) == "matched so far"
    assert headline(clean(counts={})) == "nothing to match"
    assert headline(clean(wrong=1)) == "not matched"
    tolerated = clean(wrong=1, tolerate=1)
    assert (headline(tolerated), len(list(notes(tolerated)))) == ("matched", 1)
    assert headline(clean(counts={Verdict.NOT_PROVEN: 1})) == "not matched"
    assert headline(clean(there=Side("l.csv", "", [], 1, 0, None, unread=1))) == "not matched"
    assert headline(clean(here=Side("a", "", [HERE], 1, 0, None))) == "not matched"


def test_what_is_only_here_or_there_is_told_also_where_it_may_be():
    found = clean(counts={Verdict.MISSING_HERE: 3}, let_pass=(Verdict.MISSING_HERE,))
    assert "0 matched, 3 missing here, which may be" in summary(found, "r")


def test_counts_are_of_queues():
    row = ROW | {"queue": "orders", "verdict": "different", "there": 5, "there_at_most": 5}
    told = summary(clean(by_queue=True, listed=[row], differing=1), "r")
    assert "  different: queue orders, 1 to 2 here, 5 there" in told.splitlines()
    assert "  queues   1 matched" in told


def test_programs_are_told_all_of_it():
    told = json.loads(json.dumps(as_json(compared(), RAN)))
    assert (told["verdict"], told["matched"], told["final"]) == ("not matched", False, True)
    assert told["counts"] == {"missing there": 2, "matched": 1_200}
    assert told["sides"]["here"]["logs"][0]["missing"] == 3
    (row,) = told["differing"]
    assert (row["id_digest"], row["here_message"]) == ("f" * 16, 17)
    assert row["trace"].startswith("amqp-gateway audit trace --message 17 ")

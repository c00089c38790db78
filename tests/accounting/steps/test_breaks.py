"""What is proven, and what may be there for want of records that cannot be read."""

import pytest
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks, together, with_known, with_proof

SPAN = "since bigint, sequence bigint"
DOUBT = "doubt array<struct<first bigint, last bigint>>"


@pytest.fixture
def proven(frames):
    def judged(since: int | None, sequence: int, *doubt: tuple[int, int]) -> bool:
        spans = frames.table(SPAN, (since, sequence))
        breaks = as_breaks(spans, BreakClass.LOST, F.lit("gone"))
        (row,) = with_proof(breaks, frames.table(DOUBT, (list(doubt),))).collect()
        return bool(row["proven"])

    return judged


def test_what_a_whole_log_shows_is_proven(proven):
    assert proven(0, 50)


def test_what_missing_records_may_explain_is_not(proven):
    assert not proven(0, 50, (1, 1))
    assert not proven(10, 50, (60, 70), (50, 55))
    assert not proven(10, 50, (2, 10))
    assert not proven(10, 50, (20, 30))


def test_what_is_missing_elsewhere_does_not_matter(proven):
    assert proven(10, 50, (1, 9), (51, 60))


def test_what_is_there_needs_nothing_else(proven):
    assert proven(None, 50, (1, 100))


def test_what_several_steps_find_is_all_there(frames):
    found = [
        as_breaks(frames.table("message bigint", (number,)), BreakClass.LOST, F.lit("gone"))
        for number in range(5)
    ]
    rows = together(*found).select("message", "class", "detail").collect()
    assert sorted(map(tuple, rows)) == [(number, "LOST", "gone") for number in range(5)]


def test_what_was_known_is_told_once_and_what_is_stuck_is_the_same_later(frames):
    columns = "class string, message bigint, sequence bigint, detail string"

    def breaks(*rows: tuple):
        return as_breaks(frames.table(columns, *rows), F.col("class"), F.col("detail"))

    found = breaks(("LOST", 5, 9, "now"), ("STUCK", 6, 80, "now"))
    known = breaks(
        *(("LOST", 5, 9, "then"), ("LOST", 5, 10, "then"), ("LOST", None, 9, "then")),
        *(("STUCK", 6, 50, "then"), ("STUCK", None, 80, "then"), ("DUPLICATE", 5, 9, "then")),
    )
    told = with_known(found, known).orderBy("class", "message", "sequence").collect()
    assert [(row["class"], row["message"], row["sequence"], row["detail"]) for row in told] == [
        ("DUPLICATE", 5, 9, "then"),
        ("LOST", None, 9, "then"),
        ("LOST", 5, 9, "now"),
        ("LOST", 5, 10, "then"),
        ("STUCK", None, 80, "then"),
        ("STUCK", 6, 80, "now"),
    ]


def test_what_was_known_is_not_told_again_by_what_a_later_record_shows_of_it(frames):
    columns = "class string, node string, message bigint, position bigint, sequence bigint"
    columns += ", incarnation bigint, `count` bigint"

    def breaks(*rows: tuple):
        return as_breaks(frames.table(columns, *rows), F.col("class"), F.lit(""))

    lost, orphan = "LOST", "ORPHAN_SETTLEMENT"
    known = breaks(
        (lost, "q", 5, 1, 40, 1, 1),
        (lost, "amq.topic", 6, None, 40, 1, 1),
        *((lost, "gone", number, number, 40, 1, 1) for number in (7, 8)),
        (lost, "r", 9, 1, 40, 1, 1),
    )
    found = breaks(
        (lost, "q", 5, 1, 90, 1, 1),
        (orphan, "p", 6, 2, 91, 2, 1),
        (lost, "gone", None, None, 90, 1, 2),
        (lost, "gone", 8, 8, 99, 2, 1),
        (lost, "r", 9, 2, 90, 1, 1),
    )
    told = with_known(found, known).collect()
    assert sorted((row["message"], row["class"], row["sequence"]) for row in told) == [
        (5, lost, 90),
        (6, orphan, 91),
        (7, lost, 40),
        (8, lost, 99),
        (9, lost, 40),
        (9, lost, 90),
    ]


def test_that_one_is_wrong_in_a_queue_is_told_by_the_record_that_is_when_that_is_known(frames):
    columns = "class string, node string, message bigint, since bigint, sequence bigint"
    columns += ", incarnation bigint, `count` bigint, certain boolean"

    def breaks(*rows: tuple):
        return as_breaks(frames.table(columns, *rows), F.col("class"), F.lit(""))

    known = breaks(
        *(("LOST", node, None, 10, 40, 1, count, False) for node, count in (("q", 1), ("q", 2))),
        *(("LOST", "q", None, since, 40, run, 1, False) for since, run in ((21, 1), (10, 2))),
        ("LOST", "r", None, 10, 40, 1, 1, False),
    )
    found = breaks(("ORPHAN_SETTLEMENT", "q", 5, 0, 20, 1, 1, True))
    told = with_known(found, known).where("class = 'LOST'").collect()
    rows = [(row["node"], row["since"], row["incarnation"], row["count"]) for row in told]
    assert sorted(rows) == [("q", 10, 1, 2), ("q", 10, 2, 1), ("q", 21, 1, 1), ("r", 10, 1, 1)]

"""Is the log whole? Steps on the `segments` view: gaps, the chain of hashes, the clock."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.audit.schema import NO_LIFE, Kind

DRIFT_LIMIT_MS: Final = 1_000
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def with_previous(segments: DataFrame) -> DataFrame:
    """Each segment beside the one before it, by file name, and what damage it has (`told`).

    `before_last_sequence` is the last record before it, wherever that is. `before_open`: the one
    before ends with damage, whose finding says what is missing there.
    """
    order = Window.orderBy("ordinal")
    before = (
        *("segment", "number", "sha256", "last_time_ms", "damaged", "open", "unfinished"),
        *("incarnation", "log", "unlike_seal"),
    )
    behind = F.min("first_sequence").over(order.rowsBetween(1, Window.unboundedFollowing))
    beside = segments.withColumn("open", _ends_damaged()).select(
        "*",
        *(F.lag(name).over(order).alias(f"before_{name}") for name in before),
        F.max("last_sequence")
        .over(order.rowsBetween(Window.unboundedPreceding, -1))
        .alias("before_last_sequence"),
        behind.alias("after_sequence"),
        F.lead("ordinal").over(order).isNull().alias("newest"),
    )
    # A run may have begun twice, if the first segment of it could not be written.
    ran = F.coalesce("before_incarnation", F.lit(NO_LIFE))
    begins = F.when(~F.col("before_incarnation").eqNullSafe(F.col("incarnation")), ran)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    run_before = F.last(begins, ignorenulls=True).over(so_far)
    return beside.withColumns({"run_before": run_before, "told": _told()})


def _ends_damaged() -> Column:
    last = F.try_element_at("findings", F.lit(-1))
    return (F.size("unfinished") > 0) | (F.col("damaged") & last["found"].isNull())


def _told() -> Column:
    """What is damaged, with the numbers that only the segments around can tell.

    A block that the newest segment has half of is no damage: it may be written at this moment. But
    half a block and nothing else is no log.
    """
    before = F.coalesce("before_last_sequence", F.lit(0)) + 1
    behind = F.coalesce("last_sequence", "before_last_sequence", F.lit(0)) + 1
    provisional = F.col("newest") & (behind > 1)
    half = F.when(~provisional, F.col("unfinished")).otherwise(F.array())

    def in_full(one: Column) -> Column:
        nothing = F.col("first_sequence").isNull()
        begins = one["expected"].isNull() & (one["found"] == F.col("first_sequence"))
        ends = one["found"].isNull() & (one["expected"].isNotNull() | nothing)
        expected = F.when(begins, before).when(ends, behind).otherwise(one["expected"])
        found = F.when(ends, F.col("after_sequence")).otherwise(one["found"])
        return one.withField("expected", expected).withField("found", found)

    def at_end(one: Column) -> Column:
        return one.withField("expected", behind).withField("found", F.col("after_sequence"))

    damages = F.filter("findings", lambda one: one["problem"] != "")
    return F.concat(F.transform(damages, in_full), F.transform(half, at_end))


def gaps_inside(paired: DataFrame) -> DataFrame:
    """Damaged blocks and sequence gaps, with their places; `paired` by `with_previous`."""
    found = paired.select("segment", "incarnation", F.inline("told"))
    detail = F.concat(F.col("problem"), _numbers(F.col("expected"), F.col("found")))
    return as_breaks(found, BreakClass.LOG_GAP, detail, sequence=F.col("expected"))


def _numbers(expected: Column, found: Column) -> Column:
    """What a finding says of sequence numbers, as `reader.numbers_in_words`."""
    last = found - 1
    all_of_them = F.format_string(" (record %d and all behind it are missing)", expected)
    return (
        F.when(expected.isNull() | (found == expected), "")
        .when(found.isNull(), all_of_them)
        .when(last == expected, F.format_string(" (record %d is missing)", expected))
        .when(last > expected, F.format_string(" (records %d to %d are missing)", expected, last))
        .otherwise(F.format_string(" (expected record %d, found %d)", expected, found))
    )


def gaps_between(paired: DataFrame, excused: Mapping[str, str] = NOTHING) -> DataFrame:
    """Segments missing, changed or out of place; `paired` by `with_previous`.

    `excused`: by segment, what is wrong in front of it for all that what is missing there was let
    go; as a rule "".
    """
    number = F.coalesce("before_number", F.lit(0)) + 1
    first = F.coalesce("before_last_sequence", F.lit(0)) + 1
    # What is missing with a damaged block, on either side, is told with that.
    begins = F.exists("told", lambda one: one["found"] == F.col("first_sequence"))
    jump = (first != F.col("first_sequence")) & ~begins & ~F.coalesce("before_open", F.lit(False))
    as_told = ~F.col("before_damaged") & ~F.col("before_unlike_seal")
    changed = (F.col("before_sha256") != F.col("previous_sha256")) & as_told
    another = (F.col("log") != "") & (F.col("before_log") != "")
    another &= F.col("log") != F.col("before_log")
    missing = F.format_string(
        "segment number %d where %d belongs: a segment is missing or was moved", "number", number
    )
    detail = (
        F.when(
            number != F.col("number"),
            F.concat(missing, F.when(jump, _numbers(first, F.col("first_sequence"))).otherwise("")),
        )
        .when(
            jump & F.col("before_segment").isNull(),
            F.format_string(
                "the log begins with sequence %d: what was before it is missing", "first_sequence"
            ),
        )
        .when(
            jump,
            F.format_string(
                "%s ends with sequence %d, this one begins with %d",
                "before_segment",
                first - 1,
                "first_sequence",
            ),
        )
        .when(another, F.format_string("it is of another log, with id %s", "log"))
        .when(
            changed & (F.size("before_unfinished") == 0),
            F.format_string("%s is not what it was when it was closed", "before_segment"),
        )
        .when(
            F.col("previous_incarnation") > F.col("run_before"),
            F.format_string(
                "run %d of the gateway is missing: this one came behind it", "previous_incarnation"
            ),
        )
        .when(
            F.col("previous_incarnation") < F.col("run_before"),
            F.format_string(
                "run %d of the gateway is not the one that this one came behind", "run_before"
            ),
        )
    )
    found = paired.withColumn("detail", detail).where("detail is not null")
    for segment, flaw in excused.items():
        here = F.col("segment") == segment
        found = found.withColumn("detail", F.when(here, flaw).otherwise(F.col("detail")))
    found = found.where("detail <> ''")
    placed = {"block": F.lit(0), "offset": F.lit(0), "sequence": first}
    return as_breaks(found, BreakClass.LOG_GAP, F.col("detail"), **placed)


def doubt(paired: DataFrame) -> DataFrame:
    """One row: the ranges of sequence numbers of which the log cannot tell what happened there.

    Records that are missing, or are there more than once, or whose names are missing.
    """
    first = F.coalesce("before_last_sequence", F.lit(0)) + 1
    between = _range(first, F.col("first_sequence"))
    inside = paired.select(F.inline("told")).select(_range(F.col("expected"), F.col("found")))
    unnamed = F.struct(F.col("unnamed_from").alias("first"), F.col("unnamed_to").alias("last"))
    ranges = inside.unionByName(paired.select(between)).unionByName(
        paired.select(unnamed.alias("range"))
    )
    return ranges.where("range.first <= range.last").agg(F.collect_set("range").alias("doubt"))


def _range(expected: Column, found: Column) -> Column:
    """What is between, whichever comes first; nothing where one of them is not known."""
    known = expected.isNotNull() & found.isNotNull()
    first, last = F.least(expected, found), F.greatest(expected, found) - 1
    return F.when(known, F.struct(first.alias("first"), last.alias("last"))).alias("range")


def told_differences(stated: DataFrame) -> DataFrame:
    """What the gateway found at a start to be not as it had left it; recorded there for ever."""
    told = stated.where(F.col("kind") == int(Kind.LOG_DIFFERS)).select(
        "incarnation",
        "sequence",
        F.col("node").alias("segment"),
        F.coalesce("peer", F.lit("")).alias("problem"),
        F.col("position").alias("expected"),
    )
    return as_breaks(
        told,
        BreakClass.LOG_GAP,
        F.format_string(
            "the gateway started with a log that was not what it had left: %s (record %d)",
            "problem",
            "expected",
        ),
    )


def clock_breaks(paired: DataFrame, stated: DataFrame) -> DataFrame:
    """Where the gateway's clock was wrong."""
    return clock_going_back(paired).unionByName(clock_drifting(stated))


def clock_going_back(paired: DataFrame) -> DataFrame:
    """The gateway clock never goes back, by design; in a segment that was moved it is no wonder."""
    inside = (
        paired.select("segment", "incarnation", F.inline("findings"))
        .where("time_back_ms > 0")
        .select("segment", "incarnation", "block", "offset", "time_back_ms")
    )
    moved = F.col("first_sequence") <= F.coalesce("before_last_sequence", F.lit(0))
    between = paired.where((F.col("first_time_ms") < F.col("before_last_time_ms")) & ~moved).select(
        "segment",
        "incarnation",
        F.lit(0).alias("block"),
        F.lit(0).alias("offset"),
        (F.col("before_last_time_ms") - F.col("first_time_ms")).alias("time_back_ms"),
    )
    return as_breaks(
        inside.unionByName(between),
        BreakClass.CLOCK_SKEW,
        F.format_string("the clock goes back by %d ms", "time_back_ms"),
    )


def clock_drifting(checkpoints: DataFrame) -> DataFrame:
    """Drift beyond the limit, from the `clock` records: the worst of each incarnation."""
    worst = (
        checkpoints.where(F.col("kind") == int(Kind.CLOCK))
        .where(F.abs("position") > DRIFT_LIMIT_MS)
        .groupBy("incarnation")
        .agg(
            F.max_by("position", F.abs("position")).alias("drift_ms"),
            F.max_by("sequence", F.abs("position")).alias("sequence"),
            F.count("*").alias("count"),
        )
    )
    return as_breaks(
        worst,
        BreakClass.CLOCK_SKEW,
        F.format_string("the clock is %d ms away from the wall clock", "drift_ms"),
    )

"""Is the log whole? Steps on the `segments` view: gaps, the chain of hashes, the clock."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.breaks import BreakClass, as_breaks
from gateway.audit.schema import Kind

DRIFT_LIMIT_MS: Final = 1_000


def with_previous(segments: DataFrame) -> DataFrame:
    """Each segment beside the one before it, by file name."""
    order = Window.orderBy("ordinal")
    before = ("segment", "number", "sha256", "last_sequence", "last_time_ms", "damaged")
    return segments.select(
        "*", *(F.lag(name).over(order).alias(f"before_{name}") for name in before)
    )


def gaps_inside(segments: DataFrame) -> DataFrame:
    """Damaged blocks and sequence gaps, with their places."""
    found = segments.select("segment", "incarnation", F.inline("findings")).where("problem <> ''")
    detail = F.concat(F.col("problem"), _numbers(F.col("expected"), F.col("found")))
    return as_breaks(found.withColumn("sequence", F.col("expected")), BreakClass.LOG_GAP, detail)


def _numbers(expected: Column, found: Column) -> Column:
    """What a finding says of sequence numbers, as `reader.numbers_in_words`."""
    last = found - 1
    return (
        F.when(expected.isNull() | (found == expected), "")
        .when(found.isNull(), F.format_string(" (record %d and all behind it are missing)", expected))
        .when(last == expected, F.format_string(" (record %d is missing)", expected))
        .when(last > expected, F.format_string(" (records %d to %d are missing)", expected, last))
        .otherwise(F.format_string(" (expected record %d, found %d)", expected, found))
    )


def gaps_between(paired: DataFrame) -> DataFrame:
    """Segments missing, changed or out of place; `paired` by `with_previous`."""
    missing = F.coalesce(F.col("before_number"), F.lit(0)) + 1 != F.col("number")
    changed = F.col("before_sha256") != F.col("previous_sha256")
    # What is missing with a damaged block that a segment begins with is told with that.
    told = F.exists(
        "findings", lambda one: (one.found == F.col("first_sequence")) & one.expected.isNull()
    )
    jump = (F.col("before_last_sequence") + 1 != F.col("first_sequence")) & ~told
    late = F.col("before_segment").isNull() & (F.col("first_sequence") != 1)
    detail = (
        F.when(
            missing,
            F.format_string(
                "segment number %d where %d belongs: a segment is missing or was moved",
                "number",
                F.coalesce(F.col("before_number"), F.lit(0)) + 1,
            ),
        )
        .when(
            late,
            F.format_string(
                "the log begins with sequence %d: what was before it is missing", "first_sequence"
            ),
        )
        .when(F.col("before_damaged"), None)  # its damage is reported where it is
        .when(
            jump,
            F.format_string(
                "%s ends with sequence %d, this one begins with %d",
                "before_segment",
                "before_last_sequence",
                "first_sequence",
            ),
        )
        .when(
            changed, F.format_string("%s is not what it was when it was closed", "before_segment")
        )
    )
    found = paired.withColumn("detail", detail).where("detail is not null")
    placed = found.withColumn("block", F.lit(0)).withColumn("offset", F.lit(0))
    return as_breaks(
        placed.withColumn("sequence", F.coalesce("before_last_sequence", F.lit(0)) + 1),
        BreakClass.LOG_GAP,
        F.col("detail"),
    )


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


def clock_going_back(paired: DataFrame) -> DataFrame:
    """The gateway clock never goes back, by design."""
    inside = (
        paired.select("segment", "incarnation", F.inline("findings"))
        .where("time_back_ms > 0")
        .select("segment", "incarnation", "block", "offset", "time_back_ms")
    )
    between = paired.where("first_time_ms < before_last_time_ms").select(
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

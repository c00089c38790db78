"""Steps that a record has of another copy than the one that took them: which, and whose they are.

Such a record is two copies' breaks, or more: of the one that it names, whose next steps cannot
follow, and of the one that took the step, which is in its queue by the log still. With the right
copy in it all of them go, so that it is told of as one, and judged as if it said so.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.ledger import flag, kind_is
from gateway.audit.schema import REMOVALS, Flag, Kind

_RIGHT: Final = ("message", "position", "mix")  # what another copy has otherwise
_MISSING: Final = "computed_checksum ^ checksum"


def displaced(steps: DataFrame) -> DataFrame:
    """Copies that came back to a place in their queue that they never had, and not to their own.

    `steps`: by `copies.with_previous`.
    """
    strange = steps.where(kind_is(Kind.RECOVERED) & (F.col("before") == "none")).select(
        *("message", "node", F.col("incarnation").alias("run"), F.col("sequence").alias("at")),
        *(F.col(name).alias(f"said_{name}") for name in ("position", "mix")),
    )
    earlier = F.expr("incarnation < run")
    stored = F.bool_or(earlier & (F.col("step") == "in") & flag(Flag.DURABLE))
    back = F.bool_or(kind_is(Kind.RECOVERED) & (F.col("incarnation") == F.col("run")))
    last = F.max_by("step", F.when(earlier, F.col("sequence")))
    own = (
        steps.join(F.broadcast(strange), ["message", "node"])
        .where("position <> said_position")
        .groupBy(*COPY_KEYS, "run", "at", "said_position", "said_mix")
        .agg(
            *(stored.alias("stored"), back.alias("back"), last.alias("last")),
            F.max("mix").alias("mix"),
        )
        .withColumn("since", F.lit(0))
        .where("stored and not back and last <> 'exit'")
    )
    return _only(own, "at", "message", "position", "run").select(
        *_columns("said_position", F.col("message"), "run"),
        F.col("at").alias("shown"),
        F.lit(str(BreakClass.ORPHAN_SETTLEMENT)).alias("class"),
        F.format_string(
            "recovered at place %d of its queue, where it never was; it was at %d",
            *("said_position", "position"),
        ).alias("detail"),
    )


def misnamed(failed: DataFrame, open_copies: DataFrame, steps: DataFrame) -> DataFrame:
    """Copies that a queue has no more, and another one is said to have left it, which has not.

    `failed`: queues, by `identities.failures`. By the checksum the one is there and the other is
    not, or, if it has left since, just the one is missing. The other takes a step that cannot
    follow: of one that takes none nothing is known where it is folded.
    """
    order = Window.partitionBy(*COPY_KEYS).orderBy("sequence")
    again = F.lead("sequence").over(order).isNotNull() | F.col("before").isin("exit", "none")
    left = (
        steps.withColumn("again", again)
        .where(kind_is(*REMOVALS))
        .where("again")
        .select(
            *("incarnation", "node", F.col("sequence").alias("at")),
            *(F.col(name).alias(f"said_{name}") for name in _RIGHT),
        )
    )
    spans = failed.where("excess in (0, 1)").select(
        *("incarnation", "node", F.col("sequence").alias("shown"), "since", "excess"),
        F.expr(_MISSING).alias("missing"),
    )
    there = open_copies.where("entered_sequence is not null").select(
        *("incarnation", "node", "entered_sequence", *_RIGHT)
    )
    said = left.join(F.broadcast(spans), ["incarnation", "node"])
    said = said.where("at > since and at < shown")
    found = said.withColumn("mix", F.expr("if(excess = 0, missing ^ said_mix, missing)")).join(
        there, ["incarnation", "node", "mix"]
    )
    found = found.where("entered_sequence < at")
    return _only(found, "shown", "message", "position").select(
        *_columns("said_position", F.col("said_message"), "incarnation"),
        "shown",
        F.lit(str(BreakClass.LOST)).alias("class"),
        F.format_string(
            "in the queue by the log, not by the checkpoint; record %d says of message %d in its "
            "place that it left",
            *("at", "said_message"),
        ).alias("detail"),
    )


def _only(found: DataFrame, of: str, *others: str) -> DataFrame:
    """One for each `of`, and one for each of the others."""
    ranks = {
        "rank": F.row_number().over(Window.partitionBy("node", of).orderBy(*COPY_KEYS, "at")),
        "other": F.row_number().over(Window.partitionBy("node", *others).orderBy(of)),
    }
    return found.withColumns(ranks).where("rank = 1 and other = 1")


def _columns(said_position: str, said_message: Column, run: str) -> tuple[Column, ...]:
    return (
        *(F.col(name) for name in (*COPY_KEYS, "mix", "at", "since")),
        F.col(run).alias("incarnation"),
        said_message.alias("said_message"),
        F.col(said_position).alias("said_position"),
        F.col("said_mix"),
    )


def put_right(records: DataFrame, mistakes: DataFrame) -> DataFrame:
    """Records, each of the copy whose step it is."""
    right = mistakes.select(
        F.col("at").alias("sequence"), *(F.col(name).alias(f"right_{name}") for name in _RIGHT)
    )
    joined = records.join(F.broadcast(right), "sequence", "left")
    changed = {name: F.coalesce(f"right_{name}", name) for name in _RIGHT}
    return joined.withColumns(changed).select(*records.columns)


def effects(mistakes: DataFrame) -> DataFrame:
    """What puts the sums off, as by `causes.effects`: they are of the records as they are."""
    return mistakes.select(
        *("incarnation", *COPY_KEYS, F.col("at").alias("begun"), F.col("at").alias("sequence")),
        *(F.lit(0).alias(name) for name in ("depth", "held")),
        F.expr("cast(array() as array<struct<link: bigint, off: int, unsent: int>>)").alias(
            "links"
        ),
        *(F.expr("mix ^ said_mix").alias("mix"), F.lit(0).alias("came")),
    )


def mistake_breaks(mistakes: DataFrame) -> DataFrame:
    """One for each."""
    return as_breaks(mistakes, F.col("class"), F.col("detail"), sequence=F.col("shown"))

"""Outlets: deliveries that never ended, and where each of them leads."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.ledger import ends_so, flag, kind_is
from gateway.audit.schema import Flag, Kind

OUTLET_KEYS: Final = ("incarnation", "link")


def outlet_breaks(failed: DataFrame, outlets: DataFrame) -> DataFrame:
    """Outlets whose unsettled deliveries are not what their checkpoint says.

    What never ended of those that are gone (`outlets`, by `gone`) is told with that.
    """
    owing = F.broadcast(outlets.select(*OUTLET_KEYS))
    failed = failed.where("excess < 0").unionByName(
        failed.where("excess > 0").join(owing, [*OUTLET_KEYS], "left_anti")
    )
    stuck = F.when(F.col("excess") > 0, str(BreakClass.STUCK))
    return as_breaks(
        failed,
        stuck.otherwise(str(BreakClass.ORPHAN_SETTLEMENT)),
        F.format_string(
            "outlet %d: %d unsettled by the log, %d by its checkpoint", "link", "computed", "stated"
        ),
        count=F.abs("excess"),
        node=F.col("of_node"),
    )


def gone(outlets: DataFrame, summed: DataFrame, runs: DataFrame) -> DataFrame:
    """Outlets that are gone although deliveries of theirs never ended.

    A record says so, or the checkpoint with which a run (`runs`, by `ledger.incarnations`) ended in
    order: that names each outlet that there still is, as of branches that are prepared.
    """
    said = F.when(kind_is(Kind.OUTLET_CHECKPOINT), F.col("last_sequence"))
    lives = summed.groupBy("incarnation", "link").agg(
        F.min("first_sequence").alias("since"),
        F.max("last_sequence").alias("until"),
        F.bool_or(kind_is(Kind.LINK_DETACHED)).alias("detached"),
        F.max(said).alias("named"),
    )
    ends = runs.select("incarnation", "last_sequence", "stopped", "last_checked", "last_step")
    owing = outlets.where("unsettled > 0").join(lives, [*OUTLET_KEYS])
    at_stop = "stopped and last_checked > last_step and coalesce(named < last_step, true)"
    return (
        owing.join(F.broadcast(ends), "incarnation")
        .where(f"detached or {at_stop}")
        .withColumn("until", F.expr("if(detached, until, last_sequence)"))
        .select(*OUTLET_KEYS, "since", "until", "unsettled", "of_node")
    )


def detached_breaks(outlets: DataFrame, each: DataFrame, known: DataFrame) -> DataFrame:
    """What never ended of `outlets` (by `gone`), by name where the records have just that much.

    `each`: by `owed`. What copies explain that are told of otherwise is not told: `known`, by
    `causes.effects`.
    """
    all_of_it = Window.partitionBy(*OUTLET_KEYS)
    judged = _left(each, known).withColumns(
        {
            "shown": F.sum("open").over(all_of_it),
            "least": F.min("left").over(all_of_it),
        }
    )
    sure = judged.where("shown = unsettled and least >= 0")
    named = as_breaks(
        sure.where("left > 0"),
        BreakClass.STUCK,
        F.format_string("outlet %d is gone; sent to it by record %d, it never ended", "link", "at"),
        count=F.col("left"),
        since=F.col("at"),
        sequence=F.col("until"),
    )
    rest = outlets.join(F.broadcast(sure.select(*OUTLET_KEYS).distinct()), [*OUTLET_KEYS], "anti")
    return named.unionByName(
        as_breaks(
            rest,
            BreakClass.STUCK,
            F.format_string(
                "outlet %d is gone, %d of its deliveries never ended", "link", "unsettled"
            ),
            count=F.col("unsettled"),
            node=F.col("of_node"),
            sequence=F.col("until"),
        )
    )


def owed(outlets: DataFrame, records: DataFrame) -> DataFrame:
    """Of each copy, how many deliveries to one of `outlets` (by `gone`) are `open`.

    Each copy is told apart from those of it that were browsed. `at`: the last one's record.
    """
    browsed = flag(Flag.COPY).alias("browsed")
    ended = (kind_is(Kind.SETTLED) & ends_so()) | kind_is(Kind.REQUEUED)
    taken = kind_is(Kind.SENT) & ~flag(Flag.SETTLED)
    steps = records.where(ended | taken).join(
        F.broadcast(outlets.drop("since", "of_node")), [*OUTLET_KEYS]
    )
    return steps.groupBy(*OUTLET_KEYS, "until", "unsettled", *COPY_KEYS, browsed).agg(
        F.sum(F.when(taken, 1).otherwise(-1)).alias("open"),
        F.max(F.when(taken, F.col("sequence"))).alias("at"),
    )


def _left(each: DataFrame, known: DataFrame) -> DataFrame:
    """Of those (by `owed`), how many are `left` to tell."""
    off = known.select("incarnation", *COPY_KEYS, F.inline("links"))
    off = off.groupBy(*OUTLET_KEYS, *COPY_KEYS).agg(F.sum("off").alias("off"))
    joined = each.join(
        off.withColumn("browsed", F.lit(False)), [*OUTLET_KEYS, *COPY_KEYS, "browsed"], "left"
    )
    return joined.withColumn("left", F.expr("open - coalesce(off, 0)"))


def with_ends(results: DataFrame, records: DataFrame) -> DataFrame:
    """The outlets' results, with the node at an upstream that each of them leads to, if any."""
    leads = records.where(kind_is(Kind.LINK_ATTACHED) & F.col("peer").isNotNull())
    address = F.regexp_extract("peer", "^link [0-9]+: (.*)$", 1)
    several = F.when(F.count_distinct(address) > 1, " and others").otherwise("")
    leads = leads.groupBy("incarnation", "link").agg(
        F.concat(F.min(address), several).alias("leads_to")
    )
    return results.join(leads, ["incarnation", "link"], "left")

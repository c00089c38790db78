"""Outlets: deliveries that never ended, and where each of them leads."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.ledger import kind_is
from gateway.audit.schema import Kind


def outlet_breaks(failed: DataFrame) -> DataFrame:
    """Outlets whose unsettled deliveries are not what their checkpoint says."""
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


def detached_breaks(outlets: DataFrame, summed: DataFrame) -> DataFrame:
    """Outlets that are gone although deliveries of theirs never ended."""
    lives = summed.groupBy("incarnation", "link").agg(
        F.min("first_sequence").alias("since"),
        F.max("last_sequence").alias("sequence"),
        F.bool_or(kind_is(Kind.LINK_DETACHED)).alias("gone"),
    )
    stuck = outlets.where("unsettled > 0").join(lives.where("gone"), ["incarnation", "link"])
    return as_breaks(
        stuck,
        BreakClass.STUCK,
        F.format_string("outlet %d is gone, %d of its deliveries never ended", "link", "unsettled"),
        count=F.col("unsettled"),
        node=F.col("of_node"),
    )


def with_ends(results: DataFrame, records: DataFrame) -> DataFrame:
    """The outlets' results, with the node at an upstream that each of them leads to, if any."""
    leads = records.where(kind_is(Kind.LINK_ATTACHED) & F.col("peer").isNotNull())
    address = F.regexp_extract("peer", "^link [0-9]+: (.*)$", 1)
    several = F.when(F.count_distinct(address) > 1, " and others").otherwise("")
    leads = leads.groupBy("incarnation", "link").agg(
        F.concat(F.min(address), several).alias("leads_to")
    )
    return results.join(leads, ["incarnation", "link"], "left")

"""Translations that were held against what came: some messages, by the gateway itself."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.ledger import kind_is, reason_is
from gateway.audit.schema import Kind, Reason


def undeclared(records: DataFrame) -> DataFrame:
    """Messages of which more did not cross than was said; once for each message, link and row."""
    found = (
        records.where(kind_is(Kind.TRANSLATION_CHECKED))
        .where("exchange is not null")
        .groupBy("message", "link", "exchange")
        .agg(F.min(F.struct("sequence", "incarnation")).alias("first"))
        .select("message", "link", "exchange", "first.*")
        .join(_sent(records), ["message", "link"], "left")
    )
    return as_breaks(
        found,
        BreakClass.UNDECLARED_LOSS,
        F.format_string("row %s: a value did not cross, and no loss says so", "exchange"),
    )


def _sent(records: DataFrame) -> DataFrame:
    """From which queue."""
    sent = records.where(kind_is(Kind.SENT)).groupBy("message", "link")
    return sent.agg(F.max("node").alias("node"))


def looked_at(records: DataFrame, summed: DataFrame) -> DataFrame:
    """One row: how many translations were looked at, how many of them differ or were too large.

    Of those that differ `records` has all; how many there are is in the ledger (`summed`).
    """
    too_large = reason_is(Reason.TOO_LARGE)
    differs = records.where(kind_is(Kind.TRANSLATION_CHECKED)).where("exchange is not null")
    links = differs.select("message", "link").distinct().select(F.lit(1).alias("differ"))
    others = (
        summed.where(kind_is(Kind.TRANSLATION_CHECKED))
        .where("exchange is null")
        .select(
            F.when(too_large, F.col("records")).alias("too_large"),
            F.when(~too_large, F.col("records")).alias("whole"),
        )
    )
    both = others.unionByName(links, allowMissingColumns=True)
    names = ("whole", "differ", "too_large")
    return both.agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names))

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


def looked_at(records: DataFrame) -> DataFrame:
    """One row: how many translations were looked at, how many of them differ or were too large."""
    checked = records.where(kind_is(Kind.TRANSLATION_CHECKED))
    too_large = reason_is(Reason.TOO_LARGE)
    whole, differs = F.expr("exchange is null"), F.expr("exchange is not null")
    return checked.agg(
        F.count_if(whole & ~too_large).alias("whole"),
        F.count_distinct(F.when(differs, F.struct("message", "link"))).alias("differ"),
        F.count_if(too_large).alias("too_large"),
    )

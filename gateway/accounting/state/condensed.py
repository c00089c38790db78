"""What is left out of a state: checkpoints that say nothing new, and windows that no other ends.

A log of years has a checkpoint of each queue every minute, and nearly all of them agree. What such
a one says is known from those before and behind it, and what was between them is as well summed up
at once. What a later run finds is the same: what fails, and between which two records of the log.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.segments.columns import CHECKPOINTS
from gateway.accounting.steps.identities import DIFFERENCES, IDENTITIES
from gateway.accounting.steps.ledger import KEYS, added_up, any_of, kind_is, ledger
from gateway.audit.schema import Kind

_THING: Final = ("incarnation", "kind", "of", "name")


def without_repeated(records: DataFrame, differences: DataFrame) -> DataFrame:
    """Records, but for the checkpoints that a state can do without.

    Such a one differs from the log by as much as the one before and the one behind. The last two of
    each thing stay: by them is known since when whole ones say nothing of something else.

    `differences`: of all statements, by `identities.differences`.
    """
    outlet, route = kind_is(Kind.OUTLET_CHECKPOINT), kind_is(Kind.ROUTE_CHECKPOINT)
    said = records.where(kind_is(*CHECKPOINTS)).select(
        *("sequence", "incarnation", "kind"),
        F.when(outlet, F.col("link")).otherwise(0).alias("of"),
        F.when(route, F.coalesce("exchange", "node")).when(~outlet, F.col("node")).alias("name"),
    )
    order = Window.partitionBy(*_THING).orderBy("sequence")
    differs = F.struct(*DIFFERENCES)
    nothing = F.struct(*(F.lit(0).cast("long").alias(each) for each in DIFFERENCES))
    before = F.when(F.lag("sequence").over(order).isNull(), nothing)
    beside = said.join(differences, "sequence").withColumns(
        {
            "before": F.coalesce(before, F.lag(differs).over(order)),
            "behind": F.lead(differs).over(order),
            "last_but": F.lead("sequence", 2).over(order),
            "differs": differs,
        }
    )
    repeated = beside.where("differs = before and differs = behind and last_but is not null")
    return records.join(F.broadcast(repeated.select("sequence")), "sequence", "left_anti")


def summed_up(parts: DataFrame, checkpoints: DataFrame, place: tuple[int, int]) -> DataFrame:
    """The sums of these parts in one row, by windows that one of the checkpoints begins.

    A statement sees all windows in front of its own. What belongs to no identity keeps its window.
    `place`: the ordinal and the part of that row.
    """
    of_run = checkpoints.where(kind_is(*CHECKPOINTS)).groupBy("incarnation")
    begun = of_run.agg(F.collect_set("window").alias("begun"))
    rows = ledger(parts).join(F.broadcast(begun), "incarnation", "left")
    last = F.array_max(F.filter("begun", lambda each: each <= F.col("window")))
    terms = [term for each in IDENTITIES for term in each.terms().values()]
    window = F.when(any_of([kind_is(*CHECKPOINTS), *terms]), F.coalesce(last, F.lit(0))).otherwise(
        F.col("window")
    )
    summed = added_up(rows.withColumn("window", window).drop("begun"))
    # In the order of the fields that parts have them in.
    order = parts.schema["sums"].dataType.elementType.names  # type: ignore[attr-defined]  # an array's
    assert {*KEYS} < {*order}
    listed = summed.agg(F.collect_list(F.struct(*order)).alias("sums"))
    ordinal, part = place
    nothing = F.array().cast(parts.schema["ranges"].dataType).alias("ranges")
    return listed.select(
        F.lit(ordinal).alias("ordinal"), F.lit(part).alias("part"), "sums", nothing
    )

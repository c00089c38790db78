"""Steps: what both sides say of one id, or of one queue, in one row."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

HERE: Final = "here"
THERE: Final = "there"
SIDES: Final = (HERE, THERE)
PLACE: Final = "struct<log:int,message:bigint,node:string>"


def by_id(ours: DataFrame, theirs: DataFrame, *, queues: bool) -> DataFrame:
    """One row of each id; `queues`: whether both say of which queue it is."""
    of_both = _both(ours, theirs)
    terms = [term for side in SIDES for term in _terms(side, queues=queues)]
    return of_both.groupBy("id_digest").agg(
        *terms, F.max("text").alias("text"), _place(HERE), _place(THERE)
    )


def by_queue(ours: DataFrame, theirs: DataFrame) -> DataFrame:
    """One row of each queue: how many messages there were, and nothing of each of them."""
    queue = F.explode("nodes").alias("queue")
    of_both = _both(ours, theirs).select("*", queue)
    counts = [term for side in SIDES for term in _counts(side)]
    nothing = {
        f"{side}_{name}": F.lit(None).cast("bigint")
        for side in SIDES
        for name in ("first_ms", "last_ms", "least_body", "greatest_body")
    }
    return (
        of_both.groupBy("queue")
        .agg(*counts)
        .withColumns(
            {
                "id_digest": F.lit(None).cast("bigint"),
                "text": F.lit(None).cast("string"),
                **nothing,
                **{f"{side}_nodes": F.array().cast("array<string>") for side in SIDES},
                **{f"{side}_at": F.lit(None).cast(PLACE) for side in SIDES},
            }
        )
    )


def _both(ours: DataFrame, theirs: DataFrame) -> DataFrame:
    return ours.withColumn("side", F.lit(HERE)).unionByName(theirs.withColumn("side", F.lit(THERE)))


def _of(side: str, value: str) -> Column:
    return F.expr(f"case when side = '{side}' then {value} end")


def _counts(side: str) -> list[Column]:
    return [
        F.coalesce(F.sum(_of(side, "surely")), F.lit(0)).alias(side),
        F.coalesce(F.sum(_of(side, "at_most")), F.lit(0)).alias(f"{side}_at_most"),
    ]


def _terms(side: str, *, queues: bool) -> list[Column]:
    """What a side says of an id. A body of which no digest was made is any."""
    time_ms, body = _of(side, "time_ms"), _of(side, "nullif(body_digest, 0)")
    nodes = F.array_distinct(F.flatten(F.collect_set(_of(side, "nodes"))))
    return [
        *_counts(side),
        F.min(time_ms).alias(f"{side}_first_ms"),
        F.max(time_ms).alias(f"{side}_last_ms"),
        F.min(body).alias(f"{side}_least_body"),
        F.max(body).alias(f"{side}_greatest_body"),
        (nodes if queues else F.array().cast("array<string>")).alias(f"{side}_nodes"),
    ]


def _place(side: str) -> Column:
    """Where the first of a side is: which log, which message there, which queue."""
    at = "struct(log, message, try_element_at(nodes, 1) as node)"
    return F.min_by(_of(side, at), _of(side, "coalesce(time_ms, 0)")).alias(f"{side}_at")

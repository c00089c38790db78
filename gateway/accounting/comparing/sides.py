"""Steps: what both sides say of one id, or of one queue, in one row."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

HERE: Final = "here"
THERE: Final = "there"
SIDES: Final = (HERE, THERE)
VALUES: Final = ("surely", "at_most", "time_ms", "body_digest", "nodes", "log", "message")
OF_NO_ID: Final = ("first_ms", "last_ms", "least_body", "greatest_body", "log", "message")


def by_id(ours: DataFrame, theirs: DataFrame, *, queues: bool, texts: bool) -> DataFrame:
    """One row of each id.

    `queues`: both say of which queue it is; `texts`: one says what the id is. Sums of numbers alone
    are far cheaper.
    """
    of_both = _both(ours, theirs)
    text = F.max("text").alias("text")
    terms = [term for side in SIDES for term in _terms(side, queues=queues)]
    rows = of_both.groupBy("id_digest").agg(*terms, *([text] if texts else []))
    lacking = {} if texts else {"text": F.lit(None).cast("string")}
    if not queues:
        lacking |= {f"{side}_nodes": F.array().cast("array<string>") for side in SIDES}
    return rows.withColumns(lacking) if lacking else rows


def by_queue(ours: DataFrame, theirs: DataFrame) -> DataFrame:
    """One row of each queue: how many messages there were, and nothing of each of them."""
    of_both = _both(ours, theirs)
    queue = F.explode(F.concat(*(F.coalesce(f"{side}_nodes", F.array()) for side in SIDES)))
    counts = [term for side in SIDES for term in _counts(side)]
    rows = of_both.select("*", queue.alias("queue")).groupBy("queue").agg(*counts)
    nothing = F.lit(None).cast("bigint")
    lacking = {f"{side}_{name}": nothing for side in SIDES for name in OF_NO_ID}
    lacking |= {f"{side}_nodes": F.array().cast("array<string>") for side in SIDES}
    return rows.withColumns({"id_digest": nothing, "text": nothing.cast("string"), **lacking})


def _both(ours: DataFrame, theirs: DataFrame) -> DataFrame:
    """Items of both, each with the values of its own side."""
    sides = []
    for frame, mine in ((ours, HERE), (theirs, THERE)):
        values = [
            (F.col(name) if side == mine else F.lit(None).cast(frame.schema[name].dataType)).alias(
                f"{side}_{name}"
            )
            for side in SIDES
            for name in VALUES
        ]
        sides.append(frame.select("id_digest", "text", *values))
    return sides[0].unionByName(sides[1])


def _counts(side: str) -> list[Column]:
    return [
        F.coalesce(F.sum(f"{side}_surely"), F.lit(0)).alias(side),
        F.coalesce(F.sum(f"{side}_at_most"), F.lit(0)).alias(f"{side}_at_most"),
    ]


def _terms(side: str, *, queues: bool) -> list[Column]:
    """What a side says of an id. A body of which no digest was made is any.

    Log and message are of one of them; none is named if they are of several logs.
    """
    time_ms, body = F.col(f"{side}_time_ms"), F.expr(f"nullif({side}_body_digest, 0)")
    log, message = F.col(f"{side}_log"), F.col(f"{side}_message")
    one_log = F.min(log) == F.max(log)
    nodes = F.array_distinct(F.flatten(F.collect_set(f"{side}_nodes")))
    return [
        *_counts(side),
        F.min(time_ms).alias(f"{side}_first_ms"),
        F.max(time_ms).alias(f"{side}_last_ms"),
        F.min(body).alias(f"{side}_least_body"),
        F.max(body).alias(f"{side}_greatest_body"),
        F.when(one_log, F.min(log)).cast("bigint").alias(f"{side}_log"),
        F.when(one_log, F.min(message)).alias(f"{side}_message"),
        *([nodes.alias(f"{side}_nodes")] if queues else []),
    ]

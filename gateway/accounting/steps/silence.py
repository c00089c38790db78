"""What no checkpoint names, and what that says: there is nothing of it.

A checkpoint has every queue that is there, and every one that is deleted and holds copies still;
every exchange that has routed. So what is not in a checkpoint is one more statement, of nothing.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.identities import END_OF_LOG, QUEUE, rest

NAMED: Final = ("others", "last_begun", "last_window")  # by `_last_named`


def implied_routes(stated: DataFrame, windows: DataFrame, runs: DataFrame) -> DataFrame:
    """Routes that no checkpoint names have nothing pending when their incarnation ends in order."""
    ended = runs.where("stopped").select("incarnation", F.col("last_sequence").alias("sequence"))
    named = stated.select("incarnation", "route")
    unnamed = (
        windows.select("incarnation", "route")
        .distinct()
        .join(named, ["incarnation", "route"], "left_anti")
        .join(F.broadcast(ended), "incarnation")
    )
    return _with_nothing(stated, unnamed, "route", F.lit(None))


def implied_queues(
    stated: DataFrame, windows: DataFrame, runs: DataFrame, routes: DataFrame
) -> DataFrame:
    """Queues hold nothing when a whole checkpoint does not name them.

    The one that is written when an incarnation ends in order is whole, and in one window. Of others
    only that is known: of each route (`routes`, compared) one has a statement, the last thing that
    it has, and between two of them a whole one began. What a queue holds of which it is not known,
    or that was declared again, is judged by no more than its own checkpoints.

    Of a queue that no record deletes it is so where others are named, behind all that came in, and
    then routes; or, as in a run that nobody published in, which has none, nothing but the clock and
    the end of the run.
    """
    keys = ["incarnation", "node"]
    lives = windows.groupBy(*keys).agg(
        F.max("deleted").alias("deleted"),
        F.max("declared").alias("declared"),
        F.max("last_in").alias("last_in"),
        F.sum(rest(QUEUE)).alias("left"),
    )
    lives = lives.withColumn("gone", F.expr("coalesce(deleted > coalesce(declared, 0), false)"))
    left = lives.where("gone or left <> 0")
    named = stated.groupBy(*keys).agg(
        F.max("sequence").alias("named"), F.max("window").alias("named_window")
    )
    # Only what stands for an upstream may have the name of something else.
    whole = routes.where("route not like 'upstream %'").select(
        *("incarnation", F.col("since").alias("begun"), F.col("sequence").alias("done")),
        F.expr(f"if(window < {END_OF_LOG}, sequence, null)").alias("routes"),
    )
    said = whole.unionByName(_last_named(stated), allowMissingColumns=True).groupBy("incarnation")
    said_by_run = said.agg(
        *(F.max(name).alias(name) for name in ("begun", "done", "routes", *NAMED))
    )
    last = ("last_checked", "last_step", "last_sequence", "stopped", "stopped_window")
    ends = runs.select("incarnation", *last).join(F.broadcast(said_by_run), "incarnation", "left")
    judged = left.join(F.broadcast(named), keys, "left").join(F.broadcast(ends), "incarnation")
    at_stop = """stopped and if(gone, coalesce(named_window < stopped_window, true),
        last_window = stopped_window
            and (routes > others or last_checked > last_step)
            and greatest(declared, last_in, named) < last_begun)"""
    between = """if(gone, greatest(deleted, last_in, named),
        if(others > begun, greatest(declared, last_in, named), null)) < begun"""
    silent_at = F.when(F.expr(at_stop), F.col("last_sequence")).when(F.expr(between), F.col("done"))
    silent = judged.select(*keys, silent_at.alias("sequence")).where("sequence is not null")
    return _with_nothing(stated, silent, "node", F.lit(0))


def _last_named(stated: DataFrame) -> DataFrame:
    """Of each queue's checkpoint, and of each that another does not precede at once (`others`)."""
    in_order = Window.partitionBy("incarnation").orderBy("sequence")
    first = F.col("sequence") - F.coalesce(F.lag("sequence").over(in_order), F.lit(0)) > 1
    return stated.select(
        "incarnation",
        F.col("sequence").alias("others"),
        F.when(first, F.col("sequence")).alias("last_begun"),
        F.col("window").alias("last_window"),
    )


def _with_nothing(stated: DataFrame, unnamed: DataFrame, key: str, checksum: Column) -> DataFrame:
    """One more statement, of nothing, of each of these."""
    nothing = unnamed.select(
        *("incarnation", key),
        F.lit(END_OF_LOG).alias("window"),
        "sequence",
        F.lit(0).cast("long").alias("stated"),
        checksum.cast("long").alias("checksum"),
    )
    return stated.unionByName(nothing, allowMissingColumns=True)

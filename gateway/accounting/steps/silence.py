"""What no checkpoint names, and what that says: there is nothing of it.

A checkpoint has every queue that is there, and every one that is deleted and holds copies still;
every exchange that has routed. So what is not in a checkpoint is one more statement, of nothing.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.identities import END_OF_LOG


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
    """Deleted queues hold nothing when a whole checkpoint does not name them.

    The one that is written when an incarnation ends in order is whole, and in one window. Of others
    only that is known: of each route (`routes`, compared) one has a statement, the last thing that
    it has, and between two of them a whole one began. What a queue holds of which it is not known,
    or that was declared again, is judged by no more than its own checkpoints.
    """
    keys = ["incarnation", "node"]
    lives = windows.groupBy(*keys).agg(
        F.max("deleted").alias("deleted"),
        F.max("declared").alias("declared"),
        F.max("last_in").alias("last_in"),
    )
    gone = lives.where("deleted > coalesce(declared, 0)")
    named = stated.groupBy(*keys).agg(
        F.max("sequence").alias("named"), F.max("window").alias("named_window")
    )
    # Only what stands for an upstream may have the name of something else.
    whole = (
        routes.where("route not like 'upstream %'")
        .groupBy("incarnation")
        .agg(F.max("since").alias("begun"), F.max("sequence").alias("done"))
    )
    ends = runs.select("incarnation", "last_sequence", "stopped", "stopped_window").join(
        F.broadcast(whole), "incarnation", "left"
    )
    judged = gone.join(F.broadcast(named), keys, "left").join(F.broadcast(ends), "incarnation")
    silent_at = F.when(
        F.expr("stopped and coalesce(named_window < stopped_window, true)"), F.col("last_sequence")
    ).when(F.expr("greatest(deleted, last_in, named) < begun"), F.col("done"))
    silent = judged.select(*keys, silent_at.alias("sequence")).where("sequence is not null")
    return _with_nothing(stated, silent, "node", F.lit(0))


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

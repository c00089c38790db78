"""What checkpoints count and no record tells of: messages that came and went between two of them.

Each counter is above what the log adds up to by what was not recorded. One message that is missing
altogether is in three: it was routed, entered a queue and was sent from there. So a queue's counter
stands for those of its outlets and of the routes, as far as it goes and of the same time.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks

COUNTED: Final = "unseen > 0 or stuck > 0"  # of what `identities.failures` finds
ENTERED: Final = "entered"
SENT: Final = "sent"
ROUTED: Final = "routed"
_BEYOND: Final = """greatest(least(unseen, beyond), unseen - aggregate(
    filter(beside, one -> one.since < sequence and one.sequence > since), 0L,
    (sum, one) -> sum + one.unseen))"""


def counter_breaks(
    queues: DataFrame, outlets: DataFrame, routes: DataFrame, came: DataFrame
) -> DataFrame:
    """What counters tell; each of the first three frames as by `identities.failures`.

    What the identity of the same queue, outlet or route lacks at that checkpoint, too, is told with
    that; and what messages are told of by name, of which no record says that they `came`, where
    (`earliest`, `latest`) they may have.
    """
    rows = _told(queues, ENTERED).unionByName(_told(outlets, SENT))
    rows = rows.unionByName(_told(routes, ROUTED)).coalesce(1)
    rows = _without(rows, came)
    # What entered comes first: the others are told as far as they go beyond it, in all and in
    # those checkpoints that may be of the same.
    order = ("what", "sequence", "node", "link")
    run = Window.partitionBy("incarnation").orderBy(*order)
    queue = Window.partitionBy("incarnation", "node").orderBy(*order)
    whole = (Window.unboundedPreceding, Window.unboundedFollowing)
    of_queue, of_outlet = F.col("what") == ENTERED, F.col("what") == SENT
    entered = F.when(of_queue, F.col("unseen")).otherwise(0)
    sent = F.when(of_outlet, F.col("unseen")).otherwise(0)
    routed = F.when(F.col("what") == ROUTED, F.col("unseen")).otherwise(0)
    each = F.when(of_queue, F.struct("since", "sequence", "unseen"))
    beyond = F.when(of_outlet, F.sum(sent - entered).over(queue)).otherwise(
        F.sum(routed - entered).over(run)
    )
    beside = F.when(of_outlet, F.collect_list(each).over(queue.rowsBetween(*whole))).otherwise(
        F.collect_list(each).over(run.rowsBetween(*whole))
    )
    rest = rows.withColumns({"beyond": beyond, "beside": beside}).select(
        "*",
        (
            F.when(of_queue, F.col("unseen")).otherwise(F.expr(_BEYOND))
            - F.col("lacking")
            - F.col("named")
        ).alias("untold"),
        F.when(of_queue, F.col("stuck") - F.sum(sent).over(queue.rowsBetween(*whole))).alias(
            "kept"
        ),
    )
    untold = F.format_string(
        "%d more %s by the counter of the checkpoint than by the log", "untold", "what"
    )
    kept = F.format_string("%d more with somebody by the checkpoint than by the log", "kept")
    found = rest.select(
        *("incarnation", "sequence", "since", "node", "link", F.lit(False).alias("certain")),
        F.inline(
            F.array(
                _found(BreakClass.LOST, F.col("untold"), untold),
                _found(BreakClass.STUCK, F.col("kept"), kept),
            )
        ),
    ).where("count > 0")
    return as_breaks(found, F.col("class"), F.col("detail"))


def _without(rows: DataFrame, came: DataFrame) -> DataFrame:
    """Rows, and how many messages of each are told of by name (`named`).

    Of the latest checkpoint that may be of one: all that entered there, or else one route of it. In
    which queue one was that was `seen` is known, and that it has entered that.
    """
    times = came.select("incarnation", "message", "less", "earliest", "latest", "seen")
    met = rows.where(f"what <> '{SENT}'").join(times, "incarnation")
    met = met.where(f"since < latest and sequence > earliest and (not seen or what = '{ROUTED}')")
    of_message = Window.partitionBy("incarnation", "message", "what")
    last = met.withColumn("begun", F.max("since").over(of_message)).where("sequence > begun")
    first = F.min("what").over(Window.partitionBy("incarnation", "message"))
    rank = F.row_number().over(of_message.orderBy("sequence", "node", "link"))
    theirs = last.withColumns({"first": first, "rank": rank}).where(
        f"what = first and (what = '{ENTERED}' or rank = 1)"
    )
    named = F.expr(f"if(what = '{ENTERED}', 1, least(unseen, less))")
    keys = ("incarnation", "what", "node", "link", "sequence")
    counted = theirs.groupBy(*keys).agg(F.sum(named).alias("named"))
    same = [F.col(f"row.{name}").eqNullSafe(F.col(f"told.{name}")) for name in keys]
    joined = rows.alias("row").join(F.broadcast(counted.alias("told")), same, "left")
    return joined.select("row.*", F.coalesce("told.named", F.lit(0)).alias("named"))


def _told(failed: DataFrame, what: str) -> DataFrame:
    """By how much counters of one kind are above the log, and what is told otherwise of that."""
    node = F.col("route") if what == ROUTED else F.col("of_node")
    link = F.col("link") if what == SENT else F.lit(None)
    return failed.where(COUNTED).select(
        *("incarnation", "sequence", "since", "stuck", F.lit(what).alias("what")),
        *(node.alias("node"), link.cast("long").alias("link"), "unseen"),
        F.greatest(-F.col("excess"), F.lit(0)).alias("lacking"),
    )


def _found(named: BreakClass, count: Column, detail: Column) -> Column:
    return F.struct(
        F.lit(str(named)).alias("class"), count.cast("long").alias("count"), detail.alias("detail")
    )

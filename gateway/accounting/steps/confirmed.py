"""What publishers were told: nobody of a message that is not where it belongs.

A `confirmed` record names a range of one link's messages, which do not overlap. So each message
needs only the last range that begins at it or before; and few messages are asked after.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.partitions import gathered
from gateway.accounting.segments.folding import OF_NO_MESSAGE
from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.ledger import flag, kind_is, outcome_is, reason_is
from gateway.audit.schema import Flag, Kind, Outcome, Reason

ONE_BY_ONE: Final = 100_000  # messages of a link that are looked at so; a range may say any number
NEVER: Final = "received - in_transactions - accepted - otherwise"
_LINK: Final = ("incarnation", "link")
# Of message states: some of its copies have not ended, or have no record of that.
SHORT: Final = "received and ended < routed"


def with_told(messages: DataFrame, records: DataFrame) -> DataFrame:
    """Messages, and the record by which their publisher is told that they are accepted (`told`)."""
    accepted = records.where(kind_is(Kind.CONFIRMED) & outcome_is(Outcome.ACCEPTED))
    ranges = accepted.select(
        *("link", F.col("message").alias("at"), F.lit(0).alias("after")),
        F.struct(F.col("position").alias("last"), F.col("sequence").alias("told")).alias("range"),
    )
    asked = messages.withColumns({"at": F.col("message"), "after": F.lit(1)})
    before = Window.partitionBy("link").orderBy("at", "after")
    found = F.last("range", ignorenulls=True).over(before)
    joined = asked.unionByName(ranges, allowMissingColumns=True).withColumn("range", found)
    told = F.when(F.col("range.last") >= F.col("message"), F.col("range.told"))
    return joined.where("after = 1").withColumn("told", told).drop("at", "after", "range")


def lost(short: DataFrame, failures: DataFrame | None) -> DataFrame:
    """Messages that were confirmed, and no record says where all of their copies are.

    `short`: by `with_told`, of those that are `SHORT`. What `failures` of the routes' identity tell
    of, if there are any, is told with them.
    """
    untold = short.where("told is not null")
    if failures is not None:
        routes = failures.where("excess > 0").groupBy("incarnation", "route")
        failed = F.broadcast(routes.agg(F.max("sequence").alias("failed")))
        untold = untold.join(failed, ["incarnation", "route"], "left")
        untold = untold.where("failed is null or failed < sequence")
    rows = untold.select(
        *("message", "incarnation", F.col("route").alias("node"), "link"),
        F.col("first_routed").alias("since"),
        F.col("told").alias("sequence"),
        (F.col("routed") - F.col("ended")).alias("count"),
        *("routed", "ended"),
    )
    return as_breaks(
        rows,
        BreakClass.LOST,
        F.format_string(
            "its publisher was told that it is accepted: %d copies routed, %d arrived",
            *("routed", "ended"),
        ),
    )


def told_of_too_many(records: DataFrame, summed: DataFrame) -> DataFrame:
    """Links by which fewer messages came (`summed`) than their publishers were told of: `count`."""
    told = records.where(kind_is(Kind.CONFIRMED)).select(
        *_LINK, F.col("copies").cast("long").alias("more"), "sequence"
    )
    came = summed.where(kind_is(Kind.RECEIVED)).select(
        *_LINK, (-F.col("records")).alias("more"), F.lit(None).cast("long").alias("sequence")
    )
    both = gathered(told.unionByName(came)).groupBy(*_LINK)
    return both.agg(F.sum("more").alias("count"), F.max("sequence").alias("sequence")).where(
        "count > 0"
    )


def never_received(
    too_many: DataFrame, records: DataFrame, folded: DataFrame, runs: DataFrame
) -> DataFrame:
    """Messages that their publishers were told of, and no record says that they came.

    `too_many`: by `told_of_too_many`, at least one; `folded`: by `strays.words`. They are those in
    the ranges that no record names, if these are as many.
    """
    ranges = records.where(kind_is(Kind.CONFIRMED)).join(
        F.broadcast(too_many.select(*_LINK, "count")), [*_LINK]
    )
    ranges = ranges.where("position >= message")
    wide = F.expr("double(position) - double(message)")
    few = ranges.withColumn("wide", F.sum(wide).over(Window.partitionBy(*_LINK)))
    each = (
        few.where(f"wide <= {ONE_BY_ONE}")
        .select(
            *(*_LINK, "count", "sequence"),
            F.explode(F.sequence("message", "position")).alias("message"),
        )
        .dropDuplicates([*_LINK, "message"])
    )
    bits = folded.groupBy("word").agg(F.expr("bit_or(bits)").alias("bits"))
    seen = records.where(~kind_is(*OF_NO_MESSAGE)).select("message").distinct()
    unseen = (
        each.join(seen, "message", "left_anti")
        .withColumn("word", F.expr("shiftright(message, 6)"))
        .join(bits, "word", "left")
        .where("coalesce(getbit(bits, cast(message & 63 as int)), 0) = 0")
        .withColumn("unseen", F.count("*").over(Window.partitionBy(*_LINK)))
        .where("unseen = `count`")
        .select(*_LINK, "message", "sequence", F.lit(1).alias("count"))
    )
    named = unseen.select(*_LINK).distinct()
    unnamed = too_many.join(F.broadcast(named), [*_LINK], "left_anti")
    found = unseen.unionByName(
        unnamed.select(*_LINK, F.lit(None).cast("long").alias("message"), "sequence", "count")
    )
    # In front of the first record that is there of the run others of it may be missing.
    begun = runs.select("incarnation", (F.col("first_sequence") - 1).alias("since"))
    return as_breaks(
        found.join(F.broadcast(begun), "incarnation"),
        BreakClass.LOST,
        F.lit("its publisher was told of it, and no record says that it came"),
        certain=F.col("message").isNotNull(),
    )


def not_durable(records: DataFrame) -> DataFrame:
    """Durable messages in a durable queue that a restart would not bring back."""
    declared = records.where(kind_is(Kind.TOPOLOGY) & reason_is(Reason.QUEUE_DECLARED))
    queues = (
        declared.groupBy("node")
        .agg(
            F.bool_and(flag(Flag.DURABLE)).alias("all"),
            F.max("sequence").alias("declared"),
        )
        .where("all")
    )
    entries = records.where(
        kind_is(Kind.ENTERED) & ~flag(Flag.DURABLE) & ~flag(Flag.TRANSIT)
    ).select("message", "position", "node", "incarnation", "sequence")
    durable = records.where(kind_is(Kind.RECEIVED) & flag(Flag.DURABLE)).select("message")
    found = entries.join(durable, "message").join(F.broadcast(queues), "node")
    return as_breaks(
        found,
        BreakClass.LOST,
        F.lit("it is durable, and so is its queue, but it was not stored"),
        since=F.col("declared"),
    )


def told_of(records: DataFrame, summed: DataFrame) -> DataFrame:
    """One row: how many messages clients published, and were told of (`accepted`, `otherwise`).

    `never`: what nobody was told of outside of a transaction, what was sent settled among them.
    `beyond`: of how many more than came in a run publishers were told, which is a break
    (`never_received`). With that it adds up. Of runs that tell at all: older gateways did not put
    it into the log. Of messages in transactions and of what was told, `records` has all; how many
    came is in the ledger (`summed`).
    """
    confirmed, received = kind_is(Kind.CONFIRMED), kind_is(Kind.RECEIVED)
    of_clients = received & ~F.expr("coalesce(exchange, '') like '%upstream %'")
    count, accepted = F.col("copies").cast("long"), outcome_is(Outcome.ACCEPTED)
    runs = (
        records.where(kind_is(Kind.CONFIRMED, Kind.RECEIVED))
        .groupBy("incarnation")
        .agg(
            F.count_if(of_clients & F.expr("transaction <> 0")).alias("in_transactions"),
            F.sum(F.when(confirmed & accepted, count).otherwise(0)).alias("accepted"),
            F.sum(F.when(confirmed & ~accepted, count).otherwise(0)).alias("otherwise"),
        )
        .where("accepted + otherwise > 0")
    )
    came = summed.where(of_clients).groupBy("incarnation").agg(F.sum("records").alias("received"))
    names = ("received", "in_transactions", "accepted", "otherwise")
    joined = runs.join(F.broadcast(came), "incarnation", "left").na.fill(0, ["received"])
    together = joined.withColumns(
        {"never": F.expr(f"greatest({NEVER}, 0)"), "beyond": F.expr(f"greatest(-({NEVER}), 0)")}
    )
    return together.agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in (*names, "never", "beyond"))
    )

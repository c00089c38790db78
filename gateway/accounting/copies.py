"""The ledger of single copies: which message it was that was lost, left twice, or changed.

A copy (message, node, position) goes *in*, *out* and *back* any number of times, and *exits* once.
Every step is judged by the one before it; what is open at the end is judged by the checkpoints of
its queue, and by what the next incarnation recovered.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.breaks import BreakClass, as_breaks
from gateway.accounting.ledger import (
    ends_route,
    flag,
    kind_is,
    outcome_is,
    routes_copies,
    sent_settled,
    settles_for_good,
)
from gateway.audit.schema import REMOVALS, Flag, Kind, Outcome

KINDS: Final = (
    *(Kind.RECEIVED, Kind.ROUTED, Kind.UNROUTABLE, Kind.REFUSED, Kind.ROLLED_BACK),
    *(Kind.ENTERED, Kind.RECOVERED, Kind.SENT, Kind.SETTLED, Kind.REQUEUED),
    *sorted(REMOVALS),
)
COPY_KEYS: Final = ("message", "node", "position")
_FAILURE: Final = ("incarnation", "node", "sequence")  # what a checkpoint is known by
NAMED: Final = 20  # how many candidates a break that cannot be pinned down lists


def copy_steps(records: DataFrame) -> DataFrame:
    """The records that move a copy, each as `in`, `out`, `back` or `exit`."""
    peer_settled = kind_is(Kind.SETTLED)
    step = (
        F.when(kind_is(Kind.ENTERED, Kind.RECOVERED), "in")
        .when(sent_settled() | settles_for_good() | kind_is(*REMOVALS), "exit")
        .when(kind_is(Kind.SENT), "out")
        .when(peer_settled & outcome_is(Outcome.SETTLED_TOO_LATE), None)
        .when(peer_settled | kind_is(Kind.REQUEUED), "back")
    )
    return records.where(~flag(Flag.COPY)).withColumn("step", step).where("step is not null")


def with_previous(steps: DataFrame) -> DataFrame:
    """Each step beside the copy's step before it (`none` for the first)."""
    order = Window.partitionBy(*COPY_KEYS).orderBy("sequence")
    return (
        steps.withColumn("before", F.coalesce(F.lag("step").over(order), F.lit("none")))
        .withColumn("before_incarnation", F.lag("incarnation").over(order))
        .withColumn("since", F.coalesce(F.lag("sequence").over(order), F.lit(0)))
    )


def step_breaks(paired: DataFrame) -> DataFrame:
    """Steps that cannot follow the one before them; `paired` by `with_previous`."""
    step, before = F.col("step"), F.col("before")
    restarted = F.col("before_incarnation") < F.col("incarnation")
    recovered, settled = kind_is(Kind.RECOVERED), kind_is(Kind.SETTLED)
    unqueued = flag(Flag.UNQUEUED)
    held = before.isin("in", "out", "back")
    left = step.isin("out", "exit") & kind_is(Kind.SENT, Kind.SETTLED)
    verdict = (
        F.when(
            (step == "in") & recovered & (before == "none"),
            "ORPHAN_SETTLEMENT:recovered, but never entered",
        )
        .when(
            (step == "in") & recovered & (before == "exit"), "DUPLICATE:came back after it had left"
        )
        .when((step == "in") & held & ~restarted, "DUPLICATE:entered while it was there")
        .when(
            (step == "in") & (before == "exit") & ~flag(Flag.REROUTED),
            "DUPLICATE:entered again after it had left",
        )
        .when(step == "in", None)
        .when(kind_is(Kind.SENT) & unqueued & before.isin("none", "back"), None)
        .when(
            kind_is(Kind.SENT) & (before == "out") & ~restarted, "DUPLICATE:sent while it was out"
        )
        .when(
            before == "exit",
            F.when(left, "DUPLICATE:left twice").otherwise("DUPLICATE:ended twice"),
        )
        .when(before == "none", "ORPHAN_SETTLEMENT:a step of a copy that never entered")
        .when(restarted & ~unqueued, "ORPHAN_SETTLEMENT:a step of a copy that was not recovered")
        .when((settled | (step == "back")) & (before != "out"), "ORPHAN_SETTLEMENT:it was not out")
    )
    judged = paired.withColumn("verdict", verdict).where("verdict is not null")
    parts = F.split("verdict", ":", 2)
    return as_breaks(judged, parts[0], parts[1])


def copy_states(steps: DataFrame) -> DataFrame:
    """Where each copy stands at the end of the log."""
    inward = F.col("step") == "in"
    return steps.groupBy(*COPY_KEYS).agg(
        F.max(F.when(inward, F.col("sequence"))).alias("last_in"),
        F.max(F.when(F.col("step") == "exit", F.col("sequence"))).alias("last_exit"),
        F.max_by("incarnation", "sequence").alias("incarnation"),
        F.max("sequence").alias("sequence"),
        F.min(F.when(inward, F.col("sequence"))).alias("entered_sequence"),
        F.max_by("mix", "sequence").alias("mix"),
        F.coalesce(F.bool_or(inward & flag(Flag.DURABLE)), F.lit(False)).alias("durable"),
        F.bool_or(flag(Flag.UNQUEUED)).alias("unqueued"),
        F.coalesce(F.bool_or(inward & flag(Flag.TRANSIT)), F.lit(False)).alias("transit"),
    )


def still_there(states: DataFrame) -> DataFrame:
    """Copies that are in a queue when the log ends, or when their incarnation did."""
    return states.where("not unqueued and last_in > coalesce(last_exit, 0)")


def ended_with_process(open_copies: DataFrame, runs: DataFrame) -> DataFrame:
    """Open copies of incarnations that are over: a later one has got past its recovery.

    `until`: the record with which it has.
    """
    later = Window.orderBy("incarnation").rowsBetween(1, Window.unboundedFollowing)
    over = runs.select("incarnation", F.min("opened_sequence").over(later).alias("until"))
    return open_copies.join(F.broadcast(over.where("until is not null")), "incarnation")


def lost_at_restart(ended: DataFrame) -> DataFrame:
    """Durable copies that were not recovered."""
    return as_breaks(
        ended.where("durable").withColumns(
            {"since": F.col("sequence"), "sequence": F.col("until")}
        ),
        BreakClass.LOST,
        F.lit("durable, but not there after the restart"),
    )


def queue_breaks(failures: DataFrame, open_copies: DataFrame) -> DataFrame:
    """Queues whose depth or checksum is not what the log adds up to, down to the message."""
    candidates = _candidates(failures, open_copies.where("entered_sequence is not null"))
    certain = candidates.where("certain")
    named = as_breaks(
        certain,
        BreakClass.LOST,
        F.format_string(
            "in the queue by the log (%d), not by the checkpoint (%d)", "computed", "stated"
        ),
    )
    rest = failures.join(certain.select(*_FAILURE).distinct(), [*_FAILURE], "left_anti")
    listed = (
        candidates.where(f"rank <= {NAMED}")
        .groupBy(*_FAILURE)
        .agg(F.array_join(F.sort_array(F.collect_list("message")), ", ").alias("ids"))
    )
    unnamed = rest.join(listed, [*_FAILURE], "left")
    return named.unionByName(_unnamed_queue_breaks(unnamed))


def _unnamed_queue_breaks(failures: DataFrame) -> DataFrame:
    kind = F.when(F.col("excess") < 0, str(BreakClass.DUPLICATE)).otherwise(str(BreakClass.LOST))
    detail = F.when(
        F.col("excess") == 0,
        F.format_string("the depth agrees (%d), but the queue holds other copies", "stated"),
    ).otherwise(
        F.format_string("%d in the queue by the log, %d by the checkpoint", "computed", "stated")
    )
    among = F.when(F.col("excess") >= 0, F.concat(F.lit("; among messages "), F.col("ids")))
    return as_breaks(
        failures.withColumn("count", F.greatest(F.abs("excess"), F.lit(1))).withColumn(
            "certain", F.lit(False)
        ),
        kind,
        F.concat(detail, F.coalesce(among, F.lit(""))),
    )


def _candidates(failures: DataFrame, open_copies: DataFrame) -> DataFrame:
    """Open copies that a failed checkpoint should have seen; certain if it can only be these."""
    terms = ("since", "computed", "stated", "excess", "computed_checksum", "checksum")
    failed = F.broadcast(failures.where("excess >= 0").select(*_FAILURE, *terms))
    of_failure = Window.partitionBy(*_FAILURE)
    missing = F.col("computed_checksum").bitwiseXOR(F.col("checksum"))
    return (
        open_copies.drop("sequence")
        .join(failed, ["incarnation", "node"])
        .where("entered_sequence < sequence")
        .withColumn("candidates", F.count("*").over(of_failure))
        .withColumn("all_of_them", F.bit_xor("mix").over(of_failure))
        .withColumn("rank", F.row_number().over(of_failure.orderBy("position")))
        .withColumn(
            "certain",
            ((F.col("candidates") == F.col("excess")) & (F.col("all_of_them") == missing))
            | ((F.col("excess") == 1) & (F.col("mix") == missing)),
        )
    )


def message_states(records: DataFrame) -> DataFrame:
    """Each message: its route's copies and their ends, and whether its body stayed the same."""
    body = F.when((F.col("body_digest") != 0) & ~flag(Flag.TRANSLATED), F.col("body_digest"))
    routed, ended = routes_copies(), ends_route()
    bodied = body.isNotNull()
    return records.groupBy("message").agg(
        F.sum(F.when(routed, F.col("copies").cast("long")).otherwise(0)).alias("routed"),
        F.sum(F.when(ended, 1).otherwise(0)).alias("ended"),
        F.bool_or(kind_is(Kind.RECEIVED)).alias("received"),
        F.max(F.when(routed, F.col("incarnation"))).alias("incarnation"),
        F.max(F.when(routed, F.coalesce("exchange", "node"))).alias("route"),
        F.max(F.when(routed, F.col("sequence"))).alias("sequence"),
        F.min(F.when(routed, F.col("sequence"))).alias("first_routed"),
        F.max(F.when(ended, F.col("sequence"))).alias("last_ended"),
        F.min_by("body_digest", F.when(bodied, F.col("sequence"))).alias("original"),
        F.min(body).alias("least"),
        F.max(body).alias("greatest"),
        F.max_by("sequence", body).alias("greatest_sequence"),
        F.min_by("sequence", body).alias("least_sequence"),
    )


def mutated(messages: DataFrame) -> DataFrame:
    """Messages whose body changed without translation."""
    other = F.col("least") == F.col("original")
    changed = messages.where("least <> greatest").withColumn(
        "sequence", F.when(other, F.col("greatest_sequence")).otherwise(F.col("least_sequence"))
    )
    found = F.when(other, F.col("greatest")).otherwise(F.col("least"))
    return as_breaks(
        changed,
        BreakClass.MUTATED,
        F.concat(
            F.lit("body digest "), _digest(F.col("original")), F.lit(" became "), _digest(found)
        ),
    )


def _digest(value: Column) -> Column:
    return F.lower(F.lpad(F.hex(value), 16, "0"))


def routed_twice(messages: DataFrame) -> DataFrame:
    """Messages of which more copies ended their route than it made."""
    over = messages.where("received and ended > routed").withColumns(
        {
            "node": F.col("route"),
            "count": F.col("ended") - F.col("routed"),
            "since": F.col("first_routed"),
            "sequence": F.col("last_ended"),
        }
    )
    return as_breaks(
        over,
        BreakClass.DUPLICATE,
        F.format_string("%d copies routed, %d arrived", "routed", "ended"),
    )


def route_breaks(failures: DataFrame, messages: DataFrame) -> DataFrame:
    """Routes with copies that never ended, down to the message where it can only be that one."""
    short = messages.where("received and ended < routed").withColumn(
        "missing", F.col("routed") - F.col("ended")
    )
    terms = ("incarnation", "route", "sequence")
    failed = F.broadcast(failures.where("excess > 0").select(*terms, "since", "excess"))
    candidates = (
        short.withColumnRenamed("sequence", "routed_sequence")
        .join(failed, ["incarnation", "route"])
        .where("routed_sequence < sequence")
        .withColumn("all_missing", F.sum("missing").over(Window.partitionBy(*terms)))
    )
    certain = candidates.where("all_missing = excess").withColumn("node", F.col("route"))
    named = as_breaks(
        certain.withColumn("count", F.col("missing")),
        BreakClass.LOST,
        F.format_string("%d copies routed, %d arrived", "routed", "ended"),
    )
    rest = failures.where("excess > 0").join(
        certain.select(*terms).distinct(), [*terms], "left_anti"
    )
    return named.unionByName(
        as_breaks(
            rest.withColumn("count", F.col("excess"))
            .withColumn("node", F.col("route"))
            .withColumn("certain", F.lit(False)),
            BreakClass.LOST,
            F.format_string(
                "%d copies pending by the log, %d by the checkpoint", "computed", "stated"
            ),
        )
    )

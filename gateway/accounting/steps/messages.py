"""The ledger of messages: which was routed to more copies than arrived, or fewer, or changed."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.copies import ODD
from gateway.accounting.steps.ledger import ends_route, flag, kind_is, reason_is, routes_copies
from gateway.audit.schema import BODIED, Flag, Kind, Reason

# With which something may be wrong; what is on its way is among them.
FROM_UPSTREAM: Final = "upstream "  # with which the exchange of what one gives back begins
TWICE: Final = "received and beyond > 0 and onward <= followed"
UNSAID: Final = "not received and beyond > 0 and onward <= followed"  # no record says that it came
EARLY: Final = "first_end.sequence < came_at"  # a copy arrived in front of the record that it came
# One that goes on arrived in front of the record of where it went.
AHEAD: Final = "first_onward.sequence < first_followed and first_onward.sequence > came_at"
OTHERWISE: Final = "least_held.of <> held_by or greatest_held.of <> held_by"  # in a transaction
ODDLY: Final = f"odd > 0 or beyond > 0 or {EARLY} or {OTHERWISE}"  # as records that name others do
_STORED: Final = "received and not durable and stored is not null"
DOUBTFUL: Final = f"""least <> greatest or ended <> routed or onward > followed or times > 1
    or {EARLY} or {AHEAD} or {OTHERWISE} or {_STORED}"""


def goes_onward() -> Column:
    """The record ends a copy that goes on elsewhere: `routed` follows, with where."""
    rerouted = kind_is(Kind.UNROUTABLE) & reason_is(Reason.ALTERNATE_EXCHANGE)
    return kind_is(Kind.DEAD_LETTERED, Kind.MOVED) | rerouted


def message_states(records: DataFrame, runs: DataFrame) -> DataFrame:
    """Each message: its route's copies and their ends, and whether its body stayed the same.

    `runs`: by `ledger.incarnations`. A copy that a prepared branch has again after a restart is
    sent to nobody: before the first checkpoint, and without a digest.
    """
    records = records.join(F.broadcast(runs.select("incarnation", "checked")), "incarnation")
    nobody = kind_is(Kind.SENT) & F.expr("body_digest = 0 and coalesce(sequence < checked, true)")
    bodied_so = kind_is(*BODIED) & ~flag(Flag.TRANSLATED) & ~nobody
    body = F.when(bodied_so, F.col("body_digest"))
    routed, ended = routes_copies(), ends_route()
    bodied, onward = body.isNotNull(), goes_onward()
    received = kind_is(Kind.RECEIVED)
    came_at = F.when(received, F.col("sequence"))
    here = kind_is(Kind.ENTERED) & ~flag(Flag.TRANSIT) & ~flag(Flag.REROUTED)
    place = F.struct(
        F.col("transaction").alias("of"), "incarnation", "node", "position", "mix", "sequence"
    )
    place = F.when(here, place)
    made = F.when(routed, F.col("copies").cast("long")).otherwise(0)
    more = F.when(received, F.col("copies").cast("long"))
    end = F.struct("incarnation", _route().alias("route"), "sequence", "transaction")
    ended_at = F.when(ended, F.col("sequence"))
    return (
        records.groupBy("message")
        .agg(
            F.sum(made).alias("routed"),
            # Of what is received again, whose record stands there twice.
            F.coalesce(F.sum(more) - F.min_by(more, came_at), F.lit(0)).alias("repeated"),
            F.count_if(received).alias("times"),
            F.min(came_at).alias("came_at"),
            F.max(came_at).alias("came_again"),
            F.bool_or(received & flag(Flag.DURABLE)).alias("durable"),
            F.min_by(place, F.when(here & flag(Flag.DURABLE), F.col("sequence"))).alias("stored"),
            F.min(place).alias("least_held"),
            F.max(place).alias("greatest_held"),
            F.sum(F.when(ended, 1).otherwise(0)).alias("ended"),
            F.bool_or(received).alias("received"),
            F.max(F.when(routed, F.col("incarnation"))).alias("incarnation"),
            F.max(F.when(routed, _route())).alias("route"),
            F.max(F.when(routed, F.col("sequence"))).alias("sequence"),
            F.max(F.when(received, F.col("link"))).alias("link"),
            F.max(F.when(received, F.col("transaction"))).alias("held_by"),
            F.min(F.when(routed, F.col("sequence"))).alias("first_routed"),
            F.max(ended_at).alias("last_ended"),
            F.min_by(end, ended_at).alias("first_end"),
            F.min_by(end, F.when(ended & flag(Flag.REROUTED), F.col("sequence"))).alias(
                "first_onward"
            ),
            F.min(F.when(kind_is(Kind.ROUTED), F.col("sequence"))).alias("first_followed"),
            F.min_by("body_digest", F.when(bodied, F.col("sequence"))).alias("original"),
            F.min(body).alias("least"),
            F.max(body).alias("greatest"),
            F.max_by(F.struct("sequence", "node"), body).alias("greatest_at"),
            F.min_by(F.struct("sequence", "node"), body).alias("least_at"),
            F.count_if(onward).alias("onward"),
            F.count_if(kind_is(Kind.ROUTED)).alias("followed"),
            F.max(F.when(onward, F.col("sequence"))).alias("last_onward"),
            F.max_by("node", F.when(onward, F.col("sequence"))).alias("left_node"),
            F.max(F.when(onward, F.col("incarnation"))).alias("left_incarnation"),
        )
        .withColumn("routed", F.expr("routed - repeated"))
    )


def _route() -> Column:
    return F.coalesce("exchange", "node")


def by_route(records: DataFrame) -> DataFrame:
    """Of each route of these messages, how many ends are `missing`; below zero: are too many.

    `held`: a transaction did.
    """
    routed, ended = routes_copies(), ends_route()
    sequence = F.col("sequence")
    counted = records.where(routed | ended).groupBy(
        "incarnation", _route().alias("route"), "message"
    )
    made = F.when(routed, F.col("copies").cast("long")).otherwise(0)
    return counted.agg(
        F.sum(made - F.when(ended, 1).otherwise(0)).alias("missing"),
        F.min(F.when(routed, sequence)).alias("first_routed"),
        F.max(F.when(routed, sequence)).alias("routed_at"),
        F.min(F.when(ended, sequence)).alias("first_end"),
        F.bool_or(ended & F.expr("transaction <> 0")).alias("held"),
    ).where("missing <> 0")


def on_their_routes(short: DataFrame, records: DataFrame) -> DataFrame:
    """Messages of which copies have not arrived, each with the route by which they have not."""
    of_these = by_route(records.join(F.broadcast(short.select("message")), "message"))
    names = ("incarnation", "route", "first_routed", "routed_at")
    lacking = of_these.where("missing > 0").groupBy("message")
    found = lacking.agg(F.max_by(F.struct(*names), "missing").alias("by"))
    return (
        short.drop(*names, "sequence")
        .join(found, "message")
        .select("*", "by.*")
        .withColumnRenamed("routed_at", "sequence")
        .drop("by")
    )


def with_steps(states: DataFrame, odd: DataFrame) -> DataFrame:
    """Messages with which something may be wrong; copies that are told of by name are no reason.

    What came without a record (`arrived`) has `ended` its route (`shown`: as many as it made), and
    what entered a place again has not.
    `beyond`: of how many ends no record says that they were made. `odd`: by `copies.came_oddly`.
    """
    joined = states.join(odd, "message", "left").na.fill(0, [*ODD])
    known = joined.where(f"odd > 0 or {DOUBTFUL}").withColumns(
        {
            "arrived": F.col("shown"),
            "shown": F.expr("least(shown, greatest(routed - ended, 0))"),
            "again": F.expr("least(again, greatest(ended - routed, 0))"),
        }
    )
    known = known.withColumn("ended", F.expr("ended + shown - again"))
    return known.withColumn("beyond", F.expr("greatest(ended - routed, 0)"))


def mutated(messages: DataFrame) -> DataFrame:
    """Messages whose body changed without translation; where it was another one."""
    other = F.col("least") == F.col("original")
    at = F.when(other, F.col("greatest_at")).otherwise(F.col("least_at"))
    found = F.when(other, F.col("greatest")).otherwise(F.col("least"))
    return as_breaks(
        messages.where("least <> greatest"),
        BreakClass.MUTATED,
        F.concat(
            F.lit("body digest "), _digest(F.col("original")), F.lit(" became "), _digest(found)
        ),
        sequence=at["sequence"],
        node=at["node"],
    )


def _digest(value: Column) -> Column:
    return F.lower(F.lpad(F.hex(value), 16, "0"))


def came_otherwise(messages: DataFrame) -> DataFrame:
    """Messages that came twice, later than they arrived, or not as durable ones as they are.

    One break each: what is the first of these.
    """
    early, ahead, twice = F.expr(EARLY), F.expr(AHEAD), F.expr("times > 1")
    twice_named = F.when(twice, str(BreakClass.DUPLICATE))
    named = twice_named.when(early | ahead, str(BreakClass.ORPHAN_SETTLEMENT))
    detail = F.when(twice, F.format_string("received %d times", "times"))
    detail = detail.when(early, "it arrived in front of the record that it was received")
    detail = detail.when(ahead, "it arrived in front of the record of where it went")
    shown = F.when(twice, F.col("came_again")).when(early, F.col("first_end.sequence"))
    shown = shown.when(ahead, F.col("first_onward.sequence"))
    return as_breaks(
        messages.where(f"times > 1 or {EARLY} or {AHEAD} or {_STORED}"),
        named.otherwise(str(BreakClass.MUTATED)),
        detail.otherwise("it is stored as a durable one, and was not received as such"),
        node=F.coalesce(F.when(shown.isNull(), F.col("stored.node")), F.col("route")),
        since=F.when(~twice & ahead, F.col("came_at")),
        sequence=shown.otherwise(F.col("stored.sequence")),
    )


def routed_twice(messages: DataFrame) -> DataFrame:
    """Messages of which more copies ended their route than it made."""
    return as_breaks(
        messages.where(TWICE),
        BreakClass.DUPLICATE,
        F.format_string("%d copies routed, %d arrived", "routed", "ended"),
        node=F.col("route"),
        count=F.col("beyond"),
        since=F.col("first_routed"),
        sequence=F.col("last_ended"),
    )


def never_came(unsaid: DataFrame, runs: DataFrame) -> DataFrame:
    """Messages of which copies arrived, and no record says that they were received (`UNSAID`).

    That stands in the same run, but for what a transaction held; `runs`: by `ledger.incarnations`.
    """
    begun = runs.select("incarnation", (F.col("first_sequence") - 1).alias("begun"))
    ends = unsaid.select("message", "beyond", "first_end.*")
    return as_breaks(
        ends.join(F.broadcast(begun), "incarnation"),
        BreakClass.LOST,
        F.format_string("%d of its copies arrived, and no record says that it came", "beyond"),
        node=F.col("route"),
        since=F.expr("if(transaction = 0, begun, 0)"),
    )


def route_breaks(failures: DataFrame, short: DataFrame) -> DataFrame:
    """Routes with copies that never ended, down to the message where it can only be that one.

    Each is of the first that fails behind it, if these are all of that. And with copies on their
    way that no record has made.

    `short`: messages that it may be, by `confirmed.with_told`: it is those that their publishers
    were told of, if these are all.
    """
    short = short.withColumn("missing", F.col("routed") - F.col("ended"))
    terms = ("incarnation", "route", "sequence")
    failed = F.broadcast(failures.where("excess > 0").select(*terms, "since", "excess"))
    here, told = "if(sequence = until, missing, 0)", "if(told is null, 0, missing)"
    sums = {"new": here, "all": "missing", "told": told}
    of_failure, of_message = Window.partitionBy(*terms), Window.partitionBy("route", "message")
    candidates = (
        short.withColumnRenamed("sequence", "routed_sequence")
        .join(failed, ["incarnation", "route"])
        .where("routed_sequence < sequence")
        .withColumn("until", F.min("sequence").over(of_message))
        .withColumns({f"{n}_missing": F.sum(F.expr(e)).over(of_failure) for n, e in sums.items()})
    )
    # Those that came since the one before; or all, as those of a transaction, that came before.
    certain = candidates.where(
        "if(new_missing = excess, sequence = until, all_missing = excess"
        " or told is not null and told_missing = excess)"
    )
    named = as_breaks(
        certain,
        BreakClass.LOST,
        F.format_string("%d copies routed, %d arrived", "routed", "ended"),
        node=F.col("route"),
        count=F.col("missing"),
    )
    rest = failures.where("excess > 0").join(
        certain.select(*terms).distinct(), [*terms], "left_anti"
    )
    unsaid = failures.where("excess < 0")
    return named.unionByName(
        as_breaks(
            rest.unionByName(unsaid),
            BreakClass.LOST,
            F.format_string(
                "%d copies pending by the log, %d by the checkpoint", "computed", "stated"
            ),
            count=F.abs("excess"),
            node=F.col("route"),
            certain=F.lit(False),
        )
    )


def published_again(published: DataFrame) -> DataFrame:
    """One row: how many ids of applications came more than once, with how many messages too many.

    `published`: each message that has an id, with its digest. `first` and `again` are two messages
    with one such id. What an upstream gives back is not published again.
    """
    by_id = published.groupBy("id_digest").agg(
        F.count("*").alias("times"),
        F.min("message").alias("first"),
        F.max("message").alias("again"),
    )
    return by_id.where("times > 1").agg(
        F.count("*").alias("ids"),
        F.coalesce(F.sum("times") - F.count("*"), F.lit(0)).alias("messages"),
        F.min("first").alias("first"),
        F.min_by("again", "first").alias("again"),
    )


def led_nowhere(messages: DataFrame, runs: DataFrame) -> DataFrame:
    """Copies that left for another queue, of which no record says where that is.

    `routed` is the next record of the gateway, or, if that makes the queue of what was rejected,
    the one behind; so what the log ends with is not judged, unless its copies have arrived.
    """
    ends = runs.select(F.col("incarnation").alias("left_incarnation"), "last_sequence")
    missing = (
        messages.where("onward > followed")
        .join(F.broadcast(ends), "left_incarnation")
        .where("last_onward + 2 <= last_sequence or beyond > 0")
    )
    found = missing.select(
        "message",
        (F.col("onward") - F.col("followed")).alias("count"),
        F.col("left_incarnation").alias("incarnation"),
        F.col("left_node").alias("node"),
        F.col("last_onward").alias("since"),
        (F.col("last_onward") + 2).alias("sequence"),
    )
    return as_breaks(
        found, BreakClass.LOST, F.lit("it left for another queue, and no record says for which")
    )

"""What a checkpoint finds wrong because of single copies that are told of by name.

A copy that took a step which it cannot take is in the sums otherwise than it is in its queue: one
that was settled twice has left once more than it entered. How a checkpoint is off by that is known
to the copy, and is no break of its own. What is left is one.

Where a copy is, its last step says: in its queue once it entered, gone once it left, with an outlet
if it was sent there. So by how much the sums are off adds up step by step, and for steps in order
it is nothing. A copy that takes a step and never entered, or was not recovered, did so without a
record: since then the sums lack it, and the first checkpoint that fails shows it.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.copies import COPY_KEYS, NEVER_ENTERED, UNSAID
from gateway.accounting.steps.identities import (
    END_OF_LOG,
    FAILS,
    OUTLET,
    QUEUE,
    ROUTE,
    Identity,
)
from gateway.accounting.steps.ledger import ends_so, flag, kind_is, outcome_is, reason_is
from gateway.accounting.steps.messages import by_route
from gateway.audit.schema import Flag, Kind, Outcome, Reason

# Since when what a route has too few or too many of may show: what a transaction held was made some
# time before it ended its route, and what goes on when it left.
_BEGUN: Final = """case when missing > 0 then first_routed when held then 0
    else least(first_routed, first_end, if(onward > followed, last_onward, null)) end"""
_ARRIVED: Final = f"{NEVER_ENTERED} or {UNSAID}"


def effects(paired: DataFrame, doubtful: DataFrame, runs: DataFrame) -> DataFrame:
    """What puts the sums off, and by how much; `paired` by `copies.with_previous`.

    It does so from one of the records `begun` to `sequence` on.
    depth: of the queue's. mix: what its checksum is off by, then. came: of those, by copies that
    entered.
    held: of what is with somebody.
    links: of the unsettled of outlets; `unsent`, of those, by a delivery without its `sent`.

    `doubtful`: messages, by `messages.with_steps`.
    """
    of_run = Window.partitionBy(*COPY_KEYS, "incarnation")
    left_at = F.min(F.when(F.col("step") == "exit", F.col("sequence"))).over(of_run)
    steps = paired.where(~flag(Flag.UNQUEUED)).withColumn("left_at", left_at)
    return _of_steps(steps).unionByName(_of_arrivals(steps.where(_ARRIVED), doubtful, runs))


def _of_steps(queued: DataFrame) -> DataFrame:
    """Of single steps, where they are taken."""
    earlier = Window.partitionBy(*COPY_KEYS).orderBy("sequence")
    earlier = earlier.rowsBetween(Window.unboundedPreceding, -1)
    moved = F.when(F.col("step").isin("in", "exit"), F.struct("incarnation", "step"))
    shown = F.when(F.expr(UNSAID), F.struct("incarnation", F.lit("in").alias("step")))
    stands = F.last(F.coalesce(moved, shown), ignorenulls=True).over(earlier)
    steps = queued.withColumn("stands", stands)
    placed = steps.withColumns(
        {
            "there": F.expr("coalesce(stands.incarnation = incarnation, false)")
            & F.expr("stands.step = 'in'"),
            "out": F.expr("before = 'out' and before_incarnation = incarnation"),
        }
    )
    known = placed.withColumns({"depth": _depth(), "held": _held(), "links": _links()})
    known = known.where("not early and (depth <> 0 or held <> 0 or size(links) > 0)")
    return known.select(
        *("incarnation", *COPY_KEYS, _begun().alias("begun"), "sequence"),
        *("depth", "held", "links"),
        F.expr("if(depth = 0, 0L, mix)").alias("mix"),
        F.lit(0).alias("came"),
    )


def _of_arrivals(arrived: DataFrame, doubtful: DataFrame, runs: DataFrame) -> DataFrame:
    """Of copies that came without a record: into the queue, or back into it after a restart.

    A copy that its message's route lacks entered when that made it, or else when it is seen first;
    at the latest when it left.
    """
    begun = runs.select("incarnation", F.col("first_sequence").alias("begun_run"))
    routed = doubtful.where("arrived > 0").select(
        "message",
        *("received", F.expr("if(shown > 0, incarnation, null)").alias("routed_in")),
        F.col("first_routed").alias("routed_at"),
    )
    seen = (
        arrived.join(F.broadcast(begun), "incarnation")
        .join(F.broadcast(routed), "message", "left")
        .withColumn("routed_in", F.expr(f"if({NEVER_ENTERED}, routed_in, null)"))
    )
    entered = "struct(routed_in as incarnation, routed_at as begun, {} as sequence, 1 as came)"
    here = entered.format("if(step = 'exit', sequence, coalesce(left_at, sequence))")
    before = entered.format(f"{END_OF_LOG}L")
    strange = "struct(incarnation, {} as begun, {} as sequence, {} as came)"
    left = "coalesce(left_at, sequence)"
    unsaid, strange = strange.format("begun_run", left, 1), strange.format("sequence", left, 0)
    recovered = "struct(incarnation, begun_run as begun, begun_run as sequence, 0 as came)"
    places = f"""case when step = 'in' and routed_in is null then array()
        when step = 'in' then array({before})
        when routed_in = incarnation then array({here})
        when routed_in < incarnation then array({before}, {recovered})
        when {NEVER_ENTERED} and not coalesce(received, true) then array({unsaid})
        when {NEVER_ENTERED} then array({strange})
        else array({recovered}) end"""
    return seen.select(*COPY_KEYS, "mix", F.inline(F.expr(places))).select(
        *("incarnation", *COPY_KEYS, "begun", "sequence"),
        *(F.lit(-1).alias("depth"), F.lit(0).alias("held"), _no_link().alias("links")),
        *("mix", "came"),
    )


def _depth() -> Column:
    step, there, unsaid = F.col("step"), F.col("there"), F.expr(UNSAID)
    left = (step == "exit") & ~there & ~unsaid
    kept_on = kind_is(Kind.SETTLED) & flag(Flag.REMOVED) & ~ends_so() & there
    return (
        F.when(left | F.col("stayed"), -1)
        .when(kept_on, 1)
        .when((step == "in") & there, 1)
        .otherwise(0)
    )


def _begun() -> Column:
    """Of what is sent while it is out, the end may be missing, which was before that.

    And of what ends while it is not out, that it was sent.
    """
    unended = kind_is(Kind.SENT) & F.col("out")
    unsent = kind_is(Kind.SETTLED, Kind.REQUEUED) & F.expr("there and not out")
    return F.when(unended | unsent, F.col("since")).otherwise(F.col("sequence"))


def _held() -> Column:
    """Who rejects a copy that has an alternate exchange has it until it leaves for that."""
    leaves_later = outcome_is(Outcome.REJECTED) & ~flag(Flag.REMOVED)
    left_later = kind_is(Kind.DEAD_LETTERED) & reason_is(Reason.REJECTED) & ~F.col("there")
    ended = (kind_is(Kind.SETTLED) & ~leaves_later) | kind_is(Kind.REQUEUED) | left_later
    again = (kind_is(Kind.SENT) & ~flag(Flag.SETTLED)) | kind_is(Kind.ENTERED)
    out = F.col("out")
    return F.when(again & out, 1).when(ended & ~out, -1).otherwise(0)


def _links() -> Column:
    """Of the outlet that ended a delivery, and of the one that it was sent to before."""
    ended = kind_is(Kind.SETTLED, Kind.REQUEUED)
    same, unended = F.expr("out and link = before_link"), kind_is(Kind.SETTLED) & ~ends_so()
    other = F.expr("array(struct(before_link as link, 1 as off, 0 as unsent))")
    own = F.expr("array(struct(link, -1 as off, if(there and not out, 1, 0) as unsent))")
    return (
        F.when(unended, F.when(F.col("out"), other).otherwise(_no_link()))
        .when(ended & same, _no_link())
        .when(ended & F.col("out"), F.concat(own, other))
        .when(ended, own)
        .when(kind_is(Kind.SENT, Kind.ENTERED) & F.col("out"), other)
        .otherwise(_no_link())
    )


def _no_link() -> Column:
    return F.expr("cast(array() as array<struct<link: bigint, off: int, unsent: int>>)")


def of_queues(failed: DataFrame, known: DataFrame) -> DataFrame:
    """Where queues fail, by what copies do not explain; `known` by `effects`."""
    off = _summed(
        failed,
        known.where("depth <> 0 or held <> 0 or mix <> 0"),
        QUEUE,
        depth=F.sum("depth"),
        share=F.bit_xor("mix"),
        held=F.sum("held"),
        came=F.sum("came"),
        also="depth = 0 and stuck > 0",
    )
    joined = off.withColumns({name: _where_it_fails(name) for name in ("depth", "share", "came")})
    return joined.withColumns(
        {
            "computed": F.expr("computed - depth"),
            "excess": F.expr("excess - depth"),
            "computed_checksum": F.expr("computed_checksum ^ share"),
            "stuck": F.expr("greatest(0, least(stuck, stuck + held))"),
            "unseen": F.expr("greatest(0, unseen - came)"),
        }
    ).select(*failed.columns)


def never_ended(failed: DataFrame, known: DataFrame, owed: DataFrame) -> DataFrame:
    """By its `sequence` what was sent while it was out, to an outlet that had not got it any more.

    By a checkpoint of that outlet, `failed`; or since it is gone (`owed`, by `outlets.owed`).
    """
    each = known.select("incarnation", *COPY_KEYS, "begun", "sequence", F.inline("links"))
    sent = each.where("off = 1 and begun < sequence")
    together = F.count("*").over(Window.partitionBy("incarnation", "link", "until"))
    within = _within(failed, sent, OUTLET).withColumn("together", together)
    within = within.where("together <= excess").select("sequence")
    gone = sent.join(owed.where("open > 0"), ["incarnation", "link", *COPY_KEYS])
    return within.union(gone.select("sequence")).distinct()


def of_outlets(failed: DataFrame, known: DataFrame) -> DataFrame:
    """Where outlets fail, by what copies do not explain; `known` by `effects`."""
    each = known.select("incarnation", *COPY_KEYS, "begun", "sequence", F.inline("links"))
    off = _summed(failed, each, OUTLET, off=F.sum("off"), unsent=F.sum("unsent"))
    return (
        off.withColumn("off", _where_it_fails("off"))
        .withColumns(
            {
                "computed": F.expr("computed - off"),
                "excess": F.expr("excess - off"),
                "unseen": F.expr("greatest(0, unseen - unsent)"),
            }
        )
        .select(*failed.columns)
    )


def of_lost(lost: DataFrame) -> DataFrame:
    """By how much copies that are lost put outlets off that had them, as by `effects`."""
    return lost.where("holder is not null").select(
        *("incarnation", *COPY_KEYS, F.col("holder.sequence").alias("begun")),
        F.lit(END_OF_LOG).alias("sequence"),
        F.expr("array(struct(holder.link, 1 as off, 0 as unsent))").alias("links"),
    )


def with_nobody(lost: DataFrame, unrecorded: DataFrame) -> DataFrame:
    """How many copies of each queue are told of by name of which no record says who had them.

    `lost`: by `copies.lost`; `unrecorded`: by `supposed.unrecorded`.
    """
    left = lost.where("holder is null").select("incarnation", "node", F.lit(1).alias("came"))
    both = left.unionByName(unrecorded.select("incarnation", "node", "came"))
    by_queue = both.groupBy("incarnation", F.col("node").alias("of_node"))
    return by_queue.agg(F.sum("came").alias("left"))


def without_lost(failed: DataFrame, left: DataFrame) -> DataFrame:
    """Where outlets fail, without copies that are told of by name: one may have had them.

    So many more may have been sent from their queue than records say. `left`: by `with_nobody`.
    """
    owed = failed.withColumn("owed", F.expr("cast(greatest(-excess, 0) as bigint)"))
    found = _less_by(_less_by(owed, left, "of_node", "unseen"), left, "of_node", "owed")
    found = found.withColumn("told", F.expr("greatest(-excess, 0) - owed"))
    return found.withColumns(
        {"computed": F.expr("computed + told"), "excess": F.expr("excess + told")}
    ).select(*failed.columns)


def without_held(failed: DataFrame, left: DataFrame) -> DataFrame:
    """The same of queues, by what is with somebody."""
    return _less_by(failed, left, "node", "stuck").select(*failed.columns)


def _less_by(failed: DataFrame, left: DataFrame, node: str, name: str) -> DataFrame:
    """What fails, with less of `name` by what is `left` of each queue."""
    known = F.broadcast(left.withColumnRenamed("of_node", node))
    joined = failed.join(known, ["incarnation", node], "left").na.fill(0, ["left"])
    others = Window.partitionBy("incarnation", node).orderBy("sequence")
    others = others.rowsBetween(Window.unboundedPreceding, -1)
    before = F.coalesce(F.sum(name).over(others), F.lit(0))
    theirs = F.greatest(F.col("left") - before, F.lit(0))
    return joined.withColumn(name, F.greatest(F.col(name) - theirs, F.lit(0))).drop("left")


def of_routes(failed: DataFrame, doubtful: DataFrame, records: DataFrame) -> DataFrame:
    """Where routes fail, by what copies do not explain; `doubtful` by `messages.with_steps`.

    Of each route of a message: what came without a record has ended it, if something has not, and
    what ended beyond what it made is told of by name.
    """
    names = ("message", "shown", "again", "onward", "followed", "last_onward", "repeated")
    told = doubtful.where("shown > 0 or again > 0 or beyond > 0 or repeated > 0")
    odd = F.broadcast(told.select(*names))
    known = by_route(records.join(odd, "message", "left_semi")).join(odd, "message")
    known = known.withColumns(
        {
            "off": F.expr("if(missing > 0, least(missing, shown + repeated), missing)"),
            "came": F.expr("greatest(-missing - again, 0)"),
            "begun": F.expr(_BEGUN),
            "sequence": F.lit(END_OF_LOG),
        }
    )
    off = _summed(
        failed, known.where("off <> 0"), ROUTE, off=F.sum("off"), came=F.sum("came")
    ).withColumns({name: _where_it_fails(name) for name in ("off", "came")})
    return off.withColumns(
        {
            "computed": F.expr("computed - off"),
            "excess": F.expr("excess - off"),
            "unseen": F.expr("greatest(0, unseen - came)"),
        }
    ).select(*failed.columns)


def _summed(
    failed: DataFrame, known: DataFrame, identity: Identity, *, also: str = "false", **sums: Column
) -> DataFrame:
    """What fails with the sums of what is known between it and the statement before.

    What puts the sums off from one of several records on does so where it first fails, or `also`.
    """
    keys = ("incarnation", identity.key)
    within = _within(failed, known, identity, also)
    summed = within.groupBy(*keys, F.col("until").alias("sequence")).agg(
        *(what.alias(name) for name, what in sums.items())
    )
    return failed.join(F.broadcast(summed), [*keys, "sequence"], "left").na.fill(0, [*sums])


def _within(
    failed: DataFrame, known: DataFrame, identity: Identity, also: str = "false"
) -> DataFrame:
    """What is known, with the one statement `until` which it puts off, and by how much that is."""
    keys = ("incarnation", identity.key)
    spans = failed.select(
        *(*keys, F.col("sequence").alias("until"), F.col("since").alias("after")),
        *("excess", "stuck", _fails().alias("fails")),
    )
    each = Window.partitionBy(*{*keys, *COPY_KEYS} & {*known.columns}, "begun", "sequence")
    return (
        known.join(F.broadcast(spans), [*keys])
        .where(f"sequence > after and begun < until and (begun = sequence or fails or {also})")
        .withColumn("first", F.min("until").over(each))
        .where("until = first")
    )


def _where_it_fails(name: str) -> Column:
    """A checkpoint that agrees is right, whatever a copy says."""
    return F.when(_fails(), F.col(name)).otherwise(0)


def _fails() -> Column:
    return F.coalesce(F.expr(FAILS), F.expr("excess <> 0"))

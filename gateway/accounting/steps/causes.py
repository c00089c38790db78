"""What a checkpoint finds wrong because of single copies that are told of by name.

A copy that took a step which it cannot take is in the sums otherwise than it is in its queue: one
that was settled twice has left once more than it entered. How a checkpoint is off by that is known
to the copy, and is no break of its own. What is left is one.

Where a copy is, its last step says: in its queue once it entered, gone once it left, with an outlet
if it was sent there. So by how much the sums are off adds up step by step, and for steps in order
it is nothing.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.identities import FAILS, OUTLET, QUEUE, Identity
from gateway.accounting.steps.ledger import flag, kind_is, outcome_is, reason_is
from gateway.audit.schema import Flag, Kind, Outcome, Reason


def effects(paired: DataFrame) -> DataFrame:
    """The steps that put the sums off, and by how much; `paired` by `copies.with_previous`.

    depth: of the queue's. mix: what its checksum is off by, then.
    held: of what is with somebody.
    links: of the unsettled of outlets; `unsent`, of those, by a delivery without its `sent`.
    """
    earlier = Window.partitionBy(*COPY_KEYS).orderBy("sequence")
    earlier = earlier.rowsBetween(Window.unboundedPreceding, -1)
    moved = F.when(F.col("step").isin("in", "exit"), F.struct("incarnation", "step"))
    stands = F.last(moved, ignorenulls=True).over(earlier)
    steps = paired.where(~flag(Flag.UNQUEUED)).withColumn("stands", stands)
    placed = steps.withColumns(
        {
            "there": F.expr("coalesce(stands.incarnation = incarnation, false)")
            & F.expr("stands.step = 'in'"),
            "out": F.expr("before = 'out' and before_incarnation = incarnation"),
        }
    )
    known = placed.withColumns({"depth": _depth(), "held": _held(), "links": _links()})
    return known.where("depth <> 0 or held <> 0 or size(links) > 0").select(
        *("incarnation", *COPY_KEYS, "sequence", "depth", "held", "links"),
        F.expr("if(depth = 0, 0L, mix)").alias("mix"),
    )


def _depth() -> Column:
    step, there = F.col("step"), F.col("there")
    return F.when((step == "exit") & ~there, -1).when((step == "in") & there, 1).otherwise(0)


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
    same = F.expr("out and link = before_link")
    other = F.expr("array(struct(before_link as link, 1 as off, 0 as unsent))")
    own = F.expr("array(struct(link, -1 as off, if(there and not out, 1, 0) as unsent))")
    none = F.expr("cast(array() as array<struct<link: bigint, off: int, unsent: int>>)")
    return (
        F.when(ended & same, none)
        .when(ended & F.col("out"), F.concat(own, other))
        .when(ended, own)
        .when(kind_is(Kind.SENT, Kind.ENTERED) & F.col("out"), other)
        .otherwise(none)
    )


def of_queues(failed: DataFrame, known: DataFrame) -> DataFrame:
    """Where queues fail, by what copies do not explain; `known` by `effects`."""
    off = _summed(
        failed,
        known.where("depth <> 0 or held <> 0"),
        QUEUE,
        depth=F.sum("depth"),
        share=F.bit_xor("mix"),
        held=F.sum("held"),
    )
    joined = off.withColumns({"depth": _where_it_fails("depth"), "share": _where_it_fails("share")})
    return joined.withColumns(
        {
            "computed": F.expr("computed - depth"),
            "excess": F.expr("excess - depth"),
            "computed_checksum": F.expr("computed_checksum ^ share"),
            "stuck": F.expr("greatest(0, least(stuck, stuck + held))"),
        }
    ).select(*failed.columns)


def of_outlets(failed: DataFrame, known: DataFrame) -> DataFrame:
    """Where outlets fail, by what copies do not explain; `known` by `effects`."""
    each = known.select("incarnation", "sequence", F.inline("links"))
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


def _summed(failed: DataFrame, known: DataFrame, identity: Identity, **sums: Column) -> DataFrame:
    """What fails with the sums of what is known between it and the statement before."""
    keys = ("incarnation", identity.key)
    spans = failed.select(*keys, F.col("sequence").alias("until"), "since")
    within = known.join(F.broadcast(spans), [*keys]).where("sequence > since and sequence < until")
    summed = within.groupBy(*keys, F.col("until").alias("sequence")).agg(
        *(what.alias(name) for name, what in sums.items())
    )
    return failed.join(F.broadcast(summed), [*keys, "sequence"], "left").na.fill(0, [*sums])


def _where_it_fails(name: str) -> Column:
    """A checkpoint that agrees is right, whatever a copy says."""
    fails = F.coalesce(F.expr(FAILS), F.expr("excess <> 0"))
    return F.when(fails, F.col(name)).otherwise(0)

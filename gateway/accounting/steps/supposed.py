"""Copies that are told of by name, and may be why a checkpoint fails: which of them are.

That a durable copy was not recovered may be as it says, or the record of that is missing; of copies
that arrived beyond what their route made no record says which are too many. So it is supposed that
they put a checkpoint off, and that is held against what it says: it is so where that leaves
nothing, or one copy that is in the queue by the log, which is lost then.

A copy that never arrived by the log has no position. The checksum says whether one that is too many
by it can be of such a message, and at which position that is.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.ledger import flag, kind_is
from gateway.audit.schema import Flag, Kind

_ANY: Final = 1 << 30  # as many of a message as there are
_KEYS: Final = ("incarnation", "node")
_CHECKPOINT: Final = (*_KEYS, "sequence")
_MISSING: Final = "computed_checksum ^ checksum"
_BETWEEN: Final = "latest > since and earliest < sequence"
_LOW: Final = 0x7FFF_FFFF  # these, and what follows, are those of `digests.entry_mix`
_K1: Final = 0x5851_F42D
_K2: Final = 0x4C95_7F2D
_K3: Final = 0x6A09_E667
_SHARES: Final = 1 << 62  # all are below
_BITS: Final = 15  # so many of a share are not of the upper half of what it is made of


def share_of(message: str, position: str) -> str:
    """A copy's share of its queue's checksum, as `digests.entry_mix` makes it."""
    first = f"(({message} & {_LOW}) * {_K1}L)"
    mixed = f"({first} ^ (((shiftright({message}, 31) ^ {position}) & {_LOW}) * {_K2}L))"
    mixed = f"({mixed} ^ shiftright({mixed}, 31))"
    return f"((({mixed} & {_LOW}) * {_K3}L) ^ shiftright({mixed}, 16))"


def not_recovered(not_back: DataFrame, runs: DataFrame) -> DataFrame:
    """Durable copies, in each run that may have recovered them; by `copies.not_back`."""
    later = runs.select(F.col("incarnation").alias("run"), F.col("first_sequence").alias("at"))
    within = F.expr("run > incarnation and (back is null or run < back)")
    found = not_back.join(F.broadcast(later), within)
    return found.select(
        *(F.col("run").alias("incarnation"), *COPY_KEYS, "at", "mix"),
        *(F.lit(-1).alias("depth"), F.lit(_ANY).alias("most")),
    )


def entered_beyond(open_copies: DataFrame, twice: DataFrame, steps: DataFrame) -> DataFrame:
    """Open copies of messages of which more arrived than were made (`twice`), or that came back.

    `most`: how many of a message they can be at most. `steps`: by `copies.with_previous`.
    """
    beyond = F.broadcast(twice.select("message", (F.col("ended") - F.col("routed")).alias("most")))
    more = open_copies.join(beyond, "message").withColumn("at", F.col("entered_sequence"))
    returned = kind_is(Kind.RECOVERED) | ~flag(Flag.REROUTED)
    again = steps.where("step = 'in' and before = 'exit'").where(returned)
    again = again.withColumns({"at": F.col("sequence"), "most": F.lit(1)})
    names = (*_KEYS, "message", "position", "at", "mix", F.lit(1).alias("depth"), "most")
    return more.select(*names).unionByName(again.select(*names))


def lost_too(beyond: DataFrame, open_copies: DataFrame) -> DataFrame:
    """Of those by `entered_beyond`, the ones that a restart would be said to have lost besides."""
    lost = open_copies.where("durable and until is not null").select(*COPY_KEYS)
    latest = Window.partitionBy("message").orderBy(F.desc("at"), "node", "position")
    ranked = beyond.join(lost, [*COPY_KEYS]).withColumn("rank", F.row_number().over(latest))
    return ranked.where("rank <= most")


def came_unsaid(arrived: DataFrame, steps: DataFrame) -> DataFrame:
    """Messages of which no record says that they came, and when they did, by their first step."""
    first = steps.groupBy("message").agg(
        F.min_by("incarnation", "sequence").alias("incarnation"), F.min("sequence").alias("latest")
    )
    return first.join(F.broadcast(arrived.select("message", "arrived")), "message").selectExpr(
        *("incarnation", "message", "arrived as less", "0L as earliest", "latest", "true as seen")
    )


def accepted(failed: DataFrame, supposed: DataFrame, open_copies: DataFrame) -> DataFrame:
    """Of each checkpoint that fails, by how much `supposed` copies put it off: all, or one of them.

    `failed`: queues, by `identities.failures`.
    """
    tried = _tried(failed, supposed).selectExpr(
        *(*_CHECKPOINT, "depth", "mix", "copies"),
        *("excess - depth as left_over", "missing ^ mix as left_mix"),
    )
    there = open_copies.select(
        *(*_KEYS, F.col("mix").alias("left_mix"), F.col("entered_sequence").alias("entered"))
    )
    matched = tried.join(there, [*_KEYS, "left_mix"], "left").where(
        "left_over = 0 and left_mix = 0 or left_over = 1 and entered < sequence"
    )
    best = Window.partitionBy(*_CHECKPOINT).orderBy("left_over", "depth", "mix")
    found = matched.withColumn("rank", F.row_number().over(best)).where("rank = 1")
    # No more of a message than there are too many of it.
    each = found.select(*_CHECKPOINT, F.inline("copies"))
    earlier = Window.partitionBy("message").orderBy("sequence")
    too_many = each.withColumn("rank", F.row_number().over(earlier)).where("rank > most")
    return found.join(too_many.select(*_CHECKPOINT), [*_CHECKPOINT], "left_anti").select(
        *(*_CHECKPOINT, "depth", F.col("mix").alias("share"), F.lit(0).alias("came"))
    )


def _tried(failed: DataFrame, supposed: DataFrame) -> DataFrame:
    """What is supposed of each checkpoint: by how much it puts it off, by which `copies`."""
    spans = failed.select(*_CHECKPOINT, "since", "excess", F.expr(_MISSING).alias("missing"))
    latest = Window.partitionBy(*_CHECKPOINT, "message").orderBy(F.desc("at"), "position")
    within = (
        F.broadcast(spans)
        .join(supposed, [*_KEYS])
        .where("at > since and at < sequence")
        .withColumn("taken", F.row_number().over(latest) <= F.col("most"))
    )
    one = F.struct("message", "most")
    each = within.groupBy(*_CHECKPOINT, "excess", "missing").agg(
        F.collect_list(F.struct("depth", "mix", F.array(one).alias("copies"))).alias("single"),
        F.struct(
            F.sum(F.when(F.col("taken"), F.col("depth"))).cast("int").alias("depth"),
            F.bit_xor(F.when(F.col("taken"), F.col("mix"))).alias("mix"),
            F.collect_list(F.when(F.col("taken"), one)).alias("copies"),
        ).alias("all"),
    )
    options = F.inline(F.expr("array_append(single, `all`)"))
    return each.select(*_CHECKPOINT, "excess", "missing", options)


def unrecorded(failed: DataFrame, short: DataFrame) -> DataFrame:
    """Checkpoints with copies that the log has not, which are of messages that are `short`.

    One is if it can be by the checksum, several if just as many are missing of all such messages.
    `short`: each came between the records `earliest` and `latest`, and so many are `less`.
    """
    over = failed.where("excess < 0").select(
        *(*_CHECKPOINT, "since", "excess", F.expr(_MISSING).alias("share"))
    )
    came = F.expr("-excess").cast("int").alias("came")
    return (
        _by_checksum(over.where("excess = -1"), short)
        .unionByName(_as_many(over, short))
        .select(*_CHECKPOINT, F.col("excess").cast("int").alias("depth"), "share", came)
    )


def _as_many(over: DataFrame, short: DataFrame) -> DataFrame:
    """Those with several, as many as are missing, where no other one can have a share in these."""
    told = F.broadcast(over).join(short, "incarnation").where(_BETWEEN)
    shared = F.count("*").over(Window.partitionBy("message"))
    summed = told.withColumn("shared", shared).groupBy(*over.columns)
    each = summed.agg(F.sum("less").alias("less"), F.max("shared").alias("shared"))
    alone = each.where("excess < -1 and less = -excess and shared = 1")
    return alone.select(*over.columns)


def _by_checksum(over: DataFrame, short: DataFrame) -> DataFrame:
    """Those whose share is that of a message at some position.

    By the words of `digests.entry_mix`, the other way round: what a share is made of is one of a
    few numbers, and with what a message makes it leaves a position or none.
    """
    low, some = f"{_LOW}L", (1 << _BITS) - 1
    inverse = pow(_K3, -1, 1 << _BITS)
    # The topmost bits are of the product alone: they say those of its factor, but for one.
    nearly = f"shiftright(shiftleft(shiftright(share, 46), 46) div {_K3}L, 16)"
    lowest = f"(((share ^ high) & {some}) * {inverse}) & {some}"
    factors = (
        over.where(f"share > 0 and share < {_SHARES}")
        .withColumn("high", F.explode(F.expr(f"array({nearly}, {nearly} + 1)")))
        .withColumn("bit", F.explode(F.expr("array(0L, 1L)")))
        .withColumn("factor", F.expr(f"shiftleft(high, 16) | shiftleft(bit, {_BITS}) | {lowest}"))
        .withColumn("rest", F.expr(f"share ^ (factor * {_K3}L) ^ shiftright(factor, 16)"))
        .where(f"factor <= {low} and rest & {some} = 0 and shiftright(rest, 46) = 0")
        .withColumn("upper", F.expr(f"shiftright(rest, {_BITS})"))
    )
    first = f"(message & {low}) * {_K1}L as first"
    messages = short.selectExpr("incarnation", "earliest", "latest", first)
    return (
        factors.join(F.broadcast(messages), "incarnation")
        .where(_BETWEEN)
        .withColumn("second", F.expr("(shiftleft(upper, 31) | (factor ^ upper)) ^ first"))
        .where(f"second % {_K2}L = 0 and second div {_K2}L <= {low}")
        .select(*over.columns)
        .distinct()
    )


def without(failed: DataFrame, explained: DataFrame) -> DataFrame:
    """Where queues fail, by what is left without what is `explained`."""
    joined = failed.join(F.broadcast(explained), [*_CHECKPOINT], "left")
    left = joined.na.fill(0, ["depth", "share", "came"])
    return left.withColumns(
        {
            "computed": F.expr("computed - depth"),
            "excess": F.expr("excess - depth"),
            "computed_checksum": F.expr("computed_checksum ^ share"),
            "unseen": F.expr("greatest(0, unseen - came)"),
        }
    ).select(*failed.columns)

"""The classes of breaks, and the one form in which every step reports them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody who writes Spark knows it)

from gateway.accounting.steps.kept import kept
from gateway.accounting.steps.parsed import parsed


class BreakClass(StrEnum):
    """What can be wrong."""

    LOG_GAP = "LOG_GAP"
    CLOCK_SKEW = "CLOCK_SKEW"
    LOST = "LOST"
    DUPLICATE = "DUPLICATE"
    MUTATED = "MUTATED"
    ORPHAN_SETTLEMENT = "ORPHAN_SETTLEMENT"
    STUCK = "STUCK"
    UNDECLARED_LOSS = "UNDECLARED_LOSS"
    OUT_OF_ORDER = "OUT_OF_ORDER"
    LATE = "LATE"


MEANINGS: Final = {
    BreakClass.LOG_GAP: "the log is not what was written: cut, edited, truncated or reordered",
    BreakClass.CLOCK_SKEW: "the clock went back, or drifted from the wall clock",
    BreakClass.LOST: "a copy is gone and no record says how",
    BreakClass.DUPLICATE: "a copy left, or entered, more often than it may",
    BreakClass.MUTATED: "a body is not the one that was received, without translation",
    BreakClass.ORPHAN_SETTLEMENT: "a step of a copy that was not in the place for it",
    BreakClass.STUCK: "a delivery or transaction never ended, or a copy is in a queue for too long",
    BreakClass.UNDECLARED_LOSS: "a value did not cross in translation, and no loss says so",
    BreakClass.OUT_OF_ORDER: "a copy was sent behind one that had come into the queue after it",
    BreakClass.LATE: "a copy was settled later than it may, where a bound is given",
}

COLUMNS: Final = {
    "class": "string",
    "node": "string",
    "message": "bigint",
    "position": "bigint",
    "link": "bigint",
    "incarnation": "bigint",
    "sequence": "bigint",
    "since": "bigint",
    "proven": "boolean",
    "count": "bigint",
    "certain": "boolean",
    "detail": "string",
    "segment": "string",
    "block": "bigint",
    "offset": "bigint",
}
# What makes it the same break, beside the record that shows it.
IDENTITY: Final = (
    *("class", "node", "message", "position", "link", "incarnation"),
    *("segment", "block", "offset"),
)
_SAME_QUEUE: Final = """message is null and link is null and `count` = 1 and not certain
    and incarnation = of_run and node = of_node and at > since and at < sequence"""
DEFAULTS: Final = {"count": "1", "certain": "true", "proven": "true"}


def as_breaks(
    frame: DataFrame, break_class: BreakClass | Column, detail: Column, **others: Column
) -> DataFrame:
    """`frame`'s columns of the names in `COLUMNS`, the others empty; a row is one, and certain.

    `others`: columns that are not in the frame so, made of its own as `detail` is.

    `since` and `sequence`: what shows it are these two records of the log, and that nothing between
    them says otherwise. Without `since` it is shown by what is there, whatever may be missing.
    """
    named = break_class if isinstance(break_class, Column) else F.lit(str(break_class))
    made = {**others, "class": named, "detail": detail}
    present = frame.columns  # asked of the JVM each time
    return frame.select(
        *(
            made[name].cast(type_).alias(name)
            if name in made
            else parsed(
                f"cast({f'`{name}`' if name in present else DEFAULTS.get(name, 'null')} as {type_})"
                f" as `{name}`"
            )
            for name, type_ in COLUMNS.items()
        )
    )


def together(*frames: DataFrame) -> DataFrame:
    """All breaks of these frames, at least one, which are by `as_breaks`.

    By halves: Spark looks at all that a union is made of for each union again.
    """
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return together(*frames[:half]).union(together(*frames[half:]))


def with_proof(breaks: DataFrame, doubt: DataFrame) -> DataFrame:
    """Of each break, whether it is proven: not where what would explain it may be missing.

    `doubt`: one row, as by `chain.doubt`.
    """
    overlaps = F.exists(
        "doubt",
        lambda part: (part["first"] <= F.col("sequence")) & (part["last"] >= F.col("since")),
    )
    judged = breaks.crossJoin(F.broadcast(doubt))
    return judged.withColumn("proven", F.col("since").isNull() | ~overlaps).drop("doubt")


def with_known(breaks: DataFrame, known: DataFrame) -> DataFrame:
    """Breaks, and those of `known` that are not among them; what is stuck may be seen again.

    What is lost is so once: what a later record shows of it stands for what was known. So does the
    step of a copy that came, for that it never arrived, and what was known by name, for that so
    many are missing in its queue. That a record of a queue is of another copy stands for one more
    or less in it, of which the name was not known.
    """
    breaks = kept(breaks)
    moves = F.expr(f"class = '{BreakClass.STUCK}' and message is not null")
    shown = F.when(~moves, F.col("sequence")).alias("shown")
    same = F.to_json(F.struct(*IDENTITY, shown)).alias("same")
    told, known = breaks.withColumn("same", same), kept(known.withColumn("same", same))
    rest = known.join(breaks.select(same), "same", "left_anti").drop("same")
    new = told.join(known.select("same"), "same", "left_anti").drop("same")
    lost = F.expr(f"class = '{BreakClass.LOST}'")
    again = new.where("message is not null").selectExpr(
        "message", "class as new_class", "node as new_node", "position as new_position"
    )
    same_copy = F.expr(f"""class = '{BreakClass.LOST}' and (
        new_class = class and node <=> new_node and position <=> new_position
        or new_class = '{BreakClass.ORPHAN_SETTLEMENT}' and position is null)""")
    superseded = rest.join(again, "message").where(same_copy).select("message", "node", "position")
    left = _without(rest, superseded.distinct(), "message", "node", "position")
    records = new.where(f"class = '{BreakClass.ORPHAN_SETTLEMENT}' and message is not null")
    records = records.selectExpr("incarnation as of_run", "node as of_node", "sequence as at")
    left = left.join(records.distinct(), F.expr(_SAME_QUEUE), "left_anti")
    by_name = rest.where(lost & F.expr("message is not null")).groupBy("incarnation", "node")
    named = by_name.agg(F.sum("count").alias("named"))
    sums = new.where(lost & F.expr("message is null and node is not null"))
    sums = sums.join(named, ["incarnation", "node"]).where("named >= `count`")
    sums = sums.select("class", "incarnation", "node", "message", "sequence")
    found = _without(breaks, sums, "class", "incarnation", "node", "message", "sequence")
    return found.unionByName(left)


def _without(breaks: DataFrame, others: DataFrame, *names: str) -> DataFrame:
    """Those that are not among the others by these names."""
    same = [F.col(f"one.{name}").eqNullSafe(F.col(f"other.{name}")) for name in names]
    return breaks.alias("one").join(others.alias("other"), same, "left_anti")

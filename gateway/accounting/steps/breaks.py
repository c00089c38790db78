"""The classes of breaks, and the one form in which every step reports them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody who writes Spark knows it)


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
    told = frame.withColumns({**others, "class": named, "detail": detail})
    present = told.columns  # asked of the JVM each time
    # As text: each function of a `Column` is asked of the JVM by itself.
    return told.selectExpr(
        *(
            f"cast({f'`{name}`' if name in present else DEFAULTS.get(name, 'null')} as {type_})"
            f" as `{name}`"
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
    """Breaks, and those of `known` that are not among them; what is stuck may be seen again."""
    moves = F.expr(f"class = '{BreakClass.STUCK}' and message is not null")
    shown = F.when(~moves, F.col("sequence")).alias("shown")
    same = F.to_json(F.struct(*IDENTITY, shown)).alias("same")
    rest = known.withColumn("same", same).join(breaks.select(same), "same", "left_anti")
    return breaks.unionByName(rest.drop("same"))

"""What is left out of a state: what says nothing new, and what nothing that is open is of.

A log of years has a checkpoint of each queue every minute, and nearly all of them agree. What such
a one says is known from those before and behind it, and what was between them is as well summed up
at once. So is what publishers were told of messages that have left, and of links that have ended,
and sessions and connections, nothing is asked. What a later run finds is the same: what fails, and
between which two records of the log.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.segments.columns import CHECKPOINTS
from gateway.accounting.segments.folding import OF_NO_MESSAGE
from gateway.accounting.steps.confirmed import still_open
from gateway.accounting.steps.identities import DIFFERENCES, IDENTITIES
from gateway.accounting.steps.ledger import KEYS, added_up, any_of, kind_is, ledger
from gateway.audit.schema import Kind

# What no step looks at one by one: how many there were is in the sums.
_UNASKED: Final = (
    *(Kind.CONNECTION_CLOSED, Kind.CONNECTION_REFUSED, Kind.ACCESS_REFUSED),
    *(Kind.SESSION_ATTACHED, Kind.SESSION_DETACHED, Kind.RULES_CHANGED, Kind.STORE_ACCEPTED),
)
_LINK: Final = ("incarnation", "link")
_AT_ONCE: Final = 30  # of so many bits of records ranges are summed up, so that 32 hold their sum
_SAYS: Final = " or ".join(f"{name} is not null" for name in ("folded", "published", "about"))
_THING: Final = ("incarnation", "kind", "of", "name")


def without_repeated(records: DataFrame, differences: DataFrame) -> DataFrame:
    """Records, but for the checkpoints that a state can do without.

    Such a one differs from the log by as much as the one before and the one behind. The last two of
    each thing stay: by them is known since when whole ones say nothing of something else.

    `differences`: of all statements, by `identities.differences`.
    """
    outlet, route = kind_is(Kind.OUTLET_CHECKPOINT), kind_is(Kind.ROUTE_CHECKPOINT)
    said = records.where(kind_is(*CHECKPOINTS)).select(
        *("sequence", "incarnation", "kind"),
        F.when(outlet, F.col("link")).otherwise(0).alias("of"),
        F.when(route, F.coalesce("exchange", "node")).when(~outlet, F.col("node")).alias("name"),
    )
    order = Window.partitionBy(*_THING).orderBy("sequence")
    differs = F.struct(*DIFFERENCES)
    nothing = F.struct(*(F.lit(0).cast("long").alias(each) for each in DIFFERENCES))
    before = F.when(F.lag("sequence").over(order).isNull(), nothing)
    beside = said.join(differences, "sequence").withColumns(
        {
            "before": F.coalesce(before, F.lag(differs).over(order)),
            "behind": F.lead(differs).over(order),
            "last_but": F.lead("sequence", 2).over(order),
            "differs": differs,
        }
    )
    repeated = beside.where("differs = before and differs = behind and last_but is not null")
    return records.join(F.broadcast(repeated.select("sequence")), "sequence", "left_anti")


def without_ended(records: DataFrame, summed: DataFrame, wrong: DataFrame) -> DataFrame:
    """Records, but for those that say something of what has ended, and of which nothing is open.

    `summed`: by `ledger.ledger`; `wrong`: by `confirmed.told_wrongly`.
    """
    asked = records.where(~kind_is(*_UNASKED))
    return _without_told(_without_links(asked, summed), wrong)


def _without_links(records: DataFrame, summed: DataFrame) -> DataFrame:
    """But for links that have ended, and by which nothing that is open came, went or was lost.

    What leads to an upstream (`peer`) stays: its outlet's results say where that is.
    """
    ends = records.where(kind_is(Kind.LINK_DETACHED)).select(*_LINK)
    open_ = records.where(~kind_is(*OF_NO_MESSAGE)).select(*_LINK)
    leads = records.where(kind_is(Kind.LINK_ATTACHED)).where("peer is not null").select(*_LINK)
    losses = summed.where(kind_is(Kind.TRANSLATED_WITH_LOSS)).select(*_LINK)
    asked = open_.union(leads).union(losses).distinct()
    gone = ends.distinct().join(asked, [*_LINK], "left_anti").withColumn("gone", F.lit(True))
    joined = records.join(F.broadcast(gone), [*_LINK], "left")
    of_links = kind_is(Kind.LINK_ATTACHED, Kind.LINK_DETACHED)
    return joined.where(F.col("gone").isNull() | ~of_links).select(*records.columns)


def _without_told(records: DataFrame, wrong: DataFrame) -> DataFrame:
    """What publishers were told of messages that have all left, summed up: of each link in one.

    That is a range without any message, with as many as they were. Of a link that is `wrong` it
    is not known that they came.
    """
    told = records.where(kind_is(Kind.CONFIRMED))
    judged = told.join(F.broadcast(wrong.select(*_LINK).distinct()), [*_LINK], "left_anti")
    asked = judged.select("sequence", F.col("message").alias("at"), "position")
    there = records.where(~kind_is(*OF_NO_MESSAGE)).select(F.col("message").alias("at"))
    both = asked.unionByName(there.withColumn("there", F.col("at")), allowMissingColumns=True)
    behind = Window.orderBy("at").rangeBetween(Window.currentRow, Window.unboundedFollowing)
    first = F.min("there").over(behind)
    ended = both.withColumn("first", first).where(
        "sequence is not null and (first is null or first > position)"
    )
    left = judged.join(F.broadcast(ended.select("sequence")), "sequence", "left_semi")
    some = F.expr(f"shiftright(sequence, {_AT_ONCE})").alias("some")
    whole = F.max_by(F.struct(*records.columns), "sequence").alias("last")
    groups = left.groupBy(*_LINK, "outcome", some).agg(whole, F.sum("copies").alias("sum"))
    summed = groups.select("last.*", "sum").withColumns(
        {"message": F.lit(1).cast("long"), "position": F.lit(0).cast("long")}
    )
    summed = summed.withColumn("copies", F.col("sum").cast("int")).select(*records.columns)
    rest = records.join(F.broadcast(ended.select("sequence")), "sequence", "left_anti")
    return rest.select(*records.columns).unionByName(summed)


def brought_together(
    lists: DataFrame,
    checkpoints: DataFrame,
    place: tuple[int, int],
    span_ms: int,
    since_ms: int,
) -> DataFrame:
    """What many parts say, said once where it can be; which messages are folded, each by itself.

    `place`: the ordinal and the part of what is said once. `span_ms`: of which charts are made.
    `since_ms`: the ids of what was published before are let go.
    """
    told = F.when(F.col("about.last_time_ms") < since_ms, F.col("ordinal"))
    old = lists.where("about is not null").agg(F.coalesce(F.max(told), F.lit(-1)).alias("old"))
    rest = lists.crossJoin(F.broadcast(old)).withColumn(
        "published", F.when(F.col("ordinal") > F.col("old"), F.col("published"))
    )
    rest = rest.drop("old", "sums", "moves", "waits", "ranges").where(_SAYS)
    for once in (
        summed_up(lists, checkpoints, place),
        _ranges_once(lists, place),
        *_drawn_once(lists, place, span_ms),
    ):
        rest = rest.unionByName(once, allowMissingColumns=True)
    return rest


def _ranges_once(lists: DataFrame, place: tuple[int, int]) -> DataFrame:
    """What of ranges is still open when all of them are seen."""
    names = lists.schema["ranges"].dataType.elementType.names  # type: ignore[attr-defined]  # array's
    left = still_open(lists.where("size(ranges) > 0").select(F.inline("ranges")))
    return _in_one(left, "ranges", names, place)


def _in_one(frame: DataFrame, name: str, names: list[str], place: tuple[int, int]) -> DataFrame:
    """Its rows as the list that parts have by that name."""
    ordinal, part = (F.lit(each).cast("long") for each in place)
    listed = frame.agg(F.collect_list(F.struct(*names)).alias(name))
    return listed.select(ordinal.alias("ordinal"), part.alias("part"), name)


def _drawn_once(lists: DataFrame, place: tuple[int, int], span_ms: int) -> list[DataFrame]:
    """What charts are drawn from, as exactly as one of everything needs it."""
    moves = lists.where("moves is not null").select(F.inline("moves"))
    begun = (F.floor(F.col("at_ms") / span_ms) * span_ms).alias("at_ms")
    waits = lists.where("waits is not null").select(F.inline("waits"))
    of_moves, of_waits = (
        lists.schema[name].dataType.elementType.names  # type: ignore[attr-defined]  # arrays'
        for name in ("moves", "waits")
    )
    by = [begun if name == "at_ms" else F.col(name) for name in of_moves if name != "records"]
    moved = moves.groupBy(*by).agg(F.sum("records").alias("records"))
    by = [F.col(name) for name in of_waits if name not in ("number", "worst")]
    waited = waits.groupBy(*by).agg(F.sum("number").alias("number"), F.max("worst").alias("worst"))
    return [
        _in_one(moved, "moves", of_moves, place),
        _in_one(waited, "waits", of_waits, place),
    ]


def summed_up(parts: DataFrame, checkpoints: DataFrame, place: tuple[int, int]) -> DataFrame:
    """The sums of these parts in one row, by windows that one of the checkpoints begins.

    A statement sees all windows in front of its own. What belongs to no identity keeps its window.
    `place`: the ordinal and the part of that row.
    """
    of_run = checkpoints.where(kind_is(*CHECKPOINTS)).groupBy("incarnation")
    begun = of_run.agg(F.collect_set("window").alias("begun"))
    rows = ledger(parts).join(F.broadcast(begun), "incarnation", "left")
    last = F.array_max(F.filter("begun", lambda each: each <= F.col("window")))
    terms = [term for each in IDENTITIES for term in each.terms().values()]
    window = F.when(any_of([kind_is(*CHECKPOINTS), *terms]), F.coalesce(last, F.lit(0))).otherwise(
        F.col("window")
    )
    summed = added_up(rows.withColumn("window", window).drop("begun"))
    # In the order of the fields that parts have them in.
    order = parts.schema["sums"].dataType.elementType.names  # type: ignore[attr-defined]  # an array's
    assert {*KEYS} < {*order}
    listed = summed.agg(F.collect_list(F.struct(*order)).alias("sums"))
    ordinal, part = place
    nothing = F.array().cast(parts.schema["ranges"].dataType).alias("ranges")
    return listed.select(
        F.lit(ordinal).alias("ordinal"), F.lit(part).alias("part"), "sums", nothing
    )

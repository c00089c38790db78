"""Steps that a record has of another copy than the one that took them: which, and whose they are.

Such a record is two copies' breaks, or more: of the one that it names, whose next steps cannot
follow, and of the one that took the step, which lacks it. With the right copy in it all of them go,
so that it is told of as one, and judged as if it said so.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.identities import END_OF_LOG
from gateway.accounting.steps.ledger import flag, kind_is
from gateway.accounting.steps.supposed import share_of
from gateway.audit.schema import REMOVALS, Flag, Kind

RIGHT: Final = (*COPY_KEYS, "mix")  # what another copy has otherwise
_MISSING: Final = "computed_checksum ^ checksum"
MANY: Final = 1000  # of one queue and outlet: then it is no single record that is wrong
_IN, _OUT, _END = "in", "out", "end"  # what a record says that a copy took, and what one lacks
# By how much a record changes the depth of its queue, and what of that is with somebody.
_DEPTH: Final = "case step when 'in' then 1 when 'exit' then -1 else 0 end"
_HELD: Final = "case took when 'out' then 1 when 'end' then -1 else 0 end"
SAME: Final = "cast(message = said_message as int) + cast(node = said_node as int)"
_ALIKE: Final = f"{SAME} + cast(position = said_position as int)"
# Of what entered the body says more than the number.
_BODY: Final = f"if(took = '{_IN}' and body_digest <> 0 and body_digest = said_body_digest, 2, 0)"
# What a copy lacks may stand in the record of another: of its queue, or of its message and place.
# Of one that entered more must be alike, unless it is the other one that could not enter. What is
# followed by more has not left.
_LIKELY: Final = f"""case
    when not odd then took = '{_IN}' and message = said_message and {_ALIKE} = 2 and not short
    when took = '{_IN}' then {_ALIKE} = 2 or node = said_node and strange
    when took = '{_END}' and hi < {END_OF_LOG} and step <> 'back' then false
    when hi = {END_OF_LOG} then message = said_message or step = 'back' and {_ALIKE} = 2
    else node = said_node or message = said_message and position = said_position end"""


def taken(steps: DataFrame, doubtful: DataFrame) -> DataFrame:
    """Steps in queues, what each record says that its copy `took`, and what seems `odd` of that.

    `strange`: its copy cannot take it. `again`: the copy takes another one behind it. `last`: it
    does not in the same run.

    `steps`: by `copies.with_previous`; `doubtful`: by `messages.with_steps`.
    """
    order = Window.partitionBy(*COPY_KEYS).orderBy("sequence")
    ends = kind_is(Kind.SETTLED, Kind.REQUEUED)
    took = (
        F.when(kind_is(Kind.ENTERED), _IN)
        .when(F.col("step") == "out", _OUT)
        .when(ends, _END)
        .otherwise("")
    )
    said = steps.where(~flag(Flag.UNQUEUED) & ~F.col("early")).withColumn("took", took)
    # Of what more came without a record than its routes lack, one that says so is of another.
    counts = {"short": F.expr("shown > 0"), "more": F.expr("arrived > shown")}
    of_message = F.broadcast(doubtful.withColumns(counts).select("message", "beyond", *counts))
    behind = said.join(of_message, "message", "left").withColumns(
        {
            "next": F.lead("step").over(order),
            "next_took": F.lead("took").over(order),
            "next_run": F.lead("incarnation").over(order),
        }
    )
    here = "before_incarnation = incarnation"
    strange = F.expr(
        f"""case took when '{_IN}' then before in ('in', 'out', 'back') and {here}
                or before = 'exit' and flags & {int(Flag.REROUTED)} = 0
            when '{_OUT}' then before in ('none', 'exit') or before = 'out' and {here}
            when '{_END}' then before <> 'out' else false end"""
    )
    odd = F.expr(
        f"""strange or case took when '{_IN}' then beyond > 0 or more and next is null
            when '{_OUT}' then next in ('in', 'out') when '{_END}' then next_took = '{_END}'
            else false end"""
    )
    known = behind.withColumn("strange", F.coalesce(strange, F.lit(False)))
    known = known.withColumn("odd", F.coalesce(odd, F.lit(False)))
    known = known.withColumn("short", F.coalesce("short", F.lit(False)))
    last = F.expr("next is null or next_run > incarnation")
    return known.withColumns({"again": F.col("next").isNotNull(), "last": last})


def misplaced(taken: DataFrame) -> DataFrame:
    """Records whose step another copy lacks, which is alike; `taken` by `taken`."""
    lacks = "struct({0} as lacks, {1} as by, {2} as lo, {3} as hi)"
    here = "before_incarnation = incarnation"
    entered = lacks.format(f"'{_IN}'", "0L", "0L", "sequence")
    sent = lacks.format(f"'{_OUT}'", "link", "since", "sequence")
    ended = lacks.format(f"'{_END}'", "before_link", "since", "sequence")
    never = lacks.format(f"'{_END}'", "link", "sequence", f"{END_OF_LOG}L")
    kinds = f"kind not in ({int(Kind.ENTERED)}, {int(Kind.RECOVERED)})"
    gap = f"""array_compact(array(
        case when before = 'none' and {kinds} then {entered}
            when took = '{_END}' and before in ('in', 'back') and {here} then {sent}
            when took in ('{_IN}', '{_OUT}') and before = 'out' and {here} then {ended} end,
        case when took = '{_OUT}' and last and not strange then {never} end))"""
    lacking = taken.select("incarnation", *RIGHT, "body_digest", F.inline(F.expr(gap)))
    lacking = lacking.withColumnRenamed("lacks", "took")
    of_step = ("incarnation", "took", "step", "odd", "short", "strange")
    said = taken.where("took <> '' and (odd or not again)").select(
        *(*of_step, F.col("sequence").alias("at")),
        F.expr(f"if(took = '{_IN}', 0L, link)").alias("by"),
        *(F.col(name).alias(f"said_{name}") for name in (*RIGHT, "body_digest")),
    )
    others = _met(said.where("odd"), lacking, "node").where("message <> said_message")
    found = _met(said, lacking, "message").unionByName(others)
    found = found.where(f"at > lo and at < hi and {_ALIKE} < 3 and {_LIKELY}")
    found = found.withColumns({"best": F.expr(f"-({_ALIKE}) - {_BODY}"), "since": F.col("lo")})
    # A copy that is there by the record of another one's step alone has not entered at all.
    said_at = F.broadcast(found.where(f"took <> '{_IN}'").selectExpr("at as hi").distinct())
    came = found.where(f"took = '{_IN}'").join(said_at, "hi", "left_anti")
    found = found.where(f"took <> '{_IN}'").unionByName(came)
    found = only(found, ["at"], [*COPY_KEYS, "took", "hi"])
    # Of two copies that either has a step of the other one has.
    copies = [
        F.struct(*(F.col(prefix + name).alias(name) for name in COPY_KEYS))
        for prefix in ("", "said_")
    ]
    both = Window.partitionBy(F.sort_array(F.array(*copies))).orderBy(F.desc("strange"), "at")
    found = found.withColumn("rank", F.row_number().over(both)).where("rank = 1")
    return told(found, BreakClass.ORPHAN_SETTLEMENT, as_said(), F.col("at"))


def _met(said: DataFrame, lacking: DataFrame, name: str) -> DataFrame:
    """What is said beside what is lacking of the same `name`, where neither is very many."""
    keys = ["incarnation", "took", "by", name]
    count = F.count("*").over(Window.partitionBy(*keys))
    few = [
        frame.withColumn("count", count).where(f"`count` <= {MANY}").drop("count")
        for frame in (said.withColumn(name, F.col(f"said_{name}")), lacking)
    ]
    return few[0].join(few[1], keys)


def as_said() -> Column:
    """That this is a step of another copy than the record has."""
    return F.format_string(
        "it is this copy's step that record %d has of message %d at place %d of %s",
        *("at", "said_message", "said_position", "said_node"),
    )


def entered_otherwise(failed: DataFrame, short: DataFrame, taken: DataFrame) -> DataFrame:
    """Copies that entered by the record of another, and take no step since, by the checksums.

    Of a message of which copies have not arrived (`short`, by `messages.on_their_routes`); or in
    another queue, which has not got it, and the copy's own has.
    """
    said = taken.where(kind_is(Kind.ENTERED) & F.expr("not again")).select(
        *("incarnation", "took", "step", "odd", F.col("exchange").alias("route")),
        *("node", "position", "message", "mix", F.col("sequence").alias("at")),
        *(F.col(name).alias(f"said_{name}") for name in RIGHT),
    )
    spans = failed.select(
        *("incarnation", "node", F.col("sequence").alias("shown"), "since", "excess"),
        F.expr(_MISSING).alias("missing"),
    )
    here = said.join(F.broadcast(spans), ["incarnation", "node"])
    here = here.where("at > since and at < shown").withColumn("best", F.lit(0))
    routes = ["incarnation", "route"]
    many = F.count("*").over(Window.partitionBy(*routes)) <= MANY
    lacking = short.select(*routes, F.col("message").alias("lacking"), many.alias("few"))
    odd = here.where("odd and excess = 0").withColumn("few", many).where("few").drop("few")
    renamed = odd.join(F.broadcast(lacking.where("few")), routes)
    renamed = renamed.withColumns(
        {"message": F.col("lacking"), "mix": F.expr(share_of("lacking", "position"))}
    )
    renamed = renamed.where("missing = mix ^ said_mix")
    over = spans.where("excess = -1").select(
        *("incarnation", F.col("node").alias("own"), F.col("missing").alias("mix"))
    )
    there = here.where("excess = 1 and missing = mix")
    moved = there.join(F.broadcast(over), ["incarnation", "mix"]).where("own <> node")
    moved = moved.withColumn("node", F.col("own"))
    found = renamed.select(*here.columns).unionByName(moved.select(*here.columns))
    found = only(found, ["at"], COPY_KEYS)
    return told(found, BreakClass.ORPHAN_SETTLEMENT, as_said(), F.col("at"))


def misnamed(failed: DataFrame, open_copies: DataFrame, taken: DataFrame) -> DataFrame:
    """Copies that a queue has no more, and another one is said to have left it, which has not.

    `failed`: queues, by `identities.failures`. By the checksum the one is there and the other is
    not, or, if it has left since, just the one is missing. The other takes a step that cannot
    follow, or has taken one: of one that takes none nothing is known where it is folded.
    """
    leaves = F.expr("step = 'exit'")
    left = (
        taken.where(kind_is(*REMOVALS) | leaves)
        .where("again or strange or before in ('exit', 'none')")
        .select(
            *("incarnation", "node", "took", "step", F.col("sequence").alias("at")),
            F.expr("if(strange or before in ('exit', 'none'), 0, 1)").alias("best"),
            *(F.col(name).alias(f"said_{name}") for name in RIGHT),
        )
    )
    spans = failed.where("excess in (0, 1)").select(
        *("incarnation", "node", F.col("sequence").alias("shown"), "since", "excess"),
        F.expr(_MISSING).alias("missing"),
    )
    there = open_copies.where("entered_sequence is not null").select(
        *("incarnation", "node", "entered_sequence", "message", "position", "mix")
    )
    said = left.join(F.broadcast(spans), ["incarnation", "node"])
    said = said.where("at > since and at < shown")
    found = said.withColumn("mix", F.expr("if(excess = 0, missing ^ said_mix, missing)")).join(
        there, ["incarnation", "node", "mix"]
    )
    found = found.where("entered_sequence < at")
    return told(
        only(found, ["node", "shown"], COPY_KEYS),
        BreakClass.LOST,
        F.format_string(
            "in the queue by the log, not by the checkpoint; record %d says of message %d in its "
            "place that it left",
            *("at", "said_message"),
        ),
        F.col("shown"),
    )


def only(found: DataFrame, of: list[str], others: list[str] | tuple[str, ...]) -> DataFrame:
    """One for each `of`, and one for each of the others: the `best`."""
    ranks = {
        "rank": F.row_number().over(Window.partitionBy(*of).orderBy("best", *COPY_KEYS, "at")),
        "other": F.row_number().over(Window.partitionBy(*others).orderBy("best", *of, "at")),
    }
    return found.withColumns(ranks).where("rank = 1 and other = 1")


def told(
    found: DataFrame,
    named: BreakClass,
    detail: Column,
    shown: Column,
    transaction: Column | None = None,
) -> DataFrame:
    """Mistakes, by what is found of them; `transaction`: the right one, where that is another."""
    held_by = F.lit(None) if transaction is None else transaction
    return found.select(
        *("incarnation", *RIGHT, "at", "since", "took"),
        *(f"said_{name}" for name in RIGHT),
        *(F.expr(_DEPTH).alias("depth"), F.expr(_HELD).alias("held")),
        *(shown.alias("shown"), F.lit(str(named)).alias("class"), detail.alias("detail")),
        held_by.cast("int").alias("transaction"),
    )


def first_of(*mistakes: DataFrame) -> DataFrame:
    """Of each record the first of these that are of it."""
    ranked = [
        frame.withColumn("rank", F.lit(rank)).select("rank", *mistakes[0].columns)
        for rank, frame in enumerate(mistakes)
    ]
    each = Window.partitionBy("at").orderBy("rank")
    found = reduce(DataFrame.union, ranked).withColumn("rank", F.row_number().over(each))
    return found.where("rank = 1").drop("rank")


def put_right(records: DataFrame, mistakes: DataFrame) -> DataFrame:
    """Records, each of the copy whose step it is."""
    right = mistakes.select(
        F.col("at").alias("sequence"),
        *(F.col(name).alias(f"right_{name}") for name in (*RIGHT, "transaction")),
    )
    joined = records.join(F.broadcast(right), "sequence", "left")
    changed = {name: F.coalesce(f"right_{name}", name) for name in (*RIGHT, "transaction")}
    return joined.withColumns(changed).select(*records.columns)


def effects(mistakes: DataFrame) -> DataFrame:
    """What puts the sums off, as by `causes.effects`: they are of the records as they are."""
    here = "node = said_node"
    right = """struct({0} as node, {1}depth as depth, if({2}, 0, {1}held) as held,
        if(depth = 0, 0L, {3}) as mix, {4} as came)"""
    came = f"if(took = '{_IN}', 1, 0)"
    own = right.format("node", "-", here, "mix", came)
    other = right.format("said_node", "", here, "said_mix", "0")
    same = """struct(node, 0 as depth, 0 as held, if(depth = 0, 0L, mix ^ said_mix) as mix,
        0 as came)"""
    places = F.expr(f"if({here}, array({same}), array({own}, {other}))")
    each = mistakes.select("incarnation", "message", "position", "at", F.inline(places))
    return each.select(
        *("incarnation", *COPY_KEYS, F.col("at").alias("begun"), F.col("at").alias("sequence")),
        *("depth", "held"),
        F.expr("cast(array() as array<struct<link: bigint, off: int, unsent: int>>)").alias(
            "links"
        ),
        *("mix", "came"),
    ).where("depth <> 0 or held <> 0 or mix <> 0")


def mistake_breaks(mistakes: DataFrame) -> DataFrame:
    """One for each."""
    return as_breaks(mistakes, F.col("class"), F.col("detail"), sequence=F.col("shown"))

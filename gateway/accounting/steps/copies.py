"""The ledger of single copies: which message it was that was lost, left twice, or changed.

A copy (message, node, position) goes *in*, *out* and *back* any number of times, and *exits* once.
Every step is judged by the one before it; what is open at the end is judged by the checkpoints of
its queue, and by what the next incarnation recovered.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.ledger import (
    ends_so,
    flag,
    kind_is,
    outcome_is,
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
# Of steps, by `with_previous`.
NEVER_ENTERED: Final = f"before = 'none' and kind <> {int(Kind.ENTERED)}"
UNSAID: Final = (  # that it is there, no record of its run says
    "step <> 'in' and (before = 'none' or before_incarnation < incarnation and before <> 'exit')"
)
STILL_THERE: Final = "not unqueued and last_in > coalesce(last_exit, 0) and not sent_first"
STILL_HELD: Final = "until is null and (durable or not stopped)"  # of those, when the log ends
_GIVEN_BACK: Final = (
    f"stays and kind = {int(Kind.SETTLED)} and flags & {int(Flag.REMOVED)} <> 0"
    f" and outcome in ({int(Outcome.RELEASED)}, {int(Outcome.MODIFIED)})"
)
_NOT_REMOVED: Final = (
    f"kind = {int(Kind.SETTLED)} and outcome = {int(Outcome.ACCEPTED)}"
    f" and flags & {int(Flag.REMOVED | Flag.UNQUEUED)} = 0"
)
# It is there by what follows: that it was removed, or accepted, is wrong.
_STAYED: Final = f"""({_GIVEN_BACK} or {_NOT_REMOVED})
    and next.step is not null and next.kind <> {int(Kind.ENTERED)}"""
_REMOVED: Final = f"kind in ({', '.join(str(int(kind)) for kind in sorted(REMOVALS))})"
# A step that stands in front of the one that it follows: it is sent before it came, or comes back,
# or has left otherwise; or it has left before it is sent, or is given back and then sent twice.
_EARLY: Final = f"""coalesce(flags & {int(Flag.UNQUEUED)} = 0
        and (kind = {int(Kind.SENT)} or {_REMOVED} and behind is null)
        and next.step = 'in' and next.incarnation = incarnation and (prior is null
            or next.kind = {int(Kind.RECOVERED)} and prior.incarnation < incarnation
                and prior.step <> 'exit')
    or kind in ({int(Kind.SETTLED)}, {int(Kind.REQUEUED)}) and prior.step in ('in', 'back')
        and prior.incarnation = incarnation and next.step = 'out' and next.link = link
        and next.incarnation = incarnation and if(step = 'exit',
            behind is null or behind.step = 'in', behind.step = 'out'), false)"""
ODD: Final = ("shown", "again", "odd")  # steps, by `came_oddly`
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


def with_previous(steps: DataFrame, complete: DataFrame | None = None) -> DataFrame:
    """Each step beside the copy's step before it (`none` for the first).

    `stays`: it entered a queue to which it is given back. `early`: it stands in front of the step
    that it follows, which is the one before it here. `stayed`: it did not leave, as it says.

    `complete`: messages that had left altogether, by records that were let go.
    """
    order = Window.partitionBy(*COPY_KEYS).orderBy("sequence")
    first = F.lit("none")
    if complete is not None:
        marked = F.broadcast(complete.withColumn("complete", F.lit(True)))
        steps = steps.join(marked, "message", "left")
        first = F.when(F.col("complete"), "exit").otherwise(first)
    # What is on its way from or to an upstream is given back there, and is gone.
    stays = F.when(kind_is(Kind.ENTERED), ~flag(Flag.TRANSIT) & ~flag(Flag.UNQUEUED))
    one = F.struct("step", "incarnation", "link", "sequence", "kind")
    looked = steps.withColumns(
        {
            "stays": F.last(stays, ignorenulls=True).over(order),
            "prior": F.lag(one).over(order),
            "next": F.lead(one).over(order),
            "behind": F.lead(one, 2).over(order),
        }
    )
    stayed = F.coalesce(F.expr(_STAYED), F.lit(False))
    judged = looked.withColumns({"early": F.expr(_EARLY), "stayed": stayed})
    judged = judged.withColumn("step", F.when(F.col("stayed"), "back").otherwise(F.col("step")))
    # Behind one that is early two have changed places.
    changed = F.lag("early", 1).over(order) | F.coalesce(
        F.lag("early", 2).over(order), F.lit(False)
    )
    before = F.when(changed, F.lag(one, 2).over(order)).otherwise(F.lag(one).over(order))
    before = F.when(F.col("early"), F.col("next")).otherwise(before)
    found = judged.withColumn("one", before)
    own = F.when(F.col("early"), F.col("sequence")).otherwise(F.col("one.sequence"))
    return found.withColumns(
        {
            "before": F.coalesce(F.col("one.step"), first),
            "before_incarnation": F.col("one.incarnation"),
            "before_link": F.col("one.link"),
            "since": F.coalesce(own, F.lit(0)),
        }
    ).drop("one", "prior", "next", "behind")


def came_oddly(paired: DataFrame) -> DataFrame:
    """Of messages, how many copies came without a record (`shown`), or entered a place `again`.

    `paired`: by `with_previous`. Both are told by `step_breaks`, as is all that is `odd`.
    """
    there = F.expr("before in ('in', 'out', 'back') and before_incarnation = incarnation")
    left = (F.col("before") == "exit") & ~flag(Flag.REROUTED)
    queued = ~flag(Flag.UNQUEUED)
    odd = paired.select(
        "message",
        (queued & F.expr(NEVER_ENTERED)).alias("shown"),
        (queued & kind_is(Kind.ENTERED) & (there | left)).alias("again"),
        _verdict(F.lit(False)).isNotNull().alias("odd"),
    )
    counts = (F.count_if(name).cast("long").alias(name) for name in ODD)
    return odd.where("shown or again or odd").groupBy("message").agg(*counts)


def step_breaks(paired: DataFrame, never_ended: DataFrame | None = None) -> DataFrame:
    """Steps that cannot follow the one before them; `paired` by `with_previous`.

    `never_ended`: of those that were sent while they were out, by `causes.never_ended`.
    """
    stuck = F.lit(False)
    if never_ended is not None:
        marked = F.broadcast(never_ended.withColumn("stuck", F.lit(True)))
        paired = paired.join(marked, "sequence", "left")
        stuck = F.coalesce("stuck", stuck)
    judged = paired.withColumn("verdict", _verdict(stuck)).where("verdict is not null")
    parts = F.split("verdict", ":", 2)
    link = F.when(stuck, F.col("before_link")).otherwise(F.col("link"))
    return as_breaks(judged, parts[0], parts[1], link=link)


def _verdict(stuck: Column) -> Column:
    """Class and detail of what cannot follow; `stuck`: what was out was never ended."""
    step, before = F.col("step"), F.col("before")
    restarted = F.col("before_incarnation") < F.col("incarnation")
    recovered, settled = kind_is(Kind.RECOVERED), kind_is(Kind.SETTLED)
    unqueued = flag(Flag.UNQUEUED)
    held = before.isin("in", "out", "back")
    left = step.isin("out", "exit") & kind_is(Kind.SENT, Kind.SETTLED)
    ended = settled | (step == "back")
    unended = F.format_string(
        "STUCK:sent again, and no record says how outlet %d ended it", "before_link"
    )
    by_another = F.format_string(
        "ORPHAN_SETTLEMENT:%s by outlet %d, sent to outlet %d",
        *(F.when(settled, "settled").otherwise("requeued"), "link", "before_link"),
    )
    doubled = F.expr("link = before_link and sequence = since + 1")
    return (
        F.when(F.col("early"), "ORPHAN_SETTLEMENT:it stands in front of the step that it follows")
        .when(
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
            kind_is(Kind.SENT) & (before == "out") & ~restarted,
            F.when(stuck & ~doubled, unended).otherwise("DUPLICATE:sent while it was out"),
        )
        .when(
            before == "exit",
            F.when(left, "DUPLICATE:left twice").otherwise("DUPLICATE:ended twice"),
        )
        .when(before == "none", "ORPHAN_SETTLEMENT:a step of a copy that never entered")
        .when(restarted & ~unqueued, "ORPHAN_SETTLEMENT:a step of a copy that was not recovered")
        .when(settled & ~ends_so(), "ORPHAN_SETTLEMENT:its outcome is none that there is")
        .when(ended & (before != "out"), "ORPHAN_SETTLEMENT:it was not out")
        .when(F.expr(_GIVEN_BACK), "LOST:given back, and yet removed from its queue")
        .when(F.expr(_NOT_REMOVED), "ORPHAN_SETTLEMENT:accepted, and yet not removed")
        .when(ended & (F.col("link") != F.col("before_link")), by_another)
    )


def copy_states(steps: DataFrame) -> DataFrame:
    """Where each copy stands at the end of the log; `holder`: with which outlet, since when."""
    inward = F.col("step") == "in"
    left, unended = F.col("step") == "exit", kind_is(Kind.SENT, *sorted(REMOVALS))
    settled = left & kind_is(Kind.SENT, Kind.SETTLED)
    # By a record in front of the only one by which it came, if that is behind it.
    returns = inward & (kind_is(Kind.RECOVERED) | flag(Flag.REROUTED))
    once = (F.count_if(inward) == 1) & (F.count_if(left) == 1)
    sent_first = once & F.bool_or(left & unended) & ~F.bool_or(returns)
    return steps.groupBy(*COPY_KEYS).agg(
        F.max(F.when(inward, F.col("sequence"))).alias("last_in"),
        F.max(F.when(left, F.col("sequence"))).alias("last_exit"),
        sent_first.alias("sent_first"),
        F.max_by("incarnation", "sequence").alias("incarnation"),
        F.max("sequence").alias("sequence"),
        F.min(F.when(inward, F.col("sequence"))).alias("entered_sequence"),
        F.max_by("mix", "sequence").alias("mix"),
        F.coalesce(F.bool_or(inward & flag(Flag.DURABLE)), F.lit(False)).alias("durable"),
        F.bool_or(flag(Flag.UNQUEUED)).alias("unqueued"),
        F.min("incarnation").alias("entered_run"),
        F.min(F.when(inward, F.col("time_ms"))).alias("entered_ms"),
        F.max(F.when(settled, F.col("time_ms"))).alias("settled_ms"),
        F.coalesce(F.bool_or(inward & flag(Flag.TRANSIT)), F.lit(False)).alias("transit"),
        F.max_by(F.when(F.col("step") == "out", F.struct("link", "sequence")), "sequence").alias(
            "holder"
        ),
    )


def still_there(states: DataFrame) -> DataFrame:
    """Copies that are in a queue when the log ends, or when their incarnation did."""
    return states.where(STILL_THERE)


def with_fate(states: DataFrame, runs: DataFrame) -> DataFrame:
    """Copies, and what became of their incarnation: whether it `stopped` in order.

    `until`: the record with which a later one has got past its recovery; null if none has.
    """
    later = Window.orderBy("incarnation").rowsBetween(1, Window.unboundedFollowing)
    fates = runs.select(
        "incarnation", "stopped", F.min("opened_sequence").over(later).alias("until")
    )
    return states.join(F.broadcast(fates), "incarnation")


def states_of(records: DataFrame, runs: DataFrame, also: str) -> DataFrame:
    """Copies that are in a queue when the log ends, or their run, and those that are `also` asked.

    By `with_fate`.
    """
    states = copy_states(copy_steps(records.where(kind_is(*KINDS))))
    return with_fate(states.where(f"({STILL_THERE}) or {also}"), runs)


def open_items(open_copies: DataFrame) -> DataFrame:
    """Those that are in a queue by the log when their run ends; `open_copies` by `with_fate`.

    `held`: it is still there when the log ends, and has not gone with its run.
    """
    columns = ("incarnation", "durable", "entered_sequence", "entered_ms")
    held = F.expr(STILL_HELD).alias("held")
    return open_copies.select(*COPY_KEYS, *columns, held).orderBy("node", "position", "message")


def without(open_copies: DataFrame, named: DataFrame | None) -> DataFrame:
    """But for those that are `named` otherwise."""
    if named is None:
        return open_copies
    return open_copies.join(F.broadcast(named.select(*COPY_KEYS)), [*COPY_KEYS], "left_anti")


def away(paired: DataFrame, runs: DataFrame) -> DataFrame:
    """Copies that came back, and not in each run since: none that has got past its recovery.

    As open copies, of the run in which they were before; `back`: the one in which they are again.
    `paired`: by `with_previous`; `runs`: by `ledger.incarnations`.
    """
    opened = runs.select(F.col("incarnation").alias("between"), "opened_sequence")
    opened = F.broadcast(opened.where("opened_sequence is not null"))
    held = "before in ('in', 'out', 'back') and before_incarnation < between"
    came = paired.where(kind_is(Kind.RECOVERED)).join(
        opened, F.expr(f"{held} and between < incarnation")
    )
    each = came.groupBy(*COPY_KEYS, "mix", "before_incarnation", "since", "incarnation")
    return each.agg(F.min("opened_sequence").alias("until")).select(
        *(F.col("before_incarnation").alias("incarnation"), *COPY_KEYS, "mix"),
        *(F.col("since").alias("sequence"), "until", F.col("incarnation").alias("back")),
    )


def not_back(open_copies: DataFrame, away: DataFrame) -> DataFrame:
    """Durable copies that a restart has not brought back; `away`: by `away`."""
    lost = open_copies.where("durable and until is not null")
    return away.unionByName(lost.withColumn("back", F.lit(None)).select(*away.columns))


def lost_at_restart(not_back: DataFrame, missed: DataFrame | None) -> DataFrame:
    """Durable copies that were not recovered, but for those that a checkpoint is certain of.

    `not_back`: by `not_back`; `missed`: by `candidates`.
    """
    unnamed = without(not_back, None if missed is None else missed.where("certain"))
    return as_breaks(
        unnamed,
        BreakClass.LOST,
        F.lit("durable, but not there after the restart"),
        since=F.col("sequence"),
        sequence=F.col("until"),
    )


def lost(open_copies: DataFrame, missed: DataFrame) -> DataFrame:
    """Copies that are told of as lost by name: by a checkpoint (`missed`), or after a restart."""
    names = ("incarnation", *COPY_KEYS, "holder")
    by_queue = missed.where("certain").select(*names)
    later = open_copies.where("durable and until is not null").select(*names)
    return by_queue.unionByName(later).dropDuplicates([*COPY_KEYS])


def queue_breaks(failures: DataFrame, candidates: DataFrame) -> DataFrame:
    """Queues whose depth or checksum is not what the log adds up to, down to the message."""
    certain = candidates.where("certain")
    named = as_breaks(
        certain,
        BreakClass.LOST,
        F.format_string(
            "in the queue by the log (%d), not by the checkpoint (%d)", "computed", "stated"
        ),
    )
    rest = failures.join(
        F.broadcast(certain.select(*_FAILURE).distinct()), [*_FAILURE], "left_anti"
    )
    listed = (
        candidates.where(f"rank <= {NAMED}")
        .groupBy(*_FAILURE)
        .agg(F.array_join(F.sort_array(F.collect_list("message")), ", ").alias("ids"))
    )
    unnamed = rest.join(F.broadcast(listed), [*_FAILURE], "left")
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
        failures,
        kind,
        F.concat(detail, F.coalesce(among, F.lit(""))),
        count=F.greatest(F.abs("excess"), F.lit(1)),
        certain=F.lit(False),
    )


def candidates(failures: DataFrame, open_copies: DataFrame) -> DataFrame:
    """Open copies that a failed checkpoint should have seen; certain if it can only be these.

    That is what the checksum says, as of all that are with somebody, or, of durable ones, that they
    did not come back either.
    """
    terms = ("since", "computed", "stated", "excess", "computed_checksum", "checksum")
    failed = F.broadcast(failures.where("excess >= 0").select(*_FAILURE, *terms))
    of_failure = Window.partitionBy(*_FAILURE)
    missing = F.col("computed_checksum").bitwiseXOR(F.col("checksum"))
    all_of_them = (F.count("*").over(of_failure) == F.col("excess")) & (
        F.bit_xor("mix").over(of_failure) == missing
    )
    lost_later = F.col("durable") & F.col("until").isNotNull()
    all_lost_later = lost_later & (F.count_if(lost_later).over(of_failure) == F.col("excess"))
    held, held_mix = F.col("holder").isNotNull(), F.when(F.col("holder").isNotNull(), F.col("mix"))
    all_held = held & (F.count_if(held).over(of_failure) == F.col("excess"))
    all_held &= F.bit_xor(held_mix).over(of_failure) == missing
    the_only_one = (F.col("excess") == 1) & (F.col("mix") == missing)
    return (
        open_copies.where("entered_sequence is not null")
        .drop("sequence")
        .join(failed, ["incarnation", "node"])
        .where("entered_sequence < sequence")
        .withColumns(
            {
                "rank": F.row_number().over(of_failure.orderBy("position", "message")),
                "certain": all_of_them | the_only_one | all_lost_later | all_held,
            }
        )
    )

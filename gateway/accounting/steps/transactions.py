"""Transactions that ended one way and were done another, half of them or all; or that never ended.

And prepared branches that a restart has not brought back, or that came from nowhere.

What was held for one, and neither entered nor was rolled back, is pending in its route, and lost
there. Copies for an upstream enter the queue in front of that before the end, and leave as it says.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks, together
from gateway.accounting.steps.kept import kept
from gateway.accounting.steps.ledger import flag, kind_is, outcome_is, reason_is
from gateway.audit.schema import Flag, Kind, Outcome, Reason

# A transaction ends in the turn that does the last of it. So many records behind that it has not,
# although its run goes on, or was killed.
END_MAX: Final = 100_000
OF_RUN: Final = ("incarnation", "transaction")


def transaction_breaks(records: DataFrame, runs: DataFrame) -> DataFrame:
    """Committed ones of which copies were rolled back, and rolled back ones of which some entered.

    What ended in doubt may be either. The records contradict each other, whatever else may be
    missing; the first that does is named. And those that were done, or undone, and have no end: it
    may have been under way when a run (`runs`, by `ledger.incarnations`) was killed. And those that
    ended again, or in front of what they did: what is undone at an upstream may be told later.
    """
    step = F.struct("message", "node", "position", "sequence")
    ended, done, undone = _ends_it(), _done(), _undone()
    committed, rolled_back = (
        F.bool_or(ended & outcome_is(outcome))
        for outcome in (Outcome.COMMITTED, Outcome.ROLLED_BACK)
    )
    of_none = {name: F.lit(None).cast("long").alias(name) for name in ("message", "position")}
    end = F.struct(of_none["message"], "node", of_none["position"], "sequence")
    wrong = {
        "undone": (committed, undone),
        "done": (rolled_back, done),
        "unended": (~F.bool_or(ended), done | undone),
    }
    judged = (
        records.where("transaction <> 0")
        .groupBy("incarnation", "transaction")
        .agg(
            *(
                F.when(where, F.count_if(those)).alias(name)
                for name, (where, those) in wrong.items()
            ),
            *(
                F.min_by(step, F.when(those, F.col("sequence"))).alias(f"first_{name}")
                for name, (_where, those) in wrong.items()
            ),
            F.max(F.when(done | undone, F.col("sequence"))).alias("last_step"),
            F.max_by(step, F.when(done, F.col("sequence"))).alias("first_behind"),
            F.max(F.when(ended, F.col("sequence"))).alias("ended"),
            F.count_if(ended).alias("again"),
            F.max_by(end, F.when(ended, F.col("sequence"))).alias("first_again"),
        )
        .withColumn("behind", F.expr("if(first_behind.sequence > ended, 1, 0)"))
        .where("undone > 0 or done > 0 or unended > 0 or again > 1 or behind > 0")
    )
    ends = runs.select("incarnation", F.col("last_sequence").alias("end"), "stopped")
    over = judged.join(F.broadcast(ends), "incarnation").where(
        f"unended is null or stopped or end - last_step > {END_MAX}"
    )
    return _told(over)


def _done() -> Column:
    """The record has a part of a transaction done: also what leaves the shelf of a branch."""
    entered = kind_is(Kind.ENTERED) & ~flag(Flag.TRANSIT) & ~flag(Flag.REROUTED)
    taken = kind_is(Kind.MOVED) & reason_is(Reason.BRANCH)
    return entered | taken | (kind_is(Kind.SETTLED) & outcome_is(Outcome.ACCEPTED))


def _undone() -> Column:
    """The record has a part of a transaction undone."""
    dropped = kind_is(Kind.PURGED) & reason_is(Reason.ROLLBACK)
    settled = kind_is(Kind.SETTLED) & outcome_is(Outcome.ROLLED_BACK)
    return kind_is(Kind.ROLLED_BACK) | dropped | settled


def _ends_it() -> Column:
    """The record ends a transaction.

    Not one by which a branch is prepared, or is back, or an operator decides: its end follows.
    """
    ends = outcome_is(Outcome.COMMITTED, Outcome.ROLLED_BACK, Outcome.IN_DOUBT)
    return kind_is(Kind.TRANSACTION) & ends & ~reason_is(Reason.OPERATOR)


def of_branches() -> Column:
    """The record is of a branch that was prepared: it says so, or that it came back, or its end."""
    return kind_is(Kind.TRANSACTION) & F.expr("node is not null")


def _begins() -> Column:
    """The record says that a branch was prepared, or came back so."""
    return of_branches() & outcome_is(Outcome.PREPARED, Outcome.RECOVERED)


class Branches:
    """Prepared branches of distributed transactions; by their names, which outlive their numbers.

    In each run that gets past its recovery such a one comes back once, as it was prepared once,
    until it has its end. What has one number in a run is one branch, by each of its records.
    """

    def __init__(self, records: DataFrame, runs: DataFrame) -> None:
        """`runs`: by `ledger.incarnations`."""
        told = kept(records.where(kind_is(Kind.TRANSACTION)).coalesce(1))
        self._records, self._runs = records, runs
        self._ended = told.where(_ends_it())
        self._begun = told.where(_begins())
        self._named = told.where(of_branches()).where("transaction <> 0")
        self._renamed = kept(self._called_otherwise(), rare=True)
        # That has several names, which is told, is each of them.
        names = self._named.join(self._renamed, [*OF_RUN], "left_semi").unionByName(self._begun)
        names = names.join(self._begun.select(*OF_RUN), [*OF_RUN], "left_semi")
        self._known = names.groupBy(*OF_RUN, "node").agg(F.max("sequence").alias("since"))

    def breaks(self) -> DataFrame:
        """Those that are lost, came from nowhere, more than once, or otherwise than they are."""
        lost, back = self._lost(), self._back_only()
        # One of each, at one restart: it is the same one by another name.
        of_next = Window.partitionBy("next")
        came = back.groupBy(F.col("incarnation").alias("next")).agg(F.count("*").alias("came"))
        counted = lost.withColumn("gone", F.count_if(~F.col("back")).over(of_next))
        beside = counted.join(came, "next", "left").where("back or gone > 1 or not came <=> 1")
        return together(
            self._not_there(beside),
            self._of_nowhere(lost, back),
            self._again(),
            self._otherwise(),
        )

    def _called_otherwise(self) -> DataFrame:
        """Each that a later record calls by an `other` name than the first, which is `node`."""
        in_order = Window.partitionBy(*OF_RUN).orderBy("sequence")
        other = self._named.withColumn("called", F.first("node").over(in_order))
        found = other.where("node <> called").groupBy(*OF_RUN, "called")
        first = found.agg(
            F.min_by("node", "sequence").alias("other"), F.min("sequence").alias("at")
        )
        return first.withColumnsRenamed({"called": "node", "at": "sequence"})

    def _otherwise(self) -> DataFrame:
        """Those that records call by two names, and that were prepared behind their end."""
        ends = self._ended.groupBy(*OF_RUN).agg(F.min("sequence").alias("ended"))
        begun = self._begun.groupBy(*OF_RUN, "node").agg(
            F.count("*").alias("times"), F.max("sequence").alias("sequence")
        )
        behind = begun.join(ends, [*OF_RUN]).where("times = 1 and sequence > ended")
        behind = behind.withColumn("detail", F.lit("it was prepared, or came back, behind its end"))
        renamed = self._renamed.withColumn(
            "detail", F.format_string("a later record of it names %s", "other")
        )
        columns = ("incarnation", "node", "sequence", "detail")
        found = renamed.select(*columns).unionByName(behind.select(*columns))
        return as_breaks(found, BreakClass.ORPHAN_SETTLEMENT, F.col("detail"))

    def _lost(self) -> DataFrame:
        """Those that had no end in their run, and that the `next` one does not have.

        `back`: it has their end.
        """
        left = self._known.join(self._ended.select(*OF_RUN), [*OF_RUN], "left_anti")
        later = Window.orderBy("incarnation").rowsBetween(1, Window.unboundedFollowing)
        opened = F.expr("if(opened_sequence is null, null, incarnation)")
        following = self._runs.select(
            "incarnation",
            F.min(opened).over(later).alias("next"),
            F.min("opened_sequence").over(later).alias("sequence"),
        )
        due = left.join(F.broadcast(following), "incarnation").where("next is not null")
        there = self._known.select(F.col("incarnation").alias("next"), "node").distinct()
        ended = self._ended.where("node is not null").select(
            F.col("incarnation").alias("next"), "node", F.lit(True).alias("back")
        )
        lost = due.join(there, ["next", "node"], "left_anti")
        return lost.join(ended.distinct(), ["next", "node"], "left").na.fill(False, ["back"])

    def _not_there(self, lost: DataFrame) -> DataFrame:
        """But for those of which it is told that they never ended."""
        parts = self._records.where("transaction <> 0").where(_done() | _undone())
        last = parts.groupBy(*OF_RUN).agg(F.max("sequence").alias("last_step"))
        ends = self._runs.select("incarnation", F.col("last_sequence").alias("end"), "stopped")
        stuck = last.join(F.broadcast(ends), "incarnation").where(
            f"stopped or end - last_step > {END_MAX}"
        )
        return as_breaks(
            lost.join(stuck, [*OF_RUN], "left_anti"),
            BreakClass.LOST,
            F.when(
                F.col("back"),
                F.lit("it was prepared, and no record says that it came back after the restart"),
            ).otherwise(F.lit("it was prepared, and is not there after the restart")),
        )

    def _of_nowhere(self, lost: DataFrame, back: DataFrame) -> DataFrame:
        """Those that end, or come `back`, and were not prepared."""
        names = ("incarnation", "node", "sequence", "since", "detail")
        found = self._ended_only(lost).select(*names).unionByName(back.select(*names))
        return as_breaks(found, BreakClass.ORPHAN_SETTLEMENT, F.col("detail"))

    def _ended_only(self, lost: DataFrame) -> DataFrame:
        begun = self._runs.select("incarnation", (F.col("first_sequence") - 1).alias("since"))
        ends = self._ended.where("node is not null").select(*OF_RUN, "node", "sequence")
        told = lost.select(F.col("next").alias("incarnation"), "node")
        return (
            ends.join(self._begun.select(*OF_RUN), [*OF_RUN], "left_anti")
            .join(told, ["incarnation", "node"], "left_anti")
            .join(F.broadcast(begun), "incarnation")
            .withColumn(
                "detail", F.lit("it ended, and no record says that it was prepared or came back")
            )
        )

    def _back_only(self) -> DataFrame:
        """Since the run before that got past its recovery: it would have come back there."""
        before = Window.orderBy("incarnation").rowsBetween(Window.unboundedPreceding, -1)
        opened = F.expr("if(opened_sequence is null, null, incarnation)")
        begun = F.expr("if(opened_sequence is null, null, first_sequence - 1)")
        spans = self._runs.select(
            "incarnation",
            F.max(opened).over(before).alias("previous"),
            F.max(begun).over(before).alias("since"),
        )
        back = self._begun.where(outcome_is(Outcome.RECOVERED))
        back = back.join(self._renamed, [*OF_RUN], "left_anti")
        came = back.groupBy("incarnation", "node").agg(F.min("sequence").alias("sequence"))
        came = came.join(F.broadcast(spans), "incarnation").where("previous is not null")
        known = self._known.select(F.col("incarnation").alias("known_in"), "node")
        earlier = F.expr("known_in >= previous and known_in < incarnation")
        there = came.join(known, "node").where(earlier).select("sequence")
        return came.join(there, "sequence", "left_anti").withColumn(
            "detail", F.lit("it came back, and no record says that it was prepared")
        )

    def _again(self) -> DataFrame:
        counted = self._begun.groupBy(*OF_RUN, "node").agg(
            F.count("*").alias("times"), F.max("sequence").alias("sequence")
        )
        return as_breaks(
            counted.where("times > 1"),
            BreakClass.DUPLICATE,
            F.format_string("it was prepared or came back %d times in one run", "times"),
        )


def _told(judged: DataFrame) -> DataFrame:
    """One break for each of these."""
    told = (
        ("behind", BreakClass.ORPHAN_SETTLEMENT, "ended in front of what is done of it"),
        ("again", BreakClass.DUPLICATE, "ended %d times"),
        ("undone", BreakClass.LOST, "is committed, and %d of its steps are rolled back"),
        ("done", BreakClass.DUPLICATE, "is rolled back, and %d of its steps are done"),
        ("unended", BreakClass.STUCK, "never ended, and %d of its steps are done or rolled back"),
    )
    first, named, detail = F.lit(None), F.lit(None), F.lit(None)
    for name, break_class, text in told:
        here, words = F.col(name) > (1 if name == "again" else 0), f"transaction %d {text}"
        first = F.when(here, F.col(f"first_{name}")).otherwise(first)
        named = F.when(here, str(break_class)).otherwise(named)
        said = ("transaction", name)[: words.count("%d")]
        detail = F.when(here, F.format_string(words, *said)).otherwise(detail)
    found = judged.withColumns(
        {"first": first, "count": F.expr("greatest(undone, done, unended, 1)"), "named": named}
    )
    shown = F.expr("if(unended > 0, end, first.sequence)")
    since = F.expr("if(unended > 0, last_step, null)")
    places = {name: F.col(f"first.{name}") for name in ("message", "node", "position")}
    return as_breaks(found, F.col("named"), detail, sequence=shown, since=since, **places)

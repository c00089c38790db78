"""Transactions that ended one way and were done another, half of them or all; or that never ended.

And prepared branches that a restart has not brought back.

What was held for one, and neither entered nor was rolled back, is pending in its route, and lost
there. Copies for an upstream enter the queue in front of that before the end, and leave as it says.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
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
    ended again.
    """
    step = F.struct("message", "node", "position", "sequence")
    ended, settled = _ends_it(), kind_is(Kind.SETTLED)
    undone = kind_is(Kind.ROLLED_BACK) | (settled & outcome_is(Outcome.ROLLED_BACK))
    entered = kind_is(Kind.ENTERED) & ~flag(Flag.TRANSIT) & ~flag(Flag.REROUTED)
    done = entered | (settled & outcome_is(Outcome.ACCEPTED))
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
            F.count_if(ended).alias("again"),
            F.max_by(end, F.when(ended, F.col("sequence"))).alias("first_again"),
        )
        .where("undone > 0 or done > 0 or unended > 0 or again > 1")
    )
    ends = runs.select("incarnation", F.col("last_sequence").alias("end"), "stopped")
    over = judged.join(F.broadcast(ends), "incarnation").where(
        f"unended is null or stopped or end - last_step > {END_MAX}"
    )
    return _told(over)


def _ends_it() -> Column:
    """The record ends a transaction.

    Not one by which a branch is prepared, or is back, or an operator decides: its end follows.
    """
    ends = outcome_is(Outcome.COMMITTED, Outcome.ROLLED_BACK, Outcome.IN_DOUBT)
    return kind_is(Kind.TRANSACTION) & ends & ~reason_is(Reason.OPERATOR)


def of_branches() -> Column:
    """The record says that a branch was prepared, or came back so."""
    return kind_is(Kind.TRANSACTION) & outcome_is(Outcome.PREPARED, Outcome.RECOVERED)


def branches_lost(records: DataFrame, runs: DataFrame) -> DataFrame:
    """Prepared branches of distributed transactions that a later run does not have.

    A branch that was prepared, or came back so, has its end in that run, or comes back in the next
    one that has got past its recovery; by its name, since its number is another one there.
    """
    told = records.where(kind_is(Kind.TRANSACTION))
    named = told.where(of_branches() & F.expr("node is not null"))
    known = named.groupBy("incarnation", "node").agg(
        F.max("sequence").alias("since"), F.max_by("transaction", "sequence").alias("transaction")
    )
    ended = told.where(_ends_it())
    left = known.join(ended.select(*OF_RUN), [*OF_RUN], "left_anti")
    later = Window.orderBy("incarnation").rowsBetween(1, Window.unboundedFollowing)
    opened = F.expr("if(opened_sequence is null, null, incarnation)")
    following = runs.select(
        "incarnation",
        F.min(opened).over(later).alias("next"),
        F.min("opened_sequence").over(later).alias("sequence"),
    )
    due = left.join(F.broadcast(following), "incarnation").where("next is not null")
    there = known.select(F.col("incarnation").alias("next"), "node")
    return as_breaks(
        due.join(there, ["next", "node"], "left_anti"),
        BreakClass.LOST,
        F.lit("it was prepared, and is not there after the restart"),
    )


def _told(judged: DataFrame) -> DataFrame:
    """One break for each of these."""
    told = (
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
        detail = F.when(here, F.format_string(words, "transaction", name)).otherwise(detail)
    found = judged.withColumns(
        {"first": first, "count": F.expr("greatest(undone, done, unended, 1)"), "named": named}
    )
    shown = F.expr("if(unended > 0, end, first.sequence)")
    since = F.expr("if(unended > 0, last_step, null)")
    places = {name: F.col(f"first.{name}") for name in ("message", "node", "position")}
    return as_breaks(found, F.col("named"), detail, sequence=shown, since=since, **places)

"""Transactions that ended one way and were done another: half of them, or all.

What was held for one, and neither entered nor was rolled back, is pending in its route, and lost
there. Copies for an upstream enter the queue in front of that before the end, and leave as it says.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.ledger import flag, kind_is, outcome_is
from gateway.audit.schema import Flag, Kind, Outcome


def half_done(records: DataFrame) -> DataFrame:
    """Committed ones of which copies were rolled back, and rolled back ones of which some entered.

    What ended in doubt may be either. The records contradict each other, whatever else may be
    missing; the first that does is named.
    """
    ended, settled = kind_is(Kind.TRANSACTION), kind_is(Kind.SETTLED)
    undone = kind_is(Kind.ROLLED_BACK) | (settled & outcome_is(Outcome.ROLLED_BACK))
    entered = kind_is(Kind.ENTERED) & ~flag(Flag.TRANSIT) & ~flag(Flag.REROUTED)
    done = entered | (settled & outcome_is(Outcome.ACCEPTED))
    committed = F.bool_or(ended & outcome_is(Outcome.COMMITTED))
    rolled_back = F.bool_or(ended & outcome_is(Outcome.ROLLED_BACK))
    step = F.struct("message", "node", "position", "sequence")
    judged = (
        records.where("transaction <> 0")
        .groupBy("incarnation", "transaction")
        .agg(
            F.when(committed, F.count_if(undone)).alias("undone"),
            F.when(rolled_back, F.count_if(done)).alias("done"),
            F.min_by(step, F.when(undone, F.col("sequence"))).alias("first_undone"),
            F.min_by(step, F.when(done, F.col("sequence"))).alias("first_done"),
        )
        .where("undone > 0 or done > 0")
    )
    lost = F.col("undone") > 0
    found = judged.select(
        *("incarnation", "transaction", "undone", "done"),
        F.when(lost, F.col("undone")).otherwise(F.col("done")).alias("count"),
        F.when(lost, F.col("first_undone")).otherwise(F.col("first_done")).alias("first"),
    ).select("*", "first.*")
    named = F.when(F.col("undone") > 0, str(BreakClass.LOST)).otherwise(str(BreakClass.DUPLICATE))
    what = (
        ("transaction %d is committed, and %d of its steps are rolled back", "undone"),
        ("transaction %d is rolled back, and %d of its steps are done", "done"),
    )
    told = [F.format_string(text, "transaction", name) for text, name in what]
    return as_breaks(found, named, F.when(F.col("undone") > 0, told[0]).otherwise(told[1]))

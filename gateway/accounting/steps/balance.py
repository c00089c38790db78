"""The identities worked out over a log: totals, what checkpoints say of them, and sums for all."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps import identities, silence
from gateway.accounting.steps.identities import END_OF_LOG, OUTLET, QUEUE, ROUTE, Identity
from gateway.accounting.steps.kept import kept
from gateway.accounting.steps.ledger import kind_is

# What else there is of a thing when a run of the gateway is over, whose processes end: by identity.
LAPSED: Final = {
    QUEUE.name: ("gone_with_process", "gone_at_stop", "in_doubt"),
    OUTLET.name: ("cut_off", "open_at_stop"),
    ROUTE.name: ("cut_off", "open_at_stop"),
}


class Balance:
    """One identity.

    Attributes:
        totals: its terms, over all windows of each run.
        compared: each statement beside what the log adds up to.
        failed: where it fails, and where counters are above the log (`identities.failures`); worked
            out by the first job that asks, which is to ask by itself.
    """

    def __init__(
        self,
        summed: DataFrame,
        stated: DataFrame,
        runs: DataFrame,
        identity: Identity,
        routes: DataFrame | None = None,
    ) -> None:
        windows = kept(identities.sums(summed, identity))
        said = identities.statements(stated, identity)
        if identity is ROUTE:
            said = silence.implied_routes(said, windows, runs)
        if routes is not None:
            said = silence.implied_queues(said, windows, runs, routes)
        self.identity = identity
        self._checkpoints = summed.where(kind_is(identity.checkpoint))
        self.totals = identities.totals(windows, identity)
        self.compared = kept(identities.compared(windows, said, identity))
        failed = identities.failures(self.compared, identity)
        self.failed = kept(identities.since_begin(failed, runs), by_next=True)

    @property
    def failures(self) -> DataFrame:
        """Where the identity fails."""
        return self.failed.where(identities.FAILS)

    def results(self) -> DataFrame:
        """The totals beside the last statement, and whether all statements agreed."""
        keys = ["incarnation", self.identity.key]
        implied = F.expr(f"if(window = {END_OF_LOG}, 1L, 0L)")
        said = self.compared.select(*keys, "stated", "sequence", implied.alias("said"))
        # Their records need not all be here: what is carried on leaves most out.
        written = self._checkpoints.select(*keys, F.col("records").alias("said"))
        last = (
            said.unionByName(written, allowMissingColumns=True)
            .groupBy(*keys)
            .agg(
                F.max_by("stated", "sequence").alias("last_stated"),
                F.sum("said").alias("checkpoints"),
            )
        )
        failed = self.failures.select(*keys, F.lit(False).alias("balanced")).distinct()
        return (
            self.totals.join(last, keys, "left")
            .join(failed, keys, "left")
            .withColumns(
                {
                    "balanced": F.coalesce("balanced", F.lit(True)),
                    "checkpoints": F.coalesce("checkpoints", F.lit(0)),
                }
            )
        )


def differences(balances: Iterable[Balance]) -> DataFrame:
    """By how much all checkpoints differ from the log."""
    return reduce(
        DataFrame.unionByName, (identities.differences(each.compared) for each in balances)
    )


def balances(summed: DataFrame, stated: DataFrame, runs: DataFrame) -> dict[str, Balance]:
    """All three, by name."""
    summed, stated = identities.with_route(summed), identities.with_route(stated)
    routes = Balance(summed, stated, runs, ROUTE)
    return {
        QUEUE.name: Balance(summed, stated, runs, QUEUE, routes.compared),
        OUTLET.name: Balance(summed, stated, runs, OUTLET),
        ROUTE.name: routes,
    }


def queue_results(results: DataFrame, open_copies: DataFrame) -> DataFrame:
    """The queues' results, with the transient copies that went with their process.

    It may have been killed, or have stopped. Those in transit are in doubt: whoever sent them was
    told nothing, and sends them again.
    """
    kept = ~F.col("transit")
    lapsed = (
        open_copies.where("not durable and (stopped or until is not null)")
        .groupBy("incarnation", "node")
        .agg(
            F.count_if(kept & ~F.col("stopped")).alias("gone_with_process"),
            F.count_if(kept & F.col("stopped")).alias("gone_at_stop"),
            F.count_if("transit").alias("in_doubt"),
        )
    )
    return results.join(lapsed, ["incarnation", "node"], "left").na.fill(
        0, list(LAPSED[QUEUE.name])
    )


def sums_over_all(
    results: DataFrame, identity: Identity, runs: DataFrame, ends: tuple[int, int], *by: str
) -> DataFrame:
    """Each term over everything, so that it adds up over all runs as it does in each.

    `runs`: by `ledger.incarnations`; `ends`: those that the log begins and ends with. What is left
    is counted where it still is, at the end, and what a run before that had left has lapsed: of a
    queue it is gone, or was recovered, which is the same copy still; else it was open when that run
    was killed, or stopped in order. `by`: one row for each of these; `rows`: of how many results
    each is made.
    """
    first, last = ends
    in_last, rest = F.col("incarnation") == last, F.col(identity.rest)
    terms = {name: F.col(name) for name in identity.term_names}
    if identity is QUEUE:
        lapsed = {name: F.col(name) for name in LAPSED[QUEUE.name]}
        terms["recovered"] = F.when(F.col("incarnation") == first, F.col("recovered"))
        terms |= lapsed
        rest = reduce(Column.__sub__, lapsed.values(), rest)
    else:
        results = results.join(F.broadcast(runs.select("incarnation", "stopped")), "incarnation")
        terms["cut_off"] = F.when(~in_last & ~F.col("stopped"), rest)
        terms["open_at_stop"] = F.when(~in_last & F.col("stopped"), rest)
    terms[identity.rest] = F.when(in_last, rest)
    return results.groupBy(*by).agg(
        F.count("*").alias("rows"),
        *(F.coalesce(F.sum(term), F.lit(0)).alias(name) for name, term in terms.items()),
    )

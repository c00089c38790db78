"""The first job: does the audit log prove that every message is accounted for?

`reconcile` reads a log, puts the steps of `chain`, `ledger` and `copies` together, writes their
results as Parquet and gives back what the report shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting import chain, copies, identities, ledger, sealed
from gateway.accounting.breaks import BreakClass, with_proof
from gateway.accounting.identities import IDENTITIES, ROUTE, Identity
from gateway.accounting.source import FORMAT
from gateway.audit.provenance import Provenance
from gateway.audit.schema import Kind

STATED_KINDS: Final = (  # what the gateway says of itself and of the log
    *(Kind.CLOCK, Kind.LOG_DIFFERS),
    *(Kind.QUEUE_CHECKPOINT, Kind.OUTLET_CHECKPOINT, Kind.ROUTE_CHECKPOINT),
)
NESTED: Final = ("findings", "unfinished", "hashes")  # of segments; told otherwise
UNUSED: Final = ("time_ms", "delivery_count", "connection", "transaction")
EXTRA: Final = {"queues": ("gone_with_process", "in_doubt")}
SHOWN: Final = 500  # rows of a table that the report shows; the Parquet files have them all

# What is proven first, and of that the log's own damage: it is the cause of what is not.
IN_ORDER: Final = (
    *("not proven", f"class <> '{BreakClass.LOG_GAP}'"),
    *("class", "incarnation", "sequence", "message"),
)

Row = dict[str, Any]  # Any: a cell of a result, for showing


@dataclass(frozen=True)
class Result:
    """What a reconciliation found; the tables are cut at `SHOWN` rows.

    Attributes:
        breaks: those that are proven first, of them those of the log itself.
        classes: proven breaks by class, counted in copies.
        unproven: the others, which may be there for want of records that cannot be read.
        sums: by identity, its terms over everything.
        log_facts: how much log there is, from when to when, and how it ends.
        provenance: how far it is sealed, and by whom.
    """

    log: str
    breaks: list[Row]
    classes: dict[str, int]
    unproven: dict[str, int]
    queues: list[Row]
    outlets: list[Row]
    routes: list[Row]
    sums: dict[str, Row]
    losses: list[Row]
    log_facts: Row
    incarnations: list[Row]
    provenance: Provenance

    @property
    def balanced(self) -> bool:
        """No break of any class."""
        return not self.classes and not self.unproven

    @property
    def half(self) -> str:
        """The block that the log ends with half of, as while a gateway writes it; empty: none."""
        return "".join(
            f"{self.log_facts['newest']} block {row['block']} offset {row['offset']}"
            for row in (self.log_facts["unfinished"] or ())
            if self.log_facts["records"]
        )

    @property
    def final(self) -> bool:
        """The last incarnation ended in order: nothing can change any more."""
        return bool(self.incarnations and self.incarnations[-1]["stopped"]) and not self.half


def read(spark: SparkSession, log: Path, **options: str) -> DataFrame:
    """A view of the log."""
    return spark.read.format(FORMAT).options(**options).load(str(log))


def reconcile(
    spark: SparkSession, log: Path, out: Path, provenance: Provenance | None = None
) -> Result:
    """Read, account, write, and say what was found.

    `provenance`: what is known of the log that is not in it.
    """
    provenance = provenance or Provenance()
    segments = read(spark, log, view="segments", offsets=sealed.asked(provenance)).coalesce(1)
    paired = chain.with_previous(segments).cache()
    facts = _rows(log_facts(paired))[0]
    sealed.note(provenance, facts["sealed"])
    with _by_message(read(spark, log)) as records:
        summed = _written(ledger.ledger(records), out / "ledger").coalesce(1)
        stated = records.where(ledger.kind_is(*STATED_KINDS)).coalesce(1).cache()
        runs = ledger.incarnations(summed).cache()
        balances = {of.name: Balance(summed, stated, runs, of) for of in IDENTITIES}
        failed = {name: identities.since_begin(of.failures, runs) for name, of in balances.items()}
        steps = copies.copy_steps(records.where(ledger.kind_is(*copies.KINDS)))
        open_copies = copies.still_there(copies.copy_states(steps))
        gone = copies.ended_with_process(open_copies, runs)
        messages = copies.message_states(records.where(ledger.kind_is(*copies.KINDS)))
        found = [
            *log_breaks(paired, stated),
            *sealed.breaks(spark, provenance),
            copies.step_breaks(copies.with_previous(steps)),
            copies.lost_at_restart(gone),
            copies.mutated(messages),
            copies.routed_twice(messages),
            copies.queue_breaks(failed["queues"], open_copies),
            copies.route_breaks(failed["routes"], messages),
            identities.outlet_breaks(failed["outlets"]),
            identities.detached_breaks(balances["outlets"].totals, summed),
        ]
        judged = with_proof(reduce(DataFrame.unionByName, found), chain.doubt(paired))
        breaks = _written(judged, out / "breaks")
        queues = _written(queue_results(balances["queues"], gone), out / "queues")
        outlets = _written(outlet_results(balances["outlets"], records), out / "outlets")
    routes = _written(balances["routes"].results(), out / "routes")
    results = {"queues": queues, "outlets": outlets, "routes": routes}
    plain = [name for name in segments.columns if name not in NESTED]
    _written(paired.select(*plain), out / "segments")
    counted = breaks.groupBy("class", "proven").agg(F.sum("count").alias("count")).collect()
    return Result(
        log=str(log),
        breaks=_rows(breaks.orderBy(*map(F.expr, IN_ORDER))),
        classes={row["class"]: row["count"] for row in counted if row["proven"]},
        unproven={row["class"]: row["count"] for row in counted if not row["proven"]},
        queues=_rows(queues.orderBy("incarnation", "node")),
        outlets=_rows(results["outlets"].orderBy("incarnation", "link")),
        routes=_rows(results["routes"].orderBy("incarnation", "route")),
        sums={
            of.name: _rows(identities.sums_over_all(results[of.name], of, *EXTRA.get(of.name, ())))[
                0
            ]
            for of in IDENTITIES
        },
        losses=_rows(ledger.losses(summed).orderBy("row")),
        log_facts=facts,
        incarnations=_rows(runs.orderBy("incarnation")),
        provenance=provenance,
    )


class Balance:
    """One identity, worked out over a log."""

    def __init__(
        self, summed: DataFrame, stated: DataFrame, runs: DataFrame, identity: Identity
    ) -> None:
        windows = identities.sums(summed, identity).cache()
        said = identities.statements(stated, identity)
        if identity is ROUTE:
            said = identities.with_implied(said, windows, runs)
        self.identity = identity
        self.totals = identities.totals(windows, identity)
        self.compared = identities.compared(windows, said, identity).cache()
        self.failures = identities.since_begin(identities.failures(self.compared, identity), runs)

    def results(self) -> DataFrame:
        """The totals beside the last statement, and whether all statements agreed."""
        keys = ["incarnation", self.identity.key]
        last = self.compared.groupBy(*keys).agg(
            F.max_by("stated", "sequence").alias("last_stated"),
            F.count("*").alias("checkpoints"),
        )
        failed = self.failures.select(*keys, F.lit(False).alias("balanced")).distinct()
        return (
            self.totals.join(last, keys, "left")
            .join(failed, keys, "left")
            .withColumn("balanced", F.coalesce("balanced", F.lit(True)))
            .withColumn("checkpoints", F.coalesce("checkpoints", F.lit(0)))
        )


def queue_results(balance: Balance, gone: DataFrame) -> DataFrame:
    """The queues' results, with the transient copies that went with their process.

    Those in transit are in doubt: whoever sent them was told nothing, and sends them again.
    """
    lapsed = (
        gone.where("not durable")
        .groupBy("incarnation", "node")
        .agg(
            F.count_if(~F.col("transit")).alias("gone_with_process"),
            F.count_if("transit").alias("in_doubt"),
        )
    )
    return (
        balance.results()
        .join(lapsed, ["incarnation", "node"], "left")
        .na.fill(0, ["gone_with_process", "in_doubt"])
    )


def outlet_results(balance: Balance, records: DataFrame) -> DataFrame:
    """The outlets' results, with the node at an upstream that each of them leads to, if any."""
    leads = records.where(ledger.kind_is(Kind.LINK_ATTACHED) & F.col("peer").isNotNull())
    address = F.regexp_extract("peer", "^link [0-9]+: (.*)$", 1)
    several = F.when(F.count_distinct(address) > 1, " and others").otherwise("")
    leads = leads.groupBy("incarnation", "link").agg(
        F.concat(F.min(address), several).alias("leads_to")
    )
    return balance.results().join(leads, ["incarnation", "link"], "left")


def log_breaks(paired: DataFrame, stated: DataFrame) -> list[DataFrame]:
    """What is wrong with the log itself; `paired` by `chain.with_previous`."""
    return [
        chain.gaps_inside(paired),
        chain.gaps_between(paired),
        chain.told_differences(stated),
        chain.clock_going_back(paired),
        chain.clock_drifting(stated),
    ]


def log_facts(segments: DataFrame) -> DataFrame:
    """One row: how much log there is, from when to when, and how it ends."""
    return segments.agg(
        F.count("*").alias("segments"),
        F.sum("records").alias("records"),
        F.sum("octets").alias("octets"),
        F.min("first_sequence").alias("first_sequence"),
        F.max("last_sequence").alias("last_sequence"),
        F.min("first_time_ms").alias("first_time_ms"),
        F.max("last_time_ms").alias("last_time_ms"),
        F.max_by("segment", "ordinal").alias("newest"),
        F.max_by("unfinished", "ordinal").alias("unfinished"),
        sealed.collected().alias("sealed"),
    )


@contextmanager
def _by_message(records: DataFrame) -> Iterator[DataFrame]:
    """All records, read once and brought together by message once, for all steps."""
    slim = records.drop(*UNUSED)
    together = slim.repartition("message").persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield together
    finally:
        together.unpersist()


def _written(frame: DataFrame, path: Path) -> DataFrame:
    """Write a result, and go on from what was written."""
    frame.write.mode("overwrite").parquet(str(path))
    return frame.sparkSession.read.parquet(str(path))


def _rows(frame: DataFrame) -> list[Row]:
    return [row.asDict() for row in frame.limit(SHOWN).collect()]

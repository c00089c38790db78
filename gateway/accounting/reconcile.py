"""The first job: does the audit log prove that every message is accounted for?

`reconcile` reads a log, puts the steps of `segments` and `steps` together, writes their
results as Parquet and gives back what the report shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting import judging
from gateway.accounting.judging import Evidence
from gateway.accounting.locations.location import Location
from gateway.accounting.partitions import gathered
from gateway.accounting.reading import Reading
from gateway.accounting.rows import Row, rows_of
from gateway.accounting.segments import chain, let_go, sealed
from gateway.accounting.state.folder import Folder
from gateway.accounting.state.opening import Beginning, Opening
from gateway.accounting.steps import ages, checked, confirmed, copies, ledger, messages, outlets
from gateway.accounting.steps.balance import (
    balances,
    queue_results,
    sums_over_all,
)
from gateway.accounting.steps.breaks import BreakClass, together, with_proof
from gateway.accounting.steps.identities import IDENTITIES, OUTLET, QUEUE, ROUTE, Identity
from gateway.accounting.steps.kept import kept
from gateway.accounting.telling import figures, stories
from gateway.audit.provenance import Provenance
from gateway.audit.schema import Kind

STATED_KINDS: Final = (  # what the gateway says of itself and of the log
    *(Kind.CLOCK, Kind.LOG_DIFFERS, Kind.LET_GO),
    *(Kind.QUEUE_CHECKPOINT, Kind.OUTLET_CHECKPOINT, Kind.ROUTE_CHECKPOINT),
)
NESTED: Final = ("findings", "unfinished", "hashes")  # of segments; told otherwise
BOUNDS: Final = ages.Bounds()
OPEN: Final = "open_items"
SHOWN: Final = 500  # rows of a table that the report shows; the Parquet files have them all

# What is proven first, and of that the log's own damage: it is the cause of what is not.
IN_ORDER: Final = (
    *("not proven", f"class <> '{BreakClass.LOG_GAP}'"),
    *("class", "incarnation", "sequence", "message"),
)


@dataclass(frozen=True)
class Result:
    """What a reconciliation found; the tables are cut at `SHOWN` rows.

    Attributes:
        beginning: with what it begins.
        incarnations: the latest, in their order.
        breaks: those that are proven first, of them those of the log itself.
        classes: proven breaks by class, counted in copies.
        unproven: the others, which may be there for want of records that cannot be read.
        sums: by identity, its terms over everything; what is left is `None` where it is not known.
        log_facts: how much log there is, from when to when, and how it ends.
        checked: how many translations the gateway has held against what came.
        told: of how many messages publishers were told what.
        published_again: what came more than once by its application's id, which is no break.
        provenance: how far it is sealed, and by whom.
        stories: of the breaks, in their order.
        figures: what charts are drawn from (`telling.figures`).
        losses_by_client: the losses, by queue and client.
        over_runs: each queue over all runs, where there are several; `of` so many.
        break_rows: how many rows there are of `breaks`.
    """

    log: str
    beginning: Beginning
    breaks: list[Row]
    classes: dict[str, int]
    unproven: dict[str, int]
    queues: list[Row]
    outlets: list[Row]
    routes: list[Row]
    sums: dict[str, Row]
    losses: list[Row]
    checked: Row
    told: Row
    published_again: Row
    log_facts: Row
    incarnations: list[Row]
    provenance: Provenance
    stories: list[stories.Told]
    figures: list[Row]
    losses_by_client: list[Row]
    over_runs: list[Row]
    break_rows: int

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


def reconcile(
    spark: SparkSession,
    log: Location,
    out: Location,
    provenance: Provenance | None = None,
    bounds: ages.Bounds = BOUNDS,
    *,
    fold: bool = True,
    state: Folder | None = None,
    until: str = "",
    opening: Opening | None = None,
) -> Result:
    """Read, account, write, and say what was found.

    `provenance`: what is known of the log that is not in it. `bounds`: what took too long. `fold`:
    whether messages that are complete within a part of the log are left to its sums. `state`: what
    earlier runs have left, from which this one goes on; it leaves the same to the next. `until`:
    the last segment that is read, a closed one; what is open behind it is written, too (`OPEN`).
    `opening`: what a closed book has of segments that were let go.

    Raises:
        StateError: there is something else in `state`.
    """
    provenance = provenance or Provenance()
    reading = Reading(
        *(spark, log, provenance, bounds),
        fold=fold,
        folder=state,
        opening=opening,
        until=until,
    )
    seen = _evidence(reading, out)
    breaks = _breaks(reading, seen, out)
    result = _result(reading, seen, breaks, out)
    reading.carry(seen)
    return result


def _evidence(reading: Reading, out: Location) -> Evidence:
    """What there is to judge by; what of it is a result is written."""
    parts = reading.parts()
    segments = reading.segments(parts)
    paired = kept(chain.with_previous(segments), by_next=True)
    facts = _rows(log_facts(paired))[0]
    sealed.note(reading.provenance, facts["sealed"])
    _write(
        paired.select(*(name for name in segments.columns if name not in NESTED)), out / "segments"
    )
    records = reading.records(parts)
    summed = _written(ledger.ledger(parts), out / "ledger").coalesce(1)
    stated = kept(records.where(ledger.kind_is(*STATED_KINDS)).coalesce(1))
    runs = kept(ledger.incarnations(summed))
    states = kept(copies.states_of(records, runs, reading.bounds.late))
    if reading.until:
        _write(copies.open_items(copies.still_there(states)), out / OPEN)
    balance = balances(summed, stated, runs)
    told = kept(confirmed.told_wrongly(records, summed, parts), by_next=True)
    return Evidence(
        *(parts, records, summed, paired, stated, runs, states, balance, told, facts),
        complete=reading.complete,
    )


def _breaks(reading: Reading, seen: Evidence, out: Location) -> DataFrame:
    provenance = reading.provenance
    gone = let_go.let_go_by(seen.stated, provenance)
    found = together(
        *judging.log_breaks(seen.paired, seen.stated, let_go.excused(gone, provenance)),
        *sealed.breaks(reading.spark, provenance),
        *reading.breaks(gone),
        *judging.breaks_in(seen, reading.bounds),
    )
    proven = with_proof(gathered(found), chain.doubt(seen.paired))
    return _written(reading.with_known(proven), out / "breaks")


def _result(reading: Reading, seen: Evidence, breaks: DataFrame, out: Location) -> Result:
    records, summed, facts = seen.records, seen.summed, seen.facts
    tables = _tables(seen).items()
    results = {name: _written(frame, out / name).coalesce(1) for name, frame in tables}
    ends = (facts["first_run"] or 0, facts["last_run"] or 0)
    spans = figures.spans_of(facts["first_time_ms"] or 0, facts["last_time_ms"] or 0)
    parts = reading.drawn(seen.parts, records)
    drawn = _written(figures.figures(records, spans, parts), out / "figures")
    found = rows_of(
        {
            "breaks": breaks.orderBy(*map(F.expr, IN_ORDER)).limit(SHOWN),
            "classes": _by_class(breaks),
            "losses": ledger.losses(summed).orderBy("row").limit(SHOWN),
            "runs": seen.runs.orderBy(F.desc("incarnation")).limit(SHOWN),
            "figures": drawn,
            **{of.name: _most(results[of.name], of) for of in IDENTITIES},
            **{
                _sums(of): sums_over_all(results[of.name], of, seen.runs, ends) for of in IDENTITIES
            },
            **_single(seen),
        }
    )
    counted, listed, losses = found["classes"], found["breaks"], found["losses"]
    found["over_runs"] = _over_runs(results["queues"], seen.runs, ends) if seen.several else []
    beginning = reading.beginning(facts)
    if beginning.record:
        _without_rest(found, ends[0])
    return Result(
        log=str(reading.log),
        beginning=beginning,
        breaks=listed,
        classes={row["class"]: row["count"] for row in counted if row["proven"]},
        unproven={row["class"]: row["count"] for row in counted if not row["proven"]},
        queues=_in_order(found, QUEUE),
        outlets=_in_order(found, OUTLET),
        routes=_in_order(found, ROUTE),
        sums={of.name: found[_sums(of)][0] for of in IDENTITIES},
        losses=losses,
        checked=found["checked"][0],
        told=found["told"][0],
        published_again=found["published_again"][0],
        log_facts=facts,
        incarnations=found["runs"][::-1],
        provenance=reading.provenance,
        stories=stories.stories(records, listed, str(reading.log)),
        figures=found["figures"],
        losses_by_client=_rows(figures.losses_by_client(records, summed)) if losses else [],
        over_runs=found["over_runs"],
        break_rows=sum(row["rows"] for row in counted),
    )


def _by_class(breaks: DataFrame) -> DataFrame:
    """How many there are, in copies and in rows."""
    return breaks.groupBy("class", "proven").agg(
        F.sum("count").alias("count"), F.count("*").alias("rows")
    )


def _single(seen: Evidence) -> dict[str, DataFrame]:
    """What is told in one row each."""
    published = seen.parts.where("published is not null").select(F.inline("published"))
    return {
        "checked": checked.looked_at(seen.records, seen.summed),
        "told": confirmed.told_of(seen.records, seen.summed, seen.told),
        "published_again": messages.published_again(published),
    }


def _sums(identity: Identity) -> str:
    return f"sums of {identity.name}"


def _tables(seen: Evidence) -> dict[str, DataFrame]:
    """Of each identity what its terms come to, and what else is known of each thing."""
    of = {name: each.results() for name, each in seen.balance.items()}
    return {
        QUEUE.name: queue_results(of[QUEUE.name], copies.still_there(seen.states)),
        OUTLET.name: outlets.with_ends(of[OUTLET.name], seen.records),
        ROUTE.name: of[ROUTE.name],
    }


def _most(results: DataFrame, identity: Identity) -> DataFrame:
    """What disagrees, and then where most happened."""
    most = F.desc(F.expr(" + ".join(identity.term_names[: identity.incoming])))
    return results.orderBy("balanced", most, "incarnation", identity.key).limit(SHOWN)


def _without_rest(found: dict[str, list[Row]], run: int) -> None:
    """What is left is not known of what that run had before the log begins."""
    for of in IDENTITIES:
        rows = [row for row in found[of.name] if row["incarnation"] == run]
        for row in (*rows, *found[_sums(of)]):
            row[of.rest] = None
    for row in found["over_runs"]:
        row[QUEUE.rest] = None


def _in_order(found: dict[str, list[Row]], identity: Identity) -> list[Row]:
    """Those of most in an order that people find things in."""
    rows = found[identity.name]
    return sorted(rows, key=lambda row: (row["balanced"], row["incarnation"], row[identity.key]))


def _over_runs(queues: DataFrame, runs: DataFrame, ends: tuple[int, int]) -> list[Row]:
    """Each queue over all runs: those where most happened."""
    summed = sums_over_all(queues, QUEUE, runs, ends, "node")
    most = F.desc(F.expr(" + ".join(QUEUE.term_names)))
    of = F.count("*").over(Window.partitionBy())
    rows = _rows(summed.withColumn("of", of).orderBy(most, "node"))
    return sorted(rows, key=lambda row: str(row["node"]))


def log_facts(segments: DataFrame) -> DataFrame:
    """One row: how much log there is, from when to when, and how it ends."""
    return segments.agg(
        F.count("*").alias("segments"),
        F.count_distinct("incarnation").alias("runs"),
        F.min("incarnation").alias("first_run"),
        F.max("incarnation").alias("last_run"),
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


def _written(frame: DataFrame, path: Location) -> DataFrame:
    """Write a result, and go on from it."""
    frame = kept(frame, by_next=True)
    _write(frame, path)
    return frame


def _write(frame: DataFrame, path: Location) -> None:
    frame.write.mode("overwrite").parquet(str(path))


def _rows(frame: DataFrame) -> list[Row]:
    return [row.asDict() for row in frame.limit(SHOWN).collect()]

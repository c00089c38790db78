"""The job: reads both sides, compares them, writes what came of it, and says so."""

from __future__ import annotations

import json
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting import runs
from gateway.accounting.comparing import heads, told
from gateway.accounting.comparing.arguments import Asked, Ledger, Of
from gateway.accounting.comparing.ledgers import LedgerError, book
from gateway.accounting.comparing.logs import Facts, logs
from gateway.accounting.comparing.sides import HERE, THERE, by_id, by_queue
from gateway.accounting.comparing.verdicts import (
    MISSING,
    NOT_YET,
    Span,
    Verdict,
    counted,
    in_share,
    judged,
    span_of,
    within,
)
from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.runs import Run
from gateway.accounting.telling import ran

IDS: Final = "ids"  # the Parquet tables, of which a comparison writes one
QUEUES: Final = "queues"
SHOWN: Final = 500  # rows of the report; the Parquet files have them all
# Of a comparison each message is gone through: what does so is worth being compiled much sooner.
COMPILED_OCTETS: Final = 16 * 1024 * 1024
_COMPILED: Final = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
DIFFERING: Final = (*MISSING.values(), Verdict.DIFFERENT, Verdict.NOT_PROVEN)

Row = dict[str, Any]  # Any: a cell of a result


class ComparisonError(Exception):
    """Why nothing can be compared, in a sentence."""


class Side(NamedTuple):
    """One side, for who reads of it.

    Attributes:
        name: which logs, or whose book; `of`: what its messages are.
        messages: how many it surely has; `without_id`: of them, those without one.
        ends_ms: what is newer is not in it; `None`: it does not say.
        unread, timeless: lines of a book of which id or count, or the time, is none.
    """

    name: str
    of: str
    logs: list[Facts]
    messages: int
    without_id: int
    ends_ms: int | None
    unread: int = 0
    timeless: int = 0


@dataclass(frozen=True)
class Compared:
    """What was found.

    Attributes:
        by_queue: counts of queues were compared, not ids.
        rows: how many there are of either.
        counts, ages: of them, by verdict, and of what is missing by age, too.
        unsure: of those that match, how many a log itself says may be more or fewer.
        wrong: how many messages disagree that may not.
        tolerate: so many may.
        let_pass: verdicts that are no difference.
        listed: those that differ, the first of them; `differing`: how many there are.
    """

    here: Side
    there: Side
    by_queue: bool
    rows: int
    counts: dict[Verdict, int]
    ages: dict[Verdict, dict[str, int]]
    unsure: int
    wrong: int
    tolerate: int
    let_pass: tuple[Verdict, ...]
    listed: list[Row]
    differing: int

    @property
    def matched(self) -> bool:
        """Nothing disagrees that may not, and everything could be read."""
        logs = [*self.here.logs, *self.there.logs]
        whole = not any(log.missing or log.flawed for log in logs)
        proven = whole and not self.there.unread and not self.counts.get(Verdict.NOT_PROVEN)
        return proven and self.wrong <= self.tolerate

    @property
    def open(self) -> bool:
        """Something may yet come."""
        return any(self.counts.get(each) for each in NOT_YET.values())


class _Given(NamedTuple):
    """A side as it is read."""

    items: DataFrame
    span: Span
    logs: list[Facts]
    unread: int = 0
    timeless: int = 0
    queues: bool = False


def looked_at(asked: Asked) -> int:
    """How much there is to read, before Spark is started.

    Raises:
        ComparisonError: there is none of a log, or a book is not what it is said to be.
    """
    octets = 0
    for log in (*asked.logs, *asked.against):
        try:
            paths = location.segments(log)
            octets += sum(location.size(path) for path in paths)
        except OSError as error:
            raise ComparisonError(f"cannot read {error.filename}: {error.strerror}") from None
        if not paths:
            raise ComparisonError(f"no audit segments in {log}")
    return octets if asked.ledger is None else octets + _book_looked_at(asked.ledger, asked.theirs)


def _book_looked_at(ledger: Ledger, of: Of) -> int:
    try:
        wrong = heads.check(ledger, of.queues)
        octets = 0 if heads.is_folder(ledger.where) else location.size(ledger.where)
    except OSError as error:
        raise ComparisonError(f"{ledger.where} cannot be read: {error.strerror}") from None
    if wrong:
        raise ComparisonError(wrong)
    return octets


def prepare(spark: SparkSession, octets: int, said: Container[str]) -> None:
    """Set a session for logs of this size; but what somebody has `said` of it stays."""
    for name, value in _COMPILED.items():
        if octets >= COMPILED_OCTETS and name not in said:
            spark.conf.set(name, value)


def conclude(found: Compared, asked: Asked, made: Run) -> None:
    """Finish its run with a report, and print what that says. Raises OSError."""
    by_whom = ran.here(made.began_s, time.time(), _bounds_in_words(asked))
    report = json.dumps(told.as_json(found, by_whom), indent=1) + "\n"
    location.write(made.work / runs.REPORT, report)
    made.finish()
    print(told.summary(found, str(made.path / runs.REPORT)))
    runs.lead_to(made.path)


def _bounds_in_words(asked: Asked) -> str:
    return f"grace {asked.grace_ms / 1000:g} s, {asked.tolerate} messages may disagree"


def compare(spark: SparkSession, asked: Asked, out: Location) -> Compared:
    """Read, compare, write, and say what was found. Raises ComparisonError."""
    there = _there(spark, asked)
    here = _logs(spark, asked.logs, asked.ours, queues=there.queues)
    counts = asked.ledger is not None and asked.ledger.counts
    if counts:
        ours = _of_time(here.items, asked)
        rows = by_queue(ours, _of_time(there.items, asked))
    else:
        texts = asked.ledger is not None
        rows = by_id(here.items, there.items, queues=there.queues, texts=texts)
        rows = in_share(within(rows, asked.since_ms, asked.until_ms), asked.share)
    spans, passed = (here.span, there.span), _let_pass(asked)
    judged_rows = judged(rows, *spans, asked.grace_ms, let_pass=passed)
    table = _written(judged_rows, out, QUEUES if counts else IDS)
    return _found(asked, here, there, table)


def _of_time(items: DataFrame, asked: Asked) -> DataFrame:
    """Of the time that is asked for; what has none is of any."""
    if asked.since_ms:
        items = items.where(f"time_ms is null or time_ms >= {asked.since_ms}")
    if asked.until_ms:
        items = items.where(f"time_ms is null or time_ms < {asked.until_ms}")
    return items


def _logs(spark: SparkSession, paths: Sequence[Location], of: Of, *, queues: bool) -> _Given:
    side = logs(spark, paths, of, queues=queues)
    known: dict[str, str] = {}
    for log in side.facts:
        if log.log and log.log in known:
            raise ComparisonError(f"{known[log.log]} and {log.path} are one log, with id {log.log}")
        known[log.log] = log.path
    return _Given(side.items, span_of(side.facts), side.facts)


def _there(spark: SparkSession, asked: Asked) -> _Given:
    if asked.ledger is None:
        return _logs(spark, asked.against, asked.theirs, queues=False)
    try:
        read = book(spark, asked.ledger, asked.theirs.queues)
    except LedgerError as error:
        raise ComparisonError(str(error)) from None
    span = Span(ends_ms=None if asked.ledger.counts else read.ends_ms)
    return _Given(read.items, span, [], read.unread, read.timeless, read.queues)


def _written(rows: DataFrame, out: Location, name: str) -> DataFrame:
    """Write the table, and go on from it."""
    path = str(out / name)
    rows.write.mode("overwrite").parquet(path)
    return rows.sparkSession.read.schema(rows.schema).parquet(path)


def _found(asked: Asked, here: _Given, there: _Given, table: DataFrame) -> Compared:
    counts: dict[Verdict, int] = {}
    ages: dict[Verdict, dict[str, int]] = {}
    messages, without = {HERE: 0, THERE: 0}, {HERE: 0, THERE: 0}
    by: dict[Verdict, int] = {}
    unsure = 0
    for row in counted(table).collect():
        verdict = Verdict(row["verdict"])
        counts[verdict] = counts.get(verdict, 0) + row["rows"]
        by[verdict] = by.get(verdict, 0) + row["by"]
        ages.setdefault(verdict, {})[row["age"]] = row["rows"]
        unsure += row["unsure"] if verdict == Verdict.MATCHED else 0
        for side in (HERE, THERE):
            messages[side] += row[side]
            without[side] += row[side] if verdict == Verdict.NO_ID else 0
    let_pass = _let_pass(asked)
    differing = [each for each in DIFFERING if each not in let_pass]
    return Compared(
        _side(here, ", ".join(map(str, asked.logs)), asked.ours, messages[HERE], without[HERE]),
        _side(there, _name(asked), asked.theirs, messages[THERE], without[THERE]),
        by_queue=asked.ledger is not None and asked.ledger.counts,
        rows=sum(counts.values()),
        counts={each: counts[each] for each in Verdict if each in counts},
        ages={each: ages[each] for each in MISSING.values() if each in ages},
        unsure=unsure,
        wrong=sum(by.get(each, 0) for each in differing if each != Verdict.NOT_PROVEN),
        tolerate=asked.tolerate,
        let_pass=let_pass,
        listed=_listed(table, differing),
        differing=sum(counts.get(each, 0) for each in differing),
    )


def _let_pass(asked: Asked) -> tuple[Verdict, ...]:
    here = (Verdict.MISSING_THERE,) if asked.more_here else ()
    return here + ((Verdict.MISSING_HERE,) if asked.more_there else ())


def _side(given: _Given, name: str, of: Of, messages: int, without_id: int) -> Side:
    ends_ms, unread, timeless = given.span.ends_ms, given.unread, given.timeless
    return Side(name, of.in_words(), given.logs, messages, without_id, ends_ms, unread, timeless)


def _name(asked: Asked) -> str:
    if asked.ledger is not None:
        return str(asked.ledger.where)
    return ", ".join(map(str, asked.against))


def _listed(table: DataFrame, differing: list[Verdict]) -> list[Row]:
    """What differs, missing first, in the order of time."""
    wanted = F.col("verdict").isin([each.value for each in differing])
    first = F.coalesce(F.least(f"{HERE}_first_ms", f"{THERE}_first_ms"), F.lit(0))
    rows = table.where(wanted).orderBy(F.desc("verdict"), first).limit(SHOWN).collect()
    return [row.asDict(recursive=True) for row in rows]

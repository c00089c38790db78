"""The stories of breaks: the steps of their messages, and what to type to read more of them.

`audit trace` tells the same of the whole log; here it is what stands around the break, of the
breaks that are shown, and of a message not more than `STEPS` of its records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.ledger import kind_is
from gateway.accounting.telling.words import traced
from gateway.audit.reader import shown
from gateway.audit.schema import ALIASES, FIELD_NAMES, NAME_FIELDS, Kind
from gateway.audit.story import Record, Story, command

STORIES: Final = 100
STEPS: Final = 40
# In which a message's field means something else.
_OTHERS: Final = tuple(kind for kind, names in ALIASES.items() if "message" in names)
NAMED_MAX: Final = 20_000  # records of links and connections that steps are of

Row = dict[str, Any]  # Any: a cell of a result


class Told(NamedTuple):
    """Of one break: the steps around it, and the command for all of them; either may be empty.

    Of a message of which the log has no step there is nothing to type.
    """

    lines: list[str]
    command: str


def stories(records: DataFrame, breaks: list[Row], log: str) -> list[Told]:
    """One for each of these breaks, in their order; nothing is read where there are none."""
    asked = [row for row in breaks if row["message"] is not None][:STORIES]
    steps = _steps(records, asked) if asked else {}
    times = _times(records, [row for row in breaks if row["message"] is None and row["node"]])
    told: list[Told] = []
    for row in breaks:
        message = row["message"]
        if message is not None:
            lines = steps.get((message, row["sequence"]))
            nowhere = lines is not None and not lines
            typed = "" if nowhere else command(traced(log), message=message)
            told.append(Told(lines or [], typed))
        else:
            told.append(Told([], _by_queue(row, times, log)))
    return told


def _by_queue(row: Row, times: dict[int, int], log: str) -> str:
    """For a break of a queue, of no one message: from the checkpoint before to the one after."""
    until = times.get(row["sequence"] or 0)
    if not row["node"] or until is None:
        return ""
    begun = times.get(row["since"] or 0)
    # The clock may have gone back in between: then that is the break, and what is between is shown.
    since = None if begun is None else _moment(min(begun, until))
    until = until if begun is None else max(begun, until)
    return command(traced(log), queue=row["node"], since=since, until=_moment(until))


def _moment(time_ms: int) -> str:
    at = datetime.fromtimestamp(time_ms / 1000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"


def _times(records: DataFrame, breaks: list[Row]) -> dict[int, int]:
    """When the records were written that show breaks."""
    asked = {row[name] for row in breaks[:STORIES] for name in ("since", "sequence") if row[name]}
    if not asked:
        return {}
    found = records.where(F.col("sequence").isin(sorted(asked))).select("sequence", "time_ms")
    return {row["sequence"]: row["time_ms"] for row in found.collect()}


def _steps(records: DataFrame, breaks: list[Row]) -> dict[tuple[int, int], list[str]]:
    """By message and break."""
    spark = records.sparkSession
    places = [(row["message"], row["sequence"]) for row in breaks]
    asked = spark.createDataFrame(list(set(places)), "message bigint, at bigint")
    nearest = Window.partitionBy("message", "at").orderBy(F.abs(F.col("sequence") - F.col("at")))
    columns = ["incarnation", *(name for name in FIELD_NAMES if name in records.columns)]
    around = records.where(~kind_is(*_OTHERS)).join(F.broadcast(asked), "message")
    rows = (
        around.withColumn("nearest", F.row_number().over(nearest))
        .where(f"nearest <= {STEPS}")
        .select("at", *columns)
        .collect()
    )
    others = _of_whom(records, [row.asDict() for row in rows], columns)
    told: dict[tuple[int, int], list[str]] = {}
    for message, at in places:
        own = [row.asDict() for row in rows if (row["message"], row["at"]) == (message, at)]
        runs = {row["incarnation"] for row in own}
        mixed = own + [row for row in others if row["incarnation"] in runs]
        ordered = sorted(mixed, key=lambda row: row["sequence"])
        # Numbers without a gap: which are missing is told with the log.
        story = Story(messages={message})
        told[message, at] = [line.text for line in story.lines(_as_records(ordered))]
    return told


def _of_whom(records: DataFrame, steps: list[Row], columns: list[str]) -> list[Row]:
    """The runs, links and connections of these steps."""
    runs = sorted({row["incarnation"] for row in steps})
    links = sorted({row["link"] for row in steps if row["link"]})
    of_runs = records.where(F.col("incarnation").isin(runs))
    if not links:
        return []
    attached = of_runs.where(kind_is(Kind.LINK_ATTACHED) & F.col("link").isin(links))
    found = [row.asDict() for row in attached.select(*columns).limit(NAMED_MAX).collect()]
    connections = sorted({row["connection"] for row in found})
    opened = kind_is(Kind.CONNECTION_OPENED) & F.col("connection").isin(connections)
    others = of_runs.where(opened | kind_is(Kind.INCARNATION_STARTED)).select(*columns)
    return found + [row.asDict() for row in others.limit(NAMED_MAX).collect()]


def _as_records(rows: Iterable[Row]) -> Iterator[Record]:
    """As the reader shows them."""
    for row in rows:
        texts = {0: ""}
        values: list[int] = []
        for name in FIELD_NAMES:
            value = row.get(name) or 0
            if name in NAME_FIELDS:
                texts[len(texts)] = str(row.get(name))
                value = 0 if row.get(name) is None else len(texts) - 1
            values.append(value)
        record = shown(tuple(values), texts)
        record.pop("sequence")
        yield record

"""A side that is audit logs: each message that was received, or each delivery that left.

Each log is read once. What is the same message, or the same delivery, was brought together in each
segment (`segments.comparable`); here that is done with what several of them have of one. What is
known of the logs as wholes comes along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.comparing.arguments import RECEIVED, Of
from gateway.accounting.locations.location import Location
from gateway.accounting.partitions import gathered
from gateway.accounting.segments.view import read
from gateway.accounting.steps.kept import kept

FIRST_ID: Final = 4  # schema version: what leaves has an id, and one form is that of all protocols
ITEM: Final = (
    *("id_digest", "surely", "at_most", "time_ms", "body_digest", "nodes"),
    *("log", "message", "text"),
)
OF_DELIVERY: Final = ("incarnation", "link", "message", "position", "node")
OPENED_MAX: Final = 100_000  # rows; of more, all are brought together


class Facts(NamedTuple):
    """What is known of a log as a whole.

    Attributes:
        begins_ms: of the first record there is, if there were others before it; else 0.
        missing: records that should be there; `flawed`: something is wrong with it.
        old: it has segments in which ids are not what they are in newer ones.
        upstreams: to which links lead, where it was asked what left.
    """

    path: str
    log: str
    records: int
    begins_ms: int
    ends_ms: int
    stopped: bool
    missing: int
    flawed: bool
    old: bool
    upstreams: tuple[str, ...] = ()


class Logs(NamedTuple):
    """A side: its items, and its logs."""

    items: DataFrame
    facts: list[Facts]


def logs(spark: SparkSession, paths: Sequence[Location], of: Of, *, queues: bool = True) -> Logs:
    """What these logs say; `queues`: also of which queues it is."""
    queues = queues or bool(of.queues)
    items, facts = [], []
    for number, frame in enumerate([_read(spark, path, of, queues) for path in paths]):
        about, opened = _facts(str(paths[number]), frame)
        facts.append(about)
        together = received if of.way == RECEIVED else left
        whole = together(frame, opened)
        mine = items_of(whole, frame, of, about.upstreams, queues=queues)
        told = {"log": F.lit(number), "text": F.lit(None).cast("string")}
        items.append(mine.withColumns(told).select(*ITEM))
    return Logs(reduce(DataFrame.unionByName, items), facts)


def _read(spark: SparkSession, path: Location, of: Of, queues: bool) -> DataFrame:
    rows = read(
        spark,
        path,
        view="comparable",
        left=str(of.way != RECEIVED).lower(),
        upstream=of.upstream,
        queues=str(queues).lower(),
    )
    return kept(gathered(rows))


def received(rows: DataFrame, opened: int) -> DataFrame:
    """Each message that came."""
    nodes = F.array_distinct(F.flatten(F.collect_list("nodes"))).alias("nodes")
    once = (F.min("surely").alias("surely"), F.max("at_most").alias("at_most"), nodes)
    return _together(rows.where("open is not null"), opened, ("message",), once)


def left(rows: DataFrame, opened: int) -> DataFrame:
    """Each delivery of a copy by one link; it surely left if it was accepted.

    What is sent again by the same link is the same delivery, which may have come as often as it was
    sent; sent by another one, it is another delivery of the same id.
    """
    nodes = F.any_value("nodes").alias("nodes")
    each = (F.max("surely").alias("surely"), F.sum("at_most").alias("at_most"), nodes)
    return _together(rows.where("open is not null"), opened, OF_DELIVERY, each)


def _together(
    rows: DataFrame, opened: int, alike: Sequence[str], terms: Sequence[Column]
) -> DataFrame:
    """What several segments have of one of them; `opened`: rows that do not say all there is."""
    if not opened:
        return rows
    whole = None
    if opened <= OPENED_MAX:
        messages = F.broadcast(rows.where("open").select("message").distinct())
        whole = rows.join(messages, "message", "left_anti")
        rows = rows.join(messages, "message", "left_semi")
    together = rows.groupBy(*alike).agg(
        F.max("id_digest").alias("id_digest"),
        F.min("time_ms").alias("time_ms"),
        F.max("body_digest").alias("body_digest"),
        *terms,
    )
    return together if whole is None else whole.select(together.columns).unionByName(together)


def items_of(
    whole: DataFrame, rows: DataFrame, of: Of, upstreams: tuple[str, ...], *, queues: bool
) -> DataFrame:
    """Those of the messages or deliveries that are asked for, with queues as clients call them."""
    items = whole.where("at_most is not null")
    if of.way != RECEIVED and upstreams:
        links = rows.where("upstream is not null").select("incarnation", "link", "upstream")
        leads = F.broadcast(links.distinct())
        items = items.drop("upstream").join(leads, ["incarnation", "link"], "left")
        asked = F.col("upstream") == of.upstream if of.upstream else F.col("upstream").isNull()
        items = items.where(asked)
    elif of.way != RECEIVED and of.upstream:
        items = items.where("false")
    names = (of.upstream,) if of.upstream else upstreams
    if names and queues:
        on_its_way = f" (from|to|shadow to) ({'|'.join(map(re.escape, names))})$"
        named = F.transform("nodes", lambda node: F.regexp_replace(node, on_its_way, ""))
        items = items.withColumn("nodes", named)
    if of.queues:
        items = items.where(F.arrays_overlap("nodes", F.array(*map(F.lit, of.queues))))
    return items


def _facts(path: str, rows: DataFrame) -> tuple[Facts, int]:
    """What is known of a log; how many of its rows do not say all there is of a message."""
    few = rows.where("about is not null or upstream is not null or open")
    row: Any = few.agg(  # Any: a row of Spark's
        F.max("about.log").alias("log"),
        F.coalesce(F.sum("about.records"), F.lit(0)).alias("records"),
        F.min("about.first_sequence").alias("first_sequence"),
        F.max("about.last_sequence").alias("last_sequence"),
        F.min("about.first_time_ms").alias("first_time_ms"),
        F.max("about.last_time_ms").alias("last_time_ms"),
        F.max_by("about.stopped", "about.ordinal").alias("stopped"),
        F.bool_or("about.flawed").alias("flawed"),
        F.min("about.schema").alias("schema"),
        F.collect_set("upstream").alias("upstreams"),
        F.count_if("open").alias("opened"),
    ).first()
    first, last = row["first_sequence"] or 1, row["last_sequence"] or 0
    facts = Facts(
        path,
        row["log"] or "",
        row["records"],
        (row["first_time_ms"] or 0) if first > 1 else 0,
        row["last_time_ms"] or 0,
        bool(row["stopped"]),
        max(last - first + 1 - row["records"], 0),
        bool(row["flawed"]),
        (row["schema"] or FIRST_ID) < FIRST_ID,
        tuple(sorted(row["upstreams"])),
    )
    return facts, row["opened"]

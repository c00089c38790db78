"""A side that is audit logs: each message that was received, or each delivery that left.

Each log is read once, a few columns of a few kinds of records. What is the same message, or the
same delivery, is brought together by numbers; what is known of the logs as wholes comes along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.comparing.arguments import RECEIVED, Of
from gateway.accounting.reading import read
from gateway.accounting.session import makes_one_partition
from gateway.accounting.steps.kept import kept
from gateway.accounting.steps.ledger import flag, kind_is, outcome_is, reason_is, sent_settled
from gateway.audit.schema import Flag, Kind, Outcome, Reason

FIRST_ID: Final = 4  # schema version: what leaves has an id, and one form is that of all protocols
OF_RECEIVED: Final = (Kind.RECEIVED, Kind.REFUSED, Kind.ROLLED_BACK, Kind.UNROUTABLE)
OF_QUEUES: Final = (Kind.ENTERED,)  # besides, where it is asked which queues a message came to
OF_LEFT: Final = (Kind.SENT, Kind.SETTLED, Kind.LINK_ATTACHED)
ITEM: Final = (
    *("id_digest", "surely", "at_most", "time_ms", "body_digest", "nodes"),
    *("log", "message", "text"),
)


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


def logs(spark: SparkSession, paths: Sequence[Path], of: Of, *, queues: bool = True) -> Logs:
    """What these logs say; `queues`: also of which queues it is."""
    queues = queues or bool(of.queues)
    together = [_brought_together(spark, path, of, queues) for path in paths]
    facts = [_facts(str(path), frame) for path, frame in zip(paths, together, strict=True)]
    items = [
        items_of(frame, of, about.upstreams)
        .withColumns({"log": F.lit(number), "text": F.lit(None).cast("string")})
        .select(*ITEM)
        for number, (frame, about) in enumerate(zip(together, facts, strict=True))
    ]
    return Logs(reduce(DataFrame.unionByName, items), facts)


def _brought_together(spark: SparkSession, path: Path, of: Of, queues: bool) -> DataFrame:
    wanted: tuple[Kind, ...] = OF_LEFT
    if of.way == RECEIVED:
        wanted = (*OF_RECEIVED, *OF_QUEUES) if queues else OF_RECEIVED
    kinds = ",".join(str(int(kind)) for kind in wanted)
    records = read(spark, path, view="comparable", kinds=kinds)
    if makes_one_partition(spark):
        records = records.coalesce(1)
    return kept(
        received(records, of.upstream, queues=queues) if of.way == RECEIVED else left(records)
    )


def _turned_away() -> Column:
    """The record ends a copy that its publisher may have been told is not taken."""
    unroutable = kind_is(Kind.UNROUTABLE) & ~reason_is(Reason.ALTERNATE_EXCHANGE)
    return kind_is(Kind.REFUSED, Kind.ROLLED_BACK) | unroutable


def received(records: DataFrame, upstream: str, *, queues: bool) -> DataFrame:
    """Each message that came: of one that was turned away, it is not sure that it counts.

    Sums of numbers alone are far cheaper than sets of names: so `queues` is for who needs them.
    """
    came = kind_is(Kind.RECEIVED)
    entered = kind_is(Kind.ENTERED) & ~flag(Flag.REROUTED)
    at = F.when(entered | kind_is(Kind.REFUSED), F.col("node"))
    asked = F.col("upstream") == upstream if upstream else F.col("upstream").isNull()
    together = records.groupBy("message", "about").agg(
        F.max(F.when(came, F.col("id_digest"))).alias("id_digest"),
        F.when(F.max(F.when(_turned_away(), 1)).isNull(), 1).otherwise(0).alias("surely"),
        F.max(F.when(came & asked, 1)).alias("at_most"),
        F.min(F.when(came, F.col("time_ms"))).alias("time_ms"),
        F.max(F.when(came, F.col("body_digest"))).alias("body_digest"),
        *([F.collect_set(at).alias("nodes")] if queues else []),
    )
    nothing = {"upstream": F.lit(None).cast("string")}
    nothing |= {} if queues else {"nodes": F.array().cast("array<string>")}
    return together.withColumns(nothing)


def left(records: DataFrame) -> DataFrame:
    """Each delivery of a copy by one link; it surely left if it was accepted.

    What is sent again by the same link is the same delivery, which may have come as often as it was
    sent; sent by another one, it is another delivery of the same id. Rows of links come along.
    """
    moved = ~flag(Flag.COPY)
    sent = kind_is(Kind.SENT) & moved
    accepted = (kind_is(Kind.SETTLED) & outcome_is(Outcome.ACCEPTED) & moved) | (
        sent_settled() & moved
    )
    delivery = ("incarnation", "link", "message", "position", "node", "upstream", "about")
    together = records.groupBy(*delivery).agg(
        F.max(F.when(sent, F.col("id_digest"))).alias("id_digest"),
        F.coalesce(F.max(F.when(accepted, 1)), F.lit(0)).alias("surely"),
        F.sum(F.when(sent, 1)).alias("at_most"),
        F.min(F.when(sent, F.col("time_ms"))).alias("time_ms"),
        F.max(F.when(sent, F.col("body_digest"))).alias("body_digest"),
    )
    return together.withColumn("nodes", F.array("node"))


def items_of(together: DataFrame, of: Of, upstreams: tuple[str, ...] = ()) -> DataFrame:
    """Those of the messages or deliveries that are asked for, with queues as clients call them."""
    items = together.where("at_most is not null")
    if of.way != RECEIVED:
        links = together.where("message = 0 and upstream is not null")
        leads = F.broadcast(links.select("incarnation", "link", "upstream").distinct())
        items = items.drop("upstream").join(leads, ["incarnation", "link"], "left")
        asked = F.col("upstream") == of.upstream if of.upstream else F.col("upstream").isNull()
        items = items.where(asked)
    names = (of.upstream,) if of.upstream else upstreams
    if names:
        on_its_way = f" (from|to) ({'|'.join(map(re.escape, names))})$"
        queues = F.transform("nodes", lambda node: F.regexp_replace(node, on_its_way, ""))
        items = items.withColumn("nodes", queues)
    if of.queues:
        items = items.where(F.arrays_overlap("nodes", F.array(*map(F.lit, of.queues))))
    return items


def _facts(path: str, together: DataFrame) -> Facts:
    about = together.where("message <= 0").select("about.*", "upstream")
    row: Any = about.agg(  # Any: a row of Spark's
        F.max("log").alias("log"),
        F.coalesce(F.sum("records"), F.lit(0)).alias("records"),
        F.min("first_sequence").alias("first_sequence"),
        F.max("last_sequence").alias("last_sequence"),
        F.min("first_time_ms").alias("first_time_ms"),
        F.max("last_time_ms").alias("last_time_ms"),
        F.max_by("stopped", "ordinal").alias("stopped"),
        F.bool_or("flawed").alias("flawed"),
        F.min("schema").alias("schema"),
        F.collect_set("upstream").alias("upstreams"),
    ).first()
    first, last = row["first_sequence"] or 1, row["last_sequence"] or 0
    return Facts(
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

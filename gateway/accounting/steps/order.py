"""Order: what an outlet is sent of a queue the first time comes as it entered the queue.

Places ascend as copies enter. So the places of what one outlet is sent ascend, in each lane where
the queue has several (levels of priority), but for copies that somebody has had before. Each
segment's reader marks where they stop to (`bends`): few records, so that only these have to be put
in order over the whole log.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.kept import kept
from gateway.accounting.steps.ledger import flag, kind_is
from gateway.audit.schema import Flag, Kind

_NOT_IN_ORDER: Final = Flag.COPY | Flag.REDELIVERED | Flag.UNQUEUED

Columns = Any  # numpy arrays; whether its annotations are there depends on what is installed


def bends(rows: Columns) -> Columns:
    """For each record, whether it is the first or last of those sent in one lane that ascend.

    Of the records given, which are in the order of the log: what is in front of them and behind is
    not known, so that the first and the last of each outlet and lane are among them.
    """
    sent = (rows["kind"] == Kind.SENT) & (rows["flags"] & int(_NOT_IN_ORDER) == 0)
    places = np.flatnonzero(sent)
    places = places[np.lexsort((rows["copies"][places], rows["link"][places]))]
    links, lanes, positions = (rows[name][places] for name in ("link", "copies", "position"))
    begins = np.ones(len(places) + 1, dtype=bool)  # and, one further, what is behind the last
    others = (links[1:] != links[:-1]) | (lanes[1:] != lanes[:-1])
    begins[1:-1] = others | (positions[1:] < positions[:-1])
    marks = np.zeros(len(rows), dtype=bool)
    marks[places] = begins[:-1] | begins[1:]
    return marks


def out_of_order(records: DataFrame, complete: DataFrame | None = None) -> DataFrame:
    """Copies that an outlet was sent behind one that came into the queue after them.

    Nobody had either of them before: what is given back, or was browsed, is sent when it can be.
    `complete`: messages that had left before, by records that were let go.
    """
    if complete is not None:
        records = records.join(F.broadcast(complete), "message", "left_anti")
    sends = Window.partitionBy("incarnation", "node", "link", "copies").orderBy("sequence")
    copy = F.struct(*COPY_KEYS, "sequence")
    behind = records.where("bends").select(
        *("incarnation", "link", "copies", *COPY_KEYS, "sequence"),
        F.array(copy, F.lag(copy).over(sends)).alias("both"),
    )
    overtaken = kept(behind.where("position < both[1].position").coalesce(1))
    found = overtaken.join(_had_before(records, overtaken), "sequence", "left_anti")
    return as_breaks(
        found,
        BreakClass.OUT_OF_ORDER,
        F.format_string(
            "outlet %d was sent it behind message %d, which came into the queue after it",
            "link",
            F.expr("both[1].message"),
        ),
        since=F.expr("both[1].sequence"),
    )


def _had_before(records: DataFrame, overtaken: DataFrame) -> DataFrame:
    """Which sends (`sequence`) are of copies that were sent before, one of both.

    What others browsed does not count. Nor does it say anything if one of them came behind the
    record of its send, which is told of by itself.
    """
    asked = overtaken.select("link", F.col("sequence").alias("told"), F.inline("both"))
    sent = records.where(kind_is(Kind.SENT, Kind.ENTERED)).select(
        *COPY_KEYS, "flags", "kind", F.col("link").alias("to"), F.col("sequence").alias("at")
    )
    before = F.expr("at < sequence") & (~flag(Flag.COPY) | F.expr("to = link"))
    came = kind_is(Kind.ENTERED) & ~flag(Flag.REROUTED) & F.expr("at > sequence")
    return (
        sent.join(asked.hint("shuffle_hash"), [*COPY_KEYS])
        .where((kind_is(Kind.SENT) & before) | came)
        .select(F.col("told").alias("sequence"))
    )

"""What the log's seals are worth: hashed by Spark's workers, judged here, on the driver."""

from __future__ import annotations

import json
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.audit.provenance import Provenance, Sealed
from gateway.audit.seals import Head

COLUMNS: Final = (*Sealed._fields,)  # of the `segments` view


def asked(provenance: Provenance) -> str:
    """The `offsets` that the `segments` view is to be read with."""
    numbers = {each.head.segment for each in provenance.anchors}
    return json.dumps({number: provenance.offsets(number) for number in numbers})


def collected() -> Column:
    """Of each segment what `note` takes, in the order of the log."""
    return F.sort_array(F.collect_list(F.struct("ordinal", *COLUMNS)))


def note(provenance: Provenance, rows: list[Any]) -> None:
    """What was collected. Any: rows of Spark's."""
    for row in rows:
        said = {name: row[name] for name in COLUMNS}
        head = said["head"]
        said["head"] = None if head is None else Head(**head.asDict())
        said["hashes"] = {each["offset"]: each["sha256"] for each in said["hashes"]}
        for name, value in said.items():
            if value is None and name != "head":
                said[name] = "" if name in ("log", "previous_sha256") else 0
        provenance.note(Sealed(**said))


def breaks(spark: SparkSession, provenance: Provenance) -> list[DataFrame]:
    """What is wrong by anchors and trusted keys; none where nothing is."""
    rows = [(each.segment, each.problem, each.expected) for each in provenance.found()]
    if not rows:
        return []
    found = spark.createDataFrame(rows, "segment string, problem string, sequence bigint")
    return [as_breaks(found.coalesce(1), BreakClass.LOG_GAP, F.col("problem"))]

"""Rows of several results, brought to the driver by one job.

A job for each takes longer than all that is in it: it has to be planned, cut into tasks and sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from gateway.accounting.partitions import gathered
from gateway.accounting.steps.breaks import together

Row = dict[str, Any]  # Any: a cell of a result, for showing


def rows_of(frames: Mapping[str, DataFrame]) -> dict[str, list[Row]]:
    """Of each of these, at least one, all rows, in its order; of numbers, texts and booleans."""
    named = list(frames)
    told: dict[str, list[Row]] = {name: [] for name in named}
    texts = together(*(_as_text(at, frames[name]) for at, name in enumerate(named)))
    for row in gathered(texts).collect():
        told[named[row["of"]]].append(json.loads(row["row"]))
    return told


def _as_text(at: int, frame: DataFrame) -> DataFrame:
    """Its rows, which have other columns than those of others."""
    return frame.selectExpr(
        f"{at} as of", "to_json(struct(*), map('ignoreNullFields', 'false')) as row"
    )

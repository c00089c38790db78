"""The audit log as a Spark data source: `spark.read.format("amqp_gateway_audit").load(directory)`.

One partition a segment. Options: `view` is `records` (default), `segments` (one row a segment, with
what is wrong inside it) or `parts` (all that the job takes, in one pass); `kinds` keeps only
records of these kinds, as numbers with commas; `offsets` is a JSON object of segments' numbers,
each with the places up to which it is hashed. Of parts: `late_ms` and `fold` as in `parts.Asked`;
`only` is a JSON object of segments' ordinals, each with messages whose records alone are wanted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from gateway.accounting.segments.columns import RECORDS_SCHEMA, record_batches
from gateway.accounting.segments.parts import PARTS_SCHEMA, Asked, part_batches
from gateway.accounting.segments.survey import SEGMENTS_SCHEMA, segment_row
from gateway.audit.reader import segment_paths
from gateway.audit.schema import segment_numbers
from gateway.files.whole import read_segment

FORMAT: Final = "amqp_gateway_audit"

_SCHEMAS: Final = {"records": RECORDS_SCHEMA, "segments": SEGMENTS_SCHEMA, "parts": PARTS_SCHEMA}


class SegmentPartition(InputPartition):
    """One segment: its path, and its ordinal by file name."""

    def __init__(self, path: str, ordinal: int) -> None:
        super().__init__((path, ordinal))
        self.path = path
        self.ordinal = ordinal


class AuditDataSource(DataSource):
    """See the module."""

    @classmethod
    def name(cls) -> str:
        """The short name for `format`."""
        return FORMAT

    def schema(self) -> StructType:
        """Of the chosen view."""
        return from_arrow_schema(_SCHEMAS[self.options.get("view", "records")])

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch reader."""
        kinds = self.options.get("kinds", "")
        return AuditReader(
            Path(self.options["path"]),
            self.options.get("view", "records"),
            frozenset(int(kind) for kind in kinds.split(",") if kind),
            Asked(
                late_ms=int(self.options.get("late_ms", "0")),
                fold=self.options.get("fold", "true") == "true",
            ),
            {
                name: {int(number): values for number, values in json.loads(text).items()}
                for name in ("offsets", "only")
                if (text := self.options.get(name))
            },
        )


class AuditReader(DataSourceReader):
    """Reads whole segments, behind damage too.

    `by_number`: the option `offsets`, and `only`, by the numbers of segments.
    """

    def __init__(
        self,
        directory: Path,
        view: str,
        kinds: frozenset[int],
        asked: Asked,
        by_number: dict[str, dict[int, list[int]]],
    ) -> None:
        self.directory = directory
        self.view = view
        self.kinds = kinds
        self.asked = asked
        self.offsets = by_number.get("offsets", {})
        self.only = by_number.get("only")

    def partitions(self) -> list[InputPartition]:
        """One for each segment there is now."""
        parts: list[InputPartition] = [
            SegmentPartition(str(path), ordinal)
            for ordinal, path in enumerate(segment_paths(self.directory))
            if self.only is None or ordinal in self.only
        ]
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one segment."""
        assert isinstance(partition, SegmentPartition)
        path, ordinal = Path(partition.path), partition.ordinal
        octets = read_segment(path)
        offsets = self.offsets.get(segment_numbers(path.name)[0], [])
        if self.view == "segments":
            yield segment_row(path.name, ordinal, octets, offsets)
        elif self.view == "parts":
            asked = self.asked._replace(offsets=tuple(offsets))
            if self.only is not None:
                asked = asked._replace(only=np.array(self.only.get(ordinal, []), dtype=np.int64))
            yield from part_batches(path.name, ordinal, octets, asked)
        else:
            yield from record_batches(path.name, octets, self.kinds)

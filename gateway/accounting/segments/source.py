"""The audit log as a Spark data source: `spark.read.format("amqp_gateway_audit").load(directory)`.

One partition a segment. Options: `view` is `records` (default) or `segments` (one row a segment,
with what is wrong inside it); `kinds` keeps only records of these kinds, as numbers with commas;
`offsets` is a JSON object of segments' numbers, each with the places up to which it is hashed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from gateway.accounting.segments.columns import (
    RECORDS_SCHEMA,
    SEGMENTS_SCHEMA,
    record_batches,
    segment_row,
)
from gateway.audit.reader import segment_paths
from gateway.audit.schema import segment_numbers
from gateway.files.whole import read_segment

FORMAT: Final = "amqp_gateway_audit"


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
        segments = self.options.get("view") == "segments"
        return from_arrow_schema(SEGMENTS_SCHEMA if segments else RECORDS_SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch reader."""
        kinds = self.options.get("kinds", "")
        offsets = json.loads(self.options.get("offsets", "{}"))
        return AuditReader(
            self.options["path"],
            self.options.get("view") == "segments",
            frozenset(int(kind) for kind in kinds.split(",") if kind),
            {int(number): list(places) for number, places in offsets.items()},
        )


class AuditReader(DataSourceReader):
    """Reads whole segments; what is damaged ends where the damage begins."""

    def __init__(
        self,
        directory: str,
        segments: bool,
        kinds: frozenset[int],
        offsets: dict[int, list[int]] | None = None,
    ) -> None:
        self.directory = directory
        self.segments = segments
        self.kinds = kinds
        self.offsets = offsets or {}

    def partitions(self) -> list[InputPartition]:
        """One for each segment there is now."""
        paths = segment_paths(Path(self.directory))
        return [SegmentPartition(str(path), ordinal) for ordinal, path in enumerate(paths)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one segment."""
        assert isinstance(partition, SegmentPartition)
        path = Path(partition.path)
        if self.segments:
            offsets = self.offsets.get(segment_numbers(path.name)[0], [])
            yield segment_row(path.name, partition.ordinal, read_segment(path), offsets)
        else:
            yield from record_batches(path.name, read_segment(path), self.kinds)

"""The audit log as a stream: `spark.readStream.format("amqp_gateway_audit").load(directory)`.

What comes is what `read` gives of a segment, as soon as that is closed: one behind which there is
another. An offset is the name of the last segment that has come, and how many there were up to it,
so that the ordinals of a stream go on whatever of the log has been let go meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

if TYPE_CHECKING:  # it makes these
    from gateway.accounting.segments.source import AuditReader

Offset = dict[str, Any]  # Any: what JSON holds


class AuditStreamReader(DataSourceStreamReader):
    """Reads segments when they are closed; `reader` says which view of them, and behind which."""

    def __init__(self, reader: AuditReader) -> None:
        self._reader = reader

    def initialOffset(self) -> Offset:  # noqa: N802  # PySpark's name
        """In front of the first segment, or behind that of option `after`."""
        return {"segment": self._reader.after, "count": self._reader.first}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802  # likewise
        """Behind the last segment that is closed. Raises OSError."""
        last, count = start["segment"], start["count"]
        closed = self._reader.segments()[:-1]
        new = [path.name for path in closed if path.name > last]
        return {"segment": new[-1] if new else last, "count": count + len(new)}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """The segments between two offsets, those that are there still."""
        return self._reader.between(start["segment"], end["segment"], start["count"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one segment."""
        return self._reader.read(partition)

"""A view of a log as a frame: what `source` gives, read by workers, or of a small log here.

For a small log a worker would take longer to start than all that it has to read; and Spark starts
four processes of Python, one of which looks for data sources, before it knows what there is.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.locations.settings import Settings
from gateway.accounting.partitions import ONE_PARTITION_OCTETS, makes_one_partition
from gateway.accounting.segments.source import FORMAT, AuditDataSource, reaching
from gateway.accounting.steps.strays import ALL

PACKED: Final = 16  # so many octets of a log are one of what an earlier run has left of it

_sources: Final[WeakKeyDictionary[SparkSession, type[AuditDataSource]]] = WeakKeyDictionary()


def reach(spark: SparkSession, settings: Settings) -> None:
    """Have a session read logs, and by these settings those of other machines, too."""
    _sources[spark] = reaching(settings)


def registered(spark: SparkSession) -> SparkSession:
    """The session, whose own readers know the data source."""
    spark.dataSource.register(_sources[spark])
    return spark


def read(spark: SparkSession, log: Location, **options: str) -> DataFrame:
    """A view of the log."""
    here = _read_here(spark, log, options)
    if here is not None:
        return here
    return registered(spark).read.format(FORMAT).options(**options).load(str(log))


def _read_here(spark: SparkSession, log: Location, options: dict[str, str]) -> DataFrame | None:
    """`None`: it is too much. Raises OSError."""
    if not makes_one_partition(spark):
        return None
    source = _sources[spark]({"path": str(log), **options})
    reader = source.audit_reader()
    parts = reader.partitions()
    octets = [
        location.size(reader.at(part.path)) * (PACKED if part.ordinal == ALL else 1)
        for part in parts
    ]
    if sum(octets) > ONE_PARTITION_OCTETS:
        return None
    # Behind a batch without rows Spark 4.3 reads no more of those that it is given.
    batches = [batch for part in parts for batch in reader.read(part) if batch.num_rows]
    table = pa.Table.from_batches(batches, source.columns())
    return spark.createDataFrame(table, source.schema())

"""Whether a log is so small that its frames are best in one partition, and what follows from it."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession

PARTITIONS: Final = "spark.sql.shuffle.partitions"
# Below, one task after the other is soonest done: nothing is exchanged between partitions.
ONE_PARTITION_OCTETS: Final = 32 * 1024 * 1024


def makes_one_partition(spark: SparkSession) -> bool:
    """Whether frames are best in one partition: between its steps nothing is exchanged."""
    return spark.conf.get(PARTITIONS) == "1"


def gathered(frame: DataFrame) -> DataFrame:
    """In one partition, where frames are best so, and else as it is.

    Each partition of a union is a task by itself, for which a worker reads the whole plan.
    """
    return frame.coalesce(1) if makes_one_partition(frame.sparkSession) else frame

"""What a Spark session has to do for a job: how many jobs of its own, how many shuffles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from gateway.accounting.partitions import PARTITIONS
from gateway.accounting.session import ONE_PARTITION


class Work:
    """What the session has done since."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext._jsc.sc()
        self._jobs = self._context.dagScheduler().numTotalJobs()
        self._shuffles = self._context.newShuffleId()

    def counted(self) -> tuple[int, int]:
        """Jobs, and how often records were exchanged between partitions."""
        jobs = self._context.dagScheduler().numTotalJobs() - self._jobs
        return int(jobs), int(self._context.newShuffleId() - self._shuffles - 1)


@contextmanager
def several_partitions(spark: SparkSession, number: int = 2) -> Iterator[None]:
    """As of a log that is not so small, without what is set where everything is in one."""
    names = (PARTITIONS, *ONE_PARTITION)
    before = {name: spark.conf.get(name) for name in names}
    spark.conf.set(PARTITIONS, str(number))
    for name in ONE_PARTITION:
        spark.conf.unset(name)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)

"""What a Spark session has to do for a job: how many jobs of its own, how many shuffles."""

from __future__ import annotations

from pyspark.sql import SparkSession


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

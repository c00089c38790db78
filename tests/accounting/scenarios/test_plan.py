"""What Spark has to do for a reconciliation: of a log of any size, as often as here.

Who makes these more, makes each run slower. Who makes them fewer, says so here.
"""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.audit_logs import balanced_log
from support.opened import opened

from gateway.accounting.reconcile import reconcile
from gateway.accounting.session import PARTITIONS
from gateway.audit.reader import segment_paths

JOBS = 42
SHUFFLES = 52


class Done:
    """What a session has done since."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext._jsc.sc()
        self._jobs = self._context.dagScheduler().numTotalJobs()
        self._shuffles = self._context.newShuffleId()

    @property
    def jobs(self) -> int:
        return int(self._context.dagScheduler().numTotalJobs() - self._jobs)

    @property
    def shuffles(self) -> int:
        """Each time that records were exchanged between partitions."""
        return int(self._context.newShuffleId() - self._shuffles - 1)


@pytest.fixture
def partitions(spark: SparkSession):
    """Several, as a large log has them."""
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, "2")
    yield
    spark.conf.set(PARTITIONS, before)


def test_each_segment_is_read_once_with_no_more_jobs_and_shuffles_than_before(
    spark: SparkSession, partitions: None, tmp_path: Path
) -> None:
    log = balanced_log(tmp_path / "log", 20, segment_octets=1500)
    names = [path.name for path in segment_paths(log)]
    assert len(names) > 3
    done = Done(spark)
    with opened(log) as files:
        result = reconcile(spark, log, tmp_path / "out")
    assert (done.jobs, done.shuffles) == (JOBS, SHUFFLES)
    assert result.balanced
    heads = [names[0]]  # the driver looks there which log it is
    assert files == dict.fromkeys(names, 1) | dict.fromkeys(heads, 2)

"""Frames that many steps look at, worked out once."""

from __future__ import annotations

from pyspark.sql import DataFrame

from gateway.accounting.partitions import makes_one_partition


def kept(frame: DataFrame, *, by_next: bool = False, rare: bool = False) -> DataFrame:
    """The frame's rows, without how they are worked out, which is done at once.

    A cached frame would be planned again, with all that it is made of, in each step that is made of
    it: of a small log that costs more than the rest. What an executor has kept goes with it, and
    the job fails, unless a directory for checkpoints is set (`spark.checkpoint.dir`).

    `by_next`: it is worked out by the next job, which is a job less. That must be one that needs it
    by itself. For what is needed first by two jobs at a time, as one that makes a broadcast and one
    that waits for another, can stop Spark 4 for good: at the end of the one the checkpoint is
    locked, and then the frame, and by the scheduler the other way round.

    `rare`: as a rule there are no rows, and then all that is made of them is not planned, nor done.
    """
    if rare and makes_one_partition(frame.sparkSession):
        return _known_if_empty(_without_plan(frame, eager=False))
    return _without_plan(frame, eager=not by_next)


def _without_plan(frame: DataFrame, *, eager: bool) -> DataFrame:
    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint(eager=eager)
    return frame.localCheckpoint(eager=eager)


def _known_if_empty(left: DataFrame) -> DataFrame:
    """A frame that Spark itself knows to be empty where it is.

    To ask for one row works it out, as its one partition is kept as a whole.
    """
    rows = left._jdf.queryExecution().analyzed().rdd()
    return left.where("false") if rows.isEmpty() else left

"""Frames that many steps look at, worked out once."""

from __future__ import annotations

from pyspark.sql import DataFrame


def kept(frame: DataFrame, *, by_next: bool = False) -> DataFrame:
    """The frame's rows, without how they are worked out, which is done at once.

    A cached frame would be planned again, with all that it is made of, in each step that is made of
    it: of a small log that costs more than the rest. What an executor has kept goes with it, and
    the job fails, unless a directory for checkpoints is set (`spark.checkpoint.dir`).

    `by_next`: it is worked out by the next job, which is a job less. That must be one that needs it
    by itself. For what is needed first by two jobs at a time, as one that makes a broadcast and one
    that waits for another, can stop Spark 4 for good: at the end of the one the checkpoint is
    locked, and then the frame, and by the scheduler the other way round.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint(eager=not by_next)
    return frame.localCheckpoint(eager=not by_next)

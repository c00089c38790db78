"""Frames that many steps look at, worked out once."""

from __future__ import annotations

from pyspark.sql import DataFrame


def kept(frame: DataFrame) -> DataFrame:
    """The frame's rows, without how they are worked out; that is done when they are first needed.

    A cached frame would be planned again, with all that it is made of, in each step that is made of
    it: of a small log that costs more than the rest. What an executor has kept goes with it, and
    the job fails, unless a directory for checkpoints is set (`spark.checkpoint.dir`).
    """
    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint(eager=False)
    return frame.localCheckpoint(eager=False)

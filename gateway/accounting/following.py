"""Follows a log: as often as segments are closed, they are reconciled with what is known of before.

Structured streaming says which were closed. How far the log is read says the state alone, which a
run by itself, or a closed book, may also have taken further. What a stream keeps for itself would
be a second truth beside it, and goes ahead of it where a batch could not be run: so it is thrown
away, and each stream begins where the state ends.

What is closed before a stream begins is reconciled without one. Spark gives the process that a
stream needs 10 s to start, which a busy machine may not do for hours: the log is followed all the
same.
"""

from __future__ import annotations

import itertools
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.segments.source import FORMAT
from gateway.accounting.segments.view import registered
from gateway.accounting.signals import heard_by
from gateway.accounting.state.folder import Folder

LOOKED_S: Final = 1  # between two looks at whether it is to end, or has failed


class Ending:
    """Whether somebody has said that it is to end; who says so again, ends it at once."""

    def __init__(self) -> None:
        self.said = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """By signals, meanwhile; Spark, which hears one itself, has been started already."""
        with heard_by(self._say):
            yield

    def _say(self, _number: int, _frame: FrameType | None) -> None:
        self.said = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def wait(self, seconds: float) -> None:
        """So long, or until it is said."""
        until = time.monotonic() + seconds
        while not self.said and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, LOOKED_S))


class Followed(NamedTuple):
    """What is followed.

    Attributes:
        folder: the state, which says how far the log is read.
        every_s: how often it is looked whether a segment was closed, and a failed batch tried.
        reconcile_to: reconciles all that is new to the state up to the segment of that name.
        told_to: the segment up to which there is a verdict, which a run that was ended between the
            two has not come to.
        tell: says what went wrong.
    """

    spark: SparkSession
    log: Location
    folder: Folder
    every_s: int
    reconcile_to: Callable[[str], None]
    told_to: Callable[[], str]
    tell: Callable[[Exception], None]


def follow(what: Followed, ending: Ending, scratch: Path) -> None:
    """Reconcile what is closed, until it is to end and what has begun is done.

    Raises what went wrong where Spark has ended by that.
    """
    streams = itertools.count(1)
    while not ending.said:
        try:
            _Stream(what, ending).run(scratch / f"stream-{next(streams)}")
        except Exception as error:  # whatever Spark or the disk has: it is tried again
            if _ended(what.spark):
                if ending.said:  # who ends a whole group ends Spark, too
                    return
                raise
            what.tell(error)
            ending.wait(what.every_s)


def _ended(spark: SparkSession) -> bool:
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except Exception:  # nobody answers any more
        return True


class _Stream:
    """One stream, from where the state ends until something goes wrong."""

    def __init__(self, what: Followed, ending: Ending) -> None:
        self._what, self._ending = what, ending
        self._at_work = threading.Lock()
        self._failed: Exception | None = None
        self._ended = False

    def run(self, checkpoint: Path) -> None:
        """Until it is to end. Raises what went wrong."""
        self._catch_up()
        if not self._ending.said:
            self._stream(checkpoint)

    def _stream(self, checkpoint: Path) -> None:
        what = self._what
        last = what.folder.read().last
        reader = registered(what.spark).readStream.format(FORMAT).option("view", "names")
        names = reader.option("after", last).load(str(what.log))
        writer = names.writeStream.foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", str(checkpoint))
        query = writer.trigger(processingTime=f"{what.every_s} seconds").start()
        try:
            while not (self._ending.said or self._failed or query.awaitTermination(LOOKED_S)):
                pass
        finally:
            with self._at_work:  # what has begun is carried out; behind that nothing begins
                self._ended = True
            query.stop()
            shutil.rmtree(checkpoint, ignore_errors=True)
        if self._failed is not None:
            raise self._failed

    def _catch_up(self) -> None:
        """What is closed, and in no state; or in one, and no run has told of it."""
        what = self._what
        names = [path.name for path in location.segments(what.log)]
        closed, last = max(names[:-1], default=""), what.folder.read().last
        if closed > last or what.told_to() < last:
            what.reconcile_to(closed)

    def _batch(self, names: DataFrame, _number: int) -> None:
        with self._at_work:
            if self._ended or self._failed or self._ending.said:
                return
            try:
                last = names.agg({"segment": "max"}).collect()[0][0]
                if last is not None:
                    self._what.reconcile_to(last)
            except Exception as error:  # told by who waits for it: Spark would in a page
                self._failed = error

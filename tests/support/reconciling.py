"""Reconciles one audit log after the other in one Spark session: to start one takes longest."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Reconcile = Callable[[Path], None]
LIBRARIES = ("numpy", "pyarrow", "pyspark")


def lacking(scratch: Path) -> str | None:
    """What is not installed of what the jobs need, and how to install it."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        return f"no {', '.join(missing)}: pip install '.[accounting]'"
    from gateway.accounting.java import MISSING, java_home

    return None if java_home(scratch) is not None else MISSING


@contextlib.contextmanager
def session(scratch: Path) -> Iterator[SparkSession]:
    """A session of one core: the logs are small, and others work beside it.

    It lives for hundreds of jobs, of which it keeps more than one would have it keep. Its classes
    are kept for nobody: those of a clone are in no other, and writing them takes longer.
    """
    from gateway.accounting import session as sessions
    from gateway.accounting.classes import Classes
    from gateway.accounting.java import java_home

    os.environ["JAVA_HOME"] = str(java_home(scratch))
    with (
        mock.patch.object(sessions, "shared", return_value=Classes()),
        sessions.spark_session("tests", "local[1]", scratch, memory="2g") as spark,
    ):
        yield spark


def reconciling(spark: SparkSession) -> Reconcile:
    """What reconciles a log, and fails where it is not balanced."""
    from gateway.accounting.reconcile import reconcile
    from gateway.accounting.telling import report

    def run(log: Path) -> None:
        out = log.parent / "reconciliation"
        out.mkdir()
        result = reconcile(spark, log, out)
        assert result.balanced, report.summary(result, str(out))

    return run

"""Reconciles one audit log after the other in one Spark session: to start one takes longest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

Reconcile = Callable[[Path], None]


@contextlib.contextmanager
def reconciling(scratch: Path) -> Iterator[Reconcile]:
    """What reconciles a log, and fails where it is not balanced."""
    from gateway.accounting.java import MISSING, java_home
    from gateway.accounting.reconcile import reconcile
    from gateway.accounting.session import spark_session
    from gateway.accounting.telling import report

    home = java_home(scratch)
    assert home is not None, MISSING
    os.environ["JAVA_HOME"] = str(home)
    with spark_session("tests", "local[2]", scratch) as spark:

        def run(log: Path) -> None:
            out = log.parent / "reconciliation"
            out.mkdir()
            result = reconcile(spark, log, out)
            assert result.balanced, report.summary(result, str(out))

        yield run

"""Counts the defects that reach the log: exceptions that nobody had foreseen, whoever caught them.

The log is the one place that all of them come to: a turn or a connection of ours that broke off, a
timed call or a thread's that Twisted has caught, a Deferred that failed unheard, a page of the
admin port. What is critical and no exception - a disk that is gone - is no defect.
"""

from __future__ import annotations

from typing import Final, final

from twisted.logger import ILogObserver, LogEvent, LogLevel
from zope.interface import implementer

from gateway.net.counts import NetCounts

FAILURES: Final = ("log_failure", "failure")  # of events of Twisted's older way, too


@final
@implementer(ILogObserver)
class Defects:
    """Hears of every line of the log, or what would be one."""

    def __init__(self, counts: NetCounts) -> None:
        self._counts = counts

    def __call__(self, event: LogEvent) -> None:
        """Whatever thread it is of: one that is missed there now and then is in the log."""
        failed = any(event.get(key) is not None for key in FAILURES)
        if failed and event.get("log_level") is LogLevel.critical:
            self._counts.defects += 1

"""Tells in the log when wall time leaves the gateway's clock, which keeps the time of its start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from twisted.logger import Logger

from gateway.net.counts import NetCounts

STEP_MS: Final = 1000  # as `accounting.segments.chain.DRIFT_LIMIT_MS`


@final
class DriftLines:
    """One line of each step, and of each second that it has gone on since the last line."""

    log = Logger()

    def __init__(self, drift_ms: Callable[[], int], counts: NetCounts) -> None:
        self._drift_ms = drift_ms
        self._counts = counts
        self._told_ms = 0

    def look(self) -> None:
        """Each second or so."""
        drift_ms = self._drift_ms()
        if abs(drift_ms - self._told_ms) < STEP_MS:
            return
        self._told_ms = drift_ms
        self._counts.clock_steps += 1
        if abs(drift_ms) < STEP_MS:
            self.log.info("wall time agrees with the gateway's clock again")
            return
        self.log.warn(
            "wall time is {seconds:.3f} s {where} the gateway's clock, which keeps the time of its"
            " start: so is every time in the audit log of this run, until a restart",
            seconds=abs(drift_ms) / 1000,
            where="ahead of" if drift_ms > 0 else "behind",
        )

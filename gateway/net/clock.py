"""The one clock: wall time when the gateway started plus monotonic time since; never goes back.

The reactor's timers are to go by the same: Twisted's own are due by wall time, so that nothing at
all would happen until a clock that was set back has come to where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import final

from twisted.internet.base import ReactorBase


@final
class GatewayClock:
    """Milliseconds since 1970 by this clock; its drift from wall time is told, never corrected."""

    def __init__(
        self,
        wall_s: Callable[[], float] = time.time,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall_s = wall_s
        self._monotonic_s = monotonic_s
        self._offset_s = wall_s() - monotonic_s()

    def now_ms(self) -> int:
        """The time, in whole milliseconds."""
        return int((self._offset_s + self._monotonic_s()) * 1000)

    def now_us(self) -> int:
        """The same in microseconds."""
        return int((self._offset_s + self._monotonic_s()) * 1_000_000)

    def drift_ms(self) -> int:
        """How far wall time has moved away since the start (positive: wall time is ahead)."""
        return int(self._wall_s() * 1000) - self.now_ms()


def keep_time(reactor: ReactorBase, monotonic_s: Callable[[], float] = time.monotonic) -> None:
    """Have the reactor's timers go by monotonic time; before any of them is made."""
    reactor.seconds = monotonic_s

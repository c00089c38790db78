"""The one clock: wall time when the gateway started plus monotonic time since; never goes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import final


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

    def drift_ms(self) -> int:
        """How far wall time has moved away since the start (positive: wall time is ahead)."""
        return int(self._wall_s() * 1000) - self.now_ms()

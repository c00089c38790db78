"""Connections that are heard and say nothing, while others of their address wait to be heard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, final

from gateway.net.alarm import Later
from gateway.net.counts import NetCounts
from gateway.net.listening.admission import Admission
from gateway.net.pump import Pump

SILENCE_S: Final = 0.25  # of a connection that has not opened, while others of its address wait
LATE: Final = 10  # times as much more, as we are late ourselves: the peer may have as little CPU


@final
class Silence:
    """Looks for them from time to time, as long as anybody waits."""

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        counts: NetCounts,
        admission: Admission,
        pumps: Mapping[int, Pump],
    ) -> None:
        self._later = later
        self._now_ms = now_ms
        self._counts = counts
        self._admission = admission
        self._pumps = pumps
        self._heard: dict[int, tuple[int, int]] = {}  # since when those heard are at which step
        self._looking = False
        self._look_ms = 0  # when we are to look next

    def look_later(self) -> None:
        """Somebody waits."""
        if not self._looking:
            self._looking = True
            self._look_ms = self._now_ms() + int(1000 * SILENCE_S)
            self._later.callLater(SILENCE_S, self._look)

    def _look(self) -> None:
        """Others wait: who has said nothing for so long, and does not wait for us, is silent."""
        self._looking = False
        now_ms = self._now_ms()
        long_ms = int(1000 * SILENCE_S) + LATE * max(0, now_ms - self._look_ms)
        before, self._heard = self._heard, {}
        if not self._counts.waiting:
            return

        def silent(number: int) -> bool:
            pump = self._pumps[number]
            step, since_ms = before.get(number, (-1, now_ms))
            if step != pump.steps or pump.held or pump.behind:
                since_ms = now_ms
            self._heard[number] = pump.steps, since_ms
            return now_ms - since_ms >= long_ms

        self._admission.lend_on(silent)
        self.look_later()

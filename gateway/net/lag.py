"""How late the event loop is: the time between a timer's due moment and its call.

Once a second it is measured; ten times a second it is looked whether something has held the loop,
so that nothing that takes longer than 200 ms is missed.
"""

from __future__ import annotations

from typing import Final, final

from twisted.internet.base import ReactorBase

from gateway.net.counts import NetCounts
from gateway.net.stalls import Stalls

LAG_INTERVAL_S: Final = 1.0
LOOK_S: Final = 0.1


@final
class LagMeter:
    """How late a timer fires that is due every `LAG_INTERVAL_S`."""

    def __init__(self, reactor: ReactorBase, counts: NetCounts) -> None:
        self._reactor = reactor
        self._counts = counts
        self._last_s = reactor.seconds()

    def tick(self) -> None:
        """The timer fired."""
        now_s = self._reactor.seconds()
        late_s = max(0.0, now_s - self._last_s - LAG_INTERVAL_S)
        self._counts.lag.add(int(late_s * 1e6))
        self._last_s = now_s


@final
class StallWatch:
    """Has the stall alarm know how late a timer fires that is due every `LOOK_S`."""

    def __init__(self, reactor: ReactorBase, stalls: Stalls) -> None:
        self._reactor = reactor
        self._stalls = stalls
        self._last_s = reactor.seconds()

    def tick(self) -> None:
        """The timer fired."""
        now_s = self._reactor.seconds()
        self._stalls.look(int((now_s - self._last_s - LOOK_S) * 1000))
        self._last_s = now_s

"""One timer that follows a deadline which moves all the time, mostly away.

A heartbeat's deadline moves with every read. Cancelling and making a reactor timer each time would
cost more than the read; so a timer that is too early is left alone, and looks again when it fires.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, final

from twisted.internet.interfaces import IDelayedCall


class Later(Protocol):
    """The one call of the reactor that timers need."""

    def callLater(self, delay: float, call: Callable[[], None], /) -> IDelayedCall:
        """Call `call` after `delay` seconds."""


def _nobody(now_ms: int) -> None:
    """It was stopped."""


@final
class Alarm:
    """Calls `ring(now_ms)` once the deadline that was set last has come."""

    __slots__ = ("_armed_ms", "_deadline_ms", "_later", "_now_ms", "_ring", "_timer")

    def __init__(
        self, later: Later, now_ms: Callable[[], int], ring: Callable[[int], None]
    ) -> None:
        self._later = later
        self._now_ms = now_ms
        self._ring = ring
        self._timer: IDelayedCall | None = None
        self._deadline_ms: int | None = None
        self._armed_ms = 0

    def set(self, deadline_ms: int | None) -> None:
        """Move the deadline; `None` for none."""
        self._deadline_ms = deadline_ms
        if deadline_ms is None:
            return
        if self._timer is None:
            self._arm(deadline_ms)
        elif deadline_ms < self._armed_ms:
            self._timer.cancel()
            self._arm(deadline_ms)

    def stop(self) -> None:
        """Never ring again: whose alarm it was is not held any more."""
        self._ring = _nobody
        self._deadline_ms = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, deadline_ms: int) -> None:
        self._armed_ms = deadline_ms
        # One millisecond more than the difference: the two clocks round differently.
        delay_ms = max(0, deadline_ms - self._now_ms()) + 1
        self._timer = self._later.callLater(delay_ms / 1000, self._fired)

    def _fired(self) -> None:
        self._timer = None
        deadline_ms = self._deadline_ms
        if deadline_ms is None:
            return
        now_ms = self._now_ms()
        if now_ms < deadline_ms:
            self._arm(deadline_ms)
            return
        self._deadline_ms = None
        self._ring(now_ms)

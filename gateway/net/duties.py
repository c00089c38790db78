"""What is done each second or so, whatever else happens.

A defect in one of them must not end it: it is told of and counted, and the next time comes.
Twisted's own loop would end at the first exception, with a word if somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from gateway.net.counts import NetCounts

TOLD_EVERY: Final = 1000  # times that a duty breaks off in the same way


class Broke(Protocol):
    """`TurnLoop`, as far as it is used."""

    def broke(self, error: BaseException) -> None:
        """See `TurnLoop.broke`."""


@final
class Duties:
    """Those of one gateway, or of one of its parts; all are given up together."""

    log = Logger()

    def __init__(self, reactor: IReactorTime, turns: Broke, counts: NetCounts) -> None:
        self._reactor = reactor
        self._turns = turns
        self._counts = counts
        self._timers: list[LoopingCall] = []

    def every(self, interval_s: float, call: Callable[[], None]) -> None:
        """Do it, for the first time when so much time has passed."""
        timer = LoopingCall(_Duty(call, self._broken))
        timer.clock = self._reactor
        timer.start(interval_s, now=False)
        self._timers.append(timer)

    @property
    def running(self) -> bool:
        """Whether there are any."""
        return bool(self._timers)

    def stop(self) -> None:
        """None of them is done any more."""
        for timer in self._timers:
            timer.stop()
        self._timers.clear()

    def _broken(self, error: Exception, *, tell: bool) -> None:
        self._turns.broke(error)
        if tell:
            self.log.failure("what is done regularly broke off, and is tried again")
        else:
            self._counts.defects += 1  # as what reaches the log is


@final
class _Duty:
    """One of them; a defect that stays is told of once, and then of each thousandth time."""

    def __init__(self, call: Callable[[], None], broken: Callable[..., None]) -> None:
        self._call = call
        self._broken = broken
        self._times = 0

    def __call__(self) -> None:
        """Once."""
        try:
            self._call()
        except Exception as error:
            self._broken(error, tell=self._times % TOLD_EVERY == 0)
            self._times += 1

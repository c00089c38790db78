"""A stall alarm: whose work has held the event loop, so that all others had to wait.

What is timed are the pieces that the loop is made of: one read, one flush, one dispatch, what a
commit or a deadline sets in motion, a share of what the admin port is asked. Whatever else has held
it - a timer, very many short pieces - is seen by a timer that fires too late (`lag`), and counts as
`other`; the longest of the pieces is told then. Work is
limited (`wire.work`), so a stall is a limit that is missing, or a machine that is too slow; the log
says whose piece it was, once a second at most. Who was just at work while the loop did none - the
machine gave its time to others, or a call waited - is not to blame: such a stall counts as
`machine`. How much the thread has worked is only asked once a turn, so what it did in the turn
before a piece counts for the piece.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol, final

from twisted.logger import Logger

from gateway.net.counts import NetCounts

STALL_MS: Final = 100  # more than this is one
SILENCE_MS: Final = 1000  # after a line of the log
UNIT_NS: Final = {"compiled": 20, "pure": 100}  # a unit of work, on a machine of 2026
MACHINE: Final = "machine"  # a stall without work
OTHER: Final = "other"  # of no piece


def worked_ms() -> int:
    """How much this thread has worked, so far."""
    return time.thread_time_ns() // 1_000_000


def worked_units(form: str) -> Callable[[], int]:
    """The same in units of work (`wire.work`), as long as they are in that form of the gateway."""
    unit_ns = UNIT_NS[form]
    return lambda: time.thread_time_ns() // unit_ns


class Worker(Protocol):
    """For whom the loop works."""

    def who(self) -> str:
        """Whose work it was and what, for people."""


@final
class Stalls:
    """Counts and tells what took longer than `STALL_MS`."""

    log = Logger()

    def __init__(
        self, now_ms: Callable[[], int], counts: NetCounts, worked: Callable[[], int] | None = None
    ) -> None:
        self._now_ms = now_ms
        self._worked_ms = worked
        self._before_ms = 0
        self._looked_ms = 0  # how much had been worked at the last look
        self._answered = False
        self._longest_ms = 0  # of the pieces since the last look
        self._longest = ""
        self.begin()
        self._counts = counts
        self._silent_until_ms = 0
        self._untold = 0

    def now_ms(self) -> int:
        """When a piece begins."""
        return self._now_ms()

    def begin(self) -> None:
        """A turn ends, or its end is over: what was worked before counts for nobody any more."""
        if self._worked_ms is not None:
            self._before_ms = self._worked_ms()

    def over(self, began_ms: int, piece: str, worker: Worker) -> int:
        """A piece of work that began then is over; the time, when the next one begins."""
        now_ms = self._now_ms()
        if now_ms - began_ms > self._longest_ms:
            self._longest_ms = now_ms - began_ms
            self._longest = f"a {piece} of {worker.who()}"
        if now_ms - began_ms > STALL_MS:
            before_ms = self._before_ms
            self.begin()
            took_ms = now_ms - began_ms
            worked = took_ms if self._worked_ms is None else self._before_ms - before_ms
            self._answered = True
            self._tell(now_ms, took_ms, worked, piece, f"a {piece} of {worker.who()}")
        return now_ms

    def look(self, late_ms: int) -> None:
        """A timer that is due all the time fires so late: if for no piece, that is told, too."""
        now_worked = 0 if self._worked_ms is None else self._worked_ms()
        if late_ms > STALL_MS and not self._answered:
            worked = late_ms if self._worked_ms is None else now_worked - self._looked_ms
            what = "a timer, or short pieces"
            if self._longest_ms:
                what += f", the longest of which, {self._longest_ms} ms, was {self._longest}"
            self._tell(self._now_ms(), late_ms, worked, OTHER, what)
        self._looked_ms = now_worked
        self._answered = False
        self._longest_ms = 0

    def _tell(self, now_ms: int, took_ms: int, worked: int, piece: str, what: str) -> None:
        idle = worked <= STALL_MS
        self._counts.stalls[MACHINE if idle else piece] += 1
        if now_ms < self._silent_until_ms:
            self._untold += 1
            return
        self._silent_until_ms = now_ms + SILENCE_MS
        untold, self._untold = self._untold, 0
        line = "the event loop was held for {took_ms} ms by {what}{more}"
        if idle:
            line = (
                "the event loop stood for {took_ms} ms, of which it worked {worked} at most: the"
                " machine was busy, or a call waited in {what}{more}"
            )
        self.log.warn(
            line,
            took_ms=took_ms,
            worked=worked,
            what=what,
            more=f" ({untold} more since the last such line)" if untold else "",
        )

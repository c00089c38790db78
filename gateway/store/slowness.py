"""A disk that does not answer, neither yes nor no: who waits for it cannot say so.

Used in the reactor. What the disk refuses the commit thread tells (`trouble`), and it is passed on;
but while it waits for a write or a sync it tells nothing. So it is looked at, each second or so: if
it has something to do and has come no further for `SLOW_MS`, that counts as a refusal until it has.
Nothing is asked of the disk here, and no file touched: that might take as long.
"""

from __future__ import annotations

from typing import Final, final

from gateway.errors import StoreError
from gateway.store.interface import Eased, Failed, StoreCounts

SLOW_MS: Final = 5000


@final
class Slowness:
    """Stands between the commit thread's `failed` and `eased` and who is told."""

    def __init__(self, counts: StoreCounts, failed: Failed, eased: Eased) -> None:
        self._counts = counts
        self._failed = failed
        self._eased = eased
        self._refused: StoreError | None = None
        self._slow = False
        self._silent_ms = 0
        self._reached = (-1, -1, -1)
        self._since_ms: int | None = None  # seen with work to do, at `_reached`

    def on_failed(self, error: StoreError) -> None:
        """The commit thread tells of a refusal."""
        self._slow = False
        self._refused = error
        self._failed(error)

    def on_eased(self) -> None:
        """It tells that all is well."""
        self._slow = False
        self._refused = None
        self._eased()

    def silent(self) -> int:
        """For how many ms it has not answered, as far as that was seen; 0 if it has since."""
        return self._silent_ms if self._now_reached() == self._reached else 0

    def _now_reached(self) -> tuple[int, int, int]:
        counts = self._counts
        return counts.turns, counts.attempts, counts.answers

    def look(self, now_ms: int) -> None:
        """Has it come any further?"""
        counts = self._counts
        reached = self._now_reached()
        self._silent_ms = 0
        if counts.turns_waiting == 0 and counts.attempts == counts.answers:
            self._since_ms = None
        elif self._since_ms is None or reached != self._reached:
            self._since_ms = now_ms
        else:
            self._silent_ms = now_ms - self._since_ms
            if self._silent_ms >= SLOW_MS:
                self._begin()
                return
        self._reached = reached
        if self._slow:
            self._end()

    def _begin(self) -> None:
        refused = self._refused
        if self._slow or (refused is not None and not refused.on_reserve):
            return
        self._slow = True
        text = f"the disk has not answered for {SLOW_MS // 1000} s"
        self._failed(StoreError(text, cause="slow"))

    def _end(self) -> None:
        self._slow = False
        if self._refused is None:
            self._eased()
        else:
            self._failed(self._refused)

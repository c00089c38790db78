"""How many lines of a kind the log has in a second, whoever makes more of them happen.

Whatever a peer can do again and again for nothing - most of all before its login - has one line a
second; what comes meanwhile is a number in the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

PACE_MS: Final = 1000


@final
class Pace:
    """So many lines of a kind in a second; the first of the next tells how many there were not."""

    def __init__(self, now_ms: Callable[[], int], most: int = 1) -> None:
        self._now_ms = now_ms
        self._most = most
        self._began_ms = -PACE_MS
        self._told = 0
        self._untold = 0

    def may_tell(self) -> bool:
        """Whether there may be one more."""
        now_ms = self._now_ms()
        if now_ms - self._began_ms >= PACE_MS:
            self._began_ms = now_ms
            self._told = 0
        if self._told >= self._most:
            self._untold += 1
            return False
        self._told += 1
        return True

    def more(self) -> str:
        """What a line says of those that there were not."""
        untold, self._untold = self._untold, 0
        return f"; {untold} more since the last such line" if untold else ""

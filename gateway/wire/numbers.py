"""Small numbers that are given out and given back: a session's handles, a connection's channels."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import final


@final
class Numbers:
    """Free numbers, lowest first, as AMQP 1.0 recommends for both (2.6.2, 2.5.1)."""

    __slots__ = ("_free", "_next")

    def __init__(self) -> None:
        self._next = 0
        self._free: list[int] = []

    def take(self) -> int:
        """The lowest that is free."""
        if self._free:
            return heappop(self._free)
        self._next += 1
        return self._next - 1

    def lowest(self) -> int:
        """What `take` would give."""
        return self._free[0] if self._free else self._next

    def give(self, number: int) -> None:
        """It is free again."""
        heappush(self._free, number)

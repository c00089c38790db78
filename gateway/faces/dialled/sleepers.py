"""Who wants to be called when: the deadlines of one upstream, by sleeper."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Protocol, final


class Sleeper(Protocol):
    """Whoever asked, through `Sleepers.wake`, to be called at a time."""

    def handle_deadline(self, now_ms: int) -> None:
        """The time has come; the wish is forgotten."""


@final
class Sleepers:
    """One time for each sleeper; a later wish replaces an earlier one."""

    __slots__ = ("_heap", "_number", "_times", "_wished")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []
        self._wished: dict[int, Sleeper] = {}  # by the number of the wish
        self._times: dict[Sleeper, int] = {}  # the number of each sleeper's wish
        self._number = 0

    def wake(self, sleeper: Sleeper, at_ms: int) -> None:
        """Call `sleeper.handle_deadline` at `at_ms`, and not when it had wished before."""
        self.unwake(sleeper)
        self._number += 1
        self._wished[self._number] = sleeper
        self._times[sleeper] = self._number
        heappush(self._heap, (at_ms, self._number))

    def unwake(self, sleeper: Sleeper) -> None:
        """Do not call `sleeper`."""
        number = self._times.pop(sleeper, None)
        if number is not None:
            del self._wished[number]

    def next_deadline(self) -> int | None:
        """When `run` is to be called."""
        heap = self._heap
        while heap:
            at_ms, number = heap[0]
            if number in self._wished:
                return at_ms
            heappop(heap)
        return None

    def run(self, now_ms: int) -> None:
        """Call everybody whose time has come; what they wish meanwhile is for the next time."""
        due: list[Sleeper] = []
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            number = heappop(heap)[1]
            sleeper = self._wished.get(number)
            if sleeper is not None:
                due.append(sleeper)
        for sleeper in due:
            if sleeper in self._times:  # nobody before it has called it off
                self.unwake(sleeper)
                sleeper.handle_deadline(now_ms)

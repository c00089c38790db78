"""When the next message expires or the next unused queue is to be deleted, over all queues.

A queue is armed with its earliest time only; a heap finds the earliest of all. Times that were
superseded stay in the heap until they come or outnumber the queues.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

from gateway.bridge.queues.queue import Queue
from gateway.message import NEVER

REBUILD_SLACK: Final = 1024


@final
class Deadlines:
    """The queues that want to be looked at, by time."""

    __slots__ = ("_armed", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []
        self._armed: dict[int, Queue] = {}

    def arm(self, queue: Queue, when_ms: int) -> None:
        """`queue` wants to be looked at at `when_ms`, or earlier if it has said so before."""
        if queue.armed_ms != NEVER and queue.armed_ms <= when_ms:
            return
        queue.armed_ms = when_ms
        self._armed[queue.number] = queue
        heappush(self._heap, (when_ms, queue.number))
        if len(self._heap) > 2 * len(self._armed) + REBUILD_SLACK:
            self._heap = [(armed.armed_ms, number) for number, armed in self._armed.items()]
            heapify(self._heap)

    def disarm(self, queue: Queue) -> None:
        """`queue` does not want to be looked at any more."""
        if self._armed.pop(queue.number, None) is not None:
            queue.armed_ms = NEVER

    def next_ms(self) -> int | None:
        """The earliest time, possibly of a queue that has nothing to do then any more."""
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: int) -> Queue | None:
        """A queue whose time has come, disarmed; call again until `None`."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            when_ms, number = heappop(heap)
            queue = self._armed.get(number)
            if queue is not None and queue.armed_ms == when_ms:
                queue.armed_ms = NEVER
                del self._armed[number]
                return queue
        return None

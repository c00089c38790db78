"""Every queue that there is, one after the other, as many at a time as whoever asks can bear.

Deleted queues are among them as long as a copy of them is unsettled or still leaves. Between two
times queues come and go: one that was made since the beginning is not among them, nor one that was
deleted before its turn came; none is there twice.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.host import VirtualHost
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription

ALL: Final = 1 << 60


@final
class LivingQueues:
    """One walk over them.

    Attributes:
        done: there are no more.
    """

    __slots__ = ("_by_name", "_nameless", "_next", "_queues", "_subscriptions", "done")

    def __init__(self, hosts: dict[str, VirtualHost], links: dict[int, Subscription]) -> None:
        self._subscriptions = list(links.values())
        self._queues: list[Queue] = []  # those with names; then the others
        self._by_name = True
        self._nameless: dict[int, Queue] = {}
        self._next = 0
        self.done = False
        for host in hosts.values():
            self._queues.extend(host.topology.queues.values())
            self._queues.extend(host.nodes.in_front())
            for queue in host.settlement.clearing.deleted_queues():
                self._nameless[queue.number] = queue

    def some(self, count: int) -> list[Queue]:
        """The next of them, after a look at `count` at most: there may be none among those."""
        begin = self._next
        self._next += count
        if self._subscriptions:
            self._look(self._subscriptions[begin : self._next])
            if self._next >= len(self._subscriptions):
                self._subscriptions.clear()
                self._next = 0
            return []
        found = self._queues[begin : self._next]
        if self._by_name:
            found = [queue for queue in found if not queue.deleted]
        if self._next >= len(self._queues):
            self.done = not self._by_name or not self._nameless
            self._by_name = False
            self._queues = list(self._nameless.values())
            self._next = 0
        return found

    def rest(self) -> list[Queue]:
        """All that are left."""
        found: list[Queue] = []
        while not self.done:
            found.extend(self.some(ALL))
        return found

    def _look(self, subscriptions: list[Subscription]) -> None:
        """Remember those queues that are known by their subscriptions alone."""
        for subscription in subscriptions:
            queue = subscription.queue
            if (queue.deleted or queue.inbound) and queue.depth:
                self._nameless[queue.number] = queue

"""Queues that are emptied for good or all: what is too much for one turn is done over several.

A purge goes on until what was in the queue when it began is gone; messages that come meanwhile, and
those that somebody has, stay. A deleted queue has lost its name, its bindings and its subscriptions
at once; its copies follow, to its alternate exchange or nowhere, and last the audit log forgets it.
After a crash the store brings such a queue back, and its copies end as they would have.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol, final

from gateway.bridge.queues.places import AVAILABLE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.wire.work import COPY, SHARE, WORK


class Emptied(Protocol):
    """What becomes of the copies of a queue that is emptied."""

    def drop(self, queue: Queue, entry: Entry) -> None:
        """An available copy of a living queue is purged."""

    def orphan(self, queue: Queue, entry: Entry) -> None:
        """An available copy of a deleted queue leaves it."""

    def on_cleared(self, queue: Queue) -> None:
        """A deleted queue has no available copies any more."""


@final
class Emptying:
    """One queue that is being emptied.

    Attributes:
        position: the next copy to look at; `end`: the first that stays.
        waiter, token: who is told at the end; `None`: the queue is deleted.
    """

    __slots__ = ("end", "position", "queue", "token", "waiter")

    def __init__(self, queue: Queue, waiter: LookUpWaiter | None, token: int) -> None:
        self.queue = queue
        self.position = 0
        self.end = queue.next_position
        self.waiter = waiter
        self.token = token


@final
class Clearing:
    """The queues of one virtual host that are being emptied, in their order."""

    __slots__ = ("_emptied", "_waiting")

    def __init__(self, emptied: Emptied) -> None:
        self._emptied = emptied
        self._waiting: deque[Emptying] = deque()

    @property
    def has_work(self) -> bool:
        """Whether there is more to do in the next turn."""
        return len(self._waiting) > 0

    def deleted_queues(self) -> list[Queue]:
        """Those that live on until they are empty."""
        return [each.queue for each in self._waiting if each.waiter is None]

    def purge(self, queue: Queue, waiter: LookUpWaiter, token: int) -> bool:
        """Purge a queue over several turns, if it has too much for one: then `waiter` is told."""
        if queue.depth * COPY <= SHARE:
            return False
        self._waiting.append(Emptying(queue, waiter, token))
        return True

    def abandon(self, queue: Queue) -> bool:
        """Empty a deleted queue; whether it is done: else it is, some turns later."""
        emptying = Emptying(queue, None, 0)
        if self._empty(emptying, WORK.units + SHARE):
            return True
        self._waiting.append(emptying)
        return False

    def run(self) -> None:
        """A turn's share of it."""
        end = WORK.units + SHARE
        waiting = self._waiting
        while waiting and WORK.units <= end:
            emptying = waiting[0]
            if not self._empty(emptying, end):
                return
            waiting.popleft()
            waiter = emptying.waiter
            if waiter is None:
                self._emptied.on_cleared(emptying.queue)
            else:
                waiter.on_looked_up(emptying.token, None)

    def _empty(self, emptying: Emptying, end: int) -> bool:
        """Go on until so many units; whether it is done."""
        queue = emptying.queue
        purging = emptying.waiter is not None
        if purging and queue.deleted:
            return True  # what was in it is gone, or goes the way of its queue
        entry = queue.places.next_at(emptying.position)
        while entry is not None and entry.position < emptying.end:
            if WORK.units > end:
                return False
            WORK.units += COPY
            emptying.position = entry.position + 1
            if entry.holder == AVAILABLE:
                if purging:
                    self._emptied.drop(queue, entry)
                else:
                    self._emptied.orphan(queue, entry)
            entry = queue.places.next_at(emptying.position)
        return True

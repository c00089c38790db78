"""Queues that are emptied for good or all: what is too much for one turn is done over several.

A purge goes on until what was in the queue when it began is gone; messages that come meanwhile, and
those that somebody has, stay. A deleted queue has lost its name, its bindings and its subscriptions
at once; its copies follow, to its alternate exchange or nowhere, and last the audit log forgets it.
After a crash the store brings such a queue back, and its copies end as they would have.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.bridge.queues.places import AVAILABLE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.spread.spread import Spread
from gateway.wire.work import COPY, SHARE, WORK

EVERYBODY: Final = -1  # keeps what it has


class Emptied(Protocol):
    """What becomes of the copies of a queue that is emptied."""

    def drop(self, queue: Queue, entry: Entry) -> None:
        """An available copy of a living queue is purged."""

    def orphan(self, queue: Queue, entry: Entry) -> None:
        """An available copy of a deleted queue leaves it."""

    def take_back(self, queue: Queue, entry: Entry, spared: int) -> None:
        """A copy that somebody has leaves a deleted queue, unless that is the owner `spared`."""

    def on_cleared(self, queue: Queue) -> None:
        """A deleted queue has no available copies any more."""


@final
class Emptying:
    """One queue that is being emptied. Implements `Piecework`.

    Attributes:
        position: the next copy to look at; `end`: the first that stays.
        waiter, token: who is told at the end; `None`: the queue is deleted.
    """

    __slots__ = ("_emptied", "_spared", "end", "position", "queue", "token", "waiter")

    def __init__(
        self,
        emptied: Emptied,
        queue: Queue,
        waiter: LookUpWaiter | None,
        token: int,
        spared: int = EVERYBODY,
    ) -> None:
        self._spared = spared
        self._emptied = emptied
        self.queue = queue
        self.position = 0
        self.end = queue.next_position if waiter is None else min(queue.next_position, queue.behind)
        self.waiter = waiter
        self.token = token

    def who(self) -> str:
        """See `Piecework`."""
        return f"queue {self.queue.name!r}, which is emptied"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        if not self._empty(end):
            return False
        if self.waiter is not None:
            self.waiter.on_looked_up(self.token, None)
        elif self.queue.clearing:
            self._emptied.on_cleared(self.queue)
        return True

    def _empty(self, end: int) -> bool:
        queue = self.queue
        purging = self.waiter is not None
        if purging and queue.deleted:
            return True  # what was in it is gone, or goes the way of its queue
        entry = queue.places.next_at(self.position)
        while entry is not None and entry.position < self.end:
            if WORK.units > end:
                return False
            WORK.units += COPY
            self.position = entry.position + 1
            if entry.holder == AVAILABLE:
                if purging:
                    self._emptied.drop(queue, entry)
                else:
                    self._emptied.orphan(queue, entry)
            elif self._spared != EVERYBODY:
                self._emptied.take_back(queue, entry, self._spared)
            entry = queue.places.next_at(self.position)
        return True


@final
class Clearing:
    """The queues of one virtual host that are being emptied."""

    __slots__ = ("_deleted", "_emptied", "_spread")

    def __init__(self, emptied: Emptied, spread: Spread) -> None:
        self._emptied = emptied
        self._spread = spread
        self._deleted: dict[int, Queue] = {}

    def deleted_queues(self) -> list[Queue]:
        """Those that live on until they are empty."""
        return list(self._deleted.values())

    def purge(self, queue: Queue, waiter: LookUpWaiter, token: int) -> bool:
        """Purge a queue over several turns, if it has too much for one: then `waiter` is told."""
        if queue.depth * COPY <= SHARE:
            return False
        self._spread.put_off(Emptying(self._emptied, queue, waiter, token))
        return True

    def abandon(self, queue: Queue, spared: int) -> bool:
        """Empty a deleted queue; whether it is done: else it is, some turns later (`forget`).

        `spared`: the owner whose acquired copies stay, or `EVERYBODY`.
        """
        if self._spread.begin(Emptying(self._emptied, queue, None, 0, spared)):
            return True
        queue.clearing = True
        self._deleted[queue.number] = queue
        return False

    def forget(self, queue: Queue) -> None:
        """A deleted queue is empty."""
        queue.clearing = False
        del self._deleted[queue.number]

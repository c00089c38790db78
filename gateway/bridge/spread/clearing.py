"""Queues that are emptied for good or all: what is too much for one turn is done over several.

A purge goes on until what was in the queue when it began is gone; messages that come meanwhile, and
those that somebody has, stay. A deleted queue has lost its name, its bindings and its subscriptions
at once; its copies follow, to its alternate exchange or nowhere, and last the audit log forgets it.
After a crash the store brings such a queue back, and its copies end as they would have.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.bridge.paging.paging import Paging
from gateway.bridge.queues.places import AVAILABLE, NO_PAGE, PAGE_BITS, Entry
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
    """One queue that is being emptied. Implements `Piecework`, `paging.Waiter`.

    Attributes:
        done: it is empty, and whoever waited was told.
        position: the next copy to look at; `end`: the first that stays.
        waiter, token: who is told at the end; `None`: the queue is deleted.
    """

    __slots__ = (
        *("_clearing", "_emptied", "_missed", "_spared", "done", "end", "position", "queue"),
        *("token", "waiter"),
    )

    def __init__(
        self,
        emptied: Emptied,
        clearing: Clearing,
        queue: Queue,
        waiter: LookUpWaiter | None,
        token: int,
        spared: int = EVERYBODY,
    ) -> None:
        self._spared = spared
        self._emptied = emptied
        self._clearing = clearing
        self._missed: int = NO_PAGE
        self.done = False
        self.queue = queue
        self.position = 0
        self.end = queue.next_position if waiter is None else min(queue.next_position, queue.behind)
        self.waiter = waiter
        self.token = token

    def who(self) -> str:
        """See `Piecework`."""
        return f"queue {self.queue.name!r}, which is emptied"

    def go_on(self, end: int) -> bool:
        """See `Piecework`. Also over for now where it waits for a page, until that is there."""
        if not self._empty(end):
            return False
        if self._missed != NO_PAGE:
            self._clearing.await_page(self, self._missed)
            return True
        self.done = True
        if self.waiter is not None:
            self.waiter.on_looked_up(self.token, None)
        elif self.queue.clearing:
            self._emptied.on_cleared(self.queue)
        return True

    def on_page(self) -> None:
        """See `Waiter`."""
        self._clearing.go_on(self)

    def _empty(self, end: int) -> bool:
        queue = self.queue
        purging = self.waiter is not None
        self._missed = NO_PAGE
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
        missed = queue.places.missed
        if entry is None and missed << PAGE_BITS < self.end:
            self._missed = missed
        queue.places.wanted.clear()
        return True


@final
class Clearing:
    """The queues of one virtual host that are being emptied."""

    __slots__ = ("_deleted", "_emptied", "_paging", "_spread")

    def __init__(self, emptied: Emptied, spread: Spread, paging: Paging) -> None:
        self._emptied = emptied
        self._paging = paging
        self._spread = spread
        self._deleted: dict[int, Queue] = {}

    def deleted_queues(self) -> list[Queue]:
        """Those that live on until they are empty."""
        return list(self._deleted.values())

    def purge(self, queue: Queue, waiter: LookUpWaiter, token: int) -> bool:
        """Purge a queue over several turns, if it has too much for one: then `waiter` is told."""
        if queue.depth * COPY <= SHARE and not queue.places.away:
            return False
        self._spread.put_off(Emptying(self._emptied, self, queue, waiter, token))
        return True

    def await_page(self, emptying: Emptying, number: int) -> None:
        """What is emptied is on disk: it comes back for that."""
        self._paging.want(emptying.queue, number, emptying)

    def go_on(self, emptying: Emptying) -> None:
        """It is there."""
        self._spread.put_off(emptying)

    def abandon(self, queue: Queue, spared: int) -> bool:
        """Empty a deleted queue; whether it is done: else it is, some turns later (`forget`).

        `spared`: the owner whose acquired copies stay, or `EVERYBODY`.
        """
        emptying = Emptying(self._emptied, self, queue, None, 0, spared)
        self._spread.begin(emptying)
        if emptying.done:
            return True
        queue.clearing = True
        self._deleted[queue.number] = queue
        return False

    def forget(self, queue: Queue) -> None:
        """A deleted queue is empty."""
        queue.clearing = False
        del self._deleted[queue.number]

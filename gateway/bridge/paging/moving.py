"""Pages on their way, who waits for them, and which queues have such."""

from __future__ import annotations

from typing import Protocol, final

from mypy_extensions import i64 as int64

from gateway.bridge.paging.away import AwayPage, Back
from gateway.bridge.pressure import AWAY_OCTETS, KEY_OCTETS
from gateway.bridge.queues.places import Page
from gateway.bridge.queues.queue import Queue
from gateway.store.entries import Entry as StoredEntry


class Waiter(Protocol):
    """Who waits for a page."""

    def on_page(self) -> None:
        """It is here, or gone. Not called from inside a verb, and calls none."""


class Losing(Protocol):
    """Who knows what it means that copies are lost."""

    def lose(self, queue: Queue, page: Page, away: AwayPage, back: Back) -> None:
        """Those of a page that have not come back are."""


@final
class Coming:
    """A page that is on its way back.

    Attributes:
        waiters: who is told; a set.
        found: its copies, by position.
        logged: they are from the store's log.
    """

    __slots__ = ("found", "logged", "page", "queue", "size", "waiters")

    def __init__(self, queue: Queue, page: Page, size: int) -> None:
        self.queue = queue
        self.page = page
        self.size = size
        self.waiters: dict[Waiter, None] = {}
        self.found: dict[int, StoredEntry] = {}
        self.logged = False


@final
class Going:
    """A page that is on its way to the disk; its copies are still here."""

    __slots__ = ("away", "page", "queue")

    def __init__(self, queue: Queue, page: Page, away: AwayPage) -> None:
        self.queue = queue
        self.page = page
        self.away = away


def marks_of(queue: Queue) -> int64:
    """Octets that stay in memory of each of its copies that is on disk."""
    if queue.groups is None and queue.last_values is None:
        return AWAY_OCTETS
    return AWAY_OCTETS + KEY_OCTETS

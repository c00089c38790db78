"""Pages on their way, who waits for them, and which queues have such."""

from __future__ import annotations

from typing import Protocol, final

from gateway.bridge.paging.away import AwayPage, Back
from gateway.bridge.queues.places import Page
from gateway.bridge.queues.queue import Queue
from gateway.store.interface import Entry as StoredEntry


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


def may_page(queue: Queue) -> bool:
    """Whether pages of a queue may go away.

    Not where others than its places know its copies, nor where those are on their way only. Pages
    with files and streams in them are pinned.
    """
    return (
        not queue.transit
        and queue.groups is None
        and queue.last_values is None
        and (queue.contents is None or not queue.rings)
    )

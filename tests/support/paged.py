"""A disk for pages that is a dictionary, and answers when a test lets it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.bridge.paging.disk import Answered, Spot


class PageDisk:
    """Implements `Disk`; its answers go through `later`.

    Attributes:
        pages: what is kept, by number.
        full: it takes nothing.
        unreadable: numbers of those that it does not give back.
    """

    def __init__(self, later: Callable[[Callable[[], None]], None], answered: Answered) -> None:
        self.pages: dict[int, bytes] = {}
        self.full = False
        self.unreadable: set[int] = set()
        self._later = later
        self._answered = answered
        self._last = 0

    def write(self, token: int, octets: bytes) -> None:
        spot = None
        if not self.full:
            self._last += 1
            self.pages[self._last] = octets
            spot = (self._last, len(octets))
        self._later(partial(self._answered.on_written, token, spot))

    def read(self, token: int, spot: Spot) -> None:
        octets = None if spot[0] in self.unreadable else self.pages[spot[0]]
        self._later(partial(self._answered.on_read, token, octets))

    def let_go(self, spot: Spot) -> None:
        del self.pages[spot[0]]

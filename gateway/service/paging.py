"""Queues that are larger than memory: the disk for that, and what is told of it in the log."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final, Protocol, final

from twisted.logger import Logger

from gateway.bridge.bridge import Bridge
from gateway.bridge.paging.disk import Spot
from gateway.bridge.paging.paging import Paging
from gateway.config import Settings
from gateway.net.turns import TurnLoop
from gateway.store.interface import CallInReactor
from gateway.store.spill import Spill
from gateway.store.sqlite import SqliteStore

AGAIN_MS: Final = 60_000  # from one line of what the disk refuses to the next


class Clock(Protocol):
    """The gateway's."""

    def now_ms(self) -> int:
        """Now."""


@final
class PagingLines:
    """Tells of what the disk does not take or give back."""

    log = Logger()

    def __init__(self, paging: Paging, clock: Clock) -> None:
        self._paging = paging
        self._clock = clock
        self._quiet_until = 0

    def failed(self, line: str) -> None:
        """The disk has refused: once a minute is enough."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._quiet_until:
            self._quiet_until = now_ms + AGAIN_MS
            self.log.error("{line}", line=line)

    def look(self) -> None:
        """Each second or so: were messages lost?"""
        problems = self._paging.problems
        while problems:
            self.log.critical("{line}", line=problems.popleft())


@final
class PagesAnswered:
    """Passes the disk's answers on, and has a turn end after them. Implements `spill.Answered`."""

    def __init__(self, paging: Paging, turns: TurnLoop) -> None:
        self._paging = paging
        self._turns = turns

    def on_written(self, token: int, spot: Spot | None) -> None:
        """See `Answered`."""
        self._turns.on_page(partial(self._paging.on_written, token, spot))

    def on_read(self, token: int, octets: bytes | None) -> None:
        """See `Answered`."""
        self._turns.on_page(partial(self._paging.on_read, token, octets))


def begin_paging(
    settings: Settings,
    bridge: Bridge,
    store: SqliteStore,
    turns: TurnLoop,
    call_in_reactor: CallInReactor,
    lines: PagingLines,
) -> Spill | None:
    """Before anything is in the queues; `None`: what is not durable stays in memory."""
    if settings.queues.memory == 0:
        return None
    store.on_fetched = lambda piece: turns.on_page(partial(bridge.paging.on_fetched, piece))
    spill = Spill(
        Path(settings.data_directory),
        call_in_reactor,
        most=settings.queues.paged_size,
        keep_free=store.wants_free,
        failed=lines.failed,
    )
    try:
        spill.open(PagesAnswered(bridge.paging, turns))
    except OSError as error:
        lines.failed(f"what queues hold stays in memory, unless it is durable: {error}")
        return None
    bridge.paging.disk = spill
    return spill

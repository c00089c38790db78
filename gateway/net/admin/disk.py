"""How much of the data directory there is, for the metrics; and what the disk has left.

A disk may never answer: nothing that the event loop does waits for it.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple, final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

PATIENCE_S: Final = 1.0  # that whoever asks for metrics has with it
SILENT_S: Final = 10.0  # what it had said before is not believed any more


class Look(NamedTuple):
    """What was found of the parts of the directory that are there, in octets.

    Attributes:
        used: the files of the store, the reserve included, and of the audit log.
        free: what the process may still write.
    """

    used: dict[str, int]
    free: dict[str, int]


NOTHING_SEEN: Final = Look({}, {})


@final
class Disk:
    """What the data directory takes of its file systems, and what these have left.

    A thread asks them, and is waited for a moment: the next time tells it then. Nothing is said of
    a disk that has not answered for long, nor of a part that is not there any more: that it is gone
    the store tells.

    Attributes:
        seen: as it was at the last look.
    """

    log = Logger()

    def __init__(
        self,
        directory: pathlib.Path,
        audit: str,
        *,
        in_thread: Callable[[Callable[[], Look]], Deferred[Look]],
        clock: IReactorTime,
    ) -> None:
        self.seen = NOTHING_SEEN
        self._parts = {"store": directory, "audit": directory / audit}
        self._in_thread = in_thread
        self._clock = clock
        self._asked_s: float | None = None

    def look(self) -> Iterator[Deferred[None]]:
        """See how it is now; what comes is waited for."""
        now_s = self._clock.seconds()
        if self._asked_s is not None:
            if now_s - self._asked_s >= SILENT_S:
                self.seen = NOTHING_SEEN
            return
        self._asked_s = now_s
        over: Deferred[None] = Deferred()
        late = self._clock.callLater(PATIENCE_S, over.callback, None)

        def answered(seen: Look | Failure) -> None:
            self._asked_s = None
            self.seen = NOTHING_SEEN if isinstance(seen, Failure) else seen
            if isinstance(seen, Failure):
                self.log.failure("the disk cannot be asked", seen)
            if late.active():
                late.cancel()
                over.callback(None)

        self._in_thread(self._look).addBoth(answered)
        yield over

    def _look(self) -> Look:
        """In a thread."""
        used: dict[str, int] = {}
        free: dict[str, int] = {}
        for part, path in self._parts.items():
            with suppress(OSError):
                free[part] = _free(path)
                used[part] = _size(path)
        return Look(used, free)


def _size(directory: pathlib.Path) -> int:
    octets = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # just removed
                if entry.is_file():
                    octets += entry.stat().st_size
    return octets


def _free(directory: pathlib.Path) -> int:
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize

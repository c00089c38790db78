"""Threads that the end of the process does not wait for.

What they do may never return: a file on a file system that is gone, or the name of a host that
nobody answers for. Nobody needs their answers any more then. What has to be written is written by
the store's commit thread, which is none of them.
"""

from __future__ import annotations

from threading import Thread
from typing import Final, final

from twisted.internet.base import ReactorBase

JOIN_S: Final = 0.1  # for what is nearly done


@final
class LooseThread(Thread):
    """One of a pool, which joins its threads when it is stopped."""

    def start(self) -> None:
        """Begin, as a daemon."""
        self.daemon = True
        super().start()

    def join(self, timeout: float | None = None) -> None:
        """Wait a moment, where nobody says for how long."""
        super().join(JOIN_S if timeout is None else timeout)


def loosen(reactor: ReactorBase) -> None:
    """Also the reactor's own pool, which looks up names and makes texts, is not waited for."""
    reactor.getThreadPool().threadFactory = LooseThread

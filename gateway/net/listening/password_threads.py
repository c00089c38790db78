"""The threads in which passwords are verified: one verification takes the time of many messages."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Final, TypeVar, final

from twisted.internet.defer import Deferred
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

PASSWORD_THREADS: Final = 4
T = TypeVar("T")


@final
class PasswordThread(Thread):
    """It does not keep the process: where nobody stopped the pool, nobody waits for an answer."""

    def start(self) -> None:
        """Begin, as a daemon."""
        self.daemon = True
        super().start()


@final
class PasswordThreads:
    """A pool of them."""

    def __init__(self, reactor: PosixReactorBase) -> None:
        self._reactor = reactor
        self._pool = ThreadPool(0, PASSWORD_THREADS, "passwords")
        self._pool.threadFactory = PasswordThread

    def start(self) -> None:
        """Begin with what was asked for, too, while it had not started."""
        self._pool.start()

    def stop(self) -> None:
        """End with what is under way; nothing if it never started."""
        if self._pool.started:
            self._pool.stop()

    def run(self, check: Callable[[], T]) -> Deferred[T]:
        """The answer of `check`, in the reactor."""
        return deferToThreadPool(self._reactor, self._pool, check)

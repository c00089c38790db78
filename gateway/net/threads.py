"""Threads that the end of the process does not wait for.

What they do may never return: a file on a file system that is gone, or the name of a host that
nobody answers for. Nobody needs their answers any more then. What has to be written is written by
the store's commit thread, which is none of them.

All of a pool begin with it: one that the system refused later, since there are too many or memory
is short, would leave whoever waits for it waiting for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Final, TypeVar, final

from twisted.internet.base import ReactorBase
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

JOIN_S: Final = 0.1  # for what is nearly done
T = TypeVar("T")


@final
class LooseThread(Thread):
    """One of a pool, which joins its threads when it is stopped."""

    def start(self) -> None:
        """Begin, as a daemon.

        Raises:
            MemoryError: the system gives no thread, for whatever reason.
        """
        self.daemon = True
        try:
            super().start()
        except RuntimeError as error:
            raise MemoryError(f"a thread was refused: {error}") from None

    def join(self, timeout: float | None = None) -> None:
        """Wait a moment, where nobody says for how long; for one that was refused not at all."""
        if self.ident is not None:
            super().join(JOIN_S if timeout is None else timeout)


def loose_threads(count: int, name: str) -> ThreadPool:
    """A pool of so many."""
    pool = ThreadPool(count, count, name)
    pool.threadFactory = LooseThread
    return pool


@final
class LoosePool:
    """So many of them."""

    def __init__(self, reactor: IReactorFromThreads, count: int, name: str) -> None:
        self._reactor = reactor
        self._pool = loose_threads(count, name)

    def start(self) -> None:
        """Begin with what was asked for, too, while it had not started."""
        self._pool.start()

    def stop(self) -> None:
        """Begin with nothing more, nor wait for what is under way; nothing if it never started."""
        if self._pool.started:
            self._pool.stop()

    def ask(self, call: Callable[[], T]) -> Deferred[T]:
        """The answer of `call`, in the reactor."""
        return deferToThreadPool(self._reactor, self._pool, call)


def loosen(reactor: ReactorBase) -> None:
    """Also the reactor's own pool, which looks up names and makes texts, is not waited for."""
    pool = reactor.getThreadPool()
    pool.threadFactory = LooseThread
    pool.adjustPoolsize(pool.max, pool.max)

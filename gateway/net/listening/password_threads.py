"""The threads in which passwords are verified: one verification takes the time of many messages.

Those that take long wait in a fair queue over addresses, and over users within one: however many
somebody asks for, somebody else waits for one of them at most. What is only looked up goes before,
one at a time; the files of other settings are read beside both, the disk is asked how much of it is
used, and metrics are made a text.

There are as many threads as cores, and not fewer than two: a verification does not hold the lock of
the interpreter. Of a source that floods (`throttle`) no more than `FLOOD_WAITING` wait; beyond that
those who have waited longest are given up, of the user who has most: who comes last is heard soon,
and is as likely to be right. That goes for users who have failed from that address: others of it
have a place of their own, and are never given up. There are no more of them than connections of one
address that are heard before their login.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar, final

from twisted.internet.defer import Deferred
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.threads import deferToThreadPool

from gateway.net.listening.fair_queue import FairQueue
from gateway.net.threads import loose_threads
from gateway.wire.sasl import Derivation

PASSWORD_THREADS: Final = max(2, len(os.sched_getaffinity(0)))
BESIDE: Final = 5  # threads for what is looked up, for files, for the disk, for two texts
FLOOD_WAITING: Final = 8
READING_SWITCH_S: Final = 0.0005  # how long the reactor waits for what parses: Python has 5 ms
T = TypeVar("T")
Job = tuple[Callable[[], Any], "Deferred[Any]"]  # Any: what the job answers


@final
class GivenUpError(Exception):
    """The answer of what was not run, since too much else waited."""


@final
class PasswordThreads:
    """A pool of them."""

    def __init__(self, reactor: PosixReactorBase, now_ms: Callable[[], int]) -> None:
        self._reactor = reactor
        self._now_ms = now_ms
        self._pool = loose_threads(PASSWORD_THREADS + BESIDE, "passwords")
        self._long: FairQueue[Job] = FairQueue()
        self._long_running = 0
        self._short: deque[Job] = deque()
        self._looking = False

    @property
    def waiting(self) -> int:
        """How many wait for a thread."""
        return len(self._long) + len(self._short)

    def start(self) -> None:
        """Begin with what was asked for, too, while it had not started."""
        self._pool.start()

    def stop(self) -> None:
        """Begin with nothing more, nor wait for what is under way; nothing if it never started."""
        if self._pool.started:
            self._pool.stop()

    def run(
        self,
        check: Callable[[], T],
        address: str,
        user: str,
        *,
        known: bool = False,
        failed: bool = False,
        floods: bool = False,
    ) -> Deferred[T]:
        """The answer of `check`, which takes long, in the reactor.

        Args:
            known: users whom the address is known to have; all of them have a place of their own.
            failed: one who has failed from the address; so have these.
            floods: some of those - of that user, where it is known - may be given up.
        """
        if known:
            address = f"{address} known"
        elif failed:
            address = f"{address} failed"
        else:
            floods = False
        answer: Deferred[T] = Deferred()
        self._long.put(address, user, (check, answer))
        self._go_on()
        flooding = user if known else None
        while floods and self._long.waiting(address, flooding) > FLOOD_WAITING:
            self._long.drop(address, flooding)[1].errback(GivenUpError())
        return answer

    def look(self, up: Callable[[], T]) -> Deferred[T]:
        """The answer of `up`, which takes no time but may have to read a file, in the reactor."""
        answer: Deferred[T] = Deferred()
        self._short.append((up, answer))
        self._go_on()
        return answer

    def read(self, files: Callable[[], T]) -> Deferred[T]:
        """The answer of `files`, which may parse for seconds, in the reactor; one at a time.

        Nobody who logs in waits for it, and the reactor has the interpreter back sooner than usual.
        """

        def yielding() -> T:
            before = sys.getswitchinterval()
            sys.setswitchinterval(READING_SWITCH_S)
            try:
                return files()
            finally:
                sys.setswitchinterval(before)

        return deferToThreadPool(self._reactor, self._pool, yielding)

    def beside(self, ask: Callable[[], T]) -> Deferred[T]:
        """The answer of `ask`, which has nothing to do with these, in the reactor."""
        return deferToThreadPool(self._reactor, self._pool, ask)

    def derive_for(self, name: str) -> Callable[[Derivation, Callable[[int], None]], None]:
        """A face's `Derive`, for an upstream of that name."""

        def derive(derivation: Derivation, done: Callable[[int], None]) -> None:
            answer = self.run(derivation.run, f"upstream {name}", "")
            answer.addCallback(lambda _none: done(self._now_ms()))

        return derive

    def _go_on(self) -> None:
        while self._long and self._long_running < PASSWORD_THREADS:
            self._long_running += 1
            self._begin(self._long.take(), self._long_over)
        if self._short and not self._looking:
            self._looking = True
            self._begin(self._short.popleft(), self._look_over)

    def _begin(self, job: Job, over: Callable[[], None]) -> None:
        call, answer = job

        def ended(result: object) -> None:
            over()
            # A failure goes on as one.
            answer.callback(result)
            self._go_on()

        deferToThreadPool(self._reactor, self._pool, call).addBoth(ended)

    def _long_over(self) -> None:
        self._long_running -= 1

    def _look_over(self) -> None:
        self._looking = False

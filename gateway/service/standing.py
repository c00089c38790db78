"""A stop that the event loop does not hear of, since something holds it that never returns.

A read from a file system that is gone cannot be ended, and the loop must not wait for one; should
it do so all the same, it is no reason to stay: who told the gateway to stop would have to kill it.
So a thread hears of the signal as well, asks the loop for a sign of life as long as connections are
drained and closed, and ends the process if there is none. What is on disk is as after a kill.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from threading import Event, Thread
from typing import Final, final

from gateway.store.interface import CallInReactor

LOOK_S: Final = 1.0
STANDS_S: Final = 5.0
TIMES: Final = 2  # the first may have passed while the whole process was stopped


@final
class Standing:
    """Of one process.

    Args:
        signals: which of them tell it to stop.
        call_in_reactor: has the loop call something.
        over: whether the end no more needs the loop.
        end: ends the process.
    """

    def __init__(
        self,
        signals: tuple[signal.Signals, ...],
        call_in_reactor: CallInReactor,
        over: Callable[[], bool],
        end: Callable[[], None],
    ) -> None:
        self._signals = signals
        self._call_in_reactor = call_in_reactor
        self._over = over
        self._end = end

    def watch(self) -> None:
        """From now on; in the main thread."""
        reader, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(writer, False)
        # Written when a signal comes, whatever the main thread waits for.
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        Thread(target=self._run, args=(reader,), name="signals", daemon=True).start()

    def _run(self, reader: int) -> None:
        while os.read(reader, 1)[0] not in self._signals:
            pass
        while not self._over():
            if not self._turns():
                self._end()
            Event().wait(LOOK_S)

    def _turns(self) -> bool:
        """Whether the loop still does."""
        sign = Event()
        self._call_in_reactor(sign.set)
        return any(sign.wait(STANDS_S) or self._over() for _ in range(TIMES))

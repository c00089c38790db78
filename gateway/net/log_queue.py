"""Lines of the log on their way out: whoever logs never waits for who takes them.

A write to a pipe that nobody reads, to a terminal that was stopped or to a disk that does not
answer may never return, and nothing can end it. So a thread of its own writes, for which neither
the event loop nor the end of the process waits; the descriptor stays as it is, since others may
write to it, too. What it does not take fills a queue, then lines are dropped and counted: until the
queue is empty, so that the gap is one and the line that tells of it stands in it.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable
from itertools import accumulate
from threading import Condition, Thread
from typing import Final, final

QUEUE_OCTETS: Final = 1024 * 1024
CRITICAL_OCTETS: Final = 64 * 1024  # beyond that: the last words of a process find room
LINE_OCTETS: Final = 64  # what a line takes beside its own
FLUSH_S: Final = 1.0


@final
class LogQueue:
    """Lines for one descriptor.

    Args:
        gap: the line that says how many are missing where it stands.

    Attributes:
        dropped: lines that were not written, or not whole.
    """

    def __init__(
        self, descriptor: int, gap: Callable[[int], bytes], *, octets_max: int = QUEUE_OCTETS
    ) -> None:
        self.dropped = 0
        self._descriptor = descriptor
        self._gap = gap
        self._octets_max = octets_max
        self._lines: deque[bytes] = deque()
        self._octets = 0  # with those that are being written
        self._busy = False  # its thread has something in hand
        self._full = False
        self._untold = 0
        self._torn = False  # the last line that was written was cut
        self._hung = False
        # Reentrant: an object that is collected while a line is put may log as well.
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="log", daemon=True)

    def start(self) -> None:
        """Write, from now on."""
        self._thread.start()

    def put(self, line: bytes, *, critical: bool = False) -> None:
        """Have a line written, with its end; from any thread, at once. One always finds room."""
        octets = len(line) + LINE_OCTETS
        with self._changed:
            room = self._octets_max + (CRITICAL_OCTETS if critical else 0)
            waits = self._octets > 0
            if waits and ((self._full and not critical) or self._octets + octets > room):
                self._full = True
                self._drop(1)
                return
            self._lines.append(line)
            self._octets += octets
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all of it is written, `FLUSH_S` at most; nobody waits a second time."""
        with self._changed:
            patience_s = 0 if self._hung else FLUSH_S
            self._hung = not self._changed.wait_for(self._is_done, patience_s)

    def _run(self) -> None:
        """In its thread."""
        while True:
            lines = self._next()
            lost = self._write(lines)
            with self._changed:
                self._drop(lost)
                untold = self._untold if not self._lines and not lost else 0
                self._octets -= sum(map(len, lines)) + LINE_OCTETS * len(lines)
                if not self._lines:
                    self._full = False
            # It stands before whatever is put from now on; for that there is room again, or a gap
            # would end with one more that nothing tells of.
            told = untold > 0 and self._write([self._gap(untold)]) == 0
            with self._changed:
                self._untold -= untold if told else 0
                self._busy = False
                self._changed.notify_all()

    def _is_done(self) -> bool:
        return not self._lines and not self._busy

    def _drop(self, count: int) -> None:
        self.dropped += count
        self._untold += count

    def _next(self) -> list[bytes]:
        """Wait for a line; with it come as many as a pipe takes in one piece, or not at all."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines)
            self._busy = True
            lines = [self._lines.popleft()]
            room = select.PIPE_BUF - len(lines[0])
            while self._lines and len(self._lines[0]) <= room:
                lines.append(self._lines.popleft())
                room -= len(lines[-1])
            return lines

    def _write(self, lines: list[bytes]) -> int:
        """How many of them have not been written whole."""
        whole = [b"\n" + lines[0], *lines[1:]] if self._torn else lines
        octets, done = b"".join(whole), 0
        while done < len(octets):
            try:
                done += os.write(self._descriptor, octets[done:])
            except BlockingIOError:  # somebody who shares it has made it so
                self._wait_for_room()
            except OSError:
                break
        ends = [*accumulate(map(len, whole))]
        if done:
            self._torn = done not in ends
        return sum(end > done for end in ends)

    def _wait_for_room(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        poll.poll()

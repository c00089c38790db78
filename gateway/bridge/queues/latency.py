"""How long publishers wait to be told, and copies until they are settled: at no call for each.

Time is read where a turn begins and ends, and where the disk has answered, and not for a message:
what happens in a turn happens at one moment. So what came in one turn and ends in another took
equally long: it is counted by a `Run`, which is put into the buckets once.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.wire.durations import Durations

UPSTREAM: Final = 2  # beside the numbers of `Encoding`: an upstream's, whatever it speaks
MEMORY: Final = 0
DISK: Final = 1
NEVER_US: Final = -1


@final
class Run:
    """What began at one moment, and ends in the turn under way.

    Whoever counts one says ``if run.since_us == since_us: run.count += 1``, else `begin`.

    Attributes:
        durations: of all that was counted before.
        since_us: the moment; `NEVER_US`: nothing is counted now.
    """

    __slots__ = ("_latency", "count", "durations", "since_us")

    def __init__(self, latency: Latency) -> None:
        self._latency = latency
        self.durations = Durations()
        self.since_us: int64 = NEVER_US
        self.count: int64 = 0

    def begin(self, since_us: int) -> None:
        """The first of another moment."""
        if self.count == 0:
            self._latency.running.append(self)
        else:
            self.end()
        self.since_us = since_us
        self.count = 1

    def count_one(self, since_us: int) -> None:
        """One more, where there is a call for each anyhow."""
        if self.since_us == since_us:
            self.count += 1
        else:
            self.begin(since_us)

    def end(self) -> None:
        """Put what is counted into the buckets."""
        took_us = self._latency.now_us - self.since_us
        if took_us < 0:  # it came in the turn that is under way, and was dated by its message
            took_us = 0
        self.durations.add(took_us, self.count)
        self.since_us = NEVER_US
        self.count = 0


@final
class Arrivals:
    """Publishes of one protocol.

    Attributes:
        told: of this turn, those whose publishers hear at its end, whatever the disk does.
        stored: of this turn, those whose publishers hear when it is safe.
        runs: how long they took: by `MEMORY`, `DISK` and `UPSTREAM`.
    """

    __slots__ = ("runs", "stored", "told")

    def __init__(self, latency: Latency) -> None:
        self.told: int64 = 0
        self.stored: int64 = 0
        self.runs = [Run(latency) for _ in range(UPSTREAM + 1)]


@final
class Latency:
    """Of everything.

    Attributes:
        now_us: the moment of what is done now: the gateway's clock, in microseconds.
        arrivals: by `Encoding`.
        settled: what subscribers have settled for good: by where it came from a list by where it
            went, each by `Encoding`, or `UPSTREAM`.
        running: runs that are counted now.
    """

    __slots__ = ("_began_us", "_unsafe", "arrivals", "now_us", "running", "settled")

    def __init__(self) -> None:
        self.now_us: int64 = 0
        self.running: list[Run] = []
        self.arrivals = [Arrivals(self) for _ in range(UPSTREAM)]
        self.settled = [[Run(self) for _ in range(UPSTREAM + 1)] for _ in range(UPSTREAM + 1)]
        self._began_us: int64 = NEVER_US
        self._unsafe: deque[tuple[int, int, list[int]]] = deque()

    def run(self) -> Run:
        """For something else that ends in turns."""
        return Run(self)

    def settled_by(self, target: int, *, inbound: bool) -> list[Run]:
        """For a subscription of that `target`: by the `Encoding` of what it settles.

        `inbound`: of a queue at an upstream.
        """
        if inbound:
            return [self.settled[UPSTREAM][target]] * UPSTREAM
        return [self.settled[source][target] for source in range(UPSTREAM)]

    def at(self, now_us: int) -> None:
        """It is so late now: a turn begins or ends, or the disk has answered."""
        for run in self.running:
            run.end()
        self.running.clear()
        self.now_us = now_us
        if self._began_us == NEVER_US:
            self._began_us = now_us

    def end_turn(self, number: int, *, over: bool) -> None:
        """Publishers hear of the turn `number`; it goes on, unless it is `over`."""
        stored = [0 for _ in self.arrivals]
        for source, arrivals in enumerate(self.arrivals):
            if arrivals.told:
                arrivals.runs[MEMORY].durations.add(self.now_us - self._began_us, arrivals.told)
                arrivals.told = 0
            if over:
                stored[source] = int(arrivals.stored)
                arrivals.stored = 0
        if any(stored):
            self._unsafe.append((number, int(self._began_us), stored))
        if over:
            self._began_us = NEVER_US

    def tell(self, safe: int) -> None:
        """Everything up to the turn `safe` is safe."""
        unsafe = self._unsafe
        while unsafe and unsafe[0][0] <= safe:
            _, began_us, stored = unsafe.popleft()
            for source, count in enumerate(stored):
                if count:
                    run = self.arrivals[source].runs[DISK]
                    run.durations.add(int(self.now_us) - began_us, count)

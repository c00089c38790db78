"""Work of the bridge that may be too much for one turn: what is left over is done in later ones.

Whoever has such work makes a `Piecework` of it, whose state others may see between two turns: what
has lost its name is gone at once, and what is left to do concerns nobody else. It is begun at once
as long as the turn has room for it; what is left of all such works goes on a share a turn, in turn,
so that a long one does not keep a short one waiting.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol, final

from mypy_extensions import i64 as int64

from gateway.wire.work import SHARE, WORK


class Piecework(Protocol):
    """Work that can be left off and gone on with."""

    def who(self) -> str:
        """What is worked at, for people."""

    def go_on(self, end: int) -> bool:
        """Go on until `WORK.units` is above `end`; whether it is done, whoever waited told."""


@final
class Spread:
    """The works that are not done yet.

    Attributes:
        units: how much the costliest was that went on in this turn; `costliest`: which.
    """

    __slots__ = ("_room", "_waiting", "costliest", "units")

    def __init__(self) -> None:
        self.costliest: Piecework | None = None
        self.units: int64 = 0
        self._waiting: deque[Piecework] = deque()
        self._room = SHARE  # in this turn, for what is begun

    @property
    def has_work(self) -> bool:
        """Whether there is more to do in the next turn."""
        return len(self._waiting) > 0

    def begin(self, work: Piecework) -> bool:
        """Do it, or what this turn has room for; whether it is done."""
        began = WORK.units
        done = self._room > 0 and work.go_on(began + self._room)
        self._room -= WORK.units - began
        if not done:
            self.put_off(work)
        return done

    def put_off(self, work: Piecework) -> None:
        """All of it is for later turns."""
        WORK.cut += 1
        self._waiting.append(work)

    def run(self) -> None:
        """A turn's share of what is left."""
        self._room = SHARE
        self.costliest = None
        self.units = 0
        waiting = self._waiting
        end = WORK.units + SHARE
        while waiting and WORK.units <= end:
            work = waiting.popleft()
            began = WORK.units
            if not work.go_on(end):
                waiting.append(work)
            if self.costliest is None or WORK.units - began > self.units:
                self.units = WORK.units - began
                self.costliest = work

"""What one connection has asked for, in order; in each turn it may have a share of it done.

Events are carried out in their order until the connection has had its share, in units of `work`.
The others are kept, reading pauses, and each following turn carries out another share of them, so
that a connection which asks for much holds up itself and nobody else. It may well be gone before
all that it sent has been carried out: it ends behind that.
"""

from __future__ import annotations

from typing import Generic, TypeVar, final

from mypy_extensions import i64 as int64

from gateway.wire.work import SHARE, WORK

E = TypeVar("E")


@final
class Agenda(Generic[E]):
    """The events of one connection that are carried out, or wait.

    Attributes:
        waiting: those that came and are not carried out yet.
        costliest: of those that were carried out last, the one of most work: for whoever asks what
            took so long.
        ended: nothing more comes, and the connection is over behind what waits.
    """

    __slots__ = ("costliest", "ended", "waiting")

    def __init__(self) -> None:
        self.waiting: list[E] = []
        self.costliest: E | None = None
        self.ended = False

    def come(self, events: list[E]) -> bool:
        """More has come; whether it can begin now, since nothing waits before it."""
        if not self.waiting:
            return True
        self.waiting.extend(events)
        return False

    def begin(self) -> int64:
        """A share of this turn begins; the units at which it is over."""
        self.costliest = None
        return WORK.units + SHARE

    def wait(self, events: list[E], done: int) -> None:
        """The share is over: all but the first of these wait, which are done."""
        WORK.cut += 1
        self.waiting.extend(events[done:])

    def take(self) -> list[E]:
        """What waits, to be carried out from where it was left."""
        waiting = self.waiting
        self.waiting = []
        return waiting

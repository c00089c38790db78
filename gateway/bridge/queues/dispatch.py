"""From queues to outlets: which lines have something to do, and how much of it is done in one turn.

Each queue with subscriptions has a `Line`, which says who gets which copy. The `Dispatcher` runs
the lines that have something to do until the turn's budget is used up: a slice of it each. A line
for which that was not enough goes on when those have had theirs that have only just got something
to do, so that whoever has much to get holds up nobody who gets little; but one of these each turn
has a slice before all others, whatever they are.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

from mypy_extensions import i64 as int64

from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.subscription import Subscription
from gateway.wire.work import SHARE, SLICE, SLICES, WORK

if TYPE_CHECKING:
    from gateway.bridge.queues.line import Line


@final
class Dispatcher:
    """Which lines have work, and how much may be done in this turn.

    Attributes:
        budget: copies that the line under way may still send, have expired or look at; none as soon
            as it has had its slice, or dispatching its share of the turn.
        end: the units at which that is so.
        units: how much the costliest line was in this turn.
        stopped: nothing is sent any more (graceful stop).
        links: every subscription by number that lives or has unsettled deliveries.
    """

    __slots__ = (
        "_behind",
        "_costliest",
        "_held",
        "_left",
        "_ready",
        "budget",
        "copies",
        "end",
        "links",
        "stopped",
        "units",
    )

    def __init__(self, copies: Copies) -> None:
        self.copies = copies
        self.budget = 0
        self.stopped = False
        self.links: dict[int, Subscription] = {}
        self._ready: deque[Line] = deque()
        self._behind: deque[Line] = deque()  # had a slice that was not enough
        self._held: list[Line] = []
        self._left = 0  # of its budget, when the work of the line under way was cut off
        self._costliest: Line | None = None
        self.units: int64 = 0
        self.end: int64 = 0

    @property
    def has_work(self) -> bool:
        """Whether a line waits for its turn."""
        return len(self._ready) > 0 or len(self._behind) > 0

    def schedule(self, line: Line) -> None:
        """Run `line` at the end of this turn."""
        if not line.scheduled:
            line.scheduled = True
            self._ready.append(line)

    def run(self, budget: int) -> None:
        """Serve every ready line, in turn, while the budget and the share of work last."""
        self._costliest = None
        self.units = 0
        ready, behind = self._ready, self._behind
        if behind:
            ready.appendleft(behind.popleft())
        part = max(1, budget // SLICES)
        start = WORK.units
        last = start + SHARE
        while budget > 0 and start <= last:
            waiting = ready or behind
            if not waiting:
                return
            line = waiting.popleft()
            if line.queue.rows.safe_after > self.copies.turns.safe:
                self._held.append(line)  # and remains scheduled
                continue
            self.end = start + SLICE
            whole = part <= budget and self.end <= last
            if self.end > last:
                self.end = last
            self.budget = given = min(part, budget)
            self._left = 0
            line.scheduled = False
            if line.run():
                self._put_back(line, waiting, whole)
            budget -= given - self.budget - self._left
            units = WORK.units
            self._note(line, units - start)
            start = units
        if start > last and self.has_work:
            WORK.cut += 1

    def _put_back(self, line: Line, waiting: deque[Line], whole: bool) -> None:
        """It has more to do; if it has not had a whole slice it is the first again."""
        if line.scheduled:
            return
        line.scheduled = True
        if self.budget > 0:
            self._ready.append(line)
        elif whole:
            self._behind.append(line)
        else:
            waiting.appendleft(line)

    def _note(self, line: Line, units: int64) -> None:
        if line is self._costliest:
            self.units += units
        elif self._costliest is None or units > self.units:
            self.units = units
            self._costliest = line

    def spend(self, units: int64) -> None:
        """Dispatching has cost so much more; the line is over for now if it is too much."""
        WORK.units += units
        if WORK.units > self.end:
            self.cut()

    def cut(self) -> None:
        """The line under way has had its slice."""
        if self.budget > 0:
            self._left = self.budget
            self.budget = 0

    def who(self) -> str:
        """The queue that was most work in this turn, for people."""
        line = self._costliest
        if line is None:
            return "no queue: of what the turn has for the disk"
        users = line.queue.users.subscriptions
        return f"queue {line.queue.name!r}, which has {users} subscriptions"

    def on_safe(self) -> None:
        """Lines that waited for the mark of their queue to be safe may go on."""
        if not self._held:
            return
        safe = self.copies.turns.safe
        self._ready.extend([line for line in self._held if line.queue.rows.safe_after <= safe])
        self._held = [line for line in self._held if line.queue.rows.safe_after > safe]

"""From queues to outlets: which lines have something to do, and how much of it is done in one turn.

Each queue with subscriptions has a `Line`, which says who gets which copy. The `Dispatcher` runs
the lines that have something to do until the turn's budget is used up.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

from mypy_extensions import i64 as int64

from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.subscription import Subscription
from gateway.wire.work import SHARE, WORK

if TYPE_CHECKING:
    from gateway.bridge.queues.line import Line


@final
class Dispatcher:
    """Which lines have work, and how much may be done in this turn.

    Attributes:
        budget: copies that may still be sent, expired or looked at in this turn; none as soon as
            all together has been the share of work that dispatching has in a turn.
        end: the units at which its share of this turn is over.
        units: how much the costliest line was in this turn.
        stopped: nothing is sent any more (graceful stop).
        links: every subscription by number that lives or has unsettled deliveries.
    """

    __slots__ = (
        "_costliest",
        "_held",
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
        self._held: list[Line] = []
        self._costliest: Line | None = None
        self.units: int64 = 0
        self.end: int64 = 0

    @property
    def has_work(self) -> bool:
        """Whether a line waits for its turn."""
        return len(self._ready) > 0

    def schedule(self, line: Line) -> None:
        """Run `line` at the end of this turn."""
        if not line.scheduled:
            line.scheduled = True
            self._ready.append(line)

    def run(self, budget: int) -> None:
        """Serve every ready line, in turn, while the budget lasts."""
        self.budget = budget
        self._costliest = None
        self.units = 0
        ready = self._ready
        start = WORK.units
        self.end = start + SHARE
        while ready and self.budget > 0:
            line = ready.popleft()
            if line.queue.rows.safe_after > self.copies.turns.safe:
                self._held.append(line)  # and remains scheduled
                continue
            line.scheduled = False
            if line.run():
                self.schedule(line)
            units = WORK.units
            if self._costliest is None or units - start > self.units:
                self.units = units - start
                self._costliest = line
            start = units

    def spend(self, units: int64) -> None:
        """Dispatching has cost so much more; it goes on in the next turn if it is too much."""
        WORK.units += units
        if WORK.units > self.end:
            self.cut()

    def cut(self) -> None:
        """Dispatching has had its share of this turn."""
        if self.budget > 0:
            self.budget = 0
            WORK.cut += 1

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

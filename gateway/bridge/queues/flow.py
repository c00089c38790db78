"""Whose publishes to one queue are withheld, until there is less in it.

As a qpidd has it: above its stop, whoever puts a copy in hears of that when the queue has fallen
below its resume, or when that very copy has left.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.queues.discipline import FlowLimits
from gateway.bridge.tickets import Ticket


@final
class FlowControl:
    """That of one queue.

    Attributes:
        stopped: more was in it than its stop, and it has not fallen below its resume since.
        withheld: publishes by the position of their copy, in the order in which they came.
    """

    __slots__ = (
        "_resume_count",
        "_resume_size",
        "_stop_count",
        "_stop_size",
        "stopped",
        "withheld",
    )

    def __init__(self, limits: FlowLimits) -> None:
        self._stop_count = limits.stop_count
        self._stop_size = limits.stop_size
        self._resume_count = limits.resume_count
        self._resume_size = limits.resume_size
        self.stopped = False
        self.withheld: dict[int, Ticket] = {}

    def tighten(self, stop_count: int, resume_count: int) -> None:
        """No more than that, whatever else is its stop."""
        if self._stop_count == 0 or self._stop_count > stop_count:
            self._stop_count = stop_count
        if self._resume_count == 0 or self._resume_count > resume_count:
            self._resume_count = resume_count

    def came(self, count: int, octets: int) -> None:
        """A copy came in; so much is there now."""
        if (count > self._stop_count > 0) or (octets > self._stop_size > 0):
            self.stopped = True

    def left(self, count: int, octets: int) -> None:
        """A copy left; so much is there now."""
        if (
            self.stopped
            and (self._resume_count == 0 or count < self._resume_count)
            and (self._resume_size == 0 or octets < self._resume_size)
        ):
            self.stopped = False

    def withhold(self, position: int, ticket: Ticket) -> None:
        """The copy at `position` is one that the publish `ticket` waits for."""
        ticket.left += 1
        self.withheld[position] = ticket

    def let_go(self, position: int) -> list[Ticket]:
        """Publishes that need not wait for a copy any more, as that at `position` has left."""
        if not self.stopped:
            return self.let_all_go()
        ticket = self.withheld.pop(position, None)
        return [] if ticket is None else [ticket]

    def let_all_go(self) -> list[Ticket]:
        """Publishes that need not wait for their copies any more: all of them."""
        tickets = list(self.withheld.values())
        self.withheld.clear()
        return tickets

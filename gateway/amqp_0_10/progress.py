"""Which of the commands that went one way on a session are completed.

Ids are serial numbers, given in sequence; completions come in any order, but mostly in sequence
and as ranges.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_0_10.primitives import Ranges
from gateway.wire.serial import MASK, RangeSet, add, distance


@final
class Progress:
    """Commands `first` .. `next` - 1: all before `low` are completed, those in `_ahead` too."""

    __slots__ = ("_ahead", "first", "low", "next")

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.low = first
        self.next = first
        self._ahead = RangeSet()

    def advance(self) -> int:
        """One more command; its id."""
        command_id = self.next
        self.next = (command_id + 1) & MASK
        return command_id

    def incomplete(self) -> int:
        """How many commands are not completed."""
        return distance(self.low, self.next) - self._ahead.count()

    def is_complete(self, command_id: int) -> bool:
        """Whether a command is completed."""
        return distance(command_id, self.low) > 0 or command_id in self._ahead

    def complete(self, first: int, last: int) -> Ranges:
        """Complete a range; those of it that were not yet, and exist, as ranges."""
        if distance(first, self.low) > 0:
            first = self.low
        if distance(last, self.next) <= 0:
            last = add(self.next, -1)
        if distance(first, last) < 0:
            return []
        if not self._ahead:
            if first == self.low:
                self.low = add(last, 1)
            else:
                self._ahead.add_range(first, last)
            return [(first, last)]
        return self._complete_among(first, last)

    def _complete_among(self, first: int, last: int) -> Ranges:
        new = RangeSet()
        new.add_range(first, last)
        for low, high in self._ahead.ranges:
            new.remove_range(low, high)
        self._ahead.add_range(first, last)
        ranges = self._ahead.ranges
        if ranges[0][0] == self.low:
            self.low = add(ranges[0][1], 1)
            del ranges[0]
        return new.ranges

"""Which of the commands that went one way on a session are completed.

Ids are serial numbers, given in sequence; completions come in any order, but mostly in sequence
and as ranges. A peer chooses its ranges, so nothing here costs more than a binary search and a
`list` insertion for each of them.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10.primitives import Ranges
from gateway.wire.serial import MASK, add, distance, place

MEMORY: Final = 1 << 30  # commands that have come, of which a peer may speak
AHEAD: Final = 1 << 29  # and that have not


def subtract(have: Ranges, gone: Ranges) -> Ranges:
    """`have` without `gone`; both ascending and without overlaps."""
    left: Ranges = []
    at = 0
    for low, high in have:
        while at < len(gone) and distance(gone[at][1], low) > 0:
            at += 1
        k = at
        while k < len(gone) and distance(gone[k][0], high) >= 0 and distance(low, high) >= 0:
            if distance(low, gone[k][0]) > 0:
                left.append((low, add(gone[k][0], -1)))
            low = add(gone[k][1], 1)
            k += 1
        if distance(low, high) >= 0:
            left.append((low, high))
    return left


def insert(ranges: Ranges, first: int, last: int) -> Ranges:
    """Put a range into ascending ones, which do not touch; what of it was not there."""
    if not ranges or distance(ranges[-1][1], first) > 1:
        ranges.append((first, last))
        return [(first, last)]
    at = place(ranges, add(first, -1))
    stop = at
    while stop < len(ranges) and distance(ranges[stop][0], last) >= -1:
        stop += 1
    new = subtract([(first, last)], ranges[at:stop])
    if stop > at:
        if distance(ranges[at][0], first) > 0:
            first = ranges[at][0]
        if distance(last, ranges[stop - 1][1]) > 0:
            last = ranges[stop - 1][1]
    ranges[at:stop] = [(first, last)]
    return new


@final
class Progress:
    """Commands `first` .. `next` - 1: all before `low` are completed, those in `ahead` too.

    Attributes:
        first: or of very many one that is `MEMORY` in front of `low`.
        ahead: completed ranges behind the first gap, ascending, not touching.
    """

    __slots__ = ("_ahead_count", "ahead", "first", "low", "next")

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.low = first
        self.next = first
        self.ahead: Ranges = []
        self._ahead_count = 0

    def advance(self) -> int:
        """One more command; its id."""
        command_id = self.next
        self.next = (command_id + 1) & MASK
        return command_id

    def follow(self) -> None:
        """Forget the first of very many: serial numbers tell which of two is first half round."""
        if distance(self.first, self.low) > MEMORY:
            self.first = add(self.low, -MEMORY)

    def incomplete(self) -> int:
        """How many commands are not completed."""
        return distance(self.low, self.next) - self._ahead_count

    def is_complete(self, command_id: int) -> bool:
        """Whether a command is completed."""
        if distance(command_id, self.low) > 0:
            return True
        at = place(self.ahead, command_id)
        return at < len(self.ahead) and distance(self.ahead[at][0], command_id) >= 0

    def complete_next(self, first: int, last: int) -> bool:
        """Complete a range, if it is the one after all that are completed; whether it was."""
        if first != self.low or self.ahead:
            return False
        if distance(first, last) < 0 or distance(last, self.next) <= 0:
            return False
        self.low = (last + 1) & MASK
        return True

    def complete(self, first: int, last: int) -> Ranges:
        """Complete a range; those of it that were not yet, and exist, as ranges."""
        if distance(first, self.low) > 0:
            first = self.low
        if distance(last, self.next) <= 0:
            last = add(self.next, -1)
        if distance(first, last) < 0:
            return []
        if not self.ahead and first == self.low:
            self.low = add(last, 1)
            return [(first, last)]
        ahead = self.ahead
        new = insert(ahead, first, last)
        for low, high in new:
            self._ahead_count += distance(low, high) + 1
        low, high = ahead[0]
        if low == self.low:
            self.low = add(high, 1)
            self._ahead_count -= distance(low, high) + 1
            del ahead[0]
        return new

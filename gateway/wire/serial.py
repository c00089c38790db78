"""Serial numbers (RFC 1982) and sets of them as ranges.

AMQP 0-10 command ids (`sequence-no`) and AMQP 1.0 delivery ids and transfer counts (`sequence-no`,
part 2.8.10) are 32-bit serial numbers: they wrap, and which of two comes first is defined only for
distances under 2^31.
"""

from __future__ import annotations

from typing import Final, final

MASK: Final = 0xFFFFFFFF
HALF: Final = 0x80000000


def add(serial: int, count: int) -> int:
    """The serial number `count` after `serial` (before it, when negative)."""
    return (serial + count) & MASK


def distance(start: int, end: int) -> int:
    """How far `end` lies after `start`: -2^31 .. 2^31 - 1."""
    gap = (end - start) & MASK
    return gap - 4294967296 if gap >= HALF else gap


def place(ranges: list[tuple[int, int]], serial: int) -> int:
    """Index of the first of ascending ranges that ends at or behind `serial`."""
    low = 0
    high = len(ranges)
    while low < high:
        middle = (low + high) // 2
        if distance(ranges[middle][1], serial) > 0:
            low = middle + 1
        else:
            high = middle
    return low


@final
class RangeSet:
    """A set of serial numbers, kept as ascending disjoint ranges ``(first, last)``, both inclusive.

    Built for acknowledgement: adding at the end or next to an existing range is the common case,
    and costs constant time. A peer may choose its ranges, so anything else costs a binary search,
    and what is taken away. All members must lie within 2^31 of one another, as session windows
    ensure.
    """

    __slots__ = ("ranges",)

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    def __bool__(self) -> bool:
        return len(self.ranges) > 0

    def __contains__(self, serial: object) -> bool:
        assert isinstance(serial, int)
        at = place(self.ranges, serial)
        return at < len(self.ranges) and distance(self.ranges[at][0], serial) >= 0

    def add(self, serial: int) -> None:
        """Add one serial number."""
        self.add_range(serial, serial)

    def add_range(self, first: int, last: int) -> None:
        """Add all from `first` to `last`; they must be in order (the caller checked the peer's)."""
        ranges = self.ranges
        if not ranges:
            ranges.append((first, last))
            return
        gap = distance(ranges[-1][1], first)
        if gap == 1:
            ranges[-1] = (ranges[-1][0], last)
            return
        if gap > 1:
            ranges.append((first, last))
            return
        at = place(self.ranges, add(first, -1))
        stop = at
        while stop < len(ranges) and distance(ranges[stop][0], last) >= -1:
            stop += 1
        if stop > at:
            if distance(ranges[at][0], first) > 0:
                first = ranges[at][0]
            if distance(last, ranges[stop - 1][1]) > 0:
                last = ranges[stop - 1][1]
        ranges[at:stop] = [(first, last)]

    def remove_range(self, first: int, last: int) -> None:
        """Remove all from `first` to `last`."""
        ranges = self.ranges
        at = place(self.ranges, first)
        stop = at
        while stop < len(ranges) and distance(ranges[stop][0], last) >= 0:
            stop += 1
        if stop == at:
            return
        kept: list[tuple[int, int]] = []
        low = ranges[at][0]
        high = ranges[stop - 1][1]
        if distance(low, first) > 0:
            kept.append((low, add(first, -1)))
        if distance(last, high) > 0:
            kept.append((add(last, 1), high))
        ranges[at:stop] = kept

    def within(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts of the set from `first` to `last`, as ranges."""
        found: list[tuple[int, int]] = []
        ranges = self.ranges
        at = place(self.ranges, first)
        while at < len(ranges) and distance(ranges[at][0], last) >= 0:
            low, high = ranges[at]
            found.append(
                (
                    low if distance(first, low) >= 0 else first,
                    high if distance(high, last) >= 0 else last,
                )
            )
            at += 1
        return found

    def count(self) -> int:
        """How many serial numbers are in the set."""
        total = 0
        for first, last in self.ranges:
            total += distance(first, last) + 1
        return total

    def take(self) -> list[tuple[int, int]]:
        """The ranges, leaving the set empty."""
        ranges = self.ranges
        self.ranges = []
        return ranges

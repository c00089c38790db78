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


@final
class RangeSet:
    """A set of serial numbers, kept as ascending disjoint ranges ``(first, last)``, both inclusive.

    Built for acknowledgement: adding at the end or next to an existing range is the common case,
    and costs constant time. All members must lie within 2^31 of one another, as session windows
    ensure.
    """

    __slots__ = ("ranges",)

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    def __bool__(self) -> bool:
        return len(self.ranges) > 0

    def __contains__(self, serial: object) -> bool:
        assert isinstance(serial, int)
        return any(
            distance(first, serial) >= 0 and distance(serial, last) >= 0
            for first, last in self.ranges
        )

    def add(self, serial: int) -> None:
        """Add one serial number."""
        self.add_range(serial, serial)

    def add_range(self, first: int, last: int) -> None:
        """Add all from `first` to `last`; they must be in order (the caller checked the peer's)."""
        ranges = self.ranges
        if ranges and distance(ranges[-1][1], first) == 1:
            ranges[-1] = (ranges[-1][0], last)
            return
        at = len(ranges)
        while at > 0 and distance(ranges[at - 1][0], first) < 0:
            at -= 1
        # `at` is the place after every range that starts at or before `first`.
        if at > 0 and distance(ranges[at - 1][1], first) <= 1:
            at -= 1
            low, high = ranges[at]
            if distance(high, last) <= 0:
                return
            ranges[at] = (low, last)
        else:
            ranges.insert(at, (first, last))
        self._absorb(at)

    def _absorb(self, at: int) -> None:
        ranges = self.ranges
        low, high = ranges[at]
        stop = at + 1
        while stop < len(ranges) and distance(high, ranges[stop][0]) <= 1:
            if distance(high, ranges[stop][1]) > 0:
                high = ranges[stop][1]
            stop += 1
        if stop > at + 1:
            ranges[at] = (low, high)
            del ranges[at + 1 : stop]

    def remove_range(self, first: int, last: int) -> None:
        """Remove all from `first` to `last`."""
        kept: list[tuple[int, int]] = []
        for low, high in self.ranges:
            if distance(high, first) > 0 or distance(last, low) > 0:
                kept.append((low, high))
                continue
            if distance(low, first) > 0:
                kept.append((low, add(first, -1)))
            if distance(last, high) > 0:
                kept.append((add(last, 1), high))
        self.ranges = kept

    def within(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts of the set from `first` to `last`, as ranges."""
        found: list[tuple[int, int]] = []
        for low, high in self.ranges:
            low_in = low if distance(first, low) >= 0 else first
            high_in = high if distance(high, last) >= 0 else last
            if distance(low_in, high_in) >= 0:
                found.append((low_in, high_in))
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

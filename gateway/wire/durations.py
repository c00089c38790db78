"""How long something took, each time that it happened: in buckets, for a histogram."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

# Microseconds: what is in a bucket took at most so long.
BOUNDS_US: Final = (
    *(100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000),
    *(1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000),
    *(300_000_000, 1_800_000_000),
)


@final
class Durations:
    """Counts by upper bound, and the sum.

    Attributes:
        total_us: of all of them.
    """

    __slots__ = ("_counts", "total_us")

    def __init__(self) -> None:
        self._counts = [0 for _ in range(len(BOUNDS_US) + 1)]
        self.total_us = 0

    def add(self, microseconds: int, count: int = 1) -> None:
        """So many took so long each."""
        at: int64 = 0
        for bound in BOUNDS_US:
            if microseconds <= bound:
                break
            at += 1
        self._counts[at] += count
        self.total_us += microseconds * count

    @property
    def total_s(self) -> float:
        """Of all of them, in seconds."""
        return self.total_us / 1e6

    def cumulative(self) -> list[tuple[str, float]]:
        """``(upper bound in seconds, how many took at most that)``, the last bound ``+Inf``."""
        below = 0
        rows: list[tuple[str, float]] = []
        for bound, count in zip(BOUNDS_US, self._counts, strict=False):
            below += count
            rows.append((repr(bound / 1e6), float(below)))
        rows.append(("+Inf", float(below + self._counts[-1])))
        return rows

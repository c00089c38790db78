"""What took too long, by the bounds that are given: copies that stay, copies that come late.

The log does not have the time to live that a message came with: what is over is `expired`. Where
the clock was wrong in a run, what has come until then has no age.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.breaks import BreakClass, as_breaks
from gateway.accounting.steps.copies import COPY_KEYS, STILL_HELD, without

WAITS: Final = "in the queue"  # so begins what is said of it
DAY_MS: Final = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class Bounds:
    """How long a copy may be in a queue, in milliseconds; 0: as long as it likes.

    Attributes:
        stuck_ms: until the log ends.
        late_ms: until somebody has settled it.
    """

    stuck_ms: int = 30 * DAY_MS
    late_ms: int = 0

    @property
    def late(self) -> str:
        """Which copies (`copies.copy_states`) were late."""
        return f"settled_ms - entered_ms > {self.late_ms}" if self.late_ms else "false"


def timed(states: DataFrame, skews: DataFrame) -> DataFrame:
    """Copies whose times were told by clocks that were right; `skews`: breaks of the others."""
    wrong = F.broadcast(skews.select(F.col("incarnation").alias("wrong")))
    return states.join(wrong, F.expr("entered_run <= wrong"), "left_anti")


def late(states: DataFrame, bounds: Bounds) -> DataFrame:
    """Copies that were settled later than they may; shown by what is there, whatever is missing."""
    waited = (F.col("settled_ms") - F.col("entered_ms")) / 1000
    return as_breaks(
        states.where(bounds.late).select(
            "incarnation", *COPY_KEYS, F.col("last_exit").alias("sequence"), waited.alias("s")
        ),
        BreakClass.LATE,
        F.format_string("settled %.3f s after it came into the queue", "s"),
    )


def stuck(
    open_copies: DataFrame, missed: DataFrame | None, bounds: Bounds, end_ms: int, end: int
) -> DataFrame:
    """Copies that are in a queue for longer than they may when the log ends.

    Those of the last run, since it has them still; but not what a checkpoint has `missed`.
    `end_ms`, `end`: time and number of the log's last record.
    """
    waited = F.lit(end_ms) - F.col("entered_ms")
    still = open_copies.where(STILL_HELD)
    old = still.where(waited > bounds.stuck_ms) if bounds.stuck_ms else still.where("false")
    return as_breaks(
        without(old, missed).select(
            "incarnation",
            *COPY_KEYS,
            F.col("sequence").alias("since"),
            F.lit(end).alias("sequence"),
            (waited / DAY_MS).alias("days"),
        ),
        BreakClass.STUCK,
        F.format_string(f"{WAITS} for %.1f days", "days"),
    )

"""What is planted in logs that are packed by hand, and what of it is found.

`PYTHONPATH=tests python tests/support/planted_table.py` prints the table: class and
variant; how many breaks of it are planted and found, whether with the message; the exit code; how
many others there are that nobody has planted. Class by class in one log, damage in a log each.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession
from support import bad_logs
from support.planted_breaks import (
    FIRST,
    LATE_MS,
    NUMBERS,
    PLANTS,
    Found,
    Life,
    ordinary,
    planted_log,
)

from gateway.accounting import java
from gateway.accounting.__main__ import exit_code
from gateway.accounting.reconcile import Result, Row, reconcile
from gateway.accounting.session import spark_session
from gateway.accounting.steps.ages import Bounds

HEAD: Final = "| class | variant | planted | found | named | exit code | false ones |"


class Line(NamedTuple):
    """One variant; `named` is `None` where no message can be."""

    break_class: str
    variant: str
    planted: int
    found: int
    named: bool | None
    exit_code: int
    false_ones: int

    def __str__(self) -> str:
        """As a line of the table."""
        named = "-" if self.named is None else "yes" if self.named else "no"
        cells = (self.break_class, self.variant, self.planted, self.found, named)
        return f"| {' | '.join(map(str, (*cells, self.exit_code, self.false_ones)))} |"

    @property
    def right(self) -> bool:
        """What is planted is found, once, with its message, and nothing else."""
        return (self.found, self.false_ones) == (self.planted, 0) and self.named is not False


def found_in(spark: SparkSession, log: Path) -> tuple[Result, int]:
    """What `reconcile` finds, and its exit code."""
    with tempfile.TemporaryDirectory() as out:
        result = reconcile(spark, log, Path(out), bounds=Bounds(late_ms=LATE_MS))
    return result, exit_code(result, require_final=False)


def by_class(spark: SparkSession, directory: Path) -> Iterator[Line]:
    """All plants in one log; the last line is of what is in order beside them."""
    log = Life(directory)
    wanted = planted_log(log)
    result, code = found_in(spark, directory)
    left = result.breaks
    for each in PLANTS:
        rows = [row for row in left if _is_of(row, each.queue)]
        left = [row for row in left if not _is_of(row, each.queue)]
        yield _line(each.break_class, each.variant, wanted[each.queue], rows, code)
    yield Line("-", "in order", 0, 0, None, code, len(left))


def _is_of(row: Row, queue: str) -> bool:
    """By its queue, its message or its outlet."""
    numbers = range(FIRST[queue], FIRST[queue] + NUMBERS)
    return row["node"] == queue or row["message"] in numbers or row["link"] in numbers


def _line(break_class: str, variant: str, wanted: Found, rows: list[Row], code: int) -> Line:
    right = [row for row in rows if row["class"] == break_class and row["proven"]]
    named = None
    if wanted.message is not None:
        named = wanted.message in {row["message"] for row in right}
    found = sum(row["count"] for row in right)
    false_ones = len(rows) - len(right)
    return Line(break_class, variant, wanted.count, found, named, code, false_ones)


def life_of(directory: Path, runs: int = 5) -> Life:
    """A log of some runs, one segment each, all of it in order."""
    log = Life(directory)
    for run in range(runs):
        log.start()
        ordinary(log, "in order", 1000 * (run + 1))
        log.end()
    return log


def missing(log: Path) -> None:
    bad_logs.paths(log)[2].unlink()


def of_another_log(log: Path) -> None:
    path = bad_logs.paths(log)[2]
    header, behind = bad_logs.header_of(path.read_bytes())
    path.write_bytes(bad_logs.with_header(header | {"log": "another"}, behind))


def chained_anew(log: Path) -> None:
    path = bad_logs.paths(log)[2]
    header, behind = bad_logs.header_of(path.read_bytes())
    path.write_bytes(bad_logs.with_header(header | {"previous_sha256": "1" * 64}, behind))


DAMAGE: Final[dict[str, Callable[[Path], None]]] = {
    "the end of a segment is cut off": bad_logs.cut,
    "one bit is flipped": bad_logs.flipped,
    "two segments are swapped": bad_logs.swapped,
    "a segment is there twice": bad_logs.twice,
    "a file of something else has a segment's name": bad_logs.foreign,
    "a segment is empty": bad_logs.empty,
    "a segment is of a schema version to come": bad_logs.newer,
    "a segment is missing": missing,
    "a segment is of another log": of_another_log,
    "a segment was changed before this one": chained_anew,
}


def of_the_log(spark: SparkSession, directory: Path) -> Iterator[Line]:
    """Each damage in a log of its own: it is found, and what is proven beside it is nothing."""
    for place, (variant, harm) in enumerate(DAMAGE.items()):
        log = life_of(directory / str(place)).directory
        harm(log)
        result, code = found_in(spark, log)
        gaps = [row for row in result.breaks if row["class"] == "LOG_GAP"]
        others = [row for row in result.breaks if row["proven"] and row["class"] != "LOG_GAP"]
        yield Line("LOG_GAP", variant, 1, min(len(gaps), 1), None, code, len(others))


def of_the_clock(spark: SparkSession, directory: Path) -> Iterator[Line]:
    """What the log tells of itself."""
    log = life_of(directory)
    log.start()
    log.now_ms -= 5000
    log.add("CLOCK", drift_ms=-5000)
    log.end()
    result, code = found_in(spark, directory)
    told = [row["detail"] for row in result.breaks if row["class"] == "CLOCK_SKEW"]
    others = sum(result.classes.values()) + sum(result.unproven.values()) - len(told)
    for variant, words in (("the clock goes back", "back"), ("it drifts", "away from")):
        count = sum(words in detail for detail in told)
        yield Line("CLOCK_SKEW", variant, 1, count, None, code, others)


def table(spark: SparkSession, directory: Path) -> Iterator[Line]:
    """All lines, each when it is known."""
    yield from of_the_log(spark, directory)
    yield from of_the_clock(spark, directory / "clock")
    yield from by_class(spark, directory / "classes")


def main() -> None:
    """Print it."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        os.environ["JAVA_HOME"] = str(java.java_home(scratch))
        with spark_session("planted", "local[2]", scratch) as spark:
            print(f"{HEAD}\n|{'---|' * 7}", flush=True)
            for line in table(spark, scratch):
                print(line, flush=True)


if __name__ == "__main__":
    main()

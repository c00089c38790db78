"""What charts are drawn from: how long publishers waited until they were told."""

from pathlib import Path

import pytest
from support.hand_log import HandLog

from gateway.accounting.segments.columns import Unit, units
from gateway.accounting.segments.drawing import moves, tellings
from gateway.accounting.telling.figures import DAY_MS
from gateway.audit.reader import Segment, segment_paths

AT_ONCE = 1 << 20  # records
START_MS = 1_790_000_000_000
YEAR_MS = 365 * DAY_MS


def unit_of(log: HandLog) -> Unit:
    (path,) = segment_paths(log.directory)
    segment = Segment(path.name, path.read_bytes())
    (unit,) = units(segment, segment.blocks(), AT_ONCE)
    return unit


def told(log: HandLog) -> list[tuple[str, int, int]]:
    found = tellings(unit_of(log)).to_pylist()
    assert all(each["told"] and each["node"] is None for each in found)
    return [(each["exchange"], each["number"], each["worst"]) for each in found]


def test_each_message_waits_until_the_range_that_names_it(tmp_path: Path) -> None:
    log = HandLog(tmp_path / "log")
    log.start()  # from here a record each millisecond
    for message, link in ((1, 7), (2, 7), (3, 8), (4, 7)):
        log.add("RECEIVED", message=message, link=link, exchange="x", copies=1)
    log.add("RECEIVED", message=5, link=9, exchange="y", copies=1)
    log.add("CONFIRMED", message=1, position=2, link=7, copies=2, outcome="ACCEPTED")
    log.add("CONFIRMED", message=3, position=3, link=8, copies=1, outcome="REJECTED")
    log.end()
    # 4 and 5 are told of by nobody, whatever is told of their link, or of numbers before them.
    # 1 for 5 ms, 2 and 3 for 4.
    assert sorted(told(log)) == [("x", 1, 5), ("x", 2, 4)]


def test_where_nobody_is_told_nobody_has_waited(tmp_path: Path) -> None:
    log = HandLog(tmp_path / "log")
    log.start()
    log.add("RECEIVED", message=1, link=7, exchange="x", copies=1)
    log.end()
    assert told(log) == []


@pytest.mark.parametrize("wrong_ms", [0, -(1 << 62), 1 << 62, START_MS - YEAR_MS])
def test_what_a_wrong_clock_says_in_between_makes_no_span_longer(
    tmp_path: Path, wrong_ms: int
) -> None:
    log = HandLog(tmp_path / "log")
    log.start()
    log.add("ENTERED", message=1, position=1, node="q", exchange="x", time_ms=wrong_ms)
    log.end()
    times = [each["at_ms"] for each in moves(unit_of(log)).to_pylist()]
    assert START_MS < min(times) <= max(times) <= log.now_ms

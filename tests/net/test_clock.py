"""The clock goes on at monotonic speed from the wall time of the start."""

import time
from collections.abc import Iterator

import pytest
from twisted.internet.selectreactor import SelectReactor

from gateway.net.clock import GatewayClock, keep_time


@pytest.fixture
def reactor() -> Iterator[SelectReactor]:
    made = SelectReactor()  # type: ignore[no-untyped-call]  # Twisted's
    yield made
    for reader in made.removeAll():
        reader.connectionLost(None)


def test_it_does_not_follow_a_wall_clock_that_is_set_back_but_tells_the_drift() -> None:
    wall, monotonic = [1_700_000_000.0], [50.0]
    clock = GatewayClock(lambda: wall[0], lambda: monotonic[0])
    assert clock.now_ms() == 1_700_000_000_000
    monotonic[0] += 1.5
    wall[0] -= 3600
    assert clock.now_ms() == 1_700_000_001_500
    assert clock.drift_ms() == -3_601_500


def test_by_default_it_tells_wall_time() -> None:
    assert abs(GatewayClock().now_ms() - time.time() * 1000) < 1000


def test_timers_of_a_reactor_are_due_whatever_becomes_of_wall_time(
    reactor: SelectReactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall, monotonic = [1_700_000_000.0], [50.0]
    monkeypatch.setattr(SelectReactor, "seconds", staticmethod(lambda: wall[0]))
    keep_time(reactor, lambda: monotonic[0])
    rung: list[str] = []
    reactor.callLater(0, rung.append, "now")
    reactor.callLater(2, rung.append, "in two seconds")
    wall[0] -= 3600
    reactor.runUntilCurrent()
    assert rung == ["now"]
    assert reactor.timeout() == 2
    monotonic[0] += 2
    reactor.runUntilCurrent()
    assert rung == ["now", "in two seconds"]

"""The clock goes on at monotonic speed from the wall time of the start."""

import time

from gateway.net.clock import GatewayClock


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

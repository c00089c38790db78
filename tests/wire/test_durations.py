"""What took how long is found in the bucket that it belongs to."""

from gateway.wire.durations import BOUNDS_US, Durations


def test_what_took_as_long_as_a_bound_is_within_it() -> None:
    durations = Durations()
    durations.add(0)
    durations.add(100)
    durations.add(101)
    durations.add(2500, 3)
    found = dict(durations.cumulative())
    assert found["0.0001"] == 2
    assert found["0.00025"] == 3
    assert found["0.001"] == 3
    assert found["0.0025"] == found["+Inf"] == 6
    assert durations.total_s == 0.007701


def test_what_took_longer_than_all_bounds_is_only_in_the_last_bucket() -> None:
    durations = Durations()
    durations.add(BOUNDS_US[-1] + 1, 2)
    assert [count for _bound, count in durations.cumulative()] == [0] * len(BOUNDS_US) + [2]

"""Serial numbers that wrap, and sets of them."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.serial import MASK, RangeSet, add, distance

STARTS = st.sampled_from([0, 1000, MASK - 20, 0x7FFFFFF0])
STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 12)), max_size=30)


def members(ranges: list[tuple[int, int]], start: int) -> set[int]:
    """The offsets from `start` of what the ranges hold."""
    return {
        distance(start, add(first, step))
        for first, last in ranges
        for step in range(distance(first, last) + 1)
    }


def test_which_of_two_comes_first_is_seen_across_the_wrap() -> None:
    assert (add(MASK, 1), add(0, -1)) == (0, MASK)
    assert (distance(MASK, 0), distance(0, MASK)) == (1, -1)
    assert distance(0, 0x80000000) == -0x80000000


@given(STARTS, STEPS)
def test_a_range_set_holds_what_a_set_would_in_ascending_disjoint_ranges(
    start: int, steps: list[tuple[bool, int, int]]
) -> None:
    ours, model = RangeSet(), set[int]()
    for adds, at, size in steps:
        first, last = add(start, at), add(start, at + size)
        span = set(range(at, at + size + 1))
        assert members(ours.within(first, last), start) == model & span
        if adds:
            ours.add_range(first, last)
            model |= span
        else:
            ours.remove_range(first, last)
            model -= span
        assert members(ours.ranges, start) == model
        assert (ours.count(), bool(ours)) == (len(model), bool(model))
        assert all((add(start, each) in ours) == (each in model) for each in range(60))
        for (_, high), (low, _) in zip(ours.ranges, ours.ranges[1:], strict=False):
            assert distance(high, low) > 1
    assert members(ours.take(), start) == model
    assert not ours

"""Completion of commands, against a plain set of numbers."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.amqp_0_10.commands.progress import Progress, insert, subtract
from gateway.wire.serial import add, distance

starts = st.sampled_from([0, 7, 0xFFFFFFF0, 0x7FFFFFF8])
spans = st.lists(st.tuples(st.integers(-5, 40), st.integers(0, 12)), max_size=30)


@given(starts, spans)
def test_each_command_is_completed_once_whatever_the_order(start: int, ranges: list) -> None:
    progress = Progress(start)
    for _ in range(30):
        progress.advance()
    model: set[int] = set()
    for at, length in ranges:
        new = progress.complete(add(start, at), add(start, at + length))
        found = [add(low, k) for low, high in new for k in range((high - low) % 2**32 + 1)]
        numbers = [(n - start) % 2**32 for n in found]
        wanted = {n for n in range(at, at + length + 1) if 0 <= n < 30}
        assert sorted(numbers) == sorted(wanted - model)
        model |= wanted
        assert progress.incomplete() == 30 - len(model)
        assert all(
            progress.is_complete(add(start, number)) == (number in model) for number in range(30)
        )
        gap = next((n for n in range(30) if n not in model), 30)
        assert progress.low == add(start, gap)


@given(starts, spans)
def test_what_completes_in_sequence_completes_the_same_as_any_range(
    start: int, ranges: list
) -> None:
    straight, any_range = Progress(start), Progress(start)
    for _ in range(30):
        straight.advance()
        any_range.advance()
    for at, length in ranges:
        first, last = add(start, at), add(start, at + length)
        wanted = any_range.complete(first, last)
        if straight.complete_next(first, last):
            assert wanted == [(first, last)]
        else:
            assert straight.complete(first, last) == wanted
        assert straight.low == any_range.low
        assert straight.ahead == any_range.ahead


@given(starts, spans, spans)
def test_subtract_is_set_difference(start: int, first: list, second: list) -> None:
    def ranges(spans: list) -> tuple[list[tuple[int, int]], set[int]]:
        at, found, numbers = 0, [], set()
        for gap, length in spans:
            at += abs(gap) + 1
            found.append((add(start, at), add(start, at + length)))
            numbers |= set(range(at, at + length + 1))
            at += length + 1
        return found, numbers

    have, have_numbers = ranges(first)
    gone, gone_numbers = ranges(second)
    left = [
        (low + k - start) % 2**32
        for low, high in subtract(have, gone)
        for k in range((high - low) % 2**32 + 1)
    ]
    assert left == sorted(have_numbers - gone_numbers)


@given(starts, spans)
def test_insert_is_set_union_and_tells_what_is_new(start: int, spans: list) -> None:
    ranges: list[tuple[int, int]] = []
    model: set[int] = set()
    for at, length in spans:
        new = insert(ranges, add(start, at), add(start, at + length))
        wanted = set(range(at, at + length + 1))
        assert {n for span in new for n in numbers(span, start)} == wanted - model
        model |= wanted
        assert [n for span in ranges for n in numbers(span, start)] == sorted(model)
        assert all(distance(first[1], second[0]) > 1 for first, second in pairwise(ranges))


def numbers(span: tuple[int, int], start: int) -> list[int]:
    first = distance(start, span[0])
    return list(range(first, first + distance(span[0], span[1]) + 1))

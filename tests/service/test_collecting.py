"""What the cycle collector looks at: what has come since it last looked, and now and then all."""

import gc
import weakref
from collections.abc import Iterator
from itertools import pairwise

import pytest
from twisted.internet.task import Clock

from gateway.service.collecting import EVERYTHING_S, OLDEST, Collecting


class Cycle:
    """Something that holds itself, as a connection and its sessions do."""

    def __init__(self) -> None:
        self.held = [self]


class Gone:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> int:
        return self.count


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gone() -> Gone:
    return Gone()


@pytest.fixture(autouse=True)
def collecting(clock: Clock, gone: Gone) -> Iterator[None]:
    gc.disable()  # only when the test says so
    collecting = Collecting(clock, gone)
    yield
    collecting.end()
    gc.freeze()  # as it was: conftest.py
    gc.enable()


def test_what_outlives_a_walk_over_everything_is_put_aside() -> None:
    before = gc.get_freeze_count()
    kept = [[number] for number in range(1_000)]
    gc.collect(1)
    assert gc.get_freeze_count() <= before
    gc.collect()
    assert gc.get_freeze_count() >= before + len(kept)
    assert not any(each is kept for each in gc.get_objects())


def test_what_was_put_aside_goes_when_nobody_holds_it_any_more() -> None:
    kept = [Cycle() for _ in range(1)]
    kept[0].held.clear()
    told = weakref.ref(kept[0])
    gc.collect()
    kept.clear()
    assert told() is None


def test_a_cycle_that_was_put_aside_goes_with_the_next_walk_over_everything(
    clock: Clock, gone: Gone
) -> None:
    told = weakref.ref(Cycle())
    cycle = told()
    assert cycle is not None
    gc.collect()
    del cycle
    gc.collect()
    assert told() is not None
    gone.count += 1  # a connection has ended
    clock.advance(EVERYTHING_S)
    gc.collect()
    assert told() is None


def test_where_nothing_has_ended_nothing_is_looked_at_again(clock: Clock) -> None:
    gc.collect()
    frozen = gc.get_freeze_count()
    clock.advance(EVERYTHING_S)
    assert gc.get_freeze_count() >= frozen // 2 > 0
    clock.advance(EVERYTHING_S)
    assert gc.get_freeze_count() >= frozen // 2


def test_what_comes_in_a_flood_is_looked_at_in_several_walks() -> None:
    walked = [gc.get_freeze_count()]

    def on_collection(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == OLDEST:
            walked.append(gc.get_freeze_count())

    gc.collect()
    gc.callbacks.append(on_collection)
    gc.enable()
    kept = [[number] for number in range(200_000)]
    gc.disable()
    gc.callbacks.remove(on_collection)
    walks = [after - before for before, after in pairwise(walked[1:])]
    assert len(kept) == 200_000
    assert len(walks) >= 4
    assert max(walks) < 40_000


def test_the_collector_is_left_as_it_was_found(clock: Clock, gone: Gone) -> None:
    before = gc.get_threshold()
    Collecting(clock, gone).end()
    assert gc.get_threshold() == before

"""What is done each second goes on, whatever it raises."""

import pytest
from support.net import Net, counting_defects
from twisted.internet.task import Clock
from twisted.logger import LogEvent, capturedLogs

from gateway.net.duties import TOLD_EVERY, Duties


def test_a_duty_comes_each_time_and_no_more_once_they_are_given_up() -> None:
    clock, net, done = Clock(), Net(), []
    duties = Duties(clock, net.turns, net.counts)
    duties.every(2, lambda: done.append(clock.seconds()))
    assert duties.running
    clock.pump([1] * 6)
    assert done == [2, 4, 6]
    duties.stop()
    assert not duties.running
    clock.pump([1] * 6)
    assert done == [2, 4, 6]
    duties.stop()


def told(captured: list[LogEvent]) -> int:
    return sum("log_failure" in event for event in captured)


def test_one_that_breaks_off_is_told_of_and_counted_and_comes_again() -> None:
    clock, net, tries = Clock(), Net(), []

    def broken() -> None:
        tries.append(clock.seconds())
        raise ZeroDivisionError

    others: list[float] = []
    duties = Duties(clock, net.turns, net.counts)
    duties.every(1, broken)
    duties.every(1, lambda: others.append(clock.seconds()))
    with capturedLogs() as captured, counting_defects(net.counts):
        clock.pump([1] * 3)
        assert told(captured) == 1
        clock.pump([1] * TOLD_EVERY)
        assert told(captured) == 2
    assert len(tries) == len(others) == net.counts.defects == TOLD_EVERY + 3
    duties.stop()


@pytest.mark.parametrize(
    ("error", "ends"), [(MemoryError(), True), (ZeroDivisionError(), False)], ids=str
)
def test_one_after_which_nothing_may_be_written_ends_the_process(
    error: Exception, ends: bool
) -> None:
    clock, net, given_up = Clock(), Net(), []
    net.turns.give_up = given_up.append

    def broken() -> None:
        raise error

    duties = Duties(clock, net.turns, net.counts)
    duties.every(1, broken)
    clock.advance(1)
    assert given_up == ([error] if ends else [])
    duties.stop()

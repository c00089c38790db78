"""One timer follows a deadline that moves."""

from twisted.internet.task import Clock

from gateway.net.alarm import Alarm


class Set:
    def __init__(self) -> None:
        self.clock = Clock()
        self.rung: list[int] = []
        self.alarm = Alarm(self.clock, lambda: int(self.clock.seconds() * 1000), self.rung.append)


def test_it_rings_once_when_the_deadline_has_come() -> None:
    made = Set()
    made.alarm.set(1000)
    made.clock.pump([0.5, 0.49, 0.02, 5])
    assert made.rung == [1010]


def test_a_deadline_that_moves_away_costs_no_new_timer() -> None:
    made = Set()
    made.alarm.set(1000)
    (timer,) = made.clock.getDelayedCalls()
    for later_ms in range(1100, 3000, 100):
        made.alarm.set(later_ms)
    assert made.clock.getDelayedCalls() == [timer]
    made.clock.advance(1.01)
    made.clock.advance(1.0)
    assert made.rung == []
    made.clock.advance(1)
    assert made.rung == [3010]


def test_a_deadline_that_comes_nearer_is_kept() -> None:
    made = Set()
    made.alarm.set(5000)
    made.alarm.set(1000)
    made.clock.advance(1.01)
    assert made.rung == [1010]
    assert made.clock.getDelayedCalls() == []


def test_no_deadline_and_stopping_mean_silence() -> None:
    made = Set()
    made.alarm.set(1000)
    made.alarm.set(None)
    made.clock.advance(2)
    made.alarm.set(3000)
    made.alarm.stop()
    made.clock.advance(2)
    assert made.rung == []


def test_a_deadline_in_the_past_rings_at_once_but_not_within_the_call() -> None:
    made = Set()
    made.clock.advance(10)
    made.alarm.set(1)
    assert made.rung == []
    made.clock.advance(0.001)
    assert len(made.rung) == 1

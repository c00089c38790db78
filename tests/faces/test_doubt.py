"""How much of a connection's publishes may be in doubt."""

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import Pressure
from gateway.faces.doubt import RECORDED_OCTETS, Doubt


class Told:
    """Notes what it hears: whether too much is held."""

    def __init__(self) -> None:
        self.pressure = Pressure(BridgeLimits())
        self.doubt = Doubt(100, self, self.pressure, publishes_max=6)
        self.heard: list[bool] = []

    def on_doubt(self) -> None:
        self.heard.append(self.doubt.high)


def test_it_is_high_from_the_limit_on_until_less_than_half_is_held() -> None:
    told = Told()
    doubt = told.doubt
    doubt.hold(99)
    assert told.heard == []
    doubt.hold(1)
    assert told.heard == [True]
    doubt.hold(10)
    assert told.heard == [True]
    doubt.let_go(60)
    assert doubt.high
    doubt.let_go(1)
    assert told.heard == [True, False]
    doubt.let_go(49)
    assert told.heard == [True, False]


def test_very_many_small_ones_are_too_much_as_well() -> None:
    told = Told()
    doubt = told.doubt
    for _ in range(6):
        assert told.heard == []
        doubt.hold(1)
    assert told.heard == [True]
    for _ in range(3):
        doubt.let_go(1)
    assert doubt.high
    doubt.let_go(1)
    assert told.heard == [True, False]


def test_reading_pauses_when_as_much_again_is_parked() -> None:
    doubt = Told().doubt
    doubt.parked = 99
    assert not doubt.parked_too_much()
    doubt.parked = 100
    assert doubt.parked_too_much()


def test_reading_pauses_when_twice_as_much_is_held() -> None:
    doubt = Told().doubt
    doubt.hold(199)
    assert not doubt.held_too_much()
    doubt.hold(1)
    assert doubt.held_too_much()


def test_while_the_disk_refuses_who_goes_on_publishing_is_not_read_when_all_sent_too_much() -> None:
    told, other, silent = Told(), Told(), Told()
    disk = told.pressure
    disk.late_max = 30 + 2 * RECORDED_OCTETS
    other.doubt = Doubt(100, other, disk, publishes_max=6)
    silent.doubt = Doubt(100, silent, disk, publishes_max=6)
    silent.doubt.hold(50)
    disk.block()
    disk.block()
    told.doubt.hold(20)
    other.doubt.hold(10)
    assert not told.doubt.held_too_much()
    other.doubt.hold(0)
    assert told.doubt.held_too_much() and other.doubt.held_too_much()
    assert not silent.doubt.held_too_much()  # it may have consumers that make room
    disk.unblock()
    assert not told.doubt.held_too_much()
    disk.block()
    silent.doubt.hold(31, 2)
    assert silent.doubt.held_too_much() and not told.doubt.held_too_much()

"""How much of a connection's publishes may be in doubt."""

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import Pressure
from gateway.faces.doubt import Doubt


class Told:
    """Notes what it hears: whether too much is held."""

    def __init__(self) -> None:
        self.pressure = Pressure(BridgeLimits())
        self.doubt = Doubt(100, self, self.pressure)
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

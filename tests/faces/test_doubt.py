"""How much of a connection's publishes may be in doubt."""

from gateway.faces.doubt import Doubt


def test_it_is_high_from_the_limit_on_until_less_than_half_is_held() -> None:
    doubt = Doubt(100)
    assert not doubt.hold(99)
    assert doubt.hold(1)
    assert doubt.high
    assert not doubt.hold(10)  # told once
    assert not doubt.let_go(60)
    assert doubt.high
    assert doubt.let_go(1)
    assert not doubt.high
    assert not doubt.let_go(49)


def test_reading_pauses_when_as_much_again_is_parked() -> None:
    doubt = Doubt(100)
    doubt.parked = 99
    assert not doubt.parked_too_much()
    doubt.parked = 100
    assert doubt.parked_too_much()


def test_reading_pauses_when_twice_as_much_is_held() -> None:
    doubt = Doubt(100)
    doubt.hold(199)
    assert not doubt.held_too_much()
    doubt.hold(1)
    assert doubt.held_too_much()

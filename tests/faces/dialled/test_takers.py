from gateway.faces.dialled.takers import Takers
from gateway.faces.dialled.transports import Transports


class Turns:
    def touch(self, face):
        raise AssertionError("there is no transport")


class Taker:
    def __init__(self, takers):
        self.takers = takers
        self.flushed = 0
        self.holding = 0
        self.asks_again = False

    def on_credit(self):
        self.takers.owe(self)

    def flush(self):
        self.flushed += 1
        if self.asks_again:
            self.takers.owe(self)

    def outstanding(self):
        return self.holding


def some(number):
    takers = Takers(Transports(Turns()))
    made = [Taker(takers) for _ in range(number)]
    for taker in made:
        takers.add(taker)
    return takers, made


def test_who_asks_often_in_a_turn_looks_at_its_credit_once():
    takers, (one, other) = some(2)
    for _ in range(3):
        takers.owe(one)
    takers.give_credit()
    takers.give_credit()
    assert (one.flushed, other.flushed) == (1, 0)


def test_who_asks_while_it_looks_is_for_the_next_turn():
    takers, (one,) = some(1)
    one.asks_again = True
    takers.owe(one)
    takers.give_credit()
    assert one.flushed == 1
    takers.give_credit()
    assert one.flushed == 2


def test_who_has_ended_looks_at_nothing_any_more():
    takers, (one, other) = some(2)
    takers.on_credit()
    takers.forget(one)
    takers.give_credit()
    assert (one.flushed, other.flushed) == (0, 1)
    assert list(takers.standing) == [other]


def test_something_is_outstanding_as_long_as_any_of_them_holds_something():
    takers, (one, other) = some(2)
    assert not takers.outstanding()
    other.holding = 2
    assert takers.outstanding()
    takers.forget(other)
    assert not takers.outstanding()
    assert one.flushed == 0

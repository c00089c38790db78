"""What is confirmed when its turn is safe: as ranges, once, in the order in which it came."""

from __future__ import annotations

from support.bridge_world import World

from gateway.faces.safe_with import SafeWith


class Waiter:
    """Takes what is safe as it hears of it; every turn that ends has something durable."""

    def __init__(self) -> None:
        self.world = World()
        self.world.auto_commit = False
        self.world.queue("q", durable=True)
        self.world.turn()
        self.world.commit()
        self.confirmed: list[tuple[int, int]] = []
        self.told = 0
        self.safe_with = SafeWith(self.world.bridge)

    def add(self, *numbers: int) -> None:
        for number in numbers:
            self.safe_with.add(number, self)

    def end_turn(self) -> None:
        self.world.send(b"body", durable=True)
        self.world.turn()

    def on_committed(self, turn: int) -> None:
        self.told += 1
        self.confirmed += self.safe_with.take(turn)


def test_nothing_is_confirmed_before_the_commit() -> None:
    waiter = Waiter()
    waiter.add(1)
    waiter.end_turn()
    assert waiter.confirmed == []
    assert waiter.safe_with.waiting()
    waiter.world.commit()
    assert waiter.confirmed == [(1, 1)]
    assert not waiter.safe_with.waiting()


def test_numbers_that_follow_one_another_are_one_range() -> None:
    waiter = Waiter()
    waiter.add(1, 2, 3, 7, 8, 5)
    waiter.end_turn()
    waiter.world.commit()
    assert waiter.confirmed == [(1, 3), (7, 8), (5, 5)]


def test_a_waiter_hears_once_of_each_turn() -> None:
    waiter = Waiter()
    waiter.add(1, 2, 9)
    waiter.end_turn()
    waiter.add(10)
    waiter.end_turn()
    waiter.world.commit()
    assert waiter.told == 2


def test_turns_are_confirmed_one_by_one() -> None:
    waiter = Waiter()
    waiter.add(1, 2)
    waiter.end_turn()
    waiter.add(3, 4)
    waiter.end_turn()
    waiter.add(5)
    waiter.world.calls.pop(0)()
    assert waiter.confirmed == [(1, 2)]
    waiter.world.calls.pop(0)()
    assert waiter.confirmed == [(1, 2), (3, 4)]
    assert waiter.safe_with.waiting()
    waiter.end_turn()
    waiter.world.commit()
    assert waiter.confirmed == [(1, 2), (3, 4), (5, 5)]


def test_the_turn_under_way_is_not_taken_with_those_before_it() -> None:
    waiter = Waiter()
    turn = waiter.world.bridge.turns.number
    waiter.add(1)
    assert waiter.safe_with.take(turn - 1) == []
    assert waiter.safe_with.take(turn) == [(1, 1)]


def test_a_turn_that_wrote_nothing_is_safe_at_its_end() -> None:
    waiter = Waiter()
    waiter.world.turn()
    waiter.world.commit()
    waiter.add(1)
    waiter.world.turn()
    assert waiter.confirmed == [(1, 1)]


def test_what_is_cleared_is_not_confirmed_and_what_comes_next_is() -> None:
    waiter = Waiter()
    waiter.add(1, 5)
    waiter.safe_with.clear()
    assert not waiter.safe_with.waiting()
    waiter.add(6)
    waiter.end_turn()
    waiter.world.commit()
    assert waiter.confirmed == [(6, 6)]
    assert waiter.told == 1

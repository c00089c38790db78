"""Work that is spread over turns: a share a turn, in turn, and what there is room for at once."""

from gateway.bridge.spread.spread import Spread
from gateway.wire.work import SHARE, WORK


class Pieces:
    """A `Piecework` of so many pieces."""

    def __init__(self, pieces: int, units: int) -> None:
        self.left = pieces
        self.units = units

    def who(self) -> str:
        return f"pieces of {self.units}"

    def go_on(self, end: int) -> bool:
        while self.left:
            if WORK.units > end:
                return False
            WORK.units += self.units
            self.left -= 1
        return True


def test_what_there_is_room_for_is_done_at_once() -> None:
    spread = Spread()
    assert spread.begin(Pieces(10, SHARE // 100))
    assert not spread.has_work


def test_what_is_begun_in_one_turn_has_one_share_together() -> None:
    spread = Spread()
    works = [Pieces(10, SHARE // 20) for _ in range(5)]
    assert [spread.begin(work) for work in works] == [True, True, False, False, False]
    assert [work.left for work in works[3:]] == [10, 10]
    spread.run()
    assert spread.begin(Pieces(1, 1))  # the next turn has a share again


def test_long_works_go_on_in_turn_so_that_a_short_one_is_done_soon() -> None:
    spread = Spread()
    long = Pieces(100, SHARE // 10)
    short = Pieces(2, SHARE // 10)
    spread.begin(long)
    spread.put_off(short)
    spread.run()
    before = long.left
    assert before > 0
    assert short.left == 2
    spread.run()
    assert short.left == 0
    turns = 0
    while spread.has_work:
        spread.run()
        turns += 1
    assert long.left == 0
    assert 7 <= turns <= 9


def test_the_costliest_work_of_a_turn_is_known() -> None:
    spread = Spread()
    for units in (10, 1000, 100):
        spread.put_off(Pieces(3, units))
    spread.run()
    assert spread.costliest is not None
    assert (spread.costliest.who(), spread.units) == ("pieces of 1000", 3000)
    spread.run()
    assert spread.costliest is None

"""What is gathered takes a share of work a pass of the loop, however much there is."""

from collections.abc import Iterator

import pytest
from support.net import Loop, Net
from support.work import units_of
from twisted.logger import capturedLogs, formatEvent

from gateway.net.admin.pieces import Pieces
from gateway.net.stalls import STALL_MS, Stalls
from gateway.wire.work import SHARE, WORK


def work(pieces: int, units: int) -> Iterator[None]:
    for _ in range(pieces):
        WORK.units += units
        yield


def test_a_pass_has_a_share_for_all_that_is_gathered() -> None:
    loop = Loop()
    pieces = Pieces(loop)
    done = [pieces.gather(work(100, SHARE // 10)) for _ in range(3)]
    passes = 0
    while not all(each.called for each in done):
        assert units_of(loop.turn) <= SHARE + SHARE // 10
        passes += 1
    assert passes >= 27
    assert loop.turn() == 0


def test_a_pass_that_holds_the_loop_is_told_of() -> None:
    net = Net()
    stalls = Stalls(net.now_ms, net.counts)

    def slow() -> Iterator[None]:
        net.clock.advance((STALL_MS + 1) / 1000)
        yield

    loop = Loop()
    Pieces(loop, stalls).gather(slow())
    with capturedLogs() as captured:
        loop.turn()
    assert [formatEvent(event) for event in captured] == [
        "the event loop was held for 101 ms by a request of the admin port"
    ]
    assert net.counts.stalls["request"] == 1


def test_what_breaks_off_is_told() -> None:
    loop = Loop()

    def broken() -> Iterator[None]:
        yield
        raise ValueError("no")

    done = Pieces(loop).gather(broken())
    loop.turn()
    caught: list[object] = []
    done.addErrback(lambda failure: caught.append(failure.value))
    assert isinstance(caught[0], ValueError)


@pytest.mark.parametrize("count", [0, 1])
def test_little_is_gathered_in_the_next_pass(count: int) -> None:
    loop = Loop()
    done = Pieces(loop).gather(work(count, 1))
    assert not done.called
    loop.turn()
    assert done.called

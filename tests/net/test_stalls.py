"""Who holds the event loop is counted, and told once a second."""

import pytest
from support.net import FakeFace, Net
from twisted.logger import globalLogPublisher

from gateway.net.listening.first_octets import HEADER_0_10
from gateway.net.stalls import SILENCE_MS, STALL_MS, Stalls


class Slow:
    def who(self) -> str:
        return "connection 7 from 192.0.2.1, user 'u': QueueDelete"


@pytest.fixture
def told():
    lines: list[str] = []

    def observe(event: dict[str, object]) -> None:
        if "took_ms" in event:
            lines.append(str(event["log_format"]).format(**event))

    globalLogPublisher.addObserver(observe)
    yield lines
    globalLogPublisher.removeObserver(observe)


def test_a_stall_is_told_with_whose_it_was(told: list[str]) -> None:
    net = Net()
    stalls = Stalls(net.now_ms, net.counts)
    net.clock.advance(STALL_MS / 1000)
    assert stalls.over(0, "read", Slow()) == STALL_MS
    assert told == []
    net.clock.advance(0.001)
    stalls.over(0, "read", Slow())
    assert told == [
        "the event loop was held for 101 ms by a read of"
        " connection 7 from 192.0.2.1, user 'u': QueueDelete"
    ]
    assert net.counts.stalls["read"] == 1


def test_stalls_that_follow_at_once_are_counted_and_told_together(told: list[str]) -> None:
    net = Net()
    stalls = Stalls(net.now_ms, net.counts)
    net.clock.advance(1)
    for _ in range(3):
        stalls.over(0, "flush", Slow())
    net.clock.advance(SILENCE_MS / 1000)
    stalls.over(0, "flush", Slow())
    assert len(told) == 2
    assert told[1].endswith("(2 more since the last such line)")
    assert net.counts.stalls["flush"] == 4


def test_a_standstill_without_work_is_the_machines(told: list[str]) -> None:
    net = Net()
    worked = [7]
    stalls = Stalls(net.now_ms, net.counts, lambda: worked[0])
    net.clock.advance(0.5)
    worked[0] += 20
    stalls.over(0, "read", Slow())
    assert (net.counts.stalls["read"], net.counts.stalls["machine"]) == (0, 1)
    assert told == [
        "the event loop stood for 500 ms, of which it worked 20 at most: the machine was busy, or"
        " a call waited in a read of connection 7 from 192.0.2.1, user 'u': QueueDelete"
    ]
    net.clock.advance(2)
    worked[0] += STALL_MS + 1
    stalls.over(500, "read", Slow())
    assert net.counts.stalls["read"] == 1
    stalls.begin()
    net.clock.advance(2)
    stalls.over(2500, "read", Slow())
    assert net.counts.stalls["machine"] == 2


def test_what_no_piece_answers_for_is_told_too(told: list[str]) -> None:
    net = Net()
    worked = [0]
    stalls = Stalls(net.now_ms, net.counts, lambda: worked[0])
    net.clock.advance(5)
    worked[0] = 5
    stalls.look(STALL_MS)
    assert told == []
    worked[0] += 400
    stalls.look(401)
    assert told == ["the event loop was held for 401 ms by a timer, or short pieces"]
    net.clock.advance(5)
    stalls.look(300)
    assert "stood for 300 ms, of which it worked 0 at most" in told[1]
    net.clock.advance(5)
    worked[0] += 500
    stalls.over(9500, "read", Slow())
    stalls.look(450)
    assert (net.counts.stalls["other"], net.counts.stalls["machine"]) == (1, 1)
    assert net.counts.stalls["read"] == 1
    stalls.look(450)
    assert len(told) == 3


def slow(net: Net, face: FakeFace, name: str) -> None:
    """From now on that call of the face takes 200 ms."""
    call = getattr(face, name)

    def slowly(*arguments: object) -> object:
        net.clock.rightNow += 0.2
        return call(*arguments)

    setattr(face, name, slowly)


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("receive_data", "read"),
        ("receive_eof", "read"),
        ("data_to_send", "flush"),
        ("handle_deadline", "deadline"),
    ],
)
def test_each_piece_of_a_connection_is_timed(told: list[str], name: str, piece: str) -> None:
    net = Net()
    pump, _wire = net.connect()
    pump.port = 4711
    pump.dataReceived(HEADER_0_10)
    net.turn()
    slow(net, net.faces[0], name)
    pump.dataReceived(b"x")
    net.turn()
    pump._deadline(net.now_ms())
    pump.connectionLost()
    assert net.counts.stalls[piece] >= 1
    assert sum(net.counts.stalls.values()) == net.counts.stalls[piece]
    who = "connection 1 from 192.0.2.1:4711, user 'u': fake"
    assert told[0] == f"the event loop was held for 200 ms by a {piece} of {who}"


@pytest.mark.parametrize(("name", "piece"), [("end_turn", "dispatch"), ("on_committed", "commit")])
def test_each_piece_of_the_bridge_is_timed(told: list[str], name: str, piece: str) -> None:
    net = Net()
    call = getattr(net.bridge, name)

    def slowly(*arguments: object) -> object:
        net.clock.rightNow += 0.2
        return call(*arguments)

    setattr(net.bridge, name, slowly)
    net.turns.on_committed(1)
    net.turn()
    who = {"dispatch": "queue 'q'", "commit": "all that waited for the disk"}[piece]
    assert told == [f"the event loop was held for 200 ms by a {piece} of {who}"]


def test_of_very_many_short_pieces_the_longest_is_told(told: list[str]) -> None:
    net = Net()
    stalls = Stalls(net.now_ms, net.counts)
    net.clock.advance(1)
    for took_ms in (10, 90, 20):
        stalls.over(1000 - took_ms, "read", Slow())
    stalls.look(STALL_MS + 1)
    assert told[0].endswith(
        ", or short pieces, the longest of which, 90 ms, was a read of connection 7 from"
        " 192.0.2.1, user 'u': QueueDelete"
    )
    net.clock.advance(5)
    stalls.look(STALL_MS + 1)
    assert told[1].endswith("or short pieces")

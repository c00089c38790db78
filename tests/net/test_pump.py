"""Octets in, one write a turn, back-pressure both ways, and an orderly end."""

import struct

import pytest
from support.net import FakeFace, Net, Wire, counting_defects
from support.rules import rule

from gateway.net.listening.first_octets import HEADER_0_10
from gateway.net.pump import FLUSH_MS, LINGER_MS, Pump


def connected(net: Net) -> tuple[Pump, Wire, FakeFace]:
    pump, wire = net.connect()
    pump.dataReceived(HEADER_0_10)
    net.turn()
    wire.clear()
    wire.writes = 0
    return pump, wire, net.faces[-1]


def test_everything_that_was_read_in_a_turn_is_answered_with_one_write() -> None:
    net = Net()
    pump, wire, _face = connected(net)
    for part in (b"one", b"two", b"three"):
        pump.dataReceived(part)
    assert wire.value() == b""
    net.turn()
    assert (wire.value(), wire.writes) == (b"onetwothree", 1)
    assert net.counts.octets_received == net.counts.octets_sent == 8 + 11


def test_what_comes_comes_at_the_beginning_of_a_turn_also_after_a_pause() -> None:
    net = Net()
    pump, _wire, face = connected(net)
    heard_us: list[int] = []

    def hear(data: bytes, now_ms: int) -> None:
        heard_us.append(net.bridge.now_us)

    face.receive_data = hear  # type: ignore[method-assign]
    net.clock.advance(5)
    pump.dataReceived(b"x")
    assert heard_us == [net.now_ms() * 1000]


def test_nothing_to_say_is_no_write() -> None:
    net = Net()
    pump, wire, face = connected(net)
    face.echo = False
    pump.dataReceived(b"quiet")
    net.turn()
    assert wire.writes == 0
    assert wire.no_delay


def test_the_face_hears_of_a_full_and_of_a_drained_transport() -> None:
    net = Net()
    _pump, wire, face = connected(net)
    wire.producer.pauseProducing()
    wire.producer.resumeProducing()
    assert face.log == ["blocked True", "blocked False"]
    assert wire.streaming


def test_a_face_that_wants_no_more_octets_stops_the_reading_and_starts_it_again() -> None:
    net = Net()
    pump, wire, face = connected(net)
    face.reading_paused = True
    pump.dataReceived(b"x")
    net.turn()
    assert wire.producerState == "paused"
    face.reading_paused = False
    net.turns.touch(face)
    net.turn()
    assert wire.producerState == "producing"


def test_the_face_hears_of_its_deadline() -> None:
    net = Net()
    pump, wire, face = connected(net)
    face.deadline_ms = 3000
    pump.dataReceived(b"x")
    net.turn()
    net.clock.advance(2.9)
    assert face.log == []
    face.to_send = b"heartbeat"
    net.clock.advance(0.2)
    net.turn()
    assert face.log == ["deadline 3100"]
    assert wire.value().endswith(b"heartbeat")


def of_kernel(silent_ms: int, allowed: int) -> bytes:
    """A struct tcp_info."""
    return struct.pack("=52xI8xI", silent_ms, allowed)


@pytest.mark.parametrize(
    ("paused", "silent_ms", "used", "most", "heard"),
    [
        (False, 2000, 0, 8000, []),  # all has been read
        (False, 2000, 100, 8000, [1100]),
        (True, 2000, 0, 8000, [1100]),
        (True, 2000, 1999, 4000, [1100]),
        (True, 2000, 2000, 4000, [3100]),  # it may not be allowed to send more
        (True, 2000, 2999, 8000, [1100]),
        (True, 2000, 3000, 8000, [3100]),  # nor here: it is told of less than there is
        (True, 2000, 0, 0, [3100]),  # a kernel that does not tell
    ],
)
def test_the_face_hears_at_its_deadline_what_the_kernel_has_and_nobody_has_read(
    paused: bool, silent_ms: int, used: int, most: int, heard: list[int]
) -> None:
    net = Net()
    pump, wire, face = connected(net)
    wire.information = of_kernel(silent_ms, 6000)
    wire.memory = struct.pack("=II", used, most)
    face.reading_paused = paused
    face.deadline_ms = 3000
    pump.dataReceived(b"x")
    net.turn()
    net.clock.advance(3.1)
    assert face.log == ["deadline 3100"]
    assert face.heard_ms == heard


def test_a_kernel_that_tells_nothing_is_no_witness_of_silence() -> None:
    net = Net()
    pump, wire, face = connected(net)
    wire.information = b""
    face.deadline_ms = 3000
    pump.dataReceived(b"x")
    net.turn()
    net.clock.advance(3.1)
    face.reading_paused = True
    face.deadline_ms = 6000
    pump.dataReceived(b"x")
    net.turn()
    net.clock.advance(3)
    assert face.heard_ms == [6100]


@rule("1.0", "5.1", "closed-by-shutting-down-the-outgoing-stream")
def test_a_closed_face_is_flushed_and_the_peer_has_a_moment_to_read_it() -> None:
    net = Net()
    pump, wire, face = connected(net)
    face.closed = True
    face.reading_paused = True
    pump.dataReceived(b"bye")
    net.turn()
    assert wire.value() == b"bye"
    assert wire.half_closed
    assert wire.producer is None
    pump.dataReceived(b"too late")
    assert face.received == HEADER_0_10 + b"bye"
    net.clock.advance(LINGER_MS / 1000)
    assert not wire.aborted
    net.clock.advance(0.1)
    assert wire.aborted


def test_inside_tls_a_close_is_announced_and_a_peer_that_does_not_read_is_cut_off() -> None:
    net = Net()
    pump, wire, face = connected(net)
    pump.secure = True
    face.closed = True
    net.turns.touch(face)
    net.turn()
    assert wire.disconnecting
    net.clock.advance(FLUSH_MS / 1000 + 0.1)
    assert wire.aborted


def test_a_lost_connection_is_told_to_the_face_once_and_leaves_no_timer() -> None:
    net = Net()
    pump, _wire, face = connected(net)
    face.deadline_ms = 60_000
    pump.dataReceived(b"x")
    net.turn()
    pump.connectionLost()
    pump.connectionLost()
    net.turn()
    pump.flush(net.now_ms())
    pump.abort()
    assert face.log == ["eof"]
    assert net.clock.getDelayedCalls() == []
    assert net.counts.lost == net.counts.accepted == 1


def test_a_lost_connection_stays_until_all_that_came_by_it_has_been_done() -> None:
    net = Net()
    pump, wire, face = connected(net)
    face.shares = 3
    pump.dataReceived(b"much")
    pump.connectionLost()
    assert net.counts.lost == 0
    net.turn()
    assert net.counts.turns == 1 + 3 + 1  # its end has one, too
    assert (face.shares, net.counts.lost) == (0, 1)
    assert wire.value() == b""
    assert net.clock.getDelayedCalls() == []


def test_a_lost_connection_that_breaks_while_it_is_behind_is_gone() -> None:
    net = Net()
    pump, _wire, face = connected(net)
    face.shares = 3
    face.fails = ZeroDivisionError()
    pump.connectionLost()
    net.turn()
    assert net.counts.lost == 1


def test_a_defect_in_one_face_ends_that_connection_only() -> None:
    net = Net()
    pump, wire, face = connected(net)
    other, other_wire, _ = connected(net)
    face.fails = ZeroDivisionError()
    with counting_defects(net.counts):
        pump.dataReceived(b"x")
        other.dataReceived(b"x")
        net.turn()
        pump.connectionLost()
    assert wire.aborted
    assert not other_wire.aborted
    assert other_wire.value() == b"x"
    assert net.counts.defects == 2  # the eof broke, too


def test_memory_that_is_refused_while_a_face_reads_gives_up() -> None:
    net = Net()
    pump, _wire, face = connected(net)
    face.fails = MemoryError()
    with pytest.raises(MemoryError):
        pump.dataReceived(b"x")


def test_a_pump_that_is_over_holds_nothing_of_what_its_connection_was() -> None:
    net = Net()
    pump, _wire, face = connected(net)
    pump.connectionLost()
    net.turn()
    assert pump.face is not face  # type: ignore[comparison-overlap]  # a Face like any other
    assert pump.face.status() is None
    assert pump.who().endswith("first octets")

"""The order of a graceful stop, and how signals shorten it."""

import pytest
from support.net import FakeFace, Net, Wire
from twisted.logger import capturedLogs, formatEvent

from gateway.net.listening.first_octets import HEADER_0_10
from gateway.net.pump import Pump
from gateway.net.stopping import ANSWER_MS, CUT_MS, Stage, Stopping
from gateway.wire.work import USER


class Draining:
    def __init__(self) -> None:
        self.drained = False
        self.is_idle = True
        self.for_room = False
        self.is_stuck = False

    def drain(self) -> None:
        self.drained = True

    def idle(self, *, clients: bool) -> bool:
        return self.is_idle and not (clients and self.for_room)

    def stuck(self) -> bool:
        return self.is_stuck

    def awaited(self) -> list[str]:
        return [] if self.is_idle else ["1 message waits for upstream main"]


class Stop:
    def __init__(self, connections: int = 1) -> None:
        self.net = Net()
        self.ends: list[tuple[Pump, Wire]] = [self.net.connect() for _ in range(connections)]
        for pump, _ in self.ends:
            pump.dataReceived(HEADER_0_10)
        self.net.turn()
        self.log: list[str] = []
        self.bridge = Draining()
        self.stopping = Stopping(
            self.net.door,
            self.bridge,
            lambda: self.log.append("listeners closed"),
            lambda: self.log.append("finished"),
            drain_timeout_ms=25_000,
            drain_idle_ms=10_000,
        )

    @property
    def faces(self) -> list[FakeFace]:
        return self.net.faces

    def lose(self) -> None:
        for pump, _ in self.ends:
            pump.connectionLost()
        self.net.turn()


def test_without_connections_it_is_over_with_the_next_turn() -> None:
    made = Stop(0)
    made.stopping.signal()
    assert made.log == ["listeners closed"]
    made.net.turn()
    made.net.turn()
    assert made.log == ["listeners closed", "finished"]
    assert made.bridge.drained
    assert made.net.clock.getDelayedCalls() == []


def test_idle_connections_are_closed_at_once() -> None:
    made = Stop(2)
    made.stopping.signal()
    assert [face.log for face in made.faces] == [["drain"], ["drain"]]
    made.net.turn()
    assert made.stopping.stage == Stage.CLOSING
    made.net.turn()
    assert [wire.value()[8:] for _, wire in made.ends] == [b"forced", b"forced"]
    made.lose()
    assert made.log[-1] == "finished"


def test_ends_that_wait_for_their_turn_are_waited_for() -> None:
    made = Stop(3)
    for face in made.faces:
        face.peer.entered("alice")
        face.eof_units = USER
    made.stopping.signal()
    made.net.turn()
    made.net.turn()
    for pump, _ in made.ends:
        pump.connectionLost()
    for left in (2, 1):
        assert len(made.net.door.pumps) == left
        assert made.log == ["listeners closed"]
        made.net.turns.end_now()
    assert made.log == ["listeners closed", "finished"]
    assert [face.log[-1] for face in made.faces] == ["eof"] * 3


@pytest.mark.parametrize("what", ["face", "bridge"])
def test_what_is_under_way_is_waited_for(what: str) -> None:
    made = Stop()
    made.faces[0].is_drained = what != "face"
    made.bridge.is_idle = what != "bridge"
    made.stopping.signal()
    made.net.turn()
    made.net.clock.advance(20)
    assert made.stopping.stage == Stage.DRAINING
    made.faces[0].is_drained = made.bridge.is_idle = True
    made.net.turns.touch(made.faces[0])
    made.net.turn()
    assert made.stopping.stage == Stage.CLOSING


def test_but_not_longer_than_the_drain_timeout() -> None:
    made = Stop()
    made.faces[0].is_drained = False
    made.stopping.signal()
    made.net.turn()
    made.net.clock.advance(24.9)
    assert made.stopping.stage == Stage.DRAINING
    made.net.clock.advance(0.2)
    assert made.stopping.stage == Stage.CLOSING


def test_the_log_names_what_is_waited_for_besides_connections() -> None:
    made = Stop(0)
    made.bridge.is_idle = False
    with capturedLogs() as events:
        made.stopping.signal()
        made.net.turn()
        made.net.clock.advance(25.1)
    assert [formatEvent(event) for event in events] == [
        "draining 0 connections; 1 message waits for upstream main",
        "drain_timeout is over; 0 connections have work left; 1 message waits for upstream main",
    ]


def test_while_the_disk_refuses_it_waits_for_clients_and_not_for_the_disk() -> None:
    made = Stop()
    made.bridge.is_idle = False
    made.bridge.is_stuck = True
    made.stopping.signal()
    made.net.turn()
    made.net.clock.advance(10)
    assert made.stopping.stage == Stage.DRAINING
    with capturedLogs() as events:
        made.lose()
    assert [formatEvent(event) for event in events] == [
        "nothing can be committed, and no client is left; 1 message waits for upstream main"
    ]
    made.net.turn()
    assert made.log[-1] == "finished"


def test_room_is_waited_for_only_while_clients_can_make_it() -> None:
    made = Stop()
    made.bridge.for_room = True
    made.stopping.signal()
    made.net.turn()
    made.net.clock.advance(10)
    assert made.stopping.stage == Stage.DRAINING
    made.lose()
    made.net.turn()
    assert made.log[-1] == "finished"


def test_a_second_signal_goes_straight_to_the_close_and_a_third_one_cuts_off() -> None:
    made = Stop()
    made.faces[0].is_drained = False
    made.stopping.signal()
    made.stopping.signal()
    assert made.stopping.stage == Stage.CLOSING
    made.stopping.signal()
    assert made.ends[0][1].aborted
    made.stopping.signal()
    made.lose()
    assert made.log == ["listeners closed", "finished"]


def test_who_does_not_answer_the_close_is_cut_off() -> None:
    made = Stop()
    made.stopping.signal()
    made.net.turn()
    made.net.clock.advance(ANSWER_MS / 1000 - 0.1)
    assert not made.ends[0][1].aborted
    made.net.clock.advance(0.2)
    assert made.ends[0][1].aborted
    made.lose()
    assert made.log[-1] == "finished"


def test_the_end_comes_even_if_a_connection_never_goes() -> None:
    made = Stop()
    made.stopping.signal()
    made.net.turn()
    made.net.clock.advance(ANSWER_MS / 1000 + 0.1)
    made.net.clock.advance(CUT_MS / 1000 + 0.1)
    assert made.log[-1] == "finished"
    made.lose()
    made.stopping.signal()
    assert made.log.count("finished") == 1


def draining(*owed: int) -> Stop:
    """A stop that waits for clients which have so much to settle each."""
    made = Stop(len(owed))
    for face, each in zip(made.faces, owed, strict=True):
        face.is_drained, face.is_owed = False, each
    made.stopping.signal()
    made.net.turn()
    return made


def wait(made: Stop, seconds: int) -> None:
    for _ in range(seconds):
        made.net.clock.advance(1)
        made.net.turn()


def hung_up_on(made: Stop) -> list[bool]:
    return ["force_close" in face.log for face in made.faces]


def test_a_client_that_settles_nothing_is_hung_up_on_and_the_others_go_on() -> None:
    made = draining(7, 7)
    for left in range(6, 1, -1):
        wait(made, 2)
        made.faces[1].is_owed = left
    assert hung_up_on(made) == [True, False]
    assert made.stopping.stage == Stage.DRAINING
    with capturedLogs() as told:
        wait(made, 9)
        assert hung_up_on(made) == [True, False]
        wait(made, 3)
    assert hung_up_on(made) == [True, True]
    assert [formatEvent(each) for each in told] == [
        "1 connections have settled nothing for 10 s and are closed"
    ]


def test_with_the_last_of_them_the_stop_goes_on() -> None:
    made = draining(3)
    wait(made, 11)
    made.faces[0].is_drained = True
    made.lose()
    made.net.turn()
    assert made.log == ["listeners closed", "finished"]
    assert made.net.clock.getDelayedCalls() == []


def test_who_waits_for_the_gateway_is_waited_for() -> None:
    made = draining(0)
    wait(made, 24)
    assert hung_up_on(made) == [False]


def test_before_a_stop_nobody_has_to_settle() -> None:
    made = Stop()
    made.faces[0].is_owed = 5
    wait(made, 60)
    assert hung_up_on(made) == [False]

"""One end of turn for everything that one pass of the reactor read."""

from support.net import FakeBridge, FakeFace, Net, counting_defects

from gateway.errors import StoreError
from gateway.faces.face import Peer
from gateway.net.listening.login import PeerAuthenticator


class Recorder:
    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name
        self.waiting = False
        self.greedy = False

    def flush(self, now_ms: int) -> None:
        self.log.append(f"flush {self.name}")

    def waits(self) -> bool:
        return self.waiting

    def comes_after(self) -> bool:
        return self.greedy


def faces(net: Net, *names: str) -> list[FakeFace]:
    made = []
    for name in names:
        face = FakeFace(Peer(1, name), PeerAuthenticator(net.authentication, Peer(1, name)))
        net.turns.attach(face, Recorder(net.bridge.log, name))
        made.append(face)
    return made


def test_a_turn_drives_the_bridge_once_and_then_flushes_each_touched_face_once() -> None:
    net = Net()
    one, two, _idle = faces(net, "one", "two", "idle")
    for face in (one, two, one):
        net.turns.touch(face)
    assert net.bridge.log == []
    net.turn()
    assert net.bridge.log == ["end_turn", "flush one", "flush two"]
    net.turn()
    assert len(net.bridge.log) == 3
    assert net.counts.turns == 1


def test_the_bridge_is_told_the_time_where_a_turn_begins_and_where_it_ends() -> None:
    net = Net()
    (face,) = faces(net, "one")
    net.turns.touch(face)
    began_us = net.bridge.now_us
    assert began_us == net.now_ms() * 1000
    net.clock.rightNow += 0.004
    net.turns.touch(face)
    assert net.bridge.now_us == began_us
    net.turn()
    assert net.bridge.now_us == began_us + 4000


def test_a_face_that_the_bridge_touches_while_dispatching_is_flushed_in_the_same_turn() -> None:
    net = Net()
    one, two = faces(net, "one", "two")

    class Dispatching(FakeBridge):
        def end_turn(self, now_ms: int) -> bool:
            net.turns.touch(two)
            return super().end_turn(now_ms)

    bridge = Dispatching()
    bridge.log = net.bridge.log
    net.turns._bridge = bridge
    net.turns.touch(one)
    net.turn()
    assert bridge.log == ["end_turn", "flush one", "flush two"]


def recorder(net: Net, face: FakeFace) -> Recorder:
    found = net.turns._pumps[id(face)]
    assert isinstance(found, Recorder)
    return found


def test_a_face_that_waits_is_the_first_of_its_user_in_the_next_turn() -> None:
    net = Net()
    first, second, other = faces(net, "first", "second", "other")
    recorder(net, second).waiting = True
    net.turns.touch(second)
    net.turns.touch(first)
    net.turns.end_now()
    assert net.bridge.log == ["end_turn", "flush first"]
    net.bridge.log.clear()
    recorder(net, second).waiting = False
    for face in (first, second):
        recorder(net, face).greedy = True
    for face in (first, other):
        net.turns.touch(face)
    net.turn()
    assert net.bridge.log == ["end_turn", "flush other", "flush second", "flush first"]


def test_a_bridge_with_more_to_dispatch_gets_another_turn() -> None:
    net = Net()
    net.bridge.more = [True, True, False]
    net.turns.schedule()
    for _ in range(5):
        net.turn()
    assert net.bridge.log == ["end_turn"] * 3


def test_a_commit_is_told_to_the_bridge_and_ends_a_turn() -> None:
    net = Net()
    net.turns.on_committed(7)
    net.turns.on_store_failed(StoreError("disk full"))
    net.turn()
    assert net.bridge.log == ["committed 7", "failed disk full", "end_turn"]


def test_the_bridge_hears_of_its_deadline_and_the_turn_is_ended() -> None:
    net = Net()
    net.bridge.deadline_ms = 5_000
    net.turns.schedule()
    net.turn()
    net.clock.advance(4)
    assert net.bridge.log == ["end_turn"]
    net.clock.advance(1.01)
    net.turn()
    assert net.bridge.log == ["end_turn", "deadline 5010", "end_turn"]


def test_a_face_that_is_gone_is_not_flushed_but_its_turn_still_ends() -> None:
    net = Net()
    (one,) = faces(net, "one")
    net.turns.touch(one)
    net.turns.detach(one)
    net.turns.touch(one)
    net.turn()
    assert net.bridge.log == ["end_turn"]


def test_a_turn_that_breaks_off_still_flushes_and_the_next_one_comes() -> None:
    net = Net()
    (one,) = faces(net, "one")
    net.bridge.fails = ZeroDivisionError()
    net.turns.touch(one)
    with counting_defects(net.counts):
        net.turn()
    assert net.bridge.log == ["end_turn", "flush one"]
    assert net.counts.defects == 1
    net.bridge.fails = None
    net.turns.touch(one)
    net.turn()
    assert net.bridge.log[2:] == ["end_turn", "flush one"]


def test_a_connection_that_cannot_be_flushed_keeps_no_other_from_it() -> None:
    net = Net()
    one, two = faces(net, "one", "two")
    recorder = net.turns._pumps[id(one)]

    def broken(_now_ms: int) -> None:
        raise ZeroDivisionError

    recorder.flush = broken  # type: ignore[method-assign]
    net.turns.touch(one)
    net.turns.touch(two)
    with counting_defects(net.counts):
        net.turn()
    assert net.bridge.log == ["end_turn", "flush two"]
    assert net.counts.defects == 1


def test_two_turns_in_a_row_that_break_off_are_the_last() -> None:
    net = Net()
    given_up: list[BaseException] = []
    net.turns.give_up = given_up.append
    net.bridge.fails = ZeroDivisionError()
    net.turns.schedule()
    net.turn()
    assert given_up == []
    net.turns.schedule()
    net.turn()
    assert [str(error) for error in given_up] == ["two turns in a row broke off"]


def test_memory_that_is_refused_anywhere_in_a_turn_gives_up() -> None:
    net = Net()
    given_up: list[BaseException] = []
    net.turns.give_up = given_up.append
    (one,) = faces(net, "one")
    recorder = net.turns._pumps[id(one)]

    def refused(*_told: object) -> bool:
        raise MemoryError

    net.bridge.on_committed = net.bridge.on_store_eased = refused  # type: ignore[method-assign]
    net.turns.on_committed(7)
    net.turns.on_store_eased()
    net.bridge.fails = MemoryError()
    net.turns.end_now()
    assert [type(error) for error in given_up] == [MemoryError] * 3
    net.bridge.fails = None
    recorder.waits = refused  # type: ignore[method-assign]
    net.turns.touch(one)
    net.turns.end_now()
    assert [type(error) for error in given_up] == [MemoryError] * 4


def test_stopping_leaves_no_timer_behind() -> None:
    net = Net()
    net.bridge.deadline_ms = 5_000
    net.turns.schedule()
    net.turns.end_now()
    net.turns.schedule()
    net.turns.stop()
    assert net.clock.getDelayedCalls() == []

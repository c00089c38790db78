"""Heartbeats beside large messages, on a wire that takes seconds for a frame.

Nobody who is there is called dead, by either side, and who is gone is found in time, whatever was
under way.

Time is the test's own. A peer is dead after twice the heartbeat of 0-10, and after the idle-timeout
of 1.0, of which either side tells the other half.
"""

import pytest
from support.drive_0_10 import control
from support.face_1_0 import Hub
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.wire.limits import Limits

HEARTBEAT_S = 2
DEAD_MS = 2 * HEARTBEAT_S * 1000
TICK_MS = 100
OCTETS_A_MS = 12  # a frame of 64 KiB takes longer than it takes to be dead
HIGH = 65_536
LARGE = bytes(300_000)
BUSY_S = 60
LIMITS = Limits(heartbeat_s=HEARTBEAT_S, idle_timeout_ms=DEAD_MS)
HEARTBEATS = {"0-10": control(spec.ConnectionHeartbeat()), "1.0": bytes((0, 0, 0, 8, 2, 0, 0, 0))}
BOTH = pytest.mark.parametrize("protocol", ["0-10", "1.0"])


class NarrowWire:
    """Between a client of ours and the face that serves it.

    Attributes:
        gap_ms: the longest time without an octet, to the gateway and to the client.
        reads, writes: whether the client does.
    """

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.up, self.down = bytearray(), bytearray()
        self.blocked = False
        self.reads = self.writes = True
        self.gap_ms = [0, 0]
        if protocol == "0-10":
            gateway = Gateway(limits=LIMITS)
            client = gateway.session()
            client.does(spec.QueueDeclare(queue="q"), spec.QueueDeclare(queue="full"))
            client.publishes(LARGE, key="full")
            client.hears()
            self.world, self.face, self.connection = gateway.world, client.face, client.connection
            self.publish = lambda: client.publishes(LARGE)
            self.subscribe = lambda: client.subscribes(accept=1)
            self.wait = lambda: client.subscribes("full", "w", credit=None)
        else:
            hub = Hub(limits=LIMITS)
            hub.world.queue("q")
            hub.world.queue("full")
            peer = hub.client(limits=LIMITS)
            session = peer.session()
            sender = peer.sender("q", session=session)
            peer.send(peer.sender("full", session=session), b"\x00\x53\x75\xa0\x01x")
            head = b"\x00\x53\x75\xb0" + len(LARGE).to_bytes(4, "big")
            self.world, self.face, self.connection = hub.world, peer.face, peer.connection
            tags = iter(range(1000))
            self.publish = lambda: sender.send_delivery(
                b"%d" % next(tags), b"", head + LARGE, settled=True
            )
            self.subscribe = lambda: peer.receiver("q", session=session, credit=500)
            self.wait = lambda: peer.receiver("full", session=session, credit=0)
        self.heard_ms = [self.world.now_ms, self.world.now_ms]

    def run(self, seconds: float) -> None:
        """As much as crosses in that time."""
        for _ in range(int(seconds * 1000) // TICK_MS):
            self.tick()

    def tick(self) -> None:
        self.world.now_ms += TICK_MS
        now_ms = self.world.now_ms
        ends = (self.face, self.connection) if self.writes else (self.face,)
        for end in ends:
            due = end.next_deadline()
            if due is not None and due <= now_ms and not end.closed:
                end.handle_deadline(now_ms)
        if self.writes:
            self.up += self.connection.data_to_send()
            crossed = self._cross(self.up, 0)
            if crossed and not self.face.closed:
                self.face.receive_data(crossed, now_ms)
        self.world.turn()
        if not self.blocked:
            self.down += self.face.data_to_send()
        crossed = self._cross(self.down, 1) if self.reads else b""
        if crossed:
            self.connection.receive_data(crossed, now_ms)
        if self.blocked != (len(self.down) > (0 if self.blocked else HIGH)):
            self.blocked = not self.blocked
            self.face.write_blocked(self.blocked)

    def _cross(self, octets: bytearray, way: int) -> bytes:
        piece = bytes(octets[: OCTETS_A_MS * TICK_MS])
        del octets[: len(piece)]
        now_ms = self.world.now_ms
        if piece:
            self.heard_ms[way] = now_ms
        self.gap_ms[way] = max(self.gap_ms[way], now_ms - self.heard_ms[way])
        return piece

    def client_stands(self) -> bool:
        connection = self.connection
        return connection.open if self.protocol == "0-10" else connection.can_send

    def alive(self) -> bool:
        return not self.face.closed and not self.connection.closed


@BOTH
def test_large_messages_both_ways_kill_nobody(protocol: str) -> None:
    wire = NarrowWire(protocol)
    wire.subscribe()
    for _ in range(4):
        wire.publish()
    wire.run(BUSY_S)
    assert wire.alive()
    assert max(wire.gap_ms) < DEAD_MS // 2
    assert len(wire.up) > HIGH  # it was busy to the end


@BOTH
def test_one_way_alone_leaves_room_for_the_heartbeats_of_the_other(protocol: str) -> None:
    wire = NarrowWire(protocol)
    for _ in range(4):
        wire.publish()
    wire.run(BUSY_S)
    assert wire.alive()
    assert len(wire.up) > HIGH
    assert wire.gap_ms[1] <= DEAD_MS // 2  # nothing but heartbeats to the client


@BOTH
def test_a_consumer_that_waits_and_says_nothing_lives_by_heartbeats_alone(protocol: str) -> None:
    wire = NarrowWire(protocol)
    wire.wait()
    wire.run(BUSY_S)
    assert wire.alive()
    assert max(wire.gap_ms) <= DEAD_MS // 2
    assert wire.heard_ms[0] > wire.world.now_ms - DEAD_MS // 2


@BOTH
def test_a_client_that_reads_nothing_but_speaks_is_not_dead(protocol: str) -> None:
    wire = NarrowWire(protocol)
    wire.subscribe()
    wire.publish()
    wire.run(40)  # the message is there, and on its way back
    assert wire.down
    wire.reads = wire.writes = False
    for _ in range(BUSY_S // HEARTBEAT_S):
        wire.run(HEARTBEAT_S)
        wire.face.receive_data(HEARTBEATS[protocol], wire.world.now_ms)
    assert wire.face.status() is not None


@BOTH
@pytest.mark.parametrize("busy", ["sending", "receiving", "waiting"])
def test_a_client_that_is_gone_is_found_in_time_whatever_was_under_way(
    protocol: str, busy: str
) -> None:
    wire = NarrowWire(protocol)
    if busy == "sending":
        wire.publish()
        wire.run(5)
        assert wire.up
    elif busy == "receiving":
        wire.subscribe()
        wire.publish()
        wire.run(40)
        assert wire.down
    else:
        wire.wait()
        wire.run(5)
    wire.reads = wire.writes = False
    last_ms = wire.heard_ms[0]
    while wire.face.status() is not None and wire.world.now_ms < last_ms + 2 * DEAD_MS:
        wire.tick()
    assert last_ms + DEAD_MS <= wire.world.now_ms <= last_ms + DEAD_MS + TICK_MS


@BOTH
def test_a_gateway_that_is_gone_is_found_in_time(protocol: str) -> None:
    wire = NarrowWire(protocol)
    wire.publish()
    wire.run(5)
    last_ms = wire.heard_ms[1]
    wire.reads = False  # what the gateway says does not come
    while wire.client_stands() and wire.world.now_ms < last_ms + 2 * DEAD_MS:
        wire.tick()
    assert last_ms + DEAD_MS <= wire.world.now_ms <= last_ms + DEAD_MS + TICK_MS

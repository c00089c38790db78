"""Connections that wait for their turn, or for what a proxy says of them."""

from support.net import Net
from twisted.logger import capturedLogs, formatEvent

from gateway.net.listening.first_faces import PassedOn
from gateway.net.listening.first_octets import HEADER_0_10, HEADER_1_0
from gateway.net.listening.proxy_header import SIGNATURE

FROM = bytes((192, 0, 2, 99))
PROXIED = SIGNATURE + b"\x21\x11\x00\x0c" + FROM + bytes(4) + (4711).to_bytes(2, "big") + bytes(2)
LOCAL = SIGNATURE + b"\x20\x00\x00\x00"


def test_a_connection_beyond_those_that_log_in_is_not_read_until_one_has_opened() -> None:
    net = Net(entering_per_address_max=1)
    net.connect()[0].dataReceived(HEADER_0_10)
    pump, wire = net.connect()
    assert wire.producerState == "paused"
    pump.dataReceived(HEADER_1_0 + b"early")  # it was under way
    net.turn()
    assert len(net.faces) == 1
    net.faces[0].peer.entered("alice")
    net.turn()
    net.turn()
    assert net.faces[1].received == HEADER_1_0 + b"early"
    assert wire.producerState == "producing"


def test_its_time_begins_with_its_turn() -> None:
    net = Net(entering_per_address_max=1)
    net.connect()[0].dataReceived(HEADER_0_10)
    _pump, wire = net.connect()
    net.clock.advance(9.9)
    net.faces[0].peer.entered("alice")
    net.turn()
    net.clock.advance(9)
    assert not wire.half_closed
    net.clock.advance(2)
    net.turn()
    assert wire.half_closed


def test_who_leaves_while_it_waits_leaves_its_turn_to_the_next() -> None:
    net = Net(entering_per_address_max=1)
    first, _ = net.connect()
    gone, _ = net.connect()
    third, wire = net.connect()
    gone.connectionLost()
    first.connectionLost()
    net.turn()
    net.turn()
    assert wire.producerState == "producing"
    third.dataReceived(HEADER_0_10)
    assert len(net.faces) == 1


def test_connections_that_wait_end_with_the_gateway() -> None:
    net = Net(entering_per_address_max=1)
    net.connect()
    pump, wire = net.connect()
    pump.face.drain(0)
    assert pump.face.drained()
    net.turns.touch(pump.face)
    net.turn()
    assert wire.half_closed


def test_a_proxy_says_whose_connection_it_is() -> None:
    net = Net()
    pump, _wire = net.connect("10.0.0.1", passed_on=True)
    octets = PROXIED + HEADER_0_10
    for at in range(len(octets)):
        pump.dataReceived(octets[at : at + 1])
    assert net.faces[0].peer.endpoint() == "192.0.2.99:4711"
    assert net.faces[0].received == HEADER_0_10


def test_limits_of_an_address_are_those_of_the_address_that_the_proxy_names() -> None:
    net = Net(connections_per_address_max=1)
    net.connect("10.0.0.1", passed_on=True)[0].dataReceived(PROXIED)
    second, wire = net.connect("10.0.0.1", passed_on=True)
    second.dataReceived(PROXIED)
    assert wire.aborted
    assert net.counts.refused["address_limit"] == 1
    other, wire = net.connect("10.0.0.1", passed_on=True)
    other.dataReceived(PROXIED.replace(FROM, bytes((192, 0, 2, 98))))
    assert not wire.aborted
    second.connectionLost()
    other.connectionLost()
    net.connect("192.0.2.98")


def test_a_connection_of_the_proxy_itself_has_the_proxys_address() -> None:
    net = Net()
    pump, _ = net.connect("10.0.0.1", passed_on=True)
    pump.dataReceived(LOCAL + HEADER_0_10)
    assert net.faces[0].peer.address == "10.0.0.1"


def test_tls_comes_behind_what_the_proxy_says() -> None:
    net = Net(tls_context="context")
    pump, wire = net.connect("10.0.0.1", tls_first=True, passed_on=True)

    class Tls:
        got = b""

        def dataReceived(self, data: bytes) -> None:
            self.got += data

    wire.protocol = tls = Tls()
    assert wire.tls == []
    pump.dataReceived(PROXIED + b"client hello")
    assert wire.tls == ["context"]
    assert tls.got == b"client hello"


def test_whatever_comes_without_the_header_is_refused() -> None:
    net = Net()
    pump, wire = net.connect("10.0.0.1", passed_on=True)
    with capturedLogs() as captured:
        pump.dataReceived(HEADER_0_10)
    [line] = [formatEvent(event) for event in captured]
    assert line == (
        "a connection from 10.0.0.1 was refused: it is no proxy, and listen.proxy_protocol says"
        " that it is one: no PROXY protocol header"
    )
    net.turn()
    assert wire.half_closed
    assert wire.value() == b""
    assert net.counts.handshake_failures["proxy"] == 1
    with capturedLogs() as captured:
        for _ in range(100):
            again, _ = net.connect("10.0.0.1", passed_on=True)
            again.dataReceived(HEADER_0_10)
            again.connectionLost()
    assert captured == []  # nor is there a line for each: one stood there just now
    late, wire = net.connect("10.0.0.1", passed_on=True)
    net.clock.advance(11)
    net.turn()
    assert wire.half_closed
    late.connectionLost()
    assert net.faces == []


def test_more_octets_before_the_open_than_a_login_has_end_the_connection() -> None:
    net = Net()
    pump, wire = net.connect()
    pump.dataReceived(HEADER_0_10 + bytes(900))
    assert not wire.aborted
    pump.dataReceived(bytes(100))
    assert wire.aborted
    assert net.counts.handshake_failures["size"] == 1


def test_after_the_open_there_is_no_such_limit() -> None:
    net = Net()
    pump, wire = net.connect()
    pump.dataReceived(HEADER_0_10)
    net.faces[0].peer.entered("alice")
    pump.dataReceived(bytes(5000))
    assert not wire.aborted


def test_who_is_slow_with_each_step_anew_is_cut_off() -> None:
    net = Net()
    pump, wire = net.connect()
    net.clock.advance(9)
    pump.dataReceived(HEADER_0_10)
    net.faces[0].deadline_ms = 19_000
    net.turn()
    net.clock.advance(3.5)
    assert wire.aborted


def test_nothing_is_kept_of_who_is_sent_away() -> None:
    net = Net()
    refused, _ = net.connect(passed_on=True)
    refused.dataReceived(SIGNATURE + b"\x21\x11\xff\xff" + bytes(900))
    late, _ = net.connect(passed_on=True)
    late.dataReceived(PROXIED[:-1])
    net.turn()
    faces = [pump.face for pump in (refused, late)]
    assert all(isinstance(face, PassedOn) for face in faces)
    net.clock.advance(11)
    assert [(face.closed, getattr(face, "read", None)) for face in faces] == [(True, b"")] * 2
    assert net.counts.handshake_failures["proxy"] == 2

"""The first octets select the face; limits are kept; who says nothing is sent away."""

import struct

import hypothesis.strategies as st
import pytest
from hypothesis import given
from support.net import Net
from support.rules import rule
from twisted.internet.address import IPv4Address
from twisted.logger import capturedLogs, formatEvent

from gateway.net.listening.first_octets import (
    HEADER_0_10,
    HEADER_1_0,
    HEADER_1_0_SASL,
    HEADER_1_0_TLS,
    Ask,
)
from gateway.net.listening.listen import Listener
from gateway.net.pump import Pump
from gateway.wire.work import USER


def test_those_for_whom_no_files_are_left_are_refused_told_and_counted() -> None:
    net = Net(connections_max=5)
    net.door.files_max = 2
    first, _ = net.connect()
    net.connect()
    with capturedLogs() as events:
        for _ in range(150):
            assert net.door.admit("192.0.2.9", tls_first=False) is None
    told = "a connection from 192.0.2.9 was refused: there are as many as files may be open for"
    assert [formatEvent(event) for event in events] == [told]
    assert (net.counts.refused["files"], net.counts.refused["limit"]) == (150, 0)
    first.connectionLost()
    assert net.door.admit("192.0.2.9", tls_first=False) is not None


@given(st.lists(st.integers(1, 20), max_size=6), st.sampled_from([HEADER_0_10, HEADER_1_0]))
def test_the_face_gets_all_octets_header_included_however_they_are_cut(
    cuts: list[int], header: bytes
) -> None:
    net = Net()
    pump, wire = net.connect()
    data = header + b"and what follows"
    for cut in [*cuts, len(data)]:
        if data:
            pump.dataReceived(data[:cut])
        data = data[cut:]
        net.turn()
    (face,) = net.faces
    assert face.received == wire.value() == header + b"and what follows"
    assert net.made == [Ask.SERVE_0_10 if header == HEADER_0_10 else Ask.SERVE_1_0]


def test_the_face_is_told_who_the_peer_is() -> None:
    net = Net()
    pump, _ = net.connect("192.0.2.7")
    pump.dataReceived(HEADER_1_0_SASL)
    peer = net.faces[0].peer
    assert (peer.connection_id, peer.address, peer.secure) == (1, "192.0.2.7", False)
    assert net.faces[0].authenticator.mechanisms() == ["ANONYMOUS"]


def test_a_client_of_http_is_told_in_http_where_it_is() -> None:
    net = Net()
    pump, wire = net.connect()
    pump.dataReceived(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    net.turn()
    head, _, text = wire.value().decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 ")
    assert f"Content-Length: {len(text)}" in head
    assert "This is the AMQP port" in text
    assert wire.half_closed
    assert net.counts.handshake_failures["header"] == 1


def test_an_unknown_header_is_answered_and_the_connection_closed() -> None:
    net = Net()
    pump, wire = net.connect()
    pump.dataReceived(b"EHLO mail.example\r\n")
    pump.dataReceived(b"\r\n")
    net.turn()
    assert wire.value() == HEADER_1_0
    assert wire.half_closed
    pump.connectionLost()
    assert net.faces == []
    failures = {reason: count for reason, count in net.counts.handshake_failures.items() if count}
    assert failures == {"header": 1}


def test_who_says_nothing_in_time_is_sent_away() -> None:
    net = Net()
    pump, wire = net.connect()
    pump.dataReceived(b"AMQP")
    net.turn()
    net.clock.advance(9.9)
    assert not wire.half_closed
    net.clock.advance(0.2)
    net.turn()
    assert wire.half_closed
    assert net.counts.handshake_failures["timeout"] == 1


def test_who_waits_for_us_is_not_cut_off_for_that() -> None:
    net = Net()
    pump, wire = net.connect()
    pump.dataReceived(HEADER_1_0_SASL)
    net.faces[0].peer.held(True)
    net.turn()
    net.clock.advance(100)
    assert not wire.disconnecting
    net.faces[0].peer.held(False)
    pump.flush(net.door.now_ms())
    net.clock.advance(9.9)
    assert not wire.aborted
    net.clock.advance(10)
    assert wire.aborted


def test_who_has_said_what_we_have_not_read_is_not_cut_off_for_that() -> None:
    net = Net()
    pump, wire = net.connect()
    net.turn()
    wire.memory = struct.pack("=II", 100, 8000)
    for _ in range(50):
        net.clock.advance(1)
    assert not wire.half_closed
    wire.memory = bytes(8)
    wire.information = struct.pack("=44xI4xI", 50_000, 49_000) + bytes(48)
    pump.dataReceived(HEADER_0_10[:4])
    net.turn()
    for _ in range(10):
        net.clock.advance(1)
    net.turn()
    assert wire.half_closed
    assert net.counts.handshake_failures["timeout"] == 1


def test_what_waits_for_us_is_waited_for_in_all_of_a_handshake() -> None:
    net = Net()
    pump, wire = net.connect()
    net.clock.advance(8)
    wire.information = struct.pack("=44xI4xI", 8000, 7000) + bytes(48)
    pump.dataReceived(HEADER_0_10[:4])  # which waited for 7 s
    net.turn()
    net.clock.advance(8)
    wire.information = struct.pack("=44xI4xI", 16_000, 8000) + bytes(48)
    net.turn()
    assert not wire.half_closed
    net.clock.advance(1.1)
    net.turn()
    assert wire.half_closed


def test_nobody_is_waited_for_for_ever() -> None:
    net = Net()
    _, wire = net.connect()
    net.turn()
    wire.memory = struct.pack("=II", 100, 8000)
    for _ in range(61):
        net.clock.advance(1)
    net.turn()
    assert wire.half_closed


def test_who_leaves_before_saying_anything_is_counted() -> None:
    net = Net()
    pump, _ = net.connect()
    pump.connectionLost()
    assert net.counts.handshake_failures["closed"] == 1


@rule("1.0", "5.2", "tls-header")
def test_the_tls_header_is_answered_in_plain_and_what_is_behind_it_goes_to_tls() -> None:
    net = Net(tls_context="context")
    pump, wire = net.connect()

    class Tls:
        got = b""

        def dataReceived(self, data: bytes) -> None:
            self.got += data

    wire.protocol = tls = Tls()
    pump.dataReceived(HEADER_1_0_TLS + b"client hello")
    assert wire.value() == HEADER_1_0_TLS
    assert wire.tls == ["context"]
    assert tls.got == b"client hello"
    pump.dataReceived(HEADER_1_0)  # decrypted
    assert net.faces[0].peer.secure
    assert net.faces[0].received == HEADER_1_0


def test_tls_within_tls_is_refused_and_so_is_tls_without_a_certificate() -> None:
    net = Net(tls_context="context")
    pump, wire = net.connect(tls_first=True)
    assert wire.tls == ["context"]
    pump.handshaken = True
    pump.dataReceived(HEADER_1_0_TLS)
    net.turn()
    assert wire.value() == HEADER_1_0
    plain = Net()
    pump, wire = plain.connect()
    pump.dataReceived(HEADER_1_0_TLS)
    plain.turn()
    assert wire.value() == HEADER_1_0


def test_a_tls_handshake_that_fails_is_counted_as_such() -> None:
    net = Net(tls_context="context")
    pump, _ = net.connect(tls_first=True)
    pump.connectionLost()
    assert net.counts.handshake_failures["tls"] == 1


class Certificate:
    """As pyOpenSSL has it."""

    def get_subject(self) -> object:
        components = [(b"CN", b"alice")]
        return type("Subject", (), {"commonName": "alice", "get_components": lambda: components})


def test_a_certificate_names_the_peer() -> None:
    net = Net(tls_context="context")
    pump, wire = net.connect(tls_first=True)
    wire.getPeerCertificate = Certificate  # type: ignore[attr-defined]  # as Twisted sets it
    pump.handshakeCompleted()
    pump.dataReceived(HEADER_1_0_SASL)
    assert net.faces[0].peer.certificate_name == "alice"
    assert net.faces[0].authenticator.mechanisms() == ["EXTERNAL", "ANONYMOUS"]


@pytest.mark.parametrize(
    ("net", "reason", "host"),
    [
        (Net(connections_max=2), "limit", "192.0.2.9"),
        (Net(connections_per_address_max=2), "address_limit", "192.0.2.1"),
    ],
)
def test_one_connection_too_many_is_closed_at_once_until_another_one_goes(
    net: Net, reason: str, host: str
) -> None:
    first, _ = net.connect()
    net.connect()
    listener = Listener(net.door)
    address = IPv4Address("TCP", host, 1)
    assert listener.buildProtocol(address) is None
    assert net.counts.refused[reason] == 1
    first.connectionLost()
    assert listener.buildProtocol(address) is not None
    assert net.counts.accepted == 3


def test_the_door_says_when_the_last_connection_is_gone() -> None:
    net = Net()
    told: list[bool] = []
    net.door.on_empty = lambda: told.append(True)
    one, _ = net.connect()
    two, _ = net.connect("192.0.2.2")
    one.connectionLost()
    assert told == []
    two.connectionLost()
    assert told == [True]
    again, _ = net.connect()
    again.connectionLost()
    assert told == [True, True]


FULL = 6


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"connections_max": FULL, "connections_per_address_max": 10 * FULL}, "limit"),
        ({"connections_max": 10 * FULL, "connections_per_address_max": FULL}, "address_limit"),
    ],
)
def test_a_full_house_that_was_lost_comes_back_while_its_ends_wait(
    limits: dict[str, int], reason: str
) -> None:
    net = Net(**limits)

    def come() -> list[Pump]:
        pumps = [net.connect()[0] for _ in range(FULL)]
        assert net.door.admit("192.0.2.1", tls_first=False) is None
        for pump in pumps:
            pump.dataReceived(HEADER_0_10)
            net.faces[-1].peer.entered("alice")
            net.faces[-1].eof_units = USER
        return pumps

    net.turns.shares.of("alice").use(net.counts.turns, USER)
    for _ in range(2):
        for pump in come():
            pump.connectionLost()
    assert [face.log for face in net.faces] == [[]] * 2 * FULL
    assert net.counts.ending == 2 * FULL
    assert net.counts.refused[reason] == 2
    assert net.door.admit("192.0.2.1", tls_first=False) is None  # so many wait for their end
    emptied = []
    net.door.on_empty = lambda: emptied.append(net.counts.lost)
    for _ in range(2 * FULL):
        net.turn()
    assert [face.log for face in net.faces] == [["eof"]] * 2 * FULL
    assert emptied == [2 * FULL]
    assert net.counts.ending == 0
    come()
    assert net.counts.refused[reason] == 4


def test_a_connection_that_has_not_begun_goes_at_once_in_a_drain() -> None:
    net = Net()
    pump, wire = net.connect()
    face = pump.face
    face.drain(0)
    assert face.drained()
    assert face.closed
    net.turns.touch(face)
    net.turn()
    assert wire.half_closed
    assert net.counts.handshake_failures["closed"] == 0

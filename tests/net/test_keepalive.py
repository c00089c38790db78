"""The kernel looks after peers that are silent."""

import pathlib
import select
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from support.certificates import Authority
from support.net import Net, Wire
from support.tls_visit import Visit
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory

from gateway.net import keepalive
from gateway.net.keepalive import (
    IDLE_S,
    INTERVAL_S,
    LOOKS,
    PROBES,
    QUESTIONS,
    UNANSWERED_MS,
    Unanswered,
    heard_ms,
    is_unread,
    keep_alive,
    last_ms,
)
from gateway.net.pump import Pump
from gateway.net.tls.files import tls_context


class Tcp:
    """A transport with a real socket, that is not connected."""

    connected = 0

    def __init__(self) -> None:
        self.handle = socket.socket()

    def setTcpKeepAlive(self, enabled: bool) -> None:
        self.handle.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, enabled)

    def getHandle(self) -> socket.socket:
        return self.handle


@contextmanager
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection of this machine."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as far,
        server.accept()[0] as near,
    ):
        yield far, near


def wait_for_octets(near: socket.socket) -> None:
    there = select.poll()  # which takes any number of descriptor
    there.register(near, select.POLLIN)
    there.poll()


def test_a_dead_host_is_noticed_after_two_minutes() -> None:
    tcp = Tcp()
    with tcp.handle as handle:
        keep_alive(tcp)
        assert handle.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        options = [socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT]
        kept = [handle.getsockopt(socket.IPPROTO_TCP, option) for option in options]
    assert kept == [IDLE_S, INTERVAL_S, PROBES]
    assert IDLE_S + INTERVAL_S * PROBES <= 120


def test_so_it_is_below_tls() -> None:
    tcp = Tcp()
    tls = ProtocolWrapper(WrappingFactory(Factory()), Protocol())
    tls.transport = tcp
    with tcp.handle as handle:
        keep_alive(tls)
        assert handle.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == IDLE_S


def test_every_connection_of_a_client_is_looked_after() -> None:
    _pump, wire = Net().connect()
    assert wire.kept_alive


def silent(segments: int, silent_ms: int, questions: int = 0) -> bytes:
    """A struct tcp_info."""
    return struct.pack("=3xB20xI28xI", questions, segments, silent_ms)


def no_upstreams() -> list[Pump]:
    return []


def test_who_acknowledges_nothing_for_two_minutes_is_cut_off() -> None:
    net = Net(connections_max=100, connections_per_address_max=100)
    wires = [net.connect()[1] for _ in range(40)]
    unanswered = Unanswered(net.door.pumps, no_upstreams)
    wires[0].information = silent(0, 10 * UNANSWERED_MS)  # there was nothing to acknowledge
    wires[1].information = silent(3, UNANSWERED_MS)
    wires[2].information = silent(1, UNANSWERED_MS + 1)
    wires[3].information = b""  # of a kernel that does not say
    wires[4].information = silent(1, UNANSWERED_MS + 1)
    wires[4].connected = False
    wires[5].information = silent(0, 10 * UNANSWERED_MS, QUESTIONS - 1)  # it may be on its way
    wires[6].information = silent(0, UNANSWERED_MS, QUESTIONS)
    wires[7].information = silent(0, UNANSWERED_MS + 1, QUESTIONS)
    for _ in range(LOOKS):
        unanswered.look()
    assert [at for at, wire in enumerate(wires) if wire.aborted] == [2, 7]


def test_so_is_an_upstream_that_does_so() -> None:
    net = Net()
    pumps = [net.connect()[0] for _ in range(3)]
    unanswered = Unanswered({}, lambda: pumps)
    wire = pumps[1].transport
    assert isinstance(wire, Wire)
    wire.information = silent(1, UNANSWERED_MS + 1)
    unanswered.look()
    assert [pump.transport.aborted for pump in pumps] == [False, True, False]  # type: ignore[attr-defined]  # wires


def test_nobody_is_whose_kernel_says_that_all_is_acknowledged() -> None:
    net = Net()
    _pump, wire = net.connect()
    with pair() as (_far, near):
        wire.handle = near
        Unanswered(net.door.pumps, no_upstreams).look()
    assert not wire.aborted


def test_what_a_peer_sends_is_known_though_nobody_reads_it() -> None:
    tcp = Tcp()
    with pair() as (far, near):
        tcp.handle.close()
        tcp.handle, tcp.connected = near, 1
        assert heard_ms(tcp, 0, paused=False) is None
        silent = heard_ms(tcp, 10**9, paused=True)
        assert silent is not None
        assert silent <= 10**9
        far.sendall(b"x")
        wait_for_octets(near)
        assert heard_ms(tcp, 0, paused=False) is not None
        far.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                far.send(bytes(65536))
        assert heard_ms(tcp, 7, paused=True) == 7  # it may not send more, as long as it lives
    tcp.connected = 0
    assert heard_ms(tcp, 7, paused=True) == 7


def test_when_octets_were_sent_and_when_some_came_is_known() -> None:
    tcp = Tcp()
    with pair() as (far, near):
        tcp.handle.close()
        tcp.handle, tcp.connected = near, 1
        assert not is_unread(tcp)
        far.sendall(b"x")
        wait_for_octets(near)
        assert is_unread(tcp)
        near.recv(1)
        assert not is_unread(tcp)
        near.sendall(b"x")
        sent_ms, came_ms = last_ms(tcp, 10**9)
        assert came_ms <= sent_ms <= 10**9
    tcp.connected = 0
    assert last_ms(tcp, 7) == (0, 7)
    assert not is_unread(tcp)


def test_below_tls_that_was_started_it_is_the_kernel_that_is_asked(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = Authority(tmp_path).issue("gateway")
    net = Net(tls_context=tls_context(certificate, key, None, require_client_certificate=False))
    visit = Visit(net)
    visit.shakes_hands()
    unanswered = Unanswered(net.door.pumps, no_upstreams)
    unanswered.look()
    assert visit.server.reactor.getDelayedCalls() == []
    monkeypatch.setattr(keepalive, "UNANSWERED_MS", -1)
    # By how long it waits before it sends again, which is never 0.
    monkeypatch.setattr(keepalive, "_UNACKNOWLEDGED", struct.Struct("=3xB4xI44xI"))
    unanswered.look()
    visit.server.reactor.advance(0)
    assert visit.server.disconnected
    visit.socket.close()

"""The kernel looks after peers that are silent."""

import socket

from support.net import Net
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory

from gateway.net.keepalive import IDLE_S, INTERVAL_S, PROBES, keep_alive


class Tcp:
    """A transport with a real socket, that is not connected."""

    def __init__(self) -> None:
        self.handle = socket.socket()

    def setTcpKeepAlive(self, enabled: bool) -> None:
        self.handle.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, enabled)

    def getHandle(self) -> socket.socket:
        return self.handle


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

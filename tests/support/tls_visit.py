"""A client over TLS, and the transport of Twisted's that serves it, without a reactor."""

from __future__ import annotations

import socket
from contextlib import suppress

from OpenSSL import SSL
from support.net import Net
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.tcp import Server
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure

from gateway.net.listening.listen import Listener

HERE = "127.0.0.1"
MOST = 10_000  # looks at a socket of this machine until what was sent is there


class Visit:
    """A client over TLS, and the transport that serves it, which no reactor drives."""

    def __init__(self, net: Net) -> None:
        with socket.create_server((HERE, 0)) as door:
            self.socket = socket.create_connection(door.getsockname())
            served, (host, port) = door.accept()
        self.socket.setblocking(False)
        served.setblocking(False)
        address = IPv4Address("TCP", host, port)
        pump = Listener(net.door, tls_first=True).buildProtocol(address)
        assert pump is not None
        self.pump = pump
        self.server = Server(  # type: ignore[arg-type]  # no port has accepted it
            served, self.pump, (host, port), None, 0, MemoryReactorClock()
        )
        self.pump.makeConnection(self.server)
        self.tls = SSL.Connection(SSL.Context(SSL.TLS_METHOD), None)
        self.tls.set_connect_state()

    def _carry(self) -> None:
        with suppress(SSL.WantReadError):
            self.socket.sendall(self.tls.bio_read(1 << 16))
        if not self.server.disconnected:
            self.server.doRead()
            self.server.doWrite()
        with suppress(BlockingIOError):
            self.tls.bio_write(self.socket.recv(1 << 16))

    def goes_on(self) -> None:
        """With its handshake, once."""
        with suppress(SSL.WantReadError):
            self.tls.do_handshake()
        self._carry()

    def shakes_hands(self) -> None:
        for _ in range(MOST):
            self.goes_on()
            if self.pump.handshaken:
                return
        raise AssertionError("there is no handshake")

    def says(self, octets: bytes) -> None:
        received = self.pump.octets_received
        self.tls.send(octets)
        for _ in range(MOST):
            self._carry()
            if self.pump.octets_received > received:
                return
        raise AssertionError("nothing has come")

    def goes(self) -> None:
        self.socket.close()
        self.server.connectionLost(Failure(ConnectionDone()))

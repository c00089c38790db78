"""A client over TLS, and the transport of Twisted's that serves it, without a reactor.

And the records of one that renews its keys, which no binding of OpenSSL in Python lets us do:
RFC 8446, 4.6.3 and 7.2.
"""

from __future__ import annotations

import pathlib
import socket
from contextlib import suppress

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from OpenSSL import SSL
from support.net import Net
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.internet.tcp import Server
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure

from gateway.net.listening.listen import Listener
from gateway.net.pump import Pump

HERE = "127.0.0.1"
MOST = 10_000  # looks at a socket of this machine until what was sent is there


def connected(
    factory: ServerFactory[Protocol], reactor: MemoryReactorClock
) -> tuple[socket.socket, Server]:
    """A client's socket, and the transport that serves it."""
    with socket.create_server((HERE, 0)) as door:
        client = socket.create_connection(door.getsockname())
        served, (host, port) = door.accept()
    client.setblocking(False)
    served.setblocking(False)
    protocol = factory.buildProtocol(IPv4Address("TCP", host, port))
    assert protocol is not None
    server = Server(  # type: ignore[arg-type]  # no port has accepted it
        served, protocol, (host, port), None, 0, reactor
    )
    protocol.makeConnection(server)
    return client, server


class Visit:
    """A client over TLS, and the transport that serves it, which no reactor drives."""

    def __init__(
        self, net: Net, *, own: tuple[pathlib.Path, pathlib.Path] | None = None, version: int = 0
    ) -> None:
        self.socket, self.server = connected(
            Listener(net.door, tls_first=True), MemoryReactorClock()
        )
        pump = self.server.protocol.wrappedProtocol
        assert isinstance(pump, Pump)
        self.pump = pump
        context = SSL.Context(SSL.TLS_METHOD)
        if version:
            context.set_max_proto_version(version)
        if own is not None:
            context.use_certificate_chain_file(str(own[0]))
            context.use_privatekey_file(str(own[1]))
        secrets: dict[bytes, bytes] = {}
        self._secrets = secrets
        # OpenSSL holds what it calls, which nobody collects: it must not hold the visit.
        context.set_keylog_callback(lambda _tls, line: secrets.update([line.split()[::2]]))
        self.tls = SSL.Connection(context, None)
        self.tls.set_connect_state()

    @property
    def secret(self) -> bytes:
        """Of what it sends, in TLS 1.3."""
        return bytes.fromhex(self._secrets[b"CLIENT_TRAFFIC_SECRET_0"].decode())

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


class Renewing:
    """Seals the records of a client of TLS 1.3 from here on; some of content are sealed already."""

    def __init__(self, visit: Visit, sealed: int = 1) -> None:
        assert visit.tls.get_cipher_name() == "TLS_AES_256_GCM_SHA384"
        self._secret = visit.secret
        self._sealed = sealed

    def content(self, octets: bytes) -> bytes:
        """A record of content."""
        return self._seal(octets + b"\x17")

    def key_update(self, *, asks: bool = False) -> bytes:
        """A record that says that the next one has other keys."""
        said = self._seal(bytes([24, 0, 0, 1, asks, 22]))
        self._secret = self._derive(b"traffic upd", 48)
        self._sealed = 0
        return said

    def _seal(self, plain: bytes) -> bytes:
        head = b"\x17\3\3" + (len(plain) + 16).to_bytes(2)
        start = int.from_bytes(self._derive(b"iv", 12))
        number = (start ^ self._sealed).to_bytes(12)
        self._sealed += 1
        return head + AESGCM(self._derive(b"key", 32)).encrypt(number, plain, head)

    def _derive(self, label: bytes, octets: int) -> bytes:
        label = b"tls13 " + label
        info = octets.to_bytes(2) + bytes([len(label)]) + label + b"\0"
        return HKDFExpand(hashes.SHA384(), octets, info).derive(self._secret)

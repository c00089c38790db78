"""The admin port, as the service makes it."""

from __future__ import annotations

import pathlib
from contextlib import suppress

from OpenSSL import SSL
from support.certificates import Authority
from support.net import Wire
from support.tls_visit import connected
from support.whole_gateway import WholeGateway
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import connectionDone
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure

from gateway.net.tls.layer import MOST, TlsLayer
from gateway.wire.work import STRANGERS, TLS_RECORD

PROBE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


class Caller:
    """A client at the admin port of a whole gateway."""

    def __init__(self, whole: WholeGateway) -> None:
        self.whole = whole
        factory = whole.reactor.tcpServers[-1][1]
        self.socket, self.server = connected(factory, whole.reactor)
        self.tls = SSL.Connection(SSL.Context(SSL.TLS_METHOD), None)
        self.tls.set_connect_state()
        while True:
            with suppress(SSL.WantReadError):
                self.tls.do_handshake()
                break
            self.goes_on()

    def sealed(self) -> bytes:
        """What it has to say, as it crosses the network."""
        said = b""
        with suppress(SSL.WantReadError):
            while True:
                said += self.tls.bio_read(1 << 16)
        return said

    def goes_on(self) -> None:
        with suppress(BlockingIOError):
            self.socket.sendall(self.sealed())
        self.server.doRead()
        self.whole.reactor.advance(0)
        self.server.doWrite()
        with suppress(BlockingIOError):
            self.tls.bio_write(self.socket.recv(1 << 16))


def secure(directory: pathlib.Path) -> WholeGateway:
    certificate, key = Authority(directory).issue("gateway")
    settings = [f"tls.certificate={certificate}", f"tls.key={key}", "admin_tls=true"]
    return WholeGateway(directory / "data", *settings).start()


def test_who_has_gone_is_asked_for_nothing_any_more(tmp_path: pathlib.Path) -> None:
    whole = secure(tmp_path)
    caller = Caller(whole)
    for number in range(2 * MOST // TLS_RECORD):
        caller.tls.send(PROBE[number % len(PROBE) :][:1])
    layer = caller.server.protocol
    with capturedLogs() as captured:
        layer.dataReceived(caller.sealed())
        assert layer.behind
        caller.server.connectionLost(Failure(ConnectionDone()))
        whole.reactor.advance(0)
        whole.reactor.advance(0)
    assert [formatEvent(event) for event in captured if event["log_level"].name != "info"] == []
    assert whole.service.counts.defects == 0
    assert whole.service.tokens.counts.open == 0
    assert layer.wrappedProtocol is None
    caller.socket.close()
    whole.stop()


def test_whose_transport_is_gone_has_no_place_at_the_admin_port(tmp_path: pathlib.Path) -> None:
    whole = secure(tmp_path)
    factory = whole.reactor.tcpServers[-1][1]
    layers = [factory.buildProtocol(IPv4Address("TCP", "192.0.2.1", 1)) for _ in range(3)]
    for layer in layers:
        assert isinstance(layer, TlsLayer)
        layer.makeConnection(Wire())
    counts = whole.service.tokens.counts
    assert counts.open == 3
    share = layers[0].terms.share(layers[0].wrappedProtocol)
    share.use(whole.service.turns.number, STRANGERS)
    for layer in layers:
        layer.connectionLost(connectionDone)
    assert all(layer.connected for layer in layers)  # their ends wait for their turn
    assert counts.open == 0
    whole.run()
    assert not any(layer.connected for layer in layers)
    assert counts.open == 0
    whole.stop()

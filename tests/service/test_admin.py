"""The admin port, as the service makes it."""

import pathlib

from support.certificates import Authority
from support.net import Wire
from support.whole_gateway import WholeGateway
from twisted.internet.address import IPv4Address
from twisted.internet.protocol import connectionDone

from gateway.net.tls.layer import TlsLayer
from gateway.wire.work import STRANGERS


def test_whose_transport_is_gone_has_no_place_at_the_admin_port(tmp_path: pathlib.Path) -> None:
    certificate, key = Authority(tmp_path).issue("gateway")
    token = tmp_path / "token"
    token.write_text("sesame")
    token.chmod(0o600)
    whole = WholeGateway(
        tmp_path / "data",
        "admin_tls=true",
        f"admin_token_file={token}",
        f"tls.certificate={certificate}",
        f"tls.key={key}",
    ).start()
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

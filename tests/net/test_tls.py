"""Files that cannot be used are problems of the key that names them; why a handshake fails."""

import contextlib
import datetime
import pathlib

import pytest
from OpenSSL import SSL
from support.certificates import DAY, Authority
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import StringTransport
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol

from gateway.errors import ConfigurationError
from gateway.net.tls import tls_context, upstream_tls

# A certificate and its key in the tree would be a secret: they are made when they are needed.


@pytest.mark.parametrize(
    "text", [None, "no pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_a_certificate_that_cannot_be_used(text: str | None, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "certificate.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        tls_context(file, tmp_path / "key.pem", None, require_client_certificate=False)
    ((path, problem),) = caught.value.problems
    assert path == "tls.certificate"
    assert str(file) in problem


class Wrapped(Protocol):
    """Hears why a certificate is not believed."""

    def __init__(self) -> None:
        self.doubts: list[str] = []

    def on_doubted(self, problem: str) -> None:
        self.doubts.append(problem)


def handshake(server: SSL.Connection, client: TLSMemoryBIOProtocol) -> None:
    """Carry octets until one side gives up or both are content."""
    wire = StringTransport()
    client.makeConnection(wire)
    for _ in range(4):
        server.bio_write(wire.value())
        wire.clear()
        with contextlib.suppress(SSL.WantReadError):
            server.do_handshake()
        with contextlib.suppress(SSL.WantReadError):
            client.dataReceived(server.bio_read(1 << 16))


@pytest.mark.parametrize(
    ("lasts", "trusted", "doubts"),
    [
        (DAY, True, []),
        (-DAY, True, ["its certificate has expired"]),
        (DAY, False, ["its certificate is of an authority that is not trusted"]),
    ],
)
def test_why_an_upstream_is_not_believed_is_told(
    lasts: datetime.timedelta, trusted: bool, doubts: list[str], tmp_path: pathlib.Path
) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("upstream", lasts=lasts)
    (tmp_path / "other").mkdir()
    believed = authority if trusted else Authority(tmp_path / "other", "another authority")
    context = SSL.Context(SSL.TLS_METHOD)
    context.use_certificate_file(str(certificate))
    context.use_privatekey_file(str(key))
    server = SSL.Connection(context, None)
    server.set_accept_state()
    creator = upstream_tls("127.0.0.1", ca=believed.ca)
    client = TLSMemoryBIOFactory(creator, True, Factory.forProtocol(Wrapped)).buildProtocol(None)
    with contextlib.suppress(SSL.Error):
        handshake(server, client)
    assert client.wrappedProtocol.doubts == doubts

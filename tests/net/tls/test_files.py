"""Files that cannot be used are problems of the key that names them; why a handshake fails."""

import contextlib
import datetime
import math
import pathlib

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from OpenSSL import SSL
from support.certificates import DAY, Authority
from support.rules import rule
from support.tls_handshake import Met
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IOpenSSLContextFactory
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol

from gateway.errors import ConfigurationError
from gateway.net.tls.files import (
    AUTHORITIES_MAX,
    COSTLY,
    EXPONENT_BITS_MAX,
    Doubt,
    channel_bindings,
    client_doubt,
    is_believed,
    tls_context,
    upstream_tls,
)

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


class Dialled:
    """An upstream with a certificate, dialled with what `creator` makes."""

    def __init__(
        self,
        creator: IOpenSSLClientConnectionCreator,
        own: tuple[pathlib.Path, pathlib.Path],
        clients: pathlib.Path | None = None,
    ) -> None:
        context = SSL.Context(SSL.TLS_METHOD)
        context.use_certificate_file(str(own[0]))
        context.use_privatekey_file(str(own[1]))
        if clients is not None:
            context.load_verify_locations(str(clients))
            context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT)
        self.upstream = SSL.Connection(context, None)
        self.upstream.set_accept_state()
        self.clock = Clock()
        wrapped = Factory.forProtocol(Wrapped)
        factory = TLSMemoryBIOFactory(creator, True, wrapped, clock=self.clock)
        self.client: TLSMemoryBIOProtocol = factory.buildProtocol(None)
        self.wire = StringTransport()
        self.client.makeConnection(self.wire)
        self.doubts: list[str] = self.client.wrappedProtocol.doubts
        with contextlib.suppress(SSL.Error):
            self._shake_hands()

    def _shake_hands(self) -> None:
        """Carry octets until one side gives up or both are content."""
        for _ in range(4):
            if self.wire.value():
                self.upstream.bio_write(self.wire.value())
                self.wire.clear()
            with contextlib.suppress(SSL.WantReadError):
                self.upstream.do_handshake()
            with contextlib.suppress(SSL.WantReadError):
                self.client.dataReceived(self.upstream.bio_read(1 << 16))

    def says(self, octets: bytes) -> bytes:
        """What arrives of what the client writes."""
        self.client.write(octets)
        self.clock.advance(0)  # small writes are gathered for a turn
        self.upstream.bio_write(self.wire.value())
        return self.upstream.recv(100)


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
    dialled = Dialled(upstream_tls("127.0.0.1", ca=believed.ca), (certificate, key))
    assert dialled.doubts == doubts


@rule("1.0", "5.2", "certificate-is-validated")
@pytest.mark.parametrize("host", ["127.0.0.2", "::1", "localhost", "upstream"])
def test_an_upstream_whose_certificate_is_for_somebody_else_is_left(
    host: str, tmp_path: pathlib.Path
) -> None:
    authority = Authority(tmp_path)
    dialled = Dialled(upstream_tls(host, ca=authority.ca), authority.issue("upstream"))
    assert dialled.doubts == [f"its certificate is not for {host}"]
    with pytest.raises(SSL.Error):
        dialled.says(b"hello")


@rule("1.0", "5.2", "server-name-is-told")
@pytest.mark.parametrize(
    ("certified", "host"),
    [
        ("", "127.0.0.1"),
        ("broker.example", "broker.example"),
        ("*.brokers.example", "one.brokers.example"),
    ],
)
def test_an_upstream_whose_certificate_is_right_is_spoken_to(
    certified: str, host: str, tmp_path: pathlib.Path
) -> None:
    authority = Authority(tmp_path)
    own = authority.issue("upstream", host=certified)
    dialled = Dialled(upstream_tls(host, ca=authority.ca), own)
    assert dialled.doubts == []
    named = host.encode() if certified else None  # an address is no server name
    assert dialled.upstream.get_servername() == named
    assert dialled.says(b"hello") == b"hello"


def test_without_verify_everybody_is_believed(tmp_path: pathlib.Path) -> None:
    own = Authority(tmp_path).issue("upstream", lasts=-DAY)
    dialled = Dialled(upstream_tls("somebody.else", verify=False), own)
    assert dialled.doubts == []
    assert dialled.says(b"hello") == b"hello"


@pytest.mark.parametrize("verify", [True, False])
def test_a_certificate_of_our_own_is_shown(verify: bool, tmp_path: pathlib.Path) -> None:
    authority = Authority(tmp_path)
    upstream = authority.issue("upstream")
    certificate, key = authority.issue("gateway")
    creator = upstream_tls(
        "127.0.0.1", ca=authority.ca, certificate=certificate, key=key, verify=verify
    )
    dialled = Dialled(creator, upstream, clients=authority.ca)
    assert dialled.says(b"hello") == b"hello"
    shown = dialled.upstream.get_peer_certificate()
    assert shown is not None
    assert shown.get_subject().CN == "gateway"
    nobody = Dialled(upstream_tls("127.0.0.1", ca=authority.ca), upstream, clients=authority.ca)
    with pytest.raises(SSL.Error):
        nobody.says(b"hello")


def test_files_towards_an_upstream_are_problems_of_their_keys(tmp_path: pathlib.Path) -> None:
    certificate, key = Authority(tmp_path).issue("gateway")
    broken = tmp_path / "broken.pem"
    broken.write_text("no pem")
    given: list[tuple[str, dict[str, pathlib.Path]]] = [
        ("tls.ca", {"ca": tmp_path / "absent.pem"}),
        ("tls.ca", {"ca": broken}),
        ("tls.certificate", {"certificate": broken, "key": key}),
        ("tls.key", {"certificate": certificate, "key": broken}),
    ]
    for path, files in given:
        with pytest.raises(ConfigurationError) as caught:
            upstream_tls("127.0.0.1", **files)
        assert [each for each, _ in caught.value.problems] == [path]


class Shown:
    """A transport over which a client has shown a certificate, or none."""

    def __init__(self, server: SSL.Connection) -> None:
        self._server = server

    def getHandle(self) -> SSL.Connection:
        return self._server


def shown(
    context: IOpenSSLContextFactory, own: tuple[pathlib.Path, pathlib.Path] | None = None
) -> Shown:
    """A client's handshake with a listener, in memory."""
    of_client = SSL.Context(SSL.TLS_METHOD)
    if own is not None:
        of_client.use_certificate_file(str(own[0]))
        of_client.use_privatekey_file(str(own[1]))
    server, client = SSL.Connection(context.getContext(), None), SSL.Connection(of_client, None)
    server.set_accept_state()
    client.set_connect_state()
    for _ in range(5):
        for near, far in ((client, server), (server, client)):
            with contextlib.suppress(SSL.WantReadError):
                near.do_handshake()
            with contextlib.suppress(SSL.WantReadError):
                far.bio_write(near.bio_read(65536))
    return Shown(server)


def test_a_certificate_is_believed_as_long_as_its_authority(tmp_path: pathlib.Path) -> None:
    (tmp_path / "other").mkdir()
    authority, other = Authority(tmp_path), Authority(tmp_path / "other", "other")
    certificate, key = authority.issue("gateway")

    def listener(ca: pathlib.Path | None) -> IOpenSSLContextFactory:
        return tls_context(certificate, key, ca, require_client_certificate=False)

    client = shown(listener(authority.ca), authority.issue("alice"))
    assert is_believed(listener(authority.ca), client)
    assert not is_believed(listener(other.ca), client)
    assert not is_believed(listener(None), client)
    assert not is_believed(None, client)
    assert not is_believed(listener(authority.ca), shown(listener(authority.ca)))
    assert not is_believed(listener(authority.ca), StringTransport())


# As a server.


def context_of(tmp_path: pathlib.Path, **arguments: object) -> SSL.Context:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    made: SSL.Context = tls_context(
        certificate,
        key,
        None,
        require_client_certificate=False,
        **arguments,  # type: ignore[arg-type]  # those of the test
    ).getContext()
    return made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing", "there is no PEM key in it that can be read without a password"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "unsupported; "),
    ],
)
def test_a_key_that_cannot_be_used_is_told_in_words(
    tmp_path: pathlib.Path, text: str, said: str
) -> None:
    certificate, key = Authority(tmp_path).issue("server")
    key.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        tls_context(certificate, key, None, require_client_certificate=False)
    ((path, problem),) = caught.value.problems
    assert path == "tls.key"
    assert problem.startswith(f"{key} cannot be used: {said}")
    assert "[(" not in problem


def test_no_suite_without_forward_secrecy_is_taken(tmp_path: pathlib.Path) -> None:
    context = context_of(tmp_path)
    good = Met(context, version=SSL.TLS1_2_VERSION)
    assert (good.problem, good.client.get_protocol_version_name()) == ("", "TLSv1.2")
    assert "ECDHE" in str(good.client.get_cipher_name())
    names = SSL.Connection(context, None).get_cipher_list()
    assert names
    assert all(name.startswith(("ECDHE-", "TLS_")) for name in names)
    assert Met(context, version=SSL.TLS1_1_VERSION).problem


def test_what_tls_proves_of_a_connection_is_the_same_on_both_sides(tmp_path: pathlib.Path) -> None:
    met = Met(context_of(tmp_path))
    found = channel_bindings(met)
    exported = met.client.export_keying_material(b"EXPORTER-Channel-Binding", 32, b"")
    shown = met.client.get_peer_certificate()
    assert shown is not None
    digest = bytes.fromhex(shown.digest("sha256").decode().replace(":", ""))
    assert found == {"tls-exporter": exported, "tls-server-end-point": digest}
    other = channel_bindings(Met(context_of(tmp_path)))
    assert other["tls-exporter"] != exported
    older = Met(context_of(tmp_path), version=SSL.TLS1_2_VERSION)
    assert set(channel_bindings(older)) == {"tls-server-end-point"}
    assert channel_bindings(StringTransport()) == {}


def test_a_certificate_with_several_names_is_nobodys(tmp_path: pathlib.Path) -> None:
    authority = Authority(tmp_path)
    server, one = authority.issue("server"), authority.issue("one")
    two = authority.issue("mallory", "operator")
    for required in (False, True):
        context = tls_context(
            *server, authority.ca, require_client_certificate=required
        ).getContext()
        assert Met(context, own=one).problem == ""
        refused = Met(context, own=two)
        assert refused.problem != ""
        assert client_doubt(refused) == Doubt(
            "CN=operator,CN=mallory",
            "its certificate has several common names, so that it is nobody's",
        )


def test_a_certificate_that_was_revoked_is_not_believed(tmp_path: pathlib.Path) -> None:
    authority = Authority(tmp_path)
    server, good, bad = (authority.issue(name) for name in ("server", "good", "bad"))

    def context(crl: pathlib.Path | None) -> SSL.Context:
        made: SSL.Context = tls_context(
            *server, authority.ca, client_crl=crl, require_client_certificate=True
        ).getContext()
        return made

    listed = context(authority.revoke(bad[0]))
    assert Met(listed, own=good).problem == ""
    refused = Met(listed, own=bad)
    assert "certificate verify failed" in refused.problem
    assert client_doubt(refused) == Doubt("bad", "its certificate was revoked")
    assert client_doubt(Met(listed, own=good)) is None
    (tmp_path / "other").mkdir()
    foreign = Met(listed, own=Authority(tmp_path / "other", "other").issue("eve"))
    doubt = client_doubt(foreign)
    assert doubt == Doubt("eve", "its certificate is of an authority that is not trusted")
    assert client_doubt(StringTransport()) is None
    assert Met(context(None), own=bad).problem == ""
    (tmp_path / "none.pem").write_text("no list")
    with pytest.raises(ConfigurationError) as caught:
        context(tmp_path / "none.pem")
    assert caught.value.problems[0][0] == "tls.client_crl"


def with_exponent(bits: int) -> rsa.RSAPrivateKey:
    """A key of RSA whose public exponent has so many bits."""
    made = rsa.generate_private_key(65537, 2048).private_numbers()
    p, q, e = made.p, made.q, (1 << (bits - 1)) + 1
    while math.gcd(e, (p - 1) * (q - 1)) != 1:
        e += 2
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), made.iqmp, public)
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


def below(authority: Authority, depth: int, key: rsa.RSAPrivateKey | None = None) -> Authority:
    """One with so many between it, included, and that one."""
    for number in range(depth):
        authority = Authority(authority.directory, f"a{number}", above=authority, key=key)
    return authority


def test_a_client_has_so_many_authorities_above_it(tmp_path: pathlib.Path) -> None:
    authority = Authority(tmp_path)
    own = authority.issue("gateway")
    context = tls_context(*own, authority.ca, require_client_certificate=True).getContext()
    assert Met(context, own=below(authority, AUTHORITIES_MAX).issue("ann")).problem == ""
    refused = Met(context, own=below(authority, AUTHORITIES_MAX + 1).issue("eve"))
    assert refused.problem
    assert client_doubt(refused) is not None


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize(("bits", "problem"), [(EXPONENT_BITS_MAX, ""), (2000, COSTLY)])
def test_a_key_that_is_too_much_work_to_check_is_not_used(
    tmp_path: pathlib.Path, depth: int, bits: int, problem: str
) -> None:
    authority, key = Authority(tmp_path), with_exponent(bits)
    own = authority.issue("gateway")
    context = tls_context(*own, authority.ca, require_client_certificate=True).getContext()
    met = Met(context, own=below(authority, depth, key).issue("eve", key=key))
    doubt = client_doubt(met)
    if not problem:
        assert (met.problem, doubt) == ("", None)
        return
    assert met.problem
    whose = " (the authority 'a0')" if depth else ""
    assert doubt == Doubt("" if depth else "eve", f"its certificate {problem}{whose}")

"""TLS from PEM files: the context of the listeners, and what is wanted of upstreams."""

# twisted.internet.ssl has hardly any annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, cast, final
from weakref import WeakKeyDictionary

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from OpenSSL import SSL, crypto
from service_identity import CertificateError, VerificationError
from service_identity.cryptography import (
    verify_certificate_hostname,
    verify_certificate_ip_address,
)
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.error import VerifyError
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IOpenSSLContextFactory
from twisted.internet.protocol import ServerFactory
from twisted.internet.ssl import (
    AcceptableCiphers,
    Certificate,
    CertificateOptions,
    PrivateCertificate,
    optionsForClientTLS,
    trustRootFromCertificates,
)
from twisted.protocols.tls import TLSMemoryBIOProtocol
from zope.interface import implementer

from gateway.errors import ConfigurationError
from gateway.files.whole import CERTIFICATES_MAX, read_regular
from gateway.net.kept_files import Read
from gateway.net.tls.layer import Terms, TlsFactory, TlsLayer

COMMON_NAME: Final = b"CN"
AUTHORITIES_MAX: Final = 5  # between a client's certificate and `client_ca`
# Of a key of RSA: checking a signature takes as long as this has bits, and is done in one piece. It
# has 17 nearly everywhere, and 256 at most (FIPS 186-5, A.1.1), but may have as many as the key.
EXPONENT_BITS_MAX: Final = 256
COSTLY: Final = "has a key that is too much work to check"
AMBIGUOUS: Final = "has several common names, so that it is nobody's"

# By the numbers that OpenSSL's X509_STORE_CTX_get_error(3) has for them.
DOUBTS: Final = {
    3: "cannot be checked: its authority has no revocation list, or is none of tls.client_ca",
    9: "is not valid yet",
    10: "has expired",
    12: "cannot be checked: the revocation list of its authority has expired",
    18: "is signed by itself only",
    19: "is of an authority that is not trusted",
    20: "is of an authority that is not trusted",
    21: "is of an authority that is not trusted",
    22: "has more authorities above it than are taken",
    23: "was revoked",
    26: "is not for this use",
}


CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!MD5:!DSS"
EXPORTER_LABEL: Final = b"EXPORTER-Channel-Binding"
EXPORTER_OCTETS: Final = 32


def tls_context(
    certificate: pathlib.Path,
    key: pathlib.Path,
    client_ca: pathlib.Path | None,
    *,
    client_crl: pathlib.Path | None = None,
    require_client_certificate: bool,
) -> IOpenSSLContextFactory:
    """TLS 1.2 and later; client certificates are verified if an authority is given.

    What was recorded stays secret when the key is lost: suites without forward secrecy are left
    out (TLS 1.3 has none).

    Raises:
        ConfigurationError: a file cannot be read or used, or the key is another certificate's.
    """
    blame, key_path = certificate, "tls.certificate"
    try:
        chain = _certificates(certificate)
        if client_ca is not None:
            blame, key_path = client_ca, "tls.client_ca"
        trusted = [] if client_ca is None else _certificates(client_ca)
        blame, key_path = key, "tls.key"
        own = _with_key(chain[0], key)
        options = CertificateOptions(
            privateKey=own.privateKey.original,
            certificate=own.original,
            extraCertChain=[each.original for each in chain[1:]],
            verify=bool(trusted),
            caCerts=[each.original for each in trusted],
            requireCertificate=require_client_certificate,
            verifyDepth=AUTHORITIES_MAX,
            acceptableCiphers=AcceptableCiphers.fromOpenSSLCipherString(CIPHERS),
        )
        context = options.getContext()  # says now that key and certificate do not match
        if trusted:
            context.set_verify(context.get_verify_mode(), _note_doubt)
        if client_crl is not None:
            blame, key_path = client_crl, "tls.client_crl"
            _revoke(context, client_crl)
    except OSError as error:
        raise ConfigurationError([(key_path, f"cannot read {blame}: {error.strerror}")]) from None
    except (SSL.Error, crypto.Error, VerifyError, ValueError) as error:
        raise ConfigurationError([(key_path, _unusable(blame, error))]) from None
    return options


def _unusable(path: pathlib.Path | None, error: Exception) -> str:
    """In words; OpenSSL's errors are lists of library, function and reason."""
    first = error.args[0] if error.args else ""
    reasons = [str(each[-1]) for each in first if each] if isinstance(first, list) else [str(error)]
    told = "; ".join(each for each in reasons if each) or "there is no PEM of that kind in it"
    if told == "unsupported":  # of a key in no form that it knows
        told = "there is no PEM key in it that can be read without a password"
    return f"{path} cannot be used: {told}"


class Doubt(NamedTuple):
    """A client's certificate that is not believed: whose it says that it is, and why."""

    name: str
    problem: str


# As long as their connections live; their own place for such things is Twisted's.
_doubts: Final[WeakKeyDictionary[SSL.Connection, Doubt]] = WeakKeyDictionary()


def _note_doubt(
    connection: SSL.Connection, shown: crypto.X509, error: int, depth: int, ok: int
) -> bool:
    """What OpenSSL asks of each certificate of a client's chain; the first doubt is kept."""
    problem = _problem(error) if not ok else _own_doubt(shown, depth)
    if problem and connection not in _doubts:
        problem = f"its certificate {problem}"
        if depth:
            problem += f" (the authority {name_in(shown)!r})"
        _doubts[connection] = Doubt("" if depth else name_in(shown), problem)
    return not problem


def _own_doubt(shown: crypto.X509, depth: int) -> str:
    """Why we do not take one that OpenSSL would, which has not used its key yet; "": we do."""
    if _is_costly(shown):
        return COSTLY
    return AMBIGUOUS if depth == 0 and len(_common_names(shown)) > 1 else ""


def _is_costly(shown: crypto.X509) -> bool:
    """Whether a signature that was made with its key is very much work to check."""
    try:
        key = shown.to_cryptography().public_key()
    except UnsupportedAlgorithm:  # OpenSSL knows more kinds
        return False
    except ValueError:
        return True
    return isinstance(key, rsa.RSAPublicKey) and key.public_numbers().e >> EXPONENT_BITS_MAX > 0


def _problem(error: int) -> str:
    return DOUBTS.get(error, f"cannot be verified (X.509 error {error})")


def client_doubt(transport: object) -> Doubt | None:
    """Why the handshake of a client with this listener has failed, if that was its certificate."""
    handle = getattr(transport, "getHandle", lambda: None)()
    return _doubts.get(handle) if isinstance(handle, SSL.Connection) else None


def name_in(certificate: crypto.X509) -> str:
    """The name in a certificate: its common name, else, or if it has several, the whole subject."""
    if len(_common_names(certificate)) == 1:
        common_name = certificate.get_subject().commonName
        if common_name:
            return str(common_name)
    return str(certificate.to_cryptography().subject.rfc4514_string())


def _common_names(certificate: crypto.X509) -> list[bytes]:
    components = certificate.get_subject().get_components()
    return [value for key, value in components if key == COMMON_NAME]


def _revoke(context: SSL.Context, path: pathlib.Path) -> None:
    """Believe no certificate that the lists in the file revoke."""
    mark = b"-----END X509 CRL-----"
    parts = read_regular(path, CERTIFICATES_MAX).split(mark)
    if len(parts) == 1:
        raise ValueError("there is no PEM revocation list in it")
    store = context.get_cert_store()
    assert store is not None
    for part in parts[:-1]:
        store.add_crl(x509.load_pem_x509_crl(part + mark))
    store.set_flags(crypto.X509StoreFlags.CRL_CHECK)


@final
@implementer(IOpenSSLContextFactory)
class Current:
    """The context that is in force when a connection comes."""

    def __init__(self, context: Callable[[], IOpenSSLContextFactory | None]) -> None:
        self._context = context

    def getContext(self) -> SSL.Context:
        """It."""
        context = self._context()
        assert context is not None
        return context.getContext()


def within_tls(
    factory: ServerFactory[Any],
    context: Callable[[], IOpenSSLContextFactory | None],
    layer: type[TlsLayer],
    terms: Terms,
) -> ServerFactory[Any]:
    """The same, inside TLS. Any: protocols of any kind."""
    within = TlsFactory(Current(context), False, factory, terms, protocol=layer)
    return cast(ServerFactory[Any], within)


def _with_key(
    certificate: Certificate, key: pathlib.Path, read: Read = read_regular
) -> PrivateCertificate:
    octets = read(key, CERTIFICATES_MAX)
    pem = certificate.dumpPEM() + b"\n" + octets
    return cast(PrivateCertificate, PrivateCertificate.loadPEM(pem))


def _certificates(path: pathlib.Path, read: Read = read_regular) -> list[Certificate]:
    mark = b"-----END CERTIFICATE-----"
    parts = read(path, CERTIFICATES_MAX).split(mark)
    if len(parts) == 1:
        raise ValueError("there is no PEM certificate in it")
    return [Certificate.loadPEM(part + mark) for part in parts[:-1]]


def is_believed(options: IOpenSSLContextFactory | None, transport: object) -> bool:
    """Whether listeners with these options would take the certificate of a client that is in."""
    handle = getattr(transport, "getHandle", lambda: None)()
    store = None if options is None else options.getContext().get_cert_store()
    if not isinstance(handle, SSL.Connection) or store is None:
        return False
    shown = handle.get_peer_certificate()
    if shown is None:
        return False
    try:
        chain = handle.get_peer_cert_chain() or []
        crypto.X509StoreContext(store, shown, chain).verify_certificate()
    except crypto.X509StoreContextError:
        return False
    return True


def channel_bindings(transport: object) -> dict[str, bytes]:
    """What TLS proves of a connection, by the binding's name (RFC 5056); none without TLS.

    tls-exporter (RFC 9266) of TLS 1.3 only: of earlier versions OpenSSL's Python interface does not
    say whether the master secret is the extended one, without which it proves nothing. For the same
    reason there is no tls-unique. tls-server-end-point (RFC 5929, 4): a digest of our certificate.
    """
    handle = getattr(transport, "getHandle", lambda: None)()
    if not isinstance(handle, SSL.Connection):
        return {}
    found: dict[str, bytes] = {}
    if handle.get_protocol_version_name() == "TLSv1.3":
        found["tls-exporter"] = handle.export_keying_material(EXPORTER_LABEL, EXPORTER_OCTETS, b"")
    own = handle.get_certificate()
    if own is not None:
        end_point = _end_point(own.to_cryptography())
        if end_point:
            found["tls-server-end-point"] = end_point
    return found


def _end_point(certificate: x509.Certificate) -> bytes:
    """Its digest by the hash of its signature; empty where that has none, as Ed25519."""
    used = certificate.signature_hash_algorithm
    if used is None:
        return b""
    weak = isinstance(used, hashes.MD5 | hashes.SHA1)
    return certificate.fingerprint(hashes.SHA256() if weak else used)


@final
@implementer(IOpenSSLClientConnectionCreator)
class Unverified:
    """TLS to whoever answers: for upstreams whose configuration says `verify: false`."""

    def __init__(self, name: str, options: CertificateOptions) -> None:
        self._name = name
        self._options = options

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        """One connection that says whom it means and believes any certificate."""
        connection = SSL.Connection(self._options.getContext(), None)
        connection.set_app_data(tlsProtocol)
        connection.set_tlsext_host_name(self._name.encode())
        return connection


class Doubting(Protocol):
    """A protocol over TLS that wants to know why its peer is not believed."""

    def on_doubted(self, problem: str) -> None:
        """The peer's certificate is not believed: the handshake fails."""


@final
@implementer(IOpenSSLClientConnectionCreator)
class Verified:
    """TLS to `host` if `creator` believes it; else tells the wrapped protocol's `on_doubted` why.

    Otherwise all that is known of a failure is that there was one.
    """

    def __init__(self, host: str, creator: IOpenSSLClientConnectionCreator) -> None:
        self._host = host
        self._creator = creator

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        """One connection."""
        connection: SSL.Connection = self._creator.clientConnectionForTLS(tlsProtocol)

        def verified(
            _connection: SSL.Connection, shown: crypto.X509, error: int, depth: int, ok: int
        ) -> bool:
            if not ok:
                problem = _problem(error)
            elif depth == 0 and not is_for(self._host, shown.to_cryptography()):
                problem = f"is not for {self._host}"
            else:
                return True
            peer = cast(Doubting, tlsProtocol.wrappedProtocol)
            peer.on_doubted(f"its certificate {problem}")
            return False

        # It takes the place of the creator's own, which some versions of Twisted know the name by.
        connection.set_verify(SSL.VERIFY_PEER, verified)
        return connection


def is_for(host: str, certificate: x509.Certificate) -> bool:
    """Whether a certificate that is believed is for this host, by name or by address (RFC 9525)."""
    try:
        if isIPAddress(host) or isIPv6Address(host):
            verify_certificate_ip_address(certificate, host)
        else:
            verify_certificate_hostname(certificate, host)
    except (CertificateError, VerificationError, ValueError):
        return False
    return True


def upstream_tls(
    host: str,
    *,
    ca: pathlib.Path | None = None,
    certificate: pathlib.Path | None = None,
    key: pathlib.Path | None = None,
    verify: bool = True,
    read: Read = read_regular,
) -> IOpenSSLClientConnectionCreator:
    """TLS 1.2 and later towards an upstream whose certificate must be for `host`.

    Without `ca` the system's authorities are believed; without `verify` everybody is.

    Raises:
        ConfigurationError: a file cannot be read or used.
    """
    own = None
    chain: list[Certificate] = []
    blame, key_path = certificate, "tls.certificate"
    try:
        if certificate is not None and key is not None:
            chain = _certificates(certificate, read)
            blame, key_path = key, "tls.key"
            own = _with_key(chain[0], key, read)
        blame, key_path = ca, "tls.ca"
        trusted = None if ca is None else trustRootFromCertificates(_certificates(ca, read))
    except OSError as error:
        raise ConfigurationError([(key_path, f"cannot read {blame}: {error.strerror}")]) from None
    except (SSL.Error, crypto.Error, ValueError) as error:
        raise ConfigurationError([(key_path, _unusable(blame, error))]) from None
    extra: dict[str, Any] = {}  # Any: arguments of CertificateOptions, which checks them
    if own is not None and (len(chain) > 1 or not verify):
        extra = {
            "privateKey": own.privateKey.original,
            "certificate": own.original,
            "extraCertChain": [each.original for each in chain[1:]],
        }
        own = None
    if not verify:
        return Unverified(host, CertificateOptions(verify=False, **extra))
    options = optionsForClientTLS(
        host, trustRoot=trusted, clientCertificate=own, extraCertificateOptions=extra
    )
    return Verified(host, options)

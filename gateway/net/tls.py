"""The TLS context of the listeners, from PEM files."""

# twisted.internet.ssl has hardly any annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import pathlib

from OpenSSL import SSL
from twisted.internet.error import VerifyError
from twisted.internet.interfaces import IOpenSSLContextFactory
from twisted.internet.ssl import (
    Certificate,
    CertificateOptions,
    PrivateCertificate,
)

from gateway.errors import StartupError


def tls_context(
    certificate: pathlib.Path,
    key: pathlib.Path,
    client_ca: pathlib.Path | None,
    *,
    require_client_certificate: bool,
) -> IOpenSSLContextFactory:
    """TLS 1.2 and later; client certificates are verified if an authority is given.

    Raises:
        StartupError: a file cannot be read or is not what it should be, or the key is another's.
    """
    blame = certificate
    try:
        chain = _certificates(certificate)
        blame = key
        own = PrivateCertificate.loadPEM(chain[0].dumpPEM() + b"\n" + key.read_bytes())
        blame = client_ca or key
        trusted = [] if client_ca is None else _certificates(client_ca)
        options = CertificateOptions(
            privateKey=own.privateKey.original,
            certificate=own.original,
            extraCertChain=[each.original for each in chain[1:]],
            verify=bool(trusted),
            caCerts=[each.original for each in trusted],
            requireCertificate=require_client_certificate,
        )
        options.getContext()  # says now that key and certificate do not match
    except OSError as error:
        raise StartupError(f"TLS: cannot read {blame}: {error.strerror}") from None
    except (SSL.Error, VerifyError, ValueError, IndexError) as error:
        raise StartupError(f"TLS: {blame} cannot be used: {error!r}") from None
    return options


def _certificates(path: pathlib.Path) -> list[Certificate]:
    mark = b"-----END CERTIFICATE-----"
    parts = path.read_bytes().split(mark)
    return [Certificate.loadPEM(part + mark) for part in parts[:-1]]

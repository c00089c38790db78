"""The TLS context of the listeners, from PEM files."""

# twisted.internet.ssl has hardly any annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import pathlib

from OpenSSL import SSL, crypto
from twisted.internet.error import VerifyError
from twisted.internet.interfaces import IOpenSSLContextFactory
from twisted.internet.ssl import (
    Certificate,
    CertificateOptions,
    PrivateCertificate,
)

from gateway.errors import ConfigurationError


def tls_context(
    certificate: pathlib.Path,
    key: pathlib.Path,
    client_ca: pathlib.Path | None,
    *,
    require_client_certificate: bool,
) -> IOpenSSLContextFactory:
    """TLS 1.2 and later; client certificates are verified if an authority is given.

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
        own = PrivateCertificate.loadPEM(chain[0].dumpPEM() + b"\n" + key.read_bytes())
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
        raise ConfigurationError([(key_path, f"cannot read {blame}: {error.strerror}")]) from None
    except (SSL.Error, crypto.Error, VerifyError, ValueError) as error:
        raise ConfigurationError([(key_path, f"{blame} cannot be used: {error!r}")]) from None
    return options


def _certificates(path: pathlib.Path) -> list[Certificate]:
    mark = b"-----END CERTIFICATE-----"
    parts = path.read_bytes().split(mark)
    if len(parts) == 1:
        raise ValueError("there is no PEM certificate in it")
    return [Certificate.loadPEM(part + mark) for part in parts[:-1]]

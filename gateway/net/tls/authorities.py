"""The authorities of `tls.client_ca`: which of them let nobody in, and why.

OpenSSL believes a certificate by a chain that ends at one which is signed by itself, and is in the
file. So an issuing authority alone lets nobody in, though it is what an operator has in mind: its
own authority has to be there, too. To end the chain at any in the file instead would leave out what
those above it demand (name constraints, the length of the path), where they are in it as well.
"""

from __future__ import annotations

import contextlib
import pathlib
from typing import Final

from cryptography import x509
from OpenSSL import crypto

from gateway.files.whole import CERTIFICATES_MAX, read_regular
from gateway.net.tls.files import DOUBTS, name_in

# By the numbers of X509_STORE_CTX_get_error(3): what issued one is not there.
NO_ISSUER: Final = (2, 20)


def useless(path: pathlib.Path) -> list[str]:
    """A line for each that lets nobody in; none of a file that cannot be read, which others tell.

    Whether they were revoked is not asked: nor is it when clients come.
    """
    with contextlib.suppress(OSError, ValueError, crypto.Error):
        octets = read_regular(path, CERTIFICATES_MAX)
        listed = [
            crypto.X509.from_cryptography(each) for each in x509.load_pem_x509_certificates(octets)
        ]
        store = crypto.X509Store()
        for each in listed:
            store.add_cert(each)
        return [line for each in listed if (line := _useless(store, each))]
    return []


def _useless(store: crypto.X509Store, listed: crypto.X509) -> str:
    try:
        crypto.X509StoreContext(store, listed).verify_certificate()
    except crypto.X509StoreContextError as error:
        failed = error.certificate
        name, number = name_in(listed), int(error.errors[0])
        if number in NO_ISSUER:
            above = failed.to_cryptography().issuer.rfc4514_string()
            return f"{name!r} lets no client in: add the authority that issued it, {above!r}"
        itself = failed.to_cryptography() == listed.to_cryptography()
        problem = DOUBTS.get(number, f"cannot be verified (X.509 error {number})")
        return f"{name!r} lets no client in: {'it' if itself else repr(name_in(failed))} {problem}"
    return ""

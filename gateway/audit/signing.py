"""Signs heads of the log and closed books, and checks who has signed them: Ed25519 (RFC 8032).

Keys are in PEM.

Not for Spark's workers: it needs `cryptography`, which is compiled. They hash, and whoever has
their answers checks what is signed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from gateway.audit.seals import Head

_PUBLIC: Final = re.compile(b"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)


@final
class Signer:
    """Signs by one private key; a `sealing.Sign`, and a `shelf.SignText`.

    Attributes:
        key: the public key, as heads and books have it.
    """

    def __init__(self, pem: bytes) -> None:
        """`ValueError`: that is no such key."""
        try:
            key = load_pem_private_key(pem, password=None)
        except TypeError:
            raise ValueError("the key is encrypted") from None
        except (ValueError, UnsupportedAlgorithm):
            raise ValueError("there is no private key in it (PEM)") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError("it is no key of Ed25519")
        self._key = key
        self.key = _digits(key.public_key())

    def __call__(self, head: Head) -> Head:
        """The head with key and signature."""
        return head._replace(key=self.key, signature=self.signature(head.statement()))

    def signature(self, text: bytes) -> str:
        """Of a text that says itself what it is of, in hex digits."""
        return self._key.sign(text).hex()


@final
class TrustedKeys:
    """Public keys that are to be trusted; a `provenance.Trust`, and a `books.TrustText`."""

    def __init__(self, pems: Iterable[bytes]) -> None:
        """Of files with one or more each. `ValueError`: in one of them is none, or another kind."""
        self._keys: dict[str, Ed25519PublicKey] = {}
        for pem in pems:
            found = _PUBLIC.findall(pem)
            if not found:
                raise ValueError("there is no public key in it (PEM)")
            for each in found:
                try:
                    key = load_pem_public_key(each)
                except (ValueError, UnsupportedAlgorithm):
                    raise ValueError("a public key in it cannot be read") from None
                if not isinstance(key, Ed25519PublicKey):
                    raise ValueError("a public key in it is not of Ed25519")
                self._keys[_digits(key)] = key

    def trusts(self, key: str) -> bool:
        """Whether the key is one of these."""
        return key in self._keys

    def signed(self, head: Head) -> bool:
        """Whether its key is one of these, and has signed it."""
        return self.has_signed(head.key, head.signature, head.statement())

    def has_signed(self, key: str, signature: str, text: bytes) -> bool:
        """Whether the key is one of these, and has signed the text."""
        known = self._keys.get(key)
        if known is None:
            return False
        try:
            known.verify(bytes.fromhex(signature), text)
        except InvalidSignature:
            return False
        return True


def _digits(key: Ed25519PublicKey) -> str:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

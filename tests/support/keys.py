"""Keys that seals are signed by, as `openssl genpkey -algorithm ed25519` makes them."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from gateway.audit.signing import Signer, TrustedKeys


class Key:
    """A key pair."""

    def __init__(self) -> None:
        key = Ed25519PrivateKey.generate()
        self.private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        self.sign = Signer(self.private)

    def trusted(self, *others: Key) -> TrustedKeys:
        return TrustedKeys([self.public, *(each.public for each in others)])

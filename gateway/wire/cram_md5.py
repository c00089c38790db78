"""CRAM-MD5 (RFC 2195), the server's side, and CRAM-MD5-HASHED of Qpid's Java client.

The server sends a challenge that it never sent before; the client answers with its name and the
HMAC-MD5 of the challenge, whose key is the password. CRAM-MD5-HASHED is the same with the MD5 of
the password as the key, spelled as characters. What is kept of a password is worth as much as the
password at any server of this mechanism: whoever has it can log in.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Final, final

from gateway.errors import LocalProtocolError
from gateway.wire.md5 import hmac_of, hmac_states
from gateway.wire.sasl import (
    DENIED_STEP,
    GRANTED_STEP,
    MALFORMED,
    RESPONSE_MAX,
    Credentials,
    Step,
    StepKind,
)

CRAM_MD5: Final = "CRAM-MD5"
CRAM_MD5_HASHED: Final = "CRAM-MD5-HASHED"
CRAM_SECRET: Final = 32  # octets
_DIGEST: Final = 32  # hexadecimal digits
_DIGITS: Final = frozenset(b"0123456789abcdef")


def cram_secret(mechanism: str, password: str) -> bytes:
    """What a server keeps of a password."""
    key = password.encode()
    if mechanism == CRAM_MD5_HASHED:
        digest = hashlib.md5(key, usedforsecurity=False).digest()
        # Java makes a character of each octet, which is signed there, and UTF-8 of these
        key = "".join([chr(each if each < 0x80 else 0xFF00 | each) for each in digest]).encode()
    return hmac_states(key)


@final
class CramProof:
    """The digest that a client has sent. Implements `sasl.Proof`."""

    __slots__ = ("_challenge", "_digest")

    def __init__(self, challenge: bytes, digest: bytes) -> None:
        self._challenge = challenge
        self._digest = digest

    def matches(self, secret: bytes) -> bool:
        """Whether it knows the password of which that is kept."""
        return hmac.compare_digest(hmac_of(secret, self._challenge).hex().encode(), self._digest)


@final
class CramServer:
    """One exchange, with one client.

    Args:
        mechanism: `CRAM_MD5` or `CRAM_MD5_HASHED`.
        nonce: printable ASCII without "<", ">" or "@", never used before.
        host: what the server is called in the challenge.
        told: who hears that there was nothing to verify: the user's name, which nobody said, and
            why.
    """

    __slots__ = ("_begun", "_challenge", "_mechanism", "_over", "_told")

    def __init__(
        self,
        mechanism: str,
        *,
        nonce: str,
        host: str,
        told: Callable[[str, str], None] | None = None,
    ) -> None:
        if not nonce:
            raise LocalProtocolError("a challenge without a nonce")
        self._mechanism = mechanism
        self._challenge = f"<{nonce}@{host}>".encode()
        self._told = told
        self._begun = False
        self._over = False

    def respond(self, response: bytes | None) -> Step:
        """Send the challenge; then take its answer. The server begins (RFC 4422, 3.3)."""
        if not self._begun and not response:
            self._begun = True
            return Step(StepKind.CHALLENGE, octets=self._challenge)
        proof = None
        if self._begun and not self._over:
            proof = self._read(response or b"")
        self._over = True
        if proof is None:
            if self._told is not None:
                self._told("", MALFORMED)
            return DENIED_STEP
        return Step(StepKind.VERIFY, credentials=proof)

    def resolve(self, granted: bool) -> Step:
        """Whether the digest is that of a user."""
        return GRANTED_STEP if granted else DENIED_STEP

    def _read(self, response: bytes) -> Credentials | None:
        name, _, digest = response.rpartition(b" ")
        if len(response) > RESPONSE_MAX or len(digest) != _DIGEST or not _DIGITS.issuperset(digest):
            return None
        try:
            username = name.decode()
        except UnicodeDecodeError:
            return None
        if not username or "\0" in username:
            return None
        credentials = Credentials(self._mechanism, username=username)
        credentials.proof = CramProof(self._challenge, digest)
        return credentials

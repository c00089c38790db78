"""What the users file keeps for mechanisms from before SCRAM: unsalted, and as good as a password.

CRAM-MD5 and CRAM-MD5-HASHED: `wire.cram_md5`. DIGEST-MD5: `wire.digest_md5`, of one realm. In the
file it is ``secret``, for DIGEST-MD5 ``realm:secret``, the secret in base64. Whoever reads it can
log in by that mechanism without the password, and can guess the password a thousand times as fast
as by a SCRAM verifier; so a user has it only who needs it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from gateway.net.saslprep import saslprep
from gateway.wire.cram_md5 import CRAM_MD5, CRAM_MD5_HASHED, CRAM_SECRET, cram_secret
from gateway.wire.digest_md5 import DIGEST_MD5, DIGEST_SECRET, digest_secret, is_realm

# Octets of what is kept, the strongest first.
SECRETS: Final = {
    DIGEST_MD5: DIGEST_SECRET,
    CRAM_MD5_HASHED: CRAM_SECRET,
    CRAM_MD5: CRAM_SECRET,
}
REALM: Final = "QPID"  # that of a qpidd, which clients may have in their settings


@dataclass(frozen=True, slots=True)
class LegacySecret:
    """What is kept of one password for one mechanism. `realm`: of DIGEST-MD5 only."""

    mechanism: str
    secret: bytes
    realm: str = ""

    def __str__(self) -> str:
        told = base64.b64encode(self.secret).decode()
        return f"{self.realm}:{told}" if self.mechanism == DIGEST_MD5 else told


def make_secret(mechanism: str, name: str, password: str, realm: str = REALM) -> LegacySecret:
    """Of a name as the file has it, and a new password.

    Raises:
        ValueError: the password has characters that are not allowed, or the realm has.
    """
    prepared = saslprep(password)
    if mechanism != DIGEST_MD5:
        return LegacySecret(mechanism, cram_secret(mechanism, prepared))
    if not is_realm(realm):
        raise ValueError("the realm has characters that are not allowed")
    return LegacySecret(mechanism, digest_secret(name, realm, prepared), realm)


def parse_secret(mechanism: str, text: str) -> LegacySecret:
    """The inverse of ``str(secret)``. Raises ValueError."""
    realm, _, told = text.rpartition(":")
    secret = base64.b64decode(told, validate=True)
    if len(secret) != SECRETS[mechanism]:
        raise ValueError("a secret is too short")
    if (realm and mechanism != DIGEST_MD5) or not is_realm(realm):
        raise ValueError("a realm that cannot be used")
    return LegacySecret(mechanism, secret, realm)


@dataclass(frozen=True, slots=True)
class LegacyUsers:
    """Who can log in by them.

    Attributes:
        names: by mechanism, users who can; only mechanisms that somebody can log in by.
        realms: those of DIGEST-MD5. The mechanism has one for all users, so with more it is none.
        users: how many there are, with those who cannot.
    """

    names: dict[str, list[str]]
    realms: list[str]
    users: int

    def usable(self, mechanism: str) -> bool:
        """Whether it can be offered."""
        one = mechanism != DIGEST_MD5 or len(self.realms) == 1
        return one and mechanism in self.names

    def told(self, wanted: Iterable[str]) -> Iterator[str]:
        """What those of the configuration cost, and why some cannot be offered, a line each."""
        for mechanism in wanted:
            names = self.names.get(mechanism, [])
            if not names:
                yield (
                    f"{mechanism} is not offered: no user has a verifier for it; `amqp-gateway user"
                    f" password --legacy {mechanism}` makes one"
                )
            elif not self.usable(mechanism):
                yield (
                    f"{mechanism} is not offered: users are of several realms"
                    f" ({', '.join(self.realms)}), `amqp-gateway user password --realm` has one"
                )
            else:
                yield from self._costs(mechanism, names)
        for mechanism in self.names:
            if mechanism not in wanted:
                yield (
                    f"{mechanism} is not offered, but the users file has a verifier of"
                    f" {_some(self.names[mechanism])}: `amqp-gateway user password --no-legacy`"
                    " makes it worth less"
                )

    def _costs(self, mechanism: str, names: list[str]) -> Iterator[str]:
        yield (
            f"{mechanism} costs what SCRAM saves: who reads the users file can log in as"
            f" {_some(names)} without a password, and guess the password a thousand times as fast;"
            " who listens, outside TLS, can guess it, too"
        )
        left = self.users - len(names)
        if left:
            yield (
                f"{mechanism}: users without a verifier for it, whose clients are refused where"
                f" they like it best: {left}"
            )


def _some(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more users" if len(names) > 1 else "")

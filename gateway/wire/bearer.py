"""Mechanisms that show a bearer token (RFC 6750), the client's side: OAUTHBEARER and XOAUTH2.

A server that does not take the token says why in a challenge, which we answer as the mechanism
has it, so that the outcome comes; the reason is kept as `problem`. Getting and renewing tokens is
somebody else's. OAUTHBEARER: RFC 7628; XOAUTH2 came before it and is what several brokers call it.
"""

from __future__ import annotations

from typing import Final, final

from gateway.wire.sasl import PROBLEM_MAX

OAUTHBEARER: Final = "OAUTHBEARER"
XOAUTH2: Final = "XOAUTH2"

_SEPARATOR: Final = "\x01"


def _reason(challenge: bytes) -> str:
    return challenge[:PROBLEM_MAX].decode("ascii", "replace")


@final
class OAuthBearerClient:
    """OAUTHBEARER with a token.

    Args:
        authorization: whom to act as, or "".
        host, port: what the token is to be used for, where the server asks for it ("", 0: unsaid).
    """

    __slots__ = ("_problem", "message")

    def __init__(
        self, token: str, *, authorization: str = "", host: str = "", port: int = 0
    ) -> None:
        name = authorization.replace("=", "=3D").replace(",", "=2C")
        pairs = [f"n,a={name}," if name else "n,,"]
        if host:
            pairs.append(f"host={host}")
        if port:
            pairs.append(f"port={port}")
        pairs += [f"auth=Bearer {token}", "", ""]
        self.message = _SEPARATOR.join(pairs).encode()
        self._problem = ""

    def name(self) -> str:
        """OAUTHBEARER."""
        return OAUTHBEARER

    def initial(self) -> bytes | None:
        """The message."""
        return self.message

    def respond(self, challenge: bytes) -> bytes | None:
        """The message, to an empty challenge; to an error, what makes the outcome come."""
        if not challenge:
            return self.message
        self._problem = _reason(challenge)
        return _SEPARATOR.encode()

    def complete(self, data: bytes | None) -> bool:
        """The server need not prove anything; one that told an error cannot be content."""
        return not self._problem

    def problem(self) -> str:
        """The server's reason, as it gave it."""
        return self._problem


@final
class XOAuth2Client:
    """XOAUTH2 with a user name and a token."""

    __slots__ = ("_problem", "message")

    def __init__(self, username: str, token: str) -> None:
        pairs = [f"user={username}", f"auth=Bearer {token}", "", ""]
        self.message = _SEPARATOR.join(pairs).encode()
        self._problem = ""

    def name(self) -> str:
        """XOAUTH2."""
        return XOAUTH2

    def initial(self) -> bytes | None:
        """The message."""
        return self.message

    def respond(self, challenge: bytes) -> bytes | None:
        """The message, to an empty challenge; nothing, to an error."""
        if not challenge:
            return self.message
        self._problem = _reason(challenge)
        return b""

    def complete(self, data: bytes | None) -> bool:
        """The server need not prove anything; one that told an error cannot be content."""
        return not self._problem

    def problem(self) -> str:
        """The server's reason, as it gave it."""
        return self._problem

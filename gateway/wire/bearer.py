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


@final
class BearerClient:
    """One message with a token; an empty challenge gets it again, an error gets `after_error`."""

    __slots__ = ("_after_error", "_name", "_problem", "message")

    def __init__(self, name: str, pairs: list[str], after_error: bytes) -> None:
        self._name = name
        self._after_error = after_error
        self._problem = ""
        self.message = _SEPARATOR.join([*pairs, "", ""]).encode()

    def name(self) -> str:
        """OAUTHBEARER or XOAUTH2."""
        return self._name

    def initial(self) -> bytes | None:
        """The message."""
        return self.message

    def respond(self, challenge: bytes) -> bytes | None:
        """The message, to an empty challenge; to an error, what makes the outcome come."""
        if not challenge:
            return self.message
        self._problem = challenge[:PROBLEM_MAX].decode("ascii", "replace")
        return self._after_error

    def complete(self, data: bytes | None) -> bool:
        """The server need not prove anything; one that told an error cannot be content."""
        return not self._problem

    def problem(self) -> str:
        """The server's reason, as it gave it."""
        return self._problem


def oauthbearer(
    token: str, *, authorization: str = "", host: str = "", port: int = 0
) -> BearerClient:
    """OAUTHBEARER with a token.

    Args:
        token: the bearer token.
        authorization: whom to act as, or "".
        host, port: what the token is to be used for, where the server asks for it ("", 0: unsaid).
    """
    name = authorization.replace("=", "=3D").replace(",", "=2C")
    pairs = [f"n,a={name}," if name else "n,,"]
    if host:
        pairs.append(f"host={host}")
    if port:
        pairs.append(f"port={port}")
    pairs.append(f"auth=Bearer {token}")
    return BearerClient(OAUTHBEARER, pairs, _SEPARATOR.encode())


def xoauth2(username: str, token: str) -> BearerClient:
    """XOAUTH2 with a user name and a token; an error is answered with nothing."""
    return BearerClient(XOAUTH2, [f"user={username}", f"auth=Bearer {token}"], b"")

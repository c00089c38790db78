"""Mechanisms that show a bearer token (RFC 6750), the client's side: OAUTHBEARER and XOAUTH2.

A server that does not take the token says why in a challenge, which is answered as the mechanism
has it, so that the outcome comes; the reason is kept as `problem`. Getting and renewing tokens is
somebody else's. OAUTHBEARER: RFC 7628; XOAUTH2 came before it and is what several brokers call it.
"""

from __future__ import annotations

from typing import Final

from gateway.wire.sasl import MessageClient

OAUTHBEARER: Final = "OAUTHBEARER"
XOAUTH2: Final = "XOAUTH2"

_SEPARATOR: Final = "\x01"


def _message(pairs: list[str]) -> bytes:
    return _SEPARATOR.join([*pairs, "", ""]).encode()


def oauthbearer(
    token: str, *, authorization: str = "", host: str = "", port: int = 0
) -> MessageClient:
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
    return MessageClient(OAUTHBEARER, _message(pairs), _SEPARATOR.encode())


def xoauth2(username: str, token: str) -> MessageClient:
    """XOAUTH2 with a user name and a token; an error is answered with nothing."""
    return MessageClient(XOAUTH2, _message([f"user={username}", f"auth=Bearer {token}"]), b"")

"""JSON Web Tokens (RFC 7519) signed with a symmetric key, as a test's own authority makes them."""

from __future__ import annotations

import base64
import hmac
import json


def web_token(claims: object, key: bytes, *, key_id: str) -> str:
    """A token with these claims, signed by HS256 (RFC 7515)."""
    header = {"alg": "HS256", "typ": "JWT", "kid": key_id}
    signed = ".".join([base64url(json.dumps(each).encode()) for each in (header, claims)])
    return f"{signed}.{base64url(hmac.digest(key, signed.encode(), 'sha256'))}"


def base64url(octets: bytes) -> str:
    """Without padding, as such tokens have it."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")

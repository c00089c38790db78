"""DIGEST-MD5 (RFC 2831), the server's side, without its security layers.

The server sends a nonce that it never sent before; the client answers with a digest of it, of one
of its own and of the digest of name, realm and password that is all a server keeps; the server
proves in turn that it keeps that. An answer is good for one challenge of one connection. What is
kept of a password is worth as much as the password at any server with that realm.

A client that offers to go on with an earlier login (2.2) is given a challenge like any other.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Final, final

from gateway.errors import LocalProtocolError
from gateway.wire.dns_names import dns_name
from gateway.wire.sasl import (
    DENIED_STEP,
    MALFORMED,
    RESPONSE_MAX,
    Credentials,
    Step,
    StepKind,
)

DIGEST_MD5: Final = "DIGEST-MD5"
DIGEST_SECRET: Final = 16  # octets
SERVICES: Final = frozenset((b"amqp", b"amqps", b"qpidd"))
_DIGITS: Final = frozenset(b"0123456789abcdef")
_SPACE: Final = b" \t\r\n"
_FIRST: Final = b"00000001"
_NEEDED: Final = (b"username", b"nonce", b"cnonce", b"nc", b"digest-uri", b"response")


def digest_secret(username: str, realm: str, password: str) -> bytes:
    """What a server keeps of a password (2.1.2.1)."""
    return _md5(b":".join([_octets(each) for each in (username, realm, password)]))


def is_realm(text: str) -> bool:
    """Whether it can stand in a challenge as it is, and in any encoding."""
    return text.isascii() and text.isprintable() and not set(text) & set('"\\')


def _octets(text: str) -> bytes:
    """ISO 8859-1 where that has all of it: so have clients of either encoding."""
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode()


def _md5(octets: bytes) -> bytes:
    return hashlib.md5(octets, usedforsecurity=False).digest()


def _keyed(secret: bytes, said: list[bytes], what: bytes) -> bytes:
    """KD(H(A1), ...) with H(A2) for qop "auth", in hexadecimal digits."""
    middle = [_md5(secret).hex().encode(), *said, _md5(what).hex().encode()]
    return _md5(b":".join(middle)).hex().encode()


@final
class DigestProof:
    """The digest that a client has sent. Implements `sasl.Proof`.

    Attributes:
        answer: what proves to the client that the server keeps its secret; once that has matched.
    """

    __slots__ = ("_directives", "answer")

    def __init__(self, directives: dict[bytes, bytes]) -> None:
        self._directives = directives
        self.answer = b""

    def matches(self, secret: bytes) -> bool:
        """Whether it knows the password of which that is kept."""
        told = self._directives
        a1 = [secret, told[b"nonce"], told[b"cnonce"]]
        if b"authzid" in told:
            a1.append(told[b"authzid"])
        session = b":".join(a1)
        said = [told[b"nonce"], told[b"nc"], told[b"cnonce"], b"auth"]
        uri = told[b"digest-uri"]
        expected = _keyed(session, said, b"AUTHENTICATE:" + uri)
        self.answer = b"rspauth=" + _keyed(session, said, b":" + uri)
        return hmac.compare_digest(expected, told[b"response"])


@final
class DigestServer:
    """One exchange, with one client.

    Args:
        nonce: printable ASCII without quotes, never used before.
        realm: where the users are; what is kept of them is of that realm.
        hosts: what the server may be called by clients, as `dns_name` has it; empty: anything.
        told: who hears that there was nothing to verify: the user's name as far as it was said, and
            why.
    """

    __slots__ = ("_begun", "_hosts", "_nonce", "_over", "_proof", "_realm", "_told")

    def __init__(
        self,
        *,
        nonce: str,
        realm: str,
        hosts: frozenset[str],
        told: Callable[[str, str], None] | None = None,
    ) -> None:
        if not nonce or not is_realm(nonce) or not is_realm(realm):
            raise LocalProtocolError("a nonce or a realm that cannot stand in quotes")
        self._nonce = nonce.encode()
        self._realm = realm.encode()
        self._hosts = hosts
        self._told = told
        self._begun = False
        self._over = False
        self._proof: DigestProof | None = None

    def respond(self, response: bytes | None) -> Step:
        """Send the challenge; then take the digest-response."""
        if not self._begun:
            self._begun = True
            return Step(StepKind.CHALLENGE, octets=self._challenge(stale=bool(response)))
        credentials = None
        claimed = ""
        if not self._over:
            directives = _directives(response or b"")
            credentials = self._read(directives)
            claimed = _text(directives, b"username") or ""
        self._over = True
        if credentials is not None:
            return Step(StepKind.VERIFY, credentials=credentials)
        if self._told is not None:
            self._told(claimed, MALFORMED)
        return Step(StepKind.DENIED, credentials=Credentials(DIGEST_MD5, username=claimed))

    def resolve(self, granted: bool) -> Step:
        """Whether the digest is that of a user."""
        if not granted or self._proof is None:
            return DENIED_STEP
        return Step(StepKind.GRANTED, octets=self._proof.answer)

    def _challenge(self, *, stale: bool) -> bytes:
        told = [b'realm="' + self._realm + b'"', b'nonce="' + self._nonce + b'"', b'qop="auth"']
        if stale:
            told.append(b"stale=true")
        return b",".join([*told, b"charset=utf-8", b"algorithm=md5-sess"])

    def _read(self, directives: dict[bytes, bytes]) -> Credentials | None:
        """2.1.2; `None`: it is no answer to our challenge, or asks for what was not offered."""
        if any(each not in directives for each in _NEEDED):
            return None
        username, authorization = _text(directives, b"username"), _text(directives, b"authzid")
        digest = directives[b"response"]
        in_order = (
            directives.get(b"charset", b"utf-8") == b"utf-8"
            and directives.get(b"realm", b"") == self._realm
            and hmac.compare_digest(directives[b"nonce"], self._nonce)
            and directives[b"nc"] == _FIRST
            and directives[b"cnonce"] != b""
            and directives.get(b"qop", b"auth") == b"auth"
            and len(digest) == 2 * DIGEST_SECRET
            and _DIGITS.issuperset(digest)
            and self._is_ours(directives[b"digest-uri"])
        )
        if not in_order or not username or authorization is None:
            return None
        self._proof = DigestProof(directives)
        credentials = Credentials(DIGEST_MD5, username=username, authorization=authorization)
        credentials.proof = self._proof
        return credentials

    def _is_ours(self, uri: bytes) -> bool:
        """Whether the client means a server of AMQP, by a name that it may have."""
        service, _, host = uri.partition(b"/")
        if service.lower() not in SERVICES or not host:
            return False
        return not self._hosts or dns_name(host.decode("utf-8", "replace")) in self._hosts


def _text(directives: dict[bytes, bytes], key: bytes) -> str | None:
    """What a directive says, "" where it is not there; `None`: it cannot be read.

    Without a charset it should be ISO 8859-1, but Cyrus SASL says nothing and sends UTF-8.
    """
    octets = directives.get(key, b"")
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        if b"charset" in directives:
            return None
        text = octets.decode("iso-8859-1")
    return None if "\0" in text else text


def _directives(message: bytes) -> dict[bytes, bytes]:
    """7.1: `key=value, key="value"`; empty where it is nothing of the kind, or says one twice."""
    found: dict[bytes, bytes] = {}
    if len(message) >= RESPONSE_MAX:
        return found
    at = 0
    while at < len(message):
        if message[at : at + 1] in (b" ", b"\t", b"\r", b"\n", b","):
            at += 1
            continue
        equals = message.find(b"=", at)
        key = message[at:equals].rstrip(_SPACE).lower() if equals > 0 else b""
        value, at = _value(message, equals + 1)
        if not key or at < 0 or key in found:
            return {}
        found[key] = value
    return found


def _value(message: bytes, at: int) -> tuple[bytes, int]:
    """A value and where it ends; -1: it does not."""
    while message[at : at + 1] and message[at : at + 1] in _SPACE:
        at += 1
    if message[at : at + 1] != b'"':
        end = message.find(b",", at)
        end = len(message) if end < 0 else end
        return message[at:end].rstrip(_SPACE), end
    made = bytearray()
    at += 1
    while at < len(message):
        octet = message[at]
        if octet == 0x22:
            after = message[at + 1 :].lstrip(_SPACE)
            return (bytes(made), at + 1) if not after or after[:1] == b"," else (b"", -1)
        if octet == 0x5C:
            at += 1
        made += message[at : at + 1]
        at += 1
    return b"", -1

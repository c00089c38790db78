"""SCRAM (RFC 5802) with SHA-256 (RFC 7677) and SHA-512, the client's side, without channel binding.

The password never crosses, and the server proves that it knows the user, too: whoever takes the
server's word for the outcome asks `complete` whether it did. One object is one exchange.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from enum import IntEnum
from typing import Final, final

from gateway.errors import LocalProtocolError
from gateway.wire.sasl import PROBLEM_MAX, RESPONSE_MAX

SCRAM_SHA_256: Final = "SCRAM-SHA-256"
SCRAM_SHA_512: Final = "SCRAM-SHA-512"

ITERATIONS_MIN: Final = 4096  # RFC 7677, 4
ITERATIONS_MAX: Final = 100_000  # tens of milliseconds in which nothing else happens

_HASHES: Final = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}


class _Round(IntEnum):
    FIRST = 0
    FINAL = 1
    PROVEN = 2
    FAILED = 3


@final
class ScramClient:
    """One of the SCRAM mechanisms, with a user name and a password.

    Args:
        mechanism: `SCRAM_SHA_256` or `SCRAM_SHA_512`.
        username, password, authorization: prepared by SASLprep already (RFC 5802, 5.1).
        nonce: printable ASCII without a comma, never used before; at least 18 octets of
            randomness are usual.
        iterations_min: fewer would let who poses as the server guess the password cheaply.
        iterations_max: more would hold everything else up.
    """

    def __init__(
        self,
        mechanism: str,
        username: str,
        password: str,
        *,
        nonce: str,
        authorization: str = "",
        iterations_min: int = ITERATIONS_MIN,
        iterations_max: int = ITERATIONS_MAX,
    ) -> None:
        if mechanism not in _HASHES:
            raise LocalProtocolError(f"{mechanism} is no SCRAM mechanism")
        if not nonce or any(each < "!" or each > "~" or each == "," for each in nonce):
            raise LocalProtocolError("a nonce is printable ASCII without commas")
        self._mechanism = mechanism
        self._hash = _HASHES[mechanism]
        self._password = password.encode()
        self._nonce = nonce
        self._iterations_min = iterations_min
        self._iterations_max = iterations_max
        self._header = f"n,a={_escaped(authorization)}," if authorization else "n,,"
        self._bare = f"n={_escaped(username)},r={nonce}"
        self._signature = b""
        self._round = _Round.FIRST
        self._problem = ""

    def name(self) -> str:
        """The mechanism."""
        return self._mechanism

    def initial(self) -> bytes | None:
        """The client-first-message."""
        return (self._header + self._bare).encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """The client-final-message to the server's first; nothing more to its final one."""
        if self._round == _Round.FIRST and not challenge:
            return self.initial()  # a server that did not take the initial response
        if self._round == _Round.FIRST:
            return self._client_final(challenge)
        if self._round == _Round.FINAL and self._verify(challenge):
            return b""
        return None

    def complete(self, data: bytes | None) -> bool:
        """Whether the server has proved itself: before, or in what came with the outcome."""
        if self._round == _Round.FINAL and data is not None:
            self._verify(data)
        if self._round != _Round.PROVEN and not self._problem:
            self._give_up("the server did not prove that it knows the user")
        return self._round == _Round.PROVEN

    def problem(self) -> str:
        """What was wrong with the server's messages, or what it told us in them."""
        return self._problem

    def _give_up(self, problem: str) -> None:
        self._problem = problem[:PROBLEM_MAX]
        self._round = _Round.FAILED

    def _client_final(self, challenge: bytes) -> bytes | None:
        first = _attributes(challenge)
        nonce = first.get("r", "")
        salt = _unbase64(first.get("s", ""))
        iterations = _number(first.get("i", ""))
        if "m" in first or not salt or list(first)[:3] != ["r", "s", "i"]:
            self._give_up("a server-first-message that cannot be read")
        elif not nonce.startswith(self._nonce) or nonce == self._nonce:
            self._give_up("the server's nonce does not extend the client's")
        elif iterations < self._iterations_min or iterations > self._iterations_max:
            self._give_up(
                f"{iterations} iterations, where {self._iterations_min} to "
                f"{self._iterations_max} are allowed"
            )
        else:
            return self._prove(challenge.decode(), nonce, salt, iterations)
        return None

    def _prove(self, server_first: str, nonce: str, salt: bytes, iterations: int) -> bytes:
        """RFC 5802, 3: ClientProof and the ServerSignature to expect."""
        without_proof = f"c={_base64(self._header.encode())},r={nonce}"
        message = f"{self._bare},{server_first},{without_proof}".encode()
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        stored_key = hashlib.new(self._hash, client_key).digest()
        mask = hmac.digest(stored_key, message, self._hash)
        proof = bytes([one ^ other for one, other in zip(client_key, mask, strict=True)])
        server_key = hmac.digest(salted, b"Server Key", self._hash)
        self._signature = hmac.digest(server_key, message, self._hash)
        self._round = _Round.FINAL
        return f"{without_proof},p={_base64(proof)}".encode()

    def _verify(self, server_final: bytes) -> bool:
        final = _attributes(server_final)
        told = final.get("e")
        if told is not None:
            self._give_up(f"the server said {told}")
        elif not hmac.compare_digest(_unbase64(final.get("v", "")), self._signature):
            self._give_up("the server's signature is wrong")
        else:
            self._round = _Round.PROVEN
        return self._round == _Round.PROVEN


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _attributes(message: bytes) -> dict[str, str]:
    """`a=value,b=value` as pairs; empty where it is nothing of the kind, or says one twice."""
    found: dict[str, str] = {}
    if len(message) > RESPONSE_MAX:
        return found
    try:
        text = message.decode()
    except UnicodeDecodeError:
        return found
    for each in text.split(","):
        if each[1:2] != "=" or each[:1] in found:
            return {}
        found[each[:1]] = each[2:]
    return found


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0

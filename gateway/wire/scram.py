"""SCRAM (RFC 5802) with SHA-256 (RFC 7677) and SHA-512: the client's side, and what both know.

The password never crosses, and the server proves that it knows the user, too: whoever takes the
server's word for the outcome asks `complete` whether it did. One object is one exchange. What takes
long by intent, a password's many rounds, is a `Derivation`, for somebody else to run in a thread.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from enum import IntEnum
from typing import Final, final

from gateway.errors import LocalProtocolError
from gateway.wire.sasl import PROBLEM_MAX, RESPONSE_MAX, Derivation

SCRAM_SHA_256: Final = "SCRAM-SHA-256"
SCRAM_SHA_512: Final = "SCRAM-SHA-512"

PLUS: Final = "-PLUS"

ITERATIONS_MIN: Final = 4096  # RFC 7677, 4
ITERATIONS_MAX: Final = 10_000_000  # seconds of a thread

_HASHES: Final = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}


def is_scram(mechanism: str) -> bool:
    """Whether it is one of ours, with channel binding or without."""
    return mechanism.removesuffix(PLUS) in _HASHES


def hash_of(mechanism: str) -> str:
    """The name of its hash, as `hashlib` has it. Raises LocalProtocolError."""
    found = _HASHES.get(mechanism.removesuffix(PLUS))
    if found is None:
        raise LocalProtocolError(f"{mechanism} is no SCRAM mechanism")
    return found


def is_nonce(text: str) -> bool:
    """Printable ASCII without commas (RFC 5802, 7)."""
    return bool(text) and not any(each < "!" or each > "~" or each == "," for each in text)


class _Round(IntEnum):
    FIRST = 0
    DERIVING = 1
    FINAL = 2
    PROVEN = 3
    FAILED = 4


@final
class ScramClient:
    """One of the SCRAM mechanisms, with a user name and a password.

    A server's first message is not answered at once: `derivation` is to be run, then `derived`
    has the answer.

    Args:
        mechanism: `SCRAM_SHA_256` or `SCRAM_SHA_512`, with `PLUS` behind it or not.
        username, password, authorization: prepared by SASLprep already (RFC 5802, 5.1).
        nonce: printable ASCII without a comma, never used before; at least 18 octets of
            randomness are usual.
        iterations_min: fewer would let who poses as the server guess the password cheaply.
        iterations_max: more would take too long.
        binding: what TLS proves of the connection, by the binding's name (RFC 5056); a mechanism
            without `PLUS` then tells the server that we could, which finds out who hid its offer.
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
        binding: tuple[str, bytes] | None = None,
    ) -> None:
        if not is_nonce(nonce):
            raise LocalProtocolError("a nonce is printable ASCII without commas")
        self._mechanism = mechanism
        self._hash = hash_of(mechanism)
        self._password = password.encode()
        self._nonce = nonce
        self._iterations_min = iterations_min
        self._iterations_max = iterations_max
        flag = "n" if binding is None else "y"
        self._bound = b""
        if mechanism.endswith(PLUS):
            if binding is None:
                raise LocalProtocolError(f"{mechanism} without anything to bind to")
            flag = f"p={binding[0]}"
            self._bound = binding[1]
        self._header = f"{flag},a={_escaped(authorization)}," if authorization else f"{flag},,"
        self._bare = f"n={_escaped(username)},r={nonce}"
        self._signature = b""
        self._round = _Round.FIRST
        self._problem = ""
        self._derivation: Derivation | None = None
        self._server_first = ""
        self._without_proof = ""

    def name(self) -> str:
        """The mechanism."""
        return self._mechanism

    def initial(self) -> bytes | None:
        """The client-first-message."""
        return (self._header + self._bare).encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """Nothing more to the server's final message; to its first the answer is `derived`."""
        if self._round == _Round.FIRST and not challenge:
            return self.initial()  # a server that did not take the initial response
        if self._round == _Round.FIRST:
            self._begin(challenge)
            return None
        if self._round == _Round.FINAL and self._verify(challenge):
            return b""
        return None

    def derivation(self) -> Derivation | None:
        """What is to be run before the client-final-message can be said."""
        return self._derivation if self._round == _Round.DERIVING else None

    def derived(self) -> bytes | None:
        """The client-final-message: the derivation has been run."""
        derivation = self.derivation()
        if derivation is None or not derivation.salted:
            raise LocalProtocolError("nothing was derived")
        self._derivation = None
        return self._prove(derivation.salted)

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

    def _begin(self, challenge: bytes) -> None:
        """Take the server-first-message."""
        first = attributes(challenge)
        nonce = first.get("r", "")
        salt = unbase64(first.get("s", ""))
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
            self._server_first = challenge.decode()
            bound = base64.b64encode(self._header.encode() + self._bound).decode()
            self._without_proof = f"c={bound},r={nonce}"
            self._derivation = Derivation(self._hash, self._password, salt, iterations)
            self._round = _Round.DERIVING

    def _prove(self, salted: bytes) -> bytes:
        """RFC 5802, 3: ClientProof and the ServerSignature to expect."""
        message = f"{self._bare},{self._server_first},{self._without_proof}".encode()
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        stored_key = hashlib.new(self._hash, client_key).digest()
        proof = masked(client_key, hmac.digest(stored_key, message, self._hash))
        server_key = hmac.digest(salted, b"Server Key", self._hash)
        self._signature = hmac.digest(server_key, message, self._hash)
        self._round = _Round.FINAL
        return f"{self._without_proof},p={base64.b64encode(proof).decode()}".encode()

    def _verify(self, server_final: bytes) -> bool:
        final = attributes(server_final)
        told = final.get("e")
        if told is not None:
            self._give_up(f"the server said {told}")
        elif not hmac.compare_digest(unbase64(final.get("v", "")), self._signature):
            self._give_up("the server's signature is wrong")
        else:
            self._round = _Round.PROVEN
        return self._round == _Round.PROVEN


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def attributes(message: bytes) -> dict[str, str]:
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


def masked(key: bytes, mask: bytes) -> bytes:
    """Their exclusive or: a proof is the key masked, and a proof masked again is the key."""
    return bytes([one ^ other for one, other in zip(key, mask, strict=True)])


def unbase64(text: str) -> bytes:
    """What it stands for; empty where it is no base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0

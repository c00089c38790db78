"""SCRAM (RFC 5802) with SHA-256 (RFC 7677) and SHA-512, the server's side.

Theory. The client begins, and the two alternate: what the table does not list is refused. Whoever
verifies is asked twice: first for what is kept of the user (`Credentials.keys`), which it has of
everybody, so that the exchange with a name that nobody has is like any other; then, with `proven`,
whether this is the user. The checks in between cost microseconds.

What is told of a failure is what the client could work out by itself: that octets cannot be read,
that its channel binding will not do, or `invalid-proof`, be it for the name or for the password.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from enum import IntEnum
from typing import Final, final

from gateway.errors import LocalProtocolError
from gateway.wire.machine import Machine, Table
from gateway.wire.sasl import (
    DENIED_STEP,
    EMPTY_CHALLENGE,
    RESPONSE_MAX,
    Credentials,
    Keys,
    Step,
    StepKind,
)
from gateway.wire.scram import PLUS, attributes, hash_of, is_nonce, masked, unbase64

NONCE_MAX: Final = 512  # octets of a client's


class ScramState(IntEnum):
    """Whose turn it is, and for what."""

    WAIT_INITIAL = 0
    WAIT_FIRST = 1
    WAIT_KEYS = 2
    WAIT_FINAL = 3
    WAIT_VERDICT = 4
    GRANTED = 5
    FAILED = 6


class ScramInput(IntEnum):
    """What moves the exchange."""

    RECV_NOTHING = 0
    RECV_FIRST = 1
    KEYS = 2
    RECV_FINAL = 3
    GRANT = 4
    FAIL = 5


_S: Final = ScramState
_I: Final = ScramInput

SCRAM: Final[Table] = {
    # A client without an initial response is asked for it (RFC 4422, 3.3), once.
    (_S.WAIT_INITIAL, _I.RECV_NOTHING): _S.WAIT_FIRST,
    (_S.WAIT_INITIAL, _I.RECV_FIRST): _S.WAIT_KEYS,
    (_S.WAIT_FIRST, _I.RECV_FIRST): _S.WAIT_KEYS,
    (_S.WAIT_KEYS, _I.KEYS): _S.WAIT_FINAL,
    (_S.WAIT_FINAL, _I.RECV_FINAL): _S.WAIT_VERDICT,
    (_S.WAIT_VERDICT, _I.GRANT): _S.GRANTED,
    **{(state, _I.FAIL): _S.FAILED for state in _S if state not in (_S.GRANTED, _S.FAILED)},
}


# What shows that somebody between the two may have changed what they say (RFC 5802, 6).
NO_BINDING: Final = "server-does-support-channel-binding"
OTHER_BINDING: Final = "channel-bindings-dont-match"


class _RefusedError(Exception):
    """The exchange fails; the text is a server-error-value (RFC 5802, 7)."""


@final
class ScramServer:
    """One exchange, with one client.

    Args:
        mechanism: `SCRAM_SHA_256` or `SCRAM_SHA_512`, with `PLUS` behind it or not.
        nonce: the server's part: printable ASCII without a comma, never used before.
        bindings: what TLS proves of this connection, by the binding's name (RFC 5056); where there
            are any, mechanisms with `PLUS` are offered, too.
        told: who hears that an exchange has failed before anybody was asked to verify: the user's
            name as far as it was said, and the server-error-value.
    """

    __slots__ = (
        "_bare",
        "_bindings",
        "_bound",
        "_claimed",
        "_credentials",
        "_first",
        "_hash",
        "_machine",
        "_mechanism",
        "_nonce",
        "_signature",
        "_told",
    )

    def __init__(
        self,
        mechanism: str,
        *,
        nonce: str,
        bindings: dict[str, bytes],
        told: Callable[[str, str], None] | None = None,
    ) -> None:
        if not is_nonce(nonce):
            raise LocalProtocolError("a nonce is printable ASCII without commas")
        self._mechanism = mechanism
        self._hash = hash_of(mechanism)
        self._nonce = nonce
        self._bindings = bindings
        self._told = told
        self._claimed = ""
        self._machine = Machine(SCRAM, ScramState.WAIT_INITIAL)
        self._credentials: Credentials | None = None
        self._bound = b""
        self._bare = ""
        self._first = ""
        self._signature = b""

    def respond(self, response: bytes | None) -> Step:
        """Take the client-first-message, then the client-final-message."""
        state = self._machine.state
        try:
            if state == ScramState.WAIT_INITIAL and not response:
                self._machine.send(ScramInput.RECV_NOTHING)
                return EMPTY_CHALLENGE
            if state in (ScramState.WAIT_INITIAL, ScramState.WAIT_FIRST):
                return self._receive_first(response or b"")
            if state == ScramState.WAIT_FINAL:
                return self._receive_final(response or b"")
        except _RefusedError as refused:
            if self._told is not None:
                self._told(self._claimed, str(refused))
            return self._fail(str(refused), Credentials(self._mechanism, username=self._claimed))
        return DENIED_STEP

    def resolve(self, granted: bool) -> Step:
        """There are keys, or this is the user; or not."""
        credentials = self._credentials
        if credentials is None or not granted:
            return self._fail("invalid-proof")
        if self._machine.state == ScramState.WAIT_KEYS and credentials.keys is not None:
            return self._send_first(credentials.keys)
        if self._machine.state == ScramState.WAIT_VERDICT and credentials.proven:
            self._machine.send(ScramInput.GRANT)
            signature = base64.b64encode(self._signature)
            return Step(StepKind.GRANTED, octets=b"v=" + signature)
        return self._fail("invalid-proof")

    def _fail(self, error: str, said: Credentials | None = None) -> Step:
        if not self._machine.receive(ScramInput.FAIL):
            return DENIED_STEP
        return Step(StepKind.DENIED, octets=f"e={error}".encode(), credentials=said)

    def _receive_first(self, message: bytes) -> Step:
        header, bare = _split(message)
        pairs = attributes(bare.encode())
        self._claimed = pairs.get("n", "")
        self._bound = self._binding(header[0])
        authorization = ""
        if header[1]:
            if not header[1].startswith("a="):
                raise _RefusedError("other-error")
            authorization = _name(header[1][2:])
        if "m" in pairs:
            raise _RefusedError("extensions-not-supported")
        if list(pairs)[:2] != ["n", "r"]:
            raise _RefusedError("other-error")
        if not is_nonce(pairs["r"]) or len(pairs["r"]) > NONCE_MAX:
            raise _RefusedError("other-error")
        self._bound = f"{header[0]},{header[1]},".encode() + self._bound
        self._bare = bare
        self._nonce = pairs["r"] + self._nonce
        self._credentials = Credentials(
            self._mechanism, username=_name(pairs["n"]), authorization=authorization
        )
        self._machine.send(ScramInput.RECV_FIRST)
        return Step(StepKind.VERIFY, credentials=self._credentials)

    def _binding(self, flag: str) -> bytes:
        """What the client says of channel binding (RFC 5802, 6)."""
        plus = self._mechanism.endswith(PLUS)
        if flag == "n" and not plus:
            return b""
        if flag == "y" and not plus:
            if self._bindings:  # our offer was hidden from it
                raise _RefusedError(NO_BINDING)
            return b""
        if not flag.startswith("p=") or not plus:
            raise _RefusedError("other-error")
        data = self._bindings.get(flag[2:])
        if data is None:
            raise _RefusedError("unsupported-channel-binding-type")
        return data

    def _send_first(self, keys: Keys) -> Step:
        self._machine.send(ScramInput.KEYS)
        salt = base64.b64encode(keys.salt).decode()
        self._first = f"r={self._nonce},s={salt},i={keys.iterations}"
        return Step(StepKind.CHALLENGE, octets=self._first.encode())

    def _receive_final(self, message: bytes) -> Step:
        pairs = attributes(message)
        names = list(pairs)
        if "m" in pairs:
            raise _RefusedError("extensions-not-supported")
        if names[:2] != ["c", "r"] or names[-1] != "p":
            raise _RefusedError("other-error")
        if not hmac.compare_digest(pairs["r"].encode(), self._nonce.encode()):
            raise _RefusedError("other-error")
        if not hmac.compare_digest(unbase64(pairs["c"]), self._bound):
            raise _RefusedError(OTHER_BINDING)
        without_proof = message.decode().rpartition(",p=")[0]
        credentials = self._credentials
        assert credentials is not None and credentials.keys is not None
        said = f"{self._bare},{self._first},{without_proof}".encode()
        credentials.proven = self._proves(credentials.keys, said, unbase64(pairs["p"]))
        self._machine.send(ScramInput.RECV_FINAL)
        return Step(StepKind.VERIFY, credentials=credentials)

    def _proves(self, keys: Keys, said: bytes, proof: bytes) -> bool:
        """RFC 5802, 3: whether the ClientKey that the proof hides is the one that was stored."""
        mask = hmac.digest(keys.stored_key, said, self._hash)
        self._signature = hmac.digest(keys.server_key, said, self._hash)
        if len(proof) != len(mask):
            return False
        shown = hashlib.new(self._hash, masked(proof, mask)).digest()
        return hmac.compare_digest(shown, keys.stored_key)


def _split(message: bytes) -> tuple[list[str], str]:
    """The client-first-message's flag of channel binding and authorization; and what is bare."""
    if len(message) > RESPONSE_MAX:
        raise _RefusedError("other-error")
    try:
        parts = message.decode().split(",", 2)
    except UnicodeDecodeError:
        raise _RefusedError("invalid-encoding") from None
    if len(parts) != 3:
        raise _RefusedError("other-error")
    return parts[:2], parts[2]


def _name(text: str) -> str:
    """A saslname: "=2C" is a comma, "=3D" an equals sign, and no other "=" may stand in it."""
    rest = text.replace("=2C", "").replace("=3D", "")
    if not text or "=" in rest or "\0" in rest:
        raise _RefusedError("invalid-username-encoding")
    return text.replace("=2C", ",").replace("=3D", "=")

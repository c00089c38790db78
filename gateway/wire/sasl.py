"""SASL mechanisms (RFC 4422), without the frames or methods that a protocol wraps them in.

The server side turns responses into steps: a challenge to send, credentials to be verified by
someone else, who comes back with the answer (`resolve`), or a failure. No mechanism judges a
password. One with several rounds is one more class with the same two calls, and may have its
credentials verified more than once: only `GRANTED` says that the peer is who it says.

ANONYMOUS: RFC 4505. PLAIN: RFC 4616. EXTERNAL: RFC 4422 appendix A. SCRAM: `scram`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, final

ANONYMOUS: Final = "ANONYMOUS"
PLAIN: Final = "PLAIN"
EXTERNAL: Final = "EXTERNAL"

MALFORMED: Final = "what came is no message of that mechanism"
RESPONSE_MAX: Final = 4096
PROBLEM_MAX: Final = 200
TRACE_MAX: Final = 255


class StepKind(IntEnum):
    """What the server side does next."""

    CHALLENGE = 0  # send `octets`, wait for a response
    VERIFY = 1  # have `credentials` verified, then `resolve`
    GRANTED = 2  # over: the peer is who it says; `octets` go with the outcome
    DENIED = 3  # over; `credentials` say who it said that it is, where it did


@final
@dataclass(init=False, slots=True)
class Keys:
    """What a server keeps of a password for SCRAM (RFC 5802, 3)."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __init__(
        self, salt: bytes, iterations: int, *, stored_key: bytes, server_key: bytes
    ) -> None:
        self.salt = salt
        self.iterations = iterations
        self.stored_key = stored_key
        self.server_key = server_key


@final
class Derivation:
    """SCRAM's SaltedPassword, which takes long by intent: to be run in a thread, on its own.

    Attributes:
        salted: the result; empty before.
    """

    __slots__ = ("_hash", "_iterations", "_password", "_salt", "salted")

    def __init__(self, hash_name: str, password: bytes, salt: bytes, iterations: int) -> None:
        self._hash = hash_name
        self._password = password
        self._salt = salt
        self._iterations = iterations
        self.salted = b""

    def run(self) -> None:
        """Work it out."""
        self.salted = hashlib.pbkdf2_hmac(self._hash, self._password, self._salt, self._iterations)


class Proof(Protocol):
    """What a peer has sent that only who knows the password can make: CRAM-MD5, DIGEST-MD5."""

    def matches(self, secret: bytes) -> bool:
        """Whether it was made with the password of which `secret` is kept; the same work always."""


@final
@dataclass(init=False, slots=True)
class Credentials:
    """What a peer showed.

    Attributes:
        mechanism: the mechanism's name.
        username: the authentication identity; EXTERNAL: the identity asked for, or "" for the one
            that the transport proved; ANONYMOUS: the trace, which proves nothing.
        password: PLAIN only.
        authorization: PLAIN, SCRAM, DIGEST-MD5, GSSAPI: the identity to act as, or "".
        keys: SCRAM: what the verifier has of the user, which it fills in when it is asked first,
            also of a user who is none: the peer must not learn that.
        proven: SCRAM: whether the peer knows the password; when the verifier is asked again.
        proof: CRAM-MD5, DIGEST-MD5: what the verifier compares with what it has of the user, or
            with what it might have.
        task: GSSAPI: what has to be run first, in a thread; then the mechanism goes on, and nothing
            is proved.
    """

    mechanism: str
    username: str
    password: str
    authorization: str
    keys: Keys | None
    proven: bool
    proof: Proof | None
    task: Callable[[], None] | None

    def __init__(
        self, mechanism: str, *, username: str = "", password: str = "", authorization: str = ""
    ) -> None:
        self.mechanism = mechanism
        self.username = username
        self.password = password
        self.authorization = authorization
        self.keys = None
        self.proven = False
        self.proof = None
        self.task = None


@final
@dataclass(init=False, slots=True)
class Step:
    """The server side's next move."""

    kind: StepKind
    octets: bytes
    credentials: Credentials | None

    def __init__(
        self, kind: StepKind, *, octets: bytes = b"", credentials: Credentials | None = None
    ) -> None:
        self.kind = kind
        self.octets = octets
        self.credentials = credentials


class ServerMechanism(Protocol):
    """One authentication under way, on the server's side."""

    def respond(self, response: bytes | None) -> Step:
        """Take the initial response (`None`: there was none) or the answer to a challenge."""

    def resolve(self, granted: bool) -> Step:
        """Take the verifier's answer to a `VERIFY` step."""


class MechanismMaker(Protocol):
    """Makes the server's side of what it offers a peer."""

    def begin(self, mechanism: str) -> ServerMechanism | None:
        """A fresh one; `None`: it is not offered."""


class ClientMechanism(Protocol):
    """One authentication under way, on the client's side; each connection needs a fresh one."""

    def name(self) -> str:
        """The mechanism's name."""

    def initial(self) -> bytes | None:
        """The initial response, if the mechanism has one."""

    def respond(self, challenge: bytes) -> bytes | None:
        """The answer to a challenge; `None` to give up, unless there is something to derive."""

    def derivation(self) -> Derivation | None:
        """What is to be run first; then `derived` is the answer."""

    def derived(self) -> bytes | None:
        """The answer that waited for the derivation."""

    def complete(self, data: bytes | None) -> bool:
        """Whether to believe a server that says it is content; `data` came with its word."""

    def problem(self) -> str:
        """What the mechanism knows of why it failed; "" where it knows nothing."""


DENIED_STEP: Final = Step(StepKind.DENIED)
GRANTED_STEP: Final = Step(StepKind.GRANTED)
EMPTY_CHALLENGE: Final = Step(StepKind.CHALLENGE)


def _text(octets: bytes) -> str | None:
    if len(octets) > RESPONSE_MAX:
        return None
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _shown(mechanism: str, response: bytes) -> Credentials | None:
    """What a response shows; `None` if it is no message of the mechanism.

    ANONYMOUS takes anything: whatever is said is only a trace, and many clients say nothing at all.
    PLAIN: authorization NUL user NUL password. EXTERNAL: the transport has proved who the client
    is; the response may name whom to act as.
    """
    text = _text(response)
    if mechanism == ANONYMOUS:
        return Credentials(ANONYMOUS, username=(text or "")[:TRACE_MAX])
    if text is None:
        return None
    if mechanism == EXTERNAL:
        return Credentials(EXTERNAL, username=text)
    parts = text.split("\0")
    if len(parts) != 3 or not parts[1]:
        return None
    return Credentials(PLAIN, authorization=parts[0], username=parts[1], password=parts[2])


@final
class MessageServer:
    """A mechanism in which the client says all it has to say in one message: all three above.

    Args:
        told: who hears that there was nothing to verify: the user's name, which nobody said, and
            why.
    """

    __slots__ = ("_name", "_told")

    def __init__(self, name: str, told: Callable[[str, str], None] | None = None) -> None:
        self._name = name
        self._told = told

    def respond(self, response: bytes | None) -> Step:
        """Take the message; without one, ask for it by an empty challenge if it is needed."""
        if response is None and self._name != ANONYMOUS:
            return EMPTY_CHALLENGE
        credentials = _shown(self._name, response or b"")
        if credentials is None:
            if self._told is not None:
                self._told("", MALFORMED)
            return DENIED_STEP
        return Step(StepKind.VERIFY, credentials=credentials)

    def resolve(self, granted: bool) -> Step:
        """Whether the credentials are good, for an identity that is allowed."""
        return GRANTED_STEP if granted else DENIED_STEP


def server_mechanism(
    name: str, told: Callable[[str, str], None] | None = None
) -> ServerMechanism | None:
    """A fresh server side of the mechanism; `None` if there is none of that name."""
    return MessageServer(name, told) if name in (ANONYMOUS, PLAIN, EXTERNAL) else None


@final
class MessageClient:
    """A mechanism in which the client says all it has to say in one message.

    Args:
        name: the mechanism's name.
        message: the initial response; a server that did not take it asks for it by a challenge.
        after_error: what a challenge that tells an error is answered with, so that the outcome
            comes; `None`: the mechanism's challenges tell nothing.
    """

    __slots__ = ("_after_error", "_name", "_problem", "message")

    def __init__(self, name: str, message: bytes, after_error: bytes | None = None) -> None:
        self._name = name
        self._after_error = after_error
        self._problem = ""
        self.message = message

    def name(self) -> str:
        """The mechanism's name."""
        return self._name

    def initial(self) -> bytes | None:
        """The message."""
        return self.message

    def respond(self, challenge: bytes) -> bytes | None:
        """The message again; to an error, what makes the outcome come."""
        if not challenge or self._after_error is None:
            return self.message
        self._problem = challenge[:PROBLEM_MAX].decode("ascii", "replace")
        return self._after_error

    def derivation(self) -> Derivation | None:
        """Nothing."""
        return None

    def derived(self) -> bytes | None:
        """Nothing was asked for."""
        return None

    def complete(self, data: bytes | None) -> bool:
        """The server need not prove anything; one that told an error cannot be content."""
        return not self._problem

    def problem(self) -> str:
        """The server's reason, as it gave it; "" where it gave none."""
        return self._problem


def anonymous(trace: str = "anonymous") -> MessageClient:
    """ANONYMOUS with a trace."""
    return MessageClient(ANONYMOUS, trace.encode())


def plain(username: str, password: str, authorization: str = "") -> MessageClient:
    """PLAIN with a user name and a password; `authorization`: whom to act as, or ""."""
    return MessageClient(PLAIN, f"{authorization}\0{username}\0{password}".encode())


def external(authorization: str = "") -> MessageClient:
    """EXTERNAL: the transport proves who the client is; `authorization` as in `plain`."""
    return MessageClient(EXTERNAL, authorization.encode())


def choose(offered: list[str], able: list[ClientMechanism]) -> ClientMechanism | None:
    """The first of the client's mechanisms, best first, that the server offers."""
    for mechanism in able:
        if mechanism.name() in offered:
            return mechanism
    return None

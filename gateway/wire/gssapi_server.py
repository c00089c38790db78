"""SASL GSSAPI (RFC 4752), the server's side, without its security layers.

Theory. Tokens go to and fro until there is a context; then the server says which layers it has, and
the client which it takes and whom it acts for, both wrapped in the context. We have none: TLS is
there for that. The table lists whose turn it is. What takes a token may read files and wait, so it
is somebody else's to run (`Credentials.task`); what wraps and unwraps does not.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final, Protocol, final

from gateway.errors import GatewayError
from gateway.wire.machine import Machine, Table
from gateway.wire.sasl import (
    DENIED_STEP,
    EMPTY_CHALLENGE,
    GRANTED_STEP,
    MALFORMED,
    PROBLEM_MAX,
    Credentials,
    Step,
    StepKind,
)

GSSAPI: Final = "GSSAPI"
TOKEN_MAX: Final = (
    65_536  # octets; of who is in many groups of a directory it has tens of thousands
)
NO_LAYER: Final = 1
OFFER: Final = bytes((NO_LAYER, 0, 0, 0))  # and no size, as there is no layer


@final
class GssapiRefusedError(GatewayError):
    """The other side's token will not do; the text says why."""


class SecurityContext(Protocol):
    """A context of GSS-API that is being accepted. All but `complete` raise GssapiRefusedError."""

    def accept(self, token: bytes) -> bytes:
        """Take a token; what to send back, or nothing. May take long."""

    def complete(self) -> bool:
        """Whether there is a context."""

    def initiator(self) -> str:
        """Who the other side is, as Kerberos has it."""

    def wrap(self, octets: bytes) -> bytes:
        """Octets for the other side, which it can tell to be ours."""

    def unwrap(self, octets: bytes) -> bytes:
        """The inverse, of the other side's."""


class GssapiState(IntEnum):
    """Whose turn it is, and for what."""

    WAIT_INITIAL = 0
    WAIT_TOKEN = 1
    ACCEPTING = 2
    WAIT_EMPTY = 3
    WAIT_LAYER = 4
    WAIT_VERDICT = 5
    GRANTED = 6
    FAILED = 7


class GssapiInput(IntEnum):
    """What moves the exchange."""

    RECV_NOTHING = 0
    RECV_TOKEN = 1
    SEND_TOKEN = 2
    SEND_LAST_TOKEN = 3
    SEND_OFFER = 4
    RECV_LAYER = 5
    GRANT = 6
    FAIL = 7


_S: Final = GssapiState
_I: Final = GssapiInput

EXCHANGE: Final[Table] = {
    # A client without an initial response is asked for it (RFC 4422, 3.3), once.
    (_S.WAIT_INITIAL, _I.RECV_NOTHING): _S.WAIT_TOKEN,
    (_S.WAIT_INITIAL, _I.RECV_TOKEN): _S.ACCEPTING,
    (_S.WAIT_TOKEN, _I.RECV_TOKEN): _S.ACCEPTING,
    (_S.ACCEPTING, _I.SEND_TOKEN): _S.WAIT_TOKEN,
    (_S.ACCEPTING, _I.SEND_LAST_TOKEN): _S.WAIT_EMPTY,
    (_S.ACCEPTING, _I.SEND_OFFER): _S.WAIT_LAYER,
    (_S.WAIT_EMPTY, _I.SEND_OFFER): _S.WAIT_LAYER,
    (_S.WAIT_LAYER, _I.RECV_LAYER): _S.WAIT_VERDICT,
    (_S.WAIT_VERDICT, _I.GRANT): _S.GRANTED,
    **{(state, _I.FAIL): _S.FAILED for state in _S if state not in (_S.GRANTED, _S.FAILED)},
}


@final
class GssapiServer:
    """One exchange, with one client.

    Args:
        context: a fresh one.
        told: who hears that the exchange has failed before anybody was asked who the client is:
            its name as far as it is known, and why.
    """

    __slots__ = ("_context", "_machine", "_out", "_problem", "_token", "_told")

    def __init__(
        self, context: SecurityContext, told: Callable[[str, str], None] | None = None
    ) -> None:
        self._context = context
        self._told = told
        self._machine = Machine(EXCHANGE, GssapiState.WAIT_INITIAL)
        self._token = b""
        self._out = b""
        self._problem = ""

    def respond(self, response: bytes | None) -> Step:
        """Take a token, the empty answer to our last one, or the choice of a layer."""
        state = self._machine.state
        octets = response or b""
        if state == GssapiState.WAIT_INITIAL and not octets:
            self._machine.send(GssapiInput.RECV_NOTHING)
            return EMPTY_CHALLENGE
        if len(octets) > TOKEN_MAX:
            return self._fail(MALFORMED)
        if state in (GssapiState.WAIT_INITIAL, GssapiState.WAIT_TOKEN) and octets:
            return self._receive_token(octets)
        try:
            if state == GssapiState.WAIT_EMPTY and not octets:
                return self._offer()
            if state == GssapiState.WAIT_LAYER:
                return self._receive_layer(self._context.unwrap(octets))
        except GssapiRefusedError as refused:
            return self._fail(str(refused))
        return self._fail(MALFORMED)

    def resolve(self, granted: bool) -> Step:
        """The token has been taken, or it is known who may come."""
        state = self._machine.state
        if state == GssapiState.ACCEPTING and granted:
            return self._fail(self._problem) if self._problem else self._send_token()
        if state == GssapiState.WAIT_VERDICT and granted:
            self._machine.send(GssapiInput.GRANT)
            return GRANTED_STEP
        self._machine.receive(GssapiInput.FAIL)
        return DENIED_STEP

    def _receive_token(self, token: bytes) -> Step:
        self._machine.send(GssapiInput.RECV_TOKEN)
        self._token = token
        credentials = Credentials(GSSAPI)
        credentials.task = self._accept
        return Step(StepKind.VERIFY, credentials=credentials)

    def _accept(self) -> None:
        """In a thread."""
        try:
            self._out = self._context.accept(self._token)
        except GssapiRefusedError as refused:
            self._problem = str(refused)[:PROBLEM_MAX] or MALFORMED
        self._token = b""

    def _send_token(self) -> Step:
        out, self._out = self._out, b""
        if not self._context.complete():
            self._machine.send(GssapiInput.SEND_TOKEN)
        elif out:
            self._machine.send(GssapiInput.SEND_LAST_TOKEN)
        else:
            try:
                return self._offer()
            except GssapiRefusedError as refused:
                return self._fail(str(refused))
        return Step(StepKind.CHALLENGE, octets=out)

    def _offer(self) -> Step:
        offer = self._context.wrap(OFFER)
        self._machine.send(GssapiInput.SEND_OFFER)
        return Step(StepKind.CHALLENGE, octets=offer)

    def _receive_layer(self, choice: bytes) -> Step:
        """Which layer, how much it takes at a time, whom it acts for (3.1)."""
        if len(choice) < len(OFFER) or choice[0] != NO_LAYER:
            return self._fail("it asks for a security layer")
        try:
            authorization = choice[len(OFFER) :].decode()
        except UnicodeDecodeError:
            return self._fail(MALFORMED)
        self._machine.send(GssapiInput.RECV_LAYER)
        credentials = Credentials(
            GSSAPI, username=self._context.initiator(), authorization=authorization
        )
        return Step(StepKind.VERIFY, credentials=credentials)

    def _fail(self, why: str) -> Step:
        if not self._machine.receive(GssapiInput.FAIL):
            return DENIED_STEP
        claimed = ""
        if self._context.complete():
            try:
                claimed = self._context.initiator()
            except GssapiRefusedError:
                claimed = ""
        if self._told is not None:
            self._told(claimed, why)
        return Step(StepKind.DENIED, credentials=Credentials(GSSAPI, username=claimed))

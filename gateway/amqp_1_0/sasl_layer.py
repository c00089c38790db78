"""The SASL layer of one connection (5.3), both roles: frames around `wire.sasl`."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final

from gateway.amqp_1_0 import _spec, frames
from gateway.amqp_1_0._spec import (
    SaslChallenge,
    SaslFrame,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from gateway.amqp_1_0.errors import (
    NoMechanismError,
    SaslError,
    SaslRefusedError,
    ServerProofError,
)
from gateway.errors import LocalProtocolError
from gateway.wire import sasl
from gateway.wire.buffers import Writer
from gateway.wire.machine import Machine, Table
from gateway.wire.sasl import (
    ClientMechanism,
    Credentials,
    Derivation,
    MechanismMaker,
    ServerMechanism,
    Step,
    StepKind,
)

ROUNDS_MAX: Final = 8


class SaslState(IntEnum):
    """Server: init, (challenge, response)*, verify, outcome. Client: mechanisms, then the same."""

    WAIT_INIT = 0
    WAIT_RESPONSE = 1
    WAIT_VERDICT = 2
    WAIT_MECHANISMS = 3
    WAIT_OUTCOME = 4
    WAIT_DERIVED = 5
    GRANTED = 6
    DENIED = 7


class SaslInput(IntEnum):
    """What moves the exchange."""

    CHALLENGE = 0
    VERIFY = 1
    GRANT = 2
    DENY = 3
    MECHANISMS = 4
    DERIVE = 5
    DERIVED = 6


_T = SaslState
_N = SaslInput

SASL: Final[Table] = {
    **{
        (state, what): after
        for state in (_T.WAIT_INIT, _T.WAIT_RESPONSE)
        for what, after in ((_N.CHALLENGE, _T.WAIT_RESPONSE), (_N.VERIFY, _T.WAIT_VERDICT))
    },
    (_T.WAIT_VERDICT, _N.CHALLENGE): _T.WAIT_RESPONSE,
    (_T.WAIT_MECHANISMS, _N.MECHANISMS): _T.WAIT_OUTCOME,
    (_T.WAIT_OUTCOME, _N.DERIVE): _T.WAIT_DERIVED,
    (_T.WAIT_DERIVED, _N.DERIVED): _T.WAIT_OUTCOME,
    **{
        (state, what): after
        for state in (_T.WAIT_INIT, _T.WAIT_RESPONSE, _T.WAIT_VERDICT, _T.WAIT_OUTCOME)
        for what, after in ((_N.GRANT, _T.GRANTED), (_N.DENY, _T.DENIED))
    },
    (_T.WAIT_MECHANISMS, _N.DENY): _T.DENIED,
}


@final
class SaslServer:
    """The server's side.

    Attributes:
        hostname, asked: the hostname and the mechanism that the client named; "" before.
        claimed: who it said that it is, when that was refused before anybody was asked.
    """

    def __init__(self, writer: Writer, mechanisms: list[str], maker: MechanismMaker | None) -> None:
        self.writer = writer
        self.mechanisms = mechanisms
        self._maker = maker
        self.machine = Machine(SASL, SaslState.WAIT_INIT)
        self.hostname: str | None = None
        self.asked = ""
        self.claimed = ""
        self._mechanism: ServerMechanism | None = None
        self._rounds = 0

    def start(self) -> None:
        """Announce the mechanisms."""
        frames.write_sasl_frame(
            self.writer, SaslMechanisms(sasl_server_mechanisms=self.mechanisms or [sasl.ANONYMOUS])
        )

    def receive(self, frame: SaslFrame) -> Credentials | None:
        """Take an init or a response; credentials when they are complete.

        Raises:
            SaslError: the exchange has failed; the outcome is written.
        """
        state = self.machine.state
        if isinstance(frame, SaslInit) and state == SaslState.WAIT_INIT:
            self.hostname = frame.hostname
            self.asked = frame.mechanism
            self._mechanism = self._begin(frame.mechanism)
            return self._respond(frame.initial_response)
        if isinstance(frame, SaslResponse) and state == SaslState.WAIT_RESPONSE:
            return self._respond(frame.response)
        raise SaslError("a SASL frame out of turn")

    def _begin(self, name: str) -> ServerMechanism | None:
        maker = self._maker
        if maker is not None:
            return maker.begin(name)  # it hears of one that is not offered, too
        return sasl.server_mechanism(name) if name in self.mechanisms else None

    def _respond(self, response: bytes | None) -> Credentials | None:
        mechanism = self._mechanism
        self._rounds += 1
        if mechanism is None or self._rounds > ROUNDS_MAX:
            self._take(sasl.DENIED_STEP)
            raise SaslError("mechanism not offered" if mechanism is None else "too many rounds")
        return self._take(mechanism.respond(response))

    def _take(self, step: Step) -> Credentials | None:
        if step.kind == StepKind.VERIFY:
            self.machine.send(SaslInput.VERIFY)
            return step.credentials
        if step.kind == StepKind.CHALLENGE:
            self.machine.send(SaslInput.CHALLENGE)
            frames.write_sasl_frame(self.writer, SaslChallenge(challenge=step.octets))
            return None
        granted = step.kind == StepKind.GRANTED
        if not granted and step.credentials is not None:
            self.claimed = step.credentials.username
        self.machine.send(SaslInput.GRANT if granted else SaslInput.DENY)
        code = _spec.SASL_OK if granted else _spec.SASL_AUTH
        data = step.octets or None
        frames.write_sasl_frame(self.writer, SaslOutcome(code=code, additional_data=data))
        if not granted:
            raise SaslError("authentication failed")
        return None

    def resolve(self, granted: bool) -> bool:
        """Take the verdict on the credentials; whether the exchange has ended well."""
        mechanism = self._mechanism
        if mechanism is None or self.machine.state != SaslState.WAIT_VERDICT:
            raise LocalProtocolError("a verdict that nobody waits for")
        try:
            self._take(mechanism.resolve(granted))
        except SaslError:
            return False
        return self.machine.state == SaslState.GRANTED


@final
class SaslClient:
    """The client's side.

    A server may send a mechanism's last word as a challenge or with the outcome (5.3.3.6).

    Attributes:
        offered: what the server offers, once it has said so.
        chosen: the mechanism that we answered with; "" before.
    """

    def __init__(self, writer: Writer, able: list[ClientMechanism], hostname: str | None) -> None:
        self.writer = writer
        self.able = able
        self.hostname = hostname
        self.offered: list[str] = []
        self.chosen = ""
        self.machine = Machine(SASL, SaslState.WAIT_MECHANISMS)
        self._mechanism: ClientMechanism | None = None
        self._rounds = 0

    def receive(self, frame: SaslFrame) -> Derivation | None:
        """Take mechanisms, a challenge or the outcome; what is to be run before we go on.

        Raises:
            NoMechanismError: no common mechanism.
            SaslRefusedError: the server said no.
            ServerProofError: it said yes, but did not prove what the mechanism has it prove.
            SaslError: the mechanism gives up, or a frame is out of turn.
        """
        state = self.machine.state
        if isinstance(frame, SaslMechanisms) and state == SaslState.WAIT_MECHANISMS:
            self._choose(frame.sasl_server_mechanisms)
            return None
        mechanism = self._mechanism
        if mechanism is None or state != SaslState.WAIT_OUTCOME:
            raise SaslError("a SASL frame out of turn")
        if isinstance(frame, SaslChallenge):
            return self._respond(mechanism, frame.challenge)
        if not isinstance(frame, SaslOutcome):
            raise SaslError("a SASL frame that a client sends")
        self._end(mechanism, frame)
        return None

    def _choose(self, offered: list[str]) -> None:
        self.offered = offered
        mechanism = sasl.choose(offered, self.able)
        if mechanism is None:
            raise NoMechanismError(offered)
        self._mechanism = mechanism
        self.chosen = mechanism.name()
        self.machine.send(SaslInput.MECHANISMS)
        frames.write_sasl_frame(
            self.writer,
            SaslInit(
                mechanism=mechanism.name(),
                initial_response=mechanism.initial(),
                hostname=self.hostname,
            ),
        )

    def derived(self) -> None:
        """Go on: what `receive` told has been run."""
        mechanism = self._mechanism
        response = None if mechanism is None else mechanism.derived()
        if response is None:
            raise LocalProtocolError("nothing waits for a derivation")
        self.machine.send(SaslInput.DERIVED)
        frames.write_sasl_frame(self.writer, SaslResponse(response=response))

    def _respond(self, mechanism: ClientMechanism, challenge: bytes) -> Derivation | None:
        self._rounds += 1
        if self._rounds > ROUNDS_MAX:
            raise SaslError("too many rounds")
        response = mechanism.respond(challenge)
        derivation = mechanism.derivation()
        if derivation is not None:
            self.machine.send(SaslInput.DERIVE)
            return derivation
        if response is None:
            raise SaslError(f"{mechanism.name()} gives up: {mechanism.problem()}")
        frames.write_sasl_frame(self.writer, SaslResponse(response=response))
        return None

    def _end(self, mechanism: ClientMechanism, outcome: SaslOutcome) -> None:
        granted = outcome.code == _spec.SASL_OK
        proven = mechanism.complete(outcome.additional_data) if granted else False
        self.machine.send(SaslInput.GRANT if proven else SaslInput.DENY)
        if not granted:
            raise SaslRefusedError(outcome.code, mechanism.problem())
        if not proven:
            raise ServerProofError(mechanism.problem())

"""message.transfer from a 0-10 client: into the bridge, and the completions and accepts back.

A transfer is completed when every copy is safe or has ended by rule. accept-mode explicit adds a
message.accept or message.reject, sent to nobody who did not ask for it: some clients break the
connection over them. An absent accept-mode on a transfer means none; what an upstream rejects then
is an exception, if it comes here at all.

Where too much is in doubt, a client that takes producer flow - message.set-flow-mode, stop and flow
for the destination "" - is stopped by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.types import Command
from gateway.bridge.seams import PublishStatus
from gateway.errors import DecodeError
from gateway.faces import qmf
from gateway.faces.features import EXCHANGES
from gateway.message import Condition, Flag, Message, Outcome, OutcomeKind, Refusal
from gateway.translate.facts import Arrival, arrival_0_10, message_from_0_10
from gateway.translate.outcomes import reject_of
from gateway.translate.view import READER
from gateway.wire.serial import RangeSet

if TYPE_CHECKING:
    from gateway.faces.server_0_10.session import ServerSession

EXPLICIT: Final = int(spec.AcceptMode.EXPLICIT)
RANGES_PER_COMMAND: Final = 1_000
SESSION_FLOW: Final = ""  # the destination that stands for what the client publishes
# The Java client adds it to a signed counter, which a stop has set to zero.
CREDIT: Final = 2**31 - 1
UNROUTABLE: Final = Refusal(Condition.UNROUTABLE, "no queue took the message")


@final
class Transfers:
    """What one session publishes."""

    __slots__ = (
        "_accepted",
        "_explicit",
        "_failed",
        "_flow_set",
        "_pending",
        "_publishing",
        "_stopped",
        "session",
    )

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self._publishing = session.host.publishing
        # Ids whose client wants an accept or a reject, and has not been told yet.
        self._explicit = RangeSet()
        # Those of them that are accepted, to be told at the end of the turn.
        self._accepted = RangeSet()
        # Octets of those that the bridge holds back, by id.
        self._pending: dict[int, int] = {}
        # The first that came to nothing where only an exception can say so.
        self._failed: tuple[int, Refusal] | None = None
        self._flow_set = False
        self._stopped = False

    def held_back(self) -> int:
        """How many transfers the bridge holds back: in, but not to be confirmed yet."""
        return len(self._pending)

    def receive(self, event: CommandReceived, transfer: spec.MessageTransfer) -> None:
        """Publish one message."""
        session = self.session
        command_id = event.command_id
        try:
            arrival = arrival_0_10(event.payload, event.body_at)
        except DecodeError as error:
            refusal = Refusal(Condition.DECODE_ERROR, str(error))
            session.end_with(refusal, command_id=command_id, code=transfer.CODE)
            return
        if (transfer.accept_mode or 0) > 1 or (transfer.acquire_mode or 0) > 1:
            refusal = Refusal(Condition.ILLEGAL_ARGUMENT, "no such accept-mode or acquire-mode")
            session.end_with(refusal, command_id=command_id, code=transfer.CODE)
            return
        if not session.face.may_claim(arrival.user_id):
            refusal = Refusal(Condition.UNAUTHORIZED_ACCESS, "user-id is not the connection's user")
            session.end_with(refusal, command_id=command_id, code=transfer.CODE)
            return
        explicit = transfer.accept_mode == EXPLICIT
        if explicit:
            self._explicit.add(command_id)
            if not arrival.flags & Flag.DISCARD_UNROUTABLE:
                arrival.flags |= Flag.TELL_UNROUTABLE
        self._publish(event, transfer, arrival)

    def _publish(
        self, event: CommandReceived, transfer: spec.MessageTransfer, arrival: Arrival
    ) -> None:
        session = self.session
        command_id = event.command_id
        message = self._message(event, transfer.destination or "", arrival)
        transaction = session.transactions.current
        if transaction is None:
            published = self._publishing.publish(message, session, command_id)
        else:
            transacting = session.host.transacting
            published = transacting.publish(transaction, message, session, command_id)
        status = published.status
        if status is PublishStatus.DONE:
            self.accept(command_id, command_id)
            session.session.complete(command_id, command_id)
        elif status is PublishStatus.IN_TURN:
            session.complete_when_safe(command_id)
        elif status is PublishStatus.PENDING:
            self._hold(command_id, len(event.payload))
        elif status is PublishStatus.UNROUTABLE:
            discard = bool(arrival.flags & Flag.DISCARD_UNROUTABLE)
            if transfer.destination in EXCHANGES:
                discard |= self._asked_for_management(event, transfer.destination or "")
            self._unrouted(command_id, published.refusal or UNROUTABLE, discard=discard)
        else:
            assert published.refusal is not None
            if transfer.destination in EXCHANGES:
                self._count(transfer.destination or "")
            session.end_with(published.refusal, command_id=command_id, code=transfer.CODE)

    def _asked_for_management(self, event: CommandReceived, exchange: str) -> bool:
        """Nobody took a message to one of the exchanges of management; whether it is answered."""
        self._count(exchange)
        if exchange != qmf.QMF_DIRECT:
            return False
        session = self.session
        settings = session.face.settings
        return qmf.answer(session.bridge, session.host, settings, event.payload, event.body_at)

    def _count(self, exchange: str) -> None:
        self.session.face.uses.count(EXCHANGES[exchange])

    def _message(self, event: CommandReceived, exchange: str, arrival: Arrival) -> Message:
        face = self.session.face
        return message_from_0_10(
            arrival,
            event.payload,
            event.body_at,
            id=face.bridge.numbers.next_message(),
            exchange=exchange,
            now_ms=face.bridge.now_ms,
            publisher=face.peer.connection_id,
            times_in_ms=face.java,
            reader=READER,
        )

    def _unrouted(self, command_id: int, why: Refusal, *, discard: bool) -> None:
        """Nobody took it: the client is told where it asked to be, and it is done in any case."""
        if discard:
            self.accept(command_id, command_id)
        elif command_id in self._explicit:
            self._explicit.remove_range(command_id, command_id)
            outcome = Outcome(
                OutcomeKind.REJECTED, condition=why.condition, description=why.description
            )
            self._reject(command_id, outcome)
        self.session.session.complete(command_id, command_id)

    def end(self, command_id: int, outcome: Outcome) -> None:
        """A transfer that was held back has ended."""
        self.session.face.doubt.let_go(self._pending.pop(command_id, 0))
        if outcome.kind == OutcomeKind.ACCEPTED:
            self.accept(command_id, command_id)
        elif command_id in self._explicit:
            self._explicit.remove_range(command_id, command_id)
            self._reject(command_id, outcome)
        else:
            if self._failed is None:
                self._failed = (command_id, failure_of(outcome))
            return
        self.session.session.complete(command_id, command_id)

    def end_failed(self) -> None:
        """End the session for a transfer that came to nothing, if there is one."""
        failed = self._failed
        if failed is not None:
            command_id, refusal = failed
            self.session.end_with(refusal, command_id=command_id, code=spec.MessageTransfer.CODE)

    def forget(self) -> None:
        """The session is over: nobody waits for what is held back."""
        doubt = self.session.face.doubt
        for octets in self._pending.values():
            doubt.let_go(octets)
        self._pending = {}

    # Producer flow.

    def _hold(self, command_id: int, octets: int) -> None:
        self._pending[command_id] = octets
        face = self.session.face
        if face.doubt.hold(octets):
            face.on_doubt()
        else:
            self.stop_producer()

    def slow(self) -> bool:
        """Whether too much is held back, some of it of this session."""
        return self.session.face.doubt.high and len(self._pending) > 0

    def stop_producer(self) -> None:
        """Ask a client that is to slow down to publish no more, if it is one that takes that."""
        if self._stopped or not self.session.face.session_flow or not self.slow():
            return
        self._stopped = True
        if not self._flow_set:
            # Once: with each, some clients begin to count anew while they wait by the old count.
            self._flow_set = True
            self._send(
                spec.MessageSetFlowMode(destination=SESSION_FLOW, flow_mode=spec.FlowMode.CREDIT)
            )
        self._send(spec.MessageStop(destination=SESSION_FLOW))

    def resume_producer(self) -> None:
        """Let it publish again."""
        if self._stopped and not self.slow():
            self._stopped = False
            unit = spec.CreditUnit.MESSAGE
            self._send(spec.MessageFlow(destination=SESSION_FLOW, unit=unit, value=CREDIT))

    def accept(self, first: int, last: int) -> None:
        """All from `first` to `last` are where they belong: accept those that asked for it."""
        explicit = self._explicit
        if not explicit:
            return
        for low, high in explicit.within(first, last):
            self._accepted.add_range(low, high)
        explicit.remove_range(first, last)

    def flush(self) -> None:
        """Tell what the turn has accepted."""
        if self._accepted:
            ranges = self._accepted.take()
            for at in range(0, len(ranges), RANGES_PER_COMMAND):
                self._send(spec.MessageAccept(transfers=ranges[at : at + RANGES_PER_COMMAND]))

    def _reject(self, command_id: int, outcome: Outcome) -> None:
        code, text = reject_of(outcome, self.session.face.settings.translated)
        transfers = [(command_id, command_id)]
        self._send(spec.MessageReject(transfers=transfers, code=code, text=text or None))

    def _send(self, command: Command) -> None:
        if not self.session.session.ended:
            self.session.session.send_command(command)


def failure_of(outcome: Outcome) -> Refusal:
    """What is said of a message that nobody took, to whom an exception has to say it."""
    condition = outcome.condition
    if condition == Condition.NONE:
        condition = Condition.PRECONDITION_FAILED
    return Refusal(condition, outcome.description or "the message was not accepted")

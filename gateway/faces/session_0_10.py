"""One attached 0-10 session: its commands in the bridge's verbs.

It is the owner of what the session declares exclusively, the publisher of what it transfers, and
waits for commits. Owns which command ids may be completed when; `transfers_0_10` has what comes in,
`deliveries_0_10` what goes out, `subscriptions_0_10` what is asked for. Sources: 0-10 XML, classes
message and execution.

The protocol's session may have ended while commands that came before its end are still carried out:
they are, and only the answers have nowhere to go. What counts here is `over`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.types import Command, Struct
from gateway.audit.schema import Reason
from gateway.bridge.host import VirtualHost
from gateway.faces.declare_0_10 import Declarations
from gateway.faces.deliveries_0_10 import Deliveries
from gateway.faces.errors_0_10 import execution_error
from gateway.faces.features import CLASSES, Feature
from gateway.faces.subscriptions_0_10 import Subscriptions
from gateway.faces.transfers_0_10 import Transfers
from gateway.message import Condition, Outcome, Refusal

if TYPE_CHECKING:
    from gateway.faces.server_0_10 import Server010

CLASS_MESSAGE: Final = 4
CLASS_EXCHANGE: Final = 7
CLASS_QUEUE: Final = 8

# Commands without durable effect: completed at once.
FLEETING: Final = frozenset(
    (
        spec.MessageSubscribe.CODE,
        spec.MessageSetFlowMode.CODE,
        spec.MessageFlow.CODE,
        spec.MessageStop.CODE,
    )
)

Answer = Struct | Refusal | None


@final
class ServerSession:
    """A session of a client, from attach to its end.

    Attributes:
        over: it has ended, and holds nothing any more.
    """

    def __init__(self, face: Server010, session: Session, host: VirtualHost) -> None:
        self.face = face
        self.session = session
        self.host = host
        self.bridge = face.bridge
        self.number = face.bridge.next_owner_id()
        name = session.name.decode("utf-8", "replace")
        self.audit_name = face.bridge.audit.name(f"session {self.number} {name}")
        self.over = False
        self.declarations = Declarations(
            host, self, face.settings.counts, strict=face.settings.strict
        )
        self.transfers = Transfers(self)
        self.deliveries = Deliveries(self)
        self.subscriptions = Subscriptions(self)
        # Commands that are done once a turn is committed: (turn, first, last), ascending turns.
        self._safe_with: list[tuple[int, int, int]] = []

    # What the bridge asks and tells.

    def owner_id(self) -> int:
        """As an `Owner`."""
        return self.number

    def connection_id(self) -> int:
        """As an `Owner`: the number that the session's messages carry as publisher."""
        return self.face.peer.connection_id

    def on_published(self, token: int, outcome: Outcome) -> None:
        """As a `Publisher`: a transfer that was held back has ended; the token is its id."""
        if not self.over:
            self.transfers.end(token, outcome)
            self.face.touch()

    def on_committed(self, turn: int) -> None:
        """As a `CommitWaiter`."""
        if self.over:
            return
        done = 0
        for number, first, last in self._safe_with:
            if number > turn:
                break
            done += 1
            self.transfers.accept(first, last)
            self.session.complete(first, last)
        del self._safe_with[:done]
        self.face.touch()

    # Completion.

    def complete(self, command_id: int) -> None:
        """The client's command is done."""
        if not self.over:
            self.session.complete(command_id, command_id)
            self.face.touch()

    def complete_when_safe(self, command_id: int) -> None:
        """The client's command is done when this turn's durable effects are on disk."""
        if self.over:
            return
        turn = self.bridge.wait(self)
        waiting = self._safe_with
        if waiting:
            number, first, last = waiting[-1]
            if number == turn and last + 1 == command_id:
                waiting[-1] = (turn, first, command_id)
                return
        waiting.append((turn, command_id, command_id))

    def uncommitted(self) -> bool:
        """Whether anything that the client asked for still waits for the disk or for room."""
        return len(self._safe_with) > 0 or self.transfers.held_back() > 0

    def end_with(
        self, refusal: Refusal, *, command_id: int | None = None, command: Command | None = None
    ) -> None:
        """Answer a command, or something that happened, with an exception: the session ends."""
        if self.over:
            return
        code = 0 if command is None else command.CODE
        self.transfers.flush()
        self.session.fail(execution_error(refusal), command_id=command_id, code=code)
        self.face.on_session_failed(self)

    # Commands.

    def on_command(self, event: CommandReceived) -> None:
        """Carry out one command."""
        command = event.command
        command_id = event.command_id
        if isinstance(command, spec.MessageTransfer):
            self.transfers.receive(event, command)
        elif isinstance(command, spec.MessageFlush):
            refusal = self.subscriptions.flush(command, command_id)
            if refusal is not None:
                self.end_with(refusal, command_id=command_id, command=command)
        else:
            self._carry_out(command, command_id)
        self.face.touch()

    def _carry_out(self, command: Command, command_id: int) -> None:
        answer = self._answer(command)
        if isinstance(answer, Refusal):
            self.end_with(answer, command_id=command_id, command=command)
        elif answer is not None:
            self.session.send_result(command_id, answer)
        elif command.CODE in FLEETING:
            self.complete(command_id)
        else:
            self.complete_when_safe(command_id)

    def _answer(self, command: Command) -> Answer:
        class_code = command.CODE >> 8
        if class_code == CLASS_MESSAGE:
            return self._message(command)
        if class_code in (CLASS_EXCHANGE, CLASS_QUEUE):
            return self.declarations.answer(command)
        self.face.settings.counts.unsupported[CLASSES.get(class_code, Feature.OTHER)] += 1
        return Refusal(Condition.NOT_IMPLEMENTED, f"{type(command).__name__} is not offered here")

    def _message(self, command: Command) -> Answer:
        deliveries = self.deliveries
        if isinstance(command, spec.MessageAccept):
            deliveries.accept(command)
            return None
        if isinstance(command, spec.MessageRelease):
            deliveries.release(command)
            return None
        if isinstance(command, spec.MessageReject):
            return deliveries.reject(command)
        if isinstance(command, spec.MessageAcquire):
            return deliveries.acquire(command)
        return self.subscriptions.answer(command)

    # Events.

    def on_completed(self, ranges: Ranges) -> None:
        """The client has completed transfers: window credit comes back."""
        self.deliveries.completed(ranges)
        self.resume()
        self.face.touch()

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        self.subscriptions.resume()

    def force_off(self) -> None:
        """Another transport takes the name of this session."""
        self.face.forced_off(self)

    def end(self, reason: Reason) -> None:
        """The session is over: give back what it holds, let go what it owns."""
        self.over = True
        self.subscriptions.cancel_all(reason)
        self.deliveries.give_back(reason)
        self.subscriptions.on_settled()
        self.host.release_owner(self)
        self.bridge.audit.forget(self.audit_name)

"""One attached 0-10 session: its commands in the bridge's verbs.

It is the owner of what the session declares exclusively, the publisher of what it transfers, and
waits for commits. Owns which command ids may be completed when; `transfers` has what comes in,
`deliveries` what goes out, `subscriptions` what is asked for. Sources: 0-10 XML, classes
message and execution.

Commands that have to wait are parked (`parking`) and carried out when the face has something
to send: never from inside a call of the bridge.

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
from gateway.faces.features import CLASSES, Feature
from gateway.faces.server_0_10.declare import Declarations, queue_asked_for
from gateway.faces.server_0_10.deliveries import Deliveries
from gateway.faces.server_0_10.errors import execution_error
from gateway.faces.server_0_10.parking import Parking, Waiting
from gateway.faces.server_0_10.subscriptions import Subscriptions
from gateway.faces.server_0_10.transactions import Transactions
from gateway.faces.server_0_10.transfers import Transfers
from gateway.message import Condition, Outcome, Refusal

if TYPE_CHECKING:
    from gateway.faces.server_0_10.connection import Server010

CLASS_MESSAGE: Final = 4
CLASS_TX: Final = 5
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

# Parked commands carried out in one turn.
COMMANDS_PER_TURN: Final = 1_000

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
        self.number = face.bridge.numbers.next_owner()
        name = session.name.decode("utf-8", "replace")
        self.audit_name = face.bridge.audit.name(f"session {self.number} {name}")
        self.over = False
        settings = face.settings
        self.declarations = Declarations(host, self, face.uses, strict=settings.strict)
        self.transfers = Transfers(self)
        self.transactions = Transactions(self)
        self.deliveries = Deliveries(self)
        self.subscriptions = Subscriptions(self)
        self.parking = Parking(face.doubt)
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

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """As a `LookUpWaiter`: the token is the id of the command that waits."""
        self.parking.answer(token, refusal)
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
        parking = self.parking
        return (
            len(self._safe_with) > 0
            or self.transfers.held_back() > 0
            or parking.waiting is not None
            or len(parking) > 0
            or self.transactions.open_work()
        )

    def end_with(self, refusal: Refusal, *, command_id: int | None = None, code: int = 0) -> None:
        """Answer a command, or something that happened, with an exception: the session ends.

        `code` is the command's `CODE`.
        """
        if self.over:
            return
        self.face.uses.on_refused(refusal)
        self.transfers.flush()
        self.session.fail(execution_error(refusal), command_id=command_id, code=code)
        self.face.on_session_failed(self)

    # Commands.

    def on_command(self, event: CommandReceived) -> None:
        """Carry out one command, or park it."""
        if self.parking.holds(event.command, slow=self.transfers.slow()):
            self.parking.park(event)
        else:
            self._execute(event)
        self.face.touch()

    def _execute(self, event: CommandReceived) -> None:
        command = event.command
        command_id = event.command_id
        if isinstance(command, spec.MessageTransfer):
            self.transfers.receive(event, command)
        elif isinstance(command, spec.MessageFlush):
            refusal = self.subscriptions.flush(command, command_id)
            if refusal is not None:
                self.end_with(refusal, command_id=command_id, code=command.CODE)
        elif command.CODE >> 8 == CLASS_TX:
            answer = self.transactions.answer(command, command_id)
            if self.parking.waiting is None:
                self._give(answer, command, command_id)
        elif self._must_look_up(command, command_id):
            self.parking.wait(command_id, command)
        else:
            self._carry_out(command, command_id)

    def _must_look_up(self, command: Command, command_id: int) -> bool:
        """Whether an upstream has to be asked before the command can be answered."""
        if command.CODE >> 8 not in (CLASS_EXCHANGE, CLASS_QUEUE):
            return False
        name = queue_asked_for(command)
        return bool(name) and self.host.reaching.look_up(name, self, command_id)

    def _carry_out(self, command: Command, command_id: int) -> None:
        there = self.declarations.carry_out_there(command, self, command_id)
        if there is True:
            self.parking.wait(command_id, command, done_there=True)
        elif isinstance(there, Refusal):
            self._give(there, command, command_id)
        else:
            self._carry_out_here(command, command_id)

    def _carry_out_here(self, command: Command, command_id: int) -> None:
        answer = self._answer(command)
        if self.subscriptions.attaching:
            self.subscriptions.attaching = False
            self.parking.wait(command_id, command)
        elif answer is None and self.declarations.must_reach(command, self, command_id):
            self.parking.wait(command_id, command)
        else:
            self._give(answer, command, command_id)

    def _give(self, answer: Answer, command: Command, command_id: int) -> None:
        if isinstance(answer, Refusal):
            self.end_with(answer, command_id=command_id, code=command.CODE)
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
        self.face.uses.refuse(CLASSES.get(class_code, Feature.OTHER))
        return Refusal(Condition.NOT_IMPLEMENTED, f"{type(command).__name__} is not offered here")

    def _message(self, command: Command) -> Answer:
        deliveries = self.deliveries
        if isinstance(command, spec.MessageAccept):
            return deliveries.accept(command)
        if isinstance(command, spec.MessageRelease):
            deliveries.release(command)
            return None
        if isinstance(command, spec.MessageReject):
            return deliveries.reject(command)
        if isinstance(command, spec.MessageAcquire):
            return deliveries.acquire(command)
        return self.subscriptions.answer(command)

    # Parked commands.

    def on_attached(self, refusal: Refusal | None) -> None:
        """What an upstream says to the subscription that the session waits for."""
        waiting = self.parking.waiting
        if waiting is not None:
            self.parking.answer(waiting.command_id, refusal)
            self.face.touch()

    def carry_on(self) -> None:
        """Outside of the bridge: end what has failed, carry out what need not wait any more."""
        self.transfers.end_failed()
        parking = self.parking
        carried_out = False
        for _ in range(COMMANDS_PER_TURN):
            answered = parking.take_answered()
            if answered is not None:
                carried_out = True
                self._conclude(answered)
            event = parking.next(slow=self.transfers.slow())
            if event is None:
                break
            carried_out = True
            self._execute(event)
        if carried_out:
            # The turn's end has been: what was done here, and what is left, is of the next one.
            self.face.touch()
        if len(parking) == 0:
            self.transfers.resume_producer()

    def _conclude(self, waited: Waiting) -> None:
        """Answer a command that waited for an upstream."""
        command = waited.command
        refusal = waited.refusal
        if refusal is not None:
            self._give(self.declarations.refused(command, refusal), command, waited.command_id)
        elif isinstance(command, spec.MessageSubscribe | spec.TxCommit):
            self.complete(waited.command_id)
        elif isinstance(command, spec.ExchangeBind):
            self.complete_when_safe(waited.command_id)
        elif waited.done_there:
            self._carry_out_here(command, waited.command_id)
        else:
            self._carry_out(command, waited.command_id)

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
        self.parking.clear()
        self.transfers.forget()
        self.transactions.end()
        self.subscriptions.cancel_all(reason)
        self.deliveries.give_back(reason)
        self.subscriptions.on_settled()
        self.host.owners.release(self)
        self.bridge.audit.forget(self.audit_name)

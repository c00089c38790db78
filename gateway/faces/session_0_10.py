"""One attached 0-10 session: its commands in the bridge's verbs.

It is the owner of what the session declares exclusively, the publisher of what it transfers, and
waits for commits. Owns which command ids may be completed when; `transfers_0_10` has what comes in,
`unsettled_0_10` what went out. Sources: 0-10 XML, classes message and execution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.types import Command, FieldTable, Struct
from gateway.bridge.host import VirtualHost
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.declare_0_10 import Declarations
from gateway.faces.errors_0_10 import execution_error
from gateway.faces.subscription_0_10 import Subscription010
from gateway.faces.transfers_0_10 import Transfers
from gateway.faces.unsettled_0_10 import Unsettled
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Delivery,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.translate.conditions import from_reject_code
from gateway.translate.message import to_0_10

if TYPE_CHECKING:
    from gateway.faces.server_0_10 import Server010

SELECTOR_ARGUMENTS: Final = frozenset(("x-apache-selector", "x-filter-jms-selector"))
CLASS_MESSAGE: Final = 4
CLASS_EXCHANGE: Final = 7
CLASS_QUEUE: Final = 8

Answer = Struct | Refusal | None


@final
class ServerSession:
    """A session of a client, from attach to its end."""

    def __init__(self, face: Server010, session: Session, host: VirtualHost) -> None:
        self.face = face
        self.session = session
        self.host = host
        self.bridge = face.bridge
        self.number = face.bridge.next_owner_id()
        self.audit_name = face.bridge.audit.name(f"{session.name.decode('utf-8', 'replace')}")
        self.declarations = Declarations(
            host, self, face.settings.counts, strict=face.settings.strict
        )
        self.transfers = Transfers(self)
        self.unsettled = Unsettled()
        self.subscriptions: dict[str, Subscription010] = {}
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
        if not self.session.ended:
            self.transfers.end(token, outcome)
            self.face.touch()

    def on_committed(self, turn: int) -> None:
        """As a `CommitWaiter`."""
        done = 0
        for number, first, last in self._safe_with:
            if number > turn:
                break
            done += 1
            if not self.session.ended:
                self.session.complete(first, last)
                self.transfers.accept(first, last)
        del self._safe_with[:done]
        self.face.touch()

    # Completion.

    def complete(self, command_id: int) -> None:
        """The client's command is done."""
        if not self.session.ended:
            self.session.complete(command_id, command_id)
            self.face.touch()

    def complete_when_safe(self, command_id: int) -> None:
        """The client's command is done when this turn's durable effects are on disk."""
        turn = self.bridge.wait(self)
        waiting = self._safe_with
        if waiting:
            number, first, last = waiting[-1]
            if number == turn and last + 1 == command_id:
                waiting[-1] = (turn, first, command_id)
                return
        waiting.append((turn, command_id, command_id))

    def force_off(self) -> None:
        """Another transport takes the name of this session."""
        self.face.forced_off(self)

    def uncommitted(self) -> bool:
        """Whether anything that the client asked for still waits for the disk or for room."""
        return len(self._safe_with) > 0 or self.transfers.held_back() > 0

    def end_with(
        self, refusal: Refusal, *, command_id: int | None = None, command: Command | None = None
    ) -> None:
        """Answer a command, or something that happened, with an exception: the session ends."""
        if self.session.ended:
            return
        code = 0 if command is None else command.CODE
        self.session.fail(execution_error(refusal), command_id=command_id, code=code)
        self.face.on_session_failed(self, refusal)

    # Commands.

    def on_command(self, event: CommandReceived) -> None:
        """Carry out one command."""
        command = event.command
        command_id = event.command_id
        if isinstance(command, spec.MessageTransfer):
            self.transfers.receive(event, command)
            return
        answer = self._answer(command)
        if answer is None and isinstance(command, spec.MessageFlush):
            self.subscriptions[command.destination or ""].flush(command_id)
            return
        if isinstance(answer, Refusal):
            self.end_with(answer, command_id=command_id, command=command)
        elif answer is not None:
            self.session.send_result(command_id, answer)
        else:
            self.complete_when_safe(command_id)

    def _answer(self, command: Command) -> Answer:
        class_code = command.CODE >> 8
        if class_code == CLASS_MESSAGE:
            return self._message(command)
        if class_code in (CLASS_EXCHANGE, CLASS_QUEUE):
            return self.declarations.answer(command)
        return Refusal(Condition.NOT_IMPLEMENTED, f"{type(command).__name__} is not offered here")

    def _message(self, command: Command) -> Answer:
        if isinstance(command, spec.MessageAccept):
            return self._settle(command.transfers or [], ACCEPTED)
        if isinstance(command, spec.MessageRelease):
            outcome = MODIFIED_FAILED if command.set_redelivered else RELEASED
            return self._settle(command.transfers or [], outcome)
        if isinstance(command, spec.MessageReject):
            return self._reject(command)
        if isinstance(command, spec.MessageAcquire):
            return self._acquire(command)
        if isinstance(command, spec.MessageSubscribe):
            return self._subscribe(command)
        return self._flow_control(command)

    def _flow_control(self, command: Command) -> Answer:
        if isinstance(command, spec.MessageFlow):
            return self._flow(command)
        if isinstance(command, spec.MessageSetFlowMode):
            return self._set_flow_mode(command)
        if isinstance(command, (spec.MessageStop, spec.MessageFlush)):
            found = self._find(command.destination)
            if isinstance(found, Refusal):
                return found
            if isinstance(command, spec.MessageStop):
                found.stop()
            return None
        if isinstance(command, spec.MessageCancel):
            return self._cancel(command)
        return Refusal(Condition.NOT_IMPLEMENTED, f"{type(command).__name__} is not offered here")

    # Subscriptions.

    def _find(self, destination: str | None) -> Subscription010 | Refusal:
        found = self.subscriptions.get(destination or "")
        if found is None:
            return Refusal(Condition.NOT_FOUND, f"there is no subscription {destination!r}")
        return found

    def _subscribe(self, command: spec.MessageSubscribe) -> Answer:
        destination = command.destination or ""
        if destination in self.subscriptions:
            return Refusal(Condition.NOT_ALLOWED, f"destination {destination!r} is in use")
        if len(self.subscriptions) >= self.face.settings.limits.links_max:
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, "too many subscriptions")
        if selects(command.arguments or []):
            # A consumer must never get what it excluded: until there are selectors, it gets none.
            return Refusal(Condition.NOT_IMPLEMENTED, "selectors are not offered here")
        explicit = command.accept_mode != spec.AcceptMode.NONE
        acquire = command.acquire_mode != spec.AcquireMode.NOT_ACQUIRED
        outlet = Subscription010(self, destination, accept_explicit=explicit, acquire=acquire)
        bridged = self.host.subscribe(
            command.queue or "",
            outlet,
            self,
            acquire=acquire,
            exclusive=command.exclusive,
            settled=not explicit,
        )
        if isinstance(bridged, Refusal):
            return bridged
        outlet.bridged = bridged
        self.subscriptions[destination] = outlet
        self.face.on_link(opened=True)
        return None

    def _cancel(self, command: spec.MessageCancel) -> Refusal | None:
        found = self._find(command.destination)
        if isinstance(found, Refusal):
            return found
        found.cancel()
        found.on_drained()
        del self.subscriptions[found.destination]
        self.face.on_link(opened=False)
        return None

    def _set_flow_mode(self, command: spec.MessageSetFlowMode) -> Refusal | None:
        found = self._find(command.destination)
        if isinstance(found, Refusal):
            return found
        if command.flow_mode not in (None, spec.FlowMode.CREDIT, spec.FlowMode.WINDOW):
            return Refusal(Condition.INVALID_ARGUMENT, "flow-mode is credit or window")
        found.set_window(command.flow_mode == spec.FlowMode.WINDOW)
        return None

    def _flow(self, command: spec.MessageFlow) -> Refusal | None:
        found = self._find(command.destination)
        if isinstance(found, Refusal):
            return found
        if command.unit not in (None, spec.CreditUnit.MESSAGE, spec.CreditUnit.BYTE):
            return Refusal(Condition.INVALID_ARGUMENT, "unit is message or byte")
        found.flow(command.unit == spec.CreditUnit.BYTE, command.value)
        return None

    # Deliveries.

    def send_transfer(
        self, subscription: Subscription010, delivery: Delivery
    ) -> tuple[DeliverStatus, int]:
        """Send one delivery; with `TAKEN`, the octets that count against byte credit."""
        face = self.face
        if (
            not face.has_room()
            or self.session.in_doubt() >= face.settings.limits.commands_in_doubt_max
        ):
            return DeliverStatus.BLOCKED, 0
        message = delivery.message
        translated = to_0_10(message, face.context_for(self.host), delivery.delivery_count)
        if translated.losses:
            losses.record(self.bridge, translated.losses, message.id, delivery.subscription)
        if translated.refusal is not None:
            return DeliverStatus.UNDELIVERABLE, 0
        octets = len(translated.header) + len(translated.body)
        explicit = subscription.accept_explicit
        command_id = self.session.send_command(
            spec.MessageTransfer(
                destination=subscription.destination,
                accept_mode=spec.AcceptMode.EXPLICIT if explicit else spec.AcceptMode.NONE,
                acquire_mode=(
                    spec.AcquireMode.PRE_ACQUIRED
                    if subscription.acquire
                    else spec.AcquireMode.NOT_ACQUIRED
                ),
            ),
            header=translated.header,
            body=translated.body,
        )
        self.unsettled.sent(command_id, subscription, octets, delivery if explicit else None)
        face.touch()
        return DeliverStatus.TAKEN, octets

    def _settle(self, ranges: Ranges, outcome: Outcome) -> Answer:
        host = self.host
        for delivery in self.unsettled.take(ranges):
            host.settle(delivery, outcome)
        return None

    def _reject(self, command: spec.MessageReject) -> Answer:
        outcome = Outcome(
            OutcomeKind.REJECTED,
            condition=from_reject_code(command.code or 0),
            description=command.text or "",
        )
        return self._settle(command.transfers or [], outcome)

    def _acquire(self, command: spec.MessageAcquire) -> spec.Acquired:
        acquired: Ranges = []
        for command_id, delivery in self.unsettled.find(command.transfers or []):
            if self.host.acquire(delivery):
                acquired.append((command_id, command_id))
        return spec.Acquired(transfers=acquired)

    def on_completed(self, ranges: Ranges) -> None:
        """The client has completed transfers: window credit comes back."""
        self.unsettled.completed(ranges)
        self.resume()

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        for subscription in self.subscriptions.values():
            subscription.resume()

    def end(self) -> None:
        """The session is over: give back what it holds, let go what it owns."""
        for subscription in self.subscriptions.values():
            subscription.cancel()
            self.face.on_link(opened=False)
        self.subscriptions = {}
        for delivery in self.unsettled.take_all():
            self.host.settle(delivery, MODIFIED_FAILED)
        self.host.release_owner(self)
        self.transfers.forget()
        self._safe_with = []
        self.bridge.audit.forget(self.audit_name)


def selects(arguments: FieldTable) -> bool:
    """Whether a subscription wants a selector, by either name that clients use."""
    return any(key in SELECTOR_ARGUMENTS and tagged.value for key, tagged in arguments)

"""One subscription at a 0-10 upstream for one subscription of a client, in a session of its own.

Its credit is what the inlet wants, its settlement is the client's. It outlives connections. When
the client has left, the subscription is cancelled and the session stays until the last delivery has
its outcome, since its end gives unsettled ones back. Source: 0-10 XML, class message.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived, ResultReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.audit.schema import Flag as AuditFlag
from gateway.bridge.remote.remote import Inlet
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.reaching import lasting
from gateway.faces.dialled.receiver_states import RECEIVER, ReceiverState
from gateway.faces.dialled.receiver_states import ReceiverInput as Input
from gateway.faces.upstream_0_10.consumer import Consumer
from gateway.faces.upstream_0_10.errors import refusal_of, text_of
from gateway.faces.upstream_0_10.intake import Answers, Intake
from gateway.faces.upstream_0_10.sessions import Sessions, SessionSlot
from gateway.message import Condition, Outcome, Refusal
from gateway.wire.machine import Machine

LEAVE_MS: Final = 500
# What ends a subscription that has been in force; all else is tried again.
FINAL: Final = (
    Condition.NOT_FOUND,
    Condition.RESOURCE_DELETED,
    Condition.UNAUTHORIZED_ACCESS,
    Condition.NOT_IMPLEMENTED,
)

# Plain numbers: they compare at no cost.
_IN_FORCE: Final = int(ReceiverState.IN_FORCE)
_DRAINING: Final = int(ReceiverState.DRAINING)
_LEAVING: Final = int(ReceiverState.LEAVING)
_QUIET: Final = int(ReceiverState.QUIET)


@final
class Receiver:
    """Implements `bridge.remote.remote.Source`, `SessionUser`, `Taker`, `Sleeper`, `CommitWaiter`.

    Its life is `receiver_states.RECEIVER`.
    """

    def __init__(
        self, upstream: DialledContext, sessions: Sessions, answers: Answers, inlet: Inlet
    ) -> None:
        self._upstream = upstream
        self._sessions = sessions
        self._inlet = inlet
        self._queue = upstream.addresses.queue_address(inlet.host, inlet.queue_name)
        self._intake = Intake(upstream, inlet, answers, copies=not inlet.acquire)
        moves_in = inlet.established
        start = ReceiverState.MOVING_IN if moves_in else ReceiverState.ASKING
        self._machine = Machine(RECEIVER, start)
        self._moved = False  # not a state: the inlet has another link
        self._slot: SessionSlot | None = None
        self._consumer = Consumer()
        self._problem = "it does not answer"
        self._refusal: Refusal | None = self._impossible()
        if self._refusal is None:
            self._slot = sessions.add(self)
            settings = upstream.settings
            upstream.wake_in(self, settings.patience_ms if moves_in else settings.attach_timeout_ms)
        else:
            upstream.bridge.wait(self)  # since `Remote.open` must not answer

    def _impossible(self) -> Refusal | None:
        """What such a broker is known not to do."""
        inlet, name = self._inlet, self._upstream.name
        what = ""
        if not self._queue:
            text = f"{inlet.queue_name!r} has no address at upstream {name}"
            return Refusal(Condition.NOT_FOUND, text)
        if inlet.selector:
            what = "select"
        elif inlet.no_local:
            # To the upstream all clients are one connection: it would keep back what others sent.
            what = "tell our clients apart, as no-local needs it"
        elif not inlet.acquire and self._upstream.profile.browse != "copy":
            what = "browse"
        if not what:
            return None
        return Refusal(Condition.NOT_IMPLEMENTED, f"upstream {name} does not {what}")

    def on_committed(self, turn: int) -> None:
        """The turn of `Remote.open` is over: now it may be answered."""
        refusal = self._refusal
        if refusal is not None and not self._left:
            self._refuse(refusal)

    @property
    def _left(self) -> bool:
        return self._machine.state >= _LEAVING

    # As a `Source`.

    def on_published(self, token: int, outcome: Outcome) -> None:
        """The client has settled a delivery, or it has ended otherwise."""
        self._intake.settle(self._consumer.session, token, outcome)
        self.on_credit()
        if self._left:
            self._finish()

    def on_credit(self) -> None:
        """Look at what is wanted at the end of the turn."""
        self._upstream.takers.owe(self)

    def on_moved(self) -> None:
        """The queue lives elsewhere: this goes, once all that came by it has its outcome."""
        self._moved = True
        self.on_left()

    def on_left(self) -> None:
        """The client is gone: cancel, and let what comes late go."""
        if self._left:
            return
        self._machine.send(Input.LEAVE)
        upstream, session = self._upstream, self._consumer.live()
        upstream.unwake(self)
        if session is None or not self._consumer.agreed:
            self._machine.receive(Input.NOTHING_COMES)
        else:
            self._consumer.cancel(session)
            upstream.wake_in(self, LEAVE_MS)
            upstream.touch()
        self._finish()

    def _finish(self) -> None:
        if self._machine.state == _QUIET and self._intake.outstanding == 0:
            self._drop()

    def _drop(self) -> None:
        self._machine.receive(Input.END)  # unless a refusal was the end
        upstream, slot, session = self._upstream, self._slot, self._consumer.live()
        upstream.unwake(self)
        upstream.takers.forget(self)
        if session is not None:
            self._intake.flush(session)
        self._consumer.lose()
        self._slot = None
        if slot is not None:
            slot.drop()

    def outstanding(self) -> int:
        """Deliveries without an outcome."""
        return self._intake.outstanding

    # As a `SessionUser`.

    def on_session(self, session: Session) -> None:
        """Ask for the queue's messages; credit follows when the peer has agreed."""
        self._consumer.subscribe(session, self._queue, acquire=self._inlet.acquire)
        self._upstream.touch()

    def on_completed(self, ranges: Ranges) -> None:
        """The peer has agreed to the subscription, or to its end, or has sent what it had."""
        self._intake.on_completed(ranges)
        consumer = self._consumer
        if consumer.agrees(ranges):
            self._begin()
        if consumer.is_used_up(ranges):
            self._on_no_credit()
        if consumer.is_cancelled(ranges):
            self._machine.receive(Input.NOTHING_COMES)
            self._finish()

    def _begin(self) -> None:
        inlet, upstream = self._inlet, self._upstream
        first = self._machine.state != _IN_FORCE
        flags = AuditFlag.PUBLISHER if inlet.acquire else AuditFlag.PUBLISHER | AuditFlag.COPY
        upstream.note_link(
            inlet.link,
            inlet.node,
            address=self._queue,
            connection=self._sessions.number,
            flags=flags,
        )
        if self._slot is not None:
            self._slot.settle_down()
        self._machine.send(Input.RECV_ATTACH)
        if first:
            upstream.unwake(self)
            inlet.on_attached()
        self.on_credit()

    def _on_no_credit(self) -> None:
        """All has come that was under way: what credit is left was not used."""
        left = self._consumer.empty()
        if self._machine.state == _DRAINING:
            self._machine.receive(Input.DRAINED)
            self._upstream.unwake(self)
            if left > 0:
                self._inlet.on_drained()
                self._upstream.touch()
        self.on_credit()

    def on_result(self, event: ResultReceived) -> None:
        """Nothing is asked."""

    def on_command(self, event: CommandReceived) -> None:
        """One message for the client."""
        command = event.command
        if not isinstance(command, spec.MessageTransfer):
            event.session.complete(event.command_id, event.command_id)
            return
        self._consumer.took()
        if self._left:
            self._intake.let_go(event)
            self.on_credit()
            self._finish()
            return
        taken = self._intake.take(event)
        if taken is not None:
            self._inlet.receive(taken.message, taken.token)
        self.on_credit()

    def on_exception(self, exception: spec.ExecutionException) -> None:
        """The peer does not want the subscription, or not any more."""
        refusal = refusal_of(exception)
        state = self._machine.state
        if state == ReceiverState.MOVING_IN:
            refusal = None  # for a while, until `handle_deadline`
        elif state != ReceiverState.ASKING and refusal is not None:
            refusal = refusal if refusal.condition in FINAL else None
        self._problem = text_of(exception)
        self._upstream.health.note_problem(f"from {self._queue}: {self._problem}")
        self._let_go()
        if refusal is not None and not self._left:
            self._refuse(refusal)
        else:
            self._again()

    def on_ended(self, why: str) -> None:
        """The peer has detached the session."""
        self._problem = why
        self._let_go()
        self._again()

    def on_lost(self) -> None:
        """Nothing is left of it; it is asked for again with the next connection."""
        self._let_go()
        if self._left:
            self._drop()

    def on_room(self) -> None:
        """Nothing waits for it."""

    def _let_go(self) -> None:
        had_session = self._consumer.lose()
        self._intake.lose()
        self._machine.receive(Input.LOSE)
        if had_session and not self._moved:
            self._inlet.lost()

    def _again(self) -> None:
        if self._left:
            self._drop()
        elif self._slot is not None:
            self._slot.retry()

    def _refuse(self, refusal: Refusal) -> None:
        self._machine.send(Input.REFUSE)
        self._drop()
        self._inlet.on_refused(refusal.condition, refusal.description)
        self._upstream.touch()

    def handle_deadline(self, now_ms: int) -> None:
        """No subscription in time, or no answer to its cancellation or to a drain."""
        if self._left:
            self._machine.receive(Input.NOTHING_COMES)
            self._finish()
        elif self._machine.state < _IN_FORCE:
            self._refuse(lasting(self._upstream.name, self._problem))
        elif self._machine.state == _DRAINING:
            problem = f"no answer to a flush of {self._queue!r}"
            self._upstream.health.note_problem(problem)
            self._machine.receive(Input.DRAINED)
            self._inlet.on_drained()

    # Credit and outcomes, at the end of a turn.

    def flush(self) -> None:
        """Say what was settled, and have the credit follow what is wanted."""
        session = self._consumer.live()
        if session is None:
            return
        self._intake.flush(session)
        if self._left or not self._consumer.may_follow():
            return
        wanted = self._intake.allowed(self._inlet.wanted())
        if self._inlet.draining:
            self._drain(session, wanted)
        else:
            self._consumer.follow(session, wanted)

    def _drain(self, session: Session, wanted: int) -> None:
        """Ask for what there is; it may take several rounds, each as large as the credit."""
        if wanted == 0 and self._consumer.credit == 0:
            if not self._inlet.is_handing_over():
                self._inlet.on_drained()
                self._upstream.touch()
            return
        self._machine.send(Input.SEND_DRAIN)
        self._consumer.flush(session, wanted)
        self._upstream.wake_in(self, self._upstream.settings.attach_timeout_ms)

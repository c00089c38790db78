"""The server's face of a 1.0 connection, its sessions, and the end of it.

Owns in which order what came is carried out. How a connection opens is `opening`'s, and a session's
links are `session`'s. Sources: 1.0 parts 2.4 and 5.3.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64 as int64

from gateway.amqp_1_0._spec import DeliveryState, Error, Open, TransactionalState
from gateway.amqp_1_0._spec_conditions import CONNECTION_FORCED, UNAUTHORIZED_ACCESS
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.errors import SaslError
from gateway.amqp_1_0.events import (
    AttachReceived,
    AuthenticationRequested,
    BeginReceived,
    CloseReceived,
    ConnectionLost,
    DeliveryAborted,
    DeliveryDropped,
    DeliveryReceived,
    DetachReceived,
    DispositionReceived,
    EndReceived,
    Event,
    FlowReceived,
    LinkViolation,
    OpenReceived,
    SessionViolation,
    Violation,
    WindowOpened,
)
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.errors import RemoteProtocolError
from gateway.faces.agenda import Agenda
from gateway.faces.client import NO_COMMAND, Client
from gateway.faces.face import (
    STOPS,
    Authenticator,
    Ending,
    FaceSettings,
    Peer,
    PeerStatus,
    Turns,
)
from gateway.faces.leaving import Leaving
from gateway.faces.outcomes import error_of
from gateway.faces.server_1_0.dropped import drop
from gateway.faces.server_1_0.ended import Ended
from gateway.faces.server_1_0.opening import Opening
from gateway.faces.server_1_0.session import ServerSession
from gateway.faces.server_1_0.transactions import Transactions
from gateway.message import Encoding
from gateway.translate.outcomes import lose_words
from gateway.wire.sasl import StepKind
from gateway.wire.work import COMMAND, DELIVERY, SHARE, TRANSFER, WORK


@final
class ServerConnection:
    """Implements `Face`, `AuthenticationWaiter`, `Sessions`, `Slowed`, `Reviewed`, `Contained`."""

    def __init__(
        self,
        bridge: Bridge,
        turns: Turns,
        authenticator: Authenticator,
        peer: Peer,
        settings: FaceSettings,
        now_ms: int,
    ) -> None:
        self.bridge = bridge
        self.authenticator = authenticator
        self.settings = settings
        offered = authenticator.mechanisms()
        self.connection = Connection(
            server=True,
            container_id=settings.container_id,
            limits=settings.limits,
            now_ms=now_ms,
            mechanisms=offered,
            maker=authenticator,
            sasl_required=not settings.anonymous_allowed,
            strict=settings.strict,
        )
        self.connection.read_max = SHARE
        self.client = Client(
            bridge,
            turns,
            peer,
            settings,
            Encoding.AMQP_1_0,
            self.connection.account,
            face=self,
            slowed=self,
            reviewed=self,
        )
        self.client.identity = settings.anonymous_name
        self.client.visit.offered = offered
        self._opening = Opening(self.connection, self.client)
        self.transactions = Transactions(self.client, self)
        self._sessions: list[ServerSession] = []
        self._agenda: Agenda[Event] = Agenda()
        self._leaving: Leaving[ServerSession] = Leaving()
        self._ended = Ended()

    # What the pump calls.

    @property
    def closed(self) -> bool:
        """The transport is to be closed when what is to be sent has been."""
        return self.connection.closed and not self.behind

    @property
    def behind(self) -> bool:
        """Some of what came is to be taken apart or done in later turns, or of its end."""
        return len(self._agenda.waiting) > 0 or self.connection.more or self._leaving.under_way

    @property
    def reading_paused(self) -> bool:
        """Too much of what the client published is held back, or of what it does not read."""
        if self.behind or self.client.unread_too_much() or self.client.doubt.held_too_much():
            return True
        if self.bridge.swamped or self.bridge.unwritten.too_much(self.client.author):
            return True
        held = 0
        for session in self._sessions:
            held += session.links.held_back()
        return held >= self.settings.limits.commands_in_doubt_max

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets from the client, and all that they ask for."""
        self.client.act(now_ms)
        self._take(self.connection.receive_data(data, now_ms))
        self.client.touch()

    def receive_eof(self, now_ms: int) -> None:
        """The transport is over."""
        self.client.act(now_ms)
        self._agenda.ended = True
        if self.connection.more:
            self.client.room.on_full(True)  # nothing more is sent, while the rest is read
            self.connection.on_full(True)
        else:
            self._take(self.connection.receive_eof())
        if not self.behind:
            self._end(Reason.CONNECTION_LOST)
        self._leave()

    def data_to_send(self) -> bytes:
        """Octets for the client."""
        if self.client.on_flushed():
            self.resume()
        if self._may_go_on():
            self._go_on()
        unfinished = self.connection.unfinished
        octets = self.connection.data_to_send()
        self.client.room.on_written(len(octets))
        if unfinished:
            self._write_on(unfinished)
        if self.connection.carrier.shortened:
            lose_words(self.connection.carrier.shortened, self.settings.translated)
            self.connection.carrier.shortened = []
        if not self._agenda.waiting:
            self._ended.let_go()
        return octets

    def _write_on(self, unfinished: int) -> None:
        """Large deliveries go on in the next turn; sessions that have done with theirs, now."""
        left = self.connection.unfinished
        if left < unfinished:
            self.client.room.ease()
            self.resume()
        elif not self.client.room.full:
            self.client.touch()

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""
        return self.connection.next_deadline()

    def handle_deadline(self, now_ms: int) -> None:
        """Empty frames, and peers that are late."""
        self.client.act(now_ms)
        self.client.visit.timed = True
        self._take(self.connection.handle_deadline(now_ms))
        self.client.visit.timed = False
        self.client.touch()

    def heard(self, at_ms: int) -> None:
        """It was not silent then."""
        self.connection.heard(at_ms)

    def doing(self) -> str:
        """What it has been at just now."""
        event = self._agenda.costliest
        return self.client.doing(NO_COMMAND if event is None else type(event).__name__)

    def write_blocked(self, blocked: bool) -> None:
        """The transport is full, or has room again."""
        self.client.room.on_full(blocked)
        self.connection.on_full(blocked)
        if not blocked:
            self.resume()

    def drain(self, now_ms: int) -> None:
        """No new sessions, links, deliveries or credit; what is under way goes on."""
        self.client.draining = True

    def drained(self) -> bool:
        """Nothing is unsettled, and nothing waits to be done or to be confirmed."""
        if self.behind or self.transactions.outstanding():
            return False
        return not any(session.outstanding() for session in self._sessions)

    def owed(self) -> int:
        """Deliveries, and what is in transactions; 0: also where something is under way."""
        if self.behind or self.transactions.under_way():
            return 0
        owed = self.transactions.open_work()
        for session in self._sessions:
            if session.under_way():
                return 0
            owed += session.links.owed()
        return owed

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        """The operator ends the connection: amqp:connection:forced, or unauthorized-access.

        The gateway that stops hangs up: Proton, once it has that close, does not look for the end
        of the transport before it next writes, which may be a minute later.
        """
        self.client.act(now_ms)
        self.client.visit.because(why.reason, why.text)
        while self.behind:  # what was read is not lost
            self._go_on()
        if why is STOPS:
            self.connection.drop()
        else:
            condition = UNAUTHORIZED_ACCESS if why.withdrawn else CONNECTION_FORCED
            self.connection.send_close(error=Error(condition=condition, description=why.text))
        self._end(why.reason)
        while why is STOPS and self.behind:
            self._go_on()
        self.client.touch()

    def status(self) -> PeerStatus | None:
        """Who the client is, once it has opened a virtual host."""
        return None if self._leaving.gone else self.client.status()

    def on_rules_changed(self, now_ms: int) -> None:
        """Other access rules are in force: end what the client may have no longer."""
        if self._leaving.gone:
            return
        refusal = self.client.access.may_stay()
        if refusal is not None:
            self.client.visit.because(Reason.RULES_CHANGED, refusal.description)
            self.connection.send_close(error=error_of(refusal))
            self._end(Reason.NONE)
        else:
            for session in list(self._sessions):
                session.on_rules_changed()
        self.client.touch()

    def make_way(self) -> None:
        """Another connection of its container takes its place."""
        if self._leaving.gone:
            return
        self.client.act(self.bridge.now_ms)
        self._opening.make_way()
        self._end(Reason.NONE)
        self.client.touch()

    # What transactions ask.

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        for session in self._sessions:
            session.resume()
        self.client.touch()

    def is_posting(self, txn_id: bytes) -> bool:
        """Whether a delivery in that transaction has come in part."""
        for session in self._sessions:
            for link in session.session.handles.links.values():
                state = link.incoming.unfinished_state
                if isinstance(state, TransactionalState) and state.txn_id == txn_id:
                    return True
        return False

    def on_doubt(self) -> None:
        """Too much is held back for this client, or so much no more: its credit says so."""
        for session in self._sessions:
            session.links.on_doubt()

    # Events.

    def _may_go_on(self) -> bool:
        """Whether it is time for another share of what waits."""
        if self._leaving.under_way:
            return True
        if not self.behind or self._agenda.ended:
            return self.behind
        unwritten = self.bridge.unwritten
        return not (self.client.unread_too_much() or unwritten.too_much(self.client.author))

    def _take(self, events: list[Event]) -> None:
        if self._agenda.come(events):
            self._carry_out(events)

    def _go_on(self) -> None:
        """Another share of what waits; the turn's end has been, so the rest is of the next one."""
        self.client.act(self.bridge.now_ms)
        self.client.touch()
        if self.connection.more and not self._agenda.waiting:
            self._read_on()
        else:
            self._carry_out(self._agenda.take())
        if self._leaving.under_way:
            self._leaving.go_on(self.client, self._let_go)
        elif self._agenda.ended and not self.behind:
            self._end(Reason.CONNECTION_LOST)
        self._leave()

    def _read_on(self) -> None:
        """What was read is carried out: take more of it apart."""
        self._ended.let_go()
        self._take(self.connection.receive_data(b"", self.bridge.now_ms))
        if self._agenda.ended and not self.connection.more:
            self._take(self.connection.receive_eof())

    def _carry_out(self, events: list[Event]) -> None:
        agenda = self._agenda
        work = WORK
        end = agenda.begin()
        most: int64 = -1
        for done, event in enumerate(events):
            units = work.units
            if units > end:
                agenda.wait(events, done)
                break
            if isinstance(event, DeliveryReceived):
                work.units += TRANSFER
                held = event.link.session.context
                if isinstance(held, ServerSession):
                    held.on_delivery(event)
                else:
                    self._drop(event.link, event.payload, event.message_format, event.state)
            elif isinstance(event, DispositionReceived):
                held = event.session.context
                if isinstance(held, ServerSession):
                    held.on_disposition(event)
            elif isinstance(event, FlowReceived):
                held = event.link.session.context
                if isinstance(held, ServerSession):
                    held.on_flow(event)
            else:
                self._take_rare(event)
            units = work.units - units
            if units > most:
                most = units
                agenda.costliest = event

    def _take_rare(self, event: Event) -> None:
        WORK.units += COMMAND
        if isinstance(event, AttachReceived):
            held = event.link.session.context
            if isinstance(held, ServerSession):
                held.on_attach(event)
        elif isinstance(event, DetachReceived):
            held = event.link.session.context
            if isinstance(held, ServerSession):
                held.on_detach(event)
        elif isinstance(event, DeliveryAborted):
            held = event.link.session.context
            if isinstance(held, ServerSession):
                held.on_aborted(event)
        elif isinstance(event, DeliveryDropped):
            self._drop(event.link, event.payload, event.message_format, event.state)
        elif isinstance(event, WindowOpened):
            held = event.session.context
            if isinstance(held, ServerSession):
                held.resume()
        elif isinstance(event, LinkViolation):
            self.client.on_error(str(event.error), event.link.name)
            held = event.link.session.context
            if isinstance(held, ServerSession):
                held.on_link_failed(event.link, event.refused)
        elif isinstance(event, BeginReceived):
            self._on_begin(event.session)
        elif isinstance(event, EndReceived):
            self._end_session(event.session)
            event.session.send_end()
        elif isinstance(event, SessionViolation):
            self.client.on_error(str(event.error))
            self._end_session(event.session)
        else:
            self._take_connection(event)

    def _take_connection(self, event: Event) -> None:
        if isinstance(event, AuthenticationRequested):
            self._opening.on_credentials(event.credentials)
            self.authenticator.authenticate(event.credentials, self)
        elif isinstance(event, OpenReceived):
            self._on_open(event.open)
        elif isinstance(event, CloseReceived):
            if event.error is not None:
                said = f"by the client: {event.error.condition} {event.error.description or ''}"
                self.client.visit.because(Reason.NONE, said.strip())
            self._end(Reason.NONE)
            self.connection.send_close()
        elif isinstance(event, Violation):
            self._on_violation(event.error)
        elif isinstance(event, ConnectionLost):
            self._end(Reason.CONNECTION_LOST)

    def _drop(
        self, link: Link | None, payload: bytes, message_format: int, state: DeliveryState | None
    ) -> None:
        WORK.units += DELIVERY
        drop(self.client, self.transactions, link, payload, message_format, state)

    # The connection.

    def _on_violation(self, error: RemoteProtocolError) -> None:
        if isinstance(error, SaslError):
            self._opening.on_login_failed(str(error))
        else:
            self.client.on_violation(str(error))
        self._end(Reason.CONNECTION_LOST)

    def on_authenticated(self, identity: str | None, now_ms: int) -> None:
        """The authenticator's answer."""
        if self._leaving.gone or self.connection.closed:
            return
        self.client.act(now_ms)
        step = self.connection.send_verdict(identity is not None, now_ms)
        if step != StepKind.CHALLENGE:
            self.client.on_authenticated(identity if step == StepKind.GRANTED else None)
        self._take(self.connection.receive_data(b"", now_ms))
        self.client.touch()

    def _on_open(self, performative: Open) -> None:
        error = self._opening.on_open(performative, self)
        if error is not None:
            self.connection.send_close(error=error)
            self._end(Reason.NONE)
        elif self.client.draining:
            self.force_close(self.bridge.now_ms)

    def _on_begin(self, session: Session) -> None:
        session.send_begin()
        if self.client.draining:
            session.send_end(error=Error(condition=CONNECTION_FORCED))
            return
        made = ServerSession(self.client, session, self.transactions, self._ended)
        session.context = made
        self._sessions.append(made)
        self.client.on_session_attached(made.audit_name)

    def _end_session(self, session: Session, reason: Reason = Reason.SESSION_ENDED) -> None:
        held = session.context
        if isinstance(held, ServerSession) and held in self._sessions:
            self._sessions.remove(held)
            self._let_go(held, reason)

    def _let_go(self, session: ServerSession, reason: Reason) -> None:
        self.client.on_session_ended()
        session.end(reason)
        self.client.touch()

    def _end(self, reason: Reason) -> None:
        """The connection is over, closed in good order where there is no `reason`."""
        if self._leaving.gone:
            return
        self.authenticator.forget(self)
        self.settings.containers.leave(self._opening.name(), self)
        self.client.draining = True  # nothing is sent to sessions that have not ended yet
        self._leaving.begin(self._sessions, reason)
        self._sessions = []
        self._leaving.go_on(self.client, self._let_go)

    def _leave(self) -> None:
        """Let go of all, once the transport is gone and all that came by it has been done."""
        if self._agenda.ended and not self.behind:
            self._ended.let_go()
            self.transactions.leave()
            self.client.leave()

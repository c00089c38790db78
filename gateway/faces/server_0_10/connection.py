"""The server's face of a 0-10 connection, and the sessions that live on it.

Owns in which order what came is carried out. How a connection opens is `negotiation`'s, which
sessions there are `sessions`', and a session's commands are `session`'s.
Source: 0-10 XML, class connection.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64 as int64

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.errors import ResourceLimitExceededError
from gateway.amqp_0_10.events import (
    AttachReceived,
    CommandReceived,
    CommandsCompleted,
    ConnectionClosed,
    ControlReceived,
    Event,
    HeaderReceived,
    PartReceived,
    SessionEnded,
    TimeoutRequested,
    Violation,
)
from gateway.amqp_0_10.frames import UNBOUNDED
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
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
from gateway.faces.server_0_10.contents.windows import SharedWindows
from gateway.faces.server_0_10.negotiation import Negotiation
from gateway.faces.server_0_10.sessions import Sessions
from gateway.faces.server_0_10.transfers import record_refused
from gateway.message import Encoding
from gateway.wire.work import COMMAND, DELIVERY, SHARE, WORK


@final
class ServerConnection:
    """Implements `Face`, `SessionHolder`, `Slowed`, `Reviewed`."""

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
        self.settings = settings
        self.connection = Connection(Role.SERVER, settings.limits, now_ms)
        self.client = Client(
            bridge,
            turns,
            peer,
            settings,
            Encoding.AMQP_0_10,
            self.connection.account,
            face=self,
            slowed=self,
            reviewed=self,
        )
        self._negotiation = Negotiation(self.connection, self.client, authenticator)
        self._sessions = Sessions(self.client, self.connection)
        self._agenda: Agenda[Event] = Agenda()
        self._answers_max: int64 = settings.limits.answers_max  # that wait to be written
        self._leaving = self._sessions.leaving
        self._cut_off = False  # the transport is over, and some of what came by it is not read
        self._windows = SharedWindows()

    # What the pump calls.

    @property
    def closed(self) -> bool:
        """The transport is to be closed when what is to be sent has been."""
        return self.connection.closed and not self.behind

    @property
    def behind(self) -> bool:
        """Some of what came is to be done in later turns, or of its end."""
        return len(self._agenda.waiting) > 0 or self._leaving.under_way or self._cut_off

    @property
    def reading_paused(self) -> bool:
        """Too much of what the client asked for is not done, or of what it is told not read."""
        if self.behind or self.connection.standing or self.connection.goes_on:
            return True
        if self._unread_too_much() or self.client.doubt.parked_too_much():
            return True
        if self.bridge.swamped or self.bridge.unwritten.too_much(self.client.author):
            return True
        limit = self.settings.limits.commands_in_doubt_max // 2
        return self._sessions.uncompleted() >= limit

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets from the client, and all that they ask for."""
        self.client.act(now_ms)
        self._take(self.connection.receive_data(data, now_ms), now_ms)
        self._read_on(now_ms)

    def _reads_on(self) -> bool:
        """Whether something waited for the answer to an attach, and nothing waits before it."""
        connection = self.connection
        if not connection.goes_on or connection.closed:
            return False
        return not (self._agenda.waiting or self._leaving.under_way)

    def _read_on(self, now_ms: int) -> None:
        """What waited for the answer to an attach: a share of it."""
        end = WORK.units + SHARE
        while self._reads_on():
            if WORK.units > end:
                WORK.cut += 1
                self.client.touch()
                return
            self._take(self.connection.receive_data(b"", now_ms), now_ms)

    def receive_eof(self, now_ms: int) -> None:
        """The transport is over."""
        self.client.act(now_ms)
        self._cut_off = self.connection.goes_on or self.connection.standing
        if self._cut_off:
            self._answers_max = UNBOUNDED  # nobody reads them: nothing waits for that
            self.client.touch()
        else:
            self._end_of_octets(now_ms)

    def _end_of_octets(self, now_ms: int) -> None:
        self._cut_off = False
        self._agenda.ended = True
        self._take(self.connection.receive_eof(), now_ms)
        if not self.behind:
            self._end(Reason.CONNECTION_LOST)
        self._leave()

    def data_to_send(self) -> bytes:
        """Octets for the client."""
        if self.client.on_flushed():
            self.resume()
        self.client.act(self.bridge.now_ms)
        if self._may_go_on():
            self._go_on()
        elif not self.behind:
            self._read_on(self.bridge.now_ms)
        for session in list(self._sessions.living.values()):
            session.carry_out_parked()
        for session in self._sessions.living.values():
            session.answers.flush()
        unfinished = self.connection.unfinished
        octets = self.connection.data_to_send()
        self.client.room.on_written(len(octets))
        if unfinished:
            self._write_on()
        return octets

    def _write_on(self) -> None:
        """Large messages go on in the next turn: till they are done, no others are sent."""
        room = self.client.room
        if not self.connection.unfinished:
            room.ease()
            if self.behind:
                self.client.touch()
            return
        room.left = 0
        if not room.full:
            self.client.touch()

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""
        deadline_ms = self.connection.next_deadline()
        paced_ms = self._windows.paced_ms
        if paced_ms and (deadline_ms is None or paced_ms < deadline_ms):
            return paced_ms
        return deadline_ms

    def handle_deadline(self, now_ms: int) -> None:
        """Heartbeats, and peers that are late."""
        self.client.act(now_ms)
        if 0 < self._windows.paced_ms <= now_ms:
            self._windows.paced_ms = 0
            self.resume()
        self.client.visit.timed = True
        self._take(self.connection.handle_deadline(now_ms), now_ms)
        self.client.visit.timed = False

    def heard(self, at_ms: int) -> None:
        """It was not silent then."""
        self.connection.heard(at_ms)

    def doing(self) -> str:
        """What it has been at just now."""
        event = self._agenda.costliest
        if event is None:
            return self.client.doing(NO_COMMAND)
        done = event.command if isinstance(event, CommandReceived) else event
        return self.client.doing(type(done).__name__)

    def write_blocked(self, blocked: bool) -> None:
        """The transport is full, or has room again."""
        self.client.room.on_full(blocked)
        self.connection.on_full(blocked)
        if self.connection.unfinished:
            self.client.room.left = 0
        if not blocked:
            self.resume()

    def windows(self) -> SharedWindows:
        """See `SessionHolder`."""
        return self._windows

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        self._sessions.resume()
        self.client.touch()

    def drain(self, now_ms: int) -> None:
        """No new sessions; what is under way goes on."""
        self.client.draining = True

    def drained(self) -> bool:
        """Nothing is unsettled, and nothing waits to be done or to be confirmed."""
        if self.behind or self.connection.unfinished:
            return False
        return self._sessions.drained()

    def owed(self) -> int:
        """Deliveries, and octets of transactions; 0: also where something is under way."""
        if self.behind or self.connection.unfinished:
            return 0
        return self._sessions.owed()

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        """The operator ends the connection: close with connection-forced, 320.

        The gateway that stops hangs up, as qpidd does: of 320 qpid.messaging clients that reconnect
        do not, since somebody meant them.
        """
        self.client.act(now_ms)
        self.client.visit.because(why.reason, why.text)
        self._answers_max = UNBOUNDED
        while self.behind or self._reads_on():  # what was read is not lost
            self._go_on()
        self._sessions.keep_nothing()
        if why is STOPS:
            self.connection.drop()
        else:
            self.connection.send_close(spec.CloseCode.CONNECTION_FORCED, why.text, now_ms)
        self._end(why.reason)
        while why is STOPS and self.behind:
            self._go_on()
        self.client.touch()

    def status(self) -> PeerStatus | None:
        """Who the client is, once it has opened a virtual host."""
        return None if self._leaving.gone else self.client.status()

    # What sessions tell.

    def on_doubt(self) -> None:
        """Too much is held back for this client: it is to slow down."""
        for session in self._sessions.living.values():
            session.transfers.stop_producer()

    def on_rules_changed(self, now_ms: int) -> None:
        """Other access rules are in force: end what the client may have no longer."""
        if self._leaving.gone:
            return
        refusal = self.client.access.may_stay()
        if refusal is not None:
            forced = spec.CloseCode.CONNECTION_FORCED
            self.client.visit.because(Reason.RULES_CHANGED, refusal.description)
            self._sessions.keep_nothing()
            self.connection.send_close(forced, refusal.description, now_ms)
            self._end(Reason.NONE)
        else:
            for session in list(self._sessions.living.values()):
                session.on_rules_changed()
        self.client.touch()

    def on_session_over(self, session: Session) -> None:
        """It was ended by an exception, or another transport took its name."""
        ended = self._sessions.of(session)
        if ended is not None:
            self._sessions.end_one(ended)
        self.client.touch()

    def hand_over(self, session: Session) -> None:
        """See `SessionHolder`."""
        self.client.act(self.bridge.now_ms)
        agenda = self._agenda
        waiting = [event for event in agenda.waiting if not _is_of(event, session)]
        mine = [event for event in agenda.waiting if _is_of(event, session)]
        agenda.waiting = waiting
        for event in mine:
            self._carry_out_one(event, self.bridge.now_ms)
        self._sessions.hand_over(session)
        self.client.touch()
        self._leave()

    # Events.

    def _may_go_on(self) -> bool:
        """Whether it is time for another share of what waits."""
        if self._leaving.under_way:
            return True
        if not self.behind or self._agenda.ended or self._cut_off:
            return self.behind
        unwritten = self.bridge.unwritten
        return not (self._unread_too_much() or unwritten.too_much(self.client.author))

    def _unread_too_much(self) -> bool:
        """Too much of what it is answered has not been written, or not been read."""
        behind = self.connection.unread_behind
        return self.client.unread_too_much() or behind >= self._answers_max

    def _take(self, events: list[Event], now_ms: int) -> None:
        if self._agenda.come(events):
            self._carry_out(events, now_ms)

    def _go_on(self) -> None:
        """Another share of what waits; the turn's end has been, so the rest is of the next one."""
        self.client.act(self.bridge.now_ms)
        self.client.touch()
        self._carry_out(self._agenda.take(), self.bridge.now_ms)
        self._read_on(self.bridge.now_ms)
        if self._cut_off and not (self._agenda.waiting or self._reads_on()):
            self._end_of_octets(self.bridge.now_ms)
        if self._leaving.under_way:
            self._sessions.go_on_leaving()
        elif self._agenda.ended and not self.behind:
            self._end(Reason.CONNECTION_LOST)
        self._leave()

    def _carry_out(self, events: list[Event], now_ms: int) -> None:
        agenda = self._agenda
        work = WORK
        end = agenda.begin()
        most: int64 = -1
        connection = self.connection
        answers_max = self._answers_max
        for done, event in enumerate(events):
            units = work.units
            if units > end or connection.unread_behind >= answers_max:
                agenda.wait(events, done)
                break
            self._carry_out_one(event, now_ms)
            units = work.units - units
            if units > most:
                most = units
                agenda.costliest = event

    def _carry_out_one(self, event: Event, now_ms: int) -> None:
        if isinstance(event, CommandReceived):
            session = self._sessions.of(event.session)
            if session is not None:
                session.on_command(event)
            else:
                WORK.units += DELIVERY
                record_refused(self.client, event, Reason.SESSION_ENDED)
        elif isinstance(event, CommandsCompleted):
            session = self._sessions.of(event.session)
            if session is not None:
                session.on_completed(event.ranges)
        elif isinstance(event, PartReceived):
            session = self._sessions.of(event.session)
            if session is not None:
                session.contents.on_part(event)
        else:
            self._take_rare(event, now_ms)

    def _take_rare(self, event: Event, now_ms: int) -> None:
        WORK.units += COMMAND
        if isinstance(event, HeaderReceived):
            self._negotiation.begin()
        elif isinstance(event, ControlReceived):
            if not self._negotiation.go_on(event.control, now_ms):
                self._end(Reason.NONE)
            elif self.client.visit.opened:
                kept = self.settings.kept
                self.connection.channels.resumable = kept.names(self.client.identity)
        elif isinstance(event, AttachReceived):
            self._sessions.attach(event.session, event.force, self)
        elif isinstance(event, TimeoutRequested):
            asking = self._sessions.of(event.session)
            if asking is not None:
                asking.grant(event.timeout_s)
        elif isinstance(event, SessionEnded):
            if event.error is not None:
                self.client.on_error(str(event.error))
            if event.refused is not None:
                limit = isinstance(event.error, ResourceLimitExceededError)
                reason = Reason.OVER_LIMIT if limit else Reason.UNDECODABLE
                record_refused(self.client, event.refused, reason)
            ended = self._sessions.of(event.session)
            if ended is not None:
                self._sessions.end_one(ended)
        elif isinstance(event, Violation):
            self.client.on_violation(str(event.error))
            self._end(Reason.CONNECTION_LOST)
        elif isinstance(event, ConnectionClosed):
            if event.code and (event.text or event.code != spec.CloseCode.NORMAL):
                by = "by the client" if event.by_peer else "by the gateway"
                self.client.visit.because(Reason.NONE, f"{by}: {event.code} {event.text}".strip())
            self._end(Reason.NONE if event.code else Reason.CONNECTION_LOST)

    # Its end.

    def _end(self, reason: Reason) -> None:
        """The connection is over, closed in good order where there is no `reason`."""
        if self._leaving.gone:
            return
        self._negotiation.end()
        self.client.draining = True  # nothing is sent to sessions that have not ended yet
        self._sessions.end(reason)

    def _leave(self) -> None:
        """Let go of all, once the transport is gone and all that came by it has been done."""
        if self._agenda.ended and not self.behind:
            self.client.leave()


def _is_of(event: Event, session: Session) -> bool:
    """Whether an event is of that session."""
    if isinstance(event, CommandReceived | CommandsCompleted | PartReceived):
        return event.session is session
    if isinstance(event, TimeoutRequested | SessionEnded):
        return event.session is session
    return False

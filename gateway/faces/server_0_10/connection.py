"""The server's face of a 0-10 connection: negotiation, and the sessions that live on it.

Owns who the client is and which virtual host it opened; a session's commands are
`session`'s.
Sources: 0-10 XML, classes connection and session. Deployed clients need a federation tag that is a
UUID, and session names that are unique for each user.
"""

from __future__ import annotations

import sys
from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import LIST, STR16
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import (
    AttachReceived,
    CommandReceived,
    CommandsCompleted,
    ConnectionClosed,
    ControlReceived,
    Event,
    HeaderReceived,
    SessionEnded,
    TimeoutRequested,
    Violation,
)
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.types import FieldTable
from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.faces.crossings import Crossings, is_own
from gateway.faces.doubt import Doubt
from gateway.faces.face import Authenticator, FaceSettings, Peer, Turns
from gateway.faces.feature_uses import FeatureUses, client_text
from gateway.faces.features import FEDERATION_PROPERTY, Feature
from gateway.faces.server_0_10.session import ServerSession
from gateway.message import Encoding
from gateway.translate.context import Context
from gateway.wire.sasl import ServerMechanism, Step, StepKind, server_mechanism
from gateway.wire.tagged import Tagged

PROTOCOL: Final = int(Encoding.AMQP_0_10)
LOCALES: Final = ["en_US"]
# Properties by which a client says what it is.
JAVA_MARK: Final = "clientName"
PROCESS: Final = "qpid.client_process"
CLIENT_VERSION: Final = "qpid.client_version"
SESSION_FLOW: Final = "qpid.session_flow"
# What we say that we can do.
FEATURES: Final = "qpid.features"
JMS_SELECTOR: Final = "qpid.jms-selector"


@final
class ServerConnection:
    """Implements `Face`, `AuthenticationWaiter`."""

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
        self.turns = turns
        self.authenticator = authenticator
        self.peer = peer
        self.settings = settings
        self.connection = Connection(Role.SERVER, settings.limits, now_ms)
        self.host: VirtualHost = bridge.default_host
        self.identity = ""
        self.authenticated = False
        self.java = False
        self.session_flow = False  # takes producer flow
        self.uses = FeatureUses(
            bridge, settings.uses, settings.counts, peer.connection_id, peer.address
        )
        self.doubt = Doubt(settings.limits.octets_in_doubt_max)
        self._mechanism: ServerMechanism | None = None
        self._sessions: dict[int, ServerSession] = {}
        self._crossings = Crossings(bridge, settings)
        self._write_blocked = False
        self._touched = False  # since `data_to_send`
        self._draining = False
        self._opened = False
        self._gone = False

    # As a `Face`.

    @property
    def closed(self) -> bool:
        """The transport is to be closed when what is to be sent has been."""
        return self.connection.closed

    @property
    def reading_paused(self) -> bool:
        """Too much of what the client asked for is not done: the last resort."""
        if self.doubt.parked_too_much():
            return True
        limit = self.settings.limits.commands_in_doubt_max // 2
        held = 0
        for session in self._sessions.values():
            held += session.session.uncompleted()
        return held >= limit

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets from the client, and all that they ask for."""
        self.bridge.now_ms = now_ms
        self._take(self.connection.receive_data(data, now_ms), now_ms)

    def receive_eof(self, now_ms: int) -> None:
        """The transport is over."""
        self.bridge.now_ms = now_ms
        self._take(self.connection.receive_eof(), now_ms)
        self._end(Reason.CONNECTION_LOST)

    def data_to_send(self) -> bytes:
        """Octets for the client."""
        self._touched = False
        for session in list(self._sessions.values()):
            session.carry_on()
        for session in self._sessions.values():
            session.transfers.flush()
        return self.connection.data_to_send()

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""
        return self.connection.next_deadline()

    def handle_deadline(self, now_ms: int) -> None:
        """Heartbeats, and peers that are late."""
        self.bridge.now_ms = now_ms
        if self.reading_paused:
            self.connection.unheard(now_ms)
        self._take(self.connection.handle_deadline(now_ms), now_ms)

    def write_blocked(self, blocked: bool) -> None:
        """The transport is full, or has room again."""
        self._write_blocked = blocked
        if not blocked:
            for session in self._sessions.values():
                session.resume()

    def drain(self, now_ms: int) -> None:
        """No new sessions; what is under way goes on."""
        self._draining = True

    def drained(self) -> bool:
        """Nothing is unsettled, and nothing waits to be confirmed."""
        return not any(
            len(session.deliveries.unsettled) or session.uncommitted()
            for session in self._sessions.values()
        )

    def force_close(self, now_ms: int) -> None:
        """The operator ends the connection: close with connection-forced, 320."""
        self.connection.send_close(spec.CloseCode.CONNECTION_FORCED, "the gateway stops", now_ms)
        self._end(Reason.STOPPING)
        self.touch()

    # What sessions ask.

    def touch(self) -> None:
        """There is something to send."""
        if not self._touched:
            self._touched = True
            self.turns.touch(self)

    def has_room(self) -> bool:
        """Whether deliveries may be sent now."""
        return not self._write_blocked and not self._draining

    def on_doubt(self) -> None:
        """Too much is held back for this client: it is to slow down."""
        for session in self._sessions.values():
            session.transfers.stop_producer()

    def may_claim(self, user_id: bytes | None) -> bool:
        """Whether a message may carry this user-id: the user's own, with or without a realm."""
        if not user_id or not self.authenticated:
            return True
        return is_own(user_id, self.identity)

    def context_for(self, host: VirtualHost) -> Context:
        """The context of a translation that happens now."""
        return self._crossings.context(host, java=self.java)

    def on_link(self, *, opened: bool) -> None:
        """A subscription came or went."""
        counts = self.settings.counts
        (counts.links_opened if opened else counts.links_closed)[PROTOCOL] += 1

    def on_session_failed(self, session: ServerSession) -> None:
        """A session was ended by an exception of ours."""
        self._end_session(session, Reason.SESSION_ENDED)
        self.touch()

    # Events.

    def _take(self, events: list[Event], now_ms: int) -> None:
        for event in events:
            if isinstance(event, CommandReceived):
                session = self._of(event.session)
                if session is not None:
                    session.on_command(event)
            elif isinstance(event, CommandsCompleted):
                session = self._of(event.session)
                if session is not None:
                    session.on_completed(event.ranges)
            else:
                self._take_rare(event, now_ms)

    def _of(self, session: Session) -> ServerSession | None:
        """Our side of a session; its channel may have another one by now."""
        found = self._sessions.get(session.channel)
        return found if found is not None and found.session is session else None

    def _take_rare(self, event: Event, now_ms: int) -> None:
        if isinstance(event, HeaderReceived):
            self.connection.send_start(
                self._server_properties(), self.authenticator.mechanisms(), LOCALES
            )
        elif isinstance(event, ControlReceived):
            self._on_control(event, now_ms)
        elif isinstance(event, AttachReceived):
            self._on_attach(event.session, event.force)
        elif isinstance(event, TimeoutRequested):
            event.session.send_timeout(0)  # nothing is kept after a detach
        elif isinstance(event, SessionEnded):
            if event.error is not None:
                self.settings.counts.protocol_errors[PROTOCOL] += 1
            ended = self._of(event.session)
            if ended is not None:
                self._end_session(ended, Reason.SESSION_ENDED)
        elif isinstance(event, Violation):
            self.settings.counts.protocol_errors[PROTOCOL] += 1
            self._end(Reason.CONNECTION_LOST)
        elif isinstance(event, ConnectionClosed):
            self._end(Reason.NONE if event.code else Reason.CONNECTION_LOST)

    # Negotiation.

    def _server_properties(self) -> FieldTable:
        settings = self.settings
        properties: FieldTable = [
            ("product", Tagged(STR16, "amqp-gateway")),
            ("version", Tagged(STR16, settings.version)),
            ("host", Tagged(STR16, settings.container_id)),
            ("platform", Tagged(STR16, sys.platform)),
            ("information", Tagged(STR16, "a gateway between AMQP 0-10 and 1.0")),
            ("qpid.federation_tag", Tagged(STR16, settings.federation_tag)),
            # Without it the Java client sends none, but acquires what it wants one by one.
            (FEATURES, Tagged(LIST, [Tagged(STR16, JMS_SELECTOR)])),
        ]
        return properties

    def _on_control(self, event: ControlReceived, now_ms: int) -> None:
        control = event.control
        if isinstance(control, spec.ConnectionStartOk):
            self._on_start_ok(control, now_ms)
        elif isinstance(control, spec.ConnectionSecureOk):
            mechanism = self._mechanism
            if mechanism is not None:
                self._step(mechanism.respond(control.response or b""), now_ms)
        elif isinstance(control, spec.ConnectionOpen):
            self._on_open(control, now_ms)

    def _on_start_ok(self, start_ok: spec.ConnectionStartOk, now_ms: int) -> None:
        properties = start_ok.client_properties or []
        self.uses.client = _client(properties, self.peer.address)
        for key, value in properties:
            if key == JAVA_MARK:
                self.java = True
            elif key == SESSION_FLOW:
                self.session_flow = bool(value.value)
            elif key == FEDERATION_PROPERTY:
                self.uses.count(Feature.FEDERATION)
        name = start_ok.mechanism or ""
        mechanism = server_mechanism(name) if name in self.authenticator.mechanisms() else None
        if mechanism is None:
            self.settings.counts.authentication_failures[PROTOCOL] += 1
            self.connection.drop()  # without a word, as the XML says
            self._end(Reason.NONE)
            return
        self._mechanism = mechanism
        self._step(mechanism.respond(start_ok.response), now_ms)

    def _step(self, step: Step, now_ms: int) -> None:
        if step.kind == StepKind.CHALLENGE:
            self.connection.send_secure(step.octets)
        elif step.kind == StepKind.VERIFY and step.credentials is not None:
            self.authenticator.authenticate(step.credentials, self)
        elif step.kind == StepKind.GRANTED:
            self.connection.send_tune()
        else:
            self.settings.counts.authentication_failures[PROTOCOL] += 1
            forced = spec.CloseCode.CONNECTION_FORCED
            self.connection.send_close(forced, "authentication failed", now_ms)

    def on_authenticated(self, identity: str | None, now_ms: int) -> None:
        """The authenticator's answer."""
        mechanism = self._mechanism
        if mechanism is None or self._gone or self.connection.closed:
            return
        if identity is not None:
            self.identity = identity
            self.uses.identity = identity
            self.authenticated = identity != self.settings.anonymous_name
        self._step(mechanism.resolve(identity is not None), now_ms)
        self.touch()

    def _on_open(self, command: spec.ConnectionOpen, now_ms: int) -> None:
        if self._draining:
            forced = spec.CloseCode.CONNECTION_FORCED
            self.connection.send_close(forced, "the gateway stops", now_ms)
            return
        name = (command.virtual_host or "").lstrip("/")
        host = self.bridge.hosts.get(name) if name else self.bridge.default_host
        if host is None and len(self.bridge.hosts) == 1:
            host = self.bridge.default_host  # with one virtual host, every name reaches it
        if host is None:
            self.connection.send_close(
                spec.CloseCode.INVALID_PATH, f"there is no virtual host {name}", now_ms
            )
            return
        self.host = host
        self._opened = True
        self.settings.counts.connections_opened[PROTOCOL] += 1
        audit = self.bridge.audit
        audit.connection_opened(
            self.bridge.now_ms,
            self.peer.connection_id,
            protocol=audit.name("AMQP 0-10"),
            peer=audit.name(self.identity),
        )
        self.connection.send_open_ok([])

    # Sessions.

    def _on_attach(self, session: Session, force: bool) -> None:
        if self._draining or len(self._sessions) >= self.settings.limits.sessions_max:
            session.refuse(spec.DetachCode.SESSION_BUSY)
            return
        attached = self.settings.attached
        key = (self.identity, session.name)
        busy = attached.get(key)
        if busy is not None:
            if not force:
                session.refuse(spec.DetachCode.SESSION_BUSY)
                return
            busy.force_off()
        session.accept()
        made = ServerSession(self, session, self.host)
        self._sessions[session.channel] = made
        attached[key] = made
        self.settings.counts.sessions_opened[PROTOCOL] += 1
        self.bridge.audit.session_attached(
            self.bridge.now_ms, self.peer.connection_id, session=made.audit_name
        )

    def forced_off(self, session: ServerSession) -> None:
        """Another transport took the session's name, and said that it may."""
        session.session.force_off(spec.DetachCode.SESSION_BUSY)
        self._end_session(session, Reason.SESSION_ENDED)
        self.touch()

    def _end_session(self, session: ServerSession, reason: Reason) -> None:
        channel = session.session.channel
        if self._sessions.get(channel) is not session:
            return
        del self._sessions[channel]
        attached = self.settings.attached
        key = (self.identity, session.session.name)
        if attached.get(key) is session:
            del attached[key]
        self.settings.counts.sessions_closed[PROTOCOL] += 1
        self.bridge.audit.session_detached(
            self.bridge.now_ms,
            self.peer.connection_id,
            session=session.audit_name,
            reason=reason,
        )
        session.end(reason)
        self.touch()  # what it gave back may go to others in this turn

    def _end(self, reason: Reason) -> None:
        """The connection is over, closed in good order where there is no `reason`."""
        if self._gone:
            return
        self._gone = True
        self.authenticator.forget(self)
        for session in list(self._sessions.values()):
            self._end_session(session, Reason.SESSION_ENDED if reason == Reason.NONE else reason)
        self.uses.end()
        if self._opened:
            self.settings.counts.connections_closed[PROTOCOL] += 1
            self.bridge.audit.connection_closed(
                self.bridge.now_ms, self.peer.connection_id, reason=reason
            )


def _client(properties: FieldTable, host: str) -> str:
    """Who says that it is there."""
    told = {key: value.value for key, value in properties if isinstance(value.value, str)}
    process = told.get(PROCESS) or told.get(JAVA_MARK) or ""
    version = told.get("version") or told.get(CLIENT_VERSION) or ""
    return client_text(process, told.get("product", ""), version, host)

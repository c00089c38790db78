"""The server's face of a 1.0 connection: who the client is, its virtual host, its sessions.

Protocol events come in, bridge verbs go out; a session's links are `session`'s. Sources: 1.0
parts 2.4 and 5.3; which hostname is which virtual host, and the end of a connection.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Error, Open, TransactionalState
from gateway.amqp_1_0._spec_conditions import CONNECTION_FORCED
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.events import (
    AttachReceived,
    AuthenticationRequested,
    BeginReceived,
    CloseReceived,
    ConnectionLost,
    DeliveryAborted,
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
from gateway.amqp_1_0.session import Session
from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.faces.crossings import Crossings, is_own
from gateway.faces.doubt import Doubt
from gateway.faces.face import Authenticator, FaceSettings, Peer, Turns
from gateway.faces.feature_uses import FeatureUses, client_text
from gateway.faces.server_1_0.session import ServerSession10
from gateway.faces.server_1_0.transactions import Transactions10
from gateway.message import Encoding
from gateway.translate.context import Context
from gateway.translate.outcomes import lose_words
from gateway.wire.tagged import Tagged

PROTOCOL: Final = int(Encoding.AMQP_1_0)
CAPABILITIES: Final = ["ANONYMOUS-RELAY"]
VHOST_PREFIX: Final = "vhost:"


@final
class Server10:
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
        self.connection = Connection(
            server=True,
            container_id=settings.container_id,
            limits=settings.limits,
            now_ms=now_ms,
            mechanisms=authenticator.mechanisms(),
            sasl_required=not settings.anonymous_allowed,
            strict=settings.strict,
        )
        self.host: VirtualHost = bridge.default_host
        self.identity = settings.anonymous_name
        self.authenticated = False
        self.container = ""
        self.draining = False
        self.uses = FeatureUses(
            bridge, settings.uses, settings.counts, peer.connection_id, peer.address
        )
        self.doubt = Doubt(settings.limits.octets_in_doubt_max)
        self.transactions = Transactions10(self)
        self._sessions: list[ServerSession10] = []
        self._crossings = Crossings(bridge, settings)
        self._write_blocked = False
        self._touched = False  # since `data_to_send`
        self._opened = False
        self._gone = False

    # As a `Face`.

    @property
    def closed(self) -> bool:
        """The transport is to be closed when what is to be sent has been."""
        return self.connection.closed

    @property
    def reading_paused(self) -> bool:
        """Too much of what the client published is held back: the last resort."""
        if self.doubt.held_too_much():
            return True
        held = 0
        for session in self._sessions:
            held += session.held_back()
        return held >= self.settings.limits.commands_in_doubt_max

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets from the client, and all that they ask for."""
        self.bridge.now_ms = now_ms
        self._take(self.connection.receive_data(data, now_ms))
        self.touch()

    def receive_eof(self, now_ms: int) -> None:
        """The transport is over."""
        self.bridge.now_ms = now_ms
        self._take(self.connection.receive_eof())
        self._end(Reason.CONNECTION_LOST)

    def data_to_send(self) -> bytes:
        """Octets for the client."""
        self._touched = False
        octets = self.connection.data_to_send()
        if self.connection.carrier.shortened:
            lose_words(self.connection.carrier.shortened, self.settings.translated)
            self.connection.carrier.shortened = []
        return octets

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""
        return self.connection.next_deadline()

    def handle_deadline(self, now_ms: int) -> None:
        """Empty frames, and peers that are late."""
        self.bridge.now_ms = now_ms
        if self.reading_paused:
            self.connection.unheard(now_ms)
        self._take(self.connection.handle_deadline(now_ms))
        self.touch()

    def write_blocked(self, blocked: bool) -> None:
        """The transport is full, or has room again."""
        self._write_blocked = blocked
        if not blocked:
            self.resume()

    def drain(self, now_ms: int) -> None:
        """No new sessions, links, deliveries or credit; what is under way goes on."""
        self.draining = True

    def drained(self) -> bool:
        """Nothing is unsettled, and nothing waits to be confirmed."""
        if self.transactions.outstanding():
            return False
        return not any(session.outstanding() for session in self._sessions)

    def force_close(self, now_ms: int) -> None:
        """The operator ends the connection: close with amqp:connection:forced."""
        self.bridge.now_ms = now_ms
        error = Error(condition=CONNECTION_FORCED, description="the gateway stops")
        self.connection.send_close(error=error)
        self._end(Reason.STOPPING)
        self.touch()

    # What sessions ask.

    def touch(self) -> None:
        """There is something to send, or may be."""
        if not self._touched:
            self._touched = True
            self.turns.touch(self)

    def has_room(self) -> bool:
        """Whether deliveries may be sent now."""
        return not self._write_blocked and not self.draining

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        for session in self._sessions:
            session.resume()
        self.touch()

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
            for producer in session.producers.values():
                producer.on_doubt()

    def may_claim(self, user_id: bytes | None) -> bool:
        """Whether a message may carry this user-id: the user's own, with or without a realm."""
        if not user_id or not self.authenticated:
            return True
        return is_own(user_id, self.identity)

    def context_for(self, host: VirtualHost) -> Context:
        """The context of a translation that happens now."""
        return self._crossings.context(host)

    def on_link(self, *, opened: bool) -> None:
        """A link came or went."""
        counts = self.settings.counts
        (counts.links_opened if opened else counts.links_closed)[PROTOCOL] += 1

    # Events.

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, DeliveryReceived):
                held = event.link.session.context
                if isinstance(held, ServerSession10):
                    held.on_delivery(event)
            elif isinstance(event, DispositionReceived):
                held = event.session.context
                if isinstance(held, ServerSession10):
                    held.on_disposition(event)
            elif isinstance(event, FlowReceived):
                held = event.link.session.context
                if isinstance(held, ServerSession10):
                    held.on_flow(event)
            else:
                self._take_rare(event)

    def _take_rare(self, event: Event) -> None:
        if isinstance(event, AttachReceived):
            held = event.link.session.context
            if isinstance(held, ServerSession10):
                held.on_attach(event)
        elif isinstance(event, DetachReceived):
            held = event.link.session.context
            if isinstance(held, ServerSession10):
                held.on_detach(event)
        elif isinstance(event, DeliveryAborted):
            held = event.link.session.context
            if isinstance(held, ServerSession10):
                held.on_aborted(event)
        elif isinstance(event, WindowOpened):
            held = event.session.context
            if isinstance(held, ServerSession10):
                held.resume()
        elif isinstance(event, LinkViolation):
            self._count_violation()
            held = event.link.session.context
            if isinstance(held, ServerSession10):
                held.on_link_failed(event.link)
        elif isinstance(event, BeginReceived):
            self._on_begin(event.session)
        elif isinstance(event, EndReceived):
            self._end_session(event.session)
            event.session.send_end()
        elif isinstance(event, SessionViolation):
            self._count_violation()
            self._end_session(event.session)
        else:
            self._take_connection(event)

    def _take_connection(self, event: Event) -> None:
        if isinstance(event, AuthenticationRequested):
            self.authenticator.authenticate(event.credentials, self)
        elif isinstance(event, OpenReceived):
            self._on_open(event.open)
        elif isinstance(event, CloseReceived):
            self._end(Reason.NONE)
            self.connection.send_close()
        elif isinstance(event, Violation):
            self._count_violation()
            self._end(Reason.CONNECTION_LOST)
        elif isinstance(event, ConnectionLost):
            self._end(Reason.CONNECTION_LOST)

    def _count_violation(self) -> None:
        self.settings.counts.protocol_errors[PROTOCOL] += 1

    # The connection.

    def on_authenticated(self, identity: str | None, now_ms: int) -> None:
        """The authenticator's answer."""
        if self._gone or self.connection.closed:
            return
        self.bridge.now_ms = now_ms
        if identity is None:
            self.settings.counts.authentication_failures[PROTOCOL] += 1
        else:
            self.identity = identity
            self.uses.identity = identity
            self.authenticated = identity != self.settings.anonymous_name
        self.connection.send_verdict(identity is not None)
        self._take(self.connection.receive_data(b"", now_ms))
        self.touch()

    def _host_of(self, hostname: str | None) -> VirtualHost:
        """With one virtual host every name reaches it; an unknown name is the default one."""
        bridge = self.bridge
        name = hostname or self.connection.sasl_hostname or ""
        if name.startswith(VHOST_PREFIX):
            name = name[len(VHOST_PREFIX) :]
        else:
            name = self.settings.hostnames.get(name, "")
        return bridge.hosts.get(name, bridge.default_host)

    def _on_open(self, performative: Open) -> None:
        self.container = performative.container_id
        self.uses.identity = self.identity
        self.uses.client = _client(performative, self.peer.address)
        self.host = self._host_of(performative.hostname)
        self.connection.send_open(
            offered_capabilities=CAPABILITIES,
            properties={
                "product": Tagged(types.STRING, "amqp-gateway"),
                "version": Tagged(types.STRING, self.settings.version),
            },
        )
        self._opened = True
        self.settings.counts.connections_opened[PROTOCOL] += 1
        audit = self.bridge.audit
        audit.connection_opened(
            self.bridge.now_ms,
            self.peer.connection_id,
            protocol=audit.name("AMQP 1.0"),
            peer=audit.name(self.identity),
        )
        if self.draining:
            self.force_close(self.bridge.now_ms)

    def _on_begin(self, session: Session) -> None:
        session.send_begin()
        if self.draining:
            session.send_end(error=Error(condition=CONNECTION_FORCED))
            return
        made = ServerSession10(self, session, self.host)
        session.context = made
        self._sessions.append(made)
        self.settings.counts.sessions_opened[PROTOCOL] += 1
        self.bridge.audit.session_attached(
            self.bridge.now_ms, self.peer.connection_id, session=made.audit_name
        )

    def _end_session(self, session: Session, reason: Reason = Reason.SESSION_ENDED) -> None:
        held = session.context
        if isinstance(held, ServerSession10) and held in self._sessions:
            self._sessions.remove(held)
            self.settings.counts.sessions_closed[PROTOCOL] += 1
            held.end(reason)
            self.touch()

    def _end(self, reason: Reason) -> None:
        """The connection is over, closed in good order where there is no `reason`."""
        if self._gone:
            return
        self._gone = True
        self.authenticator.forget(self)
        for session in list(self._sessions):
            self._end_session(
                session.session, Reason.SESSION_ENDED if reason == Reason.NONE else reason
            )
        self.uses.end()
        if self._opened:
            self.settings.counts.connections_closed[PROTOCOL] += 1
            self.bridge.audit.connection_closed(
                self.bridge.now_ms, self.peer.connection_id, reason=reason
            )


def _client(performative: Open, host: str) -> str:
    """Who says that it is there."""
    told = performative.properties or {}
    texts = {str(key): each.value for key, each in told.items() if isinstance(each.value, str)}
    product, version = texts.get("product", ""), texts.get("version", "")
    return client_text(performative.container_id, product, version, host)

"""One transport to a 0-10 upstream: the connection, as a client, and what its events are for.

A redirect of the connection (connection.redirect) is not followed: it is told to operators, and the
next host of the configuration is tried.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32, STR16
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import (
    Attached,
    CommandReceived,
    CommandsCompleted,
    ConnectionClosed,
    ControlReceived,
    Event,
    ExceptionReceived,
    ResultReceived,
    SessionEnded,
    Tuned,
    Violation,
)
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.types import Control
from gateway.audit.schema import Reason
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.location import Location
from gateway.faces.face import STOPS, Ending, PeerStatus, endpoint
from gateway.faces.room import Room
from gateway.faces.upstream_0_10.sessions import Sessions
from gateway.wire.sasl import ClientMechanism, choose
from gateway.wire.tagged import Tagged

PRODUCT: Final = "amqp-gateway"
# Closes that say nothing of a message.
INNOCENT: Final = (int(spec.CloseCode.NORMAL), int(spec.CloseCode.CONNECTION_FORCED))
LOCALE: Final = "en_US"
# By it a qpidd takes what is published with the user-ids of others; it asks its rules whether we
# may (create link).
FEDERATION: Final = "qpid.fed_link"


class Home(Protocol):
    """Whose connection it is: the upstream."""

    sessions: Sessions

    def on_open(self, connection: UpstreamConnection) -> None:
        """The peer has opened."""

    def on_end(
        self, connection: UpstreamConnection, why: str, *, opened: bool, asked: bool, broken: bool
    ) -> None:
        """The connection is over; `asked`: in good order; `broken`: by the peer."""

    def outstanding(self) -> bool:
        """Whether anything is unsettled, either way."""

    def flush(self) -> None:
        """The turn ends: attach what is wanted, say what was gathered."""


@final
class UpstreamConnection:
    """Implements `Face`.

    Args:
        number: of the connection, in the audit log.

    Attributes:
        room: what is answered to the upstream while it does not read.
    """

    def __init__(
        self, upstream: DialledContext, home: Home, number: int, now_ms: int, location: Location
    ) -> None:
        self.upstream = upstream
        self.home = home
        self.number = number
        self.location = location
        self._opened = False
        self._closing = False
        self._gone = False
        self._problem = ""
        self._mechanism: ClientMechanism | None = None
        settings = upstream.settings
        self.connection = Connection(Role.CLIENT, settings.limits, now_ms)
        account = self.connection.account
        accounts = upstream.faces.accounts
        account.join(accounts.everybody)
        account.join(accounts.upstream(upstream.name))
        self.room = Room(account, accounts, settings.limits, self)

    # As a `Face`.

    @property
    def closed(self) -> bool:
        """The transport is to be closed when what is to be sent has been."""
        return self.connection.closed

    @property
    def reading_paused(self) -> bool:
        """It does not read what it is answered; all else that comes was granted credit."""
        return self.room.unread >= self.upstream.settings.limits.answers_max

    @property
    def behind(self) -> bool:
        """Never: all that comes is done at once."""
        return False

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets from the upstream, and all that they mean."""
        self.upstream.bridge.now_ms = now_ms
        self._take(self.connection.receive_data(data, now_ms))
        self.upstream.turns.touch(self)

    def receive_eof(self, now_ms: int) -> None:
        """The transport is over."""
        self.upstream.bridge.now_ms = now_ms
        self._take(self.connection.receive_eof())
        self._end(self._problem or "the transport was closed", broken=True)
        self.room.leave()

    def data_to_send(self) -> bytes:
        """Octets for the upstream; sessions that are wanted are attached, credit is granted."""
        if self._opened and not self._gone:
            self.home.flush()
        octets = self.connection.data_to_send()
        self.room.on_written(len(octets))
        if self.connection.unfinished and not self.room.full:
            self.touch()
        return octets

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""
        own = self.connection.next_deadline()
        if self._gone:
            return own
        others = self.upstream.sleepers.next_deadline()
        if own is None or others is None:
            return others if own is None else own
        return min(own, others)

    def handle_deadline(self, now_ms: int) -> None:
        """Heartbeats, a peer that is late, sessions to be attached again."""
        self.upstream.bridge.now_ms = now_ms
        self._take(self.connection.handle_deadline(now_ms))
        if not self._gone:
            self.upstream.handle_deadline(now_ms)
        self.upstream.turns.touch(self)

    def heard(self, at_ms: int) -> None:
        """It was not silent then, which does not help it if it does not read."""
        if not self.reading_paused:
            self.connection.heard(at_ms)

    def doing(self) -> str:
        """Whose connection it is."""
        return f"upstream {self.upstream.name}"

    def write_blocked(self, blocked: bool) -> None:
        """The transport is full, or has room again."""
        if self._gone:
            return
        self.room.on_full(blocked)
        self.connection.on_full(blocked)
        sessions = self.home.sessions
        sessions.full = blocked
        if not blocked:
            sessions.on_room()
            self.upstream.turns.touch(self)

    def touch(self) -> None:
        """There is something to send, or may be."""
        self.upstream.turns.touch(self)

    def drain(self, now_ms: int) -> None:
        """No new deliveries, credit or sessions; what is under way goes on."""
        self.upstream.drain()

    def drained(self) -> bool:
        """Nothing is unsettled."""
        return not self.home.outstanding()

    def owed(self) -> int:
        """It has no client."""
        return 0

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        """The gateway stops: close in good order."""
        self.upstream.bridge.now_ms = now_ms
        self._closing = True
        if self.connection.open:
            if not self._gone:
                self.home.flush()
            self.connection.send_close(spec.CloseCode.NORMAL, why.text, now_ms)
        else:
            self.connection.drop()
        self._end(why.text)
        self.upstream.turns.touch(self)

    def status(self) -> PeerStatus | None:
        """No client."""
        return None

    # Events.

    def _take(self, events: list[Event]) -> None:
        sessions = self.home.sessions
        for event in events:
            if isinstance(event, CommandReceived):
                slot = sessions.find(event.session)
                if slot is not None:
                    slot.user.on_command(event)
            elif isinstance(event, CommandsCompleted):
                slot = sessions.find(event.session)
                if slot is not None:
                    slot.user.on_completed(event.ranges)
            elif isinstance(event, ResultReceived):
                slot = sessions.find(event.session)
                if slot is not None:
                    slot.user.on_result(event)
            else:
                self._take_rare(event)

    def _take_rare(self, event: Event) -> None:
        sessions = self.home.sessions
        if isinstance(event, Attached):
            sessions.on_attached(event.session)
        elif isinstance(event, ExceptionReceived):
            sessions.on_exception(event.session, event.exception)
        elif isinstance(event, SessionEnded):
            why = f"it ended a session, code {event.code}"
            sessions.on_ended(event.session, why if event.error is None else str(event.error))
        elif isinstance(event, ControlReceived):
            self._on_control(event.control)
        elif isinstance(event, Tuned):
            self._on_tuned()
        elif isinstance(event, ConnectionClosed):
            text = f"{event.text} ({event.code})" if event.code else event.text
            self._closing = self._closing or event.code == spec.CloseCode.NORMAL
            self._end(text or "the connection was closed", broken=event.code not in INNOCENT)
        elif isinstance(event, Violation):
            self._end(str(event.error))
        self.room.leave()

    def _on_control(self, control: Control) -> None:
        if isinstance(control, spec.ConnectionStart):
            self._on_start(control)
        elif isinstance(control, spec.ConnectionSecure):
            self._on_secure(control.challenge or b"")
        elif isinstance(control, spec.ConnectionOpenOk):
            self._on_open()
        elif isinstance(control, spec.ConnectionRedirect):
            self._give_up(f"it sends us to {control.host!r}, which is not followed")

    def _on_start(self, start: spec.ConnectionStart) -> None:
        able = self.upstream.settings.mechanisms(self.location.secure)
        offered = [str(each) for each in start.mechanisms or []]
        mechanism = choose(offered, able)
        if mechanism is None:
            wanted = ", ".join(each.name() for each in able)
            self._give_up(f"it offers {', '.join(offered)} for the login, not {wanted}")
            return
        self._mechanism = mechanism
        properties = [
            ("product", Tagged(STR16, PRODUCT)),
            ("version", Tagged(STR16, self.upstream.faces.version)),
            ("qpid.client_process", Tagged(STR16, self.upstream.settings.container_id)),
        ]
        if self.upstream.profile.user_id:
            properties.append((FEDERATION, Tagged(INT32, 1)))
        initial = mechanism.initial() or b""
        self.connection.send_start_ok(properties, mechanism.name(), initial, LOCALE)

    def _on_secure(self, challenge: bytes) -> None:
        mechanism = self._mechanism
        if mechanism is None:
            return
        answer = mechanism.respond(challenge)
        derivation = mechanism.derivation()
        if derivation is not None:
            self.upstream.settings.derive(derivation, self._on_derived)
        elif answer is None:
            self._give_up(mechanism.problem() or "the login failed")
        else:
            self.connection.send_secure_ok(answer)

    def _on_derived(self, now_ms: int) -> None:
        """SASL can go on."""
        mechanism = self._mechanism
        if self._gone or self.connection.closed or mechanism is None:
            return
        self.upstream.bridge.now_ms = now_ms
        answer = mechanism.derived()
        if answer is None:
            self._give_up(mechanism.problem() or "the login failed")
        else:
            self.connection.send_secure_ok(answer)
        self.upstream.turns.touch(self)

    def _on_tuned(self) -> None:
        mechanism = self._mechanism
        if mechanism is None or not mechanism.complete(None):
            self._give_up("it did not prove that it knows the user")
            return
        self.connection.send_open(self.upstream.settings.hostname)

    def _give_up(self, problem: str) -> None:
        """There is no going on with this peer."""
        self._problem = problem
        self.connection.drop()
        self._end(problem)

    def _on_open(self) -> None:
        self._opened = True
        upstream = self.upstream
        audit = upstream.bridge.audit
        audit.connection_opened(
            upstream.bridge.now_ms,
            self.number,
            protocol=audit.name("AMQP 0-10"),
            peer=audit.name(upstream.name),
            address=self._address(),
        )
        self.home.on_open(self)

    def _address(self) -> int:
        """The audit log's number of who answered, or else of who was dialled."""
        location = self.location
        text = location.reached or endpoint(location.network_host, location.port)
        return self.upstream.bridge.audit.passing(text) if text else 0

    def _end(self, why: str, *, broken: bool = False) -> None:
        """The connection is over; what was on it hears so, once. `broken`: by the peer."""
        if self._gone:
            return
        self._gone = True
        self.connection.account.close()
        self.room.close()
        upstream = self.upstream
        if self._opened:
            reason = Reason.NONE if self._closing else Reason.CONNECTION_LOST
            upstream.bridge.audit.connection_closed(
                upstream.bridge.now_ms, self.number, reason=reason, address=self._address()
            )
        self.home.on_end(self, why, opened=self._opened, asked=self._closing, broken=broken)

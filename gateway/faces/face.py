"""What every face offers to the pump that drives it, and what it is given.

The pump (package `net`) owns the transport and knows no protocol. It hands over octets, asks for
octets, keeps the one timer that the face asked for, and obeys `reading_paused`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.host import VirtualHost
from gateway.faces.access.book import AccessBook
from gateway.faces.accounts import Accounts
from gateway.faces.containers import Containers
from gateway.faces.counts import FaceCounts
from gateway.faces.dynamic import DynamicNodes
from gateway.faces.feature_uses import UsesBook
from gateway.faces.leaving import KeptSessions
from gateway.faces.visit import Journal, Silence
from gateway.translate.context import Counts, Following
from gateway.translate.replies import ReplyTable
from gateway.wire.dns_names import dns_name
from gateway.wire.limits import Limits
from gateway.wire.places import Elsewhere
from gateway.wire.sasl import Credentials, ServerMechanism


@final
class Ending:
    """Why the gateway ends a connection, for the client and for the audit log.

    Attributes:
        withdrawn: the client may not be here any more, where its protocol can tell that apart.
    """

    __slots__ = ("reason", "text", "withdrawn")

    def __init__(self, text: str, reason: Reason, *, withdrawn: bool = False) -> None:
        self.text = text
        self.reason = reason
        self.withdrawn = withdrawn


STOPS: Final = Ending("the gateway stops", Reason.STOPPING)


@final
@dataclass(init=False, slots=True)
class PeerStatus:
    """What operators are told of a client that has opened its connection.

    Attributes:
        user: "" without a login.
        product: what it says of itself.
        links: of 0-10: subscriptions.
    """

    protocol: str
    user: str
    mechanism: str
    product: str
    virtual_host: str
    sessions: int
    links: int

    def __init__(
        self,
        *,
        protocol: str,
        user: str,
        mechanism: str,
        product: str,
        virtual_host: str,
        sessions: int,
        links: int,
    ) -> None:
        self.protocol = protocol
        self.user = user
        self.mechanism = mechanism
        self.product = product
        self.virtual_host = virtual_host
        self.sessions = sessions
        self.links = links


class Face(Protocol):
    """One connection, seen from the transport."""

    @property
    def closed(self) -> bool:
        """Nothing more will be read or written: the transport is to be closed once flushed."""

    @property
    def reading_paused(self) -> bool:
        """The pump must not read more for now (last resort of back-pressure)."""

    @property
    def behind(self) -> bool:
        """Some of what came is to be done in later turns, as the face is asked for octets."""

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets arrived; what they ask for is done before this returns, or in later turns."""

    def receive_eof(self, now_ms: int) -> None:
        """The peer will send no more, or the transport is lost; releases everything held.

        If the face is `behind`, that is when it is so no more.
        """

    def data_to_send(self) -> bytes:
        """Octets to write, which the face then forgets."""

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called, in gateway ms."""

    def handle_deadline(self, now_ms: int) -> None:
        """The time of `next_deadline` has come."""

    def heard(self, at_ms: int) -> None:
        """The peer was not silent then, though what it sent may not have been read yet."""

    def doing(self) -> str:
        """What it has been at just now, for people: the client, and what it asked for."""

    def write_blocked(self, blocked: bool) -> None:
        """The transport's buffer passed its high-water mark (true) or drained (false)."""

    def drain(self, now_ms: int) -> None:
        """Graceful stop, first half: no new deliveries, no new credit, no new sessions or links."""

    def drained(self) -> bool:
        """Nothing is unsettled, under way or uncommitted any more."""

    def owed(self) -> int:
        """What its client has not settled or discharged, where all else is done; else 0."""

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        """Tell the peer that the connection is forced closed: second half of a graceful stop."""

    def status(self) -> PeerStatus | None:
        """Who the client is; `None`: nobody yet, or no client."""


class Turns(Protocol):
    """The turn that is under way; one for the whole gateway, kept by the service."""

    def touch(self, face: Face) -> None:
        """`face` has, or may have, octets to send: flush it at the end of the turn."""


class AuthenticationWaiter(Protocol):
    """A face that waits for `Authenticator.authenticate`."""

    def on_authenticated(self, identity: str | None, now_ms: int) -> None:
        """The answer: the user's name, or `None` for "no". Never called after `receive_eof`.

        Only when the mechanism has `GRANTED`, too, is the name proved.
        """


class Authenticator(Protocol):
    """Checks credentials, possibly in a thread; the answer comes as a call in a later turn."""

    def mechanisms(self) -> list[str]:
        """The SASL mechanisms offered on this connection, best first."""

    def begin(self, mechanism: str) -> ServerMechanism | None:
        """The server's side of one of them; `None`: it is not among them."""

    def authenticate(self, credentials: Credentials, waiter: AuthenticationWaiter) -> None:
        """Start checking; `waiter` is told. A mechanism may ask more than once."""

    def forget(self, waiter: AuthenticationWaiter) -> None:
        """The connection is gone: do not call `waiter`."""


def _nobody_waits(user: str) -> None:
    """Nobody wants to hear that a connection has opened."""


def _nobody_counts(held: bool) -> None:
    """Nobody measures its time."""


@final
@dataclass(init=False, slots=True)
class Peer:
    """What the net layer knows of a connection before any octet of its protocol.

    Attributes:
        secure: it is inside TLS.
        certificate_name: of the certificate that the client showed and we believe; "": none.
        bindings: what TLS proves of this very connection, by the name of the channel binding.
        entered: to be called when it has opened, with its user's name.
        held: to be called when it has to wait for us before that, and when it has not any more.
    """

    connection_id: int
    address: str
    secure: bool
    certificate_name: str
    port: int
    bindings: dict[str, bytes]
    entered: Callable[[str], None]
    held: Callable[[bool], None]

    def __init__(
        self,
        connection_id: int,
        address: str,
        *,
        secure: bool = False,
        certificate_name: str = "",
        port: int = 0,
        bindings: dict[str, bytes] | None = None,
        entered: Callable[[str], None] | None = None,
        held: Callable[[bool], None] | None = None,
    ) -> None:
        self.connection_id = connection_id
        self.address = address
        self.secure = secure
        self.certificate_name = certificate_name
        self.port = port
        self.bindings = bindings or {}
        self.entered = entered or _nobody_waits
        self.held = held or _nobody_counts

    def endpoint(self) -> str:
        """Address and port, as far as they are known."""
        return endpoint(self.address, self.port)


def endpoint(address: str, port: int) -> str:
    """An address and a port, as one; port 0 is not known."""
    host = f"[{address}]" if ":" in address and port else address
    return f"{host}:{port}" if port else host


class Logins(Protocol):
    """Who there may be beside clients without a login."""

    def has(self, name: str) -> bool:
        """Whether a user may be called so."""


class Attached(Protocol):
    """A 0-10 session that holds its name."""

    def force_off(self) -> None:
        """Another transport takes the name."""


@final
@dataclass(init=False, slots=True)
class FaceSettings:
    """What the configuration says to every server face, as plain values.

    Attributes:
        limits: what one connection may ask for.
        container_id: the name this gateway gives itself in open and server-properties.
        federation_tag: a textual UUID, stable in the life of a data directory.
        version: the product's version.
        admin_address: where the admin API listens; "" before that is known.
        hostnames: 1.0 hostname, as `dns_name` has it -> virtual host name.
        anonymous_name: the identity of connections without authentication.
        anonymous_allowed: whether a 1.0 connection may come without SASL.
        strict: follow the 0-10 XML where deployed clients differ from it.
        counts: shared by all faces.
        access: the rules in force, and whom they are for; shared.
        journal: writes the lines of connections; shared by all faces.
        accounts: what is kept for users, virtual hosts and upstreams; shared by all faces.
        uses: whose uses of what is not offered the audit log does not have yet; shared.
        escrow: whether escrow is sent along with translated messages.
        text_body_value: a 0-10 text body goes to 1.0 as an amqp-value string, not as data.
        timestamp: messages without a time of creation get that of their arrival.
        translated: what all translations count.
        traces: see `translate.context.Context`.
        attached: 0-10 sessions that are attached, by user and name; shared by all faces.
        kept: the 0-10 sessions that outlive their connections; shared by all faces.
        containers: the 1.0 connections by their containers; shared by all faces.
        replies: the reply table of each virtual host, shared by all faces.
        dynamic: the nodes made for 1.0 clients in each virtual host, shared by all faces.
        elsewhere: where else the clients of each virtual host may go, or are sent.
        logins: the names that clients without a login may not claim; `None`: there are none.
    """

    limits: Limits
    container_id: str
    federation_tag: str
    version: str
    admin_address: str
    hostnames: dict[str, str]
    anonymous_name: str
    anonymous_allowed: bool
    strict: bool
    counts: FaceCounts
    access: AccessBook
    journal: Journal
    accounts: Accounts
    uses: UsesBook
    escrow: bool
    text_body_value: bool
    timestamp: bool
    translated: Counts
    traces: Following | None
    attached: dict[tuple[str, bytes], Attached]
    kept: KeptSessions
    containers: Containers
    replies: dict[str, ReplyTable]
    dynamic: dict[str, DynamicNodes]
    elsewhere: dict[str, Elsewhere]
    logins: Logins | None

    def __init__(
        self,
        *,
        limits: Limits,
        container_id: str,
        federation_tag: str,
        version: str,
        hostnames: dict[str, str] | None = None,
        anonymous_name: str = "anonymous",
        anonymous_allowed: bool = True,
        strict: bool = False,
        counts: FaceCounts | None = None,
        journal: Journal | None = None,
        accounts: Accounts | None = None,
        escrow: bool = True,
        text_body_value: bool = False,
        timestamp: bool = False,
    ) -> None:
        self.limits = limits
        self.container_id = container_id
        self.federation_tag = federation_tag
        self.version = version
        self.admin_address = ""
        self.hostnames = {dns_name(each): name for each, name in (hostnames or {}).items()}
        self.anonymous_name = anonymous_name
        self.anonymous_allowed = anonymous_allowed
        self.strict = strict
        self.counts = counts or FaceCounts()
        self.access = AccessBook()
        self.journal: Journal = journal or Silence()
        self.accounts = accounts or Accounts()
        self.uses = UsesBook()
        self.escrow = escrow
        self.text_body_value = text_body_value
        self.timestamp = timestamp
        self.translated = Counts()
        self.traces = None
        self.attached = {}
        self.kept = KeptSessions()
        self.containers = Containers()
        self.replies = {}
        self.dynamic = {}
        self.elsewhere = {}
        self.logins = None

    def dynamic_of(self, host: VirtualHost) -> DynamicNodes:
        """The dynamic nodes of a virtual host."""
        nodes = self.dynamic.get(host.name)
        if nodes is None:
            nodes = DynamicNodes(host)
            self.dynamic[host.name] = nodes
        return nodes

    def replies_of(self, host: str) -> ReplyTable:
        """The reply table of a virtual host."""
        table = self.replies.get(host)
        if table is None:
            table = ReplyTable()
            self.replies[host] = table
        return table

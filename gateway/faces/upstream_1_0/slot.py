"""What a link to an upstream is to the connection that carries it.

A link outlives connections: it has a place at its `Upstream` from `Upstream.add` to
`Upstream.drop`, and is attached again on each new connection, or when `Upstream.retry` says so.
Whoever uses it sees its performatives as calls; the answer to the peer's detach has been written
before `on_detach` is called.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Protocol, final

from gateway.amqp_1_0._spec import DeliveryState, Error
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.outgoing import Outgoing
from gateway.amqp_1_0.session import Session
from gateway.errors import RemoteProtocolError

if TYPE_CHECKING:
    from gateway.faces.upstream_1_0.links import Links


class SlotState(IntEnum):
    """How far a link is."""

    IDLE = 0  # no connection, or an end that its user has not decided about
    BACKING_OFF = 1
    QUEUED = 2  # its session has not begun, or is asked about another link
    ATTACHING = 3
    ATTACHED = 4
    DROPPED = 5


class Sleeper(Protocol):
    """Whoever asked, through `Upstream.wake`, to be called at a time."""

    def handle_deadline(self, now_ms: int) -> None:
        """The time has come; the wish is forgotten."""


class UpstreamLink(Protocol):
    """One sender or receiver of ours at an upstream.

    `attach` comes first, and again after each end. The ends are `on_detach`, `on_failed` and
    `on_lost`: nothing comes of the link behind one of them until it is attached again. After
    `on_detach` and `on_failed` it is for the user to ask for that (`Upstream.retry`) or to leave
    (`Upstream.drop`); after `on_lost` it happens by itself.
    """

    def attach(self, session: Session) -> Link:
        """Make the link with `session.attach(name, role)` and send its attach.

        `Link.context` is the caller's to set. Names are the same each time.
        """

    def on_attach(self, event: AttachReceived) -> None:
        """The peer answered. A refusal (`Link.refused`) is not told here but as `on_detach`."""

    def on_flow(self) -> None:
        """The peer's flow state: credit and drain of a sender, the end of a drain of a receiver."""

    def on_room(self) -> None:
        """Sender: the transport or the session window has room again (`Links.full`).

        Receiver: a delivery of which a part had come will not be: there is room for another.
        """

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Receiver: a whole delivery."""

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """Sender: what the peer says of one delivery; when `settled` it is forgotten already."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """The peer detached, or refused to attach (then `on_attach` was not called)."""

    def on_failed(self, error: RemoteProtocolError) -> None:
        """The peer broke the link's rules or did not answer; it has been detached."""

    def on_lost(self) -> None:
        """The session or the connection is gone, or the peer has redirected the link."""


class Gate(Protocol):
    """Who lets links be attached."""

    def admits(self, slot: LinkSlot) -> bool:
        """Whether `slot` may be attached; if not now, `Links.admit` or an end of it follows."""


@final
class LinkSlot:
    """The place of one link at its upstream; `Link.context` of the link that is attached.

    Attributes:
        user: whose link it is.
        alone: it gets a session of its own, as long as the peer takes that many.
        address: of the node, where it is attached; "" where there is none.
        configured: that address, as the link's user has it: a redirect may tell another.
        stays: it is of use on this connection only: its redirects are not followed.
        links: those of the connection that it belongs to.
        beside: it goes into the session of that link, which was added before.
        state: how far it is.
        held: the session that it is in, from `QUEUED` to `ATTACHED`.
        link: from `ATTACHING` to `ATTACHED`.
        attached_ms: since when it is attached.
        failures: ends in a row; the back-off grows with them. Lasting or `progress` resets it.
        redirects: followed in a row, since it was attached for long or had to wait.
        suspect: a session has ended over it, and it has not lasted since.
    """

    __slots__ = (
        "address",
        "alone",
        "attached_ms",
        "beside",
        "configured",
        "failures",
        "held",
        "link",
        "links",
        "redirects",
        "state",
        "stays",
        "suspect",
        "user",
    )

    def __init__(
        self,
        user: UpstreamLink,
        links: Links,
        *,
        alone: bool,
        address: str = "",
        beside: LinkSlot | None = None,
        stays: bool = False,
    ) -> None:
        self.user = user
        self.address = address
        self.configured = address
        self.links = links
        self.alone = alone
        self.beside = beside
        self.stays = stays
        self.state = SlotState.IDLE
        self.held: SessionUse | None = None
        self.link: Link | None = None
        self.attached_ms = 0
        self.failures = 0
        self.redirects = 0
        self.suspect = False

    @property
    def attached(self) -> bool:
        """The peer has answered with an attach, and has not detached."""
        return self.state == SlotState.ATTACHED

    def ask_anew(self) -> None:
        """What redirects told is forgotten."""
        self.address = self.configured
        self.redirects = 0

    def handle_deadline(self, now_ms: int) -> None:
        """As a `Sleeper`: the back-off is over, or the peer has not answered."""
        self.links.on_slot_deadline(self)


@final
class SessionUse:
    """One session of ours and the links in it; `Session.context`.

    Attributes:
        shared: links of its own kind may join; else it has one link, while there are sessions left.
        waiting: links to be attached when the session has begun, or when `asking` is answered.
        asking: where only one attach may be unanswered, the link that waits for it.
        begun: the peer has answered our begin.
        short: a receiver in it could have used more room than was left.
        suspect: only for links over which a session has ended.
    """

    __slots__ = ("asking", "begun", "session", "shared", "short", "slots", "suspect", "waiting")

    def __init__(self, session: Session, *, shared: bool, suspect: bool) -> None:
        self.session = session
        self.shared = shared
        self.suspect = suspect
        self.slots: dict[LinkSlot, None] = {}
        self.waiting: list[LinkSlot] = []
        self.asking: LinkSlot | None = None
        self.begun = False
        self.short = False

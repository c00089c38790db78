"""What a link to an upstream is to the connection that carries it.

A link outlives connections: it has a place among the `Links` of its upstream from `Links.add` to
`LinkSlot.drop`, and is attached again on each new connection, or when `LinkSlot.retry` says so.
Whoever uses it sees its performatives as calls; the answer to the peer's detach has been written
before `on_detach` is called.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import DeliveryState, Error
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.errors import RemoteProtocolError
from gateway.faces.upstream_1_0 import states
from gateway.faces.upstream_1_0.states import SlotState
from gateway.wire.machine import Machine

_ATTACHED: Final = int(SlotState.ATTACHED)  # a plain number: it compares at no cost


class UpstreamLink(Protocol):
    """One sender or receiver of the gateway's at an upstream.

    `attach` comes first, and again after each end. The ends are `on_detach`, `on_failed` and
    `on_lost`: nothing comes of the link behind one of them until it is attached again. After
    `on_detach` and `on_failed` it is for the user to ask for that (`LinkSlot.retry`) or to leave
    (`LinkSlot.drop`); after `on_lost` it happens by itself.
    """

    def attach(self, session: Session) -> Link:
        """Make the link with `session.attach(name, role)` and send its attach.

        `Link.context` is the caller's to set. Names are the same each time.
        """

    def on_attach(self, event: AttachReceived) -> None:
        """The peer answered. A refusal (`Link.refused`) is told as `on_detach` instead."""

    def on_flow(self) -> None:
        """The peer's flow state: credit and drain of a sender, the end of a drain of a receiver."""

    def on_room(self) -> None:
        """Sender: the transport or the session window has room again (`Transport.full`).

        Receiver: a delivery of which a part had come will not be: there is room for another.
        """

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Receiver: a whole delivery."""

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """Sender: what the peer says of one delivery; when `settled` it is forgotten already."""

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """Receiver: the peer has settled deliveries by this link before we did.

        What it answers to our own settlements is told, too, and of no concern.
        """

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


class Keeper(Protocol):
    """Who keeps the slots of one connection, and does what is asked of them: `Links`."""

    def drop(self, slot: LinkSlot, *, closed: bool = True) -> None:
        """Forget the link; it is detached if it is attached."""

    def retry(self, slot: LinkSlot) -> None:
        """Attach it again after a back-off."""

    def hurry(self, slot: LinkSlot) -> None:
        """Attach it now, if it backs off."""

    def give_up(self, slot: LinkSlot, error: RemoteProtocolError) -> None:
        """End it, though the peer has not."""

    def on_slot_deadline(self, slot: LinkSlot) -> None:
        """The back-off is over, or the peer has not answered."""


@final
class Transport:
    """The connection that carries links, as far as they care.

    Attributes:
        number: of the connection, in the audit log; 0: there is none.
        full: the transport is above its high-water mark.
    """

    __slots__ = ("full", "number")

    def __init__(self) -> None:
        self.number = 0
        self.full = False


@final
class LinkSlot:
    """What keeps one link to its upstream; `Link.context` of the link that is attached.

    Attributes:
        user: whose link it is.
        alone: it gets a session of its own, as long as the peer takes that many.
        address: of the node, where it is attached; "" where there is none.
        configured: that address, as the link's user has it: a redirect may tell another.
        stays: it is of use on this connection only: its redirects are not followed.
        links: those of the connection that it belongs to.
        transport: of the connection that it belongs to.
        beside: it goes into the session of that link, which was added before.
        machine: how far it is (`states.SLOT`).
        held: the session that it is in, from `QUEUED` to `ATTACHED`.
        link: from `ATTACHING` to `ATTACHED`.
        attached_ms: since when it is attached.
        failures: ends in a row; the back-off grows with them. Lasting resets it.
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
        "machine",
        "redirects",
        "stays",
        "suspect",
        "transport",
        "user",
    )

    def __init__(
        self,
        user: UpstreamLink,
        links: Keeper,
        transport: Transport,
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
        self.transport = transport
        self.alone = alone
        self.beside = beside
        self.stays = stays
        self.machine = Machine(states.SLOT, SlotState.IDLE)
        self.held: SessionUse | None = None
        self.link: Link | None = None
        self.attached_ms = 0
        self.failures = 0
        self.redirects = 0
        self.suspect = False

    # What the link's user asks.

    def drop(self, *, closed: bool = True) -> None:
        """Forget the link; it is detached if it is attached. Its user is not called."""
        self.links.drop(self, closed=closed)

    def retry(self) -> None:
        """Attach again after a back-off, by the upstream's own connection.

        For `on_detach` and `on_failed`.
        """
        self.links.retry(self)

    def hurry(self) -> None:
        """Attach now, if it backs off."""
        self.links.hurry(self)

    def give_up(self, error: RemoteProtocolError) -> None:
        """The peer does not answer on the attached link: it ends, and `on_failed` follows."""
        self.links.give_up(self, error)

    def room(self, holding: int) -> int:
        """How much credit a receiver that holds so many deliveries may give."""
        use = self.held
        return 0 if use is None else use.room(self, holding)

    def freed(self) -> None:
        """A receiver holds less: there may be room for those that share its session."""
        use = self.held
        if use is not None and use.short:
            use.tell_room(self)

    # What its connection asks.

    @property
    def attached(self) -> bool:
        """The peer has answered with an attach, and has not detached."""
        return self.machine.state == _ATTACHED

    def ask_anew(self) -> None:
        """What redirects told is forgotten."""
        self.address = self.configured
        self.redirects = 0

    def handle_deadline(self, now_ms: int) -> None:
        """The back-off is over, or the peer has not answered."""
        self.links.on_slot_deadline(self)


@final
class SessionUse:
    """One session of the gateway's and the links in it; `Session.context`.

    Attributes:
        shared: links of its own kind may join; else it has one link, while there are sessions left.
        waiting: links to be attached when the session has begun, or when `asking` is answered.
        asking: where only one attach may be unanswered, the link that waits for it.
        begun: the peer has answered our begin.
        short: a receiver in it could have used more room than was left.
        suspect: only for links over which a session has ended.
        ended: by us, since no link was left.
    """

    __slots__ = (
        "_unsettled_max",
        "asking",
        "begun",
        "ended",
        "session",
        "shared",
        "short",
        "slots",
        "suspect",
        "waiting",
    )

    def __init__(
        self, session: Session, unsettled_max: int, *, shared: bool, suspect: bool
    ) -> None:
        self.session = session
        self._unsettled_max = unsettled_max
        self.shared = shared
        self.suspect = suspect
        self.slots: dict[LinkSlot, None] = {}
        self.waiting: list[LinkSlot] = []
        self.asking: LinkSlot | None = None
        self.begun = False
        self.ended = False
        self.short = False

    def has_room(self) -> bool:
        """Whether the peer takes one more link in it, as far as is known."""
        begin = self.session.begin
        return begin is None or begin.handle_max is None or len(self.slots) <= begin.handle_max

    def receivers(self) -> list[LinkSlot]:
        """Its attached links by which the peer sends."""
        return [
            slot
            for slot in self.slots
            if slot.attached and slot.link is not None and slot.link.role
        ]

    def room(self, slot: LinkSlot, holding: int) -> int:
        """How much credit a receiver that holds so many deliveries may give.

        Those that share a session have equal parts of half of what it may hold, so that none can
        starve another; the other half is for what is under way when parts become smaller.
        """
        limit = self._unsettled_max
        free = limit - len(self.session.unsettled_in)
        others = [other for other in self.receivers() if other is not slot]
        if not others:
            return max(0, free)
        for other in others:
            if other.link is not None:
                free -= other.link.credit
        part = max(1, limit // 2 // (len(others) + 1)) - holding
        if free < part:
            self.short = True
        return max(0, min(part, free))

    def tell_room(self, slot: LinkSlot | None) -> None:
        """Its receivers, but for `slot`, may be given another part now."""
        self.short = False
        for other in self.receivers():
            if other is not slot:
                other.user.on_room()

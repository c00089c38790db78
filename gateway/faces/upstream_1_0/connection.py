"""The client's face of a 1.0 connection: one transport to an upstream, from SASL to close.

It opens, and passes what the peer says of sessions and links to the upstream's `Links`, which
outlive it. What the peer begins or attaches is refused.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Error, Open, Target
from gateway.amqp_1_0._spec_conditions import NOT_ALLOWED
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.events import (
    AttachReceived,
    BeginReceived,
    CloseReceived,
    ConnectionLost,
    DeliveryAborted,
    DeliveryReceived,
    DerivationRequested,
    DetachReceived,
    DispositionReceived,
    EndReceived,
    Event,
    FlowReceived,
    LinkViolation,
    OpenReceived,
    SenderDispositionReceived,
    SessionViolation,
    Violation,
    WindowOpened,
)
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.redirects import Redirect, redirect_of
from gateway.audit.schema import Reason
from gateway.errors import RemoteProtocolError
from gateway.faces.containers import SOLE
from gateway.faces.dialled.location import Location
from gateway.faces.face import STOPS, Ending, PeerStatus, endpoint
from gateway.faces.room import Room
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import accuses, is_idle_detach, is_taken, note, text_of
from gateway.faces.upstream_1_0.links import Links, slot_of
from gateway.faces.upstream_1_0.slot import LinkSlot, SessionUse
from gateway.translate.outcomes import lose_words
from gateway.wire.tagged import Tagged

PRODUCT: Final = "amqp-gateway"


class Home(Protocol):
    """Whose connection it is: the upstream's own, or a detour of its."""

    links: Links

    @property
    def title(self) -> str:
        """Of the connection, in the audit log."""

    def on_open(self, connection: UpstreamConnection) -> None:
        """The peer has opened."""

    def on_end(
        self, connection: UpstreamConnection, why: str, *, opened: bool, asked: bool, broken: bool
    ) -> None:
        """The connection is over; `asked`: in good order; `broken`: by the peer."""

    def on_redirect(self, redirect: Redirect | None) -> None:
        """The peer closes, and says where to go."""

    def redirects(
        self, slot: LinkSlot, error: Error | None, connection: UpstreamConnection
    ) -> bool:
        """Whether a link's end is a redirect; if so, the link has gone where it says."""

    def outstanding(self) -> bool:
        """Whether anything is unsettled, either way, by any connection to the upstream."""

    def flush(self) -> None:
        """The turn ends: attach what is due, give credit."""


@final
class UpstreamConnection:
    """Implements `Face`.

    Args:
        number: of the connection, in the audit log.

    Attributes:
        home: whose connection it is.
        location: where it leads; with the hostname of our open.
        room: what is answered to the upstream while it does not read.
    """

    def __init__(
        self, upstream: UpstreamContext, home: Home, number: int, now_ms: int, location: Location
    ) -> None:
        self.upstream = upstream
        self.home = home
        self.number = number
        self.location = location
        self._opened = False
        self._closing = False
        self._gone = False
        settings = upstream.settings
        named = location.hostname or None
        self.connection = Connection(
            server=False,
            container_id=settings.container_id,
            limits=settings.limits,
            now_ms=now_ms,
            able=settings.mechanisms(location.secure),
            hostname=named,
        )
        self.connection.send_open(
            hostname=named,
            desired_capabilities=[SOLE] if settings.group else None,
            properties={
                "product": Tagged(types.STRING, PRODUCT),
                "version": Tagged(types.STRING, upstream.faces.version),
            },
        )
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
        """It does not read what it is answered; all else that comes was granted credit.

        If that goes on for as long as it may be silent, it is given up.
        """
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
        self.upstream.unheard.on_close(self.connection.carrier, answer=False)
        self._end("the transport was closed", broken=True)
        self.room.leave()

    def data_to_send(self) -> bytes:
        """Octets for the upstream; links that are due are attached, credit is granted."""
        if self._opened and not self._gone:
            self.home.flush()
        unfinished = self.connection.unfinished
        octets = self.connection.data_to_send()
        self.room.on_written(len(octets))
        if unfinished:
            self._write_on(unfinished)
        if self.connection.carrier.shortened:
            lose_words(self.connection.carrier.shortened, self.upstream.faces.translated)
            self.connection.carrier.shortened = []
        return octets

    def _write_on(self, unfinished: int) -> None:
        """Large deliveries go on in the next turn; links behind those that are done, too."""
        if self.connection.unfinished < unfinished and not self._gone:
            self.room.ease()
            self.home.links.on_room()
        if not self.room.full:
            self.touch()

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
        """Empty frames, a peer that is late, links to be attached again."""
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
        links = self.home.links
        links.transport.full = blocked
        if not blocked:
            links.on_room()
            self.upstream.turns.touch(self)

    def touch(self) -> None:
        """There is something to send, or may be."""
        self.upstream.turns.touch(self)

    def drain(self, now_ms: int) -> None:
        """No new deliveries, credit or links; what is under way goes on."""
        self.upstream.drain()

    def drained(self) -> bool:
        """Nothing is unsettled."""
        return not self.home.outstanding()

    def owed(self) -> int:
        """It has no client."""
        return 0

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        """The gateway stops: close in good order."""
        self.close(now_ms, why.text)

    def status(self) -> PeerStatus | None:
        """No client."""
        return None

    def close(self, now_ms: int, why: str) -> None:
        """Close in good order."""
        self.upstream.bridge.now_ms = now_ms
        self._closing = True
        self.connection.send_close()
        self._end(why)
        self.upstream.turns.touch(self)

    # Events.

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, DeliveryReceived):
                slot = slot_of(event.link)
                if slot is not None:
                    slot.user.on_delivery(event)
            elif isinstance(event, DispositionReceived):
                for delivery in event.deliveries:
                    slot = slot_of(delivery.link)
                    if slot is not None:
                        slot.user.on_disposition(delivery, event.state, event.settled)
            elif isinstance(event, FlowReceived):
                slot = slot_of(event.link)
                if slot is not None:
                    slot.user.on_flow()
            else:
                self._take_rare(event)

    def _take_rare(self, event: Event) -> None:
        links = self.home.links
        if isinstance(event, AttachReceived):
            self._on_attach(event)
        elif isinstance(event, DetachReceived):
            self._on_detach(event)
        elif isinstance(event, LinkViolation):
            self._note(event.error)
            slot = slot_of(event.link)
            if slot is not None:
                links.on_failed(slot, event.error)
        elif isinstance(event, DeliveryAborted):
            slot = slot_of(event.link)
            if slot is not None:
                slot.user.on_room()
        elif isinstance(event, SenderDispositionReceived):
            if event.settled:
                self._tell_settled(event)
        elif isinstance(event, WindowOpened):
            use = event.session.context
            if isinstance(use, SessionUse):
                for slot in list(use.slots):
                    slot.user.on_room()
        elif isinstance(event, BeginReceived):
            if event.answer:
                links.on_begun(event.session)
            else:
                event.session.refuse(Error(condition=NOT_ALLOWED))
        elif isinstance(event, EndReceived):
            event.session.send_end()
            use = event.session.context
            answer = isinstance(use, SessionUse) and use.ended and event.error is None
            self.upstream.unheard.on_end(event.session, answer=answer)
            note(self.upstream.health, event.error)
            links.on_ended(event.session, event.error, None)
        elif isinstance(event, SessionViolation):
            self._note(event.error)
            self.upstream.unheard.on_end(event.session, answer=False)
            links.on_ended(event.session, None, event.error)
        else:
            self._take_connection(event)

    def _tell_settled(self, event: SenderDispositionReceived) -> None:
        """The peer has settled what it sent to us, before we did."""
        for link in dict.fromkeys(event.links):
            slot = slot_of(link)
            if slot is not None:
                named = zip(event.delivery_ids, event.links, strict=True)
                mine = {number for number, owner in named if owner is link}
                slot.user.on_settled(mine, event.state)

    def _on_attach(self, event: AttachReceived) -> None:
        link = event.link
        if not event.answer:
            link.refuse(Error(condition=NOT_ALLOWED))
            return
        slot = slot_of(link)
        if slot is not None and not link.refused:
            self.home.links.on_attached(slot, event)

    def _on_detach(self, event: DetachReceived) -> None:
        detach = event.detach
        # In kind: to close what was only detached would end a durable subscription (2.6.6).
        event.link.send_detach(closed=detach.closed is True)
        self.upstream.unheard.on_detach(event.link, detach.error)
        slot = slot_of(event.link)
        if slot is None or self.home.redirects(slot, detach.error, self):
            return
        if not is_idle_detach(detach.error):
            note(self.upstream.health, detach.error, _in_words(event.link))
        self.home.links.on_detached(slot, detach.error, detach.closed is True)

    def _on_derived(self, now_ms: int) -> None:
        """SASL can go on."""
        if self._gone or self.connection.closed:
            return
        self.upstream.bridge.now_ms = now_ms
        self.connection.send_derived()
        self._take(self.connection.receive_data(b"", now_ms))
        self.upstream.turns.touch(self)

    def _take_connection(self, event: Event) -> None:
        if isinstance(event, OpenReceived):
            self._on_open(event.open)
        elif isinstance(event, DerivationRequested):
            self.upstream.settings.derive(event.derivation, self._on_derived)
        elif isinstance(event, CloseReceived):
            answer = self._gone and self._closing and event.error is None
            self.upstream.unheard.on_close(self.connection.carrier, answer=answer)
            self._closing = self._closing or event.error is None
            self.home.on_redirect(redirect_of(event.error))
            self.connection.send_close()
            if is_taken(event.error):
                self._end(self._told_taken())
            else:
                self._end(text_of(event.error), broken=accuses(event.error))
        elif isinstance(event, Violation):
            self.upstream.unheard.on_close(self.connection.carrier, answer=False)
            self._end(str(event.error))
        elif isinstance(event, ConnectionLost):
            self._end("the transport was closed", broken=True)
        self.room.leave()

    def _told_taken(self) -> str:
        """For operators: they have called two gateways, or two groups, by one name."""
        return (
            f"somebody else is connected there as {self.upstream.settings.container_id!r}: another"
            " group of that name, or a connection of ours that the upstream has not missed yet"
        )

    def _note(self, error: RemoteProtocolError) -> None:
        self.upstream.health.note_problem(str(error))

    def _on_open(self, performative: Open) -> None:
        self._opened = True
        upstream = self.upstream
        audit = upstream.bridge.audit
        audit.connection_opened(
            upstream.bridge.now_ms,
            self.number,
            protocol=audit.name("AMQP 1.0"),
            peer=audit.name(self.home.title),
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


def _in_words(link: Link) -> str:
    """A link as operators know it: by the node that it leads to, else by its name."""
    attach = link.attach
    if attach is None:
        return link.name
    if link.role:
        source = attach.source
        address = "" if source is None else source.address
        return f"from {address}" if address else link.name
    target = attach.target
    address = target.address if isinstance(target, Target) else ""
    return f"to {address}" if address else link.name

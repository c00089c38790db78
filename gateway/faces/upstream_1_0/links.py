"""All links of one connection: who hears of each, and when it is attached again.

On which session each is says `sessions`. Where the peer is known to end sessions for the error of a
link, one attach at a time is left unanswered in each session, so that it is known whose the error
is. The others are attached again, as after any end, with a back-off that doubles.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0._spec import Error
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.events import AttachReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.bridge.bridge import Bridge
from gateway.errors import RemoteProtocolError
from gateway.faces.dialled.settings import UpstreamCounts, UpstreamSettings
from gateway.faces.dialled.sleepers import Sleepers
from gateway.faces.dialled.transports import Transports
from gateway.faces.upstream_1_0.errors import TooSmallError
from gateway.faces.upstream_1_0.sessions import Sessions
from gateway.faces.upstream_1_0.slot import (
    Gate,
    LinkSlot,
    SessionUse,
    Transport,
    UpstreamLink,
)
from gateway.faces.upstream_1_0.states import SlotInput, SlotState

# The peer has not answered yet, or has not even been asked.
WITHOUT_ANSWER: Final = (SlotState.QUEUED, SlotState.ATTACHING)


@final
class Links:
    """Those of an upstream's own connection, or of a detour; they outlive it.

    Implements `slot.Keeper`.

    Attributes:
        one_at_a_time: the peer ends sessions for the errors of links.
        home: of a detour's: those of the upstream's own connection, to which they go back.
        transport: of the connection.
        slots: every link that has not been dropped.
        gate: who is asked before a link is attached.
    """

    def __init__(
        self,
        bridge: Bridge,
        settings: UpstreamSettings,
        counts: UpstreamCounts,
        sleepers: Sleepers,
        transports: Transports,
        *,
        one_at_a_time: bool,
        home: Links | None = None,
    ) -> None:
        self.bridge = bridge
        self.settings = settings
        self.counts = counts
        self.sleepers = sleepers
        self.transports = transports
        self.one_at_a_time = one_at_a_time
        self.home = home
        self.transport = Transport()
        self.slots: dict[LinkSlot, None] = {}
        self.gate: Gate | None = None
        self._sessions = Sessions(settings.limits, one_at_a_time=one_at_a_time)
        self._due: list[LinkSlot] = []
        self._placed = 0

    def another(self) -> Links:
        """None yet: for another connection to the same upstream."""
        return Links(
            self.bridge,
            self.settings,
            self.counts,
            self.sleepers,
            self.transports,
            one_at_a_time=self.one_at_a_time,
            home=self,
        )

    # What the users of links ask, of the slots that they have, too.

    def add(
        self,
        user: UpstreamLink,
        *,
        alone: bool = False,
        address: str = "",
        beside: LinkSlot | None = None,
        stays: bool = False,
    ) -> LinkSlot:
        """A place for a link, attached when the turn ends or the next connection is open.

        `alone`: it gets a session of its own, since it may be refused or be slow. `address`: of the
        node, unless a redirect tells another: the slot's is the one to attach to. `beside`: it has
        to be in the session of that link. `stays`: it is of no use on another connection.
        """
        slot = LinkSlot(
            user,
            self,
            self.transport,
            alone=alone or self.one_at_a_time,
            address=address,
            beside=beside,
            stays=stays,
        )
        self.slots[slot] = None
        self._due.append(slot)
        self.transports.touch()
        return slot

    def drop(self, slot: LinkSlot, *, closed: bool = True) -> None:
        """Forget a link, and detach it if it is attached; its user is not called any more."""
        self.transports.touch()
        if slot not in self.slots:
            return
        del self.slots[slot]
        self.sleepers.unwake(slot)
        link = slot.link
        if link is not None:
            link.send_detach(closed=closed)
        self._leave(slot)
        slot.machine.send(SlotInput.DROP)

    def retry(self, slot: LinkSlot) -> None:
        """Attach again after the back-off, where it was added: redirects are asked for anew."""
        slot.ask_anew()
        home = self.home
        if home is None or slot.stays:
            self._back_off(slot)
        else:
            self.hand_over(slot, home)
            home._back_off(slot)

    def _back_off(self, slot: LinkSlot) -> None:
        if slot.machine.receive(SlotInput.BACK_OFF):
            slot.failures += 1
            wait_ms = self.settings.back_off_ms(slot.failures)
            self.sleepers.wake(slot, self.bridge.now_ms + wait_ms)

    def hurry(self, slot: LinkSlot) -> None:
        """Attach it now, if it backs off."""
        if slot.machine.receive(SlotInput.DUE):
            self.sleepers.unwake(slot)
            self._due.append(slot)
        self.transports.touch()

    def hand_over(self, slot: LinkSlot, other: Links) -> None:
        """The link, which is in no session, belongs to another connection from now on."""
        del self.slots[slot]
        slot.links = other
        slot.transport = other.transport
        other.slots[slot] = None
        other.admit([slot])

    def on_slot_deadline(self, slot: LinkSlot) -> None:
        """The time that `slot` waited for has come."""
        if slot.machine.receive(SlotInput.DUE):
            self._due.append(slot)
        elif slot.machine.state in WITHOUT_ANSWER:
            link = slot.link
            if link is not None:
                link.send_detach(closed=True)
            self._leave(slot)
            slot.user.on_failed(RemoteProtocolError("no answer to our attach"))

    # The connection's life.

    def open(self, connection: Connection, number: int) -> None:
        """The peer's open has come."""
        self._sessions.connection = connection
        self.transport.number = number
        self._due = [slot for slot in self.slots if slot.machine.state == SlotState.IDLE]

    def lose(self) -> None:
        """The connection is gone: every link that was on it hears so."""
        self.transport.number = 0
        self.transport.full = False
        for use in self._sessions.lose():
            for slot in list(use.slots):
                self._let_go(slot)
                slot.user.on_lost()

    def flush(self) -> None:
        """Attach what is due."""
        if self._sessions.connection is None:
            return
        while self._due:
            due = self._due
            self._due = []
            for slot in due:
                if self._may_place(slot):
                    self._place(slot)

    def _may_place(self, slot: LinkSlot) -> bool:
        idle = slot.machine.allows(SlotInput.PLACE) and slot in self.slots
        return idle and (self.gate is None or self.gate.admits(slot))

    def admit(self, slots: list[LinkSlot]) -> None:
        """The gate is open for these."""
        self._due += slots

    def on_room(self) -> None:
        """The transport has room again."""
        for slot in list(self.slots):
            if slot.attached:
                slot.user.on_room()

    # Sessions.

    def _place(self, slot: LinkSlot) -> None:
        use: SessionUse | None = None
        if self._placed < self.settings.limits.links_max:
            use = self._sessions.use_for(slot)
        if use is None:
            self._back_off(slot)
            return
        slot.held = use
        slot.machine.send(SlotInput.PLACE)
        self._placed += 1
        use.slots[slot] = None
        use.waiting.append(slot)
        self.sleepers.wake(slot, self.bridge.now_ms + self.settings.attach_timeout_ms)
        self._advance(use)

    def _advance(self, use: SessionUse) -> None:
        while use.begun and use.waiting and use.asking is None:
            slot = use.waiting.pop(0)
            if not use.session.can_attach:
                self._let_go(slot)
                self._back_off(slot)
                continue
            if self.one_at_a_time:
                use.asking = slot
            slot.machine.send(SlotInput.SEND_ATTACH)
            link = slot.user.attach(use.session)
            link.context = slot
            slot.link = link
            if link.dead:
                self.on_failed(slot, TooSmallError("its frames are too small for our attach"))

    def on_begun(self, session: Session) -> None:
        """The peer has answered our begin."""
        use = session.context
        if isinstance(use, SessionUse):
            use.begun = True
            self._advance(use)

    def on_ended(
        self, session: Session, error: Error | None, failure: RemoteProtocolError | None
    ) -> None:
        """The peer ended a session, or broke its rules (`failure`)."""
        use = session.context
        session.context = None  # neither is held by the other any more
        if not isinstance(use, SessionUse) or use not in self._sessions.uses:
            return
        self._sessions.uses.remove(use)
        self.counts.sessions_ended += 1
        slots = list(use.slots)
        cause = slots[0] if len(slots) == 1 else use.asking
        for slot in slots:
            self._let_go(slot)
        for slot in slots:
            if slot is not cause:
                slot.user.on_lost()
                self._back_off(slot)
                continue
            slot.suspect = True
            if failure is not None:
                slot.user.on_failed(failure)
            else:
                slot.user.on_detach(error, True)

    # Links.

    def on_attached(self, slot: LinkSlot, event: AttachReceived) -> None:
        """The peer answered an attach, and has not refused it."""
        slot.machine.send(SlotInput.RECV_ATTACH)
        slot.attached_ms = self.bridge.now_ms
        self.sleepers.unwake(slot)
        self.counts.links_attached += 1
        self._answered(slot)
        use = slot.held
        if use is not None and event.link.role:
            use.tell_room(slot)  # their parts are smaller now
        slot.user.on_attach(event)

    def on_detached(self, slot: LinkSlot, error: Error | None, closed: bool) -> None:
        """The peer detached, or refused."""
        self.on_left(slot)
        slot.user.on_detach(error, closed)

    def on_left(self, slot: LinkSlot) -> None:
        """The same, without a word to the link's user."""
        if slot.attached:
            self.counts.links_detached += 1
        else:
            self.counts.links_refused += 1
        self._leave(slot)

    def give_up(self, slot: LinkSlot, error: RemoteProtocolError) -> None:
        """The peer does not answer on an attached link: it ends."""
        link = slot.link
        if link is not None:
            link.send_detach(closed=True)
        self.on_failed(slot, error)

    def on_failed(self, slot: LinkSlot, error: RemoteProtocolError) -> None:
        """The peer broke the link's rules."""
        self.counts.links_detached += 1
        self._leave(slot)
        slot.user.on_failed(error)

    def _leave(self, slot: LinkSlot) -> None:
        """The link is off its session, which ends when it has no other."""
        use = slot.held
        self._let_go(slot)
        if use is None:
            return
        if use.slots or use.shared:
            use.tell_room(None)
            self._advance(use)
        elif use in self._sessions.uses:
            self._sessions.uses.remove(use)
            use.ended = True
            use.session.send_end()

    def _let_go(self, slot: LinkSlot) -> None:
        use = slot.held
        self.sleepers.unwake(slot)
        if self.lasted(slot):
            slot.failures = 0
            slot.redirects = 0
            slot.suspect = False
        slot.machine.receive(SlotInput.LEAVE)  # refused where it was in no session
        slot.held = None
        slot.link = None
        if use is not None:
            self._placed -= 1
            use.slots.pop(slot, None)
            if slot in use.waiting:
                use.waiting.remove(slot)
            if use.asking is slot:
                use.asking = None

    def _answered(self, slot: LinkSlot) -> None:
        use = slot.held
        if use is not None and use.asking is slot:
            use.asking = None
            self._advance(use)

    def lasted(self, slot: LinkSlot) -> bool:
        """Whether the link has been attached for so long that its failures are forgotten."""
        lasted_ms = self.bridge.now_ms - slot.attached_ms
        return slot.attached and lasted_ms >= self.settings.back_off_max_ms


def slot_of(link: Link) -> LinkSlot | None:
    """The slot of a link that is still used; `None`: nobody is to hear of it."""
    slot = link.context
    return slot if isinstance(slot, LinkSlot) and slot.link is link else None


def is_elsewhere(slot: LinkSlot | None, links: Links) -> bool:
    """Whether a link belongs to another connection than these."""
    return slot is not None and slot.links is not links

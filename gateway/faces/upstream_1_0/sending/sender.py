"""One link by which a relay sends to one address of an upstream, and what is unsettled on it.

An outcome that the upstream tells goes to the relay. Where a link ends first, the outcome of what
was unsettled is unknown: the deliveries are kept for a resumption (2.6.13) where the peer may know
of them, else given back to be sent again, marked.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import DeliveryState, Error, Source, Target, TransactionalState
from gateway.amqp_1_0._spec_conditions import PRECONDITION_FAILED
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers import resumption
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.remote.remote import Target as QueueTarget
from gateway.errors import RemoteProtocolError
from gateway.faces.dialled.outflow import Outflow
from gateway.faces.dialled.reaching import Reaching
from gateway.faces.dialled.returns import Returns
from gateway.faces.outcomes import OUTCOMES, outcome_of
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import TooSmallError, accuses, is_busy, refusal_of
from gateway.faces.upstream_1_0.links import Links
from gateway.faces.upstream_1_0.receiving.look_ups import LookUp
from gateway.faces.upstream_1_0.sending.credit_watch import CreditWatch
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.message import MODIFIED_FAILED, Condition, Delivery, Refusal

# Refused so often in a row with an error that does not pass by itself, an address is given up:
# messages for it are refused, until an attach succeeds.
REFUSALS_MAX: Final = 2


class Sending(Protocol):
    """Whose links senders are: a relay."""

    def makes_up_for(self, refusal: Refusal) -> bool:
        """Whether the node was missing, and is made now."""

    def on_sender_ended(self, sender: Sender) -> None:
        """Its link was refused or detached: it is asked for again after a while."""


@final
class Sender:
    """Implements `UpstreamLink`, `LookUpWaiter`, `credit_watch.Watched`.

    Attributes:
        address: of the target.
        unsettled: what the upstream has and has not settled, by delivery-tag, in order.
        refusal: why messages for the address are refused; `None` while there is hope.
        used: when it sent last, by the relay's own count.
        slot: its place at the upstream, set by the relay.
    """

    __slots__ = (
        "_answered",
        "_asked",
        "_latency",
        "_link",
        "_name",
        "_outflow",
        "_owed",
        "_reaching",
        "_refusals",
        "_returns",
        "_sending",
        "_suspect",
        "_tags",
        "_upstream",
        "_watch",
        "address",
        "refusal",
        "slot",
        "unsettled",
        "used",
    )

    def __init__(
        self,
        upstream: UpstreamContext,
        outflow: Outflow,
        returns: Returns,
        sending: Sending,
        address: str,
    ) -> None:
        self._upstream = upstream
        self._latency = upstream.bridge.latency
        self._outflow = outflow
        self._returns = returns
        self._sending = sending
        self.address = address
        self.unsettled: dict[bytes, Delivery] = {}
        self.refusal: Refusal | None = None
        self.used = 0
        self.slot: LinkSlot | None = None
        self._name = upstream.link_name(address)
        self._link: Link | None = None
        self._answered: AttachReceived | None = None  # while the node is looked up
        self._asked = 0
        self._refusals = 0
        self._tags = 0
        self._suspect = 0
        self._watch = CreditWatch(upstream, self, address)
        self._reaching = Reaching(upstream)
        # What a resumed link is to be told, once there is credit: tag, whether it is given up.
        self._owed: deque[tuple[bytes, bool, DeliveryState | None]] = deque()

    # What the relay asks.

    def ready(self) -> bool:
        """Whether a delivery can be sent now."""
        link = self._link
        slot = self.slot
        return (
            link is not None
            and slot is not None
            and not slot.transport.full
            and link.credit > 0
            and len(self.unsettled) < self._upstream.settings.window
            and not (self._owed or link.resume_only or link.session.blocked)
        )

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        """Have `waiter` hear whether the link can be attached; `False`: it is."""
        slot = self.slot
        if self._link is not None or slot is None:
            return False
        self._reaching.wait(waiter, token)
        slot.hurry()
        return True

    def is_of(self, links: Links) -> bool:
        """Whether its link is one of these."""
        return self.slot is not None and self.slot.links is links

    def note_waiting(self) -> None:
        """A delivery waits for this link."""
        link = self._link
        if link is not None and link.credit <= 0:
            self._watch.begin()

    def wanted(self) -> bool:
        """Whether something waits to be sent."""
        return not self._outflow.idle()

    def size_max(self) -> int:
        """The largest message that the target takes; 0 is no limit."""
        link = self._link
        return 0 if link is None else link.peer_max_message_size

    def send(
        self,
        delivery: Delivery,
        head: bytes,
        body: bytes,
        body_at: int,
        state: TransactionalState | None,
    ) -> None:
        """Send one, in a transaction if there is a `state`; the link is `ready`."""
        link = self._link
        assert link is not None
        self._tags += 1
        tag = self._tags.to_bytes(8, "big")
        self.unsettled[tag] = delivery
        delivery.sent_us = self._latency.now_us
        link.send_delivery(
            tag,
            head,
            body,
            settled=False,
            message_format=delivery.message.message_format,
            state=state,
            context=delivery,
            rest_at=body_at,
        )

    def abandon(self) -> None:
        """Nobody waits for the outcomes of what is unsettled any more."""
        self._watch.end()
        self._owed.clear()
        self._give_back()

    def leave(self) -> None:
        """The link is given up, with nothing unsettled on it."""
        self._watch.end()

    # As an `UpstreamLink`.

    def attach(self, session: Session) -> Link:
        """Ask for unsettled deliveries: a peer that settles by itself could lose them."""
        link = session.attach(self._name, _spec.SENDER)
        slot = self.slot
        address = self.address if slot is None else slot.address
        upstream = self._upstream
        resumes = upstream.resumes
        capabilities = upstream.addresses.target_capabilities(self._outflow.queue)
        link.send_attach(
            source=Source(address=self._name, outcomes=OUTCOMES),
            target=Target(address=address, capabilities=capabilities or None),
            snd_settle_mode=_spec.SND_UNSETTLED,
            unsettled=dict.fromkeys(self.unsettled) if resumes and self.unsettled else None,
        )
        return link

    def on_attach(self, event: AttachReceived) -> None:
        """The peer answered: what of the last connection it knows is settled first."""
        if event.attach.snd_settle_mode == _spec.SND_SETTLED:
            text = "the peer takes settled deliveries only"
            self.refusal = Refusal(Condition.NOT_IMPLEMENTED, text)
            event.link.send_detach(error=Error(condition=PRECONDITION_FAILED, description=text))
            self._reaching.answer(None)
            self._outflow.resume()
            return
        if self._must_look_up():
            self._asked += 1
            self._answered = event
            LookUp(self._upstream, self.address, self, self._asked)
        else:
            self._start(event)

    def _must_look_up(self) -> bool:
        """Whether it has to be seen if the node exists: attaching does not tell."""
        missing = self._upstream.profile.missing
        target = self._outflow.queue.target
        by_name = target == QueueTarget.QUEUE or target == QueueTarget.SHADOW
        return by_name and missing == "drop"

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """Whether the node exists, where attaching does not tell."""
        event = self._answered
        if event is None or token != self._asked:
            return
        self._answered = None
        if refusal is None:
            self._start(event)
            return
        if refusal.condition != Condition.INTERNAL_ERROR:
            self.refusal = Refusal(refusal.condition, f"{self.address}: {refusal.description}")
        event.link.send_detach(closed=True)  # it is attached again when the peer has answered
        self._reaching.answer(refusal)
        self._outflow.resume()

    def _start(self, event: AttachReceived) -> None:
        self._link = event.link
        self._refusals = 0
        self.refusal = None
        self._reaching.answer(None)
        if self.slot is not None:
            self._outflow.note_link(self.slot.address, self.slot.transport.number)
        if self.unsettled:
            self._resume(event)
        self._outflow.resume()

    def on_flow(self) -> None:
        """There is credit, or it is wanted back."""
        link = self._link
        if link is not None:
            if link.credit > 0:
                self._watch.end()
            self._say_what_is_owed(link)
            if link.drain and link.credit > 0 and self._outflow.idle():
                link.send_drained()
        self._outflow.resume()

    def on_room(self) -> None:
        """There is room again."""
        self._outflow.resume()

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Never: the peer receives by this link."""

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """The upstream spoke of one delivery."""
        if isinstance(state, TransactionalState):
            state = state.outcome
        outcome = outcome_of(state)
        if outcome is None and not settled:
            return
        if not settled:
            delivery.link.session.settle_outgoing(delivery, state)
        sent = self.unsettled.pop(delivery.tag, None)
        if sent is None:
            return
        run = self._upstream.settling
        if run.since_us == sent.sent_us:
            run.count += 1
        else:
            run.begin(sent.sent_us)
        if is_busy(state):
            self._returns.on_busy(sent)
            return
        self._outflow.resume()
        # Settled without an outcome is no word of success: it counts as a failed attempt.
        self._returns.on_outcome(sent, outcome or MODIFIED_FAILED)

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """Never: the peer receives by this link."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """The peer detached, or refused."""
        if accuses(error):
            self._accuse()
        self._ended(refusal_of(error))

    def on_failed(self, error: RemoteProtocolError) -> None:
        """The peer broke the link's rules, or did not answer, or cannot even be asked."""
        if isinstance(error, TooSmallError):
            self._refusals = REFUSALS_MAX
            self._ended(Refusal(Condition.NOT_IMPLEMENTED, str(error)))
        else:
            self._ended(None)

    def on_lost(self) -> None:
        """Gone with its session or connection; it will be attached again."""
        self._link = None
        self._reaching.answer(None)
        self._watch.end()
        self._answered = None
        self._owed.clear()
        if self._upstream.resumes:
            self._give_back_transacted()
        else:
            self._give_back()

    # Ends.

    def _ended(self, refusal: Refusal | None) -> None:
        self._link = None
        self._watch.end()
        self._answered = None
        self._owed.clear()
        self._give_back()
        if refusal is not None and not self._sending.makes_up_for(refusal):
            self._refusals += 1
            if self._refusals >= REFUSALS_MAX:
                text = f"{self.address}: {refusal.description}"
                self.refusal = Refusal(refusal.condition, text)
            self._reaching.answer(refusal)
        self._sending.on_sender_ended(self)

    def _accuse(self) -> None:
        """The first delivery in line when a link breaks twice with an error is poison."""
        first = next(iter(self.unsettled), None)
        if first is None:
            return
        delivery = self.unsettled[first]
        if delivery.message.id == self._suspect:
            del self.unsettled[first]
            text = "the upstream's link broke twice with this message first in line"
            self._returns.on_poison(delivery, text)
        self._suspect = delivery.message.id

    def _give_back(self) -> None:
        """The outcome of what is unsettled is unknown."""
        unsettled = self.unsettled
        self.unsettled = {}
        for delivery in unsettled.values():
            self._returns.on_unknown(delivery)

    def _give_back_transacted(self) -> None:
        """Transactions do not outlive the connection."""
        for tag, delivery in list(self.unsettled.items()):
            if delivery.transaction is not None and not delivery.settled:
                del self.unsettled[tag]
                self._returns.on_unknown(delivery)

    def _resume(self, event: AttachReceived) -> None:
        """What the peer remembers decides (2.6.13); what it does not know is sent again, marked.

        A delivery that it has in part is given up and sent again: its octets are made anew, with
        another delivery-count. What has to be said of the others takes credit, and waits for it.
        """
        remote = event.attach.unsettled or {}
        incomplete = event.attach.incomplete_unsettled is True
        before = self.unsettled
        actions = resumption.resolve(dict.fromkeys(before), remote, incomplete=incomplete)
        self.unsettled = {}
        for tag, action in actions.items():
            delivery = before.get(tag)
            outcome = outcome_of(remote.get(tag))
            if tag in remote:
                self._owed.append((tag, outcome is None, action.state))
            if delivery is None:
                continue
            if outcome is None:
                self._returns.on_unknown(delivery)
            else:
                self._returns.on_outcome(delivery, outcome)

    def _say_what_is_owed(self, link: Link) -> None:
        while self._owed and link.credit > 0:
            tag, gives_up, state = self._owed.popleft()
            if gives_up:
                link.send_abort(tag)
            else:
                link.send_delivery(tag, b"", b"", settled=True, state=state, resume=True)
        if link.resume_only and not self._owed:
            link.send_detach(closed=False)  # one of the maps was incomplete: attach again

"""A link by which a 1.0 client consumes or browses: the bridge's deliveries out, outcomes back.

A link from a node of an upstream is attached here when it is there. Credit is the client's flow
state, also what it gives meanwhile; what a delivery's header says (ttl left, delivery-count) is
written for each. A delivery that the client settles without an outcome, or that
its link leaves behind, gets the source's default-outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.amqp_1_0._spec import DeliveryState, Source
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.outgoing import Outgoing
from gateway.audit.schema import Flag as AuditFlag
from gateway.audit.schema import Reason
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.filters import Wanted
from gateway.faces.outcomes import error_of, outcome_of
from gateway.faces.server_1_0.transactions import Retired
from gateway.message import Condition, Delivery, Outcome, Refusal
from gateway.translate.facts import body_digest_1_0
from gateway.translate.message import to_1_0
from gateway.translate.outcomes import lose_annotations, merged
from gateway.translate.towards_1_0.hop import header_section

if TYPE_CHECKING:
    from gateway.faces.server_1_0.session import ServerSession10

NO_LIMIT: Final = 0
NOTHING_REFUSED: Final = Refusal(Condition.NONE, "")


@final
class Asked:
    """What a client's attach asked for, while an upstream has not answered.

    Attributes:
        here: the queue is ours, and what fills it is asked for: credit is given on the answer.
    """

    __slots__ = ("here", "source", "wanted")

    def __init__(self, source: Source, wanted: Wanted, *, here: bool = False) -> None:
        self.source = source
        self.wanted = wanted
        self.here = here


@final
class Consumer10:
    """Implements `Outlet`, `LookUpWaiter`.

    Attributes:
        subscription: the bridge's side; set right after construction.
        asked: set while an upstream is asked; then the link is not attached yet.
        unsettled: what the client has not settled, by delivery-id.
        retired: what it has given an outcome in a transaction, and not settled.
        found: it is the source of a link that was there before: a durable subscription.
    """

    def __init__(
        self,
        session: ServerSession10,
        link: Link,
        *,
        settled: bool,
        acquire: bool,
        default_outcome: Outcome,
    ) -> None:
        self.session = session
        self._settlement = session.host.settlement
        self.link = link
        self.settled = settled
        self.acquire = acquire
        self.default_outcome = default_outcome
        self.subscription: Subscription | None = None
        self.asked: Asked | None = None
        self.unsettled: dict[int, Delivery] = {}
        self.retired: dict[int, Retired] = {}
        self.node_name = ""
        self.dynamic = ""
        self.durable_queue = ""
        self.found = False
        self.blocked = False
        self._started = False
        self._ended = False
        self._resume_only = link.resume_only
        attach = link.attach
        limit = None if attach is None else attach.max_message_size
        self._size_max = limit or NO_LIMIT

    def start(self, subscription: Subscription) -> None:
        """The link is attached."""
        self.subscription = subscription
        self._started = True
        session = self.session
        session.bridge.audit.link_attached(
            session.bridge.now_ms,
            subscription.number,
            connection=session.face.peer.connection_id,
            node=subscription.queue.node,
            flags=0 if self.acquire else AuditFlag.COPY,
        )

    # What the bridge calls.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one message."""
        session = self.session
        link = self.link
        blocked = self._resume_only or link.credit <= 0 or not link.attached
        if blocked or not session.has_room(link):
            self.blocked = True
            return DeliverStatus.BLOCKED
        message = delivery.message
        translated = to_1_0(message, session.face.context_for(session.host), delivery.annotations)
        if translated.losses:
            losses.record(session.bridge, translated.losses, message.id, delivery.subscription)
        if translated.refusal is not None:
            return DeliverStatus.UNDELIVERABLE
        now_ms = session.bridge.now_ms
        head = translated.head
        if message.message_format == 0:
            head = (
                header_section(message, translated.priority, delivery.delivery_count, now_ms) + head
            )
        body = translated.body
        if self._size_max and len(head) + len(body) > self._size_max:
            return DeliverStatus.UNDELIVERABLE
        delivery.body_digest = body_digest_1_0(body, 0, translated.body_end)
        delivery.body_changed = translated.body_changed
        delivery_id = link.session.next_delivery_id
        if not self.settled:
            self.unsettled[delivery_id] = delivery
        link.send_delivery(
            delivery_id.to_bytes(4, "big"),
            head,
            body,
            settled=self.settled,
            message_format=message.message_format,
        )
        session.face.touch()
        return DeliverStatus.TAKEN

    def on_drained(self) -> None:
        """Nothing is left to send: give the rest of the credit back."""
        self.link.send_drained()
        self.session.face.touch()

    def refusal(self) -> Refusal:
        """As an `Outlet`: it refuses nothing on everybody's behalf."""
        return NOTHING_REFUSED

    def on_attached(self) -> None:
        """The upstream has attached it: now the client is told."""
        self.session.on_attached(self)

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """As a `LookUpWaiter`: the exchange that it subscribes to is there, as far as is known."""
        if self.asked is not None:
            self.session.on_attached(self)
            self.on_flow()

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue went away, or the upstream does not have it for us."""
        refusal = Refusal(condition, description)
        self.session.face.uses.on_refused(refusal)
        error = error_of(refusal)
        if self.asked is None:
            self.link.send_detach(error=error)
        else:
            self.link.refuse(error)
        self.session.forget_consumer(self, Reason.CANCELLED)
        self.session.face.touch()

    # What the client does.

    def on_flow(self) -> None:
        """The client's credit or drain mode."""
        subscription = self.subscription
        asked = self.asked
        if subscription is None or (asked is not None and asked.here):
            return
        link = self.link
        if link.credit or link.drain:
            subscription.grant(link.credit)
        else:
            subscription.stop()  # what an upstream has sent ahead for it is for others now
        if self.blocked:
            self.resume()
        if link.drain:
            subscription.drain()
        self.session.face.touch()

    def on_disposition(
        self, delivery: Outgoing, settled: bool, state: DeliveryState | None
    ) -> bool:
        """The client spoke of one delivery; whether we have to settle it once that is safe."""
        outcome = outcome_of(state)
        if self.retired and self._is_retired(delivery, settled, outcome):
            return False
        if outcome is None:
            if not settled:
                return False
            outcome = self.default_outcome
        bridged = self.unsettled.pop(delivery.delivery_id, None)
        if bridged is None:
            return False
        if outcome.annotations:
            outcome = self._merged(bridged, outcome)
        self._settlement.settle(bridged, outcome)
        return not settled

    def _is_retired(self, delivery: Outgoing, settled: bool, outcome: Outcome | None) -> bool:
        """Whether a transaction decides: not when the client gives another outcome meanwhile."""
        retired = self.retired.get(delivery.delivery_id)
        if retired is None:
            return False
        transactions = self.session.face.transactions
        if outcome is not None and transactions.withdraw(retired):
            return False
        if settled:
            transactions.keep(retired)
        return True

    def outcome_for(self, delivery: Delivery, outcome: Outcome | None) -> Outcome | None:
        """The client's outcome, as the bridge is to know it."""
        if outcome is None or not outcome.annotations:
            return outcome
        return self._merged(delivery, outcome)

    def _merged(self, delivery: Delivery, outcome: Outcome) -> Outcome:
        made = merged(delivery.annotations, outcome)
        if not made.annotations:
            session = self.session
            lost = lose_annotations(session.face.settings.translated)
            losses.record(session.bridge, lost, delivery.message.id, delivery.subscription)
        return made

    def resume(self) -> None:
        """There is room again for what `deliver` refused."""
        if self.blocked and self.subscription is not None:
            self.blocked = False
            self.subscription.resume()

    def end(self, reason: Reason) -> None:
        """The link is gone: what is unsettled gets the default-outcome."""
        if self._ended:
            return
        self._ended = True
        subscription = self.subscription
        if subscription is not None:
            subscription.cancel()
        for retired in list(self.retired.values()):
            self.session.face.transactions.keep(retired)
        for delivery in self.unsettled.values():
            self._settlement.settle(delivery, self.default_outcome, reason)
        self.unsettled = {}
        self.asked = None
        if subscription is not None and self._started:
            self.session.bridge.audit.link_detached(
                self.session.bridge.now_ms,
                subscription.number,
                connection=self.session.face.peer.connection_id,
                reason=reason,
            )

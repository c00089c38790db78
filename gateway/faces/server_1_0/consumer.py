"""A link by which a 1.0 client consumes or browses: the bridge's deliveries out, outcomes back.

A link from a node of an upstream is attached when the upstream has it. Credit is the client's flow
state, also what it gives meanwhile; what a delivery's header says (ttl left, delivery-count) is
written for each. A delivery that the client settles without an outcome, or that
its link leaves behind, gets the source's default-outcome.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Error, Source
from gateway.amqp_1_0._spec import Unsettled as AttachedWith
from gateway.amqp_1_0._spec_conditions import STOLEN
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.audit.digests import digest_part
from gateway.audit.schema import Flag as AuditFlag
from gateway.audit.schema import Reason
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import DeliverStatus, KeptThere
from gateway.faces import losses
from gateway.faces.checking import check, wants_look
from gateway.faces.client import Client
from gateway.faces.dynamic import DynamicNodes
from gateway.faces.outcomes import OUTCOMES, default_of, error_of
from gateway.faces.server_1_0.lasting_source import Lasting, LeftUnsettled, most
from gateway.faces.server_1_0.suspended import Suspended, key_of
from gateway.faces.server_1_0.terminus import granted, snd_settle_mode
from gateway.faces.server_1_0.transactions import Transactions
from gateway.faces.server_1_0.unsettled import Unsettled
from gateway.faces.source_filters import Wanted
from gateway.message import MODIFIED_FAILED, Condition, Delivery, Outcome, Refusal
from gateway.translate.facts import AMQP_1_0, body_digest_1_0
from gateway.translate.message import to_1_0
from gateway.translate.outcomes import Merging
from gateway.translate.towards_1_0.hop import header_section
from gateway.wire.work import DELIVERY, LINK, WORK

NO_LIMIT: Final = 0
NOTHING_REFUSED: Final = Refusal(Condition.NONE, "")


@final
class Asked:
    """What a client's attach asked for, while an upstream has not answered.

    Attributes:
        local: the queue is the gateway's, what fills it is asked for: no credit before the answer.
    """

    __slots__ = ("local", "source", "wanted")

    def __init__(self, source: Source, wanted: Wanted, *, local: bool = False) -> None:
        self.source = source
        self.wanted = wanted
        self.local = local


class ConsumerHolder(Protocol):
    """Who has the consumers of a session."""

    def forget_consumer(
        self, consumer: Consumer, reason: Reason, *, suspends: bool = False
    ) -> None:
        """Its link is gone: end it; `suspends`: the client may attach it again."""


@final
class Consumer:
    """Implements `Outlet`, `LookUpWaiter`, `Waiting`, `CommitWaiter`, `Takeable`.

    Attributes:
        subscription: the bridge's side; set right after construction.
        asked: set while an upstream is asked; then the link is not attached yet.
        unsettled: what the client has been sent.
        dynamic: the name of the node that was made for it, or "".
        properties: what the client is told of its node, of what it has asked.
        found: it is the source of a link that there was before: a durable subscription.
        lasting: what is unsettled of its source outlives the link.
    """

    def __init__(
        self,
        client: Client,
        transactions: Transactions,
        dynamics: DynamicNodes,
        holder: ConsumerHolder,
        link: Link,
        *,
        node_name: str,
        dynamic: str,
        properties: Fields | None,
        settled: bool,
        acquire: bool,
        default_outcome: Outcome,
        jms: bool,
    ) -> None:
        """`jms`: it attaches as clients of JMS do."""
        self._jms = jms
        self._client = client
        self._transactions = transactions
        self._holder = holder
        self._settlement = client.host.settlement
        self.link = link
        self.settled = settled
        self.acquire = acquire
        self.subscription: Subscription | None = None
        self.asked: Asked | None = None
        self.unsettled = Unsettled(client, dynamics, node_name, default_outcome)
        self.dynamic = dynamic
        self.properties = properties
        self.durable_queue = ""
        self.kept_there: KeptThere | None = None
        self.found = False
        self.lasting: Lasting | None = None
        self._local: AttachedWith = {}  # what is unsettled of the links before, for the attach
        self.blocked = False
        self._started = False
        self._ended = False
        self._resume_only = link.resume_only
        attach = link.attach
        # The client's map, which the attach has forgotten by then where an upstream is asked.
        self._remote: AttachedWith | None = None if attach is None else attach.unsettled
        limit = None if attach is None else attach.max_message_size
        self._size_max = limit or NO_LIMIT

    def answer(self, subscription: Subscription, source: Source, wanted: Wanted) -> None:
        """Answer the client's attach: the source exists, with what is granted; record the link.

        `wanted`: what is applied of the source's filters.
        """
        self._send_attach(source, wanted)
        self.subscription = subscription
        self._started = True
        self.link.forget_attach()
        self._remote = None
        self._resume_only = self.link.resume_only  # what is unsettled may not have fitted
        flags = 0 if self.acquire else AuditFlag.COPY
        self._client.record_link(subscription.number, node=subscription.queue.node, flags=flags)

    def _send_attach(self, source: Source, wanted: Wanted) -> None:
        link = self.link
        attach = link.attach
        assert attach is not None
        made = self.dynamic
        durable = bool(self.durable_queue) or self.kept_there is not None
        copy = _spec.DISTRIBUTION_COPY
        lasting = self.lasting
        policy = _spec.EXPIRY_LINK_DETACH if lasting is None else lasting.policy
        link.send_attach(
            source=Source(
                address=made or source.address,
                durable=_spec.DURABLE_CONFIGURATION if durable else None,
                expiry_policy=_spec.EXPIRY_NEVER if durable else policy,
                timeout=None if lasting is None else lasting.timeout_s,
                dynamic=True if made else None,
                dynamic_node_properties=self.properties,
                distribution_mode=(
                    copy if source.distribution_mode == copy else _spec.DISTRIBUTION_MOVE
                ),
                filter=wanted.in_place or None,
                default_outcome=default_of(source.default_outcome),
                outcomes=OUTCOMES,
                capabilities=granted(source.capabilities or [], self.properties),
            ),
            target=attach.target,
            snd_settle_mode=snd_settle_mode(attach),
            rcv_settle_mode=attach.rcv_settle_mode or _spec.RCV_FIRST,
            # Of what a durable subscription had else all went back when the link before ended.
            unsettled=self._local or ({} if self.found else None),
        )

    def outlive(self, lasting: Lasting | None) -> None:
        """What is unsettled outlives the link, if it is to; what outlived one before is resumed."""
        client = self._client
        kept = client.settings.kept
        attach = self.link.attach
        remote = self._remote or {}
        self._remote = None
        self.lasting = lasting
        if lasting is not None:
            kept.attach(lasting.key, self)
        suspended = kept.links.get(key_of(client, self.link.name, self.link.role))
        if attach is None or not isinstance(suspended, Suspended):
            return
        left = suspended.left
        if lasting is None or not isinstance(left, LeftUnsettled) or lasting.queue != left.node:
            suspended.end(Reason.LINK_DETACHED)  # it is another source
            return
        suspended.take()
        self._local = lasting.resume(
            client, left, remote, incomplete=attach.incomplete_unsettled is True
        )
        if lasting.pending:
            client.bridge.wait(self)

    # What the bridge calls.

    def on_committed(self, turn: int) -> None:
        """What was settled as the link was attached again is safe."""
        if not self._ended and self.subscription is not None:
            self.on_flow()

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one message."""
        link = self.link
        lasting = self.lasting
        blocked = self._resume_only or link.credit <= 0 or not link.attached
        if lasting is not None and not blocked:
            blocked = len(lasting.pending) > 0 or len(self.unsettled.deliveries) >= self._most()
        if blocked or not self._has_room(len(delivery.message.payload)):
            self.blocked = True
            return DeliverStatus.BLOCKED
        delivery_id = link.session.sending.next_delivery_id
        if lasting is None:
            return self._send(delivery, delivery_id.to_bytes(4, "big"), resume=False)
        return self._send(delivery, lasting.tag(delivery_id), resume=False)

    def _send(self, delivery: Delivery, tag: bytes, *, resume: bool) -> DeliverStatus:
        """Send a message; there is credit and room."""
        client = self._client
        link = self.link
        message = delivery.message
        context = client.context()
        context.jms = self._jms
        translated = to_1_0(message, context, delivery.annotations)
        if translated.refusal is not None:
            losses.record(client.bridge, translated.losses, message.id, delivery.subscription)
            return DeliverStatus.UNDELIVERABLE
        now_ms = client.bridge.now_ms
        head = translated.head
        if message.message_format == 0:
            head = (
                header_section(message, translated.priority, delivery.delivery_count, now_ms) + head
            )
        body = translated.body
        body_at = translated.body_at
        if translated.data_head:
            head = head + translated.data_head  # compiled, += would look for what they are
        octets = len(head) + len(body) - body_at
        if self._size_max and octets > self._size_max:
            losses.take_back(context.counts, translated.losses)
            return DeliverStatus.UNDELIVERABLE
        if translated.losses:
            losses.record(client.bridge, translated.losses, message.id, delivery.subscription)
        if translated.data_head:
            delivery.body_digest = digest_part(body, body_at, translated.body_end)
        else:
            delivery.body_digest = body_digest_1_0(body, body_at, translated.body_end)
        delivery.body_changed = translated.body_changed
        delivery.id_digest = translated.id_digest
        if message.encoding != AMQP_1_0 and wants_look(message.id, translated.kind, context):
            payload = head + body[body_at:]
            check(client.bridge, delivery, payload, b"", translated.losses, context)
        delivery_id = link.session.sending.next_delivery_id
        if not self.settled:
            self.unsettled.deliveries[delivery_id] = delivery
        link.send_delivery(
            tag,
            head,
            body,
            settled=self.settled,
            message_format=message.message_format,
            rest_at=body_at,
            resume=resume,
        )
        client.room.left -= octets
        client.touch()
        return DeliverStatus.TAKEN

    def _credit(self, link: Link) -> int:
        """What may be sent: a drain is answered where more has to wait until some are settled."""
        if not link.drain:
            return link.credit
        room = self._client.settings.limits.unsettled_max - self._unsettled()
        if self.settled:
            return link.credit if room > 0 else 0
        if self.lasting is not None:
            room = min(room, self._most() - len(self.unsettled.deliveries))
        return min(link.credit, max(room, 0))

    def _unsettled(self) -> int:
        """Deliveries of its session that are."""
        return len(self.link.session.sending.unsettled) + self._transactions.kept

    def _most(self) -> int:
        """How many deliveries may be unsettled, for all of them to be told in one attach."""
        return most(self.link.session.carrier.peer_max_frame_size)

    def _resume_pending(self, lasting: Lasting) -> None:
        """Resume what is to be, by credit and room; what is settled must be safe."""
        link = self.link
        turns = self._client.bridge.turns
        pending = lasting.pending
        while pending and link.credit > 0 and link.attached:
            resumed = pending[0]
            delivery = resumed.delivery
            if delivery is None:
                if resumed.turn > turns.safe:
                    return
                link.send_delivery(
                    resumed.tag, b"", b"", settled=True, state=resumed.state, resume=True
                )
            elif not self._has_room(len(delivery.message.payload)):
                self.blocked = True
                return
            else:
                delivery_id = link.session.sending.next_delivery_id
                if self._send(delivery, resumed.tag, resume=True) == DeliverStatus.TAKEN:
                    lasting.tags[delivery_id] = resumed.tag
                else:
                    self._settlement.settle(delivery, MODIFIED_FAILED)
            del pending[0]
            self._client.touch()

    def _has_room(self, size: int) -> bool:
        """Whether a delivery of a message of that size may be sent now."""
        client = self._client
        if client.draining or not client.room.has(size):
            return False
        session = self.link.session
        return not session.blocked and self._unsettled() < client.settings.limits.unsettled_max

    def on_drained(self) -> None:
        """Nothing is left to send: give the rest of the credit back."""
        self.link.send_drained()
        self._client.touch()

    def available(self) -> int | None:
        """What nobody has of its queue; not counted: what a filter lets in, a browser has not seen,
        or an upstream has.
        """
        subscription = self.subscription
        if subscription is None or subscription.filter is not None or not subscription.acquire:
            return None
        queue = self._client.host.topology.find_queue(subscription.queue_name)
        return None if queue is None or queue.placement is not None else queue.available

    def refusal(self) -> Refusal:
        """Nothing: `deliver` never refuses on everybody's behalf."""
        return NOTHING_REFUSED

    def on_attached(self) -> None:
        """The upstream has attached it: now the client is told."""
        asked = self.asked
        subscription = self.subscription
        if asked is not None and subscription is not None:
            self.asked = None
            self.answer(subscription, asked.source, asked.wanted)
        self._client.touch()

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """The exchange that it subscribes to exists, as far as is known."""
        if self.asked is not None:
            self.on_attached()
            self.on_flow()

    def on_stolen(self) -> None:
        """See `Takeable`."""
        self.link.send_detach(error=Error(condition=STOLEN))
        self._holder.forget_consumer(self, Reason.LINK_DETACHED, suspends=True)
        self._client.touch()

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue went away, or the upstream does not have it for the gateway."""
        refusal = Refusal(condition, description)
        self._client.uses.on_refused(refusal)
        self._client.on_link_refused(condition)
        error = error_of(refusal)
        if self.asked is None:
            self.link.send_detach(error=error)
        else:
            self.link.refuse(error)
        self._holder.forget_consumer(self, Reason.CANCELLED)
        self._client.touch()

    # What the client does.

    def on_flow(self) -> None:
        """The client's credit or drain mode."""
        subscription = self.subscription
        asked = self.asked
        if subscription is None or (asked is not None and asked.local):
            return
        link = self.link
        lasting = self.lasting
        if lasting is not None and lasting.pending:
            self._resume_pending(lasting)
        if link.credit or link.drain:
            subscription.grant(self._credit(link))
        else:
            subscription.stop()  # what an upstream has sent ahead for it is for others now
        if self.blocked:
            self.resume()
        if link.drain:
            subscription.drain()
        self._client.touch()

    def on_disposition(
        self, delivery: Outgoing, settled: bool, outcome: Outcome | None, merging: Merging | None
    ) -> bool:
        """The client spoke of one delivery; whether it waits for it to be settled.

        `merging`: of the outcome, if it has annotations.
        """
        unsettled = self.unsettled
        if unsettled.retired and self._is_retired(delivery, settled, outcome):
            return False
        if outcome is None:
            if not settled:
                return False
            outcome = unsettled.default_outcome
        bridged = unsettled.deliveries.pop(delivery.delivery_id, None)
        if bridged is None:
            return False
        if merging is not None:
            outcome = unsettled.merged(bridged, merging)
        self._settlement.settle(bridged, outcome)
        lasting = self.lasting
        if lasting is not None:
            lasting.tags.pop(delivery.delivery_id, None)
            if lasting.before:
                lasting.tell_of_before(self._client)
        return not settled

    def _is_retired(self, delivery: Outgoing, settled: bool, outcome: Outcome | None) -> bool:
        """Whether a transaction decides: not when the client gives an outcome outside of it."""
        retired = self.unsettled.retired.get(delivery.delivery_id)
        if retired is None:
            return False
        transactions = self._transactions
        if outcome is not None and transactions.withdraw(retired):
            return False
        if settled:
            transactions.keep(retired)
        return True

    def resume(self) -> None:
        """There is room again for what `deliver` refused."""
        if self.blocked and self.subscription is not None:
            self.blocked = False
            lasting = self.lasting
            if lasting is not None and lasting.pending:
                self._resume_pending(lasting)
            self.subscription.resume()

    def end(self, reason: Reason, *, suspends: bool = False) -> Suspended | None:
        """The link is gone: what is unsettled gets the default-outcome.

        `suspends`: unless the client may attach it again; then it waits for that.
        """
        if self._ended:
            return None
        self._ended = True
        subscription = self.subscription
        if subscription is not None:
            subscription.cancel()
        unsettled = self.unsettled
        for retired in list(unsettled.retired.values()):
            self._transactions.keep(retired)
        WORK.units += LINK + DELIVERY * len(unsettled.deliveries)
        left = list(unsettled.deliveries.values())
        suspended: Suspended | None = None
        lasting = self.lasting
        if lasting is not None:
            self._client.settings.kept.detach(lasting.key, self)
            kept = lasting.unsettled(unsettled.deliveries)
            left = list(kept.values())
            if suspends and kept and subscription is not None:
                lasting.before.append(subscription)
                suspended = lasting.leave(self._client, kept, unsettled.default_outcome)
        unsettled.deliveries = {}
        self.asked = None
        if suspended is None:
            for delivery in left:
                self._settlement.settle(delivery, unsettled.default_outcome, reason)
            if subscription is not None and self._started:
                self._client.record_link_end(subscription.number, reason)
            if lasting is not None:
                lasting.tell_of_before(self._client)
        self.subscription = None  # which holds this
        return suspended

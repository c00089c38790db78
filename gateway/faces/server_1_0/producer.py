"""A link by which a 1.0 client publishes: deliveries into the bridge, credit back.

An outcome is told (`answers`) when every copy is safe or has ended by rule. Credit is given back as
outcomes are told, so that a publisher which is held back runs dry instead of filling memory; where
too many octets are, it is taken back.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Attach, Error, Target, TransactionalState, Unsettled
from gateway.amqp_1_0._spec_conditions import RESOURCE_LIMIT_EXCEEDED, STOLEN, UNKNOWN_ID
from gateway.amqp_1_0.events import DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.audit.schema import Flag as AuditFlag
from gateway.audit.schema import Reason
from gateway.bridge.confirming import ACCEPTED as TOLD_ACCEPTED
from gateway.bridge.confirming import REJECTED as TOLD_REJECTED
from gateway.bridge.confirming import Part, Told, outcome_of
from gateway.bridge.exchanges.exchange import FANOUT, TOPIC
from gateway.bridge.seams import Published, PublishStatus
from gateway.bridge.topology import EXCHANGE, QUEUE
from gateway.errors import DecodeError, LimitError
from gateway.faces import qmf
from gateway.faces.client import Client
from gateway.faces.leaving import Addressee
from gateway.faces.outcomes import STATE_ACCEPTED, error_of
from gateway.faces.server_1_0.answers import Answers
from gateway.faces.server_1_0.arrivals import Arrivals
from gateway.faces.server_1_0.batch import Batch
from gateway.faces.server_1_0.lasting_target import LastingTarget
from gateway.faces.server_1_0.suspended import Suspended, granted_s
from gateway.faces.server_1_0.terminus import granted, made_by, snd_settle_mode, told
from gateway.faces.server_1_0.transactions import Transactions
from gateway.message import ACCEPTED, Condition, Flag, Message, Outcome, Refusal
from gateway.translate.addresses import Capability, Node, capability_in
from gateway.translate.batch import BATCH_FORMAT, messages_in
from gateway.translate.conditions import from_symbol

DISCARD_UNROUTABLE: Final = "DISCARD_UNROUTABLE"
REJECT_UNROUTABLE: Final = "REJECT_UNROUTABLE"
LENIENT_TYPES: Final = (TOPIC, FANOUT)


class ProducerHolder(Protocol):
    """Who has the producers of a session."""

    def forget_producer(self, producer: Producer, *, suspends: bool = False) -> None:
        """Its link is gone, or about to be: end it; `suspends`: it may be attached again."""


@final
class Producer:
    """Implements `Publisher`, `Answered`, `NodeSender`, `Awaiting`.

    Args:
        node: what its target names; `None` for the anonymous terminus.
        capabilities: of its target, as the client asked for them.
        dynamic: the name of the node that was made for it, or "".
    """

    def __init__(
        self,
        client: Client,
        transactions: Transactions,
        holder: ProducerHolder,
        link: Link,
        node: Node | None,
        *,
        capabilities: list[str],
        dynamic: str,
    ) -> None:
        self._client = client
        self._transactions = transactions
        self._holder = holder
        self._publishing = client.host.publishing
        self.link = link
        self.node = node
        self.dynamic = dynamic
        self.number = client.bridge.numbers.next_link()
        self._strict = REJECT_UNROUTABLE in capabilities
        self.lenient = not self._strict and self._is_lenient(capabilities)
        self._told = Told(client.bridge.confirming, self.number, client.peer.connection_id)
        self._arrivals = Arrivals(client, node, self._told)
        self._addressee = Addressee(self)
        self._answers = Answers(client, link, self, tells_tags=node is None)
        # What is held back, by token: a delivery-id, or a number below 0 for what came settled.
        self._held_back = 0
        self._octets: dict[int, int] = {}
        self._batches: dict[int, Batch] = {}
        self._parts: dict[int, Part] = {}  # which messages they are, if the client is to hear
        self._settled = 0
        self._over = False
        self._left = False
        self._leaving = False
        self._closed = True  # as the client detached, while it is leaving
        self._error: Error | None = None  # why the gateway detaches, while it is leaving
        self._takes_back = self._answers.known.takes_back()

    def _is_lenient(self, capabilities: list[str]) -> bool:
        """Whether a message that no queue takes is accepted all the same."""
        if DISCARD_UNROUTABLE in capabilities or "topic" in capabilities:
            return True
        node = self.node
        if node is None or not node.exchange:
            return False
        exchange = self._client.host.topology.find_exchange(node.exchange)
        return exchange is not None and exchange.type in LENIENT_TYPES

    def node_name(self) -> str:
        """The queue or exchange that it publishes to; "" for the anonymous terminus."""
        return "" if self.node is None else self.node.queue or self.node.exchange

    @property
    def lasts(self) -> bool:
        """Whether its target outlives the link."""
        return self._answers.lasting is not None

    def answer(self, attach: Attach, unsettled: Unsettled | None) -> None:
        """Answer the client's attach, record the link, give credit; `unsettled`: its map."""
        target = attach.target
        assert isinstance(target, Target)
        made = self.dynamic
        lasting: LastingTarget | None = None
        if not made and granted_s(self._client, target):
            name = self.node_name()
            lasting = LastingTarget(self._client, self.link, target, name, unsettled, awaiting=self)
            self._answers.lasting = lasting
        properties = made_by(target) if made else told(self._client.host, self.node, target)
        self.link.send_attach(
            source=attach.source,
            target=Target(
                address=made or target.address,
                # Without a timeout, whatever is asked for: it ends with the link.
                expiry_policy=_spec.EXPIRY_LINK_DETACH if lasting is None else lasting.policy,
                timeout=None if lasting is None else lasting.timeout_s,
                dynamic=True if made else None,
                dynamic_node_properties=properties,
                capabilities=granted(
                    target.capabilities or [],
                    properties,
                    queue=self.node is None or not self.node.exchange,
                ),
            ),
            snd_settle_mode=snd_settle_mode(attach),
            rcv_settle_mode=attach.rcv_settle_mode or _spec.RCV_FIRST,
            unsettled=None if lasting is None else lasting.local,
        )
        self.link.forget_attach()
        self._client.record_link(self.number, node=self._begin(), flags=AuditFlag.PUBLISHER)
        self._give_credit()

    def _begin(self) -> int:
        """The bridge hears which node it sends to; what the audit log calls that."""
        node = self.node
        if node is None:
            return 0
        topology = self._client.host.topology
        if node.queue:
            queue = topology.find_queue(node.queue)
            if queue is None:
                return 0
            topology.senders.begin(QUEUE, queue.name, self.number, self)
            return queue.node
        exchange = topology.find_exchange(node.exchange)
        if exchange is None:
            return 0
        topology.senders.begin(EXCHANGE, exchange.name, self.number, self)
        return exchange.node

    # Deliveries.

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Publish one message; not behind one for which the gateway has ended the link."""
        if self._over:
            self._transactions.lose(event.state)
            self.record(event.payload, event.message_format, Reason.LINK_DETACHED)
            return
        if event.rcv_second and not event.settled:
            self._answers.second.add(event.delivery_id)
        lasting = self._answers.lasting
        if event.resume and lasting is not None:
            lasting.resume(event.delivery_id, event.tag, self._answers, settled=event.settled)
            self._give_credit()
        elif isinstance(event.state, TransactionalState):
            self._on_transactional(event, event.state)
        elif lasting is None or event.settled or lasting.came(event.delivery_id, event.tag):
            self._take(event)
        else:
            self.record(event.payload, event.message_format, Reason.OVER_LIMIT)
            text = "too much is kept of what became of this user's deliveries"
            self.on_unanswerable(Error(condition=RESOURCE_LIMIT_EXCEEDED, description=text))

    def _on_transactional(self, event: DeliveryReceived, state: TransactionalState) -> None:
        """Publish in a transaction; without that the link ends."""
        work = self._transactions.find(state.txn_id)
        if work is None:
            text = "no transaction of that id"
            self.record(event.payload, event.message_format, Reason.ROLLBACK)
            self.on_unanswerable(Error(condition=UNKNOWN_ID, description=text))
            return
        works = self._answers.works
        works[event.delivery_id] = work
        self._take(event)
        if event.settled:
            works.pop(event.delivery_id, None)

    def _take(self, event: DeliveryReceived) -> None:
        if event.message_format == BATCH_FORMAT:
            self._on_batch(event)
        else:
            message = self._arrivals.read(event.payload, event.message_format)
            if isinstance(message, Refusal):
                self._refuse(event, message)
            else:
                self._publish(event, message)
        self._give_credit()  # Whatever has become of it, it has used some.

    def _refuse(self, event: DeliveryReceived, refusal: Refusal) -> None:
        """A delivery has come to nothing by itself; who has settled it hears so, too.

        By the end of the link (Using the Anonymous Terminus for Message Routing, 2.2.2; nobody says
        how else), or of the transaction.
        """
        self._answers.refuse(event, refusal)
        if event.settled:
            self._tell_settled(event, refusal)

    def _tell_settled(self, event: DeliveryReceived, refusal: Refusal) -> None:
        """No outcome is told; one of a link whose node was deleted crossed with what tells that."""
        if self._error is None and event.delivery_id not in self._answers.works:
            self.on_unanswerable(error_of(refusal, event.tag))

    def record(self, payload: bytes, message_format: int, reason: Reason) -> None:
        """A delivery ended the link before it was whole, or came behind its end: it has come."""
        self._arrivals.record_unread(payload, message_format, reason)

    def _token(self, event: DeliveryReceived) -> int:
        if not event.settled:
            return event.delivery_id
        self._settled += 1
        return -self._settled

    def _publish(self, event: DeliveryReceived, message: Message) -> None:
        if self._takes_back and not event.settled:
            message.flags |= Flag.OUTCOMES
        token = self._token(event)
        hears = self._hears(event)
        published = self._hand_on(event, message, token)
        status = published.status
        if status is PublishStatus.IN_TURN:
            if hears:
                self._told.tell_last(TOLD_ACCEPTED)
            if not event.settled:
                answers = self._answers
                answers.safe_with.add(event.delivery_id, answers)
        elif status is PublishStatus.PENDING:
            if hears:
                self._parts[token] = self._told.part()
            self._hold(token, 1, len(message.payload))
        else:
            refusal = self._refusal_of(published, message)
            if hears:
                self._told.tell_last(TOLD_ACCEPTED if refusal is None else TOLD_REJECTED)
            if refusal is not None:
                self._refuse(event, refusal)
            elif self._client.bridge.pressure.blocked and not event.settled:
                self._answers.safe_with.add(event.delivery_id, self._answers)
            else:
                self._answers.end(event, STATE_ACCEPTED)

    def _hears(self, event: DeliveryReceived) -> bool:
        """Whether the client is told how it ends: not if it has settled it, or in a transaction."""
        return not event.settled and event.delivery_id not in self._answers.works

    def _hand_on(self, event: DeliveryReceived, message: Message, token: int) -> Published:
        works = self._answers.works
        work = works.get(event.delivery_id) if works else None
        if work is None:
            return self._publishing.publish(message, self._addressee, token, self.number)
        transacting = self._client.host.transacting
        return transacting.publish(work.transaction, message, self._addressee, token, self.number)

    def _refusal_of(self, published: Published, message: Message) -> Refusal | None:
        """Why a publish has come to nothing; `None` if it has not."""
        if published.status is PublishStatus.REFUSED:
            refusal = published.refusal or Refusal(Condition.INTERNAL_ERROR, "")
            return self._client.publish_access.bridge_refusal(refusal, message)
        if published.status is PublishStatus.UNROUTABLE:
            if message.exchange == qmf.QMF_DIRECT and self._asked_for_management(message):
                return None
            if self.lenient or self._is_for_topic(message):
                return None
            return Refusal(Condition.NOT_FOUND, "no queue took the message")
        return None

    def _is_for_topic(self, message: Message) -> bool:
        """Whether a message by the anonymous terminus says itself what capability `topic` does."""
        if self.node is not None or self._strict:
            return False
        return capability_in(message.payload, message.body_at) == Capability.TOPIC

    def _asked_for_management(self, message: Message) -> bool:
        """Nobody took a message to the exchange of management; whether it is answered."""
        client = self._client
        return qmf.answer_1_0(
            client.bridge, client.host, client.settings, message, client.context()
        )

    def _on_batch(self, event: DeliveryReceived) -> None:
        """Publish the messages of one batch, if all of them may be."""
        messages: list[Message] = []
        before = self._told.last
        try:
            payloads = messages_in(event.payload, self._client.settings.limits.batch_max)
        except LimitError as limit:
            self.record(event.payload, event.message_format, Reason.OVER_LIMIT)
            self._refuse(event, Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, str(limit)))
            return
        except DecodeError as error:
            self.record(event.payload, event.message_format, Reason.UNDECODABLE)
            self._refuse(event, Refusal(Condition.DECODE_ERROR, str(error)))
            return
        refusal: Refusal | None = None
        for number, payload in enumerate(payloads, 1):
            message = self._arrivals.read(payload, 0)
            if not isinstance(message, Refusal):
                messages.append(message)
            elif refusal is None:
                why = f"message {number} of the batch: {message.description}"
                refusal = Refusal(message.condition, why)
        if refusal is None:
            self._publish_batch(event, messages, before)
        else:
            self._arrivals.record_rest(messages)
            self._refuse(event, refusal)

    def _publish_batch(self, event: DeliveryReceived, messages: list[Message], before: int) -> None:
        token = self._token(event)
        if messages and self._hears(event):
            first, last = messages[0].id, messages[-1].id
            self._parts[token] = Part(before, first, last, len(messages))
        told = self.node is not None and self.node.queue and not event.settled
        batch = Batch(len(messages))
        for message in messages:
            if told:
                # What is taken back is sent again, not the whole batch; what is rejected is told.
                message.flags |= Flag.TELL_UNROUTABLE
            published = self._hand_on(event, message, token)
            refusal = self._refusal_of(published, message)
            if refusal is not None:
                self._answers.fail(event, refusal)  # Some messages of the delivery may be in it.
                batch.stop(refusal)
                self._arrivals.record_rest(messages[batch.taken + 1 :])
                break
            batch.take(published.status, len(message.payload))
        if batch.held_back:
            self._batches[token] = batch
            self._hold(token, batch.held_back, batch.octets)
        elif event.settled:
            if batch.refusal is not None:
                self._tell_settled(event, batch.refusal)
        else:
            waits = batch.in_turn or self._client.bridge.pressure.blocked
            if waits and batch.refusal is None:
                self._tell(token, TOLD_ACCEPTED)
                self._answers.safe_with.add(token, self._answers)
            else:
                self._end_batch(token, batch)

    def _end_batch(self, delivery_id: int, batch: Batch) -> None:
        if batch.refusal is not None:
            self._tell(delivery_id, TOLD_REJECTED)
            self._answers.reject(delivery_id, batch.refusal)
        else:
            outcome = ACCEPTED if batch.outcome is None else batch.outcome
            self._tell(delivery_id, outcome_of(outcome.kind))
            self._answers.tell_outcome(delivery_id, outcome)

    def _tell(self, token: int, outcome: int) -> None:
        """The log is to have that the client hears of a delivery."""
        part = self._parts.pop(token, None)
        if part is not None:
            self._told.tell(part, outcome)

    def on_told(self) -> None:
        """Outcomes have been told: there may be credit to give, or nothing left to wait for."""
        if self._leaving:
            self._leave()
        else:
            self._give_credit()

    def on_unanswerable(self, error: Error) -> None:
        """No outcome says it, or none that the source knows: the link has to tell (3.2.1, 4.2)."""
        self._client.on_link_refused(from_symbol(error.condition))
        self.link.send_detach(error=error)
        self._holder.forget_producer(self)

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A message that was held back has its outcome."""
        self._held_back -= 1
        batch = self._batches.get(token)
        if batch is not None and not batch.let_go(outcome):
            return
        self._let_go(token)
        if batch is not None:
            del self._batches[token]
            if token >= 0:
                self._end_batch(token, batch)
        elif token >= 0:
            self._tell(token, outcome_of(outcome.kind))
            self._answers.tell_outcome(token, outcome)
        self.on_told()

    # Credit and the end.

    def _hold(self, token: int, messages: int, octets: int) -> None:
        self._held_back += messages
        self._octets[token] = octets
        self._client.doubt.hold(octets, messages)

    def _let_go(self, token: int) -> None:
        self._client.doubt.let_go(self._octets.pop(token, 0))

    def held_back(self) -> int:
        """How many messages the bridge holds back."""
        return self._held_back

    def outstanding(self) -> bool:
        """Whether an outcome has not been told yet."""
        return self._held_back > 0 or self._answers.safe_with.waiting()

    def on_aborted(self, tag: bytes) -> None:
        """A delivery was given up, and its credit with it."""
        if self._answers.lasting is not None:
            self._answers.lasting.forget(tag)
        self._give_credit()

    def on_doubt(self) -> None:
        """Too much is held back on the connection, or so much no more."""
        self._give_credit()

    def _give_credit(self) -> None:
        if self._leaving or self._client.draining or not self.link.attached:
            return
        if self._held_back and self._client.doubt.high:
            if self.link.credit > 0:
                self.link.send_flow(credit=0)
                self._client.touch()
            return
        wanted = self._client.settings.limits.link_credit - self._held_back
        if wanted > 0 and self.link.credit * 2 <= wanted:
            self.link.send_flow(credit=wanted)
            self._client.touch()

    def on_detached(self, closed: bool) -> None:
        """The client detached: answer in kind when the last outcome has been told."""
        self._leaving = True
        self._closed = closed
        self._leave()

    def on_stolen(self) -> None:
        """See `Takeable`."""
        self.link.send_detach(error=Error(condition=STOLEN))
        self._holder.forget_producer(self, suspends=True)
        self._client.touch()

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """Its node was deleted: detach when the last outcome has been told."""
        refusal = Refusal(condition, description)
        self._client.uses.on_refused(refusal)
        self._client.on_link_refused(condition)
        self._error = error_of(refusal)
        self._leaving = True
        self._leave()

    def _leave(self) -> None:
        if self.outstanding():
            return
        if self._over:
            self.leave()
        else:
            self.link.send_detach(closed=self._closed, error=self._error)
            self._holder.forget_producer(self)
            self._client.touch()

    def end(self, *, suspends: bool = False) -> Suspended | None:
        """The link is gone; what was published stays so.

        `suspends`: the client may attach it again, and ask what became of that.
        """
        self._over = True
        self._leaving = True
        self._client.host.topology.senders.end(self.number)
        lasting = self._answers.lasting
        suspended: Suspended | None = None
        if lasting is not None:
            suspended = lasting.leave(self.number, suspends=suspends)
            self._answers.suspend()
        if suspended is None or not self.outstanding():
            self.leave()
        return suspended

    def leave(self) -> None:
        """Nothing is to be told any more."""
        if self._left:
            return
        self._left = True
        if self._answers.lasting is not None:
            self._answers.lasting.on_all_told(self.number)
        self._addressee.leave()
        self._answers.forget()
        self._batches = {}
        self._parts = {}
        self._held_back = 0
        for token in list(self._octets):
            self._let_go(token)
        reason = Reason.NONE if self._error is None else Reason.CANCELLED
        self._client.record_link_end(self.number, reason)

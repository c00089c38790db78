"""One session of a 1.0 client: its links, and what their deliveries wait for.

It is the owner of the nodes and subscriptions of its links, and waits for commits where the client
wants to hear of a settlement (rcv-settle-mode second).
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import DeliveryState, Error, TransactionalState
from gateway.amqp_1_0._spec_conditions import DETACH_FORCED, NOT_IMPLEMENTED, UNKNOWN_ID
from gateway.amqp_1_0.events import (
    AttachReceived,
    DeliveryAborted,
    DeliveryReceived,
    DetachReceived,
    DispositionReceived,
    FlowReceived,
)
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.features import Feature
from gateway.faces.outcomes import error_of, outcome_of, without_words
from gateway.faces.owning import SessionOwner
from gateway.faces.safe_with import SafeWith
from gateway.faces.server_1_0 import permissions
from gateway.faces.server_1_0.approach import Approach
from gateway.faces.server_1_0.attach import attach_consumer, attach_producer, refuse
from gateway.faces.server_1_0.consumer import Consumer
from gateway.faces.server_1_0.control_link import ControlLink
from gateway.faces.server_1_0.ended import Ended
from gateway.faces.server_1_0.links import Links
from gateway.faces.server_1_0.producer import Producer
from gateway.faces.server_1_0.transactions import Transactions
from gateway.faces.server_1_0.unsettled import Said, merging_of
from gateway.message import Refusal
from gateway.translate.conditions import from_symbol
from gateway.wire.work import DELIVERY, SETTLING, WORK


@final
class ServerSession:
    """Implements `CommitWaiter`, `LookUpWaiter`."""

    def __init__(
        self, client: Client, session: Session, transactions: Transactions, ended: Ended
    ) -> None:
        self.client = client
        self.session = session
        self._owner = SessionOwner(client)
        number = self._owner.number
        self.audit_name = client.bridge.audit.name(f"{client.peer.connection_id}/{number}")
        self.links = Links(client, transactions, self._owner, ended)
        self._transactions = transactions
        self._ended = ended
        self._safe_with = SafeWith(client.bridge)
        # Deliveries whose settlement the client waits for, by delivery-id, and their outcomes.
        self._settling: dict[int, tuple[Outgoing, DeliveryState | None]] = {}

    # Links.

    def on_attach(self, event: AttachReceived) -> None:
        """A client attaches a link."""
        link = event.link
        if self.client.draining:
            link.refuse(Error(condition=DETACH_FORCED, description="the gateway stops"))
            return
        if link.role == _spec.RECEIVER:
            refusal = attach_producer(self.links, link, event.attach)
        else:
            refusal = attach_consumer(self.links, link, event.attach)
        if refusal is not None:
            self.client.uses.on_refused(refusal)
            self.client.on_link_refused(refusal.condition)
            self.client.visit.step(f"link {link.name!r} is refused: {refusal.description}")
            refuse(link, refusal)

    def on_detach(self, event: DetachReceived) -> None:
        """A client detaches a link, or answers the gateway's detach."""
        link = event.link
        held = link.context
        # A closing answer to a detach that does not close would have the client attach the link
        # again to close it (2.6.6), and so end a durable subscription.
        closed = event.detach.closed is True
        if isinstance(held, Producer):
            if held.lasts and not closed and event.detach.error is None:
                self.links.forget_producer(held, suspends=True)
            elif held.number in self.links.producers:
                held.on_detached(closed)
                return  # it ends when its outcomes have been told
        elif isinstance(held, Consumer):
            asked = held.asked is not None
            suspends = not closed and event.detach.error is None
            if held.kept_there is not None and closed:
                held.kept_there.over = True
            self.links.forget_consumer(held, Reason.LINK_DETACHED, suspends=suspends)
            if asked:
                _answer_without_source(link)
            if held.durable_queue and closed:
                self.client.host.declaring.delete_queue(held.durable_queue, self._owner)
        elif isinstance(held, ControlLink):
            self.links.forget_control(held)
        elif isinstance(held, Approach) and self.links.forget_approach(link):
            link.send_attach(source=held.attach.source, target=None)
        link.send_detach(closed=closed)
        self.links.on_detached(link)

    def on_link_failed(self, link: Link, refused: DeliveryReceived | None) -> None:
        """The client broke the link's rules: it is detached already; `refused` was too large."""
        held = link.context
        if isinstance(held, Producer):
            if refused is not None:
                self._transactions.lose(refused.state)
                held.record(refused.payload, refused.message_format, Reason.OVER_LIMIT)
            self.links.forget_producer(held)
        elif isinstance(held, Consumer):
            self.links.forget_consumer(held, Reason.LINK_DETACHED)
        elif isinstance(held, ControlLink):
            self.links.forget_control(held)
        elif isinstance(held, Approach):
            self.links.forget_approach(link)

    def on_rules_changed(self) -> None:
        """Other access rules are in force: detach the links that they forbid."""
        links = self.links
        for producer in list(links.producers.values()):
            refusal = permissions.producer_refusal(links, producer.node)
            if refusal is not None and producer.number in links.producers:
                producer.on_unanswerable(error_of(refusal))
        for consumer in list(links.consumers.values()):
            refusal = permissions.review(links, consumer)
            if refusal is not None and consumer in links.consumers.values():
                consumer.on_cancelled(refusal.condition, refusal.description)

    # Deliveries.

    def on_delivery(self, event: DeliveryReceived) -> None:
        """A client publishes, or speaks to the coordinator."""
        held = event.link.context
        if isinstance(held, Producer):
            held.on_delivery(event)
            return
        if isinstance(held, ControlLink):
            held.on_delivery(event)

    def on_aborted(self, event: DeliveryAborted) -> None:
        """A client has given up what it had begun to publish."""
        held = event.link.context
        if isinstance(held, Producer):
            held.on_aborted(event.tag)
            return
        if isinstance(held, ControlLink):
            held.give_credit()

    def on_flow(self, event: FlowReceived) -> None:
        """A client gives credit, or tells its own state."""
        WORK.units += SETTLING
        held = event.link.context
        if not isinstance(held, Consumer):
            return
        if event.link.asks_to_acquire:
            self.client.uses.count(Feature.TRANSACTIONAL_ACQUISITION)
            text = "messages are not acquired in transactions here"
            self._end_consumer(held, Error(condition=NOT_IMPLEMENTED, description=text))
        else:
            held.on_flow()

    def on_disposition(self, event: DispositionReceived) -> None:
        """A client speaks of what it received."""
        state = event.state
        settled = event.settled
        WORK.units += SETTLING + DELIVERY * len(event.deliveries)
        if isinstance(state, TransactionalState):
            self._on_retired(event, state)
            return
        dynamics = self.links.dynamics
        settlement = self.client.host.settlement
        node = ""
        outcome = outcome_of(state)
        merging = merging_of(outcome)
        for delivery in event.deliveries:
            held = delivery.link.context
            if not isinstance(held, Consumer):
                continue
            if held.on_disposition(delivery, settled, outcome, merging):
                self._settling[delivery.delivery_id] = (delivery, without_words(state))
                if not settlement.is_late(self, delivery.delivery_id):
                    self._safe_with.add(delivery.delivery_id, self)
            if held.unsettled.node_name != node:
                dynamics.on_settled(node)
                node = held.unsettled.node_name
        dynamics.on_settled(node)
        self.resume()
        self.client.touch()

    def _on_retired(self, event: DispositionReceived, state: TransactionalState) -> None:
        """A client gives outcomes in a transaction."""
        transactions = self._transactions
        outcome = outcome_of(state.outcome)
        said = Said(state.outcome, outcome, merging_of(outcome), event.settled)
        for delivery in event.deliveries:
            held = delivery.link.context
            if not isinstance(held, Consumer):
                continue
            work = transactions.find(state.txn_id)
            if work is None:
                text = "no transaction of that id"
                self._end_consumer(held, Error(condition=UNKNOWN_ID, description=text))
            else:
                transactions.retire(work, held.unsettled, delivery, said)
        if event.ended:
            transactions.on_ended(state.txn_id)
        self.resume()
        self.client.touch()

    def _end_consumer(self, consumer: Consumer, error: Error) -> None:
        self.client.on_link_refused(from_symbol(error.condition))
        consumer.link.send_detach(error=error)
        self.links.forget_consumer(consumer, Reason.LINK_DETACHED)
        self.client.touch()

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """What the client has given an outcome is where that takes it."""
        if token in self._settling:
            self._safe_with.add(token, self)

    def on_committed(self, turn: int) -> None:
        """Settle what the client has given an outcome in that turn, and waits for."""
        for first, last in self._safe_with.take(turn):
            for delivery_id in range(first, last + 1):
                delivery, state = self._settling.pop(delivery_id)
                self.session.settle_outgoing(delivery, state)
        self.client.touch()

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        self.links.resume()

    # The end.

    def outstanding(self) -> bool:
        """Whether anything is unsettled or not confirmed yet."""
        return self.under_way() or self.links.owed() > 0

    def under_way(self) -> bool:
        """Whether anything is not confirmed yet, or an outcome not told."""
        return bool(self._settling) or self.links.under_way()

    def end(self, reason: Reason) -> None:
        """The session is over: give back what it holds, let go what it owns."""
        self.links.end(reason)
        self._safe_with.clear()
        self._settling.clear()
        self.client.host.owners.release(self._owner)
        self.client.record_session_end(self.audit_name, reason)
        self.client.bridge.audit.forget(self.audit_name)
        self._ended.add_session(self.session)


def _answer_without_source(link: Link) -> None:
    """Attach a link that is to be detached at once: it came to nothing before it was answered."""
    attach = link.attach
    link.send_attach(source=None, target=None if attach is None else attach.target)

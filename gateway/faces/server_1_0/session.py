"""One session of a 1.0 client: its links, and what their deliveries wait for.

It is the owner of the nodes and subscriptions of its links, and waits for commits where the client
wants to hear of a settlement (rcv-settle-mode second).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Attach, DeliveryState, Error, TransactionalState
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
from gateway.amqp_1_0.outgoing import Outgoing
from gateway.amqp_1_0.session import Session
from gateway.audit.schema import Reason
from gateway.bridge.host import VirtualHost
from gateway.faces.crossings import HostNodes
from gateway.faces.features import Feature
from gateway.faces.server_1_0.approach import Approach10
from gateway.faces.server_1_0.attach import (
    answer_attached,
    answer_producer,
    attach_consumer,
    attach_producer,
    refuse,
)
from gateway.faces.server_1_0.consumer import Consumer10
from gateway.faces.server_1_0.coordinator import ControlLink
from gateway.faces.server_1_0.producer import Producer10
from gateway.message import Refusal

if TYPE_CHECKING:
    from gateway.faces.server_1_0.connection import Server10


@final
class ServerSession10:
    """Implements `Owner`, `CommitWaiter`."""

    def __init__(self, face: Server10, session: Session, host: VirtualHost) -> None:
        self.face = face
        self.session = session
        self.host = host
        self.bridge = face.bridge
        self.nodes = HostNodes(host)
        self.dynamics = face.settings.dynamic_of(host)
        self.number = face.bridge.numbers.next_owner()
        self.audit_name = face.bridge.audit.name(f"{face.peer.connection_id}/{self.number}")
        self.producers: dict[int, Producer10] = {}  # by the audit number of the link
        self.consumers: dict[int, Consumer10] = {}  # by the client's handle
        self.approaches: dict[Approach10, None] = {}
        self.controls: dict[int, ControlLink] = {}  # by the audit number of the link
        self._safe_with: list[tuple[int, Outgoing, DeliveryState | None]] = []

    def owner_id(self) -> int:
        """As an `Owner`."""
        return self.number

    def connection_id(self) -> int:
        """As an `Owner`."""
        return self.face.peer.connection_id

    def has_room(self, link: Link) -> bool:
        """Whether a delivery may be sent on the link now."""
        session = link.session
        limit = self.face.settings.limits.unsettled_max
        unsettled = len(session.unsettled_out) + self.face.transactions.kept
        return self.face.has_room() and not session.blocked and unsettled < limit

    # Links.

    def on_attach(self, event: AttachReceived) -> None:
        """A client attaches a link."""
        link = event.link
        if self.face.draining:
            link.refuse(Error(condition=DETACH_FORCED, description="the gateway stops"))
            return
        if link.role == _spec.RECEIVER:
            refusal = attach_producer(self, link, event.attach)
        else:
            refusal = attach_consumer(self, link, event.attach)
        if refusal is not None:
            self.face.uses.on_refused(refusal)
            refuse(link, refusal)

    def on_attached(self, consumer: Consumer10) -> None:
        """An upstream has attached the source of a link that waits for it."""
        answer_attached(self, consumer)
        self.face.touch()

    def approach(self, approach: Approach10) -> bool:
        """Whether the attach waits for an upstream; `on_approached` follows."""
        if not self.host.reaching.reach(approach.node.queue, approach, 0):
            return False
        approach.link.context = approach
        self.approaches[approach] = None
        self.face.on_link(opened=True)
        return True

    def forget_approach(self, approach: Approach10) -> bool:
        """Nobody waits for it any more; whether anybody did."""
        if approach not in self.approaches:
            return False
        del self.approaches[approach]
        self.face.on_link(opened=False)
        return True

    def on_approached(self, approach: Approach10, refusal: Refusal | None) -> None:
        """An upstream has said whether it has the queue that a client wants to publish to."""
        if not self.forget_approach(approach):
            return
        if refusal is None:
            answer_producer(self, approach.link, approach.attach, approach.node)
        else:
            refuse(approach.link, refusal)
        self.face.touch()

    def add_producer(self, producer: Producer10) -> None:
        """A link by which the client publishes is attached."""
        producer.link.context = producer
        self.producers[producer.number] = producer
        self.dynamics.on_attached(producer.node_name())
        self.face.on_link(opened=True)

    def add_consumer(self, consumer: Consumer10) -> None:
        """A link by which the client receives is attached, or about to be."""
        consumer.link.context = consumer
        self.consumers[consumer.link.handle_in] = consumer
        self.dynamics.on_attached(consumer.node_name)
        self.face.on_link(opened=True)

    def attach_control(self, link: Link, attach: Attach) -> None:
        """The client wants to declare transactions."""
        control = ControlLink(self, link)
        link.context = control
        self.controls[control.number] = control
        self.face.on_link(opened=True)
        control.attach(attach)

    def forget_control(self, control: ControlLink) -> None:
        """Its link is gone."""
        if self.controls.pop(control.number, None) is not None:
            control.end()
            self.face.on_link(opened=False)

    def forget_producer(self, producer: Producer10) -> None:
        """Its link is gone."""
        if self.producers.pop(producer.number, None) is not None:
            producer.end()
            self.dynamics.on_detached(producer.node_name(), creator=bool(producer.dynamic))
            self.face.on_link(opened=False)

    def forget_consumer(self, consumer: Consumer10, reason: Reason) -> None:
        """Its link is gone."""
        handle = consumer.link.handle_in
        if self.consumers.get(handle) is consumer:
            del self.consumers[handle]
            consumer.end(reason)
            self.dynamics.on_detached(consumer.node_name, creator=bool(consumer.dynamic))
            self.face.on_link(opened=False)

    def on_detach(self, event: DetachReceived) -> None:
        """A client detaches a link, or answers our detach."""
        link = event.link
        held = link.context
        # A closing answer to a detach that does not close would have the client attach the link
        # again to close it (2.6.6), and so end a durable subscription.
        closed = event.detach.closed is True
        if isinstance(held, Producer10):
            if held.number in self.producers:
                held.on_detached(closed)
                return
        elif isinstance(held, Consumer10):
            asked = held.asked is not None
            self.forget_consumer(held, Reason.LINK_DETACHED)
            if asked:
                _answer_without_source(link)
            if held.durable_queue and closed:
                self.host.declaring.delete_queue(held.durable_queue, self)
        elif isinstance(held, ControlLink):
            self.forget_control(held)
        elif isinstance(held, Approach10) and self.forget_approach(held):
            link.send_attach(source=held.attach.source, target=None)
        link.send_detach(closed=closed)

    def on_link_failed(self, link: Link) -> None:
        """The client broke the link's rules: it is detached already."""
        held = link.context
        if isinstance(held, Producer10):
            self.forget_producer(held)
        elif isinstance(held, Consumer10):
            self.forget_consumer(held, Reason.LINK_DETACHED)
        elif isinstance(held, ControlLink):
            self.forget_control(held)
        elif isinstance(held, Approach10):
            self.forget_approach(held)

    # Deliveries.

    def on_delivery(self, event: DeliveryReceived) -> None:
        """A client publishes, or speaks to the coordinator."""
        held = event.link.context
        if isinstance(held, Producer10):
            held.on_delivery(event)
            return
        if isinstance(held, ControlLink):
            held.on_delivery(event)

    def on_aborted(self, event: DeliveryAborted) -> None:
        """A client has given up what it had begun to publish."""
        held = event.link.context
        if isinstance(held, Producer10):
            held.on_aborted()
            return
        if isinstance(held, ControlLink):
            held.give_credit()

    def on_flow(self, event: FlowReceived) -> None:
        """A client gives credit, or tells its own state."""
        held = event.link.context
        if not isinstance(held, Consumer10):
            return
        if event.link.asks_to_acquire:
            self.face.uses.count(Feature.TRANSACTIONAL_ACQUISITION)
            text = "messages are not acquired in transactions here"
            self._end_consumer(held, Error(condition=NOT_IMPLEMENTED, description=text))
        else:
            held.on_flow()

    def on_disposition(self, event: DispositionReceived) -> None:
        """A client speaks of what it received."""
        state = event.state
        settled = event.settled
        if isinstance(state, TransactionalState):
            self._on_retired(event, state)
            return
        node = ""
        for delivery in event.deliveries:
            held = delivery.link.context
            if not isinstance(held, Consumer10):
                continue
            if held.on_disposition(delivery, settled, state):
                self._safe_with.append((self.bridge.wait(self), delivery, state))
            if held.node_name != node:
                self.dynamics.on_settled(node)
                node = held.node_name
        self.dynamics.on_settled(node)
        self.resume()
        self.face.touch()

    def _on_retired(self, event: DispositionReceived, state: TransactionalState) -> None:
        """A client gives outcomes in a transaction."""
        transactions = self.face.transactions
        for delivery in event.deliveries:
            held = delivery.link.context
            if not isinstance(held, Consumer10):
                continue
            work = transactions.find(state.txn_id)
            if work is None:
                text = "no transaction of that id"
                self._end_consumer(held, Error(condition=UNKNOWN_ID, description=text))
            else:
                transactions.retire(
                    work, held, delivery, settled=event.settled, state=state.outcome
                )
        self.resume()
        self.face.touch()

    def _end_consumer(self, consumer: Consumer10, error: Error) -> None:
        consumer.link.send_detach(error=error)
        self.forget_consumer(consumer, Reason.LINK_DETACHED)
        self.face.touch()

    def on_committed(self, turn: int) -> None:
        """As a `CommitWaiter`: settlements that the client waits for are on disk."""
        done = 0
        for number, delivery, state in self._safe_with:
            if number > turn:
                break
            done += 1
            self.session.settle_outgoing(delivery, state)
        del self._safe_with[:done]
        self.face.touch()

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        for consumer in self.consumers.values():
            consumer.resume()

    # The end.

    def outstanding(self) -> bool:
        """Whether anything is unsettled or not confirmed yet."""
        if self._safe_with:
            return True
        for consumer in self.consumers.values():
            if consumer.unsettled:
                return True
        return any(producer.outstanding() for producer in self.producers.values())

    def held_back(self) -> int:
        """How many messages of this session the bridge holds back."""
        return sum([producer.held_back() for producer in self.producers.values()])

    def end(self, reason: Reason) -> None:
        """The session is over: give back what it holds, let go what it owns."""
        for control in list(self.controls.values()):
            self.forget_control(control)
        for consumer in list(self.consumers.values()):
            self.forget_consumer(consumer, reason)
        for producer in list(self.producers.values()):
            self.forget_producer(producer)
        for approach in list(self.approaches):
            self.forget_approach(approach)
        self._safe_with = []
        self.host.owners.release(self)
        self.bridge.audit.session_detached(
            self.bridge.now_ms,
            self.face.peer.connection_id,
            session=self.audit_name,
            reason=reason,
        )
        self.bridge.audit.forget(self.audit_name)


def _answer_without_source(link: Link) -> None:
    """Attach a link that is to be detached at once: it came to nothing before it was answered."""
    attach = link.attach
    link.send_attach(source=None, target=None if attach is None else attach.target)

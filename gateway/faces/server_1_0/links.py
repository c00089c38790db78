"""The links of one session of a 1.0 client, by what they are for, from attach to their end."""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0._spec import Attach
from gateway.amqp_1_0.link import Link
from gateway.audit.schema import Reason
from gateway.bridge.seams import Owner
from gateway.faces.client import Client
from gateway.faces.server_1_0.consumer import Consumer
from gateway.faces.server_1_0.control_link import ControlLink
from gateway.faces.server_1_0.ended import Ended
from gateway.faces.server_1_0.producer import Producer
from gateway.faces.server_1_0.suspended import Suspended
from gateway.faces.server_1_0.transactions import Transactions
from gateway.wire.work import ATTACHED, SUBSCRIPTION, WORK

# After these a client may come back for what is unsettled.
SUSPENDING: Final = (Reason.NONE, Reason.SESSION_ENDED, Reason.CONNECTION_LOST)


@final
class Links:
    """Implements `ProducerHolder`, `ConsumerHolder`, `ControlHolder`.

    Attributes:
        owner: of the nodes and subscriptions of the links: the session.
        producers, controls: by their number in the audit log.
        consumers: by the client's handle.
    """

    __slots__ = (
        "_approaches",
        "_detaching",
        "_ended",
        "_suspended",
        "client",
        "consumers",
        "controls",
        "dynamics",
        "owner",
        "producers",
        "transactions",
    )

    def __init__(
        self, client: Client, transactions: Transactions, owner: Owner, ended: Ended
    ) -> None:
        self.client = client
        self.transactions = transactions
        self.owner = owner
        self.dynamics = client.settings.dynamic_of(client.host)
        self.producers: dict[int, Producer] = {}
        self.consumers: dict[int, Consumer] = {}
        self.controls: dict[int, ControlLink] = {}
        self._approaches: dict[Link, None] = {}
        self._ended = ended
        self._suspended: list[Suspended] = []  # whose time begins with the session's end
        self._detaching: dict[Link, None] = {}  # over for us, while the client has yet to answer

    def add_approach(self, link: Link) -> None:
        """A link waits for an upstream."""
        self._approaches[link] = None
        self.client.on_link(opened=True)

    def forget_approach(self, link: Link) -> bool:
        """It waits no more; whether it did."""
        if link not in self._approaches:
            return False
        del self._approaches[link]
        self._forget(link)
        return True

    def add_producer(self, producer: Producer) -> None:
        """A link by which the client publishes is attached."""
        WORK.units += ATTACHED
        producer.link.context = producer
        self.producers[producer.number] = producer
        self.dynamics.on_attached(producer.node_name())
        self.client.on_link(opened=True)

    def forget_producer(self, producer: Producer, *, suspends: bool = False) -> None:
        """Its link is gone; `suspends`: the client may attach it again."""
        if self.producers.pop(producer.number, None) is not None:
            self._suspend(producer.end(suspends=suspends))
            self.dynamics.on_detached(producer.node_name(), creator=bool(producer.dynamic))
            self._forget(producer.link)

    def add_consumer(self, consumer: Consumer) -> None:
        """A link by which the client receives is attached, or about to be."""
        WORK.units += ATTACHED
        consumer.link.context = consumer
        consumer.link.waiting = consumer
        self.consumers[consumer.link.handle_in] = consumer
        self.dynamics.on_attached(consumer.unsettled.node_name)
        self.client.on_link(opened=True)

    def forget_consumer(
        self, consumer: Consumer, reason: Reason, *, suspends: bool = False
    ) -> None:
        """Its link is gone; `suspends`: the client may attach it again."""
        handle = consumer.link.handle_in
        if self.consumers.get(handle) is consumer:
            del self.consumers[handle]
            self._suspend(consumer.end(reason, suspends=suspends))
            self.dynamics.on_detached(consumer.unsettled.node_name, creator=bool(consumer.dynamic))
            self._forget(consumer.link)

    def _suspend(self, suspended: Suspended | None) -> None:
        """A link that is gone has left something, unless that is `None`."""
        if suspended is not None and suspended.counts_from_detach:
            suspended.start(self.client.bridge.now_ms)
        elif suspended is not None:
            self._suspended = [each for each in self._suspended if not each.over]
            self._suspended.append(suspended)

    def attach_control(self, link: Link, attach: Attach) -> None:
        """The client wants to declare transactions."""
        control = ControlLink(self.client, self.transactions, self, link)
        WORK.units += ATTACHED
        link.context = control
        self.controls[control.number] = control
        self.client.on_link(opened=True)
        control.answer(attach)

    def forget_control(self, control: ControlLink) -> None:
        """Its link is gone."""
        if self.controls.pop(control.number, None) is not None:
            control.end()
            self._forget(control.link)

    def on_detached(self, link: Link) -> None:
        """The client has detached a link; that it is over may have been before."""
        if link in self._detaching:
            del self._detaching[link]
            self._ended.add_link(link)

    def _forget(self, link: Link) -> None:
        self.client.on_link(opened=False)
        if link.detached:
            self._ended.add_link(link)
        else:
            self._detaching[link] = None

    # All of them.

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        WORK.units += SUBSCRIPTION * len(self.consumers)
        for consumer in self.consumers.values():
            consumer.resume()

    def on_doubt(self) -> None:
        """Too much is held back for this client, or so much no more."""
        for producer in self.producers.values():
            producer.on_doubt()

    def held_back(self) -> int:
        """How many messages the bridge holds back."""
        return sum([producer.held_back() for producer in self.producers.values()])

    def owed(self) -> int:
        """Deliveries that are unsettled, or wait for the client's window."""
        owed = 0
        for consumer in self.consumers.values():
            owed += len(consumer.unsettled.deliveries) + consumer.link.queued
        return owed

    def under_way(self) -> bool:
        """Whether an outcome has not been told yet."""
        return any(producer.outstanding() for producer in self.producers.values())

    def end(self, reason: Reason) -> None:
        """The session is over."""
        for control in list(self.controls.values()):
            self.forget_control(control)
        suspends = reason in SUSPENDING
        for consumer in list(self.consumers.values()):
            self.forget_consumer(consumer, reason, suspends=suspends)
        for producer in list(self.producers.values()):
            self.forget_producer(producer, suspends=suspends)
        for suspended in self._suspended:
            suspended.start(self.client.bridge.now_ms)
        self._suspended = []
        for link in list(self._approaches):
            self.forget_approach(link)
        for link in self._detaching:
            self._ended.add_link(link)
        self._detaching = {}

"""Sends what is in one queue of the bridge to its node at an upstream: the outlet of that queue.

One relay for each queue that an upstream serves; a sender link for each address that its messages
go to. What the upstream released, and what broke a link, is sent again after a while, in order;
nothing behind it overtakes it. Rows: messages to remote nodes, upstream outcomes.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import TransactionalState
from gateway.amqp_1_0.transactions import posting
from gateway.audit.digests import digest_part
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import UNLIMITED
from gateway.bridge.remote.remote import LookUpWaiter, Target
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.checking import check, wants_look
from gateway.faces.dialled.bindings_first import BindingsFirst
from gateway.faces.dialled.outflow import Outflow
from gateway.faces.dialled.returns import Returns
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.detours import Detours
from gateway.faces.upstream_1_0.links import Links, is_elsewhere
from gateway.faces.upstream_1_0.managing.queues import ManagedQueues
from gateway.faces.upstream_1_0.receiving.feeders import Feeders
from gateway.faces.upstream_1_0.receiving.reply_nodes import ReplyNodes
from gateway.faces.upstream_1_0.sending.sender import Sender
from gateway.message import (
    Condition,
    Delivery,
    Message,
    Refusal,
    UpstreamTransaction,
)
from gateway.translate import routing_key
from gateway.translate.context import Translated10
from gateway.translate.facts import AMQP_1_0, body_digest_1_0
from gateway.translate.message import to_1_0
from gateway.translate.profiles.profile import ANNOTATIONS
from gateway.translate.towards_1_0.hop import header_section

NOTHING: Final = Refusal(Condition.NONE, "")
ELSEWHERE: Final = Refusal(
    Condition.NOT_IMPLEMENTED,
    "the link is redirected to a container that has no part in the transaction",
)
MOVED: Final = Refusal(Condition.INTERNAL_ERROR, "the queue has moved to another upstream")


class Serving(Protocol):
    """The upstream as the bridge knows it: the `Remote` that serves the queue."""

    def on_relay_over(self, queue: Queue) -> None:
        """The relay of `queue` has stopped, and nothing of it is unsettled."""


@final
class Relay:
    """Implements `Outlet`, `Owner`, `returns.Stopping`, `sender.Sending`.

    Attributes:
        outflow: the bridge's side.
    """

    __slots__ = (
        "_address",
        "_bindings",
        "_context",
        "_detours",
        "_number",
        "_queue",
        "_queues",
        "_refusal",
        "_remote",
        "_replies",
        "_returns",
        "_senders",
        "_sent",
        "_subscribing",
        "_suspicion",
        "_upstream",
        "outflow",
    )

    def __init__(
        self,
        upstream: UpstreamContext,
        detours: Detours,
        queues: ManagedQueues,
        feeders: Feeders,
        remote: Serving,
        queue: Queue,
    ) -> None:
        self._upstream = upstream
        self._detours = detours
        self._queues = queues
        self._remote = remote
        self._queue = queue
        self._address = upstream.addresses.queue_target(queue)  # asked once: it is every message's
        self._number = upstream.bridge.numbers.next_owner()
        host = upstream.bridge.hosts[queue.host]
        self._subscribing = host.subscribing
        self.outflow = Outflow(upstream, queue)
        self._returns = Returns(upstream, host, self.outflow, self)
        self._suspicion = self._returns.suspicion
        answered = queue.target != Target.SHADOW  # by who got the message itself
        self._replies = ReplyNodes(upstream, host, self.outflow, answered=answered)
        self._context = upstream.translation(host, self._replies)
        self._bindings = BindingsFirst(feeders, upstream.counts, queue, self.outflow)
        self._senders: dict[str, Sender] = {}
        self._refusal = NOTHING
        self._sent = 0

    def start(self) -> None:
        """Take what the queue has, from now on."""
        subscription = self._subscribing.relay(self._queue, self, self)
        self.outflow.subscription = subscription
        subscription.grant(UNLIMITED)
        self._ask_ahead()

    def stop(self) -> None:
        """Send nothing more; over when nothing is unsettled."""
        outflow = self.outflow
        outflow.stopped = True
        if outflow.subscription is not None:
            outflow.subscription.stop()
        self._leave()

    def abandon(self) -> None:
        """Send nothing more, and wait for no outcome: what is unsettled goes back, marked."""
        for sender in self._senders.values():
            sender.abandon()
        self.stop()

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        """Have `waiter` hear whether the queue's node exists; `False`: it does, or has no link."""
        sender = self._senders.get(self._address or "")
        return sender is not None and sender.reach(waiter, token)

    def unsettled(self) -> int:
        """How many copies the upstream has and has not settled."""
        return sum([len(sender.unsettled) for sender in self._senders.values()])

    # As an `Owner`.

    def owner_id(self) -> int:
        """The number that the bridge knows this relay by."""
        return self._number

    def connection_id(self) -> int:
        """No client's connection."""
        return 0

    def user(self) -> str:
        """No client's."""
        return ""

    # As an `Outlet`.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one message to its address."""
        upstream = self._upstream
        outflow = self.outflow
        if upstream.bridge.now_ms < outflow.wait_until_ms or not self._may_send():
            return outflow.block()
        message = delivery.message
        address = self._address
        if address is None:
            address = upstream.addresses.target_of(self._queue, message)
        if not address:
            text = f"{self._queue.name!r} has no address at upstream {upstream.name}"
            return self._refuse(Refusal(Condition.NOT_IMPLEMENTED, text))
        sender = self._sender(address)
        if sender is None:
            return outflow.block()
        if sender.refusal is not None:
            return self._refuse(sender.refusal)
        if not sender.ready():
            sender.note_waiting()
            return outflow.block()
        if self._suspicion.one_by_one and self.unsettled():
            return outflow.block()
        if self._bindings.waits():
            return outflow.block()
        transaction = delivery.transaction
        outside = None if transaction is None else self._outside(transaction, sender)
        if outside is not None:
            return self._refuse(outside)
        context = self._context
        context.now_ms = upstream.bridge.now_ms
        self._replies.message = message
        translated = to_1_0(message, context, delivery.annotations)
        self._replies.message = None
        if self._replies.take_pending():
            losses.take_back(context.counts, translated.losses)
            return outflow.block()
        if translated.refusal is not None:
            losses.record(upstream.bridge, translated.losses, message.id, delivery.subscription)
            return self._refuse(translated.refusal)
        return self._send(delivery, translated, sender)

    def _send(self, delivery: Delivery, translated: Translated10, sender: Sender) -> DeliverStatus:
        """What a message has become, unless that is too large now."""
        upstream, context, message = self._upstream, self._context, delivery.message
        head = self._head(delivery, translated, context.now_ms)
        body = translated.body
        body_at = translated.body_at
        limit = sender.size_max()
        size = len(head) + len(body) - body_at
        if limit and size > limit:
            losses.take_back(context.counts, translated.losses)
            text = f"{size} octets, and {sender.address} takes {limit}"
            return self._refuse(Refusal(Condition.MESSAGE_SIZE_EXCEEDED, text))
        if translated.losses:
            losses.record(upstream.bridge, translated.losses, message.id, delivery.subscription)
            self._replies.record_denied(message)
        if translated.data_head:
            delivery.body_digest = digest_part(body, body_at, translated.body_end)
        else:
            delivery.body_digest = body_digest_1_0(body, body_at, translated.body_end)
        delivery.body_changed = translated.body_changed
        delivery.id_digest = translated.id_digest
        if message.encoding != AMQP_1_0 and wants_look(message.id, translated.kind, context):
            payload = head + body[body_at:]
            check(upstream.bridge, delivery, payload, b"", translated.losses, context)
        sender.send(delivery, head, body, body_at, _state_of(delivery.transaction))
        self._sent += 1
        sender.used = self._sent
        upstream.counts.sent += 1
        upstream.touch()
        return DeliverStatus.TAKEN

    def _head(self, delivery: Delivery, translated: Translated10, now_ms: int) -> bytes:
        """All sections in front of the body."""
        message = delivery.message
        head = translated.head
        if self._queue.target == Target.EXCHANGE:
            head = self._with_key(message, head, translated)
        if message.message_format != 0:
            return head
        front = header_section(message, translated.priority, delivery.delivery_count, now_ms)
        return front + head + translated.data_head

    def _may_send(self) -> bool:
        """Whether deliveries may go upstream, by any connection that has room."""
        upstream = self._upstream
        return not upstream.draining and (
            upstream.health.connected or len(self._detours.standing) > 0
        )

    def _with_key(self, message: Message, head: bytes, translated: Translated10) -> bytes:
        """Have a message say its key where neither the exchange nor the subject will."""
        if self._upstream.profile.keys_in == ANNOTATIONS or message.message_format != 0:
            return head
        _, head = routing_key.take(head)  # it may have been published before
        if routing_key.subject_of(head) == message.routing_key:
            return head
        context = self._context
        if context.escrow:
            return routing_key.annotated(head, message.routing_key)
        translated.losses = translated.losses + routing_key.lose(context.counts)
        return head

    def refusal(self) -> Refusal:
        """Why the last delivery was refused."""
        return self._refusal

    def on_attached(self) -> None:
        """A queue in transit is local: there was nothing to wait for."""

    def on_drained(self) -> None:
        """Never asked for."""

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue is gone; what is under way ends as the upstream says."""
        self.outflow.stopped = True
        self._leave()

    def _refuse(self, refusal: Refusal) -> DeliverStatus:
        self._refusal = refusal
        return DeliverStatus.REFUSED

    # What senders and returns tell.

    def makes_up_for(self, refusal: Refusal) -> bool:
        """Whether the node was missing, and is made now."""
        queue = self._queue
        return (
            refusal.condition == Condition.NOT_FOUND
            and queue.target == Target.QUEUE
            and self._queues.make(queue.host, queue.name)
        )

    def on_sender_ended(self, sender: Sender) -> None:
        """Its link was refused or detached: it is asked for again after a while."""
        if self.outflow.stopped:
            self._leave()
            return
        slot = sender.slot
        if slot is not None:
            slot.retry()
        self.outflow.resume()

    def on_returned(self) -> None:
        """It was stopped, and one copy less is unsettled."""
        self._leave()

    # Addresses.

    def _ask_ahead(self) -> None:
        """A queue's own address is known before the first message: its link is attached now."""
        if self._address:
            self._add(self._address)

    def _sender(self, address: str) -> Sender | None:
        sender = self._senders.get(address)
        if sender is None and self._make_room():
            sender = self._add(address)
        return sender

    def _add(self, address: str) -> Sender:
        upstream = self._upstream
        sender = Sender(upstream, self.outflow, self._returns, self, address)
        self._senders[address] = sender
        sender.slot = upstream.links.add(sender, address=address)
        return sender

    def _make_room(self) -> bool:
        """Below the limit of addresses, by giving up the idle link that was used longest ago."""
        if len(self._senders) < self._upstream.settings.addresses_max:
            return True
        idle: Sender | None = None
        for sender in self._senders.values():
            if not sender.unsettled and (idle is None or sender.used < idle.used):
                idle = sender
        if idle is None:
            return False
        del self._senders[idle.address]
        self._drop(idle)
        return True

    def _drop(self, sender: Sender) -> None:
        sender.leave()
        slot = sender.slot
        if slot is not None:
            slot.drop()

    # What the upstream tells.

    def on_broken(self, links: Links) -> None:
        """The connection of these is about to be lost: the peer broke it."""
        senders = [each for each in self._senders.values() if each.is_of(links)]
        unsettled = [each for sender in senders for each in sender.unsettled.values()]
        if not unsettled:
            return
        suspicion = self._suspicion
        if suspicion.on_broken(unsettled):
            for sender in senders:
                sender.unsettled.clear()
            text = "the upstream broke its connection each time that this message was sent alone"
            self._returns.on_poison(unsettled[0], text)
        if suspicion.one_by_one:
            self.outflow.wait(self._upstream.settings.back_off_ms(suspicion.ends - 1))

    def _outside(self, transaction: UpstreamTransaction, sender: Sender) -> Refusal | None:
        """Why what `sender` sends would be no part of the transaction that a copy is in."""
        if not transaction.is_at(self._remote):
            return MOVED
        return ELSEWHERE if is_elsewhere(sender.slot, self._upstream.links) else None

    def _leave(self) -> None:
        """Stopped: the links go once the upstream has settled everything."""
        subscription = self.outflow.subscription
        if subscription is None or self.unsettled():
            return
        self.outflow.subscription = None
        subscription.cancel()
        for sender in self._senders.values():
            self._drop(sender)
        self._senders = {}
        self._replies.drop()
        self._remote.on_relay_over(self._queue)


def _state_of(transaction: UpstreamTransaction | None) -> TransactionalState | None:
    """What makes a transfer part of a transaction (4.4.1)."""
    return None if transaction is None else posting(transaction.txn_id)

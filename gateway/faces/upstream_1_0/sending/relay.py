"""Sends what is in one queue of the bridge to its node at an upstream: the outlet of that queue.

One relay for each queue that an upstream serves; a sender link for each address that its messages
go to. What the upstream released, and what broke a link, is sent again after a while, in order;
nothing behind it overtakes it. Rows: messages to remote nodes, upstream outcomes.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import TransactionalState
from gateway.amqp_1_0.transactions import posting
from gateway.audit.schema import Reason
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.remote.remote import LookUpWaiter, Target
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.detours import Detours
from gateway.faces.upstream_1_0.links import Links, is_elsewhere
from gateway.faces.upstream_1_0.managing.queues import ManagedQueues
from gateway.faces.upstream_1_0.receiving.feeders import Feeders
from gateway.faces.upstream_1_0.receiving.reply_nodes import ReplyNodes
from gateway.faces.upstream_1_0.sending.bindings_first import BindingsFirst
from gateway.faces.upstream_1_0.sending.sender import Sender
from gateway.faces.upstream_1_0.sending.suspicion import Suspicion
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.message import (
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Delivery,
    Flag,
    Outcome,
    OutcomeKind,
    Refusal,
    UpstreamTransaction,
)
from gateway.translate import routing_key
from gateway.translate.facts import body_digest_1_0
from gateway.translate.message import to_1_0
from gateway.translate.outcomes import lose_annotations, merged
from gateway.translate.profiles.profile import ANNOTATIONS
from gateway.translate.towards_1_0.hop import header_section

REBUILD_SLACK: Final = 64
NOTHING: Final = Refusal(Condition.NONE, "")
ELSEWHERE: Final = Refusal(
    Condition.NOT_IMPLEMENTED,
    "the link is redirected to a container that has no part in the transaction",
)
LOST: Final = Outcome(
    OutcomeKind.REJECTED,
    condition=Condition.INTERNAL_ERROR,
    description="the upstream was lost",
)
MOVED: Final = Refusal(Condition.INTERNAL_ERROR, "the queue has moved to another upstream")


class Serving(Protocol):
    """The upstream as the bridge knows it: the `Remote` that serves the queue."""

    def on_relay_over(self, queue: Queue) -> None:
        """The relay of `queue` has stopped, and nothing of it is unsettled."""


@final
class Relay:
    """Implements `Outlet`, `Owner`, `Sleeper`, `bindings_first.Held`, `reply_nodes.Held`.

    Attributes:
        upstream: where it sends to.
        subscription: the bridge's side; set by `start`.
    """

    __slots__ = (
        "_address",
        "_attempts",
        "_bindings",
        "_blocked",
        "_context",
        "_detours",
        "_failures",
        "_number",
        "_queue",
        "_queues",
        "_refusal",
        "_remote",
        "_replies",
        "_senders",
        "_sent",
        "_settlement",
        "_stopped",
        "_subscribing",
        "_suspicion",
        "_wait_until_ms",
        "subscription",
        "upstream",
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
        self.upstream = upstream
        self._detours = detours
        self._queues = queues
        self._remote = remote
        host = upstream.bridge.hosts[queue.host]
        self._subscribing = host.subscribing
        self._settlement = host.settlement
        self._queue = queue
        self._address = upstream.addresses.queue_target(queue)  # asked once: it is every message's
        self._number = upstream.bridge.numbers.next_owner()
        self._replies = ReplyNodes(upstream, host, self)
        self._context = upstream.translation(host, self._replies)
        self.subscription: Subscription | None = None
        self._senders: dict[str, Sender] = {}
        self._attempts: dict[int, int] = {}  # by position: how often it came back
        self._refusal = NOTHING
        self._blocked = False
        self._stopped = False
        self._suspicion = Suspicion()
        self._failures = 0
        self._wait_until_ms = 0
        self._sent = 0
        self._bindings = BindingsFirst(feeders, upstream.counts, queue, self)

    def start(self) -> None:
        """Take what the queue has, from now on."""
        self.subscription = self._subscribing.relay(self._queue, self, self)
        self.subscription.grant(UNLIMITED)
        self._ask_ahead()

    def stop(self) -> None:
        """Send nothing more; over when nothing is unsettled."""
        self._stopped = True
        if self.subscription is not None:
            self.subscription.stop()
        self._leave()

    def abandon(self) -> None:
        """Send nothing more, and wait for no outcome: what is unsettled goes back, marked."""
        for sender in self._senders.values():
            sender.abandon()
        self.stop()

    @property
    def over(self) -> bool:
        """It was stopped, and nothing of it is unsettled at the upstream."""
        return self._stopped and self.subscription is None

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        """Have `waiter` hear whether the queue's node is there; `False`: it is, or has no link."""
        sender = self._senders.get(self._address or "")
        return sender is not None and sender.reach(waiter, token)

    def unsettled(self) -> int:
        """How many copies the upstream has and has not settled."""
        return sum([len(sender.unsettled) for sender in self._senders.values()])

    def note_link(self, slot: LinkSlot) -> None:
        """A link to an address is attached."""
        if self.subscription is not None:
            self.upstream.note_link(self.subscription.number, self._queue.node, slot)

    # As an `Owner`.

    def owner_id(self) -> int:
        """The number that the bridge knows this relay by."""
        return self._number

    def connection_id(self) -> int:
        """No client's connection."""
        return 0

    # As an `Outlet`.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one message to its address."""
        upstream = self.upstream
        if upstream.bridge.now_ms < self._wait_until_ms or not self._may_send():
            return self._block()
        message = delivery.message
        address = self._address
        if address is None:
            address = upstream.addresses.target_of(self._queue, message)
        if not address:
            text = f"{self._queue.name!r} has no address at upstream {upstream.name}"
            return self._refuse(Refusal(Condition.NOT_IMPLEMENTED, text))
        sender = self._sender(address)
        if sender is None:
            return self._block()
        if sender.refusal is not None:
            return self._refuse(sender.refusal)
        if not sender.ready():
            sender.note_waiting()
            return self._block()
        if self._suspicion.one_by_one and self.unsettled():
            return self._block()
        if self._bindings.waits():
            return self._block()
        transaction = delivery.transaction
        outside = None if transaction is None else self._outside(transaction, sender)
        if outside is not None:
            return self._refuse(outside)
        context = self._context
        context.now_ms = upstream.bridge.now_ms
        translated = to_1_0(message, context, delivery.annotations)
        if self._replies.take_pending():
            return self._block()
        if translated.losses:
            losses.record(upstream.bridge, translated.losses, message.id, delivery.subscription)
        if translated.refusal is not None:
            return self._refuse(translated.refusal)
        head = translated.head
        if self._queue.target == Target.EXCHANGE:
            head = self._with_key(delivery, head)
        if message.message_format == 0:
            front = header_section(
                message, translated.priority, delivery.delivery_count, context.now_ms
            )
            head = front + head
        limit = sender.size_max()
        size = len(head) + len(translated.body)
        if limit and size > limit:
            text = f"{size} octets, and {sender.address} takes {limit}"
            return self._refuse(Refusal(Condition.MESSAGE_SIZE_EXCEEDED, text))
        delivery.body_digest = body_digest_1_0(translated.body, 0, translated.body_end)
        delivery.body_changed = translated.body_changed
        sender.send(delivery, head, translated.body, _state_of(transaction))
        self._sent += 1
        sender.used = self._sent
        upstream.counts.sent += 1
        upstream.touch()
        return DeliverStatus.TAKEN

    def _may_send(self) -> bool:
        """Whether deliveries may go upstream, by any connection that has room."""
        upstream = self.upstream
        return not upstream.draining and (
            upstream.health.connected or len(self._detours.standing) > 0
        )

    def _with_key(self, delivery: Delivery, head: bytes) -> bytes:
        """Have a message say its key where neither the exchange nor the subject will."""
        message = delivery.message
        if self.upstream.profile.keys_in == ANNOTATIONS or message.message_format != 0:
            return head
        _, head = routing_key.take(head)  # it may have been published before
        if routing_key.subject_of(head) == message.routing_key:
            return head
        context = self._context
        if context.escrow:
            return routing_key.annotated(head, message.routing_key)
        lost = routing_key.lose(context.counts)
        losses.record(self.upstream.bridge, lost, message.id, delivery.subscription)
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
        self._stopped = True
        self._leave()

    def _block(self) -> DeliverStatus:
        self._blocked = True
        return DeliverStatus.BLOCKED

    def _refuse(self, refusal: Refusal) -> DeliverStatus:
        self._refusal = refusal
        return DeliverStatus.REFUSED

    # Addresses.

    def capabilities(self) -> list[str]:
        """What the targets of its senders are asked to be."""
        return self.upstream.addresses.target_capabilities(self._queue)

    def must_look_up(self) -> bool:
        """Whether a sender has to see if its node is there: attaching does not tell."""
        return self._queue.target == Target.QUEUE and self.upstream.profile.missing == "drop"

    def makes_up_for(self, refusal: Refusal) -> bool:
        """Whether the node was missing, and is made now."""
        queue = self._queue
        return (
            refusal.condition == Condition.NOT_FOUND
            and queue.target == Target.QUEUE
            and self._queues.make(queue.host, queue.name)
        )

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
        upstream = self.upstream
        sender = Sender(upstream, self, address)
        self._senders[address] = sender
        sender.slot = upstream.links.add(sender, address=address)
        return sender

    def _make_room(self) -> bool:
        """Below the limit of addresses, by giving up the idle link that was used longest ago."""
        if len(self._senders) < self.upstream.settings.addresses_max:
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

    # What senders tell.

    def resume(self) -> None:
        """There is credit, or room, or a link again."""
        subscription = self.subscription
        if self._blocked and subscription is not None:
            self._blocked = False
            subscription.resume()
            self.upstream.touch()

    def idle(self) -> bool:
        """Nothing waits to be sent."""
        return self._queue.available == 0

    def on_outcome(self, delivery: Delivery, outcome: Outcome) -> None:
        """The upstream has decided."""
        self.upstream.counts.settled_sent[outcome.kind] += 1
        self._suspicion.clear()
        if self._presume(delivery, outcome):
            return
        if outcome.kind == OutcomeKind.ACCEPTED:
            self._failures = 0
        elif outcome.kind != OutcomeKind.REJECTED and not self._passes(delivery):
            outcome = self._again(delivery, outcome)
        if outcome.kind in (OutcomeKind.ACCEPTED, OutcomeKind.REJECTED):
            self._attempts.pop(delivery.position, None)
        self._settle(delivery, outcome, Reason.NONE)

    def on_busy(self, delivery: Delivery) -> None:
        """Not now, and no word against it: it goes again after a while, however often."""
        self.upstream.counts.settled_sent[OutcomeKind.REJECTED] += 1
        if self._presume(delivery, RELEASED):
            return
        if not self._passes(delivery):
            self._back_off()
        self._settle(delivery, RELEASED, Reason.NONE)

    def on_unknown(self, delivery: Delivery) -> None:
        """Sent, and nobody knows what became of it: it goes again, marked."""
        self.upstream.counts.unsettled_lost += 1
        if self._presume(delivery, LOST):
            return
        self._settle(delivery, MODIFIED_FAILED, Reason.UPSTREAM_LOST)

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
            self.on_poison(unsettled[0], text)
        if suspicion.one_by_one:
            wait_ms = self.upstream.settings.back_off_ms(suspicion.ends - 1)
            self._wait_until_ms = self.upstream.bridge.now_ms + wait_ms
            self.upstream.wake(self, self._wait_until_ms)

    def on_poison(self, delivery: Delivery, text: str) -> None:
        """It is why the upstream breaks what it comes by, which `text` says."""
        self.upstream.counts.poison += 1
        self._attempts.pop(delivery.position, None)
        if self._presume(delivery, LOST):
            return
        outcome = Outcome(
            OutcomeKind.REJECTED, condition=Condition.INTERNAL_ERROR, description=text
        )
        self._settle(delivery, outcome, Reason.NONE)

    # Transactions.

    def _outside(self, transaction: UpstreamTransaction, sender: Sender) -> Refusal | None:
        """Why what `sender` sends would be no part of the transaction that a copy is in."""
        if not transaction.is_at(self._remote):
            return MOVED
        return ELSEWHERE if is_elsewhere(sender.slot, self.upstream.links) else None

    def _presume(self, delivery: Delivery, outcome: Outcome) -> bool:
        """In a transaction an outcome is presumed, or failure: its end says what it is."""
        transaction = delivery.transaction
        if transaction is None or delivery.settled:
            return False
        transaction.on_presumed(delivery, outcome)
        if self._stopped:
            self._leave()
        self.upstream.touch()
        return True

    def on_sender_ended(self, sender: Sender) -> None:
        """Its link was refused or detached: it is asked for again after a while."""
        if self._stopped:
            self._leave()
            return
        slot = sender.slot
        if slot is not None:
            slot.retry()
        self.resume()

    def _settle(self, delivery: Delivery, outcome: Outcome, reason: Reason) -> None:
        self._settlement.settle(delivery, outcome, reason)
        if self._stopped:
            self._leave()
        self.upstream.touch()

    def _passes(self, delivery: Delivery) -> bool:
        """Whether its publisher takes released and modified as they are."""
        return self._queue.transit and (delivery.message.flags & Flag.OUTCOMES) != 0

    def _finds_no_route(self) -> bool:
        """Whether released means that."""
        profile = self.upstream.profile
        return self._queue.target == Target.EXCHANGE and profile.unroutable == "released"

    def _again(self, delivery: Delivery, outcome: Outcome) -> Outcome:
        """Released or modified: back to its place for a while, but not for ever."""
        if outcome.kind == OutcomeKind.RELEASED and self._finds_no_route():
            text = "the upstream's exchange has no route for it"
            return Outcome(OutcomeKind.REJECTED, condition=Condition.UNROUTABLE, description=text)
        tries = self._attempts.get(delivery.position, 0) + 1
        placement = self._queue.placement
        tries_max = None if placement is None else placement.max_redeliveries
        if tries_max is None:
            tries_max = self.upstream.settings.max_redeliveries
        if outcome.undeliverable_here or tries > tries_max:
            text = f"not taken by the upstream, {tries} times tried"
            return Outcome(
                OutcomeKind.REJECTED, condition=Condition.PRECONDITION_FAILED, description=text
            )
        self._attempts[delivery.position] = tries
        self._forget_gone()
        self._back_off()
        if outcome.annotations:
            outcome = self._merged(delivery, outcome)
        return outcome

    def _forget_gone(self) -> None:
        """Copies that came back and then expired, or were purged, are counted no more."""
        if len(self._attempts) > 2 * self._queue.depth + REBUILD_SLACK:
            self._attempts = {
                position: tries
                for position, tries in self._attempts.items()
                if self._queue.holds(position)
            }

    def _back_off(self) -> None:
        """Send nothing for a while."""
        self._failures += 1
        wait_ms = self.upstream.settings.redelivery_back_off_ms(self._failures)
        self._wait_until_ms = self.upstream.bridge.now_ms + wait_ms
        self.upstream.wake(self, self._wait_until_ms)

    def _merged(self, delivery: Delivery, outcome: Outcome) -> Outcome:
        made = merged(delivery.annotations, outcome)
        if not made.annotations:
            bridge = self.upstream.bridge
            lost = lose_annotations(self._context.counts)
            losses.record(bridge, lost, delivery.message.id, delivery.subscription)
        return made

    def handle_deadline(self, now_ms: int) -> None:
        """The time of backing off is over."""
        self.resume()

    def _leave(self) -> None:
        """Stopped: the links go once the upstream has settled everything."""
        subscription = self.subscription
        if subscription is None or self.unsettled():
            return
        self.subscription = None
        subscription.cancel()
        for sender in self._senders.values():
            self._drop(sender)
        self._senders = {}
        self._replies.drop()
        self._remote.on_relay_over(self._queue)


def _state_of(transaction: UpstreamTransaction | None) -> TransactionalState | None:
    """What makes a transfer part of a transaction (4.4.1)."""
    return None if transaction is None else posting(transaction.txn_id)

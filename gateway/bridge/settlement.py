"""What becomes of a copy when its subscriber is done with it, or its queue is.

Settling an acquired delivery ends it and either removes the copy or gives it back to its place.
A deleted queue lives on, nameless, until its acquired copies are settled: accepted ones count as
accepted, others go the way that the available ones went.
"""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.audit.schema import Reason
from gateway.bridge.ledger import COPY
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.dead_letters import DeadLetters
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.latency import Run
from gateway.bridge.queues.places import AVAILABLE, PAGE_BITS, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.remote.transit import GONE, Transit
from gateway.bridge.spread.clearing import EVERYBODY, Clearing
from gateway.bridge.spread.entering import FEW
from gateway.bridge.spread.rerouting import NO_END, Rerouting
from gateway.bridge.topology import Topology
from gateway.message import ACCEPTED, Delivery, Outcome, OutcomeKind
from gateway.wire import work


@final
class Settlement:
    """The verbs settle, acquire, purge, and the end of queues and links.

    Implements `Emptied`, `Moves`, `displacing.Taking`.

    Attributes:
        clearing: queues of which more goes than can go in one turn.
    """

    __slots__ = (
        "_apart",
        "_copies",
        "_dead_letters",
        "_dispatcher",
        "_publishing",
        "_rerouting",
        "_topology",
        "_transit",
        "clearing",
    )

    def __init__(
        self,
        topology: Topology,
        dispatcher: Dispatcher,
        publishing: Publishing,
        transit: Transit,
    ) -> None:
        self.clearing = Clearing(self, dispatcher.copies.turns.spread, dispatcher.copies.paging)
        self._apart = False  # see `settle_apart`
        self._rerouting: Rerouting | None = None
        self._dead_letters = DeadLetters(self, dispatcher.copies.turns, dispatcher.copies.entering)
        self._transit = transit
        self._topology = topology
        self._dispatcher = dispatcher
        self._copies: Copies = dispatcher.copies
        self._publishing = publishing
        publishing.displacing.taking = self

    def settle(self, delivery: Delivery, outcome: Outcome, reason: Reason = Reason.NONE) -> bool:
        """End `delivery`; `False`, audited as settled too late, when it had ended before.

        Also `False` when its upstream has taken it back.
        Of an acquired delivery: `ACCEPTED` removes the copy; `RELEASED` gives it back to its place;
        `MODIFIED` too, counted as failed with `delivery_failed`, kept from this subscription with
        `undeliverable_here`, its annotations in place of the copy's (they follow it to an alternate
        exchange and over a restart); `REJECTED` sends it to the queue's alternate exchange, else
        drops it. A browsed one just ends. What was durable is safe with the current turn
        (`Bridge.wait`).
        `reason` (session ended, connection lost, link detached ...) with `RELEASED` or `MODIFIED`:
        it was not the peer's doing, and is audited as requeued.
        """
        ledger = self._copies.ledger
        if delivery.settled:
            ledger.counts.settled_too_late += 1
            return False
        delivery.settled = True
        subscription = self._dispatcher.links[delivery.subscription]
        queue = subscription.queue
        acquired = delivery.acquired or queue.inbound
        entry = queue.places.get(delivery.position) if acquired else None
        in_time = True
        kind = outcome.kind
        if subscription.taken_back and acquired and not _has(entry, delivery):
            return self._settle_late(subscription)
        if entry is not None and (kind is OutcomeKind.ACCEPTED or kind is OutcomeKind.REJECTED):
            run = subscription.runs[entry.message.encoding]
            if run.since_us == entry.entered_us:
                run.count += 1
            else:
                run.begin(entry.entered_us)
        if entry is not None and queue.placement is not None:
            in_time = self._settle_remote(delivery, queue, entry, outcome, reason, subscription)
        elif entry is None:
            ledger.settled(delivery, queue.node, outcome.kind, False, reason)
        elif outcome.kind == OutcomeKind.ACCEPTED:
            ledger.settled(delivery, queue.node, outcome.kind, True, Reason.NONE)
            self._copies.leave(queue, entry)
        elif outcome.kind == OutcomeKind.REJECTED:
            self._reject(delivery, queue, entry)
        else:
            ledger.settled(delivery, queue.node, outcome.kind, False, reason)
            self._return(queue, entry, outcome, subscription)
        subscription.unsettled -= 1
        if not acquired:
            queue.places.pin(delivery.position, -1)
        if queue.groups is not None and not queue.deleted:
            self._topology.lines[queue.number].on_entered()  # a group may be free
        self._forget_if_over(subscription)
        return in_time

    def _settle_late(self, subscription: Subscription) -> bool:
        """It was taken back when its queue was deleted."""
        self._copies.ledger.counts.settled_too_late += 1
        subscription.taken_back -= 1
        self._forget_if_over(subscription)
        return False

    def _forget_if_over(self, subscription: Subscription) -> None:
        if subscription.cancelled and subscription.is_settled():
            self.forget_link(subscription)

    def settle_apart(
        self, delivery: Delivery, outcome: Outcome, reason: Reason
    ) -> Rerouting | None:
        """The same, but for where a rejected copy goes: that is left to be gone on with."""
        self._apart = True
        try:
            self.settle(delivery, outcome, reason)
        finally:
            self._apart = False
        rerouting = self._rerouting
        self._rerouting = None
        return rerouting

    def _settle_remote(
        self,
        delivery: Delivery,
        queue: Queue,
        entry: Entry,
        outcome: Outcome,
        reason: Reason,
        subscription: Subscription,
    ) -> bool:
        transit = self._transit
        if queue.inbound:
            return transit.settle_inbound(delivery, queue, entry, outcome, reason)
        kind = outcome.kind
        if kind == OutcomeKind.REJECTED:
            transit.reject(delivery, queue, entry, outcome)
        elif kind == OutcomeKind.ACCEPTED or transit.passes_on(entry, reason):
            self._copies.ledger.settled(delivery, queue.node, kind, True, Reason.NONE)
            self._copies.leave(queue, entry, outcome)
        else:
            self._copies.ledger.settled(delivery, queue.node, kind, False, reason)
            self._return(queue, entry, outcome, subscription)
        return True

    def begin_holding(self, subscription: Subscription) -> None:
        """A branch is to hold copies of a queue: nothing more is sent by this subscription."""
        self._dispatcher.links[subscription.number] = subscription
        subscription.queue.users.links += 1

    def waits_of(self, queue: Queue, target: int) -> list[Run]:
        """For `Subscription.runs` of a subscription that is not the bridge's to make."""
        return self._copies.ledger.latency.settled_by(target, inbound=queue.inbound)

    def hand_over(self, delivery: Delivery, to: Subscription) -> Delivery | None:
        """An unsettled delivery is `to`'s from now on: the new one; `None`: it has ended.

        One that was only browsed ends with it.
        """
        subscription = self._dispatcher.links[delivery.subscription]
        queue = subscription.queue
        entry = queue.places.get(delivery.position) if delivery.acquired else None
        if delivery.settled or not _has(entry, delivery):
            self.settle(delivery, ACCEPTED)
            return None
        assert entry is not None
        delivery.settled = True
        subscription.unsettled -= 1
        entry.holder = to.number
        made = self._held(entry, to)
        made.body_digest, made.id_digest = delivery.body_digest, delivery.id_digest
        made.body_changed, made.sent_us = delivery.body_changed, delivery.sent_us
        self._copies.ledger.handed_over(queue, entry, delivery, made)
        self._forget_if_over(subscription)
        return made

    def hold_again(self, queue: Queue, entry: Entry, to: Subscription) -> Delivery:
        """An available copy that came back after a restart is `to`'s, as it was before."""
        queue.hold(entry, to.number)
        made = self._held(entry, to)
        made.id_digest = entry.message.id_digest
        self._copies.ledger.held(queue, entry, made)
        return made

    def _held(self, entry: Entry, to: Subscription) -> Delivery:
        to.sent += 1
        to.unsettled += 1
        count = entry.delivery_count
        return Delivery(entry.message, to.queue.number, entry.position, to.number, count, True)

    def keep(self, delivery: Delivery) -> None:
        """Nobody takes that delivery from whom it is with, whatever becomes of its queue."""
        self._dispatcher.links[delivery.subscription].kept = True

    def copies_of(self, delivery: Delivery) -> int:
        """How many copies an unsettled delivery may become if it is rejected, at most."""
        alternate = self._topology.alternate_of(self.queue_of(delivery))
        return 0 if alternate is None else len(alternate.bindings)

    def is_late(self, waiter: LookUpWaiter, token: int) -> bool:
        """Whether what the acting connection has settled is moved in later turns: then told."""
        return self._dead_letters.tell(self._copies.ledger.connection, waiter, token)

    def conclude(self, delivery: Delivery, how: AuditOutcome) -> None:
        """A copy that was sent in a transaction ends as that has: COMMITTED or otherwise.

        Or on its own, with an outcome that is the publisher's affair.
        """
        delivery.settled = True
        subscription = self._dispatcher.links[delivery.subscription]
        queue = subscription.queue
        entry = queue.places.get(delivery.position)
        assert entry is not None
        subscription.runs[entry.message.encoding].count_one(entry.entered_us)
        self._copies.ledger.concluded(delivery, queue.node, how)
        self._copies.leave(queue, entry)
        subscription.unsettled -= 1
        self._forget_if_over(subscription)

    def queue_of(self, delivery: Delivery) -> Queue:
        """Which queue an unsettled delivery is from."""
        return self._dispatcher.links[delivery.subscription].queue

    def queue_behind(self, link: int) -> Queue | None:
        """Which queue a subscription is for; `None`: it is over."""
        subscription = self._dispatcher.links.get(link)
        return None if subscription is None else subscription.queue

    def is_behind_upstream(self, link: int) -> bool:
        """Whether a subscription is for a remote queue."""
        queue = self.queue_behind(link)
        return queue is not None and queue.inbound

    def is_from_upstream(self, delivery: Delivery) -> bool:
        """Whether an unsettled delivery is of a remote queue."""
        return self.queue_of(delivery).inbound

    def acquire(self, delivery: Delivery) -> bool:
        """Make a browsed, unsettled delivery an acquired one; `False` if the copy is not free.

        Also `False` for what was browsed in a remote queue: the gateway holds it, but the upstream
        gave a copy.
        """
        if delivery.settled or delivery.acquired:
            return False
        subscription = self._dispatcher.links[delivery.subscription]
        queue = subscription.queue
        ledger = self._copies.ledger
        if queue.inbound:
            ledger.counts.unacquirable += 1
            return False
        entry = queue.places.get(delivery.position)
        if queue.deleted or not _is_free(queue, entry, delivery.subscription):
            return False
        assert entry is not None
        ledger.audit.settled(
            ledger.now_ms,
            delivery.message.id,
            delivery.position,
            node=queue.node,
            link=delivery.subscription,
            outcome=int(AuditOutcome.RELEASED),
            flags=COPY,
        )
        ledger.sent(queue, entry, delivery, True, False)
        subscription.sent += 1
        delivery.acquired = True
        queue.places.pin(delivery.position, -1)
        queue.hold(entry, delivery.subscription)
        return True

    def take_looked_at(self, link: int, position: int, message: int) -> bool:
        """Dequeue what a browsing subscription was sent as settled; `False`: it is not free.

        So it is as if it were sent once more, as settled, and acquired. What is on disk meanwhile
        is not free now, and comes back for whoever asks again.
        """
        queue = self.queue_behind(link)
        if queue is None or queue.deleted:
            return False
        ledger = self._copies.ledger
        if queue.inbound:
            ledger.counts.unacquirable += 1
            return False
        entry = queue.places.get(position)
        if entry is None and queue.places.is_away(position):
            self._copies.paging.want(queue, position >> PAGE_BITS, None)
        if not _is_free(queue, entry, link):
            return False
        assert entry is not None
        if entry.message.id != message:
            return False
        delivery = Delivery(entry.message, queue.number, position, link, entry.delivery_count, True)
        delivery.settled = True
        self._dispatcher.links[link].sent += 1
        ledger.sent(queue, entry, delivery, True, True)
        queue.hold(entry, link)
        self._copies.leave(queue, entry)
        return True

    def lingering_queues(self) -> list[Queue]:
        """Deleted queues that nobody can have anything of, and that are not empty yet."""
        late = [queue for queue in self._dead_letters.queues if queue.deleted]
        return [*self.clearing.deleted_queues(), *late]

    def purge(self, queue: Queue) -> int:
        """Drop every available copy; how many."""
        count = 0
        entry = queue.places.next_at(0)
        while entry is not None and entry.position < queue.behind:
            if entry.holder == AVAILABLE:
                self.drop(queue, entry)
                count += 1
            entry = queue.places.next_at(entry.position + 1)
        work.WORK.units += count * work.COPY
        return count

    def drop(self, queue: Queue, entry: Entry) -> None:
        """An available copy is purged."""
        self._copies.ledger.purged(queue, entry, Reason.PURGE)
        self._copies.leave(queue, entry)

    def abandon(self, queue: Queue, spared: int = EVERYBODY) -> None:
        """A queue is deleted: its available copies go, the acquired ones when they are settled.

        Where somebody else deletes it, those too, in their order, but for those of the owner
        `spared`: who has them is late to settle them. Many go over several turns.
        """
        if queue.placement is not None:
            spared = EVERYBODY  # an upstream has them
        if not self.clearing.abandon(queue, spared):
            self._topology.count_alternate(queue.settings.alternate_exchange, 1)
        self._topology.rows.store_deleted(queue)

    def end_deleted(self, queue: Queue) -> None:
        """The store brought a deleted queue back: nobody has its copies any more."""
        self.abandon(queue)
        if not queue.clearing and queue.users.links == 0:
            self._topology.forget_queue(queue)

    def take_back(self, queue: Queue, entry: Entry, spared: int) -> None:
        """See `Emptied`."""
        subscription = self._dispatcher.links.get(entry.holder)
        if subscription is not None and subscription.owner.owner_id() == spared:
            return
        if self.take(queue, entry, Reason.QUEUE_DELETED):
            self.orphan(queue, entry)

    def take(self, queue: Queue, entry: Entry, reason: Reason) -> bool:
        """See `displacing.Taking`. A failed delivery: who had it may have made use of it."""
        if queue in self._dead_letters.queues or entry.ticket is not None:
            return False  # it may be one that was rejected and waits for its turn
        link = entry.holder
        subscription = self._dispatcher.links[link]
        if subscription.kept:
            return False
        position, count = entry.position, entry.delivery_count
        delivery = Delivery(entry.message, queue.number, position, link, count, True)
        ledger = self._copies.ledger
        ledger.settled(delivery, queue.node, OutcomeKind.MODIFIED, False, reason)
        subscription.unsettled -= 1
        subscription.taken_back += 1
        self._copies.failed(queue, entry)
        self._copies.give_back(queue, entry)
        return True

    def on_cleared(self, queue: Queue) -> None:
        """A deleted queue has no available copies any more."""
        self.clearing.forget(queue)
        self._topology.count_alternate(queue.settings.alternate_exchange, -1)
        if queue.users.links == 0:
            self._topology.forget_queue(queue)

    def forget_link(self, subscription: Subscription) -> None:
        """Nothing of a cancelled subscription is unsettled any more."""
        del self._dispatcher.links[subscription.number]
        self.let_go(subscription.queue)

    def let_go(self, queue: Queue) -> None:
        """One fewer subscription, commit or dead letter needs the queue: forget a deleted one."""
        queue.users.links -= 1
        if queue.deleted and queue.users.links == 0 and not queue.clearing:
            self._topology.forget_queue(queue)

    def _reject(self, delivery: Delivery, queue: Queue, entry: Entry) -> None:
        ledger = self._copies.ledger
        if self._topology.alternate_of(queue) is None:
            ledger.settled(delivery, queue.node, OutcomeKind.REJECTED, True, Reason.NONE)
            ledger.counts.dropped += 1
            self._copies.leave(queue, entry)
            return
        ledger.settled(delivery, queue.node, OutcomeKind.REJECTED, False, Reason.NONE)
        self._dead_letter(queue, entry, Reason.REJECTED)

    def _return(
        self, queue: Queue, entry: Entry, outcome: Outcome, subscription: Subscription
    ) -> None:
        if outcome.delivery_failed:
            self._copies.failed(queue, entry)
        if outcome.annotations:
            self._copies.annotate(queue, entry, outcome.annotations)
        if queue.deleted:
            self.orphan(queue, entry)
            return
        if queue.last_values is not None and not queue.last_values.is_last(entry):
            self._copies.replace(queue, entry)
            return
        line = self._topology.lines[queue.number]
        if outcome.undeliverable_here and queue.placement is None:
            if outcome.nor_to_owner:
                line.exclude(entry, -subscription.owner.owner_id())
            elif not subscription.cancelled:
                line.exclude(entry, subscription.number)
        self._copies.give_back(queue, entry)
        line.on_returned(entry)

    def orphan(self, queue: Queue, entry: Entry) -> None:
        """A copy of a deleted queue (0-10 queue.delete): to the alternate exchange, or dropped.

        What is in a transaction fails with that.
        """
        ticket = entry.ticket
        transacted = ticket is not None and ticket.transaction is not None
        if transacted or self._topology.alternate_of(queue) is None:
            self._copies.ledger.purged(queue, entry, Reason.QUEUE_DELETED)
            self._copies.leave(queue, entry, GONE)
        else:
            self._dead_letter(queue, entry, Reason.QUEUE_DELETED)

    def _dead_letter(self, queue: Queue, entry: Entry, reason: Reason) -> None:
        ledger = self._copies.ledger
        letters = self._dead_letters
        connection = ledger.connection
        if ledger.transaction:  # which is done as one
            self._move(queue, entry, reason)
            return
        large = self._is_large(queue, entry)
        # What nobody has is emptied in shares already.
        if large or (entry.holder != AVAILABLE and letters.waits(connection)):
            queue.users.links += 1
            self._topology.count_alternate(queue.settings.alternate_exchange, 1)
            letters.put_off(connection, queue, entry, reason, large=large)
        elif entry.holder == AVAILABLE:
            self._move(queue, entry, reason)
        else:
            units = work.WORK.units
            self._move(queue, entry, reason)
            letters.moved(work.WORK.units - units)

    def _is_large(self, queue: Queue, entry: Entry) -> bool:
        """Whether more queues get a dead letter than can in one share."""
        alternate = self._topology.alternate_of(queue)
        if alternate is None or len(alternate.bindings) <= FEW:
            return False
        queues = self._publishing.route(alternate, entry.message)
        return queues is not None and len(queues) > FEW

    def move_late(self, queue: Queue, entry: Entry, reason: Reason) -> Rerouting | None:
        """See `Moves`."""
        rerouting = None
        if queue.groups is not None and not queue.deleted:
            self._topology.lines[queue.number].on_entered()
        self._dead_letters.leave(queue)
        self._topology.count_alternate(queue.settings.alternate_exchange, -1)
        if queue.places.get(entry.position) is not entry:
            pass  # its time is over
        elif self._topology.alternate_of(queue) is None:  # it has gone with its queue
            self._copies.ledger.purged(queue, entry, Reason.QUEUE_DELETED)
            self._copies.leave(queue, entry, GONE)
        else:
            rerouting = self._publishing.dead_letter(queue, entry, reason)
        self.let_go(queue)
        return rerouting

    def _move(self, queue: Queue, entry: Entry, reason: Reason) -> None:
        rerouting = self._publishing.dead_letter(queue, entry, reason)
        if self._apart:
            self._rerouting = rerouting
        else:
            rerouting.go_on(NO_END)


def _is_free(queue: Queue, entry: Entry | None, link: int) -> bool:
    """Whether a subscription may have that copy."""
    if entry is None or entry.holder != AVAILABLE:
        return False
    return queue.groups is None or queue.groups.allows(entry, link)


def _has(entry: Entry | None, delivery: Delivery) -> bool:
    """Whether the copy is with the subscription that it was delivered to."""
    return entry is not None and entry.holder == delivery.subscription

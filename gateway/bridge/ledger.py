"""Every step of every copy: one audit record and one count, written together.

The records and their order are the contract of `audit.records`; the identities of the accounting
are proved from them. The counts are plain numbers that never go down, read by the metrics.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Flag, Kind, Outcome, Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.latency import Latency
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import Tracer
from gateway.message import Delivery, Message, OutcomeKind
from gateway.message import Flag as MessageFlag

DURABLE: Final = int(Flag.DURABLE)
REDELIVERED: Final = int(Flag.REDELIVERED)
COPY: Final = int(Flag.COPY)
SETTLED: Final = int(Flag.SETTLED)
TRANSLATED: Final = int(Flag.TRANSLATED)
REMOVED: Final = int(Flag.REMOVED)
REROUTED: Final = int(Flag.REROUTED)
TRANSIT: Final = int(Flag.TRANSIT)
TRACED: Final = int(MessageFlag.TRACED)

OUTCOMES: Final = {
    OutcomeKind.ACCEPTED: int(Outcome.ACCEPTED),
    OutcomeKind.REJECTED: int(Outcome.REJECTED),
    OutcomeKind.RELEASED: int(Outcome.RELEASED),
    OutcomeKind.MODIFIED: int(Outcome.MODIFIED),
}
# How copies that were sent in a transaction ended, where that is not for released.
AS_COUNTED: Final = {
    Outcome.COMMITTED: OutcomeKind.ACCEPTED,
    Outcome.REJECTED: OutcomeKind.REJECTED,
    Outcome.MODIFIED: OutcomeKind.MODIFIED,
}


@final
class Counts:
    """What the bridge counts, since start.

    Attributes:
        received: messages published to the bridge, whatever became of them.
        entered: copies that came into a queue; `entered_durable` of them stored.
        unroutable: copies that no queue took.
        rerouted: messages that went on to an alternate exchange.
        refused: publishes refused; `refusals` are the same by `Reason`.
        sent: deliveries that an outlet took; `sent_settled` of them settled as they were sent.
        blocked, undeliverable: deliveries that an outlet did not take, for now or at all.
        accepted, rejected, released, modified: outcomes that subscribers gave.
        requeued: deliveries that the gateway took back.
        settled_too_late: settlements of what had ended before.
        unacquirable: browsed deliveries from an upstream that somebody wanted to acquire.
        expired, dead_lettered, evicted, replaced, purged, returned, moved: copies that left their
            queue that way.
        dropped: rejected copies with nowhere to go.
        lost: copies that were on disk and could not be read.
        recovered: copies that the store brought back.
        orphaned: copies that the store has for no queue that is configured; it keeps them.
        pending: publishes held back because too much was held.
        withheld: publishes that flow control of a queue held back.
        committed, rolled_back, in_doubt: transactions, by how they ended.
        rolled_back_copies: what transactions held and did not commit.
    """

    __slots__ = (
        "accepted",
        "blocked",
        "committed",
        "dead_lettered",
        "dropped",
        "entered",
        "entered_durable",
        "evicted",
        "expired",
        "in_doubt",
        "lost",
        "modified",
        "moved",
        "orphaned",
        "pending",
        "purged",
        "received",
        "recovered",
        "refusals",
        "refused",
        "rejected",
        "released",
        "replaced",
        "requeued",
        "rerouted",
        "returned",
        "rolled_back",
        "rolled_back_copies",
        "sent",
        "sent_settled",
        "settled_too_late",
        "shadowed",
        "unacquirable",
        "undeliverable",
        "unroutable",
        "unshadowed",
        "withheld",
    )

    def __init__(self) -> None:
        self.received = 0
        self.entered = 0
        self.entered_durable = 0
        self.unroutable = 0
        self.rerouted = 0
        self.shadowed = 0
        self.unshadowed = 0
        self.refused = 0
        self.refusals: dict[int, int] = {}
        self.sent = 0
        self.sent_settled = 0
        self.blocked = 0
        self.undeliverable = 0
        self.accepted = 0
        self.rejected = 0
        self.released = 0
        self.modified = 0
        self.requeued = 0
        self.settled_too_late = 0
        self.expired = 0
        self.dead_lettered = 0
        self.evicted = 0
        self.replaced = 0
        self.purged = 0
        self.returned = 0
        self.moved = 0
        self.dropped = 0
        self.lost = 0
        self.unacquirable = 0
        self.recovered = 0
        self.orphaned = 0
        self.pending = 0
        self.withheld = 0
        self.committed = 0
        self.rolled_back = 0
        self.in_doubt = 0
        self.rolled_back_copies = 0


@final
class Ledger:
    """The audit log and the counts, in the bridge's terms.

    Attributes:
        now_ms: the turn's time.
        connection, actor: for whom the work is done that is under way: a connection's number, and
            its user's in the audit log; 0: the gateway by itself, or an upstream.
        address: where it is done from, if that is no connection: an operator's.
        latency: how long what is recorded took.
        tracer: is told of what is done with some messages, too; `None`: of none.
        transaction: the one that is worked on; 0 outside of transactions.
    """

    __slots__ = (
        "actor",
        "address",
        "audit",
        "connection",
        "counts",
        "latency",
        "now_ms",
        "tracer",
        "transaction",
    )

    def __init__(self, audit: AuditLog, now_ms: int) -> None:
        self.audit = audit
        self.counts = Counts()
        self.latency = Latency()
        self.tracer: Tracer | None = None
        self.now_ms = now_ms
        self.transaction = 0
        self.connection = 0
        self.actor = 0
        self.address = 0

    def begin(self, now_ms: int, connection: int = 0, actor: int = 0, address: int = 0) -> None:
        """Somebody begins to act: a connection, an operator, or nobody but the gateway."""
        self.now_ms = now_ms
        self.connection = connection
        self.actor = actor
        self.address = address

    def received(self, message: Message, exchange: Exchange, copies: int, link: int) -> None:
        """A message was routed to `copies` queues; none counts as one copy."""
        self.counts.received += 1
        copies = copies or 1
        exchange.routed += copies
        self.audit.received(
            self.now_ms,
            message.id,
            link=link,
            exchange=exchange.node,
            copies=copies,
            id_digest=message.id_digest,
            body_digest=message.body_digest,
            size=len(message.payload),
            flags=DURABLE if message.durable else 0,
            connection=message.publisher,
            transaction=self.transaction,
        )
        if self.tracer is not None:
            name = exchange.name
            self.tracer.received(message, name, copies, link, int(self.latency.now_us))

    def routed(self, message: Message, exchange: Exchange, copies: int, reason: Reason) -> None:
        """A message went on through another exchange; no queue counts as one copy."""
        self.counts.rerouted += 1
        copies = copies or 1
        exchange.routed += copies
        self.audit.routed(
            self.now_ms, message.id, exchange=exchange.node, copies=copies, reason=reason
        )

    def shadowed(self, message: Message, exchange: Exchange) -> None:
        """A copy is made for the shadow of a queue, beside all others."""
        self.counts.shadowed += 1
        exchange.routed += 1
        self.audit.routed(
            self.now_ms, message.id, exchange=exchange.node, copies=1, reason=Reason.SHADOW
        )

    def unshadowed(self, queue: Queue, entry: Entry) -> None:
        """A shadow has no room for it."""
        self.counts.unshadowed += 1
        self.evicted(queue, entry)

    def unroutable(self, message: Message, exchange: Exchange, reason: Reason) -> None:
        """No queue took it, or none was ready."""
        if reason != Reason.ALTERNATE_EXCHANGE:
            self.counts.unroutable += 1
        self.audit.unroutable(self.now_ms, message.id, exchange=exchange.node, reason=reason)
        self._trace_end(message, Kind.UNROUTABLE, exchange.name, 0, reason)

    def refused(self, message: Message, exchange: Exchange, reason: Reason, node: int) -> None:
        """A copy was not let in, by the queue `node` or altogether."""
        self.counts.refused += 1
        refusals = self.counts.refusals
        refusals[int(reason)] = refusals.get(int(reason), 0) + 1
        self.audit.refused(
            self.now_ms, message.id, exchange=exchange.node, reason=reason, node=node
        )
        self._trace_end(message, Kind.REFUSED, exchange.name, 0, reason)

    def rolled_back(self, message: Message, exchange: Exchange, queue: Queue, number: int) -> None:
        """A copy that a transaction held ended with it."""
        self.counts.rolled_back_copies += 1
        self.audit.rolled_back(
            self.now_ms, message.id, exchange=exchange.node, node=queue.node, transaction=number
        )

    def branch(self, number: int, connection: int, node: int, outcome: Outcome) -> None:
        """A branch is PREPARED or RECOVERED: `node` is its name."""
        self.audit.transaction(
            self.now_ms, number, connection=connection, outcome=outcome, node=node
        )

    def branch_decided(self, number: int, node: int, outcome: Outcome, reason: Reason) -> None:
        """The same of a decision that its manager has not made, or has come to know."""
        self.audit.transaction(
            self.now_ms,
            number,
            connection=self.connection,
            outcome=outcome,
            node=node,
            reason=reason,
            actor=self.actor,
            address=self.address,
        )

    def transaction_ended(
        self, number: int, connection: int, outcome: Outcome, node: int = 0
    ) -> None:
        """A transaction is over: COMMITTED, ROLLED_BACK or IN_DOUBT.

        `node`: of a branch that was prepared, its name.
        """
        if outcome == Outcome.COMMITTED:
            self.counts.committed += 1
        elif outcome == Outcome.ROLLED_BACK:
            self.counts.rolled_back += 1
        else:
            self.counts.in_doubt += 1
        self.audit.transaction(
            self.now_ms, number, connection=connection, outcome=outcome, node=node
        )

    def entered(self, queue: Queue, entry: Entry, exchange: Exchange, rerouted: bool) -> None:
        """A copy is in its queue."""
        message = entry.message
        size = len(message.payload)
        flags = REROUTED if rerouted else 0
        counts = self.counts
        counts.entered += 1
        if entry.durable:
            counts.entered_durable += 1
            flags |= DURABLE
        if queue.transit:
            flags |= TRANSIT
        self.audit.entered(
            self.now_ms,
            message.id,
            entry.position,
            node=queue.node,
            exchange=exchange.node,
            body_digest=message.body_digest,
            size=size,
            flags=flags,
            transaction=self.transaction,
            lane=queue.lane_of(entry),
        )

    def sent(
        self, queue: Queue, entry: Entry, delivery: Delivery, acquired: bool, settled: bool
    ) -> None:
        """An outlet has taken a delivery."""
        message = entry.message
        size = len(message.payload)
        counts = self.counts
        counts.sent += 1
        flags = REDELIVERED if entry.delivery_count > 0 else 0
        if not acquired:
            flags |= COPY
        if settled:
            counts.sent_settled += 1
            flags |= SETTLED
        if delivery.body_changed:
            flags |= TRANSLATED
        self.audit.sent(
            self.now_ms,
            message.id,
            entry.position,
            node=queue.node,
            link=delivery.subscription,
            id_digest=delivery.id_digest,
            body_digest=delivery.body_digest,
            size=size,
            delivery_count=entry.delivery_count,
            flags=flags,
            lane=queue.lane_of(entry),
        )
        if message.flags & TRACED and self.tracer is not None:
            self.tracer.sent(message, queue.name, delivery, int(entry.entered_us))

    def settled(
        self, delivery: Delivery, node: int, kind: OutcomeKind, removed: bool, reason: Reason
    ) -> None:
        """A subscriber ended a delivery, or (with a reason) the gateway took it back."""
        flags = 0 if delivery.acquired else COPY
        if reason != Reason.NONE and not removed:
            self.counts.requeued += 1
            self.audit.requeued(
                self.now_ms,
                delivery.message.id,
                delivery.position,
                node=node,
                link=delivery.subscription,
                outcome=OUTCOMES[kind],
                reason=reason,
                flags=flags,
            )
            self._trace_settled(delivery, Kind.REQUEUED, OUTCOMES[kind], reason)
            return
        self._count(kind)
        self.audit.settled(
            self.now_ms,
            delivery.message.id,
            delivery.position,
            node=node,
            link=delivery.subscription,
            outcome=OUTCOMES[kind],
            flags=flags | REMOVED if removed else flags,
            reason=reason,
            transaction=self.transaction,
        )
        self._trace_settled(delivery, Kind.SETTLED, OUTCOMES[kind], reason)

    def handed_over(self, queue: Queue, entry: Entry, delivery: Delivery, made: Delivery) -> None:
        """A delivery is a branch's from now on: no subscriber was sent anything, or settled it."""
        self.audit.requeued(
            self.now_ms,
            delivery.message.id,
            delivery.position,
            node=queue.node,
            link=delivery.subscription,
            outcome=int(Outcome.RELEASED),
            reason=Reason.BRANCH,
            flags=0,
        )
        self.held(queue, entry, made)

    def held(self, queue: Queue, entry: Entry, made: Delivery) -> None:
        """A branch has that delivery."""
        message = entry.message
        flags = REDELIVERED if entry.delivery_count > 0 else 0
        if made.body_changed:  # the digest is of what its session was sent
            flags |= TRANSLATED
        self.audit.sent(
            self.now_ms,
            message.id,
            entry.position,
            node=queue.node,
            link=made.subscription,
            id_digest=made.id_digest,
            body_digest=made.body_digest,
            size=len(message.payload),
            delivery_count=entry.delivery_count,
            flags=flags,
            lane=queue.lane_of(entry),
        )

    def concluded(self, delivery: Delivery, node: int, how: Outcome) -> None:
        """A copy that was sent in a transaction at an upstream ended as that has.

        Committed is accepted; the audit names the other ends, the counts take them for released.
        """
        committed = how == Outcome.COMMITTED
        self._count(AS_COUNTED.get(how, OutcomeKind.RELEASED))
        self.audit.settled(
            self.now_ms,
            delivery.message.id,
            delivery.position,
            node=node,
            link=delivery.subscription,
            outcome=int(Outcome.ACCEPTED if committed else how),
            flags=REMOVED,
            transaction=self.transaction,
        )
        self._trace_settled(delivery, Kind.SETTLED, int(how), Reason.NONE)

    def _trace_settled(self, delivery: Delivery, kind: int, outcome: int, reason: int) -> None:
        if delivery.message.flags & TRACED and self.tracer is not None:
            self.tracer.settled(delivery, kind, outcome, reason)

    def _trace_end(
        self, message: Message, kind: int, node: str, position: int, reason: int
    ) -> None:
        if message.flags & TRACED and self.tracer is not None:
            self.tracer.ended(message, kind, node, position, reason)

    def _count(self, kind: OutcomeKind) -> None:
        if kind == OutcomeKind.ACCEPTED:
            self.counts.accepted += 1
        elif kind == OutcomeKind.RELEASED:
            self.counts.released += 1
        elif kind == OutcomeKind.MODIFIED:
            self.counts.modified += 1
        else:
            self.counts.rejected += 1

    def expired(self, queue: Queue, entry: Entry) -> None:
        """A copy's time was over."""
        self.counts.expired += 1
        self.audit.expired(self.now_ms, entry.message.id, entry.position, node=queue.node)
        self._trace_end(entry.message, Kind.EXPIRED, queue.name, entry.position, Reason.TTL)

    def dead_lettered(self, queue: Queue, entry: Entry, reason: Reason, upstream: str = "") -> None:
        """A copy leaves for the alternate exchange of its queue; it was for that upstream."""
        self.counts.dead_lettered += 1
        self.audit.dead_lettered(
            self.now_ms,
            entry.message.id,
            entry.position,
            node=queue.node,
            reason=reason,
            peer=self.audit.name(upstream) if upstream else 0,
        )
        self._trace_end(entry.message, Kind.DEAD_LETTERED, queue.name, entry.position, reason)

    def evicted(self, queue: Queue, entry: Entry) -> None:
        """A copy leaves a ring for good, since others came."""
        self.counts.evicted += 1
        self.audit.evicted(self.now_ms, entry.message.id, entry.position, node=queue.node)

    def replaced(self, queue: Queue, message: int, position: int) -> None:
        """A newer one of its key takes a copy's place."""
        self.counts.replaced += 1
        self.audit.replaced(self.now_ms, message, position, node=queue.node)

    def returned(self, queue: Queue, entry: Entry, reason: Reason, upstream: str = "") -> None:
        """A copy goes back, unsent, to the upstream or the publisher that it came from.

        It was for `upstream`.
        """
        self.counts.returned += 1
        self.audit.returned(
            self.now_ms,
            entry.message.id,
            entry.position,
            node=queue.node,
            reason=reason,
            peer=self.audit.name(upstream) if upstream else 0,
        )

    def lost(self, queue: Queue, message: int, position: int) -> None:
        """A copy that was on disk cannot be read."""
        self.counts.lost += 1
        self.audit.purged(
            self.now_ms, message, position, node=queue.node, reason=Reason.UNDECODABLE
        )

    def moved(self, queue: Queue, entry: Entry, reason: Reason) -> None:
        """A copy leaves for another queue of the gateway."""
        self.counts.moved += 1
        self.audit.moved(
            self.now_ms,
            entry.message.id,
            entry.position,
            node=queue.node,
            reason=reason,
            transaction=self.transaction,
        )

    def settled_too_late(self, delivery: Delivery, node: int) -> None:
        """A subscriber ended a delivery that its upstream had taken back."""
        self.counts.settled_too_late += 1
        self.audit.settled(
            self.now_ms,
            delivery.message.id,
            delivery.position,
            node=node,
            link=delivery.subscription,
            outcome=int(Outcome.SETTLED_TOO_LATE),
            flags=REMOVED,
        )

    def purged(self, queue: Queue, entry: Entry, reason: Reason) -> None:
        """A copy was removed by a purge or with its queue."""
        self.counts.purged += 1
        self.audit.purged(
            self.now_ms,
            entry.message.id,
            entry.position,
            node=queue.node,
            reason=reason,
            transaction=self.transaction,
        )

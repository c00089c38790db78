"""What becomes of a copy on its way from or to an upstream when one of its ends is done with it.

Behind an upstream every settlement of the client ends the gateway's copy: the upstream hears the
same. In front of one, what the upstream accepted is gone, what it did not take is offered to it
again or passed on to a publisher who understands that, and what it rejected goes where the rules
say.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.nodes import Nodes
from gateway.bridge.remote.remote import OnRejected
from gateway.bridge.spread.rerouting import NO_END
from gateway.bridge.topology import Topology
from gateway.message import (
    ACCEPTED,
    Condition,
    Delivery,
    Flag,
    Outcome,
    OutcomeKind,
    Refusal,
)

ELSEWHERE: Final = Outcome(OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True)
GONE: Final = Outcome(
    OutcomeKind.REJECTED, condition=Condition.RESOURCE_DELETED, description="the queue was deleted"
)
TOLD: Final = int(Flag.OUTCOMES | Flag.TELL_UNROUTABLE)
OUTCOMES: Final = int(Flag.OUTCOMES)
# Why an upstream, and not the gateway, will not have anything that goes to a node.
REFUSED_BY_UPSTREAM: Final = (
    Condition.UNAUTHORIZED_ACCESS,
    Condition.NOT_FOUND,
    Condition.RESOURCE_LOCKED,
    Condition.RESOURCE_DELETED,
    Condition.RESOURCE_LIMIT_EXCEEDED,
    Condition.NOT_ALLOWED,
)


@final
class Transit:
    """Ends copies of the remote nodes of one virtual host."""

    __slots__ = ("_copies", "_nodes", "_publishing", "_topology")

    def __init__(
        self, topology: Topology, copies: Copies, publishing: Publishing, nodes: Nodes
    ) -> None:
        self._topology = topology
        self._copies = copies
        self._publishing = publishing
        self._nodes = nodes

    def settle_inbound(
        self, delivery: Delivery, queue: Queue, entry: Entry, outcome: Outcome, reason: Reason
    ) -> bool:
        """A client is done with a copy; `False`: its upstream had taken it back before."""
        ledger = self._copies.ledger
        delivery.acquired = True  # As far as the ledger goes, also for a browser.
        ticket = entry.ticket
        told = ticket is not None and not ticket.late
        if ticket is not None and ticket.forgotten and outcome.kind != OutcomeKind.ACCEPTED:
            ledger.settled(delivery, queue.node, outcome.kind, False, reason)
            if outcome.kind == OutcomeKind.REJECTED:
                self._dead_letter(queue, entry, Reason.REJECTED)
            else:
                self._nodes.keeping.put_back(queue, entry, reason, outcome)
            return True
        if told:
            ledger.settled(delivery, queue.node, outcome.kind, True, reason)
        else:
            ledger.settled_too_late(delivery, queue.node)
        self._copies.leave(queue, entry, outcome)
        return told

    def passes_on(self, entry: Entry, reason: Reason) -> bool:
        """Whether released and modified end the copy: its publisher takes them as they are."""
        ticket = entry.ticket
        return reason == Reason.NONE and ticket is not None and entry.message.flags & OUTCOMES != 0

    def reject(self, delivery: Delivery, queue: Queue, entry: Entry, outcome: Outcome) -> None:
        """The upstream does not want a copy, which has been sent."""
        ledger = self._copies.ledger
        kind = OutcomeKind.REJECTED
        # Without a route there is nobody to miss it: an exchange drops it, and it is counted.
        routed = outcome.condition != Condition.UNROUTABLE
        if not routed:
            ledger.counts.unroutable += 1
        if self._goes_elsewhere(queue, entry, kept=routed):
            ledger.settled(delivery, queue.node, kind, False, Reason.NONE)
            self._dead_letter(queue, entry, Reason.REJECTED)
            return
        ledger.settled(delivery, queue.node, kind, True, Reason.NONE)
        self._copies.leave(queue, entry, self._answer(queue, entry, outcome))

    def on_unsendable(self, queue: Queue, entry: Entry, refusal: Refusal | None) -> None:
        """A copy was offered, and can be sent by this outlet never, or (`refusal`) by none."""
        ledger = self._copies.ledger
        ticket = entry.ticket
        if refusal is None and ticket is not None and ticket.forgotten:
            self._dead_letter(queue, entry, Reason.UNDELIVERABLE)
            return
        if refusal is None:
            ledger.returned(queue, entry, Reason.UNDELIVERABLE)
            self._copies.leave(queue, entry, ELSEWHERE)
            return
        reason = Reason.UNDELIVERABLE
        if refusal.condition == Condition.MESSAGE_SIZE_EXCEEDED:
            reason = Reason.TOO_LARGE
        elif refusal.condition in REFUSED_BY_UPSTREAM:
            reason = Reason.UPSTREAM_REFUSED
        if self._goes_elsewhere(queue, entry):
            self._dead_letter(queue, entry, reason)
            return
        outcome = Outcome(
            OutcomeKind.REJECTED, condition=refusal.condition, description=refusal.description
        )
        ledger.returned(queue, entry, reason, _upstream(queue))
        self._copies.leave(queue, entry, self._answer(queue, entry, outcome))

    def _passed(self, queue: Queue, entry: Entry) -> bool:
        """Whether the publisher hears that the copy was rejected."""
        placement = queue.placement
        ticket = entry.ticket
        return ticket is not None and (
            entry.message.flags & TOLD != 0
            or ticket.transaction is not None
            or (placement is not None and placement.on_rejected == OnRejected.EXCEPTION)
        )

    def _goes_elsewhere(self, queue: Queue, entry: Entry, *, kept: bool = True) -> bool:
        """Whether there is somewhere else for it; what is in a transaction fails with that."""
        if entry.ticket is not None and entry.ticket.transaction is not None:
            return False
        if self._topology.alternate_of(queue) is not None:
            return True
        return kept and self._to_rejected(queue, entry)

    def _to_rejected(self, queue: Queue, entry: Entry) -> bool:
        placement = queue.placement
        dropped = placement is not None and placement.on_rejected == OnRejected.DROP
        return not dropped and not self._passed(queue, entry)

    def _answer(self, queue: Queue, entry: Entry, outcome: Outcome) -> Outcome:
        if self._passed(queue, entry):
            return outcome
        self._copies.ledger.counts.dropped += 1
        return ACCEPTED

    def _dead_letter(self, queue: Queue, entry: Entry, reason: Reason) -> None:
        """To the alternate exchange of the queue, else to the queue of what was rejected."""
        copies = self._copies
        ledger = copies.ledger
        ticket = entry.ticket
        entry.ticket = None
        ledger.dead_lettered(queue, entry, reason, _upstream(queue))
        copies.leave(queue, entry)
        alternate = self._topology.alternate_of(queue)
        if alternate is not None:
            self._publishing.rerouting(
                entry.message, alternate, reason, entry.annotations, entry.stock, ticket
            ).go_on(NO_END)
        else:
            default = self._topology.exchanges[""]
            rejected = self._nodes.dead_letters(queue)
            ledger.routed(entry.message, default, 1, reason)
            self._publishing.put(
                rejected,
                entry.message,
                default,
                None if rejected.transit else ticket,
                rerouted=True,
                annotations=entry.annotations,
                stock=entry.stock,
            )
            if ticket is not None:
                copies.tickets.end(ticket, ACCEPTED)


def _upstream(queue: Queue) -> str:
    """The upstream that its copies are for; "" if they come from one."""
    placement = queue.placement
    return "" if placement is None or queue.inbound else placement.remote.name

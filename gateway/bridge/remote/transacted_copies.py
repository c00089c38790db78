"""The copies of a transaction at an upstream, from their publish to its end.

A copy is held until the upstream has begun the transaction, *waits* for its outcome in the queue in
front of the upstream or at that, and is *presumed* to have it until the end: then it keeps its
place and its number, since only the end says what became of it, but not its octets. Whoever
published it waits no longer than for the presumed outcome.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.audit.schema import Reason
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import AVAILABLE
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.shadows import Later
from gateway.bridge.remote.transit import TOLD
from gateway.bridge.seams import Publisher
from gateway.bridge.settlement import Settlement
from gateway.bridge.tickets import Ticket
from gateway.bridge.transaction import Held, Transaction, drop, refuse_deleted, remote_of
from gateway.message import ACCEPTED, Condition, Delivery, Outcome, OutcomeKind, UpstreamTransaction
from gateway.wire.work import COPY, LOOK, WORK

# Of a copy whose transaction came to nothing before its outcome was known.
FALLEN: Final = Outcome(
    OutcomeKind.REJECTED,
    condition=Condition.INTERNAL_ERROR,
    description="the transaction is rolled back",
)


@final
class Posted:
    """A copy without an outcome.

    Attributes:
        ticket: of its publish; `None`: nobody waits.
        told: its publisher hears of outcomes by themselves, and not only from the commit.
    """

    __slots__ = ("position", "queue", "ticket", "told")

    def __init__(self, queue: Queue, position: int, ticket: Ticket | None, *, told: bool) -> None:
        self.queue = queue
        self.position = position
        self.ticket = ticket
        self.told = told


@final
class TransactedCopies:
    """All of one transaction."""

    __slots__ = (
        "_concluded",
        "_copies",
        "_number",
        "_presumed",
        "_publishing",
        "_settlement",
        "_shadows",
        "_transaction",
        "_waiting",
    )

    def __init__(
        self,
        transaction: Transaction,
        *,
        publishing: Publishing,
        settlement: Settlement,
        copies: Copies,
    ) -> None:
        self._transaction = transaction
        self._publishing = publishing
        self._settlement = settlement
        self._copies = copies
        self._number = 0  # of the last copy
        self._waiting: dict[int, Posted] = {}  # by number of the copy
        self._presumed: list[Delivery] = []
        self._concluded = 0  # of those
        self._shadows: deque[Later] = deque()  # of those

    @property
    def waiting(self) -> bool:
        """Whether some have no outcome yet."""
        return len(self._waiting) > 0

    def have_moved(self) -> bool:
        """Whether a queue lives somewhere else than when it was published to."""
        remote = self._transaction.remote
        for each in self._transaction.held:
            for queue in each.queues:
                if not queue.deleted and remote_of(queue) is not remote:
                    return True
        return False

    def post(self, transaction: UpstreamTransaction, publisher: Publisher) -> bool:
        """What is held goes into the queues, to be sent in `transaction`; whether all of it could.

        `publisher` is told, by number, of copies that end without being sent.
        """
        copies = self._copies
        whole = True
        copies.ledger.transaction = self._transaction.number
        for each in self._transaction.let_go(copies.pressure):
            message = each.message
            self._transaction.sent[message.exchange, message.routing_key] = message.id
            queues = refuse_deleted(each, each.queues, copies.ledger)
            if not queues and not each.may_vanish():
                whole = False
            if each.ticket is not None:
                for _ in range(len(each.queues) - len(queues)):
                    copies.tickets.end(each.ticket, ACCEPTED)
            for queue in queues:
                self._number += 1
                ticket = Ticket(publisher, self._number, 1)
                ticket.transaction = transaction
                self._put(queue, each, ticket)
        copies.ledger.transaction = 0
        return whole

    def _put(self, queue: Queue, each: Held, ticket: Ticket) -> None:
        message = each.message
        self._publishing.put(queue, message, each.exchange, ticket, rerouted=each.rerouted)
        self._waiting[ticket.token] = Posted(
            queue,
            queue.next_position - 1,
            each.ticket,
            told=message.flags & TOLD != 0,
        )

    def presume(self, delivery: Delivery, outcome: Outcome) -> Outcome | None:
        """A copy that was sent has its outcome: what that is to the transaction.

        `None`: too late, and it has just ended.
        """
        queue = self._settlement.queue_of(delivery)
        entry = queue.places.get(delivery.position)
        if entry is None or entry.ticket is None:
            return None
        posted = self._waiting.pop(entry.ticket.token, None)
        entry.ticket = None
        if posted is None:
            ledger = self._copies.ledger
            ledger.transaction = self._transaction.number
            self._settlement.conclude(delivery, AuditOutcome.ROLLED_BACK)
            ledger.transaction = 0
            return None
        self._tell(posted, outcome)
        if queue.shadowed and outcome.kind == OutcomeKind.ACCEPTED:
            later = self._publishing.placing.shadows.hold(queue, entry.message)
            if later is not None:
                self._shadows.append(later)
        self._copies.hollow(queue, entry)
        delivery.message = entry.message
        self._presumed.append(delivery)
        return outcome

    def on_unsent(self, number: int, outcome: Outcome) -> Outcome | None:
        """A copy has ended without being sent: what that is to the transaction.

        `None`: nobody has waited for it any more.
        """
        posted = self._waiting.pop(number, None)
        if posted is None:
            return None
        self._tell(posted, outcome)
        return outcome

    def _tell(self, posted: Posted, outcome: Outcome) -> None:
        if posted.ticket is not None:
            self._copies.tickets.end(posted.ticket, outcome if posted.told else ACCEPTED)

    def drop_held(self) -> None:
        """What is held is not sent any more."""
        copies = self._copies
        held = self._transaction.let_go(copies.pressure)
        for each in held:
            drop(each, self._transaction.number, copies.ledger)
        for each in held:
            if each.ticket is not None:
                told = each.message.flags & TOLD != 0
                for _ in each.queues:
                    copies.tickets.end(each.ticket, FALLEN if told else ACCEPTED)

    def withdraw(self) -> None:
        """Copies that were not sent end."""
        copies = self._copies
        self.drop_held()
        for number, posted in list(self._waiting.items()):
            queue = posted.queue
            entry = queue.places.get(posted.position)
            if entry is None or entry.holder != AVAILABLE:
                continue
            del self._waiting[number]
            entry.ticket = None
            copies.ledger.returned(queue, entry, Reason.ROLLBACK)
            copies.leave(queue, entry)
            self._tell(posted, FALLEN)

    def forsake(self) -> None:
        """The transaction has ended: of what was sent and has no outcome its publisher hears that.

        The upstream still has to speak of it.
        """
        self.withdraw()
        for posted in self._waiting.values():
            self._tell(posted, FALLEN)
        self._waiting.clear()

    @property
    def presumed(self) -> int:
        """How many have an outcome, as far as the transaction goes."""
        return len(self._presumed)

    def conclude(self, how: AuditOutcome, end: int) -> bool:
        """They end as the transaction has: COMMITTED, ROLLED_BACK or IN_DOUBT.

        In their order, until `WORK.units` is above `end`; whether all have.
        """
        presumed = self._presumed
        while self._concluded < len(presumed):
            if WORK.units > end:
                return False
            WORK.units += COPY
            self._settlement.conclude(presumed[self._concluded], how)
            self._concluded += 1
        committed = how == AuditOutcome.COMMITTED
        while self._shadows:
            if WORK.units > end:
                return False
            WORK.units += LOOK
            later = self._shadows.popleft()
            self._publishing.placing.shadows.let_go(later, committed=committed)
        self._presumed = []
        self._concluded = 0
        return True

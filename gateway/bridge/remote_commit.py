"""The commit of a transaction whose resource is an upstream, from its beginning there to its end.

    BEGINNING   the upstream is asked for a transaction
    POSTING     copies are in the queues in front of the upstream, and sent in that transaction;
                each has an outcome, presumed until the end
    COMMITTING  all were accepted: deliveries are retired in it, then it is discharged
    UNDOING     something came to nothing: it is discharged as failed
    OVER        whoever asked for the commit has been told

A copy that was sent stays unsettled here until the end, since only that says what became of it; one
that was not sent ends with the transaction. Where the upstream is lost while a discharge is under
way, nobody knows: in doubt, and said so.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.audit.schema import Reason
from gateway.bridge.copies import Copies
from gateway.bridge.places import AVAILABLE
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues import Queue
from gateway.bridge.remote import Branch, Remote
from gateway.bridge.seams import Publisher
from gateway.bridge.settlement import Settlement
from gateway.bridge.tickets import Ticket
from gateway.bridge.transaction import Held, Transaction, drop, refuse_deleted, remote_of
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Delivery,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.wire.machine import Machine, Table


class State(IntEnum):
    """As the module says."""

    BEGINNING = 0
    POSTING = 1
    COMMITTING = 2
    UNDOING = 3
    OVER = 4


class Input(IntEnum):
    """What moves it on."""

    BEGUN = 0
    ALL_ACCEPTED = 1
    FAILED = 2
    ENDED = 3


TRANSITIONS: Final[Table] = {
    (State.BEGINNING, Input.BEGUN): State.POSTING,
    (State.BEGINNING, Input.ENDED): State.OVER,
    (State.POSTING, Input.ALL_ACCEPTED): State.COMMITTING,
    (State.POSTING, Input.FAILED): State.UNDOING,
    (State.POSTING, Input.ENDED): State.OVER,
    (State.COMMITTING, Input.ENDED): State.OVER,
    (State.UNDOING, Input.ENDED): State.OVER,
}

TAKEN_BACK: Final = Refusal(
    Condition.INTERNAL_ERROR, "the upstream took back a delivery: the transaction is rolled back"
)

MOVED: Final = Refusal(
    Condition.INTERNAL_ERROR, "a queue has moved elsewhere: the transaction is rolled back"
)


@final
class RemoteCommit:
    """Implements `remote.Work`, and `Publisher` of the copies."""

    __slots__ = (
        "_branch",
        "_copies",
        "_deliveries",
        "_left",
        "_machine",
        "_posted",
        "_presumed",
        "_problem",
        "_publisher",
        "_publishing",
        "_settlement",
        "_token",
        "_transaction",
    )

    def __init__(
        self,
        transaction: Transaction,
        deliveries: list[Delivery],
        publisher: Publisher,
        token: int,
        *,
        publishing: Publishing,
        settlement: Settlement,
        copies: Copies,
    ) -> None:
        self._transaction = transaction
        self._deliveries = deliveries
        self._publisher = publisher
        self._token = token
        self._publishing = publishing
        self._settlement = settlement
        self._copies = copies
        self._machine = Machine(TRANSITIONS, State.BEGINNING)
        self._branch: Branch | None = None
        self._left = 0  # copies without an outcome, presumed or other
        self._posted: list[tuple[Queue, int]] = []
        self._presumed: list[Delivery] = []
        self._problem: Refusal | None = None

    def begin(self, remote: Remote) -> None:
        """Ask for a transaction there; the publisher is told of the end."""
        self._copies.tickets.open += 1
        remote.begin_transaction(self)

    # As a `Work`.

    def on_begun(self, branch: Branch) -> None:
        """The copies are sent now."""
        if not self._machine.receive(Input.BEGUN):
            return
        self._branch = branch
        if self._has_moved():
            self._fail(MOVED)
        else:
            copies = self._copies
            copies.ledger.transaction = self._transaction.number
            for each in self._transaction.let_go(copies.pressure):
                self._post(each, branch)
            copies.ledger.transaction = 0
        self._advance()

    def _has_moved(self) -> bool:
        """Whether a queue lives somewhere else than when it was published to."""
        remote = self._transaction.remote
        for each in self._transaction.held:
            for queue in each.queues:
                if not queue.deleted and remote_of(queue) is not remote:
                    return True
        return False

    def _post(self, each: Held, branch: Branch) -> None:
        for queue in refuse_deleted(each, self._copies.ledger):
            ticket = Ticket(self, self._left, 1)
            ticket.work = self
            ticket.branch = branch
            self._left += 1
            self._publishing.put(queue, each.message, each.exchange, ticket, rerouted=each.rerouted)
            self._posted.append((queue, queue.next_position - 1))

    def on_presumed(self, delivery: Delivery, outcome: Outcome) -> None:
        """A copy is there, or not taken; when all is over already, it just ends."""
        if self._machine.state == State.OVER:
            self._settlement.settle(delivery, RELEASED, Reason.NONE)
            return
        self._presumed.append(delivery)
        self._count(outcome)

    def on_published(self, token: int, outcome: Outcome) -> None:
        """As a `Publisher`: a copy ended without being sent."""
        if self._machine.state in (State.POSTING, State.UNDOING) and self._left:
            self._count(outcome)

    def _count(self, outcome: Outcome) -> None:
        self._left -= 1
        if outcome.kind != OutcomeKind.ACCEPTED:
            self._fail(_failure(outcome))
        self._advance()

    def on_discharged(self, refusal: Refusal | None) -> None:
        """The upstream has ended the transaction."""
        committed = self._machine.state == State.COMMITTING and refusal is None
        self._end(
            AuditOutcome.COMMITTED if committed else AuditOutcome.ROLLED_BACK,
            None if committed else self._problem or refusal,
        )

    def on_lost(self, refusal: Refusal) -> None:
        """The transaction is gone: rolled back, unless it was being committed."""
        doubtful = self._machine.state == State.COMMITTING
        self._end(
            AuditOutcome.IN_DOUBT if doubtful else AuditOutcome.ROLLED_BACK,
            self._problem or refusal,
        )

    # From state to state.

    def _fail(self, refusal: Refusal) -> None:
        if self._machine.receive(Input.FAILED):
            self._problem = refusal
            self._withdraw()

    def _advance(self) -> None:
        branch = self._branch
        if self._left or branch is None:
            return
        if self._machine.state == State.POSTING:
            if self._retire(branch):
                self._machine.send(Input.ALL_ACCEPTED)
                branch.discharge(fail=False)
                return
            self._fail(TAKEN_BACK)
        if self._machine.state == State.UNDOING:
            branch.discharge(fail=True)

    def _retire(self, branch: Branch) -> bool:
        """Accept the deliveries in the transaction; whether the upstream still waits for it."""
        for delivery in self._deliveries:
            queue = self._settlement.queue_of(delivery)
            entry = queue.places.get(delivery.position)
            ticket = None if entry is None else entry.ticket
            if ticket is None or not branch.retire(ticket.publisher, ticket.token):
                return False
        return True

    def _withdraw(self) -> None:
        """Copies that were not sent end here."""
        copies = self._copies
        for queue, position in self._posted:
            entry = queue.places.get(position)
            if entry is None or entry.holder != AVAILABLE or entry.ticket is None:
                continue
            entry.ticket = None
            self._left -= 1
            copies.ledger.returned(queue, entry, Reason.ROLLBACK)
            copies.leave(queue, entry)

    def _end(self, how: AuditOutcome, refusal: Refusal | None) -> None:
        if not self._machine.receive(Input.ENDED):
            return
        copies = self._copies
        ledger = copies.ledger
        transaction = self._transaction
        committed = how == AuditOutcome.COMMITTED
        ledger.transaction = transaction.number
        self._withdraw()
        for delivery in self._presumed:
            self._settlement.settle(delivery, ACCEPTED if committed else RELEASED, Reason.NONE)
        for delivery in reversed(self._deliveries):
            if committed:
                self._settlement.settle(delivery, ACCEPTED, Reason.NONE)
            else:
                self._settlement.settle(delivery, MODIFIED_FAILED, Reason.ROLLBACK)
        ledger.transaction = 0
        drop(transaction.let_go(copies.pressure), transaction.number, ledger)
        ledger.transaction_ended(transaction.number, transaction.connection, how)
        copies.tickets.open -= 1
        outcome = ACCEPTED
        if refusal is not None:
            outcome = Outcome(
                OutcomeKind.REJECTED,
                condition=refusal.condition,
                description=refusal.description,
            )
        copies.tickets.over(self._publisher, self._token, outcome, copies.turns.number)


def _failure(outcome: Outcome) -> Refusal:
    """Why the transaction is rolled back for a copy that was not accepted."""
    condition = outcome.condition
    if condition == Condition.NONE:
        condition = Condition.PRECONDITION_FAILED
    text = outcome.description or "a message was not accepted"
    return Refusal(condition, f"{text}: the transaction is rolled back")

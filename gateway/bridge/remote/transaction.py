"""A transaction whose resource is an upstream, from its first work to its end at that.

    DECLARING   the upstream is asked for a transaction; what is published waits beside the
                queues, so that nobody else's messages wait with it
    OPEN        copies go into the queues in front of the upstream, and are sent in it as they come;
                each has an outcome, presumed until the end
    CLOSING     the commit was asked for; copies have no outcome yet
    COMMITTING  all were accepted: deliveries are retired in it, then it is discharged
    UNDOING     it is rolled back: discharged as failed once what was sent has its outcomes
    OVER        the upstream has ended it, or it was lost; of very much that ends with it, over
                several turns, which are one

Whoever fills it need not know that it has failed or was lost: what is published from then on
falls with it, and the commit says so. So nothing is ever half done. What becomes of its copies is
in `transacted_copies`. Where the upstream is lost while a discharge is under way, nobody knows: in
doubt, and said so.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.audit.schema import Reason
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.copies import Copies
from gateway.bridge.remote.remote import Branch, Remote
from gateway.bridge.remote.transacted_copies import TransactedCopies
from gateway.bridge.seams import PENDING, Published, Publisher, PublishStatus
from gateway.bridge.settlement import Settlement
from gateway.bridge.spread.rerouting import NO_END
from gateway.bridge.transaction import Retirement, Transaction
from gateway.message import (
    ACCEPTED,
    Condition,
    Delivery,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.wire.machine import Machine, Table
from gateway.wire.work import COPY, DELIVERY, SHARE, WORK


class State(IntEnum):
    """Where a transaction stands; the module's docstring says what each state means."""

    DECLARING = 0
    OPEN = 1
    CLOSING = 2
    COMMITTING = 3
    UNDOING = 4
    OVER = 5


class Input(IntEnum):
    """What moves it on."""

    BEGUN = 0
    COMMIT = 1
    ALL_ACCEPTED = 2
    FAILED = 3  # a copy came to nothing, or a rollback was asked for
    ENDED = 4


TRANSITIONS: Final[Table] = {
    (State.DECLARING, Input.BEGUN): State.OPEN,
    (State.DECLARING, Input.ENDED): State.OVER,
    (State.OPEN, Input.COMMIT): State.CLOSING,
    (State.OPEN, Input.FAILED): State.UNDOING,
    (State.OPEN, Input.ENDED): State.OVER,
    (State.CLOSING, Input.ALL_ACCEPTED): State.COMMITTING,
    (State.CLOSING, Input.FAILED): State.UNDOING,
    (State.CLOSING, Input.ENDED): State.OVER,
    (State.COMMITTING, Input.ENDED): State.OVER,
    (State.UNDOING, Input.ENDED): State.OVER,
}

TAKEN_BACK: Final = Refusal(
    Condition.INTERNAL_ERROR, "the upstream took back a delivery: the transaction is rolled back"
)

MOVED: Final = Refusal(
    Condition.INTERNAL_ERROR, "a queue has moved elsewhere: the transaction is rolled back"
)

DELETED: Final = Refusal(
    Condition.RESOURCE_DELETED, "a queue was deleted: the transaction is rolled back"
)


@final
class RemoteTransaction:
    """Implements `remote.Work`, `Publisher` of the copies, and `entering.Long` of its end."""

    __slots__ = (
        "_branch",
        "_copies",
        "_counted",
        "_how",
        "_machine",
        "_parts",
        "_problem",
        "_publisher",
        "_settlement",
        "_settling",
        "_token",
        "_transaction",
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
        self._settlement = settlement
        self._copies = copies
        self._parts = TransactedCopies(
            transaction, publishing=publishing, settlement=settlement, copies=copies
        )
        self._machine = Machine(TRANSITIONS, State.DECLARING)
        self._branch: Branch | None = None
        self._problem: Refusal | None = None
        self._counted = False  # among what waits for upstreams
        # Its end, and the deliveries that get what they are to get then, last ones first.
        self._how = AuditOutcome.ROLLED_BACK
        self._settling: list[Retirement] = []
        # The commit that was asked for.
        self._publisher: Publisher | None = None
        self._token = 0

    # What its session asks.

    def begin(self, remote: Remote) -> None:
        """Ask the upstream for a transaction: there is work for it."""
        self._branch = remote.begin_transaction(self)

    def on_held(self) -> None:
        """Something was published in it: sent, or held until it can be, or it falls."""
        if self._machine.state == State.OPEN:
            self._post()
        elif self._machine.state != State.DECLARING:
            self._parts.drop_held()

    def commit(self, publisher: Publisher, token: int) -> Published:
        """Commit it (`Transacting.commit`), with the upstream; `publisher` is told of the end."""
        problem = self._problem
        if problem is not None:
            return Published(PublishStatus.REFUSED, problem)
        self._publisher = publisher
        self._token = token
        self._count_in()
        if self._machine.state == State.OPEN:
            self._close()
        return PENDING

    def roll_back(self) -> None:
        """Roll it back: what the upstream has of it, it gives up."""
        branch = self._branch
        if self._machine.state == State.OPEN:
            self._fail(None)
            self._advance()
        elif self._machine.state == State.DECLARING and branch is not None:
            branch.give_up()
            self._end(AuditOutcome.ROLLED_BACK, None)

    # As a `Work`.

    @property
    def txn_id(self) -> bytes:
        """By what name it goes at the upstream; it has one once it has begun."""
        assert self._branch is not None
        return self._branch.txn_id

    def is_at(self, upstream: object) -> bool:
        """Whether it is at that upstream."""
        return self._transaction.remote is upstream

    def on_begun(self) -> None:
        """The copies are sent now."""
        if not self._machine.receive(Input.BEGUN):
            return
        if self._parts.have_moved():
            self._fail(MOVED)
            self._advance()
            return
        self._post()
        if self._publisher is not None and self._machine.state == State.OPEN:
            self._close()

    def on_presumed(self, delivery: Delivery, outcome: Outcome) -> None:
        """The upstream has a copy, or has not taken it; when all is over already, it just ends."""
        counted = self._parts.presume(delivery, outcome)
        if counted is not None:
            self._count(counted)

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A copy that was published in it has ended without being sent."""
        counted = self._parts.on_unsent(token, outcome)
        if counted is not None:
            self._count(counted)

    def on_discharged(self, refusal: Refusal | None) -> None:
        """The upstream has ended the transaction."""
        committed = self._machine.state == State.COMMITTING and refusal is None
        self._end(
            AuditOutcome.COMMITTED if committed else AuditOutcome.ROLLED_BACK,
            None if committed else self._problem or _as_told(refusal),
        )

    def on_lost(self, refusal: Refusal) -> None:
        """The transaction is gone: rolled back, unless it was being committed."""
        if self._machine.state == State.COMMITTING:
            text = f"whether it is committed is not known: {refusal.description}"
            self._end(AuditOutcome.IN_DOUBT, Refusal(Condition.IN_DOUBT, text))
        else:
            self._end(AuditOutcome.ROLLED_BACK, self._problem or refusal)

    # From state to state.

    def _post(self) -> None:
        if self._branch is not None and not self._parts.post(self, self):
            self._fail(DELETED)
            self._advance()

    def _count(self, outcome: Outcome) -> None:
        """A copy has its outcome, as far as the transaction goes."""
        if outcome.kind != OutcomeKind.ACCEPTED:
            self._fail(_failure(outcome))
        self._advance()

    def _close(self) -> None:
        self._machine.send(Input.COMMIT)
        self._advance()

    def _fail(self, refusal: Refusal | None) -> None:
        if self._machine.receive(Input.FAILED):
            self._problem = refusal
            self._count_in()
            self._parts.withdraw()

    def _advance(self) -> None:
        branch = self._branch
        if branch is None or self._parts.waiting:
            return
        if self._machine.state == State.CLOSING:
            if self._retire(branch):
                self._machine.send(Input.ALL_ACCEPTED)
                branch.discharge(fail=False)
                return
            self._fail(TAKEN_BACK)
        if self._machine.state == State.UNDOING:
            branch.discharge(fail=True)

    def _retire(self, branch: Branch) -> bool:
        """Accept the deliveries in the transaction; whether the upstream still waits for it."""
        for retirement in self._transaction.retirements:
            delivery = retirement.delivery
            queue = self._settlement.queue_of(delivery)
            entry = queue.places.get(delivery.position)
            ticket = None if entry is None else entry.ticket
            if ticket is None or not branch.retire(
                ticket.publisher, ticket.token, retirement.outcome
            ):
                return False
        return True

    def _count_in(self) -> None:
        if not self._counted:
            self._counted = True
            self._copies.tickets.open += 1

    def _end(self, how: AuditOutcome, refusal: Refusal | None) -> None:
        if not self._machine.receive(Input.ENDED):
            return
        self._problem = refusal
        self._how = how
        if self._publisher is not None:
            self._settling = list(self._transaction.retirements)
        copies = self._copies
        copies.ledger.transaction = self._transaction.number
        self._parts.forsake()
        copies.ledger.transaction = 0
        if COPY * self._parts.presumed + DELIVERY * len(self._settling) > SHARE:
            copies.entering.put_off(self)
        else:
            self._finish(NO_END)

    def who(self) -> str:
        """See `Long`."""
        return f"connection {self._transaction.connection}, whose transaction an upstream ended"

    def go_on(self, end: int) -> bool:
        """See `Long`."""
        self._copies.turns.open = True
        return self._finish(end)

    def _finish(self, end: int) -> bool:
        """What was done in it ends as it has, until `WORK.units` is above `end`; whether all."""
        transaction = self._transaction
        ledger = self._copies.ledger
        ledger.transaction = transaction.number
        done = self._parts.conclude(self._how, end) and self._settle(end)
        ledger.transaction = 0
        if not done:
            return False
        transaction.end(ledger, self._how)
        if self._counted:
            self._copies.tickets.open -= 1
        if self._publisher is not None:
            self._answer(self._publisher, self._problem)
        return True

    def _settle(self, end: int) -> bool:
        """If it was to be committed: its deliveries get what they are to get."""
        committed = self._how == AuditOutcome.COMMITTED
        settling = self._settling
        while settling:
            if WORK.units > end:
                return False
            WORK.units += DELIVERY
            each = settling.pop()
            if committed:
                self._settlement.settle(each.delivery, each.outcome, Reason.NONE)
            elif each.otherwise is not None:
                self._settlement.settle(each.delivery, each.otherwise, Reason.ROLLBACK)
        return True

    def _answer(self, publisher: Publisher, refusal: Refusal | None) -> None:
        outcome = ACCEPTED
        if refusal is not None:
            outcome = Outcome(
                OutcomeKind.REJECTED,
                condition=refusal.condition,
                description=refusal.description,
            )
        copies = self._copies
        copies.tickets.over(publisher, self._token, outcome, copies.turns.number)


def _failure(outcome: Outcome) -> Refusal | None:
    """Why the transaction is rolled back for a copy that was not accepted."""
    condition = outcome.condition
    if condition == Condition.NONE:
        condition = Condition.PRECONDITION_FAILED
    text = outcome.description or "a message was not accepted"
    return _as_told(Refusal(condition, f"{text}: the transaction is rolled back"))


def _as_told(refusal: Refusal | None) -> Refusal | None:
    """What a client hears: that the upstream does not know the transaction is no state of its."""
    if refusal is None or refusal.condition != Condition.ILLEGAL_STATE:
        return refusal
    return Refusal(Condition.INTERNAL_ERROR, refusal.description)

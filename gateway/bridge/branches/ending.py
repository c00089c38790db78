"""A branch is prepared, or rolled back: at once, or over several turns that are one.

To prepare is to make all the checks of a commit, and then durable what it is to do: for every copy
that it will put into a queue there is room from then on, and nobody takes away what it has
accepted. Nothing of that is seen by others. To roll back is to give back what was accepted, as
failed, each copy to its place, and to let go of what was published. Commits are
`spread.committing`'s, or `transacting`'s, as those of any transaction.
"""

from __future__ import annotations

from enum import IntEnum
from typing import final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.audit.schema import Reason
from gateway.bridge.branches.branch import Branch
from gateway.bridge.branches.rows import BranchRow
from gateway.bridge.queues.copies import Copies
from gateway.bridge.seams import Publisher
from gateway.bridge.settlement import Settlement
from gateway.bridge.spread.rerouting import NO_END
from gateway.bridge.transaction import (
    Held,
    Retirement,
    Transaction,
    deleted,
    drop,
    full,
    let_go,
)
from gateway.message import ACCEPTED, MODIFIED_FAILED, Outcome, OutcomeKind, Refusal
from gateway.wire.work import COPY, DELIVERY, LOOK, PUBLISH, WORK


class Stage(IntEnum):
    """How far a prepare is."""

    LOOKING = 0  # whether everything can enter, which is promised room
    KEEPING = 1
    RETIRING = 2
    KEPT = 3
    REFUSED = 4


@final
class Preparing:
    """One prepare. Implements `Long`; the publisher is told that it is accepted, or rejected.

    Attributes:
        refusal: why it cannot be committed.
    """

    __slots__ = (
        "_branch",
        "_copies",
        "_next",
        "_publisher",
        "_retirements",
        "_row",
        "_settlement",
        "_stage",
        "_token",
        "refusal",
    )

    def __init__(
        self,
        branch: Branch,
        row: BranchRow,
        publisher: Publisher,
        token: int,
        *,
        settlement: Settlement,
        copies: Copies,
    ) -> None:
        self._branch = branch
        self._row = row
        self._publisher = publisher
        self._token = token
        self._settlement = settlement
        self._copies = copies
        self._stage = Stage.LOOKING
        self._next = 0
        self._retirements = list(branch.transaction.retirements)
        self.refusal: Refusal | None = None

    def who(self) -> str:
        """See `Long`."""
        return f"connection {self._branch.transaction.connection}, whose branch is prepared"

    def go_on(self, end: int) -> bool:
        """See `Long`."""
        done = self.work(end)
        if done:
            outcome = ACCEPTED
            refusal = self.refusal
            if refusal is not None:
                outcome = Outcome(
                    OutcomeKind.REJECTED,
                    condition=refusal.condition,
                    description=refusal.description,
                )
            copies = self._copies
            copies.tickets.over(self._publisher, self._token, outcome, copies.turns.number)
        return done

    def work(self, end: int) -> bool:
        """Go on until `WORK.units` is above `end`; whether it is done: kept, or refused."""
        if self._stage == Stage.LOOKING and not self._look(end):
            return False
        if self._stage == Stage.REFUSED:
            return self._give_room(end)
        self._copies.turns.open = True
        if self._stage == Stage.KEEPING and not self._keep(end):
            return False
        if not self._retire(end):
            return False
        branch = self._branch
        branch.shelf.store(self._row)
        transaction = branch.transaction
        transaction.kept = branch.shelf
        for claim in transaction.claims:
            claim.keep(branch.xid.text())
        self._copies.ledger.branch(
            transaction.number,
            transaction.connection,
            branch.shelf.queue.node,
            AuditOutcome.PREPARED,
        )
        return True

    def _look(self, end: int) -> bool:
        held = self._branch.transaction.held
        while self._next < len(held):
            if WORK.units > end:
                return False
            each = held[self._next]
            WORK.units += LOOK * (1 + len(each.queues))
            self.refusal = self._promise(each)
            if self.refusal is not None:
                self._stage = Stage.REFUSED
                return True
            self._next += 1
        self._next = 0
        self._stage = Stage.KEEPING
        self._branch.shelf.begin()
        return True

    def _promise(self, held: Held) -> Refusal | None:
        """Room for its copies; or why one has none."""
        size = len(held.message.payload)
        if not held.may_vanish() and all([queue.deleted for queue in held.queues]):
            return deleted(held)
        for at, queue in enumerate(held.queues):
            if not queue.deleted and queue.full_for(size):
                for promised in held.queues[:at]:
                    promised.promise(-1, -size)
                return full(queue)
            queue.promise(1, size)
        return None

    def _give_room(self, end: int) -> bool:
        """It is not prepared: what was promised before is not needed."""
        held = self._branch.transaction.held
        while self._next > 0:
            if WORK.units > end:
                return False
            self._next -= 1
            each = held[self._next]
            WORK.units += LOOK * len(each.queues)
            for queue in each.queues:
                queue.promise(-1, -len(each.message.payload))
        return True

    def _keep(self, end: int) -> bool:
        held = self._branch.transaction.held
        while self._next < len(held):
            if WORK.units > end:
                return False
            self._branch.shelf.put(held[self._next])
            self._next += 1
        self._next = 0
        self._stage = Stage.RETIRING
        return True

    def _retire(self, end: int) -> bool:
        while self._next < len(self._retirements):
            if WORK.units > end:
                return False
            delivery = self._retirements[self._next].delivery
            self._next += 1
            WORK.units += DELIVERY
            if not delivery.settled:
                self._branch.shelf.retire(delivery, self._settlement.queue_of(delivery))
                self._settlement.keep(delivery)
        return True


@final
class RollingBack:
    """What a branch holds goes. Implements `Long`; the publisher, if any, is told that it is done.

    Source: 0-10 XML, dtx.rollback: what was produced is discarded, what was consumed comes again.
    """

    __slots__ = (
        "_begun",
        "_copies",
        "_held",
        "_next",
        "_publisher",
        "_retirements",
        "_settlement",
        "_token",
        "_transaction",
    )

    def __init__(
        self,
        transaction: Transaction,
        publisher: Publisher | None,
        token: int,
        *,
        settlement: Settlement,
        copies: Copies,
    ) -> None:
        self._transaction = transaction
        self._publisher = publisher
        self._token = token
        self._settlement = settlement
        self._copies = copies
        self._begun = False
        self._next = 0
        self._retirements: list[Retirement] = []
        self._held: list[Held] = []

    def who(self) -> str:
        """See `Long`."""
        return f"connection {self._transaction.connection}, whose branch is rolled back"

    def go_on(self, end: int) -> bool:
        """See `Long`."""
        done = self.work(end)
        if done and self._publisher is not None:
            copies = self._copies
            copies.tickets.over(self._publisher, self._token, ACCEPTED, copies.turns.number)
        return done

    def work(self, end: int) -> bool:
        """Go on until `WORK.units` is above `end`; whether it is done."""
        copies = self._copies
        copies.turns.open = True
        if not self._begun:
            self._begun = True
            self._retirements = list(self._transaction.retirements)
            self._held = self._transaction.held
            self._transaction.held = []
        copies.ledger.transaction = self._transaction.number
        done = self._give_back(end) and self._drop(end)
        copies.ledger.transaction = 0
        if done:
            self._transaction.end(copies.ledger, AuditOutcome.ROLLED_BACK)
        return done

    def _give_back(self, end: int) -> bool:
        retirements = self._retirements
        while self._next < len(retirements):
            if WORK.units > end:
                return False
            delivery = retirements[self._next].delivery
            self._next += 1
            WORK.units += DELIVERY
            self._settlement.settle(delivery, MODIFIED_FAILED, Reason.ROLLBACK)
        return True

    def _drop(self, end: int) -> bool:
        transaction, copies = self._transaction, self._copies
        held = self._held
        while held:
            if WORK.units > end:
                return False
            each = held.pop()
            WORK.units += COPY * len(each.queues)
            if transaction.kept is None:
                drop(each, transaction.number, copies.ledger)
            else:
                transaction.kept.drop(each)
                for queue in each.queues:
                    queue.promise(-1, -len(each.message.payload))
            let_go(each, copies.pressure)
        return True


def at_once(long: Preparing | RollingBack, copies: Copies) -> None:
    """All of it, in the turn that is under way."""
    turns = copies.turns
    was_open = turns.open
    try:
        long.work(NO_END)
    finally:
        turns.open = was_open


def units_of(transaction: Transaction) -> int:
    """What it costs, at most."""
    units = PUBLISH * len(transaction.held) + 2 * COPY * transaction.copies
    return units + DELIVERY * len(transaction.retirements)

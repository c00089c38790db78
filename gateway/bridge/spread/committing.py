"""Commits that are too much for one turn: looked at, decided, and then done, over several turns.

Whether a commit can be done is decided at one moment, when all that it holds has been looked at:
what happens to its queues from then on happens behind it, though its copies are still to come. So
room for them is kept where a queue has limits, a queue that is deleted meanwhile lives on until
they have gone the way of what was in it, and nothing of its queues is sent, purged or shown that
entered in between: nobody sees half of it. That holds for dead letters of the deliveries that it
rejects, too, but no room is kept for them: a queue that is full then does not get them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.audit.schema import Reason
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.queue import EVERYTHING, Queue
from gateway.bridge.seams import Publisher
from gateway.bridge.settlement import Settlement
from gateway.bridge.spread.rerouting import Rerouting
from gateway.bridge.transaction import (
    Held,
    Retirement,
    Rollback,
    Transaction,
    deleted,
    full,
    let_go,
)
from gateway.message import ACCEPTED, Flag, Outcome, OutcomeKind, Refusal
from gateway.wire.work import COPY, DELIVERY, LOOK, PUBLISH, WORK


class Stage(IntEnum):
    """How far it is."""

    LOOKING = 0  # whether everything can enter
    RETIRING = 1  # decided: deliveries get their outcomes
    ENTERING = 2
    UNDOING = 3  # refused: deliveries go back


@final
class LongCommit:
    """Implements `Long`, `Hiding`, and `Late` of what it holds."""

    __slots__ = (
        "_copies",
        "_next",
        "_publisher",
        "_publishing",
        "_refusal",
        "_rerouting",
        "_retirements",
        "_settlement",
        "_stage",
        "_token",
        "_transaction",
        "_wanted",
    )

    def __init__(
        self,
        transaction: Transaction,
        publisher: Publisher,
        token: int,
        *,
        publishing: Publishing,
        settlement: Settlement,
        copies: Copies,
    ) -> None:
        self._transaction = transaction
        self._publisher = publisher
        self._token = token
        self._publishing = publishing
        self._settlement = settlement
        self._copies = copies
        self._stage = Stage.LOOKING
        self._next = 0  # of what it holds, or of the deliveries
        self._retirements: list[Retirement] = []
        self._rerouting: Rerouting | None = None  # of the last delivery: where it goes
        # What each queue gets: copies and their octets.
        self._wanted: dict[Queue, tuple[int, int]] = {}
        self._refusal: Refusal | None = None

    def who(self) -> str:
        """See `Long`."""
        return f"connection {self._transaction.connection}, which commits a transaction"

    def go_on(self, end: int) -> bool:
        """See `Long`."""
        ledger = self._copies.ledger
        while self._stage == Stage.LOOKING:
            if not self._look(end):
                return False
            self._decide()
        if self._stage == Stage.UNDOING:
            return self._undo(end)
        ledger.transaction = self._transaction.number
        done = True
        try:
            done = self._do(end)
        finally:
            if done:
                self._copies.hiding = None
        ledger.transaction = 0
        if done:
            self._end()
        return done

    # Whether it can be done.

    def _look(self, end: int) -> bool:
        """Count what each queue is to get; whether all was looked at, or it cannot be done."""
        held = self._transaction.held
        wanted = self._wanted
        while self._next < len(held):
            if WORK.units > end:
                return False
            each = held[self._next]
            self._next += 1
            WORK.units += LOOK * (1 + len(each.queues))
            size = len(each.message.payload)
            goes = False
            for queue in each.queues:
                if not queue.deleted:
                    goes = True
                    count, octets = wanted.get(queue, (0, 0))
                    wanted[queue] = (count + 1, octets + size)
            if not goes and not each.may_vanish() and self._transaction.kept is None:
                self._refusal = deleted(each)
                break
        return True

    def _decide(self) -> None:
        """The moment from which on it is done, or not; or it is looked at again."""
        wanted = self._wanted
        prepared = self._transaction.kept is not None  # then there is room, which was promised
        WORK.units += LOOK * len(wanted)
        self._next = 0
        self._retirements = list(self._transaction.retirements)
        for queue, (count, octets) in wanted.items():
            if queue.deleted and self._refusal is None:
                wanted.clear()  # it was when it was looked at, and is not now
                return
            if not prepared and queue.full_for(octets, count):
                self._refusal = full(queue)
                break
        if self._refusal is not None:
            self._stage = Stage.UNDOING
            return
        self._copies.turns.open = True
        self._copies.hiding = self  # until all is done: also of what others move meanwhile
        for queue, (count, octets) in wanted.items():
            self._take_over(queue)
            if not prepared:
                queue.promise(count, octets)
        self._stage = Stage.RETIRING

    # It is done.

    def _do(self, end: int) -> bool:
        if self._stage == Stage.RETIRING:
            if not self._retire(end):
                return False
            self._transaction.held.reverse()  # so that each is forgotten as it comes
            self._stage = Stage.ENTERING
        held = self._transaction.held
        kept = self._transaction.kept
        while held:
            entering = held[-1]
            if kept is not None and entering.places:
                kept.take(entering)
            if not self._publishing.placing.go_on(entering, end, self):
                return False
            held.pop()
            let_go(entering, self._copies.pressure)
            if entering.message.durable and not entering.durable:
                entering.message.flags |= Flag.TRANSIENT_COPY
        return True

    def _retire(self, end: int) -> bool:
        """Settle the deliveries as was asked for, or as if nothing had been; whether all are."""
        undone = self._stage == Stage.UNDOING
        reason = Reason.ROLLBACK if undone else Reason.NONE
        retirements = self._retirements
        while self._arrived(end) and self._next < len(retirements):
            if WORK.units > end:
                return False
            each = retirements[self._next]
            self._next += 1
            WORK.units += DELIVERY
            outcome = each.otherwise if undone else each.outcome
            if outcome is not None:
                self._rerouting = self._settlement.settle_apart(each.delivery, outcome, reason)
        return self._rerouting is None

    def _arrived(self, end: int) -> bool:
        """Whether the last delivery that was rejected is where it goes."""
        rerouting = self._rerouting
        if rerouting is not None and rerouting.go_on(end):
            self._rerouting = None
        return self._rerouting is None

    def hide(self, queue: Queue) -> None:
        """See `Hiding`."""
        if queue not in self._wanted:
            self._wanted[queue] = (0, 0)
            self._take_over(queue)

    def _take_over(self, queue: Queue) -> None:
        """Nothing of what comes into it from now on is anybody's before the end."""
        turns = self._copies.turns
        queue.users.links += 1
        queue.rows.safe_after = turns.number
        queue.behind = queue.next_position

    def awaits(self, queue: Queue) -> bool:
        """See `Late`."""
        return queue in self._wanted

    def enter_deleted(self, queue: Queue, held: Held) -> bool:
        """See `Late`."""
        copies = self._copies
        position = queue.next_position
        durable = copies.enter(queue, held.message, held.exchange, held.rerouted, stock=held.stock)
        entry = queue.places.get(position)
        assert entry is not None
        self._settlement.orphan(queue, entry)
        return durable

    def _end(self) -> None:
        """All of it is where it belongs."""
        copies = self._copies
        transaction = self._transaction
        for queue in self._wanted:
            queue.behind = EVERYTHING
            self._settlement.let_go(queue)
        transaction.end(copies.ledger, AuditOutcome.COMMITTED)
        pressure = copies.pressure
        if pressure.holds_back(transaction.connection):
            copies.ledger.counts.pending += 1
            pressure.hold_back(
                copies.turns.number,
                self._publisher,
                self._token,
                connection=transaction.connection,
            )
        else:
            copies.tickets.over(self._publisher, self._token, ACCEPTED, copies.turns.number)

    # It is not.

    def _undo(self, end: int) -> bool:
        if not self._retire(end):
            return False
        copies = self._copies
        copies.turns.spread.begin(Rollback(self._transaction, copies.pressure, copies.ledger))
        refusal = self._refusal
        assert refusal is not None
        outcome = Outcome(
            OutcomeKind.REJECTED, condition=refusal.condition, description=refusal.description
        )
        copies.tickets.over(self._publisher, self._token, outcome, copies.turns.number)
        return True


def units_of(transaction: Transaction, settlement: Settlement) -> int:
    """What its commit costs, at most."""
    units = PUBLISH * len(transaction.held) + COPY * transaction.copies
    units += DELIVERY * len(transaction.retirements)
    for each in transaction.retirements:
        if each.outcome.kind == OutcomeKind.REJECTED:
            units += COPY * settlement.copies_of(each.delivery)
    return units

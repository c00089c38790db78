"""Transactions of one virtual host: begun, filled, committed or rolled back (see `transaction`)."""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.placing import use_room
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.copies import Copies
from gateway.bridge.remote.remote import Remote
from gateway.bridge.remote.transaction import RemoteTransaction
from gateway.bridge.seams import IN_TURN, PENDING, Published, Publisher, PublishStatus
from gateway.bridge.settlement import Settlement
from gateway.bridge.spread.committing import LongCommit, units_of
from gateway.bridge.transaction import AtUpstream, Rollback, Transaction, refuse_deleted
from gateway.message import Delivery, Flag, Message, Refusal


@final
class Transacting:
    """The verbs of transactions."""

    __slots__ = ("_copies", "_limits", "_numbers", "_publishing", "_settlement")

    def __init__(
        self,
        publishing: Publishing,
        settlement: Settlement,
        copies: Copies,
        numbers: Numbers,
        limits: BridgeLimits,
    ) -> None:
        self._publishing = publishing
        self._settlement = settlement
        self._copies = copies
        self._numbers = numbers
        self._limits = limits

    def begin(self, connection: int, *, local: bool = False) -> Transaction:
        """A transaction; `connection` is whose, in the audit log. One that is empty may be kept.

        `local`: it is a branch's (`branches`), and upstreams have no part in it.
        """
        number = self._numbers.next_transaction()
        limit = self._limits.transaction_octets_max
        return Transaction(number, connection, limit, local=local)

    def publish(
        self,
        transaction: Transaction,
        message: Message,
        publisher: Publisher | None,
        token: int,
        link: int = 0,
    ) -> Published:
        """Do as `Publishing.publish` says, but hold the copies until the commit.

        The message is routed and checked now: `DONE`. To an upstream it goes at once, `PENDING`,
        and the outcome is what it will be if the transaction is committed; only who asked for
        outcomes hears one other than accepted, everybody hears it of the commit. Refused, too:
        resource-limit-exceeded (it holds too much), not-implemented (a second resource).
        """
        ledger = self._copies.ledger
        ledger.transaction = transaction.number
        published = self._publishing.publish(message, publisher, token, link, transaction)
        ledger.transaction = 0
        if transaction.remote is not None and transaction.held:
            self._work(transaction, transaction.remote).on_held()
        return published

    def _work(self, transaction: Transaction, remote: Remote) -> AtUpstream:
        """What there is of it at its upstream, which is asked for a transaction by the first."""
        if transaction.work is not None:
            return transaction.work
        work = RemoteTransaction(
            transaction,
            publishing=self._publishing,
            settlement=self._settlement,
            copies=self._copies,
        )
        transaction.work = work
        work.begin(remote)
        return work

    def enlist(self, transaction: Transaction, deliveries: list[Delivery]) -> Refusal | None:
        """Whether unsettled deliveries may be accepted by the commit: not-implemented if not."""
        settlement = self._settlement
        return transaction.enlist([settlement.queue_of(delivery) for delivery in deliveries])

    def commit(
        self,
        transaction: Transaction,
        deliveries: list[Delivery],
        publisher: Publisher,
        token: int,
    ) -> Published:
        """Do all that the transaction holds, and accept `deliveries` (see `enlist`), or nothing.

        `IN_TURN`: done; safe with the current turn. `PENDING`: `publisher.on_published(token,
        outcome)` follows, also without room; `REJECTED` says that it was rolled back, and the
        deliveries have gone back as failed; with `Condition.IN_DOUBT` nobody knows its end.
        `REFUSED`: rolled back, the deliveries are as they were; resource-limit-exceeded (a queue
        has no room), resource-deleted (nothing is left of where a message was to go). What is too
        much for one turn is `PENDING`. Deliveries
        that are to have another outcome, or another fate if it fails, are in
        `transaction.retirements` before. A prepared branch's is never refused.
        """
        if not transaction.enlisted:
            transaction.end_claims(committed=True)
            return IN_TURN
        transaction.accept(deliveries)
        if transaction.remote is not None:
            work = self._work(transaction, transaction.remote)
            return work.commit(publisher, token)
        entering = self._copies.entering
        if entering.puts_off(units_of(transaction, self._settlement)):
            long = LongCommit(
                transaction,
                publisher,
                token,
                publishing=self._publishing,
                settlement=self._settlement,
                copies=self._copies,
            )
            entering.put_off(long)
            return PENDING
        obstacle = None if transaction.kept is not None else transaction.obstacle()
        if obstacle is not None:
            self.rollback(transaction)
            return Published(PublishStatus.REFUSED, obstacle)
        self._do(transaction)
        copies = self._copies
        if copies.pressure.holds_back(transaction.connection):
            copies.ledger.counts.pending += 1
            copies.pressure.hold_back(
                copies.turns.number, publisher, token, connection=transaction.connection
            )
            return PENDING
        return IN_TURN

    def _do(self, transaction: Transaction) -> None:
        """All of it, in this turn."""
        copies = self._copies
        ledger = copies.ledger
        ledger.transaction = transaction.number
        for retirement in transaction.retirements:
            self._settlement.settle(retirement.delivery, retirement.outcome)
        kept = transaction.kept
        for each in transaction.let_go(copies.pressure):
            message = each.message
            if kept is not None:
                kept.take(each)
                use_room(each.queues, message)
            queues = refuse_deleted(each, each.queues, ledger)
            durable = self._publishing.enter(queues, each)
            if message.durable and not durable:
                message.flags |= Flag.TRANSIENT_COPY
        ledger.transaction = 0
        transaction.end(ledger, AuditOutcome.COMMITTED)

    def rollback(self, transaction: Transaction) -> None:
        """Forget what it holds; deliveries that were to be accepted are as they were."""
        if not transaction.enlisted:
            transaction.end_claims(committed=False)
            return
        if transaction.work is not None:
            transaction.work.roll_back()
            return
        copies = self._copies
        copies.turns.spread.begin(Rollback(transaction, copies.pressure, copies.ledger))

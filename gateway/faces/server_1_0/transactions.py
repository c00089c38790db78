"""Transactions of one 1.0 connection: what is done in them, and what becomes of that (4.4).

The bridge holds publishes, and routes them to the transaction's one resource. Outcomes of
deliveries are kept here until the discharge: a delivery is *retired* in one transaction at a time,
and after a rollback it is its link's again as if nothing had been said of it, unless the client has
settled it, or its link has gone: then it gets the default-outcome. Any session of the connection
may work in a transaction; it ends with the control link that declared it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.amqp_1_0._spec import (
    Accepted,
    DeliveryState,
    Modified,
    Rejected,
    Released,
    TransactionalState,
)
from gateway.amqp_1_0._spec_conditions import TRANSACTION_ROLLBACK
from gateway.amqp_1_0.outgoing import Outgoing
from gateway.amqp_1_0.session import Session
from gateway.audit.schema import Reason
from gateway.bridge.seams import Published, Publisher, PublishStatus
from gateway.bridge.transaction import Retirement, Transaction
from gateway.faces.outcomes import STATE_ACCEPTED, outcome_of
from gateway.message import Condition, Outcome, Refusal

if TYPE_CHECKING:
    from gateway.faces.server_1_0.connection import Server10
    from gateway.faces.server_1_0.consumer import Consumer10
    from gateway.faces.server_1_0.coordinator import ControlLink

ID_SIZE: Final = 4
TWO_TRANSACTIONS: Final = "a delivery is in another transaction, which is not discharged"


@final
class Transaction10:
    """One transaction, from its declare to the end of its discharge.

    Attributes:
        id: its txn-id, its number in the audit log.
        accepted: the state of what is accepted in it.
        control: the link that declared it.
        problem: why it cannot be committed any more.
        retired: deliveries that have their outcome in it; a set.
    """

    __slots__ = ("accepted", "control", "id", "posted", "problem", "retired", "transaction")

    def __init__(self, transaction: Transaction, control: ControlLink) -> None:
        self.id: bytes = transaction.number.to_bytes(ID_SIZE, "big")
        self.accepted = TransactionalState(txn_id=self.id, outcome=STATE_ACCEPTED)
        self.transaction = transaction
        self.control = control
        self.problem: Refusal | None = None
        self.retired: dict[Retired, None] = {}
        # Deliveries that the client is to settle first, and the outcomes that they will have.
        self.posted: list[tuple[Session, int, DeliveryState]] = []

    def fail(self, refusal: Refusal) -> None:
        """What was asked for in it cannot be done, and whoever asked cannot know in time."""
        if self.problem is None:
            self.problem = refusal


@final
class Retired:
    """A delivery that has its outcome in a transaction.

    Attributes:
        state: that outcome, in the client's words.
    """

    __slots__ = ("consumer", "outgoing", "retirement", "state", "work")

    def __init__(
        self,
        work: Transaction10,
        consumer: Consumer10,
        outgoing: Outgoing,
        retirement: Retirement,
        state: DeliveryState | None,
    ) -> None:
        self.work = work
        self.consumer = consumer
        self.outgoing = outgoing
        self.retirement = retirement
        self.state = state


@final
class Transactions10:
    """All of one connection.

    Attributes:
        kept: deliveries in them that are unsettled here and not there.
    """

    __slots__ = ("_ending", "_face", "_open", "kept")

    def __init__(self, face: Server10) -> None:
        self._face = face
        self._open: dict[bytes, Transaction10] = {}
        self._ending: dict[Transaction10, None] = {}
        self.kept = 0

    # Their life.

    def declare(self, control: ControlLink) -> Transaction10 | Refusal:
        """A new one, if there may be one more."""
        face = self._face
        counts = face.settings.counts
        most = face.settings.limits.transactions_max
        if len(self._open) + len(self._ending) >= most:
            counts.transactions_refused += 1
            text = f"more than {most} transactions that are not discharged"
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, text)
        work = Transaction10(face.host.transacting.begin(face.peer.connection_id), control)
        self._open[work.id] = work
        counts.transactions_declared += 1
        return work

    def find(self, txn_id: bytes) -> Transaction10 | None:
        """The one of that id, if it is not being discharged."""
        return self._open.get(txn_id)

    def commit(self, work: Transaction10, publisher: Publisher, token: int) -> Published:
        """Do all of it; when that is safe, or comes to nothing, it is the turn of `end`.

        `REFUSED`: it is rolled back, and over.
        """
        problem = work.problem
        if problem is not None:
            self.roll_back(work)
            return Published(PublishStatus.REFUSED, problem)
        self._take(work)
        published = self._face.host.transacting.commit(work.transaction, [], publisher, token)
        if published.status == PublishStatus.REFUSED:
            self._undo(work)
        else:
            self._ending[work] = None
        return published

    def roll_back(self, work: Transaction10) -> None:
        """Undo all of it."""
        self._take(work)
        self._face.host.transacting.rollback(work.transaction)
        self._undo(work)

    def roll_back_of(self, control: ControlLink) -> None:
        """A control link has ended, and with it the transactions that it declared (4.1)."""
        for work in list(self._open.values()):
            if work.control is control:
                self.roll_back(work)

    def _take(self, work: Transaction10) -> None:
        del self._open[work.id]
        self._face.settings.counts.transactions_discharged += 1

    def end(self, work: Transaction10, *, committed: bool) -> None:
        """A commit that was under way has ended; the bridge has seen to what is settled."""
        del self._ending[work]
        for retired in work.retired:
            if retired.retirement.otherwise is not None:
                self.kept -= 1
            elif committed:
                self._settle(retired)
            else:
                self._return(retired)
            if committed:
                consumer = retired.consumer
                consumer.session.dynamics.on_settled(consumer.node_name)
        if committed:
            for session, delivery_id, state in work.posted:
                session.settle_incoming(delivery_id, state, settled=False)
        self._face.resume()

    def outstanding(self) -> bool:
        """Whether there is work that waits for its discharge, or a discharge under way."""
        if self._ending:
            return True
        return any([work.transaction.octets or work.retired for work in self._open.values()])

    # What is retired in them.

    def retire(
        self,
        work: Transaction10,
        consumer: Consumer10,
        outgoing: Outgoing,
        *,
        settled: bool,
        state: DeliveryState | None,
    ) -> None:
        """The client gives a delivery an outcome in a transaction, and perhaps settles it."""
        retired = consumer.retired.get(outgoing.delivery_id)
        if retired is None:
            retired = self._retire(work, consumer, outgoing, settled, state)
            if retired is None:
                return
        elif retired.work is not work:
            if settled:
                self.keep(retired)
            work.control.terminate(TRANSACTION_ROLLBACK, TWO_TRANSACTIONS)
            return
        else:
            outcome = consumer.outcome_for(retired.retirement.delivery, outcome_of(state))
            if outcome is not None:
                retired.retirement.outcome = outcome
                retired.state = state
        if settled:
            self.keep(retired)

    def _retire(
        self,
        work: Transaction10,
        consumer: Consumer10,
        outgoing: Outgoing,
        settled: bool,
        state: DeliveryState | None,
    ) -> Retired | None:
        delivery = consumer.unsettled.get(outgoing.delivery_id)
        if delivery is None:
            return None
        outcome: Outcome | None = consumer.outcome_for(delivery, outcome_of(state))
        if outcome is None:
            if not settled:
                return None
            outcome = consumer.default_outcome
        retired = Retired(work, consumer, outgoing, Retirement(delivery, outcome, None), state)
        refusal = self._face.host.transacting.enlist(work.transaction, [delivery])
        if refusal is None:
            work.transaction.retirements[retired.retirement] = None
        else:
            self._face.uses.on_refused(refusal)
            work.fail(refusal)
        del consumer.unsettled[outgoing.delivery_id]
        consumer.retired[outgoing.delivery_id] = retired
        work.retired[retired] = None
        return retired

    def keep(self, retired: Retired) -> None:
        """A delivery cannot go back to its link: it is settled there, or the link has gone."""
        if retired.retirement.otherwise is None:
            retired.retirement.otherwise = retired.consumer.default_outcome
            retired.consumer.retired.pop(retired.outgoing.delivery_id, None)
            self.kept += 1

    def withdraw(self, retired: Retired) -> bool:
        """The client speaks of it again, outside of transactions; `False`: it is too late."""
        work = retired.work
        if work.id not in self._open:
            return False
        del work.retired[retired]
        work.transaction.retirements.pop(retired.retirement, None)
        self._return(retired)
        return True

    def _undo(self, work: Transaction10) -> None:
        """It is rolled back: what was retired in it is as it was, where it can be."""
        host = self._face.host
        for retired in work.retired:
            otherwise = retired.retirement.otherwise
            if otherwise is None:
                self._return(retired)
            else:
                self.kept -= 1
                host.settlement.settle(retired.retirement.delivery, otherwise, Reason.ROLLBACK)
        self._face.resume()

    def _return(self, retired: Retired) -> None:
        number = retired.outgoing.delivery_id
        consumer = retired.consumer
        del consumer.retired[number]
        consumer.unsettled[number] = retired.retirement.delivery

    def _settle(self, retired: Retired) -> None:
        """The outcome is applied, and the client may forget the delivery."""
        consumer = retired.consumer
        del consumer.retired[retired.outgoing.delivery_id]
        consumer.link.session.settle_outgoing(retired.outgoing, retired.state)


def presumed(work: Transaction10, state: DeliveryState) -> TransactionalState:
    """The outcome that a publish will have if its transaction is committed, as told (4.4.1)."""
    if state is STATE_ACCEPTED:
        return work.accepted
    assert isinstance(state, (Accepted, Rejected, Released, Modified))
    return TransactionalState(txn_id=work.id, outcome=state)

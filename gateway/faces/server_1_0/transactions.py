"""Transactions of one 1.0 connection: what is done in them, and what becomes of that (4.4).

The bridge holds publishes, and routes them to the transaction's one resource. Outcomes of
deliveries are kept until the discharge: a delivery is *retired* in one transaction at a time,
and after a rollback it is its link's again as if nothing had been said of it, unless the client has
settled it, or its link has gone: then it gets the default-outcome. Any session of the connection
may work in a transaction; it ends with the control link that declared it.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import (
    Accepted,
    DeliveryState,
    Modified,
    Rejected,
    Released,
    TransactionalState,
)
from gateway.amqp_1_0._spec_conditions import TRANSACTION_ROLLBACK
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.audit.schema import Reason
from gateway.bridge.seams import Published, Publisher, PublishStatus
from gateway.bridge.transaction import Retirement
from gateway.faces.client import Client
from gateway.faces.leaving import GONE
from gateway.faces.outcomes import STATE_ACCEPTED, without_words
from gateway.faces.server_1_0.unsettled import (
    ClientTransaction,
    Control,
    Retired,
    Said,
    Unsettled,
)
from gateway.faces.withdrawn import commit_refusal
from gateway.message import Condition, Refusal

TWO_TRANSACTIONS: Final = "a delivery is in another transaction, which is not discharged"
LOST: Final = Refusal(
    Condition.ILLEGAL_STATE, "a message in the transaction came when its link had been detached"
)
ENDED: Final = Refusal(
    Condition.ILLEGAL_STATE, "a delivery in the transaction is not the client's any more"
)
OUTSIDE: Final = Refusal(
    Condition.ILLEGAL_STATE, "a delivery in the transaction was given an outcome outside of it"
)


class Sessions(Protocol):
    """The sessions of the connection."""

    def resume(self) -> None:
        """Something may have become free: look for what was held back for want of room."""

    def is_posting(self, txn_id: bytes) -> bool:
        """Whether a delivery in that transaction has come in part."""


@final
class Transactions:
    """All of one connection.

    Attributes:
        kept: deliveries in them that the gateway has not settled and the client has.
    """

    __slots__ = ("_client", "_ending", "_open", "_sessions", "kept")

    def __init__(self, client: Client, sessions: Sessions) -> None:
        self._client = client
        self._sessions: Sessions = sessions
        self._open: dict[bytes, ClientTransaction] = {}
        self._ending: dict[ClientTransaction, None] = {}
        self.kept = 0

    def leave(self) -> None:
        """The connection is gone."""
        self._sessions = GONE

    # Their life.

    def declare(self, control: Control) -> ClientTransaction | Refusal:
        """A new one, if there may be one more."""
        client = self._client
        counts = client.settings.counts
        most = client.settings.limits.transactions_max
        if len(self._open) + len(self._ending) >= most:
            counts.transactions_refused += 1
            text = f"more than {most} transactions that are not discharged"
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, text)
        transaction = client.host.transacting.begin(client.peer.connection_id)
        work = ClientTransaction(transaction, control, client.access.permits)
        self._open[work.id] = work
        counts.transactions_declared += 1
        return work

    def find(self, txn_id: bytes) -> ClientTransaction | None:
        """The one of that id, if it is not being discharged."""
        return self._open.get(txn_id)

    def commit(self, work: ClientTransaction, publisher: Publisher, token: int) -> Published:
        """Do all of it; when that is safe, or comes to nothing, it is the turn of `end`.

        `REFUSED`: it is rolled back, and over; unauthorized-access: by other rules than those by
        which it was filled.
        """
        problem = work.problem or commit_refusal(self._client, work.permits, work.transaction)
        if problem is not None:
            self.roll_back(work)
            return Published(PublishStatus.REFUSED, problem)
        self._take(work)
        published = self._client.host.transacting.commit(work.transaction, [], publisher, token)
        if published.status == PublishStatus.REFUSED:
            self._undo(work)
        else:
            self._ending[work] = None
        return published

    def roll_back(self, work: ClientTransaction) -> None:
        """Undo all of it."""
        self._take(work)
        self._client.host.transacting.rollback(work.transaction)
        self._undo(work)

    def roll_back_of(self, control: Control) -> None:
        """A control link has ended, and with it the transactions that it declared (4.1)."""
        for work in list(self._open.values()):
            if work.control is control:
                self.roll_back(work)

    def _take(self, work: ClientTransaction) -> None:
        del self._open[work.id]
        self._client.settings.counts.transactions_discharged += 1

    def end(self, work: ClientTransaction, *, committed: bool) -> None:
        """A commit that was under way has ended; the bridge has seen to what is settled."""
        del self._ending[work]
        for retired in work.take_retired():
            if retired.retirement.otherwise is not None:
                self.kept -= 1
            elif committed:
                self._settle(retired)
            else:
                self._return(retired)
            if committed:
                retired.unsettled.on_settled()
        if committed:
            for session, delivery_id, state in work.posted:
                session.settle_incoming(delivery_id, state, settled=False)
        self._sessions.resume()

    def is_posting(self, work: ClientTransaction) -> bool:
        """Whether a delivery in it has come in part."""
        return self._sessions.is_posting(work.id)

    def outstanding(self) -> bool:
        """Whether there is work that waits for its discharge, or a discharge under way."""
        return self.under_way() or self.open_work() > 0

    def under_way(self) -> bool:
        """Whether a discharge is."""
        return len(self._ending) > 0

    def open_work(self) -> int:
        """What waits for its discharge: octets of publishes, and outcomes."""
        return sum([work.transaction.octets + len(work.retired) for work in self._open.values()])

    # What is retired in them.

    def retire(
        self,
        work: ClientTransaction,
        unsettled: Unsettled,
        outgoing: Outgoing,
        said: Said,
    ) -> None:
        """The client gives a delivery an outcome in a transaction, and perhaps settles it."""
        settled = said.settled
        retired = unsettled.retired.get(outgoing.delivery_id)
        if retired is None:
            retired = self._retire(work, unsettled, outgoing, said)
            if retired is None:
                return
        elif retired.work is not work:
            if settled:
                self.keep(retired)
            work.control.terminate(TRANSACTION_ROLLBACK, TWO_TRANSACTIONS)
            return
        else:
            outcome = said.outcome
            if outcome is not None:
                if said.merging is not None:
                    outcome = unsettled.merged(retired.retirement.delivery, said.merging)
                retired.retirement.outcome = outcome
                retired.state = without_words(said.state)
        if settled:
            self.keep(retired)

    def _retire(
        self,
        work: ClientTransaction,
        unsettled: Unsettled,
        outgoing: Outgoing,
        said: Said,
    ) -> Retired | None:
        delivery = unsettled.deliveries.get(outgoing.delivery_id)
        if delivery is None:
            self._fail(work, ENDED)  # its link has gone, or it has an outcome outside
            return None
        outcome = said.outcome
        if outcome is None:
            if not said.settled:
                return None
            outcome = unsettled.default_outcome
        elif said.merging is not None:
            outcome = unsettled.merged(delivery, said.merging)
        retirement = Retirement(delivery, outcome, None)
        retired = Retired(work, unsettled, outgoing, retirement, without_words(said.state))
        refusal = self._client.host.transacting.enlist(work.transaction, [delivery])
        if refusal is None:
            work.transaction.retirements[retired.retirement] = None
        else:
            self._fail(work, refusal)
        del unsettled.deliveries[outgoing.delivery_id]
        unsettled.retired[outgoing.delivery_id] = retired
        work.retired[retired] = None
        return retired

    def on_ended(self, txn_id: bytes) -> None:
        """The client gives an outcome to what went back when its link was detached: too late.

        Such a delivery would still be live, had the link's terminus not expired (2.7.6, 3.5.1), so
        that the client cannot know: its transaction fails.
        """
        work = self._open.get(txn_id)
        if work is not None:
            self._fail(work, ENDED)

    def lose(self, state: DeliveryState | None) -> None:
        """Nobody takes a delivery, and its sender cannot know in time: its transaction fails."""
        if isinstance(state, TransactionalState):
            work = self._open.get(state.txn_id)
            if work is not None:
                self._fail(work, LOST)

    def _fail(self, work: ClientTransaction, refusal: Refusal) -> None:
        self._client.uses.on_refused(refusal)
        work.fail(refusal)

    def keep(self, retired: Retired) -> None:
        """A delivery cannot go back to its link: the client has settled it, or that has gone."""
        if retired.retirement.otherwise is None:
            retired.retirement.otherwise = retired.unsettled.default_outcome
            retired.unsettled.retired.pop(retired.outgoing.delivery_id, None)
            self.kept += 1

    def withdraw(self, retired: Retired) -> bool:
        """The client speaks of it again, outside of transactions; `False`: it is too late.

        What it says is done, and so the transaction cannot do what it was told: it fails.
        """
        work = retired.work
        if work.id not in self._open:
            return False
        del work.retired[retired]
        work.transaction.retirements.pop(retired.retirement, None)
        self._return(retired)
        self._fail(work, OUTSIDE)
        return True

    def _undo(self, work: ClientTransaction) -> None:
        """It is rolled back: what was retired in it is as it was, where it can be."""
        host = self._client.host
        for retired in work.take_retired():
            otherwise = retired.retirement.otherwise
            if otherwise is None:
                self._return(retired)
            else:
                self.kept -= 1
                host.settlement.settle(retired.retirement.delivery, otherwise, Reason.ROLLBACK)
        self._sessions.resume()

    def _return(self, retired: Retired) -> None:
        number = retired.outgoing.delivery_id
        unsettled = retired.unsettled
        del unsettled.retired[number]
        unsettled.deliveries[number] = retired.retirement.delivery

    def _settle(self, retired: Retired) -> None:
        """The outcome is applied, and the client may forget the delivery."""
        outgoing = retired.outgoing
        del retired.unsettled.retired[outgoing.delivery_id]
        outgoing.link.session.settle_outgoing(outgoing, retired.state)


def presumed(work: ClientTransaction, state: DeliveryState) -> TransactionalState:
    """The outcome that a publish will have if its transaction is committed, as told (4.4.1)."""
    if state is STATE_ACCEPTED:
        return work.accepted
    assert isinstance(state, (Accepted, Rejected, Released, Modified))
    return TransactionalState(txn_id=work.id, outcome=state)

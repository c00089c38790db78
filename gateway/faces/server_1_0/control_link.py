"""A link to the gateway's transaction coordinator: declares and discharges of a 1.0 client (4.2,
4.3, 4.5).

All is answered in full before a discharge is accepted: all of the transaction is on
disk, or its upstream has accepted the same. Whoever breaks the rules of the link loses it, and with
it the transactions that it declared.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import (
    Accepted,
    Attach,
    Coordination,
    Coordinator,
    Declare,
    Declared,
    Discharge,
    Error,
    Rejected,
    TransactionalState,
)
from gateway.amqp_1_0._spec_conditions import (
    ILLEGAL_STATE,
    TRANSACTION_ROLLBACK,
    TRANSACTION_TIMEOUT,
    UNKNOWN_ID,
)
from gateway.amqp_1_0.errors import DESCRIPTION_MAX
from gateway.amqp_1_0.events import DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.transactions import coordination_of
from gateway.bridge.seams import PublishStatus
from gateway.errors import DecodeError
from gateway.faces.client import Client
from gateway.faces.features import Feature
from gateway.faces.outcomes import STATE_ACCEPTED, Known, error_of
from gateway.faces.safe_with import SafeWith
from gateway.faces.server_1_0.transactions import Transactions
from gateway.faces.server_1_0.unsettled import ClientTransaction
from gateway.message import Condition, Outcome, OutcomeKind, Refusal
from gateway.translate.conditions import from_symbol
from gateway.wire.work import COMMAND, WORK

CAPABILITIES: Final = [
    _spec.TXN_LOCAL,
    _spec.TXN_MULTI_TXNS_PER_SSN,
    _spec.TXN_MULTI_SSNS_PER_TXN,
]


class ControlHolder(Protocol):
    """Who has the control links of a session."""

    def forget_control(self, control: ControlLink) -> None:
        """It is gone, or about to be: end it."""


@final
class ControlLink:
    """Implements `Publisher` and `CommitWaiter`, of commits, and `Control`."""

    def __init__(
        self, client: Client, transactions: Transactions, holder: ControlHolder, link: Link
    ) -> None:
        self._client = client
        self._transactions = transactions
        self._holder = holder
        self.link = link
        self.number = client.bridge.numbers.next_link()
        self._safe_with = SafeWith(client.bridge)  # discharges
        # What is being discharged, by delivery-id: until it is safe, or an upstream has answered.
        self._discharged: dict[int, ClientTransaction] = {}
        attach = link.attach
        outcomes = None
        if attach is not None and attach.source is not None:
            outcomes = attach.source.outcomes
        self._known = Known(outcomes)

    def answer(self, attach: Attach) -> None:
        """Answer the client's attach: what this coordinator can do; give credit."""
        self.link.send_attach(
            source=attach.source,
            target=Coordinator(capabilities=CAPABILITIES),
            snd_settle_mode=_spec.SND_UNSETTLED,
            rcv_settle_mode=_spec.RCV_FIRST,
        )
        self.link.forget_attach()
        self._client.record_link(self.number, node=0, flags=0)
        self.give_credit()

    # What comes by it.

    def on_delivery(self, event: DeliveryReceived) -> None:
        """A declare, a discharge, or what is neither."""
        WORK.units += COMMAND
        if event.settled:
            # Whoever settles does not hear the outcome (4.2).
            self.terminate(ILLEGAL_STATE, "a settled delivery to a coordinator")
            return
        asked = _read(event)
        if isinstance(asked, Refusal):
            self._reject(event.delivery_id, error_of(asked))
        elif isinstance(asked, Declare):
            self._declare(event.delivery_id, asked)
        else:
            self._discharge(event.delivery_id, asked)
        self.give_credit()

    def _declare(self, delivery_id: int, declare: Declare) -> None:
        if declare.global_id is not None:
            self._client.uses.count(Feature.DTX)
            refusal = Refusal(Condition.NOT_IMPLEMENTED, "no distributed transactions here")
            self._reject(delivery_id, error_of(refusal))
            return
        work = self._transactions.declare(self)
        if isinstance(work, Refusal):
            self._reject(delivery_id, error_of(work))
        else:
            self._tell(delivery_id, Declared(txn_id=work.id))

    def _discharge(self, delivery_id: int, discharge: Discharge) -> None:
        transactions = self._transactions
        work = transactions.find(discharge.txn_id)
        if work is None:
            text = "no transaction of that id, or it is being discharged"
            self._reject(delivery_id, Error(condition=UNKNOWN_ID, description=text))
            return
        if transactions.is_posting(work):
            work.control.terminate(TRANSACTION_ROLLBACK, "a delivery in it is not complete")
            return
        if discharge.fail is True:
            transactions.roll_back(work)
            self._tell(delivery_id, STATE_ACCEPTED)
            return
        published = transactions.commit(work, self, delivery_id)
        if published.status == PublishStatus.REFUSED:
            refusal = published.refusal or Refusal(Condition.INTERNAL_ERROR, "")
            withdrawn = refusal.condition == Condition.UNAUTHORIZED_ACCESS
            rolled_back = _rolled_back(refusal.condition, refusal.description)
            self._reject(delivery_id, error_of(refusal) if withdrawn else rolled_back)
            return
        self._discharged[delivery_id] = work
        if published.status != PublishStatus.PENDING:
            self._safe_with.add(delivery_id, self)

    def on_committed(self, turn: int) -> None:
        """Accept the discharges of that turn: all of their transactions is on disk."""
        for first, last in self._safe_with.take(turn):
            for delivery_id in range(first, last + 1):
                self._transactions.end(self._discharged.pop(delivery_id), committed=True)
                self._tell(delivery_id, STATE_ACCEPTED)
        self._client.touch()

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A commit that had to be waited for has ended."""
        work = self._discharged.pop(token, None)
        if work is None:
            return
        committed = outcome.kind == OutcomeKind.ACCEPTED
        self._transactions.end(work, committed=committed)
        if committed:
            self._tell(token, STATE_ACCEPTED)
        else:
            self._reject(token, _rolled_back(outcome.condition, outcome.description))
        self.give_credit()
        self._client.touch()

    def _reject(self, delivery_id: int, error: Error) -> None:
        if self._known.rejected:
            self._tell(delivery_id, Rejected(error=error))
        else:
            self.terminate(error.condition, error.description or "")

    def _tell(self, delivery_id: int, state: Accepted | Rejected | Declared) -> None:
        self.link.session.settle_incoming(delivery_id, state)

    def give_credit(self) -> None:
        """Grant `limits.link_credit` again, if half of it is used up."""
        if not self.link.attached or self._client.draining:
            return
        wanted = self._client.settings.limits.link_credit
        if self.link.credit * 2 <= wanted:
            self.link.send_flow(credit=wanted)
            self._client.touch()

    # Its end.

    def terminate(self, condition: str, description: str) -> None:
        """The client has broken a rule, or cannot hear of its transactions by outcomes."""
        self._client.on_link_refused(from_symbol(condition))
        self.link.send_detach(error=Error(condition=condition, description=description))
        self._holder.forget_control(self)
        self._client.touch()

    def end(self) -> None:
        """The link is gone: what it declared and nobody discharged is rolled back."""
        self._transactions.roll_back_of(self)
        self._client.record_link_end(self.number)


def _read(event: DeliveryReceived) -> Coordination | Refusal:
    if isinstance(event.state, TransactionalState):
        return Refusal(Condition.ILLEGAL_STATE, "no transactional work on a control link")
    try:
        return coordination_of(event.payload)
    except DecodeError as error:
        return Refusal(Condition.DECODE_ERROR, str(error))


def _rolled_back(condition: Condition, description: str) -> Error:
    """A commit that came to nothing, or of which nobody knows."""
    doubtful = condition == Condition.IN_DOUBT
    return Error(
        condition=TRANSACTION_TIMEOUT if doubtful else TRANSACTION_ROLLBACK,
        description=description[:DESCRIPTION_MAX] or None,
    )

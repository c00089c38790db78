"""What a 1.0 client has been sent and not settled, and the transactions that outcomes wait in.

A delivery is *retired* in one transaction at a time (4.4.2): it has an outcome, which is applied
with the discharge.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import DeliveryState, TransactionalState
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.bridge.transaction import Retirement, Transaction
from gateway.faces import losses
from gateway.faces.client import Client
from gateway.faces.dynamic import DynamicNodes
from gateway.faces.outcomes import STATE_ACCEPTED
from gateway.message import Delivery, Outcome, Refusal
from gateway.permissions.permits import Permits
from gateway.translate.outcomes import Merging, lose_annotations

ID_SIZE: Final = 4


class Control(Protocol):
    """The control link that has declared a transaction."""

    def terminate(self, condition: str, description: str) -> None:
        """The client has broken a rule in the transaction: end the link, and roll back."""


@final
class ClientTransaction:
    """One transaction, from its declare to the end of its discharge.

    Attributes:
        id: its txn-id, its number in the audit log.
        accepted: the state of what is accepted in it.
        control: the control link that declared it.
        permits: what decided about its publishes when it was declared.
        problem: why it cannot be committed any more.
        retired: deliveries that have their outcome in it; a set.
    """

    __slots__ = (
        "accepted",
        "control",
        "id",
        "permits",
        "posted",
        "problem",
        "retired",
        "transaction",
    )

    def __init__(self, transaction: Transaction, control: Control, permits: Permits) -> None:
        self.id: bytes = transaction.number.to_bytes(ID_SIZE, "big")
        self.accepted = TransactionalState(txn_id=self.id, outcome=STATE_ACCEPTED)
        self.transaction = transaction
        self.control = control
        self.permits = permits
        self.problem: Refusal | None = None
        self.retired: dict[Retired, None] = {}
        # Deliveries that the client is to settle first, and the outcomes that they will have.
        self.posted: list[tuple[Session, int, DeliveryState]] = []

    def take_retired(self) -> dict[Retired, None]:
        """What is retired in it, at its end: from now on it holds nothing that holds it."""
        retired = self.retired
        self.retired = {}
        return retired

    def fail(self, refusal: Refusal) -> None:
        """What was asked for in it cannot be done, and whoever asked cannot know in time."""
        if self.problem is None:
            self.problem = refusal


@final
class Said:
    """What a client says in a transaction of all the deliveries of one disposition.

    Attributes:
        state: their outcome, in its words.
        outcome: the same for the bridge, but for annotations.
        merging: of the outcome, if it has annotations.
        settled: whether it has settled them.
    """

    __slots__ = ("merging", "outcome", "settled", "state")

    def __init__(
        self,
        state: DeliveryState | None,
        outcome: Outcome | None,
        merging: Merging | None,
        settled: bool,
    ) -> None:
        self.state = state
        self.outcome = outcome
        self.merging = merging
        self.settled = settled


def merging_of(outcome: Outcome | None) -> Merging | None:
    """Of the annotations that an outcome adds to messages; `None`: of none."""
    return Merging(outcome) if outcome is not None and outcome.annotations else None


@final
class Retired:
    """A delivery that has its outcome in a transaction.

    Attributes:
        state: that outcome, in the client's words.
    """

    __slots__ = ("outgoing", "retirement", "state", "unsettled", "work")

    def __init__(
        self,
        work: ClientTransaction,
        unsettled: Unsettled,
        outgoing: Outgoing,
        retirement: Retirement,
        state: DeliveryState | None,
    ) -> None:
        self.work = work
        self.unsettled = unsettled
        self.outgoing = outgoing
        self.retirement = retirement
        self.state = state


@final
class Unsettled:
    """What one link has sent.

    Attributes:
        node_name: where it is from; "" where nobody needs to know that.
        default_outcome: of what the client settles without an outcome, or leaves behind.
        deliveries: what the client has not settled, by delivery-id.
        retired: what it has given an outcome in a transaction, and not settled.
    """

    __slots__ = ("_client", "_dynamics", "default_outcome", "deliveries", "node_name", "retired")

    def __init__(
        self, client: Client, dynamics: DynamicNodes, node_name: str, default_outcome: Outcome
    ) -> None:
        self._client = client
        self._dynamics = dynamics
        self.node_name = node_name
        self.default_outcome = default_outcome
        self.deliveries: dict[int, Delivery] = {}
        self.retired: dict[int, Retired] = {}

    def merged(self, delivery: Delivery, merging: Merging) -> Outcome:
        """An outcome with annotations, together with those that the delivery came with."""
        made = merging.merged(delivery.annotations)
        if not made.annotations:
            client = self._client
            lost = lose_annotations(client.settings.translated)
            losses.record(client.bridge, lost, delivery.message.id, delivery.subscription)
        return made

    def on_settled(self) -> None:
        """Messages may have left the node."""
        self._dynamics.on_settled(self.node_name)

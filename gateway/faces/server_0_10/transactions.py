"""What a 0-10 session does as one: class tx, and the work in branches of `distributed`.

Once selected, a session is always in a transaction: its transfers go into it, and its accepts are
kept back until the commit. Accepted ids that are released or rejected meanwhile are out of it again
(some clients release them before they roll back); what is rolled back stays acquired.
Source: 0-10 XML, class tx. In a branch it is the same, but that its end is nobody's of the session.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.types import Command
from gateway.bridge.branches.branch import Branch
from gateway.bridge.seams import PublishStatus
from gateway.bridge.transaction import Transaction
from gateway.faces.client import Client
from gateway.faces.features import Feature
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.errors import failure_of
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.subscriptions import Subscriptions
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.faces.withdrawn import commit_refusal
from gateway.message import Condition, Delivery, Outcome, OutcomeKind, Refusal
from gateway.wire.serial import RangeSet


@final
class Transactions:
    """Implements `Publisher`, of commits.

    Attributes:
        branch: the one that the session works in; `None`: in none.
    """

    __slots__ = (
        "_accepted",
        "_answers",
        "_client",
        "_own",
        "_parking",
        "_permits",
        "_subscriptions",
        "_transacting",
        "_unsettled",
        "branch",
    )

    def __init__(
        self, answers: Answers, unsettled: Unsettled, parking: Parking, subscriptions: Subscriptions
    ) -> None:
        self._answers = answers
        self._client = answers.client
        self._unsettled = unsettled
        self._parking = parking
        self._subscriptions = subscriptions
        self._transacting = answers.client.host.transacting
        self.branch: Branch | None = None
        self._own: Transaction | None = None  # once selected
        # What decides about its publishes, unless there are other rules at its commit.
        self._permits = self._client.access.permits
        # Ids of deliveries that the commit is to accept.
        self._accepted = RangeSet()

    def move(self, client: Client) -> None:
        """The session has another connection, or none; who has it is asked again at the commit."""
        self._client = client

    @property
    def current(self) -> Transaction | None:
        """The transaction that the session is in; `None`: in none."""
        return self._own if self.branch is None else self.branch.transaction

    def enter(self, branch: Branch) -> None:
        """The session works in a branch."""
        self.branch = branch

    def leave(self) -> list[Delivery]:
        """It does so no longer: what it has accepted there, which is no longer its own."""
        return self._unsettled.take(self.abandon())

    def abandon(self) -> Ranges:
        """The same, but what it has accepted there stays its own: the ids."""
        self.branch = None
        return self._accepted.take()

    def on_settled(self) -> None:
        """Some of what it had is not its own any more."""
        self._subscriptions.on_settled()

    def carry_out(self, command: Command, command_id: int) -> Refusal | None:
        """Carry out a command of class tx; a commit may have to be waited for."""
        if isinstance(command, spec.TxSelect):
            return self._select()
        current = self._own
        if current is None:
            return Refusal(Condition.ILLEGAL_STATE, "the session has not selected transactions")
        if isinstance(command, spec.TxCommit):
            return self._commit(current, command, command_id)
        self._rollback(current)
        return None

    def accept(self, ranges: Ranges) -> Refusal | None:
        """Accept deliveries, known ones only, when the transaction is committed."""
        current = self.current
        assert current is not None
        found = self._unsettled.find(ranges)
        refusal = self._transacting.enlist(current, [delivery for _, delivery in found])
        if refusal is None and self.branch is not None:
            refusal = current.room_to_accept(self._accepted.count() + len(found))
        if refusal is not None:
            self.count(refusal)
            return refusal
        for command_id, _ in found:
            self._accepted.add(command_id)
        return None

    def count(self, refusal: Refusal) -> None:
        """Work is refused: of a branch, perhaps because an upstream could not prepare it."""
        if self.branch is not None and refusal.condition == Condition.NOT_IMPLEMENTED:
            self._client.uses.refuse(Feature.DTX)

    def open_octets(self) -> int:
        """Of publishes that wait for the client's commit."""
        return 0 if self.current is None else self.current.octets

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A commit that had to be waited for has ended; the token is its command id."""
        if self._answers.over:
            return
        refusal = None if outcome.kind == OutcomeKind.ACCEPTED else failure_of(outcome)
        self._parking.answer(token, refusal)
        self._client.touch()

    def end(self) -> None:
        """The session is over: what is not committed is rolled back."""
        current = self._own
        if current is not None:
            self._own = None
            self._rollback(current, again=False)

    def _select(self) -> Refusal | None:
        subscriptions = self._subscriptions
        if self._own is not None:
            return Refusal(Condition.ILLEGAL_STATE, "the session has selected transactions before")
        if self.branch is not None:
            return Refusal(Condition.ILLEGAL_STATE, "the session works in a branch")
        if self._client.settings.strict and subscriptions.unaccepting():
            return Refusal(Condition.NOT_ALLOWED, "a subscription has accept-mode none")
        subscriptions.transactional = True
        self._begin()
        return None

    def _begin(self) -> None:
        self._own = self._transacting.begin(self._client.peer.connection_id)
        self._permits = self._client.access.permits

    def _commit(
        self, current: Transaction, command: spec.TxCommit, command_id: int
    ) -> Refusal | None:
        if not current.enlisted:
            current.end_claims(committed=True)
            return None
        withdrawn = commit_refusal(self._client, self._permits, current)
        if withdrawn is not None:
            self._rollback(current)
            return withdrawn
        unsettled = self._unsettled
        ranges = self._accepted.take()
        deliveries = [delivery for _, delivery in unsettled.find(ranges)]
        published = self._transacting.commit(current, deliveries, self, command_id)
        if published.status == PublishStatus.REFUSED:
            # The next transaction has nothing in it; the session ends.
            self._begin()
            return published.refusal
        unsettled.take(ranges)
        self._begin()
        self._subscriptions.on_settled()
        if published.status == PublishStatus.PENDING:
            self._parking.wait(command_id, command)
        return None

    def _rollback(self, current: Transaction, *, again: bool = True) -> None:
        self._accepted.take()
        self._transacting.rollback(current)
        if current.enlisted and again:
            self._begin()

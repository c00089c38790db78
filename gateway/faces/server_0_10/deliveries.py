"""What a 0-10 client says of its deliveries: accept, reject, release and acquire.

Source: 0-10 XML, message class: the transfer states. accept, reject and release settle, also after
the subscription was cancelled; of ids that are not there, or not any more, they complete and do
nothing else. A browsed transfer is only settled by them.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.primitives import Ranges
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.features import Feature
from gateway.faces.server_0_10.permissions import Permissions
from gateway.faces.server_0_10.subscriptions import Subscriptions
from gateway.faces.server_0_10.transactions import Transactions
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import ACCEPTED, MODIFIED_FAILED, Outcome, Refusal
from gateway.translate.outcomes import of_reject, of_release
from gateway.wire.serial import RangeSet
from gateway.wire.work import DELIVERY, SETTLING, WORK


@final
class Deliveries:
    """What one session was sent, and what becomes of it."""

    __slots__ = (
        "_permissions",
        "_settlement",
        "_subscriptions",
        "_transactions",
        "_unsettled",
        "_uses",
    )

    def __init__(
        self,
        client: Client,
        unsettled: Unsettled,
        subscriptions: Subscriptions,
        transactions: Transactions,
        permissions: Permissions,
    ) -> None:
        self._uses = client.uses
        self._unsettled = unsettled
        self._subscriptions = subscriptions
        self._transactions = transactions
        self._permissions = permissions
        self._settlement = client.host.settlement

    def move(self, client: Client, permissions: Permissions) -> None:
        """The session has another connection, or none."""
        self._uses = client.uses
        self._permissions = permissions

    def accept(self, command: spec.MessageAccept) -> Refusal | None:
        """message.accept; in a transaction it is kept for the commit."""
        transactions = self._transactions
        if transactions.current is not None:
            return transactions.accept(command.transfers or [])
        self._settle(command.transfers or [], ACCEPTED)
        return None

    def release(self, command: spec.MessageRelease) -> None:
        """message.release: counted as a failed delivery when the client wants it redelivered."""
        self._settle(command.transfers or [], of_release(command.set_redelivered))

    def reject(self, command: spec.MessageReject) -> None:
        """message.reject."""
        code = command.code or spec.RejectCode.UNSPECIFIED
        self._settle(command.transfers or [], of_reject(code, command.text or ""))

    def _settle(self, ranges: Ranges, outcome: Outcome) -> None:
        taken = self._unsettled.take(ranges)
        WORK.units += DELIVERY * len(taken)
        for delivery in taken:
            self._settlement.settle(delivery, outcome)
        self._subscriptions.on_settled()

    def acquire(self, command: spec.MessageAcquire) -> spec.Acquired | Refusal:
        """message.acquire: those that could be had; others may be with somebody else by now.

        What was sent with accept-mode none to who looks on is dequeued by it, until that is
        completed. Who may browse a queue may not take from it for that.
        """
        WORK.units += SETTLING  # it is answered
        ranges = command.transfers or []
        settlement = self._settlement
        found = self._unsettled.find(ranges)
        looked_at = self._unsettled.take_looked_at(ranges)
        links = [each.subscription for _, each in found if not each.acquired and not each.settled]
        refusal = self._acquire_refusal({*links, *[browsed[0] for _, browsed in looked_at]})
        if refusal is not None:
            return refusal
        acquired = RangeSet()
        for command_id, delivery in found:
            if settlement.acquire(delivery):
                acquired.add(command_id)
            elif settlement.is_from_upstream(delivery):
                self._uses.count(Feature.REMOTE_ACQUIRE)
        WORK.units += DELIVERY * len(looked_at)
        for command_id, (link, position, message) in looked_at:
            if settlement.take_looked_at(link, position, message):
                acquired.add(command_id)
            elif settlement.is_behind_upstream(link):
                self._uses.count(Feature.REMOTE_ACQUIRE)
        return spec.Acquired(transfers=acquired.ranges)

    def _acquire_refusal(self, links: set[int]) -> Refusal | None:
        """Why the client may not take from the queues of these subscriptions."""
        asked: set[str] = set()
        for link in links:
            queue = self._settlement.queue_behind(link)
            if queue is None or queue.name in asked:
                continue
            asked.add(queue.name)
            refusal = self._permissions.acquire_refusal(queue.name)
            if refusal is not None:
                return refusal
        return None

    def give_back(self, reason: Reason) -> None:
        """The session is over: everything unsettled goes back, as failed deliveries."""
        taken = self._unsettled.take_all()
        WORK.units += DELIVERY * len(taken)
        for delivery in taken:
            self._settlement.settle(delivery, MODIFIED_FAILED, reason)

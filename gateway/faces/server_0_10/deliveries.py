"""Deliveries of a 0-10 session: transfers out, and accept, reject, release and acquire back.

Source: 0-10 XML, message class: the transfer states. accept, reject and release settle, also after
the subscription was cancelled; of ids that are not there, or not any more, they complete and do
nothing else. A browsed transfer is only settled by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.primitives import Ranges
from gateway.audit.records import digest
from gateway.audit.schema import Reason
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.features import Feature
from gateway.faces.server_0_10.subscription import Subscription010
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import ACCEPTED, MODIFIED_FAILED, Condition, Delivery, Outcome, Refusal
from gateway.translate.message import to_0_10
from gateway.translate.outcomes import of_reject, of_release
from gateway.wire.serial import RangeSet

if TYPE_CHECKING:
    from gateway.faces.server_0_10.session import ServerSession


@final
class Deliveries:
    """What one session was sent and has not settled."""

    __slots__ = ("_settlement", "session", "unsettled")

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self._settlement = session.host.settlement
        self.unsettled = Unsettled()

    def send(self, subscription: Subscription010, delivery: Delivery) -> DeliverStatus:
        """Send one delivery as a transfer, if there is room and byte credit for it."""
        session = self.session
        if not self._has_room():
            return DeliverStatus.BLOCKED
        if len(self.unsettled) >= session.face.settings.limits.unsettled_max:
            subscription.exhausted()
            return DeliverStatus.BLOCKED
        message = delivery.message
        context = session.face.context_for(session.host)
        translated = to_0_10(message, context, delivery.delivery_count, delivery.annotations)
        if translated.losses:
            losses.record(session.bridge, translated.losses, message.id, delivery.subscription)
        if translated.refusal is not None:
            return DeliverStatus.UNDELIVERABLE
        octets = len(translated.header) + len(translated.body)
        if not subscription.octets.covers(octets):
            subscription.exhausted()
            return DeliverStatus.BLOCKED
        delivery.body_digest = digest(translated.body)
        delivery.body_changed = translated.body_changed
        explicit = subscription.accept_explicit
        command_id = session.session.send_command(
            transfer(subscription), header=translated.header, body=translated.body
        )
        self.unsettled.sent(command_id, subscription, octets, delivery if explicit else None)
        subscription.sent(octets)
        session.face.touch()
        return DeliverStatus.TAKEN

    def _has_room(self) -> bool:
        session = self.session
        limit = session.face.settings.limits.commands_in_doubt_max
        return session.face.has_room() and session.session.in_doubt() < limit

    def completed(self, ranges: Ranges) -> None:
        """The client has completed transfers."""
        self.unsettled.completed(ranges)

    def accept(self, command: spec.MessageAccept) -> Refusal | None:
        """message.accept; in a transaction it is kept for the commit."""
        transactions = self.session.transactions
        if transactions.current is not None:
            return transactions.accept(command.transfers or [])
        self._settle(command.transfers or [], ACCEPTED)
        return None

    def release(self, command: spec.MessageRelease) -> None:
        """message.release: counted as a failed delivery when the client wants it redelivered."""
        self._settle(command.transfers or [], of_release(command.set_redelivered))

    def reject(self, command: spec.MessageReject) -> Refusal | None:
        """message.reject."""
        code = command.code or spec.RejectCode.UNSPECIFIED
        if code > spec.RejectCode.IMMEDIATE:
            return Refusal(Condition.ILLEGAL_ARGUMENT, f"no reject-code is {code}")
        self._settle(command.transfers or [], of_reject(code, command.text or ""))
        return None

    def _settle(self, ranges: Ranges, outcome: Outcome) -> None:
        for delivery in self.unsettled.take(ranges):
            self._settlement.settle(delivery, outcome)
        self.session.subscriptions.on_settled()

    def acquire(self, command: spec.MessageAcquire) -> spec.Acquired:
        """message.acquire: those that could be had; others may be with somebody else by now."""
        acquired = RangeSet()
        for command_id, delivery in self.unsettled.find(command.transfers or []):
            if self._settlement.acquire(delivery):
                acquired.add(command_id)
            elif self._settlement.is_from_upstream(delivery):
                self.session.face.uses.count(Feature.REMOTE_ACQUIRE)
        return spec.Acquired(transfers=acquired.ranges)

    def give_back(self, reason: Reason) -> None:
        """The session is over: everything unsettled goes back, as failed deliveries."""
        for delivery in self.unsettled.take_all():
            self._settlement.settle(delivery, MODIFIED_FAILED, reason)


def transfer(subscription: Subscription010) -> spec.MessageTransfer:
    """The command of a delivery; clients want all its fields."""
    explicit, acquire = subscription.accept_explicit, subscription.acquire
    return spec.MessageTransfer(
        destination=subscription.destination,
        accept_mode=spec.AcceptMode.EXPLICIT if explicit else spec.AcceptMode.NONE,
        acquire_mode=spec.AcquireMode.PRE_ACQUIRED if acquire else spec.AcquireMode.NOT_ACQUIRED,
    )

"""The audit log of one incarnation: records of messages and their copies, and all others. Compiled.

They stand in the order of the contract. What each message has is written by this class itself,
which nothing is derived from: so compiled code calls it directly.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.audit.records.connections import ConnectionRecords
from gateway.audit.schema import Flag, Kind, Reason

_RECEIVED: Final[int64] = int(Kind.RECEIVED)
_ROUTED: Final[int64] = int(Kind.ROUTED)
_UNROUTABLE: Final[int64] = int(Kind.UNROUTABLE)
_REFUSED: Final[int64] = int(Kind.REFUSED)
_ROLLED_BACK: Final[int64] = int(Kind.ROLLED_BACK)
_CONFIRMED: Final[int64] = int(Kind.CONFIRMED)
_ENTERED: Final[int64] = int(Kind.ENTERED)
_RECOVERED: Final[int64] = int(Kind.RECOVERED)
_EXPIRED: Final[int64] = int(Kind.EXPIRED)
_DEAD_LETTERED: Final[int64] = int(Kind.DEAD_LETTERED)
_EVICTED: Final[int64] = int(Kind.EVICTED)
_REPLACED: Final[int64] = int(Kind.REPLACED)
_PURGED: Final[int64] = int(Kind.PURGED)
_MOVED: Final[int64] = int(Kind.MOVED)
_RETURNED: Final[int64] = int(Kind.RETURNED)
_SENT: Final[int64] = int(Kind.SENT)
_SETTLED: Final[int64] = int(Kind.SETTLED)
_REQUEUED: Final[int64] = int(Kind.REQUEUED)
_TRANSLATED_WITH_LOSS: Final[int64] = int(Kind.TRANSLATED_WITH_LOSS)
_TRANSLATION_CHECKED: Final[int64] = int(Kind.TRANSLATION_CHECKED)
_DURABLE: Final[int64] = int(Flag.DURABLE)
_TTL: Final[int64] = int(Reason.TTL)
_QUEUE_FULL: Final[int64] = int(Reason.QUEUE_FULL)
_LAST_VALUE: Final[int64] = int(Reason.LAST_VALUE)


def _clamped(count: int64) -> int64:
    """A delivery count in the width that records have."""
    return count if count < 32767 else 32767


@final
class AuditLog(ConnectionRecords):
    """The audit log of one incarnation: one method a record kind."""

    __slots__ = ()

    def received(
        self,
        now_ms: int64,
        message: int64,
        *,
        link: int64,
        exchange: int64,
        copies: int64,
        id_digest: int64,
        body_digest: int64,
        size: int64,
        flags: int64 = 0,
        node: int64 = 0,
        connection: int64 = 0,
        transaction: int64 = 0,
    ) -> None:
        """A publisher's message was routed to `copies` (at least 1) places."""
        self._write(
            _RECEIVED,
            now_ms,
            message,
            position=0,
            link=link,
            id_digest=id_digest,
            body_digest=body_digest,
            size=size,
            node=node,
            exchange=exchange,
            peer=0,
            connection=connection,
            transaction=transaction,
            copies=copies,
            reason=0,
            flags=flags,
            delivery_count=0,
            outcome=0,
            actor=0,
            address=0,
        )

    def routed(
        self, now_ms: int64, message: int64, *, exchange: int64, copies: int64, reason: int64
    ) -> None:
        """A message went on by another route: an alternate exchange, a move."""
        self._record(
            _ROUTED, now_ms, message=message, exchange=exchange, copies=copies, reason=reason
        )

    def unroutable(self, now_ms: int64, message: int64, *, exchange: int64, reason: int64) -> None:
        """No queue took it: this copy of the route has ended."""
        self._record(_UNROUTABLE, now_ms, message=message, exchange=exchange, reason=reason)

    def refused(
        self, now_ms: int64, message: int64, *, exchange: int64, reason: int64, node: int64 = 0
    ) -> None:
        """A copy of the route was not let in (`node`: by which queue)."""
        self._record(_REFUSED, now_ms, message=message, exchange=exchange, reason=reason, node=node)

    def rolled_back(
        self, now_ms: int64, message: int64, *, exchange: int64, node: int64, transaction: int64
    ) -> None:
        """A copy of the route ended with its transaction."""
        self._record(
            _ROLLED_BACK,
            now_ms,
            message=message,
            exchange=exchange,
            node=node,
            transaction=transaction,
        )

    def confirmed(
        self,
        now_ms: int64,
        first: int64,
        last: int64,
        *,
        link: int64,
        connection: int64,
        copies: int64,
        outcome: int64,
    ) -> None:
        """A publisher is told how its messages ended, from the first to the last (`copies`)."""
        self._record(
            _CONFIRMED,
            now_ms,
            message=first,
            position=last,
            link=link,
            connection=connection,
            copies=copies,
            outcome=outcome,
        )

    def entered(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        exchange: int64,
        body_digest: int64,
        size: int64,
        flags: int64,
        transaction: int64 = 0,
        lane: int64 = 0,
    ) -> None:
        """A copy is in its queue; in which `lane` it keeps its place, where there are several."""
        self._write(
            _ENTERED,
            now_ms,
            message,
            position,
            link=0,
            id_digest=0,
            body_digest=body_digest,
            size=size,
            node=node,
            exchange=exchange,
            peer=0,
            connection=0,
            transaction=transaction,
            copies=lane,
            reason=0,
            flags=flags,
            delivery_count=0,
            outcome=0,
            actor=0,
            address=0,
        )

    def recovered(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        id_digest: int64,
        body_digest: int64,
        size: int64,
        delivery_count: int64,
    ) -> None:
        """The store brought a copy back."""
        self._record(
            _RECOVERED,
            now_ms,
            message=message,
            position=position,
            node=node,
            id_digest=id_digest,
            body_digest=body_digest,
            size=size,
            flags=_DURABLE,
            delivery_count=_clamped(delivery_count),
        )

    def _left(
        self,
        kind: int64,
        now_ms: int64,
        message: int64,
        position: int64,
        node: int64,
        reason: int64,
        peer: int64 = 0,
        transaction: int64 = 0,
    ) -> None:
        self._record(
            kind,
            now_ms,
            message=message,
            position=position,
            node=node,
            reason=reason,
            peer=peer,
            transaction=transaction,
        )

    def expired(
        self, now_ms: int64, message: int64, position: int64, *, node: int64, reason: int64 = _TTL
    ) -> None:
        """Its time to live was over."""
        self._left(_EXPIRED, now_ms, message, position, node, reason)

    def dead_lettered(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        reason: int64,
        peer: int64 = 0,
    ) -> None:
        """It went to the alternate exchange of its queue (`peer`: the upstream it was for)."""
        self._left(_DEAD_LETTERED, now_ms, message, position, node, reason, peer)

    def evicted(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        reason: int64 = _QUEUE_FULL,
    ) -> None:
        """A limit of its queue pushed it out."""
        self._left(_EVICTED, now_ms, message, position, node, reason)

    def replaced(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        reason: int64 = _LAST_VALUE,
    ) -> None:
        """A newer message with its last-value key took its place."""
        self._left(_REPLACED, now_ms, message, position, node, reason)

    def purged(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        reason: int64,
        transaction: int64 = 0,
    ) -> None:
        """queue.purge or queue.delete removed it, or the branch that held it was rolled back."""
        self._left(_PURGED, now_ms, message, position, node, reason, transaction=transaction)

    def moved(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        reason: int64,
        transaction: int64 = 0,
    ) -> None:
        """It was moved to another queue; by the commit of the branch that held it, perhaps."""
        self._left(_MOVED, now_ms, message, position, node, reason, transaction=transaction)

    def returned(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        reason: int64,
        peer: int64 = 0,
    ) -> None:
        """It went back to where it came from, unsent: to its upstream, or to its publisher.

        `peer`: the upstream that it was for.
        """
        self._left(_RETURNED, now_ms, message, position, node, reason, peer)

    def sent(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        link: int64,
        body_digest: int64,
        size: int64,
        delivery_count: int64,
        flags: int64,
        exchange: int64 = 0,
        id_digest: int64 = 0,
        lane: int64 = 0,
    ) -> None:
        """An outlet has taken a delivery (`exchange`: of an unqueued copy, as in `received`).

        `lane`: as in `entered`.
        """
        self._write(
            _SENT,
            now_ms,
            message,
            position,
            link=link,
            id_digest=id_digest,
            body_digest=body_digest,
            size=size,
            node=node,
            exchange=exchange,
            peer=0,
            connection=0,
            transaction=0,
            copies=lane,
            reason=0,
            flags=flags,
            delivery_count=_clamped(delivery_count),
            outcome=0,
            actor=0,
            address=0,
        )

    def settled(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        link: int64,
        outcome: int64,
        flags: int64,
        reason: int64 = 0,
        transaction: int64 = 0,
    ) -> None:
        """The peer ended a delivery."""
        self._write(
            _SETTLED,
            now_ms,
            message,
            position,
            link=link,
            id_digest=0,
            body_digest=0,
            size=0,
            node=node,
            exchange=0,
            peer=0,
            connection=0,
            transaction=transaction,
            copies=0,
            reason=reason,
            flags=flags,
            delivery_count=0,
            outcome=outcome,
            actor=0,
            address=0,
        )

    def requeued(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int64,
        link: int64,
        outcome: int64,
        reason: int64,
        flags: int64 = 0,
    ) -> None:
        """We ended a delivery; `outcome` is RELEASED, or MODIFIED when it counts as failed."""
        self._record(
            _REQUEUED,
            now_ms,
            message=message,
            position=position,
            node=node,
            link=link,
            outcome=outcome,
            reason=reason,
            flags=flags,
        )

    def translated_with_loss(
        self, now_ms: int64, message: int64, *, row: int64, policy: int64, link: int64
    ) -> None:
        """A value did not cross: mapping row (a name) and NARROW, DROP or REFUSE."""
        self._record(
            _TRANSLATED_WITH_LOSS, now_ms, message=message, exchange=row, reason=policy, link=link
        )

    def translation_checked(
        self, now_ms: int64, message: int64, *, row: int64, link: int64, reason: int64 = 0
    ) -> None:
        """A translation was held against what came; `row` (a name): by which something is missing.

        Without a row nothing is, or it is not looked at, for a `reason` (TOO_LARGE).
        """
        self._record(
            _TRANSLATION_CHECKED, now_ms, message=message, exchange=row, link=link, reason=reason
        )

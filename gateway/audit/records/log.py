"""The audit log of one incarnation: records of messages and their copies, and all others. Compiled.

They stand in the order of the contract. What each message has is written by this class itself,
which nothing is derived from: so compiled code calls it directly.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i16 as int16
from mypy_extensions import i32 as int32
from mypy_extensions import i64 as int64
from mypy_extensions import u8 as octet

from gateway.audit.records.connections import ConnectionRecords
from gateway.audit.schema import Flag, Kind, Reason

_RECEIVED: Final[octet] = int(Kind.RECEIVED)
_ROUTED: Final[octet] = int(Kind.ROUTED)
_UNROUTABLE: Final[octet] = int(Kind.UNROUTABLE)
_REFUSED: Final[octet] = int(Kind.REFUSED)
_ROLLED_BACK: Final[octet] = int(Kind.ROLLED_BACK)
_CONFIRMED: Final[octet] = int(Kind.CONFIRMED)
_ENTERED: Final[octet] = int(Kind.ENTERED)
_RECOVERED: Final[octet] = int(Kind.RECOVERED)
_EXPIRED: Final[octet] = int(Kind.EXPIRED)
_DEAD_LETTERED: Final[octet] = int(Kind.DEAD_LETTERED)
_EVICTED: Final[octet] = int(Kind.EVICTED)
_REPLACED: Final[octet] = int(Kind.REPLACED)
_PURGED: Final[octet] = int(Kind.PURGED)
_MOVED: Final[octet] = int(Kind.MOVED)
_RETURNED: Final[octet] = int(Kind.RETURNED)
_SENT: Final[octet] = int(Kind.SENT)
_SETTLED: Final[octet] = int(Kind.SETTLED)
_REQUEUED: Final[octet] = int(Kind.REQUEUED)
_TRANSLATED_WITH_LOSS: Final[octet] = int(Kind.TRANSLATED_WITH_LOSS)
_TRANSLATION_CHECKED: Final[octet] = int(Kind.TRANSLATION_CHECKED)
_DURABLE: Final[int16] = int(Flag.DURABLE)
_TTL: Final[int16] = int(Reason.TTL)
_QUEUE_FULL: Final[int16] = int(Reason.QUEUE_FULL)
_LAST_VALUE: Final[int16] = int(Reason.LAST_VALUE)


def _clamped(count: int64) -> int16:
    """A delivery count in the width that records have."""
    return int16(count) if count < 32767 else 32767


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
        exchange: int32,
        copies: int32,
        id_digest: int64,
        body_digest: int64,
        size: int64,
        flags: int16 = 0,
        node: int32 = 0,
        connection: int32 = 0,
        transaction: int32 = 0,
    ) -> None:
        """A publisher's message was routed to `copies` (at least 1) places."""
        self._record(
            _RECEIVED,
            now_ms,
            message=message,
            link=link,
            exchange=exchange,
            copies=copies,
            id_digest=id_digest,
            body_digest=body_digest,
            size=size,
            flags=flags,
            node=node,
            connection=connection,
            transaction=transaction,
        )

    def routed(
        self, now_ms: int64, message: int64, *, exchange: int32, copies: int32, reason: int16
    ) -> None:
        """A message went on by another route: an alternate exchange, a move."""
        self._record(
            _ROUTED, now_ms, message=message, exchange=exchange, copies=copies, reason=reason
        )

    def unroutable(self, now_ms: int64, message: int64, *, exchange: int32, reason: int16) -> None:
        """No queue took it: this copy of the route has ended."""
        self._record(_UNROUTABLE, now_ms, message=message, exchange=exchange, reason=reason)

    def refused(
        self, now_ms: int64, message: int64, *, exchange: int32, reason: int16, node: int32 = 0
    ) -> None:
        """A copy of the route was not let in (`node`: by which queue)."""
        self._record(_REFUSED, now_ms, message=message, exchange=exchange, reason=reason, node=node)

    def rolled_back(
        self, now_ms: int64, message: int64, *, exchange: int32, node: int32, transaction: int32
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
        connection: int32,
        copies: int32,
        outcome: octet,
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
        node: int32,
        exchange: int32,
        body_digest: int64,
        size: int64,
        flags: int16,
        transaction: int32 = 0,
        lane: int32 = 0,
    ) -> None:
        """A copy is in its queue; in which `lane` it keeps its place, where there are several."""
        self._record(
            _ENTERED,
            now_ms,
            message=message,
            position=position,
            node=node,
            exchange=exchange,
            body_digest=body_digest,
            size=size,
            flags=flags,
            transaction=transaction,
            copies=lane,
        )

    def recovered(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
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
        kind: octet,
        now_ms: int64,
        message: int64,
        position: int64,
        node: int32,
        reason: int16,
        peer: int32 = 0,
    ) -> None:
        self._record(
            kind,
            now_ms,
            message=message,
            position=position,
            node=node,
            reason=reason,
            peer=peer,
        )

    def expired(
        self, now_ms: int64, message: int64, position: int64, *, node: int32, reason: int16 = _TTL
    ) -> None:
        """Its time to live was over."""
        self._left(_EXPIRED, now_ms, message, position, node, reason)

    def dead_lettered(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        reason: int16,
        peer: int32 = 0,
    ) -> None:
        """It went to the alternate exchange of its queue (`peer`: the upstream it was for)."""
        self._left(_DEAD_LETTERED, now_ms, message, position, node, reason, peer)

    def evicted(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        reason: int16 = _QUEUE_FULL,
    ) -> None:
        """A limit of its queue pushed it out."""
        self._left(_EVICTED, now_ms, message, position, node, reason)

    def replaced(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        reason: int16 = _LAST_VALUE,
    ) -> None:
        """A newer message with its last-value key took its place."""
        self._left(_REPLACED, now_ms, message, position, node, reason)

    def purged(
        self, now_ms: int64, message: int64, position: int64, *, node: int32, reason: int16
    ) -> None:
        """queue.purge or queue.delete removed it."""
        self._left(_PURGED, now_ms, message, position, node, reason)

    def moved(
        self, now_ms: int64, message: int64, position: int64, *, node: int32, reason: int16
    ) -> None:
        """It was moved to another queue."""
        self._left(_MOVED, now_ms, message, position, node, reason)

    def returned(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        reason: int16,
        peer: int32 = 0,
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
        node: int32,
        link: int64,
        body_digest: int64,
        size: int64,
        delivery_count: int64,
        flags: int16,
        exchange: int32 = 0,
        id_digest: int64 = 0,
        lane: int32 = 0,
    ) -> None:
        """An outlet has taken a delivery (`exchange`: of an unqueued copy, as in `received`).

        `lane`: as in `entered`.
        """
        self._record(
            _SENT,
            now_ms,
            message=message,
            position=position,
            node=node,
            link=link,
            id_digest=id_digest,
            body_digest=body_digest,
            size=size,
            delivery_count=_clamped(delivery_count),
            flags=flags,
            exchange=exchange,
            copies=lane,
        )

    def settled(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        link: int64,
        outcome: octet,
        flags: int16,
        reason: int16 = 0,
        transaction: int32 = 0,
    ) -> None:
        """The peer ended a delivery."""
        self._record(
            _SETTLED,
            now_ms,
            message=message,
            position=position,
            node=node,
            link=link,
            outcome=outcome,
            flags=flags,
            reason=reason,
            transaction=transaction,
        )

    def requeued(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        link: int64,
        outcome: octet,
        reason: int16,
        flags: int16 = 0,
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
        self, now_ms: int64, message: int64, *, row: int32, policy: int16, link: int64
    ) -> None:
        """A value did not cross: mapping row (a name) and NARROW, DROP or REFUSE."""
        self._record(
            _TRANSLATED_WITH_LOSS, now_ms, message=message, exchange=row, reason=policy, link=link
        )

    def translation_checked(
        self, now_ms: int64, message: int64, *, row: int32, link: int64, reason: int16 = 0
    ) -> None:
        """A translation was held against what came; `row` (a name): by which something is missing.

        Without a row nothing is, or it is not looked at, for a `reason` (TOO_LARGE).
        """
        self._record(
            _TRANSLATION_CHECKED, now_ms, message=message, exchange=row, link=link, reason=reason
        )

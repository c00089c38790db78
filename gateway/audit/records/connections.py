"""Records of connections, and of what is done on them: sessions, links, topology, what was refused.

Compiled.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64 as int64

from gateway.audit.records.incarnation import IncarnationRecords
from gateway.audit.schema import Kind

_CONNECTION_OPENED: Final[int64] = int(Kind.CONNECTION_OPENED)
_CONNECTION_CLOSED: Final[int64] = int(Kind.CONNECTION_CLOSED)
_SESSION_ATTACHED: Final[int64] = int(Kind.SESSION_ATTACHED)
_SESSION_DETACHED: Final[int64] = int(Kind.SESSION_DETACHED)
_LINK_ATTACHED: Final[int64] = int(Kind.LINK_ATTACHED)
_LINK_DETACHED: Final[int64] = int(Kind.LINK_DETACHED)
_TRANSACTION: Final[int64] = int(Kind.TRANSACTION)
_TOPOLOGY: Final[int64] = int(Kind.TOPOLOGY)
_FEATURE_USED: Final[int64] = int(Kind.FEATURE_USED)
_CONNECTION_REFUSED: Final[int64] = int(Kind.CONNECTION_REFUSED)
_ACCESS_REFUSED: Final[int64] = int(Kind.ACCESS_REFUSED)


class ConnectionRecords(IncarnationRecords):
    """What is of one connection, and of no message."""

    __slots__ = ()

    def connection_opened(
        self,
        now_ms: int64,
        connection: int64,
        *,
        protocol: int64,
        peer: int64,
        mechanism: int64 = 0,
        actor: int64 = 0,
        address: int64 = 0,
    ) -> None:
        """A connection is open.

        Names of its protocol, of the other side (its product and container-id, or which upstream),
        of the SASL mechanism, of the user and of the address. Upstreams have no user.
        """
        self._record(
            _CONNECTION_OPENED,
            now_ms,
            connection=connection,
            exchange=protocol,
            peer=peer,
            node=mechanism,
            actor=actor,
            address=address,
        )

    def connection_refused(
        self,
        now_ms: int64,
        connection: int64,
        *,
        protocol: int64,
        reason: int64,
        peer: int64 = 0,
        mechanism: int64 = 0,
        actor: int64 = 0,
        address: int64 = 0,
    ) -> None:
        """A connection ended before it was open: names as of one that is, as far as it told them.

        `mechanism`: those that it asked for. `actor`: who it said that it is, which nobody proved.
        """
        self._record(
            _CONNECTION_REFUSED,
            now_ms,
            connection=connection,
            exchange=protocol,
            reason=reason,
            peer=peer,
            node=mechanism,
            actor=actor,
            address=address,
        )

    def connection_closed(
        self,
        now_ms: int64,
        connection: int64,
        *,
        reason: int64 = 0,
        actor: int64 = 0,
        address: int64 = 0,
    ) -> None:
        """An open connection has ended: in good order where there is no `reason`."""
        self._record(
            _CONNECTION_CLOSED,
            now_ms,
            connection=connection,
            reason=reason,
            actor=actor,
            address=address,
        )

    def session_attached(self, now_ms: int64, connection: int64, *, session: int64) -> None:
        """A session is attached (name of the session)."""
        self._record(_SESSION_ATTACHED, now_ms, connection=connection, peer=session)

    def session_detached(
        self, now_ms: int64, connection: int64, *, session: int64, reason: int64 = 0
    ) -> None:
        """A session is no longer attached."""
        self._record(_SESSION_DETACHED, now_ms, connection=connection, peer=session, reason=reason)

    def link_attached(
        self,
        now_ms: int64,
        link: int64,
        *,
        connection: int64,
        node: int64,
        peer: int64 = 0,
        flags: int64 = 0,
        actor: int64 = 0,
    ) -> None:
        """A subscription or (PUBLISHER) publisher exists; COPY: it browses.

        `actor`: of a link to an upstream, for whom what comes by it is published.
        """
        self._record(
            _LINK_ATTACHED,
            now_ms,
            link=link,
            connection=connection,
            node=node,
            peer=peer,
            flags=flags,
            actor=actor,
        )

    def link_detached(
        self, now_ms: int64, link: int64, *, connection: int64, reason: int64 = 0
    ) -> None:
        """It is gone, and nothing of it is unsettled."""
        self._record(_LINK_DETACHED, now_ms, link=link, connection=connection, reason=reason)

    def transaction(
        self,
        now_ms: int64,
        transaction: int64,
        *,
        connection: int64,
        outcome: int64,
        node: int64 = 0,
        reason: int64 = 0,
        actor: int64 = 0,
        address: int64 = 0,
    ) -> None:
        """A transaction ended: COMMITTED, ROLLED_BACK or IN_DOUBT.

        `node`: of a branch, its name: it may be PREPARED or RECOVERED, or decided by an operator
        (`reason`), who is `actor`.
        """
        self._record(
            _TRANSACTION,
            now_ms,
            transaction=transaction,
            connection=connection,
            outcome=outcome,
            node=node,
            reason=reason,
            actor=actor,
            address=address,
        )

    def topology(
        self,
        now_ms: int64,
        *,
        reason: int64,
        node: int64 = 0,
        exchange: int64 = 0,
        connection: int64 = 0,
        flags: int64 = 0,
        actor: int64 = 0,
        address: int64 = 0,
        copies: int64 = 0,
        peer: int64 = 0,
    ) -> None:
        """A queue, exchange or binding came or went, as `reason` says, and by whom.

        `address`: of an operator, who has no connection; a connection's is in its own records.
        `copies`: of PURGE, how many were removed; of UNBOUND, how many bindings of a queue to an
        exchange went with one of them, or 0 for one that was unbound. `peer`: of ASSIGNED, whose
        it is now and whose it was; of QUEUE_DECLARED, the queue's discipline in words.
        """
        self._record(
            _TOPOLOGY,
            now_ms,
            node=node,
            exchange=exchange,
            connection=connection,
            reason=reason,
            flags=flags,
            actor=actor,
            address=address,
            copies=copies,
            peer=peer,
        )

    def feature_used(
        self,
        now_ms: int64,
        connection: int64,
        *,
        feature: int64,
        peer: int64,
        client: int64,
        uses: int64,
        first_ms: int64,
        last_ms: int64,
    ) -> None:
        """Something that is not offered was used (names of it, of the user and of the client)."""
        self._record(
            _FEATURE_USED,
            now_ms,
            connection=connection,
            exchange=feature,
            peer=peer,
            node=client,
            copies=uses,
            position=first_ms,
            message=last_ms,
        )

    def access_refused(
        self,
        now_ms: int64,
        *,
        actor: int64,
        action: int64,
        object: int64,
        reason: int64,
        rule: int64 = 0,
        connection: int64 = 0,
        address: int64 = 0,
        message: int64 = 0,
    ) -> None:
        """Somebody was not let do something.

        Names of the user, of the action (publish, consume, create ...), of what it was to be done
        to, and of the rule that decided: FILE:LINE, or a few words where no line did. `message`:
        the one that was not let in, which is `received` and `refused` just before.
        """
        self._record(
            _ACCESS_REFUSED,
            now_ms,
            message=message,
            actor=actor,
            exchange=action,
            node=object,
            reason=reason,
            peer=rule,
            connection=connection,
            address=address,
        )

"""Records of an incarnation as a whole: how it starts and ends, its clock, rules and checkpoints.

Compiled.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64 as int64

from gateway.audit.packing import RecordPacker
from gateway.audit.schema import Kind

_INCARNATION_STARTED: Final[int64] = int(Kind.INCARNATION_STARTED)
_INCARNATION_STOPPED: Final[int64] = int(Kind.INCARNATION_STOPPED)
_CLOCK: Final[int64] = int(Kind.CLOCK)
_RULES_CHANGED: Final[int64] = int(Kind.RULES_CHANGED)
_STORE_ACCEPTED: Final[int64] = int(Kind.STORE_ACCEPTED)
_LOG_DIFFERS: Final[int64] = int(Kind.LOG_DIFFERS)
_LET_GO: Final[int64] = int(Kind.LET_GO)
_QUEUE_CHECKPOINT: Final[int64] = int(Kind.QUEUE_CHECKPOINT)
_OUTLET_CHECKPOINT: Final[int64] = int(Kind.OUTLET_CHECKPOINT)
_ROUTE_CHECKPOINT: Final[int64] = int(Kind.ROUTE_CHECKPOINT)


class IncarnationRecords(RecordPacker):
    """What is of no connection and no message."""

    __slots__ = ()

    def incarnation_started(self, now_ms: int64, version: str, previous: int64 = 0) -> None:
        """The first record of an incarnation.

        `previous`: the number of the last one that is in the log by all that is known, so that none
        can vanish from between them; `schema.NO_LIFE`: there is none, 0: nobody knows.
        """
        self._record(
            _INCARNATION_STARTED,
            now_ms,
            message=self.incarnation,
            position=previous,
            peer=self.name(version),
        )

    def incarnation_stopped(self, now_ms: int64) -> None:
        """The last record of an incarnation that ended in order."""
        self._record(_INCARNATION_STOPPED, now_ms, message=self.incarnation)

    def clock(self, now_ms: int64, drift_ms: int64) -> None:
        """How far the gateway clock is ahead of the system's wall clock."""
        self._record(_CLOCK, now_ms, position=drift_ms)

    def store_accepted(self, now_ms: int64, *, store: int64, last_sequence: int64) -> None:
        """An operator said that a store which does not know this log is meant.

        Name of what the store is ("missing", "empty", "another's"), and the log's last record when
        the gateway started: durable copies that were in queues then are not coming back.
        """
        self._record(_STORE_ACCEPTED, now_ms, node=store, position=last_sequence)

    def log_differs(
        self, now_ms: int64, *, segment: int64, problem: int64, expected: int64 = 0
    ) -> None:
        """At start the log was not as the store remembers it.

        Names of the segment and of the problem; `expected`: the sequence number that was not found.
        """
        self._record(_LOG_DIFFERS, now_ms, node=segment, peer=problem, position=expected)

    def let_go(
        self,
        now_ms: int64,
        *,
        first_segment: int64,
        last_segment: int64,
        first_sequence: int64,
        last_sequence: int64,
        sha256: int64,
        book: int64,
        archive: int64,
        actor: int64 = 0,
        address: int64 = 0,
    ) -> None:
        """Segments of this log are removed once this record is sealed.

        Names of the SHA-256 of the last of them in hex digits (0: that one was missing), and of
        where they are kept (0: nowhere); `book`: the number of the closed book that covers the
        last, 0: none does. `actor` and `address`: of the operator who has asked for it; 0: the
        configuration has it so.
        """
        self._record(
            _LET_GO,
            now_ms,
            message=first_segment,
            position=last_segment,
            link=first_sequence,
            size=last_sequence,
            node=sha256,
            copies=book,
            peer=archive,
            actor=actor,
            address=address,
        )

    def rules_changed(
        self,
        now_ms: int64,
        *,
        rules: int64,
        sha256: int64,
        file: int64,
        actor: int64 = 0,
        address: int64 = 0,
        reason: int64 = 0,
    ) -> None:
        """Rules were read, at start or again, and are others than before.

        Names of what they are ("access", "users", "configuration"), of the SHA-256 of the file in
        hex digits, of the file, and of who asked for it and from where (0: the gateway's own start,
        or a file that was seen to be another). OPERATOR as `reason`: while the gateway ran.
        """
        self._record(
            _RULES_CHANGED,
            now_ms,
            exchange=rules,
            node=sha256,
            peer=file,
            actor=actor,
            address=address,
            reason=reason,
        )

    def queue_checkpoint(
        self,
        now_ms: int64,
        node: int64,
        *,
        depth: int64,
        unsettled: int64,
        octets: int64,
        entered: int64,
        checksum: int64,
    ) -> None:
        """A queue as it is now: copies in it, of them with an outlet, and entered since start."""
        self._record(
            _QUEUE_CHECKPOINT,
            now_ms,
            node=node,
            position=depth,
            copies=unsettled,
            size=octets,
            message=entered,
            id_digest=checksum,
        )

    def outlet_checkpoint(
        self, now_ms: int64, link: int64, *, node: int64, sent: int64, unsettled: int64
    ) -> None:
        """An outlet as it is now: sent since it exists, and of them not ended."""
        self._record(
            _OUTLET_CHECKPOINT, now_ms, link=link, node=node, message=sent, copies=unsettled
        )

    def route_checkpoint(
        self, now_ms: int64, exchange: int64, *, routed: int64, pending: int64
    ) -> None:
        """An exchange as it is now: copies routed since start, and of them not ended."""
        self._record(_ROUTE_CHECKPOINT, now_ms, exchange=exchange, message=routed, copies=pending)

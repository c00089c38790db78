"""What publishers are told: one audit record a turn for each range of a publisher's messages.

A publisher is a link of the audit log, or of 0-10 a session. Its messages have ascending numbers,
so that a range of them is named by the first and the last: all that came by its link in between,
and it is their count that is told, too. The record is of the turn that makes them safe, where that
is to be waited for, and stands with that in one commit: so nobody is told of it who is not in the
log. Else it is of the turn at the end of which its publisher is told.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Outcome as AuditOutcome
from gateway.message import OutcomeKind

ACCEPTED: Final = int(AuditOutcome.ACCEPTED)
REJECTED: Final = int(AuditOutcome.REJECTED)
_OUTCOMES: Final = {
    OutcomeKind.ACCEPTED: ACCEPTED,
    OutcomeKind.REJECTED: REJECTED,
    OutcomeKind.RELEASED: int(AuditOutcome.RELEASED),
    OutcomeKind.MODIFIED: int(AuditOutcome.MODIFIED),
}


def outcome_of(kind: OutcomeKind) -> int:
    """How the audit log calls an outcome."""
    return _OUTCOMES[kind]


@final
class Part:
    """Messages of one publisher, in a row, that it hears of at once.

    Attributes:
        before: the publisher's message in front of the first of them; 0: there is none.
    """

    __slots__ = ("before", "count", "first", "last")

    def __init__(self, before: int, first: int, last: int, count: int) -> None:
        self.before = before
        self.first = first
        self.last = last
        self.count = count


@final
class Told:
    """The messages of one publisher, and what it has been told of them in this turn.

    Args:
        confirming: of all publishers.
        connection: its number.

    Attributes:
        link: the publisher's number.
        last, before: the message that came last, and the one in front of that; 0: none.
    """

    __slots__ = (
        "_confirming", "_count", "_first", "_last", "_outcome", "_parts", "before", "connection",
        "last", "link",
    )  # fmt: skip

    def __init__(self, confirming: Confirming, link: int, connection: int) -> None:
        self._confirming = confirming
        self.link = link
        self.connection = connection
        self.last: int64 = 0
        self.before: int64 = 0
        # The latest range, which may grow; those before it.
        self._first: int64 = 0
        self._last: int64 = 0
        self._count: int64 = 0
        self._outcome = 0
        self._parts: list[tuple[Part, int]] = []

    def came(self, message: int64) -> None:
        """One more."""
        self.before = self.last
        self.last = message

    def part(self) -> Part:
        """The one that came last, of which its publisher is to hear later."""
        return Part(self.before, self.last, self.last, 1)

    def tell_last(self, outcome: int) -> None:
        """Its publisher hears of the one that came last."""
        last = self.last
        self._tell(self.before, last, last, 1, outcome)

    def tell(self, part: Part, outcome: int) -> None:
        """Its publisher hears of these."""
        self._tell(part.before, part.first, part.last, part.count, outcome)

    def _tell(self, before: int64, first: int64, last: int64, count: int64, outcome: int) -> None:
        if self._count == 0:
            self._confirming.open.append(self)
        elif before == self._last and outcome == self._outcome:
            self._last = last
            self._count += count
            return
        else:
            self._parts.append((self._range(), self._outcome))
        self._first = first
        self._last = last
        self._count = count
        self._outcome = outcome

    def _range(self) -> Part:
        return Part(0, self._first, self._last, self._count)

    def take(self) -> list[tuple[Part, int]]:
        """What it has been told, with the outcomes."""
        parts = self._parts
        parts.append((self._range(), self._outcome))
        self._parts = []
        self._count = 0
        return parts


@final
class Confirming:
    """All publishers.

    Attributes:
        open: those that have been told something that is not in the log yet.
    """

    __slots__ = ("_audit", "open")

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self.open: list[Told] = []

    def record(self, now_ms: int) -> None:
        """Put into the log what publishers are told."""
        if not self.open:
            return
        told = self.open
        self.open = []
        for each in told:
            for part, outcome in each.take():
                self._audit.confirmed(
                    now_ms,
                    part.first,
                    part.last,
                    link=each.link,
                    connection=each.connection,
                    copies=part.count,
                    outcome=outcome,
                )

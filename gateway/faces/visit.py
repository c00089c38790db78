"""One connection of a client as operators and auditors hear of it.

It is opened and later closed, or refused before that: one audit record and one line of the log
each, with the same number. The line is the journal's to write, since faces write none.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Reason

TEXT_MAX: Final = 160  # of what a peer says of itself


class Journal(Protocol):
    """Who writes the lines of connections."""

    def on_opened(self, visit: Visit) -> None:
        """It is open."""

    def on_refused(self, visit: Visit, reason: Reason, why: str) -> None:
        """It ended before it was open."""

    def on_closed(self, visit: Visit, why: str) -> None:
        """It was open, and is over."""

    def on_broken(self, visit: Visit, part: str, problem: str, *, first: bool) -> None:
        """It broke the rules of its protocol; `first`: it had not before."""

    def on_step(self, visit: Visit, what: str) -> None:
        """Something of it began or ended: for who looks closely."""


@final
class Silence:
    """A `Journal` that writes nothing."""

    def on_opened(self, visit: Visit) -> None:
        """No line."""

    def on_refused(self, visit: Visit, reason: Reason, why: str) -> None:
        """No line."""

    def on_closed(self, visit: Visit, why: str) -> None:
        """No line."""

    def on_broken(self, visit: Visit, part: str, problem: str, *, first: bool) -> None:
        """No line."""

    def on_step(self, visit: Visit, what: str) -> None:
        """No line."""


@final
class Visit:
    """What is known of one connection, as it tells it.

    Attributes:
        number, endpoint: in the audit log and in the log's lines; where it comes from.
        protocol: its name for operators.
        mechanism: by which it logs in, or asked to; "" before.
        offered: those that it may log in by.
        user: who it is, or says that it is.
        product: what it says of itself.
        host: the virtual host that it has opened.
        opened: it has.
        timed: what is done now is done because it is late.
        actor: its user's number in the audit log, once it is open.
    """

    __slots__ = (
        "_broken",
        "_journal",
        "_over",
        "_reason",
        "_why",
        "actor",
        "endpoint",
        "host",
        "mechanism",
        "number",
        "offered",
        "opened",
        "product",
        "protocol",
        "timed",
        "user",
    )

    def __init__(self, journal: Journal, number: int, endpoint: str, protocol: str) -> None:
        self.number = number
        self.endpoint = endpoint
        self.protocol = protocol
        self.mechanism = ""
        self.offered: list[str] = []
        self.user = ""
        self.product = ""
        self.host = ""
        self.opened = False
        self.timed = False
        self.actor = 0
        self._journal = journal
        self._reason = Reason.NONE
        self._why = ""
        self._broken = False
        self._over = False

    def because(self, reason: Reason, why: str) -> None:
        """It is about to end for this; what was said first counts."""
        if self._reason == Reason.NONE and not self._why:
            self._reason = reason
            self._why = why

    def open(self, audit: AuditLog, now_ms: int, host: str) -> None:
        """It has opened a virtual host."""
        self.opened = True
        self.host = host
        self.actor = audit.name(self.user)
        audit.connection_opened(
            now_ms,
            self.number,
            protocol=audit.name(self.protocol),
            peer=audit.passing(self.product[:TEXT_MAX]),
            mechanism=audit.passing(self.mechanism[:TEXT_MAX]) if self.mechanism else 0,
            actor=self.actor,
            address=audit.passing(self.endpoint),
        )
        self._journal.on_opened(self)

    def end(self, audit: AuditLog, now_ms: int, reason: Reason) -> None:
        """It is over: in good order where there is no `reason`, and nothing else was said before.

        Whoever said nothing at all has not come: it may be a probe of the port.
        """
        if self._over:
            return
        self._over = True
        if self.timed:
            self.because(Reason.TIMED_OUT, "nothing was heard of it in time")
        cause = self._reason or reason
        if self.opened:
            audit.connection_closed(
                now_ms,
                self.number,
                reason=cause,
                actor=self.actor,
                address=audit.passing(self.endpoint),
            )
            self._journal.on_closed(self, self._why or WORDS.get(cause, ""))
            return
        if cause in (Reason.NONE, Reason.CONNECTION_LOST):
            cause = Reason.LEFT
        audit.connection_refused(
            now_ms,
            self.number,
            protocol=audit.name(self.protocol),
            reason=cause,
            peer=audit.passing(self.product[:TEXT_MAX]) if self.product else 0,
            mechanism=audit.passing(self.mechanism[:TEXT_MAX]) if self.mechanism else 0,
            actor=audit.passing(self.user[:TEXT_MAX]) if self.user else 0,
            address=audit.passing(self.endpoint),
        )
        self._journal.on_refused(self, cause, self._why or WORDS.get(cause, ""))

    def broke(self, part: str, problem: str) -> None:
        """It broke the rules of its protocol; `part`: of it, what alone has ended for that."""
        self._journal.on_broken(self, part, problem, first=not self._broken)
        self._broken = True

    def step(self, what: str) -> None:
        """Something of it began or ended."""
        self._journal.on_step(self, what)


WORDS: Final = {
    Reason.NONE: "by the client",
    Reason.CONNECTION_LOST: "its transport ended",
    Reason.STOPPING: "the gateway stops",
    Reason.LEFT: "it left before it was open",
}

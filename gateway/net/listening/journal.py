"""The log's lines of connections: opened, refused, closed and why, and what broke a protocol.

Each has the connection's number, which the audit log has, too, its address, user and product. Who
makes connections must not fill the log with them: of those that are refused, or break their
protocol before they are open, there is one line a second, of those that open or close there are a
hundred, of those that are open and break it ten; the next says how many more there were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gateway.audit.schema import Reason
from gateway.faces.visit import TEXT_MAX, Visit
from gateway.net.listening.pace import Pace
from gateway.net.logs import NamedLogger, writes_steps

COMINGS: Final = 100  # lines a second of connections that opened or closed
BREACHES: Final = 10  # of those that were open and broke their protocol


@final
class ConnectionLog:
    """Implements `faces.visit.Journal`."""

    log = NamedLogger("gateway.net.connections")

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._refusals = Pace(now_ms)
        self._leavings = Pace(now_ms)
        self._comings = Pace(now_ms, COMINGS)
        self._early_breaches = Pace(now_ms)
        self._breaches = Pace(now_ms, BREACHES)

    def on_opened(self, visit: Visit) -> None:
        """It is open."""
        told = self._comings.may_tell()
        (self.log.info if told else self.log.debug)(
            "connection {connection} from {endpoint} opened: {who}, {protocol}, {mechanism},"
            " virtual host {host!r}{more}",
            connection=visit.number,
            endpoint=visit.endpoint,
            who=_who(visit),
            protocol=visit.protocol,
            mechanism=_cut(visit.mechanism) or "no login",
            host=visit.host,
            more=self._comings.more() if told else "",
        )

    def on_refused(self, visit: Visit, reason: Reason, why: str) -> None:
        """It ended before it was open; that a login has failed others tell (`authenticate`)."""
        left = reason == Reason.LEFT
        pace = self._leavings if left else self._refusals
        told = reason != Reason.LOGIN_FAILED and pace.may_tell()
        write = self.log.debug
        if told:
            write = self.log.info if left else self.log.warn
        ended = "" if left else " refused"
        write(
            "connection {connection} from {endpoint}{ended}: {why}: {who}, {protocol}{more}",
            ended=ended,
            connection=visit.number,
            endpoint=visit.endpoint,
            why=_why(visit, reason, why),
            who=_who(visit),
            protocol=visit.protocol,
            more=pace.more() if told else "",
        )

    def on_closed(self, visit: Visit, why: str) -> None:
        """It was open, and is over."""
        told = self._comings.may_tell()
        (self.log.info if told else self.log.debug)(
            "connection {connection} from {endpoint} closed: {why}: {who}{more}",
            connection=visit.number,
            endpoint=visit.endpoint,
            why=_cut(why) or "in good order",
            who=_who(visit),
            more=self._comings.more() if told else "",
        )

    def on_broken(self, visit: Visit, part: str, problem: str, *, first: bool) -> None:
        """It broke its protocol: told once of each, since it may go on doing so."""
        what = f": its {_cut(part)} was ended" if part else " broke its protocol"
        pace = self._breaches if visit.opened else self._early_breaches
        told = first and pace.may_tell()
        (self.log.warn if told else self.log.debug)(
            "connection {connection} from {endpoint}{what}: {problem}: {who}{more}",
            connection=visit.number,
            endpoint=visit.endpoint,
            what=what,
            problem=_cut(problem),
            who=_who(visit),
            more=pace.more() if told else "",
        )

    def on_step(self, visit: Visit, what: str) -> None:
        """Something of it began or ended."""
        if writes_steps(self.log.namespace):
            self.log.debug(
                "connection {connection} from {endpoint}: {what}",
                connection=visit.number,
                endpoint=visit.endpoint,
                what=_cut(what),
            )


def _who(visit: Visit) -> str:
    user = repr(_cut(visit.user)) if visit.user else "without a user"
    # Where it comes from stands in the line already.
    product = visit.product.rpartition("from ")[0].strip()
    return f"{user} by {_cut(product)}" if product else user


def _why(visit: Visit, reason: Reason, why: str) -> str:
    offered = " ".join(visit.offered) or "none"
    if reason == Reason.NO_MECHANISM:
        return f"it asked for mechanism {_cut(visit.mechanism)!r}, offered were: {offered}"
    why = _cut(why) or reason.name.lower().replace("_", " ")
    if reason == Reason.LEFT and visit.offered and not visit.mechanism:
        return f"{why}, offered were: {offered}"  # and perhaps it has none of them
    return why


def _cut(text: str) -> str:
    return text[:TEXT_MAX]

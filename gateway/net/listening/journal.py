"""The log's lines of connections: opened, refused, closed and why, and what broke a protocol.

Each has the connection's number, which the audit log has, too, its address, user and product. Who
makes connections to be refused must not fill the log: of these there is one line a second, which
says how many more there were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gateway.audit.schema import Reason
from gateway.faces.visit import TEXT_MAX, Visit
from gateway.net.logs import NamedLogger, writes_steps

REFUSALS_TOLD_EVERY_MS: Final = 1000
# What others tell (`authenticate`), and what is nobody's business but the peer's.
SMALL: Final = (Reason.LOGIN_FAILED, Reason.LEFT)


@final
class ConnectionLog:
    """Implements `faces.visit.Journal`."""

    log = NamedLogger("gateway.net.connections")

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._told_ms = -REFUSALS_TOLD_EVERY_MS
        self._untold = 0

    def on_opened(self, visit: Visit) -> None:
        """It is open."""
        self.log.info(
            "connection {number} from {endpoint} opened: {who}, {protocol}, {mechanism},"
            " virtual host {host!r}",
            number=visit.number,
            endpoint=visit.endpoint,
            who=_who(visit),
            protocol=visit.protocol,
            mechanism=_cut(visit.mechanism) or "no login",
            host=visit.host,
        )

    def on_refused(self, visit: Visit, reason: Reason, why: str) -> None:
        """It ended before it was open."""
        told = reason not in SMALL and self._may_tell()
        line = "connection {number} from {endpoint} refused: {why}: {who}, {protocol}{more}"
        (self.log.warn if told else self.log.debug)(
            line,
            number=visit.number,
            endpoint=visit.endpoint,
            why=_why(visit, reason, why),
            who=_who(visit),
            protocol=visit.protocol,
            more=self._more() if told else "",
        )

    def on_closed(self, visit: Visit, why: str) -> None:
        """It was open, and is over."""
        self.log.info(
            "connection {number} from {endpoint} closed: {why}: {who}",
            number=visit.number,
            endpoint=visit.endpoint,
            why=_cut(why) or "in good order",
            who=_who(visit),
        )

    def on_broken(self, visit: Visit, problem: str, *, first: bool) -> None:
        """It broke its protocol: told once of each, since it may go on doing so."""
        (self.log.warn if first else self.log.debug)(
            "connection {number} from {endpoint} broke its protocol: {problem}: {who}",
            number=visit.number,
            endpoint=visit.endpoint,
            problem=_cut(problem),
            who=_who(visit),
        )

    def on_step(self, visit: Visit, what: str) -> None:
        """Something of it began or ended."""
        if writes_steps():
            self.log.debug(
                "connection {number} from {endpoint}: {what}",
                number=visit.number,
                endpoint=visit.endpoint,
                what=_cut(what),
            )

    def _may_tell(self) -> bool:
        now_ms = self._now_ms()
        if now_ms - self._told_ms < REFUSALS_TOLD_EVERY_MS:
            self._untold += 1
            return False
        self._told_ms = now_ms
        return True

    def _more(self) -> str:
        untold, self._untold = self._untold, 0
        return f"; {untold} more since the last such line" if untold else ""


def _who(visit: Visit) -> str:
    user = repr(_cut(visit.user)) if visit.user else "nobody"
    return f"{user} by {_cut(visit.product)}" if visit.product else user


def _why(visit: Visit, reason: Reason, why: str) -> str:
    if reason == Reason.NO_MECHANISM:
        offered = " ".join(visit.offered) or "none"
        return f"it asked for mechanism {_cut(visit.mechanism)!r}, offered were: {offered}"
    return _cut(why) or reason.name.lower().replace("_", " ")


def _cut(text: str) -> str:
    return text[:TEXT_MAX]

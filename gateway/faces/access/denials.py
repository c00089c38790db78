"""What a client is refused: counted, told to operators, and in the audit log."""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.faces.access.in_force import InForce
from gateway.faces.access.who import Who
from gateway.faces.counts import FaceCounts
from gateway.message import Condition, Refusal
from gateway.permissions.actions import Action
from gateway.permissions.asked import Asked
from gateway.permissions.rules import TOO_LONG, TOO_MUCH, Decision

QUOTA: Final = "a quota"
ANOTHERS: Final = Decision(False, 0, "being a durable subscription of another user")


@final
class Denials:
    """Those of one client.

    Attributes:
        reason: why what it is refused now is recorded as refused.
    """

    __slots__ = ("_bridge", "_counts", "_in_force", "_who", "reason")

    def __init__(self, in_force: InForce, counts: FaceCounts, bridge: Bridge, who: Who) -> None:
        self._in_force = in_force
        self._counts = counts
        self._bridge = bridge
        self._who = who
        self.reason = Reason.NOT_ALLOWED

    def deny(self, asked: Asked, decision: Decision) -> Refusal:
        """It may not do that."""
        self._record(asked, self._in_force.rule(decision), self.reason)
        return self.refuse(asked, decision)

    def deny_anothers(self, asked: Asked, message: int = 0) -> Refusal:
        """Nor what is about another user's durable subscription, whatever the rules say.

        `message`: its number in the books, where it is about one.
        """
        self._record(asked, ANOTHERS.rule, self.reason, message)
        return self.refuse(asked, ANOTHERS)

    def deny_over_quota(self, asked: Asked, text: str) -> Refusal:
        """Nor what its user has enough of; `text`: how much that is."""
        self._count(asked, f"denied by a quota: {text}")
        self._record(asked, QUOTA, Reason.OVER_LIMIT)
        return Refusal(Condition.UNAUTHORIZED_ACCESS, text)

    def deny_answer(self, asked: Asked, decision: Decision, message: int) -> Refusal:
        """Nor have answers published; `message`: one, or what asks for them."""
        self._count(asked, f"as an answer: {decision}")
        rule = self._in_force.rule(decision)
        self._record(asked, rule, Reason.NOT_ALLOWED, message)
        return self._refusal(asked)

    def refuse(self, asked: Asked, decision: Decision) -> Refusal:
        """The same of what others put into the audit log: see `record`."""
        self._count(asked, str(decision))
        return self._refusal(asked)

    def refuse_claim(self, what: str) -> None:
        """Nor say that it is somebody else: counted and told; see `record`."""
        self._counts.access_refused[Action.PUBLISH] += 1
        self.tell(what, "denied: it is not the connection's user")

    def tell(self, what: str, decision: str) -> None:
        """Operators are to hear of it."""
        teller = self._in_force.teller
        if teller is not None:
            who = self._who
            teller.tell_decision(who.login, who.connection, who.address, what, decision)

    def record(self, action: Action, object: str, rule: str, reason: Reason, message: int) -> None:
        """Put it into the audit log."""
        who = self._who
        audit = self._bridge.audit
        audit.access_refused(
            self._bridge.now_ms,
            actor=audit.passing(who.user) if who.user else 0,
            action=audit.passing(action.name.lower()),
            object=audit.passing(object),
            reason=reason,
            rule=audit.passing(rule) if rule else 0,
            connection=who.connection,
            address=audit.passing(who.address) if who.address else 0,
            message=message,
        )

    def _record(self, asked: Asked, rule: str, reason: Reason, message: int = 0) -> None:
        what = asked.object_text() or f"virtual host {self._who.host.name!r}"
        self.record(asked.action, what, rule, reason, message)

    def _count(self, asked: Asked, why: str) -> None:
        self._counts.access_refused[asked.action] += 1
        self.tell(str(asked), why)

    def _refusal(self, asked: Asked) -> Refusal:
        return Refusal(Condition.UNAUTHORIZED_ACCESS, f"{self._who.described()} may not {asked}")


def undecided(decision: Decision) -> Refusal | None:
    """Why the rules have not been asked, or not all of them: that is no decision of theirs."""
    if decision is TOO_LONG:
        return Refusal(Condition.INVALID_ARGUMENT, decision.rule)
    if decision is TOO_MUCH:
        return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, decision.rule)
    return None

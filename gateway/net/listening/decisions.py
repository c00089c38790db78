"""The log's lines about access rules: what users were refused, and what a rule wants to be told of.

One a second and what came meanwhile as a number: who tries what it may not must not fill the log.
The metric and the audit log have all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from twisted.logger import Logger

from gateway.net.listening.pace import Pace

TEXT_TOLD: Final = 300  # characters


@final
class DecisionLog:
    """`faces.access.in_force.DecisionTeller`."""

    log = Logger()

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._pace = Pace(now_ms)

    def tell_decision(
        self, user: str, connection: int, address: str, what: str, decision: str
    ) -> None:
        """One line, unless there was one just now."""
        if not self._pace.may_tell():
            return
        self.log.warn(
            "connection {connection} of {user} from {address}: {what}: {decision}{more}",
            connection=connection,
            user=repr(user[:TEXT_TOLD]) if user else "a client without a login",
            address=address,
            what=what[:TEXT_TOLD],
            decision=decision[:TEXT_TOLD],
            more=self._pace.more(),
        )

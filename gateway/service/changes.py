"""What counts from now on, as the audit log has it: access rules, users and configuration.

One record of each at the start, and one whenever it is another later, with whoever asked for that.
A users file counts as soon as it is seen to be another: who has written it the gateway cannot know.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import final

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.config import Settings
from gateway.net.upstreams.reload import Operator


def digest(settings: Settings) -> str:
    """SHA-256 of all keys with their values, in hex digits."""
    return hashlib.sha256(settings.model_dump_json().encode()).hexdigest()


@final
class Changes:
    """Tells the audit log."""

    def __init__(
        self, bridge: Bridge, now_ms: Callable[[], int], schedule: Callable[[], None]
    ) -> None:
        self._bridge = bridge
        self._now_ms = now_ms
        self._schedule = schedule
        self._known: dict[str, tuple[str, str]] = {}

    def begin(self, what: str, sha256: str, file: str) -> None:
        """It counts from the start on; "" where there is none."""
        self._write(what, sha256, file, Reason.NONE)

    def note(self, what: str, sha256: str, file: str, by: Operator | None = None) -> None:
        """It counts by now; nothing is written if it did before."""
        if self._known[what] != (sha256, file):
            self.write(what, sha256, file, by)

    def write(self, what: str, sha256: str, file: str, by: Operator | None) -> None:
        """It counts from now on."""
        bridge = self._bridge
        bridge.now_ms = self._now_ms()
        if by is not None:
            bridge.act_for_operator(bridge.now_ms, by.how, by.address)
        self._write(what, sha256, file, Reason.OPERATOR)
        bridge.now_ms = self._now_ms()  # what comes of it is the gateway's
        self._schedule()

    def _write(self, what: str, sha256: str, file: str, reason: Reason) -> None:
        self._known[what] = sha256, file
        audit, ledger = self._bridge.audit, self._bridge.ledger
        audit.rules_changed(
            ledger.now_ms,
            rules=audit.passing(what),
            sha256=audit.passing(sha256),
            file=audit.passing(file),
            actor=ledger.actor,
            address=ledger.address,
            reason=reason,
        )

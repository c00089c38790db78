"""The access rules in force, as audit log, clients and operators are told of them."""

from __future__ import annotations

from typing import final

from twisted.logger import LogLevel

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.config import Settings
from gateway.config.access import LoadedRules, access_notes
from gateway.faces.access import AccessBook
from gateway.net.clock import GatewayClock
from gateway.net.logs import NamedLogger
from gateway.net.turns import TurnLoop


@final
class RulesInForce:
    """Those that count now, and what others come to."""

    log = NamedLogger("gateway.service.Service")

    def __init__(
        self,
        loaded: LoadedRules,
        bridge: Bridge,
        turns: TurnLoop,
        book: AccessBook,
        clock: GatewayClock,
    ) -> None:
        self._loaded = loaded
        self._bridge = bridge
        self._turns = turns
        self._book = book
        self._clock = clock

    def record(self, reason: Reason = Reason.NONE) -> None:
        """The audit log has which rules count from now on; "" where there are none."""
        audit, loaded = self._bridge.audit, self._loaded
        audit.rules_changed(
            self._bridge.now_ms,
            rules=audit.passing("access"),
            sha256=audit.passing(loaded.digest),
            file=audit.passing(str(loaded.file or "")),
            reason=reason,
        )

    def count_queues(self) -> None:
        """Quotas of queues are for those, too, that were made before: before the start as well."""
        self._book.count_queues(self._bridge.hosts.values())

    def adopt(self, loaded: LoadedRules, settings: Settings) -> None:
        """Other rules, of these settings: they count at once, also for who is connected."""
        realm = settings.access.qpidd_realm
        as_before = loaded.digest == self._loaded.digest and loaded.file == self._loaded.file
        if as_before and realm == self._book.realm:
            return
        self._loaded = loaded
        self._book.realm = realm
        self._bridge.now_ms = self._clock.now_ms()
        self.record(Reason.OPERATOR)
        self._book.adopt(loaded.rules, str(loaded.file or ""), self._bridge.now_ms)
        self.count_queues()
        self._turns.schedule()
        self.say(settings)

    def say(self, settings: Settings) -> None:
        """Say which rules count, and what of them has no effect."""
        for note in access_notes(self._loaded, settings):
            unmeant = self._loaded.rules is None and settings.users_file is not None
            self.log.emit(
                LogLevel.warn if unmeant else LogLevel.info, "access rules: {note}", note=note
            )

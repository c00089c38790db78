"""The access rules in force, as audit log, clients and operators are told of them."""

from __future__ import annotations

from typing import final

from twisted.logger import LogLevel

from gateway.bridge.bridge import Bridge
from gateway.config import Settings
from gateway.config.access import LoadedRules, access_notes
from gateway.faces.access.book import AccessBook
from gateway.net.logs import NamedLogger
from gateway.net.upstreams.reload import Operator
from gateway.service.changes import Changes


@final
class RulesInForce:
    """Those that count now, and what others come to."""

    log = NamedLogger("gateway.service.Service")

    def __init__(
        self,
        loaded: LoadedRules,
        bridge: Bridge,
        book: AccessBook,
        changes: Changes,
    ) -> None:
        self._loaded = loaded
        self._bridge = bridge
        self._book = book
        self._changes = changes
        changes.begin("access", loaded.digest, str(loaded.file or ""))

    def count_queues(self) -> None:
        """Quotas of queues are for those, too, that were made before: before the start as well."""
        self._book.in_force.count_queues(self._bridge.hosts.values())

    def adopt(self, loaded: LoadedRules, settings: Settings, by: Operator) -> None:
        """Other rules, of these settings: they count at once, also for who is connected."""
        realm = settings.access.qpidd_realm
        as_before = loaded.digest == self._loaded.digest and loaded.file == self._loaded.file
        if as_before and realm == self._book.in_force.realm:
            return
        self._loaded = loaded
        self._book.in_force.realm = realm
        file = str(loaded.file or "")
        self._changes.write("access", loaded.digest, file, by)
        self._book.adopt(loaded.rules, file, self._bridge.turns.spread)
        self.count_queues()
        self.say(settings)

    def say(self, settings: Settings) -> None:
        """Say which rules count, and what of them has no effect."""
        for note in access_notes(self._loaded, settings):
            unmeant = self._loaded.rules is None and settings.users_file is not None
            self.log.emit(
                LogLevel.warn if unmeant else LogLevel.info, "access rules: {note}", note=note
            )

"""Tells whose publishers wait because the queues hold too much, and which limit that is.

They are not told themselves: their publishes are confirmed later. The log says it once when that
begins and once when it is over, a second later at most; shorter waits are nobody's concern.
"""

from __future__ import annotations

from typing import Final, final

from twisted.logger import Logger

from gateway.bridge.pressure import Pressure
from gateway.bridge.quotas import Quota

LOOK_S: Final = 1.0
EVERYBODY: Final = "all"  # publishers; else those of a user or a virtual host


@final
class HeldBack:
    """Looks at the queues' limits now and then."""

    log = Logger()

    def __init__(self, pressure: Pressure) -> None:
        self._pressure = pressure
        self._told: set[str] = set()

    def look(self) -> None:
        """Tell what has changed since the last look."""
        waiting = self._waiting()
        for whose, why in waiting.items():
            if whose not in self._told:
                self.log.warn("{whose} publishers wait: {why}", whose=whose, why=why)
        for whose in sorted(self._told - waiting.keys()):
            self.log.info("{whose} publishers go on", whose=whose)
        self._told = set(waiting)

    def _waiting(self) -> dict[str, str]:
        """Whose publishers wait, and why; what the disk does is told elsewhere."""
        pressure = self._pressure
        found: dict[str, str] = {}
        if pressure.high and not pressure.blocked:
            key = "queues.messages_high" if pressure.by_messages else "queues.size_high"
            found[EVERYBODY] = (
                f"{key} is reached, all queues hold {pressure.messages} messages,"
                f" {pressure.octets} octets"
            )
        quotas = pressure.quotas
        if quotas.high:
            _add(found, "user", "queues.user_size", quotas.users)
            _add(found, "virtual host", "queues.host_size", quotas.hosts)
        return found


def _add(found: dict[str, str], kind: str, key: str, quotas: dict[str, Quota]) -> None:
    for name, quota in quotas.items():
        if quota.high:
            found[f"{kind} {name!r}:"] = f"{key} is used up, they hold {quota.octets} octets"

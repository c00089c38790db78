"""Tells in the log that the certificate which clients are shown expires soon, or has.

A metric has the time, for whoever looks at metrics. Of what has expired by the time it is read, the
start or the reload tells (`files.useless_certificates`).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Final, final

from twisted.logger import Logger

from gateway.net.clock import GatewayClock
from gateway.net.tls.validity import NO_TIME

DAY_S: Final = 86_400
AHEAD_S: Final = 14 * DAY_S  # how long before it is told for the first time
AGAIN_MS: Final = 1000 * DAY_S


@final
class ExpiryLines:
    """A line two weeks before, one each day from then on, and one when it has happened."""

    log = Logger()

    def __init__(self, expires_s: Callable[[], float], clock: GatewayClock) -> None:
        """`expires_s`: by wall time, of the certificate that is in use; `NO_TIME`: of none."""
        self._expires_s = expires_s
        self._clock = clock
        self._known_s = NO_TIME
        self._expired = False
        self._next_ms = 0

    def look(self) -> None:
        """Each second or so."""
        now_ms = self._clock.now_ms()
        expires_s = self._expires_s()
        left_s = expires_s - (now_ms + self._clock.drift_ms()) / 1000
        expired = left_s <= 0
        if expires_s != self._known_s:
            self._known_s = expires_s
            self._expired = expired
            self._next_ms = now_ms + AGAIN_MS if expired else now_ms
        if expires_s == NO_TIME or left_s > AHEAD_S:
            return
        if now_ms < self._next_ms and expired == self._expired:
            return
        self._expired = expired
        self._next_ms = now_ms + AGAIN_MS
        self.log.warn(
            "tls.certificate, or one above it in its file, {expires} ({when:%Y-%m-%d %H:%M} UTC):"
            " clients that check it do not connect {then}; put another in its place and reload",
            expires="has expired" if expired else f"expires in {_in_words(left_s)}",
            when=datetime.datetime.fromtimestamp(expires_s, datetime.UTC),
            then="any more" if expired else "after that",
        )


def _in_words(left_s: float) -> str:
    days, hours = int(left_s // DAY_S), int(left_s // 3600)
    return f"{days} days" if days > 1 else f"{hours} hours"

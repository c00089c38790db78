"""New OAuth tokens: a connection that was opened with an old one is made anew between deliveries.

When `token_file` holds another token than the connection was opened with, the nodes of that
upstream rest until what is in flight has settled, or `switch_timeout` is over; the connection is
closed in good order, and the next one shows the new token. Clients stay. A token that is about to
expire and has no successor is told of, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from twisted.logger import Logger

from gateway.bridge.bridge import Bridge
from gateway.bridge.moving import Resting
from gateway.net.credentials import expiry_ms
from gateway.net.reload import Reloading
from gateway.net.turns import TurnLoop
from gateway.net.upstreams import Upstreams

LOOK_S: Final = 1.0
NEAR_MS: Final = 60_000
BEARERS: Final = frozenset({"OAUTHBEARER", "XOAUTH2"})


@final
class Shown:
    """The token that a connection was opened with."""

    def __init__(self, pump: object, token: str) -> None:
        self.pump = pump
        self.token = token
        self.warned = False


@final
class Renewal:
    """Looks at the tokens of all upstreams."""

    log = Logger()

    def __init__(
        self,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        bridge: Bridge,
        upstreams: Upstreams,
        reloading: Reloading,
    ) -> None:
        self._now_ms = now_ms
        self._turns = turns
        self._bridge = bridge
        self._upstreams = upstreams
        self._reloading = reloading
        self._shown: dict[str, Shown] = {}
        self._resting: Resting | None = None
        self._name = ""
        self._until_ms = 0

    def look(self) -> None:
        """Every second: is there a new token, and is it time to show it?"""
        if self._resting is not None:
            self._go_on(self._resting)
            return
        for name, section in self._upstreams.settings.upstreams.items():
            file = section.token_file
            dialer = self._upstreams.dialers.get(name)
            if file is None or dialer is None or dialer.pump is None:
                continue
            cbs = self._upstreams.upstreams[name].profile.cbs
            if not BEARERS.intersection(section.all_mechanisms(cbs=cbs)):
                continue  # tokens of single nodes are renewed on the connection
            try:
                token = file.read_text(encoding="ascii").strip()
            except (OSError, ValueError):
                continue  # the next connection says so
            shown = self._shown.get(name)
            if shown is None or shown.pump is not dialer.pump:
                self._shown[name] = Shown(dialer.pump, token)
            elif token and token != shown.token:
                self._begin(name)
                return
            else:
                self._warn(name, shown)

    def _warn(self, name: str, shown: Shown) -> None:
        expires_ms = expiry_ms(shown.token)
        if expires_ms and not shown.warned and expires_ms - self._now_ms() < NEAR_MS:
            shown.warned = True
            self.log.warn(
                "upstream {name}: its token expires now, and token_file has no other", name=name
            )

    def _begin(self, name: str) -> None:
        if self._reloading.under_way:
            return
        self.log.info("upstream {name}: a new token: connecting anew", name=name)
        self._reloading.under_way = f"a new token of upstream {name}"
        self._name = name
        self._until_ms = self._now_ms() + self._reloading.settings.switch_timeout
        self._bridge.now_ms = self._now_ms()
        self._resting = Resting(self._bridge, self._upstreams.upstreams[name])
        self._resting.hold()
        self._turns.schedule()

    def _go_on(self, resting: Resting) -> None:
        if resting.unsettled() and self._now_ms() < self._until_ms:
            return
        self._bridge.now_ms = self._now_ms()
        dialer = self._upstreams.dialers.get(self._name)
        if dialer is not None:
            dialer.redial()
        self._resting = None
        self._reloading.under_way = ""
        resting.release()
        self._turns.schedule()

"""New OAuth tokens: a connection that was opened with an old one is made anew between deliveries.

When `token_file` holds another token than the connection was opened with, the nodes of that
upstream rest until what is in flight has settled, or `switch_timeout` is over, or the old token is
about to expire; the connection is closed in good order, and the next one shows the new token.
Clients stay. An upstream that refused
us, or ended the connection as the token expired, is tried again at once when there is another
token. A token that is about to expire and has no successor is told of, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gateway.bridge.bridge import Bridge
from gateway.bridge.remote.moving import Resting
from gateway.net.logs import NamedLogger
from gateway.net.pump import Pump
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.credentials import expiry_ms
from gateway.net.upstreams.dialer import Dialer
from gateway.net.upstreams.reload import Reloading
from gateway.net.upstreams.upstreams import Upstreams

LOOK_S: Final = 1.0
NEAR_MS: Final = 60_000
SPARE_MS: Final = 2_500  # of a token's life: what is done with an expired one may be refused


@final
class Renewal:
    """Looks at the tokens of all upstreams."""

    log = NamedLogger("gateway.net.renewal.Renewal")

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
        self._warned: dict[str, str] = {}  # the token that we told of, by the upstream's name
        self._tried: dict[str, str] = {}  # in the same way: for which we hurried
        self._last: dict[str, tuple[str, Pump | None]] = {}  # and what there was at the last look
        self._resting: Resting | None = None
        self._name = ""
        self._pump: Pump | None = None
        self._until_ms = 0

    def look(self) -> None:
        """Every second: is there a new token, and is it time to show it?

        A detour of the upstream may have shown it already; then it is new all the same.
        """
        if self._resting is not None:
            self._go_on(self._resting)
            return
        for name, dialer in self._upstreams.dialers.items():
            credentials = self._upstreams.credentials[name]
            token = credentials.token()
            if not token:
                continue
            last, pump = self._last.get(name, (token, None))
            self._last[name] = (token, dialer.pump)
            if token == credentials.shown and (token == last or dialer.pump is not pump):
                self._warn(name, token)
            elif self._upstreams.upstreams[name].health.connected:
                if not self._reloading.under_way:
                    self._begin(name, dialer)
                    return
            elif token != credentials.shown and self._tried.get(name) != token:
                self._tried[name] = token
                dialer.hasten()

    def _warn(self, name: str, token: str) -> None:
        expires_ms = expiry_ms(token)
        if not expires_ms or self._warned.get(name) == token:
            return
        left_ms = expires_ms - self._now_ms()
        if left_ms < NEAR_MS:
            self._warned[name] = token
            self.log.warn(
                "upstream {upstream}: its token {expires}, and token_file has no other",
                upstream=name,
                expires=f"expires in {left_ms // 1000} s" if left_ms > 0 else "has expired",
            )

    def _begin(self, name: str, dialer: Dialer) -> None:
        self.log.info("upstream {upstream}: a new token: connecting anew", upstream=name)
        self._reloading.under_way = f"a new token of upstream {name}"
        self._name = name
        self._pump = dialer.pump
        now_ms = self._now_ms()
        self._until_ms = now_ms + self._reloading.settings.switch_timeout
        expires_ms = expiry_ms(self._upstreams.credentials[name].shown)
        if expires_ms:
            self._until_ms = min(self._until_ms, expires_ms - SPARE_MS)
        self._bridge.now_ms = now_ms
        self._resting = Resting(self._bridge, self._upstreams.upstreams[name])
        self._resting.hold()
        self._turns.schedule()

    def _go_on(self, resting: Resting) -> None:
        dialer = self._upstreams.dialers.get(self._name)
        as_it_was = dialer is not None and dialer.pump is self._pump
        if as_it_was and resting.unsettled() and self._now_ms() < self._until_ms:
            return
        self._bridge.now_ms = self._now_ms()
        if dialer is not None and as_it_was:
            dialer.redial()  # else it is over already, and the next one shows the new token
        self._resting = None
        self._pump = None
        self._reloading.under_way = ""
        resting.release()
        self._turns.schedule()

"""What a gateway does again and again while it runs, and its checkpoints, which may have to wait.

How often each is done is the word of the part that does it; `net.duties` does them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.net.held_back import LOOK_S as HELD_BACK_LOOK_S
from gateway.net.held_back import HeldBack
from gateway.net.keepalive import LOOK_S as UNANSWERED_LOOK_S
from gateway.net.keepalive import Unanswered
from gateway.net.kept_files import LOOK_S as FILES_LOOK_S
from gateway.net.lag import LAG_INTERVAL_S, LagMeter, StallWatch
from gateway.net.lag import LOOK_S as STALL_LOOK_S
from gateway.net.upstreams.renewal import LOOK_S, Renewal
from gateway.service.alerts import AlertLines
from gateway.service.drift import DriftLines
from gateway.service.expiry import ExpiryLines
from gateway.service.giving_back import LOOK_S as GIVING_BACK_LOOK_S
from gateway.service.giving_back import GivingBack, c_library, trim_of
from gateway.service.letting_go import LOOK_S as LETTING_GO_LOOK_S

if TYPE_CHECKING:
    from gateway.service.service import Service

USERS_LOOK_S: Final = 5
SESSIONS_LOOK_S: Final = 1


def begin_duties(service: Service) -> None:
    """From now on they are done, for the first time when their time has passed."""
    bridge, upstreams, clock = service.bridge, service.upstreams, service.clock
    renewal = Renewal(clock.now_ms, service.turns, bridge, upstreams, service.reloading)
    giving_back = GivingBack(lambda: _held(service), trim_of(c_library()))
    expiry = ExpiryLines(lambda: service.named.certificate_expires_s, clock)
    every = service.duties.every
    every(LOOK_S, renewal.look)
    every(FILES_LOOK_S, service.files.look)
    if service.settings.reload_interval > 0:
        every(service.settings.reload_interval / 1000, service.watching.look)
    every(USERS_LOOK_S, service.authentication.refresh)
    every(SESSIONS_LOOK_S, lambda: _end_absent_sessions(service))
    every(HELD_BACK_LOOK_S, HeldBack(bridge.pressure).look)
    every(GIVING_BACK_LOOK_S, giving_back.look)
    every(UNANSWERED_LOOK_S, Unanswered(service.door.pumps, upstreams.pumps).look)
    every(LAG_INTERVAL_S, LagMeter(service.reactor, service.counts).tick)
    every(STALL_LOOK_S, StallWatch(service.reactor, service.turns.stalls).tick)
    every(LAG_INTERVAL_S, lambda: service.store.look(clock.now_ms()))
    every(LAG_INTERVAL_S, service.heads.look)
    every(LETTING_GO_LOOK_S, service.letting_go.look)
    every(LAG_INTERVAL_S, service.paging_lines.look)
    every(LAG_INTERVAL_S, AlertLines(bridge.copies.alarms).look)
    every(LAG_INTERVAL_S, DriftLines(clock.drift_ms, service.counts).look)
    every(LAG_INTERVAL_S, expiry.look)
    every(LAG_INTERVAL_S, lambda: service.backup.look(clock.now_ms()))
    every(service.settings.audit.checkpoint_interval / 1000, service.checkpoints.take)


def _held(service: Service) -> int:
    """Octets on all accounts."""
    waiting = service.store.counts.octets_waiting
    return service.bridge.pressure.octets + service.faces.accounts.everybody.held + waiting


def _end_absent_sessions(service: Service) -> None:
    """Those whose clients have not come back in time."""
    now_ms = service.clock.now_ms()
    service.bridge.now_ms = now_ms
    if service.faces.kept.look(now_ms):
        service.turns.schedule()


@final
class Checkpoints:
    """Not while the disk is full: they would take room that settlements need."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waits = False

    def take(self) -> None:
        """One of all counters, now or as soon as the disk has room."""
        service = self._service
        bridge = service.bridge
        error = bridge.store_error
        waits = self._waits or (error is not None and error.cause == "full")
        self._waits = waits and error is not None
        if self._waits:
            return
        now_ms = service.clock.now_ms()
        bridge.now_ms = now_ms
        service.faces.uses.write()
        bridge.checkpoint(now_ms)
        bridge.audit.clock(now_ms, service.clock.drift_ms())
        service.turns.schedule()

    def on_store_eased(self) -> None:
        """The disk has room again."""
        if self._waits:
            self.take()

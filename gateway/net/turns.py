"""The turn: one pass over everything that the reactor had to read, ended once for all connections.

The first `touch` of a turn schedules its end behind all reads of the same reactor pass. The end
drives the bridge (dispatch, store, audit) and then flushes each touched face: one write each.

A turn that breaks off is given up where the next one could not be written whole (`past_mending`),
or breaks off as well: who commits nothing must not go on taking messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, final

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger, LogLevel

from gateway.errors import StoreError
from gateway.net.alarm import Alarm, Later
from gateway.net.counts import NetCounts
from gateway.net.past_mending import past_mending
from gateway.net.stalls import Stalls
from gateway.net.turn_shares import TurnShares
from gateway.wire.work import ALL_STRANGERS, STRANGERS, WORK


class DrivenBridge(Protocol):
    """What the turn loop needs of the bridge."""

    now_ms: int
    now_us: int
    swamped: bool

    def end_turn(self, now_ms: int) -> bool:
        """Dispatch and submit; whether there is more to dispatch at once."""

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""

    def handle_deadline(self, now_ms: int) -> None:
        """Its time has come."""

    def on_committed(self, turn: int) -> None:
        """The store has `turn` on disk."""

    def on_store_failed(self, error: StoreError) -> None:
        """The disk refuses, or is full."""

    def on_store_eased(self) -> None:
        """It takes everything again."""

    def who(self) -> str:
        """What has kept it busy most, of late."""


class Flushed(Protocol):
    """Who writes out what a face has to send."""

    def who(self) -> str:
        """Whose connection it is, and what it has been at."""

    def flush(self, now_ms: int) -> None:
        """One write, if there is anything; then obey the face's deadline and pause."""

    def waits(self) -> bool:
        """It has work left, and its user has had enough of this turn."""

    def comes_after(self) -> bool:
        """Its user asks for so much that others are flushed first."""


@final
class Everybody:
    """What is work for nobody in particular."""

    def __init__(self, what: str) -> None:
        self._what = what

    def who(self) -> str:
        """What was done."""
        return self._what


COMMITTED: Final = Everybody("all that waited for the disk")
DUE: Final = Everybody("messages that expire and queues that are not used any more")


def _raised(error: BaseException) -> None:
    raise error


@final
class TurnLoop:
    """`faces.face.Turns` for the whole gateway.

    Attributes:
        give_up: an exception after which there must be no more turns: ends the process.
        worked_units: how much the thread has worked, in units: for what has no price of its own.
    """

    log = Logger()

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        bridge: DrivenBridge,
        counts: NetCounts,
        *,
        worked_ms: Callable[[], int] | None = None,
        now_us: Callable[[], int] | None = None,
        worked_units: Callable[[], int] = lambda: 0,
    ) -> None:
        self._later = later
        self._now_ms = now_ms
        self._now_us = now_us or (lambda: now_ms() * 1000)
        self._bridge = bridge
        self._counts = counts
        self._pumps: dict[int, Flushed] = {}
        self._touched: dict[int, Flushed] = {}
        self._waiting: dict[int, Flushed] = {}  # for this turn, since the one before was long
        self._scheduled: IDelayedCall | None = None
        self._dispatching = False
        self._swamped = False
        self._alarm = Alarm(later, now_ms, self._bridge_deadline)
        self.stalls = Stalls(now_ms, counts, worked_ms)
        self.shares = TurnShares()
        self.strangers = TurnShares(STRANGERS, ALL_STRANGERS, STRANGERS // 4, owes=True)
        self.on_turn_ended: Callable[[int], None] | None = None
        self.give_up: Callable[[BaseException], None] = _raised
        self.worked_units = worked_units
        self._breaks = False  # so does what is done now
        self._broken = False  # the last end of a turn broke off

    def begin(self, bridge: DrivenBridge) -> None:
        """This is the bridge from now on."""
        self._bridge = bridge
        self.schedule()

    @property
    def number(self) -> int:
        """That of the turn under way."""
        return self._counts.turns

    def attach(self, face: object, pump: Flushed) -> None:
        """From now on a touched `face`, or what else is touched, is flushed by `pump`."""
        self._pumps[id(face)] = pump

    def detach(self, face: object) -> None:
        """The face is gone; what it set in motion is still brought to the turn's end."""
        self._pumps.pop(id(face), None)
        self._touched.pop(id(face), None)
        self._waiting.pop(id(face), None)
        self.schedule()

    def touch(self, face: object) -> None:
        """Flush `face` at the end of this turn."""
        pump = self._pumps.get(id(face))
        if pump is not None:
            self._touched[id(face)] = pump
        self.schedule()

    def schedule(self) -> None:
        """See that this turn ends, even if no face was touched."""
        # What the bridge touches while it dispatches is flushed at this very turn's end.
        if self._scheduled is None and not self._dispatching:
            self._bridge.now_us = self._now_us()
            self._scheduled = self._later.callLater(0, self._end)

    def broke(self, error: BaseException) -> None:
        """A defect: is what the turn under way has recorded still whole?"""
        if past_mending(error):
            self.give_up(error)

    def on_committed(self, turn: int) -> None:
        """The store's answer, on the reactor's thread."""
        began_ms = self._now_ms()
        self._bridge.now_ms = began_ms
        self._bridge.now_us = self._now_us()
        self._guarded(lambda: self._bridge.on_committed(turn))
        self.stalls.over(began_ms, "commit", COMMITTED)
        self.schedule()

    def on_page(self, answer: Callable[[], None]) -> None:
        """The answer of the disk for what does not fit into memory."""
        self._guarded(answer)
        self.schedule()

    def on_store_failed(self, error: StoreError) -> None:
        """The store's other answer."""
        level = LogLevel.critical if error.cause == "gone" else LogLevel.error
        self.log.emit(level, "publishers wait: {error}", error=error)
        self._guarded(lambda: self._bridge.on_store_failed(error))
        self.schedule()

    def on_store_eased(self) -> None:
        """What it refused is written."""
        self.log.info("the disk takes everything again: publishers go on")
        self._bridge.now_ms = self._now_ms()
        self._guarded(self._bridge.on_store_eased)
        self.schedule()

    def end_now(self) -> None:
        """End the turn without waiting for the reactor: for the last turns of a stop."""
        if self._scheduled is not None:
            self._scheduled.cancel()
        self._end()

    def stop(self) -> None:
        """No more turns."""
        self._alarm.stop()
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None

    def _end(self) -> None:
        try:
            self._end_turn()
        except Exception as error:  # nobody would schedule another one
            self.give_up(error)

    def _end_turn(self) -> None:
        self._scheduled = None
        now_ms = self._now_ms()
        self.stalls.begin()
        self._counts.turns += 1
        self._dispatching = True
        more = self._ended(now_ms)
        self._dispatching = False
        began_ms = self.stalls.over(now_ms, "dispatch", self._bridge)
        if self._bridge.swamped != self._swamped:
            self._swamped = self._bridge.swamped
            self._touched.update(self._pumps)
        began_ms = self._flush(now_ms, began_ms)
        self.stalls.begin()
        if more:
            self.schedule()
        self._alarm.set(self._bridge.next_deadline())
        if self.on_turn_ended is not None:
            self.on_turn_ended(now_ms)

    def _ended(self, now_ms: int) -> bool:
        """Whether there is more to dispatch; one that breaks off may be followed by a whole one."""
        self._breaks = False
        self._bridge.now_us = self._now_us()
        more = self._guarded(lambda: self._bridge.end_turn(now_ms))
        if self._breaks and self._broken:
            raise RuntimeError("two turns in a row broke off")
        self._broken = self._breaks
        return more

    def _flush(self, now_ms: int, began_ms: int) -> int:
        """Flush what is touched; of those who have to wait who did so before is the first."""
        touched, self._touched = self._touched, {}
        after, self._waiting = self._waiting, {}
        for key, pump in touched.items():
            if key in after or pump.comes_after():
                after[key] = pump
            else:
                began_ms = self._flush_one(key, pump, now_ms, began_ms)
        for key, pump in after.items():
            began_ms = self._flush_one(key, pump, now_ms, began_ms)
        if self._waiting:
            WORK.cut += len(self._waiting)
            self.schedule()
        return began_ms

    def _flush_one(self, key: int, pump: Flushed, now_ms: int, began_ms: int) -> int:
        if pump.waits():
            self._waiting[key] = pump
            return began_ms
        try:
            pump.flush(now_ms)
        except Exception as error:
            self._failed(error)
        return self.stalls.over(began_ms, "flush", pump)

    def _bridge_deadline(self, now_ms: int) -> None:
        self._bridge.now_ms = now_ms
        self._guarded(lambda: self._bridge.handle_deadline(now_ms))
        self.stalls.over(now_ms, "deadline", DUE)
        self.schedule()

    def _guarded(self, call: Callable[[], bool | None]) -> bool:
        """A defect in one turn must not end the reactor's timers, or all other connections."""
        try:
            return bool(call())
        except Exception as error:
            self._failed(error)
            return False

    def _failed(self, error: Exception) -> None:
        self.broke(error)
        self._breaks = True
        self.log.failure("a turn broke off")

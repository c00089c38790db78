"""The graceful stop: listeners first, then what is under way, then the connections, then the end.

    drain   no new connections, deliveries or credit; settlements, commits and transfers go on until
            nothing is unsettled, or `drain_timeout` is over; a client that settles nothing for
            `drain_idle` is hung up on meanwhile. Or until no client is left, while the
            disk refuses: nobody would hear of it if it did not any more. Without clients nobody
            waits for room either: there is nobody to make it
    close   each peer of 1.0 is told that its connection is forced closed, one of 0-10 is hung up
            on, since else it would not come back; all have `ANSWER_MS` to answer
    cut     who has not closed by then is cut off
    finish  the last turn and the final audit records are written

`signal` begins it; a second one goes straight to the close, a third one cuts off.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final, Protocol, final

from twisted.logger import Logger

from gateway.net.alarm import Alarm
from gateway.net.listening.listen import Door
from gateway.net.pump import Pump

ANSWER_MS: Final = 2000
CUT_MS: Final = 1000
LOOK_MS: Final = 1000  # how often it is seen who settles nothing


class Drained(Protocol):
    """What stopping needs of the bridge."""

    def drain(self) -> None:
        """Dispatch nothing from now on."""

    def idle(self, *, clients: bool) -> bool:
        """Nothing waits for a commit, for an upstream, or for the room that `clients` can make."""

    def stuck(self) -> bool:
        """Nothing can be committed at the moment."""

    def awaited(self) -> list[str]:
        """What does, for operators."""


class Stage(IntEnum):
    """How far the stop is."""

    RUNNING = 0
    DRAINING = 1
    CLOSING = 2
    CUTTING = 3
    FINISHED = 4


@final
class Stopping:
    """One stop of one gateway; `finish` is called once, when no connection is left."""

    log = Logger()

    def __init__(
        self,
        door: Door,
        bridge: Drained,
        close_listeners: Callable[[], None],
        finish: Callable[[], None],
        *,
        drain_timeout_ms: int,
        drain_idle_ms: int,
    ) -> None:
        self.stage = Stage.RUNNING
        self._door = door
        self._bridge = bridge
        self._close_listeners = close_listeners
        self._finish = finish
        self._drain_timeout_ms = drain_timeout_ms
        self._drain_idle_ms = drain_idle_ms
        self._owed: dict[Pump, tuple[int, int]] = {}  # how much, and since when
        self._alarm = Alarm(door.later, door.now_ms, self._too_late)
        self._idle_alarm = Alarm(door.later, door.now_ms, self._end_idle)

    def signal(self) -> None:
        """Stop, or be quicker about it."""
        self._go_on(asked=True)

    def _too_late(self, now_ms: int) -> None:
        if self.stage == Stage.DRAINING:
            left = sum(not pump.face.drained() for pump in self._door.pumps.values())
            self.log.warn(
                "drain_timeout is over; {left} connections have work left{awaited}",
                left=left,
                awaited=self._awaited(),
            )
        self._go_on(asked=False)

    def _go_on(self, *, asked: bool) -> None:
        if self.stage == Stage.RUNNING:
            self._drain()
        elif self.stage == Stage.DRAINING:
            self._close()
        elif self.stage == Stage.CLOSING:
            self._cut()
        elif not asked:
            self._end()

    def _drain(self) -> None:
        self.stage = Stage.DRAINING
        self.log.info(
            "draining {count} connections{awaited}",
            count=len(self._door.pumps),
            awaited=self._awaited(),
        )
        self._close_listeners()
        self._bridge.drain()
        now_ms = self._door.now_ms()
        for pump in list(self._door.pumps.values()):
            pump.face.drain(now_ms)
            self._door.turns.touch(pump.face)
        self._door.on_empty = self._look
        self._door.turns.on_turn_ended = lambda _now_ms: self._look()
        self._alarm.set(now_ms + self._drain_timeout_ms)
        self._end_idle(now_ms)
        self._door.turns.schedule()

    def _end_idle(self, now_ms: int) -> None:
        """Hang up on clients that nothing but what they have not settled is waited for, and that
        settle nothing: they come back to another gateway, or to the next one here."""
        if self.stage != Stage.DRAINING:
            return
        self._idle_alarm.set(now_ms + min(LOOK_MS, self._drain_idle_ms))
        idle = [pump for pump in self._door.pumps.values() if self._is_idle(pump, now_ms)]
        for pump in idle:
            pump.face.force_close(now_ms)
            self._door.turns.touch(pump.face)
        if idle:
            self.log.info(
                "{count} connections have settled nothing for {idle:g} s and are closed",
                count=len(idle),
                idle=self._drain_idle_ms / 1000,
            )
            self._door.turns.schedule()

    def _is_idle(self, pump: Pump, now_ms: int) -> bool:
        owed = 0 if pump.face.closed else pump.face.owed()
        known, since_ms = self._owed.get(pump, (0, now_ms))
        if owed == 0 or owed != known:
            self._owed[pump] = owed, now_ms
            return False
        return now_ms - since_ms >= self._drain_idle_ms

    def _awaited(self) -> str:
        """What is waited for beside connections; its clients may have left."""
        return "".join([f"; {clause}" for clause in self._bridge.awaited()])

    def _look(self) -> None:
        """After each turn: is there anything left to wait for?"""
        if self.stage == Stage.DRAINING and self._drained():
            self._close()
        elif self.stage == Stage.DRAINING and not self._door.pumps and self._bridge.stuck():
            self.log.warn(
                "nothing can be committed, and no client is left{awaited}", awaited=self._awaited()
            )
            self._close()
        elif self.stage in (Stage.CLOSING, Stage.CUTTING) and not self._door.pumps:
            self._end()

    def _drained(self) -> bool:
        faces = (pump.face for pump in self._door.pumps.values())
        clients = bool(self._door.pumps)
        return self._bridge.idle(clients=clients) and all(face.drained() for face in faces)

    def _close(self) -> None:
        self.stage = Stage.CLOSING
        now_ms = self._door.now_ms()
        for pump in list(self._door.pumps.values()):
            pump.face.force_close(now_ms)
            self._door.turns.touch(pump.face)
        self._alarm.set(now_ms + ANSWER_MS)
        self._door.turns.schedule()

    def _cut(self) -> None:
        self.stage = Stage.CUTTING
        for pump in list(self._door.pumps.values()):
            pump.abort()
        self._alarm.set(self._door.now_ms() + CUT_MS)
        self._door.turns.schedule()

    def _end(self) -> None:
        self.stage = Stage.FINISHED
        self._alarm.stop()
        self._idle_alarm.stop()
        self._owed.clear()
        self._door.on_empty = None
        self._door.turns.on_turn_ended = None
        self._finish()

"""A switch that takes along what queues hold at their old upstream, in the order that they have it.

First what is in flight settles, as for any switch, and subscriptions take from the new upstream
from then on. What is published still goes to the old one, behind what that holds, and all of it is
carried to the new one (`moves`), where subscriptions get it. When the old one has nothing more,
publishers wait until the last of it is carried; then they publish to the new one. Where that does
not come to its end within `switch_timeout`, publishers go on as before, and it is tried again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gateway.bridge.bridge import Bridge
from gateway.bridge.remote.moving import Moving
from gateway.errors import ConfigurationError, GatewayError
from gateway.net.alarm import Later
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.move import End, Move, Wanted
from gateway.net.upstreams.moves import Moves

LOOK_S: Final = 0.05
STOPPED: Final = "the gateway stops"


@final
class Draining:
    """One of them, from its first rest to its last.

    Args:
        rate: messages a second, of each queue; 0: as fast as it goes.
        timeout_ms: how long what is in flight has to settle, each time.
        stopped: whether the gateway stops.
        carry_out: everything may move now; with what is to be told of it.
        fail: it does not take place.
    """

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        bridge: Bridge,
        moving: Moving,
        moves: Moves,
        *,
        rate: int,
        timeout_ms: int,
        stopped: Callable[[], bool],
        carry_out: Callable[[str], None],
        fail: Callable[[GatewayError], None],
    ) -> None:
        self._later = later
        self._now_ms = now_ms
        self._turns = turns
        self._bridge = bridge
        self._moving = moving
        self._moves = moves
        self._rate = rate
        self._timeout_ms = timeout_ms
        self._stopped = stopped
        self._carry_out = carry_out
        self._fail = fail
        self._until_ms = 0
        self._standing: list[Move] = []

    def begin(self) -> None:
        """Let what is in flight settle."""
        self._hold()
        self._settle()

    def _settle(self) -> None:
        """Before subscriptions take from the new place."""
        if self._stopped():
            self._fail(GatewayError(STOPPED))
        elif self._moving.unsettled() and self._now_ms() < self._until_ms:
            self._later.callLater(LOOK_S, self._settle)
        else:
            self._begin_moves()

    def _begin_moves(self) -> None:
        self._bridge.now_ms = self._now_ms()
        departures = self._moving.from_upstreams()
        self._moving.move_takers()
        try:
            for departure in departures:
                source = End(departure.before.remote.name, departure.queue)
                target = End(departure.after.remote.name, departure.queue)
                wanted = Wanted(departure.host, source, target, self._rate)
                self._standing.append(self._moves.begin(wanted, stays=True))
        except ConfigurationError as error:
            self._give_up(error)
            return
        self._release()
        self._carry()

    def _carry(self) -> None:
        """Until the old places have nothing more."""
        problem = self._problem()
        if problem is not None:
            self._give_up(problem)
        elif all(move.empty for move in self._standing):
            self._hold()
            self._carry_last(again=True)
        else:
            self._later.callLater(LOOK_S, self._carry)

    def _carry_last(self, *, again: bool) -> None:
        """What was published last: publishers wait. `again`: the old places are not asked yet."""
        problem = self._problem()
        settled = self._moving.unsettled() == 0
        if problem is not None:
            self._give_up(problem)
        elif self._now_ms() >= self._until_ms:
            self._release()
            self._carry()
        elif settled and not again and all(move.empty for move in self._standing):
            for move in self._standing:
                move.finish()
            self._carry_out(self._told())
        else:
            if settled and again:
                for move in self._standing:
                    move.look_again()
            self._later.callLater(LOOK_S, lambda: self._carry_last(again=again and not settled))

    def _problem(self) -> GatewayError | None:
        """Why it cannot go on."""
        if self._stopped():
            return GatewayError(STOPPED)
        for move in self._standing:
            if move.state in ("stopping", "stopped", "failed", "done"):
                why = move.problem or "it was stopped"
                return GatewayError(
                    f"move {move.number} from {move.wanted.source} to {move.wanted.target}: {why};"
                    " what it moved is at the new place"
                )
        return None

    def _give_up(self, why: GatewayError) -> None:
        self._bridge.now_ms = self._now_ms()
        for move in self._standing:
            move.stop()
        self._moving.return_takers()
        self._fail(why)

    def _hold(self) -> None:
        self._until_ms = self._now_ms() + self._timeout_ms
        self._moving.hold()
        self._turns.schedule()

    def _release(self) -> None:
        self._moving.release()
        self._turns.schedule()

    def _told(self) -> str:
        moved = sum(move.carrier.moved for move in self._standing)
        redelivered = sum(move.carrier.redelivered for move in self._standing)
        refused = sum(move.carrier.refused for move in self._standing)
        told = f"; {moved} messages moved"
        if redelivered:
            told += f", {redelivered} came marked as redelivered"
        if refused:
            told += f", {refused} were not taken and stay where they were"
        return told

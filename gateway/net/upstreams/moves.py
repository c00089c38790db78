"""All queues whose messages are moved from an upstream, and what there was since the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, final

from twisted.internet.interfaces import IDelayedCall

from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.errors import ConfigurationError
from gateway.faces.dialled.dialled import DialledUpstream
from gateway.net.alarm import Later
from gateway.net.logs import NamedLogger
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.move import End, Move, Wanted
from gateway.net.upstreams.upstreams import Upstreams

LOOK_S: Final = 0.1
REMEMBERED_MAX: Final = 100  # moves that are over
STANDING_MAX: Final = 1_000


class Sums(NamedTuple):
    """Messages of the moves from one upstream to one other place.

    Attributes:
        moved, redelivered, refused: as a carrier counts them.
    """

    moved: int = 0
    redelivered: int = 0
    refused: int = 0

    def plus(self, move: Move) -> Sums:
        """With those of one more."""
        carrier = move.carrier
        return Sums(
            self.moved + carrier.moved,
            self.redelivered + carrier.redelivered,
            self.refused + carrier.turned_down,
        )


@final
class Moves:
    """Those of one gateway, the latest last.

    Attributes:
        known: those that are under way, and as many that are over as are remembered.
    """

    log = NamedLogger("gateway.net.upstreams.Moves")

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        bridge: Bridge,
        upstreams: Upstreams,
    ) -> None:
        self._later = later
        self._now_ms = now_ms
        self._turns = turns
        self._bridge = bridge
        self._upstreams = upstreams
        self._number = 0
        self._timer: IDelayedCall | None = None
        self._sums: dict[tuple[str, str], Sums] = {}  # of those that are over
        self.known: dict[int, Move] = {}

    def begin(self, wanted: Wanted, *, stays: bool = False) -> Move:
        """Begin one; ConfigurationError: why it cannot be."""
        host = self._host(wanted.host)
        wanted = wanted._replace(host=host.name)
        source = self._upstream("from", wanted.source.upstream)
        target = None
        if wanted.target.upstream:
            target = self._upstream("to", wanted.target.upstream)
        else:
            self._look_for_queue(host, wanted.target.queue)
        self._look_for_same(wanted, source, target)
        self._number += 1
        now_ms = self._now_ms()
        self._bridge.now_ms = now_ms
        move = Move(self._number, wanted, source, target, host.nodes.carriers, now_ms, stays=stays)
        move.on_end = lambda: self._say_end(move)
        self._forget_old()
        self.known[move.number] = move
        self._turns.schedule()
        self._arm()
        return move

    def place_of(self, host_name: str, queue: str) -> End:
        """Where the queue lives by the rules."""
        host = self._host(host_name)
        placement = self._upstreams.placements.queue(host.name, queue)
        return End("" if placement is None else placement.remote.name, queue)

    def stop_one(self, number: int) -> Move:
        """Stop one; ConfigurationError: there is none of that number, or it is over."""
        move = self.known.get(number)
        if move is None:
            raise ConfigurationError([("move", f"there is no move {number}")])
        if move.over:
            raise ConfigurationError([("move", f"move {number} is over: {move.state}")])
        self._bridge.now_ms = self._now_ms()
        move.stop()
        self._turns.schedule()
        return move

    def stop(self) -> None:
        """The gateway has stopped: nobody looks after them any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def standing(self) -> list[Move]:
        """Those that are not over."""
        return [move for move in self.known.values() if not move.over]

    def sums(self) -> Iterator[tuple[tuple[str, str], Sums]]:
        """By the names of upstreams from and to which; "" is here."""
        found = dict(self._sums)
        for move in self.standing():
            ends = (move.wanted.source.upstream, move.wanted.target.upstream)
            found[ends] = found.get(ends, Sums()).plus(move)
        yield from found.items()

    def _say_end(self, move: Move) -> None:
        ends = (move.wanted.source.upstream, move.wanted.target.upstream)
        self._sums[ends] = self._sums.get(ends, Sums()).plus(move)
        carrier = move.carrier
        self.log.info(
            "move {number} from {source} to {target} is {state}: {moved} messages moved,"
            " {redelivered} came marked as redelivered, {refused} were not taken{problem}",
            number=move.number,
            source=str(move.wanted.source),
            target=str(move.wanted.target),
            state=move.state,
            moved=carrier.moved,
            redelivered=carrier.redelivered,
            refused=carrier.refused,
            problem=f": {move.problem}" if move.problem else "",
        )

    def _arm(self) -> None:
        if self._timer is None and self.standing():
            self._timer = self._later.callLater(LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        now_ms = self._now_ms()
        self._bridge.now_ms = now_ms
        for move in self.standing():
            move.look(now_ms, self._upstreams.upstreams)
        self._turns.schedule()
        self._arm()

    def _forget_old(self) -> None:
        over = [number for number, move in self.known.items() if move.over]
        for number in over[: max(0, len(over) - REMEMBERED_MAX)]:
            del self.known[number]

    # What it needs.

    def _host(self, name: str) -> VirtualHost:
        host = self._bridge.hosts.get(name) if name else self._bridge.default_host
        if host is None:
            raise ConfigurationError([("virtual_host", f"there is no virtual host {name!r}")])
        return host

    def _upstream(self, key: str, name: str) -> DialledUpstream:
        found = self._upstreams.upstreams.get(name)
        if found is None:
            raise ConfigurationError([(key, f"there is no upstream {name!r}")])
        return found

    def _look_for_queue(self, host: VirtualHost, name: str) -> None:
        queue = host.topology.find_queue(name)
        if queue is None:
            raise ConfigurationError([("to", f"there is no queue {name!r} here")])
        if queue.placement is not None:
            where = queue.placement.remote.name
            raise ConfigurationError([("to", f"queue {name!r} lives at upstream {where}")])

    def _look_for_same(
        self, wanted: Wanted, source: DialledUpstream, target: DialledUpstream | None
    ) -> None:
        """What would go round in a circle, or fight with another one for the same messages."""
        address = source.context.addresses.queue_address
        if target is source and address(wanted.host, wanted.source.queue) == address(
            wanted.host, wanted.target.queue
        ):
            problem = f"{wanted.source} is where it is already: say from where, and to where"
            raise ConfigurationError([("from", problem)])
        standing = self.standing()
        if len(standing) >= STANDING_MAX:
            raise ConfigurationError([("from", f"there are {STANDING_MAX} moves already")])
        for other in standing:
            same = other.wanted.host == wanted.host
            if same and other.wanted.source in (wanted.source, wanted.target):
                problem = f"move {other.number} takes from {other.wanted.source} already"
                raise ConfigurationError([("from", problem)])

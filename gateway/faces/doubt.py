"""What one connection makes the gateway hold: publishes whose completion is withheld.

Above a limit, of their octets or of their number, the client is slowed down by what its protocol
has for that, and reading pauses last of all: what would free a queue may come by the same
connection. Below half of it all goes on. While the disk refuses, anything that is held is too much,
and whoever has published since is not read any more when all have published more than the disk's
reserve can do with (`Disk.late_max`).
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.faces.leaving import GONE

# Of one message: the records of its coming, and what the store keeps of it beside itself.
RECORDED_OCTETS: Final = 384


class Slowed(Protocol):
    """Who slows the client down, or lets it go on."""

    def on_doubt(self) -> None:
        """Too much is held, or so much no more: see `Doubt.high`."""


class Disk(Protocol):
    """What the bridge says of it.

    Attributes:
        blocked: it refuses, or is full.
        times: how often it has begun to.
        late: octets that were published since, and what is recorded of them.
        late_max: so many of them are enough.
    """

    blocked: bool
    times: int
    late: int
    late_max: int


@final
class Doubt:
    """The octets in doubt of one connection.

    Attributes:
        held: of publishes that are under way and not completed; `publishes`: how many, a batch
            being one.
        parked: of publishes that have come and wait their turn.
        high: too much was held, and half of the limit was not reached since.
    """

    __slots__ = (
        "_disk",
        "_late",
        "_limit",
        "_publishes_max",
        "_slowed",
        "held",
        "high",
        "parked",
        "publishes",
    )

    def __init__(self, limit: int, slowed: Slowed, disk: Disk, *, publishes_max: int) -> None:
        self._limit = limit
        self._publishes_max = publishes_max
        self._disk = disk
        self._slowed: Slowed = slowed
        self._late = 0  # of the disk's `times` that in which something was published last
        self.held = 0
        self.publishes = 0
        self.parked = 0
        self.high = False

    def hold(self, octets: int, messages: int = 1) -> None:
        """One more is held, of so many messages; if that is too much, the client is slowed down."""
        self.held += octets
        self.publishes += 1
        disk = self._disk
        blocked = disk.blocked
        if blocked:
            self._late = disk.times
            disk.late += octets + messages * RECORDED_OCTETS
        much = self.held >= self._limit or self.publishes >= self._publishes_max
        if not self.high and (much or blocked):
            self.high = True
            self._slowed.on_doubt()

    def let_go(self, octets: int) -> None:
        """One publish less is held; the client may go on at half of the limits."""
        self.held -= octets
        self.publishes -= 1
        little = self.held * 2 < self._limit and self.publishes * 2 < self._publishes_max
        if self.high and little:
            self.high = False
            self._slowed.on_doubt()

    def parked_too_much(self) -> bool:
        """Whether as much again has come on top and is parked: reading is to pause."""
        return self.parked >= self._limit

    def held_too_much(self) -> bool:
        """Where nothing can be parked: whether twice as much is held; reading is to pause."""
        if self.held >= 2 * self._limit:
            return True
        disk = self._disk
        return disk.blocked and self._late == disk.times and disk.late > disk.late_max

    def leave(self) -> None:
        """The connection is gone."""
        self._slowed = GONE

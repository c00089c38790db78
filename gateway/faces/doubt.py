"""What one connection makes the gateway hold: publishes whose completion is withheld, by octets.

Above the limit the client is slowed down by what its protocol has for that, and reading pauses
last of all: what would free a queue may come by the same connection. Below half of it all goes on.
While the disk refuses, anything that is held is too much, and whoever has published since is not
read any more when all have published more than the disk's reserve can do with (`Disk.late_max`).
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
        held: of publishes that are under way and not completed.
        parked: of publishes that have come and wait their turn.
        high: too much was held, and half of the limit was not reached since.
    """

    __slots__ = ("_disk", "_late", "_limit", "_slowed", "held", "high", "parked")

    def __init__(self, limit: int, slowed: Slowed, disk: Disk) -> None:
        self._limit = limit
        self._disk = disk
        self._slowed: Slowed = slowed
        self._late = 0  # of the disk's `times` that in which something was published last
        self.held = 0
        self.parked = 0
        self.high = False

    def hold(self, octets: int, messages: int = 1) -> None:
        """So much more is held; if it is too much by that, the client is slowed down."""
        self.held += octets
        disk = self._disk
        blocked = disk.blocked
        if blocked:
            self._late = disk.times
            disk.late += octets + messages * RECORDED_OCTETS
        if not self.high and (self.held >= self._limit or blocked):
            self.high = True
            self._slowed.on_doubt()

    def let_go(self, octets: int) -> None:
        """So much less is held; the client may go on when it is half of the limit."""
        self.held -= octets
        if self.high and self.held * 2 < self._limit:
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

"""What one connection makes the gateway hold: publishes whose completion is withheld, by octets.

Above the limit the client is slowed down by what its protocol has for that, and reading pauses
last of all: what would free a queue may come by the same connection. Below half of it all goes on.
"""

from __future__ import annotations

from typing import final


@final
class Doubt:
    """The octets in doubt of one connection.

    Attributes:
        held: of publishes that are under way and not completed.
        parked: of publishes that have come and wait their turn.
        high: too much was held, and half of the limit was not reached since.
    """

    __slots__ = ("_limit", "held", "high", "parked")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held = 0
        self.parked = 0
        self.high = False

    def hold(self, octets: int) -> bool:
        """So much more is held; whether it has become too much by that."""
        self.held += octets
        if self.high or self.held < self._limit:
            return False
        self.high = True
        return True

    def let_go(self, octets: int) -> bool:
        """So much less is held; whether all may go on by that."""
        self.held -= octets
        if not self.high or self.held * 2 >= self._limit:
            return False
        self.high = False
        return True

    def parked_too_much(self) -> bool:
        """Whether as much again has come on top and is parked: reading is to pause."""
        return self.parked >= self._limit

    def held_too_much(self) -> bool:
        """Where nothing can be parked: whether twice as much is held; reading is to pause."""
        return self.held >= 2 * self._limit

"""Who takes deliveries from one upstream, and gives credit for them at the end of a turn."""

from __future__ import annotations

from typing import Protocol, final

from gateway.faces.dialled.transports import Transports


class Taker(Protocol):
    """A receiver or a feeder: one link by which deliveries come."""

    def on_credit(self) -> None:
        """What is wanted may have changed: ask for a look at it with `Takers.owe`."""

    def flush(self) -> None:
        """Have the link's credit follow what is wanted."""

    def outstanding(self) -> int:
        """Deliveries without an outcome."""


@final
class Takers:
    """Those of one upstream.

    Attributes:
        standing: all that have not ended.
    """

    __slots__ = ("_owing", "_transports", "standing")

    def __init__(self, transports: Transports) -> None:
        self._transports = transports
        self.standing: dict[Taker, None] = {}
        self._owing: dict[Taker, None] = {}

    def add(self, taker: Taker) -> None:
        """One more."""
        self.standing[taker] = None

    def forget(self, taker: Taker) -> None:
        """Its link is over."""
        self.standing.pop(taker, None)
        self._owing.pop(taker, None)

    def owe(self, taker: Taker) -> None:
        """Have it look at its credit at the end of the turn."""
        if taker not in self._owing:  # it asks several times for each message
            self._owing[taker] = None
            self._transports.touch()

    def give_credit(self) -> None:
        """The turn ends: have whoever asked for it look at its credit."""
        owing = self._owing
        if owing:
            self._owing = {}
            for taker in owing:
                taker.flush()

    def on_credit(self) -> None:
        """What all of them want may have changed."""
        for taker in self.standing:
            taker.on_credit()

    def outstanding(self) -> bool:
        """Whether any has deliveries without an outcome."""
        return any([taker.outstanding() for taker in self.standing])

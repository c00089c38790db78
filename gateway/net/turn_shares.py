"""What the connections of one user may have done in one turn, all of them together.

Each connection has its share of a turn's work (`faces.agenda`); a user with hundreds of connections
would have hundreds of shares, and everybody else a turn that long. So those of one user whose
shares have come to `USER` wait for the next turn, with what they asked for or sent meanwhile, and
are then the first. Users are told apart by name: clients without a login are one.
"""

from __future__ import annotations

from typing import final

from gateway.wire.work import USER


@final
class TurnShare:
    """That of one user."""

    __slots__ = ("_turn", "_used")

    def __init__(self) -> None:
        self._turn = 0
        self._used = 0

    def use(self, turn: int, units: int) -> None:
        """One of its connections was so much work in the turn of that number."""
        if self._turn != turn:
            self._turn = turn
            self._used = 0
        self._used += units

    def used_up(self, turn: int) -> bool:
        """Whether the others are to wait for the next turn."""
        return self._used >= USER and self._turn == turn


@final
class TurnShares:
    """Those of all users that have logged in."""

    def __init__(self) -> None:
        self._shares: dict[str, TurnShare] = {}

    def of(self, user: str) -> TurnShare:
        """That of a user."""
        return self._shares.setdefault(user, TurnShare())

"""What the connections of one user, and those of all users, may have done in one turn.

Each connection has its share of a turn's work (`faces.agenda`); a user with hundreds of connections
would have hundreds of shares, and everybody else a turn that long. So those of one user whose
shares have come to `USER` wait for the next turn, with what they asked for or sent meanwhile.

Many users who ask for that much have one such share between them, or a turn would be as long as
they are many: each has an equal part of it, as many as had to wait in the turn before, and when it
is used up all of them wait. Who asks for less than a connection's share is not held up by them,
but where very many begin at once: of a turn of `EVERYBODY` the rest is for the next, whoever it is
of. Users are told apart by name: clients without a login are one.
"""

from __future__ import annotations

from typing import final

from gateway.wire.work import EVERYBODY, SHARE, USER


@final
class TurnShare:
    """That of one user."""

    __slots__ = ("_all", "_cut", "_greedy", "_turn", "_used")

    def __init__(self, shares: TurnShares) -> None:
        self._all = shares
        self._turn = 0
        self._used = 0
        self._cut = -1  # the last turn of which it had had enough
        self._greedy = -1  # that, or the last in which it used a connection's share

    def use(self, turn: int, units: int) -> None:
        """One of its connections was so much work in the turn of that number."""
        if self._turn != turn:
            self._turn = turn
            self._used = 0
        self._used += units
        if self._used >= SHARE:
            self._greedy = turn
        self._all.use(turn, units)

    def used_up(self, turn: int) -> bool:
        """Whether the others are to wait for the next turn."""
        used = self._used if self._turn == turn else 0
        if not self._all.used_up(turn, used, greedy=self.greedy(turn)):
            return False
        if self._cut != turn:
            self._cut = self._greedy = turn
            self._all.cut(turn)
        return True

    def greedy(self, turn: int) -> bool:
        """Whether it asks for much, in this turn or in the one before."""
        return self._greedy >= turn - 1


@final
class TurnShares:
    """Those of all users that have logged in."""

    def __init__(self) -> None:
        self._shares: dict[str, TurnShare] = {}
        self._turn = 0
        self._used = 0
        self._cut = 0  # users who have had enough of this turn
        self._part = USER  # what one of those may use who had enough of the turn before

    def of(self, user: str) -> TurnShare:
        """That of a user."""
        share = self._shares.get(user)
        if share is None:
            share = self._shares[user] = TurnShare(self)
        return share

    def use(self, turn: int, units: int) -> None:
        """A connection of some user was so much work."""
        self._begin(turn)
        self._used += units

    def used_up(self, turn: int, used: int, *, greedy: bool) -> bool:
        """Whether a user who has used so much has had enough."""
        self._begin(turn)
        if used >= self._part or self._used >= EVERYBODY:
            return True
        return greedy and self._used >= USER

    def cut(self, turn: int) -> None:
        """One more user has had enough of this turn."""
        self._begin(turn)
        self._cut += 1

    def _begin(self, turn: int) -> None:
        if self._turn != turn:
            several = self._cut if self._turn == turn - 1 else 0
            self._turn = turn
            self._used = 0
            self._cut = 0
            self._part = max(SHARE, USER // several) if several > 1 else USER

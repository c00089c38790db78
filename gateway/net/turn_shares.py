"""What the connections of one user, and those of all users, may have done in one turn.

Each connection has its share of a turn's work (`faces.agenda`); a user with hundreds of connections
would have hundreds of shares, and everybody else a turn that long. So those of one user whose
shares have come to `USER` wait for the next turn, with what they asked for or sent meanwhile.

Many users who ask for that much have one such share between them, or a turn would be as long as
they are many: each has an equal part of it, as many as had to wait in the turn before, and when it
is used up all of them wait. Who asks for less than a connection's share is not held up by them,
but where very many begin at once: of a turn of `EVERYBODY` the rest is for the next, whoever it is
of. Users are told apart by name, clients without a login by their addresses. Who has not logged in
yet has another share with its address (`net.listening.admission`), and all of those have much less;
what it has used is gone from that of the clients without a login of its address, which come and go
as they like: an address has one share of a turn and not two.

A step of a TLS handshake may alone be more than such a share, and cannot be done by halves. What an
address has had too much it owes to the next turns, so that over time it has no more than its share.
"""

from __future__ import annotations

from typing import final

from gateway.wire.work import EVERYBODY, SHARE, USER


@final
class TurnShare:
    """That of one user, which what `beside` has done in the same turn is taken from."""

    __slots__ = ("_all", "_beside", "_cut", "_greedy", "_owed", "_turn", "_used")

    def __init__(self, shares: TurnShares, beside: TurnShare | None = None) -> None:
        self._all = shares
        self._beside = beside
        self._turn = 0
        self._used = 0
        self._owed = 0  # of that: from turns before
        self._cut = -1  # the last turn of which it had had enough
        self._greedy = -1  # that, or the last in which it used a connection's share

    def use(self, turn: int, units: int) -> None:
        """One of its connections was so much work in the turn of that number."""
        if self._turn != turn:
            self._begin(turn)
        self._used += units
        if self._used >= SHARE:
            self._greedy = turn
        shares = self._all
        if shares.turn != turn:
            shares.begin(turn)
        shares.used += units

    def used_up(self, turn: int) -> bool:
        """Whether the others are to wait for the next turn."""
        shares = self._all
        if shares.turn != turn:
            shares.begin(turn)
        if self._turn != turn:
            self._begin(turn)
        everybody = shares.everybody if not self.greedy(turn) else shares.one
        beside = 0 if self._beside is None else self._beside.done(turn)
        if self._used + beside < shares.part and shares.used < everybody:
            return False
        if self._cut != turn:
            self._cut = self._greedy = turn
            shares.cut += 1
        return True

    def _begin(self, turn: int) -> None:
        """Nothing is used of the turn of that number, but for what is owed to it."""
        shares = self._all
        owed = self._used - shares.one * (turn - self._turn) if shares.owes else 0
        self._used = self._owed = max(0, owed)
        self._turn = turn

    def done(self, turn: int) -> int:
        """How much it has done in that turn."""
        return self._used - self._owed if self._turn == turn else 0

    def greedy(self, turn: int) -> bool:
        """Whether it asks for much, in this turn or in the one before."""
        return self._greedy >= turn - 1


@final
class TurnShares:
    """Those of all users that have logged in, or of all addresses from which somebody has not.

    Args:
        one: what one may use of a turn, and all together who ask for much; `least`: one of these.
        everybody: what all may use, whatever each of them asks for.
        owes: what one has used beyond `one` it owes to the turns that follow.

    Attributes:
        turn: the last in which anybody did anything.
        used: what all of them did in it.
        cut: how many of them have had enough of it.
        part: what one may use of it, as many as had had enough of the one before.
    """

    __slots__ = ("_shares", "cut", "everybody", "least", "one", "owes", "part", "turn", "used")

    def __init__(
        self,
        one: int = USER,
        everybody: int = EVERYBODY,
        least: int = SHARE,
        *,
        owes: bool = False,
    ) -> None:
        self._shares: dict[str, TurnShare] = {}
        self.one = one
        self.everybody = everybody
        self.least = least
        self.owes = owes
        self.turn = 0
        self.used = 0
        self.cut = 0
        self.part = one

    def of(self, user: str) -> TurnShare:
        """That of a user."""
        share = self._shares.get(user)
        if share is None:
            share = self._shares[user] = TurnShare(self)
        return share

    def begin(self, turn: int) -> None:
        """The turn of that number has begun."""
        several = self.cut if self.turn == turn - 1 else 0
        self.turn = turn
        self.used = 0
        self.cut = 0
        self.part = max(self.least, self.one // several) if several > 1 else self.one

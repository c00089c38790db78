"""Dead letters that are too much for the turn in which they are rejected.

A message that is rejected may go to very many queues, and one command may reject thousands. When
what has been moved in a turn has used up its share, the others wait in their queues, where nobody
gets them any more, until a later turn; those of one connection in their order, and connections in
turn. Each is moved within one turn, so that it is here or there after a crash: who rejected it is
told when it has been moved, or gets it again. Where one goes to very many queues, that turn is long
(`spread.entering`).
"""

from __future__ import annotations

from collections import deque
from typing import Protocol, final

from mypy_extensions import i64 as int64

from gateway.audit.schema import Reason
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.spread.entering import Entering
from gateway.bridge.spread.rerouting import NO_END, Rerouting
from gateway.bridge.turns import TurnBook
from gateway.wire.work import SHARE, WORK


class Moves(Protocol):
    """Whoever moves dead letters."""

    def move_late(self, queue: Queue, entry: Entry, reason: Reason) -> Rerouting | None:
        """It is the turn of one that has waited: it leaves, for where it is to go on to."""


@final
class Letter:
    """One that goes to very many queues. Implements `entering.Long`."""

    __slots__ = ("_entry", "_letters", "_moves", "_queue", "_reason", "_rerouting", "_turns")

    def __init__(
        self,
        turns: TurnBook,
        moves: Moves,
        letters: Letters,
        queue: Queue,
        entry: Entry,
        reason: Reason,
    ) -> None:
        self._turns = turns
        self._moves = moves
        self._letters = letters
        self._queue = queue
        self._entry: Entry | None = entry
        self._reason = reason
        self._rerouting: Rerouting | None = None

    def who(self) -> str:
        """See `Long`."""
        return self._letters.who()

    def go_on(self, end: int) -> bool:
        """See `Long`. When it is moved it is the turn of those behind it."""
        self._turns.open = True
        moved = True  # also where a defect breaks it off: others are not to wait for ever
        try:
            moved = self._move(end)
        finally:
            if moved:
                self._turns.spread.put_off(self._letters)
        return moved

    def _move(self, end: int) -> bool:
        entry = self._entry
        if entry is not None:
            self._entry = None
            self._rerouting = self._moves.move_late(self._queue, entry, self._reason)
        return self._rerouting is None or self._rerouting.go_on(end)


@final
class Letters:
    """Those of one connection. Implements `Piecework`."""

    __slots__ = ("_connection", "_letters", "_moves", "waiting")

    def __init__(self, letters: DeadLetters, moves: Moves, connection: int) -> None:
        self._letters = letters
        self._moves = moves
        self._connection = connection
        # Also who is to be told when those before are moved.
        self.waiting: deque[tuple[Queue, Entry, Reason, bool] | tuple[LookUpWaiter, int]] = deque()

    def who(self) -> str:
        """See `Piecework`."""
        return f"connection {self._connection}, which has rejected messages"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        waiting = self.waiting
        while waiting:
            if WORK.units > end:
                return False
            first = waiting.popleft()
            if len(first) == 4:
                queue, entry, reason, large = first
                if large:
                    self._letters.begin(self, queue, entry, reason)
                    return True  # for now
                rerouting = self._moves.move_late(queue, entry, reason)
                if rerouting is not None:
                    rerouting.go_on(NO_END)
            else:
                waiter, token = first
                waiter.on_looked_up(token, None)
        self._letters.forget(self._connection)
        return True


@final
class DeadLetters:
    """Those of one virtual host.

    Attributes:
        queues: in which they wait, and how many in each.
    """

    __slots__ = ("_by_connection", "_entering", "_moves", "_spent", "_turn", "_turns", "queues")

    def __init__(self, moves: Moves, turns: TurnBook, entering: Entering) -> None:
        self._moves = moves
        self._turns = turns
        self._entering = entering
        self._by_connection: dict[int, Letters] = {}
        self.queues: dict[Queue, int] = {}
        self._turn = 0  # in which `_spent` units of work were moved at once
        self._spent: int64 = 0

    def waits(self, connection: int) -> bool:
        """Whether one that a connection rejects now waits for a later turn."""
        if connection in self._by_connection:
            return True
        return self._turn == self._turns.number and self._spent > SHARE

    def moved(self, units: int64) -> None:
        """One was moved at once, which was so much work."""
        number = self._turns.number
        if self._turn != number:
            self._turn = number
            self._spent = 0
        self._spent += units

    def begin(self, letters: Letters, queue: Queue, entry: Entry, reason: Reason) -> None:
        """Move one that goes to very many queues, and go on with `letters` then."""
        letter = Letter(self._turns, self._moves, letters, queue, entry, reason)
        self._entering.put_off(letter)

    def put_off(
        self, connection: int, queue: Queue, entry: Entry, reason: Reason, *, large: bool
    ) -> None:
        """Move it in a later turn; `large`: it goes to very many queues."""
        letters = self._by_connection.get(connection)
        if letters is None:
            letters = Letters(self, self._moves, connection)
            self._by_connection[connection] = letters
            self._turns.spread.put_off(letters)
        letters.waiting.append((queue, entry, reason, large))
        self.queues[queue] = self.queues.get(queue, 0) + 1

    def leave(self, queue: Queue) -> None:
        """It is the turn of one that waits in `queue`."""
        self.queues[queue] -= 1
        if self.queues[queue] == 0:
            del self.queues[queue]

    def tell(self, connection: int, waiter: LookUpWaiter, token: int) -> bool:
        """Tell `waiter` when what the connection has rejected is moved; `False`: it is."""
        letters = self._by_connection.get(connection)
        if letters is None:
            return False
        letters.waiting.append((waiter, token))
        return True

    def forget(self, connection: int) -> None:
        """Nothing of the connection's waits any more."""
        del self._by_connection[connection]

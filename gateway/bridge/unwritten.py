"""What waits for the store's thread, audit records included, by whose it is.

Turns are committed one behind the other, and so everybody waits for all that waits. Records are
soon made, a hundred octets and more of them for a message of one: whoever makes more than the
thread can write is not heard for a moment while much waits, and what the gateway has put off itself
(`spread`, what expires) waits, too. Octets are counted once for each time that somebody acts.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, final

from mypy_extensions import i64 as int64

from gateway.audit.records.log import AuditLog
from gateway.bridge.turns import TurnBook

MUCH: Final = 2 * 1024 * 1024  # that waits in all, if nobody says; it is equally divided then
LITTLE: Final = 4 * 1024  # what everybody may have waiting


class Touched(Protocol):
    """A connection: it is asked at the end of the turn what it wants."""

    def touch(self) -> None:
        """It may go on."""


@final
class Author:
    """A connection whose doings are written.

    Attributes:
        octets: that wait.
        waits: it is to be told when some of them are written.
        entering: how much of it enters over several turns: it is not heard until that is done.
    """

    __slots__ = ("connection", "entering", "octets", "waits")

    def __init__(self, connection: Touched) -> None:
        self.connection: Touched = connection
        self.octets = 0
        self.waits = False
        self.entering = 0


@final
class Unwritten:
    """All of it.

    Attributes:
        author: who acts now; `None`: nobody but the gateway.
        octets: of all authors.
        authors: how many of them have any.
        most: may wait before it is equally divided: all of it must find room on the disk.
    """

    __slots__ = ("_audit", "_mark", "_parts", "_turns", "author", "authors", "most", "octets")

    def __init__(self, audit: AuditLog, turns: TurnBook) -> None:
        self._audit = audit
        self._turns = turns
        self.author: Author | None = None
        self._mark: int64 = 0
        self._parts: deque[tuple[int, Author, int]] = deque()  # by turn
        self.octets = 0
        self.authors = 0
        self.most = MUCH

    def begin(self, author: Author | None) -> None:
        """Somebody begins to act, or nobody but the gateway: what there is more is of the last."""
        size: int64 = self._audit.pending() + self._turns.writes.size()
        last = self.author
        if last is not None and size > self._mark:
            self._add(last, size - self._mark)
        self._mark = size
        self.author = author

    def _add(self, author: Author, octets: int) -> None:
        if author.octets == 0:
            self.authors += 1
        author.octets += octets
        self.octets += octets
        self._parts.append((self._turns.number, author, octets))

    def end_turn(self) -> None:
        """What the turn has made is the store's."""
        self._mark = self._audit.pending() + self._turns.writes.size()

    def much(self) -> bool:
        """So much waits for the store that the gateway's own works are to wait, too."""
        return self._turns.octets_waiting() > self.most and not self._turns.blocked

    def too_much(self, author: Author) -> bool:
        """Much waits, of this author more than of others; it is told when some of it is written.

        Not while the disk refuses: what then waits has limits of its own. Also as long as something
        of it enters over several turns: what it asked for behind that is done behind it.
        """
        if author.entering:
            author.waits = True
            return True
        if self.octets <= self.most or self._turns.blocked:
            return False
        if author.octets <= max(LITTLE, self.most // self.authors):
            return False
        author.waits = True
        return True

    def on_committed(self, turn: int) -> None:
        """Everything up to `turn` is on disk."""
        parts = self._parts
        while parts and parts[0][0] <= turn:
            _, author, octets = parts.popleft()
            author.octets -= octets
            self.octets -= octets
            if author.octets == 0:
                self.authors -= 1
            go_on(author)

    def on_blocked(self) -> None:
        """The disk refuses: nobody waits for a commit."""
        for _, author, _ in self._parts:
            go_on(author)


def go_on(author: Author) -> None:
    """It may be heard again, if it is one that waits."""
    if author.waits:
        author.waits = False
        author.connection.touch()

"""Publishes of which more enters than can in one turn: it is done over several, and yet as one.

A *long* one is a publish to very many queues, or the commit of a transaction that holds very much.
Each pass of the event loop does a share of it, and until the last copy is in its queue the turn
stays open (`turns`): what has entered becomes durable together with the rest, or never was, and
nobody is told before. The turns of others are that turn, too, so one long one is done after the
other, and the turn ends between two. Whoever asked for one is not heard until it is over; what that
publishes in the same breath waits its turn here, however little it is.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, final

from mypy_extensions import i64 as int64

from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import Publisher
from gateway.bridge.transaction import Held
from gateway.bridge.turns import TurnBook
from gateway.bridge.unwritten import Author, Unwritten, go_on
from gateway.wire.work import COPY, SHARE, WORK

FEW: Final = SHARE // COPY  # copies of one publish that enter at once, if nothing is in the way


class Long(Protocol):
    """Something that enters as one."""

    def who(self) -> str:
        """Whose it is, for people."""

    def go_on(self, end: int) -> bool:
        """Go on until `WORK.units` is above `end`; whether it is done.

        From the first step on that others could see, the turn is open.
        """


class Late(Protocol):
    """Who knows what becomes of copies whose queue was deleted before they came."""

    def awaits(self, queue: Queue) -> bool:
        """Whether it was decided that copies come when that queue was still there."""

    def enter_deleted(self, queue: Queue, held: Held) -> bool:
        """A copy goes the way of those that were in the queue; whether it is durable."""


class Hiding(Protocol):
    """Whose copies nobody is to see before all of them are there."""

    def hide(self, queue: Queue) -> None:
        """A copy comes into that queue that no room was kept for."""


class Places(Protocol):
    """Where publishes go: those of a virtual host."""

    def go_on(self, held: Held, end: int, late: Late | None) -> bool:
        """Put copies into its queues until `WORK.units` is above `end`; whether all are in."""

    def on_entered(self, held: Held, publisher: Publisher | None, token: int) -> None:
        """All copies of a publish are in: its publisher is to be told."""


@final
class LongPublish:
    """A publish that comes behind others, or goes to very many queues. Implements `Long`."""

    __slots__ = ("_held", "_places", "_publisher", "_token", "_turns")

    def __init__(
        self, places: Places, turns: TurnBook, held: Held, publisher: Publisher | None, token: int
    ) -> None:
        self._places = places
        self._turns = turns
        self._held = held
        self._publisher = publisher
        self._token = token

    def who(self) -> str:
        """See `Long`."""
        held = self._held
        return f"connection {held.message.publisher}, which publishes to {len(held.queues)} queues"

    def go_on(self, end: int) -> bool:
        """See `Long`."""
        self._turns.open = True
        if not self._places.go_on(self._held, end, None):
            return False
        self._places.on_entered(self._held, self._publisher, self._token)
        return True


@final
class Entering:
    """All of them, in their order.

    Attributes:
        few: a publish of more copies asks (`puts_off`) whether it may enter at once.
        units: how much was done in this turn.
    """

    __slots__ = ("_nobodys", "_turns", "_unwritten", "_waiting", "few", "units")

    def __init__(self, turns: TurnBook, unwritten: Unwritten) -> None:
        self._turns = turns
        self._unwritten = unwritten
        self._waiting: deque[tuple[Long, Author | None]] = deque()
        self._nobodys = 0  # of what the gateway does by itself
        self.few = FEW
        self.units: int64 = 0

    @property
    def has_work(self) -> bool:
        """Whether there is more to do in the next turn."""
        return len(self._waiting) > 0

    def who(self) -> str:
        """The first of them, for people."""
        return self._waiting[0][0].who() if self._waiting else "what has entered"

    def puts_off(self, units: int) -> bool:
        """Whether what costs so much, and is asked for now, waits: for a later turn, or others."""
        if units > SHARE:
            return True
        author = self._unwritten.author
        return (self._nobodys if author is None else author.entering) > 0

    def put_off(self, long: Long) -> None:
        """It comes behind the others. Whoever asks has had its share of this turn."""
        author = self._unwritten.author
        if author is None:
            self._nobodys += 1
        else:
            author.entering += 1
        self._waiting.append((long, author))
        self.few = 0
        WORK.cut += 1
        WORK.units += SHARE

    def run(self) -> None:
        """A turn's share of them; the end of a long one is the end of its turn."""
        self.units = 0
        waiting = self._waiting
        if not waiting:
            return
        began = WORK.units
        end = began + SHARE
        was_open = self._turns.open
        while waiting and WORK.units <= end:
            long, author = waiting[0]
            self._unwritten.begin(author)
            done = True  # also where a defect breaks it off: others are not to wait for ever
            try:
                done = long.go_on(end)
            finally:
                if done:
                    self._over(author)
            if was_open or not done:
                break
        self._unwritten.begin(None)
        self.units = WORK.units - began

    def finish(self) -> None:
        """End what the turn is open for: there are no more turns."""
        while self._turns.open:
            self.run()

    def _over(self, author: Author | None) -> None:
        self._waiting.popleft()
        self._turns.open = False
        if not self._waiting:
            self.few = FEW
        if author is None:
            self._nobodys -= 1
            return
        author.entering -= 1
        if author.entering == 0:
            go_on(author)

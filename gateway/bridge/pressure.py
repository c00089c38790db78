"""How much all queues hold, and which publishers wait until it is less.

Above the high-water mark a publish is taken but not confirmed (`PENDING`); its publisher is told
when the total is at or below the low-water mark and the turn of the publish is safe. Above the
maximum publishes are refused: that is for who goes on without waiting. The same holds for what one
user or one virtual host has of it (`quotas`). While the disk refuses, or is full, it is as if the
high-water mark had been passed.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.latency import Run
from gateway.bridge.quotas import Quotas, Stock, Waiting
from gateway.bridge.seams import Publisher
from gateway.message import ACCEPTED, Outcome

# Counted for each copy beside what is in it. A small message takes 350 to 500 octets of memory, a
# durable one that expires up to 750 (both with its entry in the store's books).
COPY_OCTETS: Final = 768
# The same of a copy that is on disk alone: its share of what stays of its page.
AWAY_OCTETS: Final = 16
# And what is known of its group, or of its key, where it has one.
KEY_OCTETS: Final = 400


@final
class Pressure:
    """Totals over all queues of all hosts.

    Attributes:
        octets, messages: copies held in memory now, acquired ones included; `COPY_OCTETS` for each
            are among the octets, here as with quotas, so that small messages, too, are on
            somebody's account.
        away_octets, away_messages: what is in those that are on disk alone, and how many they are;
            `AWAY_OCTETS` for each are among `octets`, and `key_octets` for those that have keys.
        staged_octets: that content may take which is staged, which no consumer can take away.
        high: publishers wait: the high-water mark was passed, and the low one not reached since,
            or `blocked`.
        by_messages: it was their number that passed its mark, and not their octets.
        blocked: the disk refuses.
        times, late, late_max: see a face's `Disk`.
        quotas: what users and virtual hosts have of it; none of them is asked before one of them
            is used up, which shows at the end of a turn.
    """

    __slots__ = (
        "_high_at",
        "_limits",
        "_low_at",
        "_messages_high_at",
        "_messages_low_at",
        "_messages_max",
        "_octets_max",
        "_publisher",
        "_raised_at",
        "_raised_messages_at",
        "_short",
        "_stock",
        "_waiting",
        "away_messages",
        "away_octets",
        "blocked",
        "by_messages",
        "high",
        "key_octets",
        "late",
        "late_max",
        "messages",
        "octets",
        "quotas",
        "staged_octets",
        "times",
    )

    def __init__(self, limits: BridgeLimits) -> None:
        self._limits = limits
        self._waiting: deque[Waiting] = deque()
        self.octets: int64 = 0
        self.messages: int64 = 0
        self.away_octets: int64 = 0
        self.away_messages: int64 = 0
        self.key_octets: int64 = 0
        self.staged_octets: int64 = 0
        self.high = False
        self.by_messages = False
        self.blocked = False
        self.times = 0
        self.late = 0
        self.late_max = limits.octets_max
        self.quotas = Quotas(limits.user_octets, limits.host_octets)
        self._octets_max: int64 = limits.octets_max
        self._messages_max: int64 = limits.messages_max
        self._high_at: int64 = limits.octets_high
        self._low_at: int64 = limits.octets_low
        self._messages_high_at: int64 = limits.messages_high
        self._messages_low_at: int64 = limits.messages_low
        self._short = False  # a quota is used up
        # What made it high in this turn, if that was so.
        self._raised_at: int64 = 0
        self._raised_messages_at: int64 = 0
        # Whose message came last: many come in a row.
        self._publisher = 0
        self._stock: Stock = self.quotas.of_connection(0)

    @property
    def waiting(self) -> int:
        """How many publishes are held back."""
        waiting = len(self._waiting)
        for quota in self.quotas.holding:
            waiting += len(quota.waiting)
        return waiting

    def full(self, publisher: int) -> bool:
        """Whether nothing more may come in, by that connection."""
        if self.octets >= self._octets_max or self.messages >= self._messages_max:
            return True
        if not self._short:
            return False
        stock = self.stock_of(publisher)
        return stock.user.full or stock.host.full

    def has_room(self, copies: int, octets: int, stock: Stock) -> bool:
        """Whether so many copies, of so much together, may come in for `stock` at once.

        Unlike a publish, which is refused when there is too much already, these are refused when
        there would be: a commit or an alternate exchange may bring any number of them.
        """
        octets += COPY_OCTETS * copies
        return (
            self.octets + octets <= self._octets_max
            and self.messages + copies <= self._messages_max
            and stock.has_room(octets)
        )

    def has_slack(self, octets: int) -> bool:
        """Whether one more copy, of so much, is no reason for anybody to wait, now or soon."""
        within = self.octets + octets + COPY_OCTETS <= self._low_at
        return within and self.messages < self._messages_low_at and not self.blocked

    def may_stage(self, own: int, octets: int) -> bool:
        """Whether somebody for whom `own` are staged may have so much more of it.

        All together may take half of what makes publishers wait, and nobody more than half of what
        others have left of that: so none stops them all by it, nor keeps others from staging.
        """
        left = self._limits.octets_high // 2 - (self.staged_octets - own)
        return 2 * (own + octets) <= left

    def stock_of(self, publisher: int) -> Stock:
        """Whose it is that comes by that connection."""
        if publisher != self._publisher:
            self._publisher = publisher
            self._stock = self.quotas.of_connection(publisher)
        return self._stock

    def join(self, connection: int, user: str, host: str) -> None:
        """What comes by that connection is this user's, in this virtual host."""
        self.quotas.join(connection, user, host)
        self._publisher = 0
        self._stock = self.quotas.of_connection(0)

    @property
    def held(self) -> int:
        """Copies, wherever they are."""
        return self.messages + self.away_messages

    @property
    def payload(self) -> int:
        """Octets of what is in the copies, wherever they are."""
        away = AWAY_OCTETS * self.away_messages + self.key_octets
        return self.octets - COPY_OCTETS * self.messages - away + self.away_octets

    def entered(self, size: int64, stock: Stock) -> None:
        """A copy came in, for `stock`."""
        size += COPY_OCTETS
        stock.octets += size
        if not stock.dirty:
            self.quotas.touch(stock)
        self.octets += size
        self.messages += 1
        if self.octets > self._high_at or self.messages > self._messages_high_at:
            if not self.high:
                self._raised_at = self.octets
                self._raised_messages_at = self.messages
            self.high = True

    def changed(self, difference: int64, stock: Stock) -> None:
        """A copy grew or shrank; what that means for publishers shows with the next one."""
        stock.octets += difference
        if not stock.dirty:
            self.quotas.touch(stock)
        self.octets += difference

    def left(self, size: int64, stock: Stock) -> None:
        """A copy left."""
        size += COPY_OCTETS
        stock.octets -= size
        if not stock.dirty:
            self.quotas.touch(stock)
        self.octets -= size
        self.messages -= 1
        if self.high:
            self._ease()

    def _ease(self) -> None:
        """There is less than there was."""
        low = self.octets <= self._low_at and self.messages <= self._messages_low_at
        if low and not self.blocked:
            self.high = False

    def moved_away(self, messages: int64, size: int64, stock: Stock, marks: int64) -> None:
        """Copies are on disk alone from now on, of so much together; negative: here again.

        `marks`: octets that stay of each of them.
        """
        self.changed(-size - (COPY_OCTETS - marks) * messages, stock)
        self.key_octets += (marks - AWAY_OCTETS) * messages
        self.messages -= messages
        self.away_messages += messages
        self.away_octets += size
        if self.high:
            self._ease()

    def laid(self, messages: int64, size: int64, stock: Stock) -> None:
        """Copies have come that stay on disk alone."""
        self.changed(AWAY_OCTETS * messages, stock)
        self.away_messages += messages
        self.away_octets += size

    def left_away(self, size: int64, stock: Stock, marks: int64) -> None:
        """A copy left that was on disk alone."""
        self.changed(-marks, stock)
        self.key_octets -= marks - AWAY_OCTETS
        self.away_messages -= 1
        self.away_octets -= size
        if self.high:
            self._ease()

    def lost(self, messages: int64, size: int64, stock: Stock) -> None:
        """Copies have not come back that were on disk alone."""
        self.changed(-size - COPY_OCTETS * messages, stock)
        self.messages -= messages
        if self.high:
            self._ease()

    def block(self) -> None:
        """The disk refuses: whoever publishes waits."""
        if not self.blocked:
            self.times += 1
            self.late = 0
        self.blocked = self.high = True

    def unblock(self) -> None:
        """It takes everything again."""
        self.blocked = False
        self.high = self.octets > self._high_at or self.messages > self._messages_high_at

    def holds_back(self, connection: int) -> bool:
        """Whether what has just come by that connection is to be confirmed later."""
        if self.high:
            return True
        return self._short and self.stock_of(connection).high() is not None

    def hold_back(
        self,
        turn: int,
        publisher: Publisher,
        token: int,
        outcome: Outcome = ACCEPTED,
        connection: int = 0,
        *,
        run: Run | None = None,
        since_us: int = 0,
    ) -> None:
        """Confirm this publish later; `run` counts how long its publisher waits, `since_us`."""
        quota = self.stock_of(connection).high()
        waiting = (turn, publisher, token, outcome, run, since_us)
        if quota is None:
            self._waiting.append(waiting)
        else:
            self.quotas.hold_back(quota, waiting)

    def release(self, safe: int) -> None:
        """Confirm what need not be held back any longer: `safe` is the latest safe turn."""
        self._settle()
        if self.high:
            return
        _confirm(self._waiting, safe)
        if self.quotas.holding:
            for quota in list(self.quotas.holding):
                if not quota.high:
                    _confirm(quota.waiting, safe)
            self.quotas.forget_empty()

    def _settle(self) -> None:
        """The turn ends: what is beyond quotas is known, and is not everybody's."""
        self.quotas.settle()
        self._short = self.quotas.high > 0
        beyond = self.quotas.beyond()
        self._high_at = self._limits.octets_high + beyond
        self._low_at = self._limits.octets_low + beyond
        # No more messages than that are beyond: each counts so many octets.
        self._messages_high_at = self._limits.messages_high + beyond // COPY_OCTETS
        self._messages_low_at = self._limits.messages_low + beyond // COPY_OCTETS
        raised_at = self._raised_at
        self._raised_at = 0
        if raised_at:
            self.by_messages = raised_at <= self._high_at
        if (
            0 < raised_at <= self._high_at
            and self._raised_messages_at <= self._messages_high_at
            and self.octets <= self._high_at
            and self.messages <= self._messages_high_at
            and not self.blocked
        ):
            self.high = False  # what made it so has turned out to be beyond a quota


def _confirm(waiting: deque[Waiting], safe: int) -> None:
    while waiting and waiting[0][0] <= safe:
        _, publisher, token, outcome, run, since_us = waiting.popleft()
        if run is not None:
            run.count_one(since_us)
        publisher.on_published(token, outcome)

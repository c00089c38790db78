"""How much all queues hold, and which publishers wait until it is less.

Above the high-water mark a publish is taken but not confirmed (`PENDING`); its publisher is told
when the total is at or below the low-water mark and the turn of the publish is safe. Above the
maximum publishes are refused: that is for who goes on without waiting. The same holds for what one
user or one virtual host has of it (`quotas`). While the disk refuses, or is full, it is as if the
high-water mark had been passed.
"""

from __future__ import annotations

from collections import deque
from typing import final

from mypy_extensions import i64 as int64

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.quotas import Quotas, Share, Waiting
from gateway.bridge.seams import Publisher
from gateway.message import ACCEPTED, Outcome


@final
class Pressure:
    """Totals over all queues of all hosts.

    Attributes:
        octets, messages: copies held now, acquired ones included.
        high: publishers wait: the high-water mark was passed, and the low one not reached since,
            or `blocked`.
        blocked: the disk refuses.
        quotas: what users and virtual hosts have of it; none of them is asked before one of them
            is used up, which shows at the end of a turn.
    """

    __slots__ = (
        "_high_at",
        "_limits",
        "_low_at",
        "_messages_high",
        "_messages_low",
        "_messages_max",
        "_octets_max",
        "_publisher",
        "_raised_at",
        "_share",
        "_short",
        "_waiting",
        "blocked",
        "high",
        "messages",
        "octets",
        "quotas",
    )

    def __init__(self, limits: BridgeLimits) -> None:
        self._limits = limits
        self._waiting: deque[Waiting] = deque()
        self.octets: int64 = 0
        self.messages: int64 = 0
        self.high = False
        self.blocked = False
        self.quotas = Quotas(limits.user_octets, limits.host_octets)
        self._high_at: int64 = limits.octets_high
        self._low_at: int64 = limits.octets_low
        self._octets_max: int64 = limits.octets_max
        self._messages_high: int64 = limits.messages_high
        self._messages_low: int64 = limits.messages_low
        self._messages_max: int64 = limits.messages_max
        self._raised_at: int64 = 0  # octets that made it high, in this turn
        self._short = False  # a quota is used up
        # Whose message came last: many come in a row.
        self._publisher = 0
        self._share: Share = self.quotas.of_connection(0)

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
        share = self.share_of(publisher)
        return share.user.full or share.host.full

    def share_of(self, publisher: int) -> Share:
        """Whose it is that comes by that connection."""
        if publisher != self._publisher:
            self._publisher = publisher
            self._share = self.quotas.of_connection(publisher)
        return self._share

    def join(self, connection: int, user: str, host: str) -> None:
        """What comes by that connection is this user's, in this virtual host."""
        self.quotas.join(connection, user, host)
        self._publisher = 0
        self._share = self.quotas.of_connection(0)

    def entered(self, size: int64, share: Share) -> None:
        """A copy came in, for `share`."""
        share.octets += size
        if not share.dirty:
            self.quotas.touch(share)
        self.octets += size
        self.messages += 1
        if self.messages > self._messages_high:
            self.high = True
            self._raised_at = 0
        elif self.octets > self._high_at:
            if not self.high:
                self._raised_at = self.octets
            self.high = True

    def changed(self, difference: int64, share: Share) -> None:
        """A copy grew or shrank; what that means for publishers shows with the next one."""
        share.octets += difference
        if not share.dirty:
            self.quotas.touch(share)
        self.octets += difference

    def left(self, size: int64, share: Share) -> None:
        """A copy left."""
        share.octets -= size
        if not share.dirty:
            self.quotas.touch(share)
        self.octets -= size
        self.messages -= 1
        if (
            self.high
            and self.octets <= self._low_at
            and self.messages <= self._messages_low
            and not self.blocked
        ):
            self.high = False

    def block(self) -> None:
        """The disk refuses: whoever publishes waits."""
        self.blocked = self.high = True

    def unblock(self) -> None:
        """It takes everything again."""
        self.blocked = False
        self.high = self.octets > self._high_at or self.messages > self._messages_high

    def holds_back(self, connection: int) -> bool:
        """Whether what has just come by that connection is to be confirmed later."""
        if self.high:
            return True
        return self._short and self.share_of(connection).high() is not None

    def hold_back(
        self,
        turn: int,
        publisher: Publisher,
        token: int,
        outcome: Outcome = ACCEPTED,
        connection: int = 0,
    ) -> None:
        """Confirm this publish later."""
        quota = self.share_of(connection).high()
        waiting = (turn, publisher, token, outcome)
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
        raised_at = self._raised_at
        self._raised_at = 0
        if 0 < raised_at <= self._high_at and self.octets <= self._high_at and not self.blocked:
            self.high = False  # what made it so has turned out to be beyond a quota


def _confirm(waiting: deque[Waiting], safe: int) -> None:
    while waiting and waiting[0][0] <= safe:
        _, publisher, token, outcome = waiting.popleft()
        publisher.on_published(token, outcome)

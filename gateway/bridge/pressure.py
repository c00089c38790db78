"""How much all queues hold, and which publishers wait until it is less.

Above the high-water mark a publish is taken but not confirmed (`PENDING`); its publisher is told
when the total is at or below the low-water mark and the turn of the publish is safe. Above the
maximum publishes are refused: that is for who goes on without waiting. While the disk refuses, or
is full, it is as if the high-water mark had been passed.
"""

from __future__ import annotations

from collections import deque
from typing import final

from gateway.bridge.limits import BridgeLimits
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
    """

    __slots__ = ("_limits", "_waiting", "blocked", "high", "messages", "octets")

    def __init__(self, limits: BridgeLimits) -> None:
        self._limits = limits
        self._waiting: deque[tuple[int, Publisher, int, Outcome]] = deque()
        self.octets = 0
        self.messages = 0
        self.high = False
        self.blocked = False

    @property
    def waiting(self) -> int:
        """How many publishes are held back."""
        return len(self._waiting)

    def full(self) -> bool:
        """Whether nothing more may come in."""
        return self.octets >= self._limits.octets_max or self.messages >= self._limits.messages_max

    def entered(self, size: int) -> None:
        """A copy came in."""
        self.octets += size
        self.messages += 1
        if self.octets > self._limits.octets_high or self.messages > self._limits.messages_high:
            self.high = True

    def changed(self, difference: int) -> None:
        """A copy grew or shrank; what that means for publishers shows with the next one."""
        self.octets += difference

    def left(self, size: int) -> None:
        """A copy left."""
        self.octets -= size
        self.messages -= 1
        if (
            self.high
            and self.octets <= self._limits.octets_low
            and self.messages <= self._limits.messages_low
            and not self.blocked
        ):
            self.high = False

    def block(self) -> None:
        """The disk refuses: whoever publishes waits."""
        self.blocked = self.high = True

    def unblock(self) -> None:
        """It takes everything again."""
        limits = self._limits
        self.blocked = False
        self.high = self.octets > limits.octets_high or self.messages > limits.messages_high

    def hold_back(
        self, turn: int, publisher: Publisher, token: int, outcome: Outcome = ACCEPTED
    ) -> None:
        """Confirm this publish later."""
        self._waiting.append((turn, publisher, token, outcome))

    def release(self, safe: int) -> None:
        """Confirm what need not be held back any longer: `safe` is the latest safe turn."""
        waiting = self._waiting
        while waiting and not self.high and waiting[0][0] <= safe:
            _, publisher, token, outcome = waiting.popleft()
            publisher.on_published(token, outcome)

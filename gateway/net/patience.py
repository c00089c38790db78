"""How much of the time of a handshake is its peer's: that in which the gateway waits for it.

Octets may wait unread, or unopened within TLS, because a thousand connections came at once and the
gateway has a tenth of a core; whoever is cut off for that comes back, and is as much work again. So
from when a peer was answered until its octets came is its time, as the kernel tells both, and from
then until they are read is ours. A peer that sends little by little is waited for until the last of
what makes a step has come. Nobody is waited for longer than some times its limit, whoever is late.
"""

from __future__ import annotations

from typing import Final, final

MOST: Final = 6  # times the limit, from the beginning
AGAIN_MS: Final = 1000  # after this we look again whether we got to what had come


@final
class Patience:
    """With one peer that has not opened.

    Attributes:
        steps: what it has sent that was whole.
    """

    __slots__ = ("_answered_ms", "_due_ms", "_end_ms", "_left_ms", "steps")

    def __init__(self, now_ms: int, limit_ms: int) -> None:
        self._left_ms = limit_ms
        self._due_ms = now_ms + limit_ms
        self._end_ms = now_ms + MOST * limit_ms
        self._answered_ms = now_ms
        self.steps = 0

    def step(self, now_ms: int, sent_ms: int, came_ms: int) -> None:
        """We have got to octets of the peer, the last of which came then; ours were sent then."""
        self.steps += 1
        self._left_ms -= max(0, came_ms - max(self._answered_ms, sent_ms))
        self._answered_ms = now_ms

    def wait(self, ms: int) -> None:
        """It was waiting for us to let it in, for so long."""
        self._answered_ms += ms
        self._due_ms += ms
        self._end_ms += ms

    def until(self, now_ms: int, sent_ms: int, *, behind: bool) -> int:
        """When its time may be over next; not later than now: it may be over by now.

        `behind`: something of it is there that we have not got to.
        """
        if now_ms < self._due_ms or now_ms >= self._end_ms:
            return now_ms
        if behind:
            return min(now_ms + AGAIN_MS, self._end_ms)
        left_ms = self._left_ms - max(0, now_ms - max(self._answered_ms, sent_ms))
        return min(now_ms + max(0, left_ms), self._end_ms)

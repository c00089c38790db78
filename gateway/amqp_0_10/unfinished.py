"""What of one connection is written in later flushes: large segments, and what is behind them.

A command's frames stand together on their channel, and all that is said of a session stands in the
order in which it was said: so whatever is written on the channel of a large segment, but for the
controls of the connection, goes behind it. Other channels' frames may come between.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.amqp_0_10._spec_constants import SegmentType

# The kinds of what has been cut into frames already: a message's, or all that is no message.
FRAMES: Final = -1
ANSWERS: Final = -2
# The command segment of a message is small: a large one is the result of a query.
_OF_ANSWERS: Final = (ANSWERS, int(SegmentType.COMMAND))


@final
class Rest:
    """What is left of a segment, from `at` on; or whole frames."""

    __slots__ = ("at", "flags", "kind", "octets")

    def __init__(self, octets: bytes, kind: int, flags: int, at: int) -> None:
        self.octets = octets
        self.kind = kind
        self.flags = flags
        self.at = at


@final
class Unfinished:
    """Those of all channels.

    Attributes:
        channels: what waits, of each; in the order in which they go on.
        kept: octets that are kept for it.
        behind: of these, octets of answers: large ones, and those that are behind large segments.
    """

    __slots__ = ("behind", "channels", "kept")

    def __init__(self) -> None:
        self.channels: dict[int, deque[Rest]] = {}
        self.kept = 0
        self.behind = 0

    def add(self, channel: int, rest: Rest) -> None:
        """It waits, behind what waits already."""
        waiting = self.channels.get(channel)
        if waiting is None:
            waiting = deque()
            self.channels[channel] = waiting
        waiting.append(rest)
        self.kept += len(rest.octets)
        if rest.kind in _OF_ANSWERS:
            self.behind += len(rest.octets)

    def take(self, channel: int) -> deque[Rest]:
        """What waits of one channel; it comes back with `put_back`."""
        return self.channels.pop(channel)

    def put_back(self, channel: int, waiting: deque[Rest]) -> None:
        """What waits still: before what has come to wait meanwhile, behind all other channels."""
        more = self.channels.pop(channel, None)
        if more is not None:
            waiting.extend(more)
        if waiting:
            self.channels[channel] = waiting

    def done(self, rest: Rest) -> None:
        """It has been written."""
        self.kept -= len(rest.octets)
        if rest.kind in _OF_ANSWERS:
            self.behind -= len(rest.octets)

    def clear(self) -> None:
        """Nothing is written any more."""
        self.channels = {}
        self.kept = 0
        self.behind = 0

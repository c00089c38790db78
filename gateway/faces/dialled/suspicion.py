"""What a relay makes of connections that the upstream breaks while messages of its are unsettled.

A message that brings the peer down brings it down each time that it is sent, and with it all that
others have at it. So, as long as no message has its outcome between two such ends, a relay waits
longer each time before it sends again, and sends one message at a time: the one that is alone under
way at several ends in a row is the reason. Ends that say nothing of a delivery (a shutdown,
silence) do not count.
"""

from __future__ import annotations

from typing import Final, final

from gateway.message import Delivery

ENDS_MAX: Final = 2  # so many in a row, and messages go one by one
ALONE_MAX: Final = 3  # at so many ends in a row a message was alone: it is the reason


@final
class Suspicion:
    """Of one relay.

    Attributes:
        ends: how many there were since a message had its outcome.
    """

    __slots__ = ("_suspect", "_times", "ends")

    def __init__(self) -> None:
        self.ends = 0
        self._suspect = 0
        self._times = 0

    @property
    def one_by_one(self) -> bool:
        """Whether only one message may be under way."""
        return self.ends >= ENDS_MAX

    def clear(self) -> None:
        """A message has its outcome."""
        self.ends = 0
        self._suspect = 0

    def on_broken(self, unsettled: list[Delivery]) -> bool:
        """The connection ended with these under way; whether the one there is is the reason."""
        self.ends += 1
        suspect = unsettled[0].message.id if len(unsettled) == 1 else 0
        self._times = self._times + 1 if suspect == self._suspect else 1
        self._suspect = suspect
        return suspect != 0 and self._times >= ALONE_MAX

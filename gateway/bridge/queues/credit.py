"""What a subscription may be sent: a number of messages and a number of octets.

Both count down as copies are sent; -1 is "unlimited". How a protocol's flow control becomes these
two numbers (0-10 windows, 1.0 link-credit) is the faces' affair.
"""

from __future__ import annotations

from typing import Final, final

UNLIMITED: Final = -1


@final
class Credit:
    """Remaining messages and octets of one subscription."""

    __slots__ = ("messages", "octets")

    def __init__(self) -> None:
        self.messages = 0
        self.octets = 0

    def set(self, messages: int, octets: int) -> None:
        """From now on this much, whatever it was."""
        self.messages = messages
        self.octets = octets

    def add(self, messages: int, octets: int) -> None:
        """So much more; `UNLIMITED` makes it unlimited, and unlimited stays so."""
        self.messages = _sum(self.messages, messages)
        self.octets = _sum(self.octets, octets)

    def some(self) -> bool:
        """Whether anything at all may be sent."""
        return self.messages != 0 and self.octets != 0

    def covers(self, size: int) -> bool:
        """Whether a message of `size` octets may be sent."""
        return self.messages != 0 and (self.octets == UNLIMITED or size <= self.octets)

    def spend(self, size: int) -> None:
        """One message of `size` octets, which `covers` allowed, was sent."""
        if self.messages > 0:
            self.messages -= 1
        if self.octets > 0:
            self.octets -= size


def _sum(have: int, more: int) -> int:
    return UNLIMITED if have == UNLIMITED or more == UNLIMITED else have + more

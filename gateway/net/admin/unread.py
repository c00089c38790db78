"""What has come on a connection to the admin port and is not looked at yet.

A request is its head, to the empty line, and its body, which is passed on as it comes. What is
behind it stays here until it is answered.
"""

from __future__ import annotations

from typing import Final, final

END: Final = b"\r\n\r\n"  # of a head
HEAD_MAX: Final = 16 * 1024


@final
class Unread:
    """That of one connection.

    Attributes:
        body_left: octets of a body that are still to come, or to be looked at.
    """

    __slots__ = ("_octets", "_searched", "body_left")

    def __init__(self) -> None:
        self._octets = bytearray()
        self._searched = 0  # there is no end of a head before that
        self.body_left = 0

    def __len__(self) -> int:
        """In octets."""
        return len(self._octets)

    def add(self, octets: bytes) -> None:
        """These have come."""
        self._octets += octets

    def clear(self) -> None:
        """Nobody will look at them."""
        self._octets.clear()
        self._searched = 0

    @property
    def ready(self) -> int:
        """How many octets are a whole head, or of the body; 0: none."""
        if self.body_left > 0:
            return min(self.body_left, len(self._octets))
        end = self._octets.find(END, self._searched)
        if end < 0:
            self._searched = max(0, len(self._octets) - len(END) + 1)
            return 0
        return end + len(END)

    @property
    def too_long(self) -> bool:
        """There is more than a head may have, and no end of it."""
        ready = self.ready
        return self.body_left == 0 and (ready or len(self._octets)) > HEAD_MAX

    def take(self) -> bytes:
        """What is ready."""
        octets = bytes(self._octets[: self.ready])
        del self._octets[: len(octets)]
        self._searched = 0
        self.body_left -= min(self.body_left, len(octets))
        return octets

"""How much is read of a connection at a time: less, where what comes is much to take apart.

What one read brings is taken apart at once, before any of it is carried out in shares (`agenda`).
Mostly that is little; lists and maps of very small values are 20 times as much work as other
octets. A connection that sends such is read in small pieces, until it sends something else.
"""

from __future__ import annotations

from typing import Final, Protocol, cast, final

from twisted.protocols.policies import ProtocolWrapper

from gateway.wire.work import SHARE

USUAL: Final = 64 * 1024  # octets of a read, which is Twisted's own
LITTLE: Final = 8 * 1024
COSTLY: Final = 2 * SHARE  # units of a read, of which a share is what was carried out
CHEAP: Final = SHARE // 16  # and of a little one that might as well be larger


class Buffered(Protocol):
    """What is used of a TCP transport of Twisted; TLS may be around it."""

    bufferSize: int


@final
class Reading:
    """That of one connection.

    Attributes:
        little: it is read in small pieces.
    """

    __slots__ = ("little",)

    def __init__(self) -> None:
        self.little = False

    def begin_little(self, transport: Buffered) -> None:
        """Whoever it is has not logged in: what comes by TLS is kept until it is opened."""
        self._read_at_most(transport, LITTLE)

    def has_cost(self, units: int, transport: Buffered) -> None:
        """A read was so much work."""
        if units > COSTLY and not self.little:
            self._read_at_most(transport, LITTLE)
        elif self.little and units < CHEAP:
            self._read_at_most(transport, USUAL)

    def _read_at_most(self, transport: Buffered, octets: int) -> None:
        self.little = octets == LITTLE
        read_at_most(transport, octets)


def read_at_most(transport: Buffered, octets: int) -> None:
    """From now on; above as much that is not written its producers are paused, too."""
    while isinstance(transport, ProtocolWrapper):  # TLS: it is not what reads
        transport = cast(Buffered, transport.transport)
    transport.bufferSize = octets

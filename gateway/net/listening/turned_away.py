"""The log's lines of connections that are turned away before they are anybody's.

Such a connection has no number yet, and no face that could tell of it. Whoever is turned away comes
again at once, so there is one line of an address and reason, and then another one every
`TOLD_EVERY_S` with how many more there were, as long as there are. Of very many addresses the last
are told of together.
"""

from __future__ import annotations

from typing import Final, final

from gateway.net.alarm import Later
from gateway.net.logs import NamedLogger

TOLD_EVERY_S: Final = 5
ADDRESSES: Final = 100  # of which there are lines of their own in that time, all reasons together
OTHERS: Final = "other addresses"
# Whatever else ends a connection so early is nobody's fault, or a port that somebody looks at.
WHY: Final = {
    "limit": "there are as many as limits.connections allows",
    "files": "there are as many as files may be open for",
    "address_limit": "it has as many as limits.connections_per_address allows",
    "timeout": "it did not say in time which protocol it speaks",
    "header": "it speaks no protocol of ours",
    "size": "it sent too much before TLS was up: a hello has 16 KiB, and so have certificates",
    "keys": "it renews the keys of TLS again and again, and says nothing",
    "proxy": "it is no proxy, and listen.proxy_protocol says that it is one",
}


@final
class TurnedAway:
    """Who was turned away lately, by address and reason, and how often since the last line."""

    log = NamedLogger("gateway.net.connections")

    def __init__(self, later: Later) -> None:
        self._later = later
        self._untold: dict[tuple[str, str], int] = {}

    def tell(self, address: str, reason: str, problem: str = "") -> None:
        """A connection was turned away; `reason` is one of `WHY`, or there is nothing to tell.

        `problem`: what was wrong with this very one.
        """
        if reason not in WHY:
            return
        source = (address, reason)
        if source not in self._untold and len(self._untold) >= ADDRESSES:
            source = (OTHERS, reason)
        if source in self._untold:
            self._untold[source] += 1
            return
        self.log.warn(
            "a connection from {address} was refused: {why}{problem}",
            address=source[0],
            why=WHY[reason],
            problem=f": {problem}" if problem else "",
        )
        self._look_later(source)

    def _look_later(self, source: tuple[str, str]) -> None:
        self._untold[source] = 0
        self._later.callLater(TOLD_EVERY_S, lambda: self._look(source))

    def _look(self, source: tuple[str, str]) -> None:
        number = self._untold.pop(source)
        if number == 0:
            return
        address, reason = source
        self.log.warn(
            "{number} more connections from {address} were refused in {seconds} seconds: {why}",
            number=number,
            address=address,
            seconds=TOLD_EVERY_S,
            why=WHY[reason],
        )
        self._look_later(source)

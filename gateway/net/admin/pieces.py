"""What an answer of the admin port is made of, gathered a piece a pass of the event loop.

There may be very many queues or connections, and whoever asks for them must not keep messages
waiting. All that is asked for at a time has one share of work a pass together. It goes on while the
disk refuses, too: it is not the bridge's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import final

from twisted.internet.defer import Deferred
from twisted.internet.task import Cooperator

from gateway.net.alarm import Later
from gateway.wire.work import SHARE, WORK


@final
class Pieces:
    """Goes through iterators, each `next` of which is work that counts itself in `WORK`."""

    def __init__(self, later: Later) -> None:
        self._cooperator = Cooperator(_share, lambda call: later.callLater(0, call))

    def gather(self, pieces: Iterator[object]) -> Deferred[Iterator[object]]:
        """Go through all of them; told when that is done, or what broke it off."""
        return self._cooperator.cooperate(pieces).whenDone()


def _share() -> Callable[[], bool]:
    """Of one pass: whether it is used up."""
    end = WORK.units + SHARE
    return lambda: WORK.units > end

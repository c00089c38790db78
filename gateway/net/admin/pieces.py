"""What the admin port does, in pieces: it looks at requests, and gathers what answers are made of.

There may be very many queues or connections, or requests, and whoever asks must not keep messages
waiting. All that is asked for at a time has one share of work a pass together, and all requests
that have come have one. It goes on while the disk refuses, too: it is not the bridge's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, final

from twisted.internet.defer import Deferred
from twisted.internet.task import Cooperator

from gateway.net.alarm import Later
from gateway.net.stalls import Stalls, Worker
from gateway.wire.work import SHARE, WORK

PIECE: Final = "request"  # as stalls are counted


@final
class Pieces:
    """Goes through iterators in turn, each `next` of which is work that counts itself in `WORK`.

    Args:
        stalls: hears how long each pass took.

    Attributes:
        last: for whom the last of it was.
    """

    def __init__(self, later: Later, stalls: Stalls | None = None) -> None:
        self.last: Worker = self
        self._stalls = stalls
        self._cooperator = Cooperator(
            _share, lambda call: later.callLater(0, partial(self._pass, call))
        )

    def gather(self, pieces: Iterator[object]) -> Deferred[Iterator[object]]:
        """Go through all of them; told when that is done, or what broke it off."""
        return self._cooperator.cooperate(pieces).whenDone()

    def who(self) -> str:
        """If nobody in particular: what answers are made of."""
        return "the admin port"

    def _pass(self, call: Callable[[], None]) -> None:
        if self._stalls is None:
            call()
            return
        began_ms = self._stalls.now_ms()
        call()
        self._stalls.over(began_ms, PIECE, self.last)


def _share() -> Callable[[], bool]:
    """Of one pass: whether it is used up."""
    end = WORK.units + SHARE
    return lambda: WORK.units > end

"""What is sent to an exchange waits until what is bound to it is subscribed.

That is so on each new connection, and where an exchange moves to: what was held back meanwhile is
for its bindings, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, final

from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import LookUpWaiter, Target
from gateway.faces.dialled.settings import UpstreamCounts
from gateway.message import Refusal


class Awaited(Protocol):
    """One binding's subscription."""

    def awaits(self, waiter: LookUpWaiter, token: int) -> bool:
        """Have `waiter` hear when it is made, or there is a problem; `False`: it is made."""


class Bound(Protocol):
    """All of them."""

    def of_exchange(self, host: str, exchange: str) -> Sequence[Awaited]:
        """Those of one exchange's bindings."""


class Held(Protocol):
    """What sends nothing meanwhile: a relay."""

    def resume(self) -> None:
        """Nothing is waited for any more."""


@final
class BindingsFirst:
    """Implements `LookUpWaiter`, for the relay of one queue."""

    __slots__ = ("_awaited", "_connection", "_counts", "_feeders", "_held", "_queue")

    def __init__(self, feeders: Bound, counts: UpstreamCounts, queue: Queue, held: Held) -> None:
        self._feeders = feeders
        self._counts = counts
        self._queue = queue
        self._held = held
        self._connection = 0  # which one was looked at last, of those that were made
        self._awaited = 0

    def waits(self) -> bool:
        """Whether to send nothing yet; `Held.resume` follows when that is over, within 5 s."""
        queue = self._queue
        if queue.target != Target.EXCHANGE:
            return False
        connection = self._counts.connections_made
        if self._connection != connection:
            self._connection = connection
            self._awaited = 0
            for feeder in self._feeders.of_exchange(queue.host, queue.name):
                if feeder.awaits(self, connection):
                    self._awaited += 1
        return self._awaited > 0

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """One binding is in force, or is not waited for any more."""
        if token == self._connection and self._awaited:
            self._awaited -= 1
            if self._awaited == 0:
                self._held.resume()

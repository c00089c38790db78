"""What is sent to an exchange waits until what is bound to it is subscribed there.

That is so on each new connection, and where an exchange moves to: what was held back meanwhile is
for its bindings, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import Target
from gateway.message import Refusal

if TYPE_CHECKING:
    from gateway.faces.upstream_1_0.sending.relay import Relay


@final
class BindingsFirst:
    """Implements `LookUpWaiter`, for the relay of one queue."""

    __slots__ = ("_awaited", "_connection", "_queue", "_relay")

    def __init__(self, relay: Relay, queue: Queue) -> None:
        self._relay = relay
        self._queue = queue
        self._connection = 0  # which one was looked at last, of those that were made
        self._awaited = 0

    def waits(self) -> bool:
        """Whether to send nothing yet; the relay is resumed when that is over, within 5 s."""
        queue = self._queue
        if queue.target != Target.EXCHANGE:
            return False
        upstream = self._relay.upstream
        connection = upstream.counts.connections_made
        if self._connection != connection:
            self._connection = connection
            self._awaited = 0
            for feeder in upstream.feeders_of(queue.host, queue.name):
                if feeder.awaits(self, connection):
                    self._awaited += 1
        return self._awaited > 0

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """As a `LookUpWaiter`: one binding is there, or is not waited for any more."""
        if token == self._connection and self._awaited:
            self._awaited -= 1
            if self._awaited == 0:
                self._relay.resume()

"""The bridge's side of a relay: the subscription to its queue, and what holds it up.

The queue offers one message after the other until one is not taken for now; then it waits for
`resume`, which anybody calls who sees credit, room, a link or an address again.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import DeliverStatus
from gateway.faces.dialled.context import DialledContext


@final
class Outflow:
    """Of one queue. Implements `Sleeper`, `bindings_first.Held`, `reply_nodes.Held`.

    Attributes:
        queue: what is sent comes from it.
        subscription: to that queue; `None` before the relay has begun, and when it is over.
        stopped: nothing more is to be sent; what is unsettled still gets its outcome.
        wait_until_ms: nothing is sent before that.
    """

    __slots__ = ("_blocked", "_upstream", "queue", "stopped", "subscription", "wait_until_ms")

    def __init__(self, upstream: DialledContext, queue: Queue) -> None:
        self._upstream = upstream
        self.queue = queue
        self.subscription: Subscription | None = None
        self.stopped = False
        self.wait_until_ms = 0
        self._blocked = False

    def idle(self) -> bool:
        """Nothing waits to be sent."""
        return self.queue.available == 0

    def block(self) -> DeliverStatus:
        """What was offered cannot be sent now."""
        self._blocked = True
        return DeliverStatus.BLOCKED

    def resume(self) -> None:
        """Perhaps it can be sent now."""
        subscription = self.subscription
        if self._blocked and subscription is not None:
            self._blocked = False
            subscription.resume()
            self._upstream.touch()

    def wait(self, wait_ms: int) -> None:
        """Send nothing for so long."""
        self.wait_until_ms = self._upstream.bridge.now_ms + wait_ms
        self._upstream.wake(self, self.wait_until_ms)

    def handle_deadline(self, now_ms: int) -> None:
        """That time is over."""
        self.resume()

    def note_link(self, address: str, connection: int) -> None:
        """A link by which it is sent is attached: the audit log learns where it leads to."""
        if self.subscription is not None:
            self._upstream.note_link(
                self.subscription.number, self.queue.node, address=address, connection=connection
            )

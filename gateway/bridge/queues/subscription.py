"""One outlet's claim on one queue: its credit, its place among the messages, its state.

The face that subscribed holds it and grants credit; the queue's `Line` sends.
A subscription never delivers by itself: every verb here only wakes the line, and deliveries come
from the end of the turn.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.bridge.queues.credit import UNLIMITED, Credit
from gateway.bridge.queues.latency import Run
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import Filter, Outlet, Owner, SubscribeOptions

__all__ = ["UNLIMITED", "Subscription"]

START: Final = 0


@final
class Walk:
    """Where a looker stands among the copies of one level of priority.

    Attributes:
        cursor: the first place that it has not passed.
        revisit: a heap of those before it where a copy is available again.
    """

    __slots__ = ("cursor", "revisit")

    def __init__(self) -> None:
        self.cursor: int = START
        self.revisit: list[int] = []

    def begin_again(self) -> None:
        """From the first place."""
        self.cursor = START
        self.revisit.clear()


class Wake(Protocol):
    """What a subscription tells of itself: the `Line` of its queue."""

    def wake(self, subscription: Subscription) -> None:
        """It may have become able to take deliveries, or is draining."""

    def halt(self, subscription: Subscription) -> None:
        """It was stopped."""

    def leave(self, subscription: Subscription) -> None:
        """It was cancelled."""


@final
class Subscription:
    """One outlet on one queue.

    Attributes:
        number: unique in this run of the gateway; `Delivery.subscription`.
        queue_name: the queue's name.
        acquire: takes messages (a consumer) rather than seeing copies of them (a browser).
        settled: what is sent is settled by that.
        exclusive: nobody else may subscribe while it lives.
        name: by which its owner subscribes again; "": by none.
        runs: how long what it settles had waited, by the `Encoding` of that.
        attaching: an upstream was asked for its node and has not answered (`Outlet.on_attached`).
        sent, unsettled: deliveries so far, and of them not ended; also after `cancel`.
        taken_back: those that ended with their queue, and that the face has not settled yet.
        kept: what is unsettled stays so, whatever becomes of the queue: it is a prepared branch's.
        walks: of a looker, by level of priority.
    """

    __slots__ = (
        "acquire",
        "active",
        "allowance",
        "attaching",
        "blocked",
        "cancelled",
        "draining",
        "exclusive",
        "filter",
        "kept",
        "line",
        "name",
        "number",
        "outlet",
        "owner",
        "queue",
        "queue_name",
        "runs",
        "sent",
        "settled",
        "taken_back",
        "unsettled",
        "walks",
    )

    def __init__(
        self,
        number: int,
        queue: Queue,
        outlet: Outlet,
        owner: Owner,
        line: Wake,
        options: SubscribeOptions,
        runs: list[Run],
    ) -> None:
        self.number = number
        self.queue = queue
        self.queue_name = queue.name
        self.outlet = outlet
        self.owner = owner
        self.line = line
        self.acquire = options.acquire and not queue.settings.discipline.browse_only
        self.exclusive = options.exclusive
        self.settled = options.settled
        self.name = options.name
        self.runs = runs
        self.filter: Filter | None = options.filter
        self.allowance = Credit()
        # Kept by the line: whether it is in the ring, and where a browser or a chooser stands.
        self.active = False
        levels = 1 if queue.bands is None else len(queue.bands.levels)
        self.walks = [Walk() for _ in range(levels)]
        self.blocked = False
        self.draining = False
        self.cancelled = False
        self.kept = False
        self.attaching = False
        self.sent = 0
        self.unsettled = 0
        self.taken_back = 0

    def is_settled(self) -> bool:
        """Whether the face has nothing of it to settle."""
        return self.unsettled == 0 and self.taken_back == 0

    @property
    def credit(self) -> int:
        """Messages that may still be sent; `UNLIMITED` is -1."""
        return self.allowance.messages

    def grant(self, messages: int, octets: int = UNLIMITED) -> None:
        """What may be sent *now*: absolute remaining credit, `UNLIMITED` (-1) for no bound."""
        self.allowance.set(messages, octets)
        self.line.wake(self)

    def add(self, messages: int, octets: int = 0) -> None:
        """So much more may be sent."""
        self.allowance.add(messages, octets)
        self.line.wake(self)

    def drain(self) -> None:
        """Send what there is within the credit, then credit 0 and `outlet.on_drained()`.

        Both happen at the end of this turn or, if the outlet blocks, of a later one.
        """
        self.draining = True
        self.line.wake(self)

    def stop(self) -> None:
        """Credit 0 at once; nothing is sent until the next grant. Ends a drain unanswered."""
        self.allowance.set(0, 0)
        self.draining = False
        self.line.halt(self)

    def resume(self) -> None:
        """The outlet that answered `BLOCKED` has room again."""
        self.blocked = False
        self.line.wake(self)

    def cancel(self) -> None:
        """No more deliveries; what is unsettled stays with the owner. Auto-delete is applied."""
        if not self.cancelled:
            self.cancelled = True
            self.line.leave(self)

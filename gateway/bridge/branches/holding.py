"""Deliveries that were accepted in a branch: they are the branch's, whoever they were sent to.

When a session ends its work in a branch, what it has accepted there goes over to a subscription
that is the branch's own, takes nothing, and lives until all of it is settled. So a branch needs
none of the sessions that worked in it, and what it holds is found, counted and given back like any
delivery. In the audit log that is `requeued(BRANCH)` and `sent` to the branch.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.numbers import Numbers
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import DeliverStatus, SubscribeOptions
from gateway.bridge.settlement import Settlement
from gateway.message import Condition, Delivery, Encoding, Refusal
from gateway.wire.work import COPY, WORK

NOBODY: Final = 0


@final
class Holder:
    """Whose such subscriptions are. Implements `Outlet`, `Owner`, and `Wake`: it takes nothing."""

    __slots__ = ("_number", "_user")

    def __init__(self, number: int, user: str) -> None:
        self._number = number
        self._user = user

    def owner_id(self) -> int:
        """See `Owner`."""
        return self._number

    def connection_id(self) -> int:
        """See `Owner`."""
        return NOBODY

    def user(self) -> str:
        """See `Owner`."""
        return self._user

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """See `Outlet`."""
        return DeliverStatus.BLOCKED

    def refusal(self) -> Refusal:
        """See `Outlet`."""
        return Refusal(Condition.INTERNAL_ERROR, "nothing is sent to a branch")

    def on_attached(self) -> None:
        """See `Outlet`."""

    def on_drained(self) -> None:
        """See `Outlet`."""

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """See `Outlet`."""

    def wake(self, subscription: Subscription) -> None:
        """See `Wake`."""

    def halt(self, subscription: Subscription) -> None:
        """See `Wake`."""

    def leave(self, subscription: Subscription) -> None:
        """See `Wake`."""


@final
class Holding:
    """Takes over for one branch, once: by queue, each in the order of its places."""

    __slots__ = ("_by_queue", "_holder", "_numbers", "_settlement")

    def __init__(self, settlement: Settlement, numbers: Numbers, user: str) -> None:
        self._settlement = settlement
        self._numbers = numbers
        self._holder = Holder(numbers.next_owner(), user)
        self._by_queue: dict[int, Subscription] = {}

    def take_over(self, deliveries: list[Delivery]) -> list[Delivery]:
        """What the branch has of these from now on; without those that had ended before."""
        WORK.units += COPY * len(deliveries)
        taken: list[Delivery] = []
        for delivery in sorted(deliveries, key=_place):
            queue = self._settlement.queue_of(delivery)
            made = self._settlement.hand_over(delivery, self._of(queue))
            if made is not None:
                taken.append(made)
        self._end()
        return taken

    def hold(self, queue: Queue, entries: list[Entry]) -> list[Delivery]:
        """What the branch had of a recovered queue before the restart."""
        held = [self._settlement.hold_again(queue, entry, self._of(queue)) for entry in entries]
        self._end()
        return held

    def _of(self, queue: Queue) -> Subscription:
        found = self._by_queue.get(queue.number)
        if found is None:
            number, holder = self._numbers.next_link(), self._holder
            runs = self._settlement.waits_of(queue, Encoding.AMQP_0_10)
            options = SubscribeOptions()
            found = Subscription(number, queue, holder, holder, holder, options, runs)
            found.cancelled = True
            self._by_queue[queue.number] = found
            self._settlement.begin_holding(found)
        return found

    def _end(self) -> None:
        """Nothing more comes: those that got nothing are over."""
        for subscription in self._by_queue.values():
            if subscription.is_settled():
                self._settlement.forget_link(subscription)
        self._by_queue.clear()


def _place(delivery: Delivery) -> tuple[int, int]:
    return delivery.queue, delivery.position

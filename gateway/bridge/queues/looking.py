"""How a looker walks its queue: by a cursor of its own, and back to what was given back behind it.

A subscription's cursor is the first place that it has not passed; `revisit` is a heap of those
before it where a copy is available again.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.places import AVAILABLE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.message import NEVER
from gateway.wire.work import LOOK

REBUILD_SLACK: Final = 64


def look(dispatcher: Dispatcher, queue: Queue, subscription: Subscription) -> Entry | None:
    """The next copy that suits `subscription`, from where it stands; spends budget."""
    places = queue.places
    while dispatcher.budget > 0:
        back = len(subscription.revisit) > 0
        if back:
            entry = places.get(subscription.revisit[0])
        else:
            entry = places.next_at(subscription.cursor)
            if entry is None:
                return None
        suits = entry is not None and _suits(subscription, entry)
        if subscription.filter is not None:
            dispatcher.spend(LOOK)
        if entry is not None and suits:
            if not over(dispatcher, entry):
                if not back:
                    subscription.cursor = entry.position
                return entry
            dispatcher.copies.expire(queue, entry)
        dispatcher.budget -= 1
        if back:
            heappop(subscription.revisit)
        elif entry is not None:
            subscription.cursor = entry.position + 1
    return None


def _suits(subscription: Subscription, entry: Entry) -> bool:
    if entry.holder != AVAILABLE:
        return False
    if (
        subscription.acquire
        and entry.excluded is not None
        and subscription.number in entry.excluded
    ):
        return False
    return subscription.filter is None or subscription.filter.accepts(entry.message)


def over(dispatcher: Dispatcher, entry: Entry) -> bool:
    """Whether its time to live is over."""
    expires_ms = entry.message.expires_ms
    return expires_ms != NEVER and expires_ms <= dispatcher.copies.ledger.now_ms


def look_back(queue: Queue, subscription: Subscription, position: int) -> None:
    """A copy that it may have passed is available again."""
    revisit = subscription.revisit
    heappush(revisit, position)
    if len(revisit) > 2 * queue.depth + REBUILD_SLACK:
        subscription.revisit = list(set(revisit))
        heapify(subscription.revisit)


def go_on(subscription: Subscription, entry: Entry) -> None:
    """A looker is done with the copy that `look` found."""
    revisit = subscription.revisit
    if revisit and revisit[0] == entry.position:
        heappop(revisit)
    elif entry.position >= subscription.cursor:
        subscription.cursor = entry.position + 1

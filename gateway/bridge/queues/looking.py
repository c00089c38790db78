"""How a looker walks its queue: by a cursor of its own, and back to what was given back behind it.

Of a queue with priorities it has one in each level, and looks at levels as they have their turn.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.places import AVAILABLE, NO_PAGE, PAGE_BITS, Entry, Places
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription, Walk
from gateway.message import NEVER
from gateway.wire.work import LOOK

REBUILD_SLACK: Final = 64


def look(dispatcher: Dispatcher, queue: Queue, subscription: Subscription) -> Entry | None:
    """The next copy that suits `subscription`, from where it stands; spends budget."""
    bands = queue.bands
    if bands is None:
        return _look_through(dispatcher, queue, queue.places, subscription, subscription.walks[0])
    for level in bands.order():
        dispatcher.spend(LOOK)
        places = bands.levels[level].places
        places.missed = NO_PAGE
        walk = _walk_of(subscription, level)
        entry = _look_through(dispatcher, queue, places, subscription, walk)
        if entry is not None:
            return entry
        if places.missed != NO_PAGE:
            queue.places.missed = places.missed
            return None
    return None


def _look_through(
    dispatcher: Dispatcher, queue: Queue, places: Places, subscription: Subscription, walk: Walk
) -> Entry | None:
    while dispatcher.budget > 0:
        back = len(walk.revisit) > 0
        if back:
            entry = places.get(walk.revisit[0])
            if entry is None and places.is_away(walk.revisit[0]):
                places.missed = walk.revisit[0] >> PAGE_BITS
                return None
        else:
            entry = places.next_at(walk.cursor)
            if entry is None:
                if places.missed != NO_PAGE:  # there is nothing in front of that page
                    walk.cursor = max(walk.cursor, places.missed << PAGE_BITS)
                return None
        suits = entry is not None and _suits(queue, subscription, entry)
        if subscription.filter is not None:
            dispatcher.spend(LOOK)
        if entry is not None and suits:
            if not over(dispatcher, entry):
                if not back:
                    walk.cursor = entry.position
                return entry
            dispatcher.copies.expire(queue, entry)
        dispatcher.budget -= 1
        if back:
            heappop(walk.revisit)
        elif entry is not None:
            walk.cursor = entry.position + 1
    return None


def look_again(subscription: Subscription, position: int) -> None:
    """From there on copies may be had whose groups others had."""
    for walk in subscription.walks:
        walk.cursor = min(walk.cursor, position)


def _suits(queue: Queue, subscription: Subscription, entry: Entry) -> bool:
    if entry.holder != AVAILABLE:
        return False
    groups = queue.groups
    if (
        groups is not None
        and subscription.acquire
        and not groups.allows(entry, subscription.number)
    ):
        return False
    excluded = entry.excluded
    if excluded is not None and subscription.acquire:
        owner = subscription.owner.owner_id()
        if subscription.number in excluded or -owner in excluded:
            return False
    return subscription.filter is None or subscription.filter.accepts(entry.message)


def over(dispatcher: Dispatcher, entry: Entry) -> bool:
    """Whether its time to live is over."""
    expires_ms = entry.message.expires_ms
    return expires_ms != NEVER and expires_ms <= dispatcher.copies.ledger.now_ms


def look_back(queue: Queue, subscription: Subscription, entry: Entry) -> None:
    """A copy that it may have passed is available again."""
    walk = _walk(queue, subscription, entry)
    if entry.position >= walk.cursor:
        return
    heappush(walk.revisit, entry.position)
    if len(walk.revisit) > 2 * queue.depth + REBUILD_SLACK:
        walk.revisit = list(set(walk.revisit))
        heapify(walk.revisit)


def go_on(queue: Queue, subscription: Subscription, entry: Entry) -> None:
    """A looker is done with the copy that `look` found."""
    walk = _walk(queue, subscription, entry)
    if walk.revisit and walk.revisit[0] == entry.position:
        heappop(walk.revisit)
    elif entry.position >= walk.cursor:
        walk.cursor = entry.position + 1


def _walk(queue: Queue, subscription: Subscription, entry: Entry) -> Walk:
    if queue.bands is None:
        return subscription.walks[0]
    return _walk_of(subscription, queue.bands.level_of(entry.message))


def _walk_of(subscription: Subscription, level: int) -> Walk:
    """That in one level; a queue may have got levels since the subscription began."""
    walks = subscription.walks
    while len(walks) <= level:
        walks.append(Walk())
    return walks[level]

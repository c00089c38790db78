"""Durable subscriptions of 1.0 clients: whose they are, and the queues that collect for them.

A queue is a subscription because it was made as one, which its row says: never because of its name,
which anybody may give to a queue. So nothing that was declared otherwise is rebound, emptied or
deleted here, and no other user reaches a subscription, by whatever verb (`refusals.locked`).

Versions before this one made such queues by name alone, and did not write down which they were. One
of those becomes a subscription when the first user who attaches asks for exactly what it is bound
to, so that nothing need be changed, or when an operator says so.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.declaring import Declaring
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.queue import Queue
from gateway.bridge.refusals import not_found
from gateway.bridge.seams import Owner, QueueSettings, Subscriber
from gateway.bridge.topology import Topology
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged

PREFIX: Final = "subscription"
NOBODY: Final = "anonymous"  # clients without a login, in a queue's name
NUMBER_OCTETS: Final = 8  # "~" and what tells apart those who would have one name
TOLD_MAX: Final = 300  # characters of a name, in the audit log


@final
class DurableSubscriptions:
    """Those of one virtual host."""

    __slots__ = ("_declaring", "_name_max", "_topology")

    def __init__(self, topology: Topology, declaring: Declaring, limits: BridgeLimits) -> None:
        self._topology = topology
        self._declaring = declaring
        self._name_max = limits.name_max

    def find(self, subscriber: Subscriber) -> Queue | None:
        """The queue of a subscription that there is."""
        return self._topology.subscribed.get(subscriber.key())

    def make(self, name: str, subscriber: Subscriber, owner: Owner) -> Queue | Refusal:
        """A new one by a free name, not bound to anything yet. Refused as a declare is."""
        settings = QueueSettings(durable=True, subscriber=subscriber)
        return self._declaring.make_queue(name, settings, owner)

    def free_name(self, subscriber: Subscriber) -> str:
        """A queue's name for operators to read; cut short, or numbered where it is taken."""
        user = subscriber.user or NOBODY
        name = f"{PREFIX}.{user}.{subscriber.container}.{subscriber.link}".replace("/", "_")
        octets = name.encode()
        if len(octets) > self._name_max - NUMBER_OCTETS:
            name = octets[: self._name_max - NUMBER_OCTETS].decode("utf-8", "ignore")
        free, number = name, 1
        while free in self._topology.queues or free in self._topology.exchanges:
            number += 1
            free = f"{name}~{number}"
        return free

    # Queues of versions that did not mark them.

    def old(
        self, subscriber: Subscriber, exchange: str, key: str, arguments: dict[str, Tagged]
    ) -> Queue | None:
        """A queue that was made for this container and link, and for nothing but this binding."""
        name = f"{subscriber.container}.{subscriber.link}".replace("/", "_")
        queue = self._topology.queues.get(name)
        if queue is None or not may_be_old(queue) or queue.users.subscriptions:
            return None
        if queue.bound_to() != [(exchange, key)]:
            return None
        binding = self._topology.exchanges[exchange].bindings[name][key]
        return queue if binding.arguments == arguments and binding.owners is None else None

    def give(self, queue: Queue, subscriber: Subscriber) -> None:
        """From now on the queue is this subscriber's, which the store and the audit log know."""
        topology = self._topology
        settings = queue.settings
        whose = f"{_told(subscriber)}; before: {_told(settings.subscriber)}"
        if settings.subscriber is not None:
            topology.subscribed.pop(settings.subscriber.key(), None)
        settings.subscriber = subscriber
        settings.unmarked = False
        queue.by_name = []
        topology.subscribed[subscriber.key()] = queue
        topology.rows.store_queue(queue)
        topology.names.record(Reason.ASSIGNED, queue.node, 0, settings.durable, whose=whose)

    def assign(self, name: str, subscriber: Subscriber) -> Refusal | None:
        """An operator says whose the subscription is that the queue `name` collects for.

        It is one already, or may be one of an older version. Refused: not-found, not-allowed (any
        other queue), resource-locked (it is used now, or the subscriber has one of that name).
        """
        queue = self._topology.queues.get(name)
        if queue is None:
            return not_found("queue", name)
        if queue.settings.subscriber is None and not may_be_old(queue):
            return Refusal(Condition.NOT_ALLOWED, f"queue {name!r} was not made for a subscription")
        if queue.users.subscriptions:
            return Refusal(Condition.RESOURCE_LOCKED, f"queue {name!r} has subscriptions now")
        found = self.find(subscriber)
        if found is not None and found is not queue:
            text = f"that subscriber has the queue {found.name!r}"
            return Refusal(Condition.RESOURCE_LOCKED, text)
        self.give(queue, subscriber)
        return None


def _told(subscriber: Subscriber | None) -> str:
    """Who it is, for the audit log, which cannot be made to say anything else by its parts."""
    if subscriber is None:
        return "nobody"
    user = f"user {subscriber.user!r}" if subscriber.user else "clients without a login"
    parts = f"container {subscriber.container[:TOLD_MAX]!r}, link {subscriber.link[:TOLD_MAX]!r}"
    return f"{user}, {parts}"


def may_be_old(queue: Queue) -> bool:
    """Whether a version that marked no queues may have made it for a durable subscription.

    It was bound to an exchange, and made as all of those were.
    """
    settings = queue.settings
    plain = not (
        settings.exclusive
        or settings.auto_delete
        or settings.alternate_exchange
        or settings.arguments
        or settings.max_count
        or settings.max_size
    )
    local = queue.placement is None and queue.owner is None and not queue.transit
    return settings.unmarked and settings.durable and plain and local and bool(queue.bindings)

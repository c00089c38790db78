"""What the sessions and connections of a host own, and how queues end that nobody uses any more.

A subscription is its owner's, and so is an exclusive queue, for the owner's life. Who ends takes
them along, its queues over several turns if they are very many; an auto-delete queue goes with its
last user.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.numbers import Numbers
from gateway.bridge.queues.discipline import Life
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import Owner
from gateway.bridge.settlement import Settlement
from gateway.bridge.spread.clearing import EVERYBODY
from gateway.bridge.topology import QUEUE, Topology
from gateway.message import NEVER, Condition
from gateway.wire.work import COMMAND, LINK, WORK


@final
class Owned:
    """What hangs on one owner: subscriptions by number, exclusive queues by number."""

    __slots__ = ("queues", "subscriptions")

    def __init__(self) -> None:
        self.subscriptions: dict[int, Subscription] = {}
        self.queues: dict[int, Queue] = {}


@final
class Departure:
    """The exclusive queues of an owner that has ended. Implements `Piecework`."""

    __slots__ = ("_owners", "number", "queues")

    def __init__(self, owners: Owners, number: int, queues: dict[int, Queue]) -> None:
        self._owners = owners
        self.number = number
        self.queues = queues

    def who(self) -> str:
        """See `Piecework`."""
        return "queues that go with a session or connection"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        while self.queues:
            if WORK.units > end:
                return False
            self._owners.disown(self.queues.popitem()[1])
        self._owners.on_departed(self)
        return True


@final
class Unneeded:
    """A queue that is over since nothing is in it any more. Implements `Piecework`.

    Not as soon as the last copy leaves: whoever takes it out may not be done with the queue.
    """

    __slots__ = ("_owners", "_queue")

    def __init__(self, owners: Owners, queue: Queue) -> None:
        self._owners = owners
        self._queue = queue

    def who(self) -> str:
        """See `Piecework`."""
        return f"queue {self._queue.name!r}, which is deleted when it is empty"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        self._owners.delete_unused(self._queue)
        return True


@final
class Owners:
    """What each owner has, by owner id. Implements `Emptied`."""

    __slots__ = (
        "_copies",
        "_departing",
        "_numbers",
        "_owned",
        "_settlement",
        "_topology",
    )

    def __init__(
        self,
        topology: Topology,
        dispatcher: Dispatcher,
        numbers: Numbers,
        settlement: Settlement,
    ) -> None:
        self._topology = topology
        self._copies = dispatcher.copies
        self._numbers = numbers
        self._settlement = settlement
        self._owned: dict[int, Owned] = {}
        self._departing: dict[int, Departure] = {}

    def subscribed(self, subscription: Subscription) -> None:
        """It is its owner's."""
        self._owned_by(subscription.owner).subscriptions[subscription.number] = subscription

    def give(self, queue: Queue, owner: Owner) -> None:
        """An exclusive queue is `owner`'s, for its life."""
        queue.owner = owner
        queue.users.delete_at_ms = NEVER
        self._owned_by(owner).queues[queue.number] = queue

    def release(self, owner: Owner) -> None:
        """A session or connection ended: its subscriptions, scoped bindings, exclusive queues.

        The face settles what is unsettled first (`MODIFIED_FAILED`).
        """
        self._topology.bindings.end_scope(owner)
        owned = self._owned.get(owner.owner_id())
        if owned is None:
            return
        WORK.units += LINK * len(owned.subscriptions)
        for subscription in list(owned.subscriptions.values()):
            subscription.cancel()
        number = owner.owner_id()
        self._owned.pop(number, None)
        if owned.queues:
            departure = Departure(self, number, owned.queues)
            self._departing[number] = departure
            self._copies.turns.spread.begin(departure)

    def disown(self, queue: Queue) -> None:
        """Its owner is gone: nobody has it any more."""
        WORK.units += COMMAND
        queue.owner = None
        if queue.settings.auto_delete and not queue.deleted:
            self.delete_unused(queue)

    def on_departed(self, departure: Departure) -> None:
        """An owner that has ended has no queues any more."""
        self._departing.pop(departure.number, None)

    def has_left(self, queue: Queue) -> bool:
        """Whether the owner of `queue` has ended, and it was not its turn: now it was."""
        if queue.owner is None or not self._departing:
            return False
        departure = self._departing.get(queue.owner.owner_id())
        if departure is None or departure.queues.pop(queue.number, None) is None:
            return False
        self.disown(queue)
        return True

    def left(self, subscription: Subscription) -> None:
        """It is no longer its owner's."""
        owner_id = subscription.owner.owner_id()
        owned = self._owned.get(owner_id)
        if owned is not None:
            owned.subscriptions.pop(subscription.number, None)
            if not owned.subscriptions and not owned.queues:
                del self._owned[owner_id]

    def on_deadline(self, queue: Queue, now_ms: int) -> None:
        """The time that `Deadlines` had for `queue` has come."""
        users = queue.users
        if queue.deleted or users.delete_at_ms == NEVER:
            return
        if users.delete_at_ms > now_ms:
            self._copies.deadlines.arm(queue, users.delete_at_ms)
        elif self._is_over(queue):
            self.delete(queue)
        else:
            users.delete_at_ms = NEVER  # what came meanwhile keeps it

    def delete_unused(self, queue: Queue) -> None:
        """An auto-delete queue has lost its last user, or its last copy, perhaps."""
        if not self._is_over(queue):
            return
        timeout_ms = queue.settings.auto_delete_timeout_ms
        if timeout_ms == 0:
            self.delete(queue)
            return
        queue.users.delete_at_ms = self._copies.ledger.now_ms + timeout_ms
        self._copies.deadlines.arm(queue, queue.users.delete_at_ms)

    def attend(self, queue: Queue) -> None:
        """A queue is made, or back: whether it is over may hang on its copies."""
        settings = queue.settings
        if settings.auto_delete and settings.life != Life.UNUSED:
            queue.emptied = self

    def on_empty(self, queue: Queue) -> None:
        """See `Emptied`."""
        if self._is_over(queue):
            self._copies.turns.spread.put_off(Unneeded(self, queue))

    def _is_over(self, queue: Queue) -> bool:
        """Whether nothing keeps a queue that deletes itself.

        An exclusive one is kept by its owner (0-10 queue.declare, auto-delete), unless closing
        ends it; one that was not declared so, but that somebody has for a link, goes with the link.
        """
        settings = queue.settings
        if queue.deleted or queue.users.subscriptions:
            return False
        if settings.life == Life.CLOSED:
            return True
        if queue.owner is not None and settings.exclusive:
            return False
        return settings.life == Life.UNUSED or queue.places.count == 0

    def delete(self, queue: Queue, spared: int = EVERYBODY) -> None:
        """Delete it: its name, its subscriptions, and what is in it (`settlement`).

        `spared`: see `Settlement.abandon`.
        """
        line = self._topology.lines[queue.number]
        queue.users.links += 1  # for the last of its subscriptions may be the last that needs it
        if queue.owner is not None:
            owned = self._owned.get(queue.owner.owner_id())
            if owned is not None:
                owned.queues.pop(queue.number, None)
            queue.owner = None
        self._topology.remove_queue(queue)
        self._numbers.queue_deleted(queue.next_position)
        # First those who have some, as far as they end for it: so what is in it goes in its order.
        line.cancel_all(Condition.RESOURCE_DELETED, f"queue {queue.name!r} was deleted")
        self._settlement.abandon(queue, spared)
        self._topology.senders.on_deleted(QUEUE, queue.name)
        self._settlement.let_go(queue)

    def _owned_by(self, owner: Owner) -> Owned:
        owner_id = owner.owner_id()
        owned = self._owned.get(owner_id)
        if owned is None:
            owned = Owned()
            self._owned[owner_id] = owned
        return owned

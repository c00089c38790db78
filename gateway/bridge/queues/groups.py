"""Copies in groups: each group is one subscription's at a time.

Whoever acquires a copy of a group has the group, until nothing of it is acquired any more; who has
cancelled, and subscribes again by the same name, has it still. A group
that is free stands in a heap by its first copy that nobody holds, one that is not in a heap of its
owner's; what has changed since is passed over when it comes up, so that every step costs the
logarithm of the groups at most.

Of a copy whose page is away the group and the place are known: nobody holds it. Who comes to one
finds `None`, and its page in `Places.missed`.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

from gateway.audit.digests import digest
from gateway.bridge.queues.keys import key_of
from gateway.bridge.queues.places import AVAILABLE, NO_PAGE, PAGE_BITS, Entry, Places
from gateway.message import Message

NOBODY: Final = 0
LANES: Final = 0x7FFFFFFF
SLACK: Final = 64
NO_POSITION: Final = -1


@final
class Group:
    """One group.

    Attributes:
        owner: the subscription that has it, or `NOBODY`.
        held: copies of it that are acquired; `count`: all of them.
        lane: by which the audit log tells it from others.
        waiting: copies that were never acquired so far, and some that have gone since; `returned`:
            a heap of what was given back, the same.
    """

    __slots__ = ("_from", "_places", "count", "held", "key", "lane", "owner", "returned", "waiting")

    def __init__(self, key: str, places: Places) -> None:
        self.key = key
        self.lane = digest(key.encode()) & LANES or 1
        self.owner: int = NOBODY
        self.held = 0
        self.count = 0
        self._places = places
        self.waiting: list[int] = []  # no deque: most groups have few copies
        self._from = 0  # what is in front of it has gone
        self.returned: list[int] = []

    def append(self, position: int) -> None:
        """A copy behind all others."""
        self.waiting.append(position)
        if len(self.waiting) > 2 * self.count + SLACK:
            self.waiting = [each for each in self.waiting[self._from :] if self._is_free(each)]
            self._from = 0

    def give_back(self, position: int) -> None:
        """Nobody holds it any more."""
        heappush(self.returned, position)
        if len(self.returned) > 2 * self.count + SLACK:
            self.returned = sorted(set(self.returned))

    def first(self) -> int:
        """Where the first copy is that nobody holds, or `NO_POSITION`."""
        returned = self.returned
        while returned and not self._is_free(returned[0]):
            heappop(returned)
        found = returned[0] if returned else NO_POSITION
        waiting = self.waiting
        while self._from < len(waiting):
            position = waiting[self._from]
            if self._is_free(position):
                return position if found == NO_POSITION else min(position, found)
            self._from += 1
        waiting.clear()
        self._from = 0
        return found

    def _is_free(self, position: int) -> bool:
        """Whether a copy is there, and nobody holds it."""
        entry = self._places.get(position)
        return self._places.holds(position) if entry is None else entry.holder == AVAILABLE


Heap = list[tuple[int, str]]  # of the first copy's position, and the key


@final
class Groups:
    """Those of one queue.

    Attributes:
        groups: by key.
        ready: subscriptions that have a group of which there is something that nobody holds; and
            perhaps some of which that was so.
        freed: the least position of a copy whose group has become free since `take_freed`.
        away: subscriptions whose next copies, of groups that they have, are on disk.
    """

    __slots__ = (
        "_default",
        "_free",
        "_header",
        "_keys",
        "_left",
        "_names",
        "_of",
        "_owned",
        "_places",
        "away",
        "freed",
        "groups",
        "ready",
    )

    def __init__(self, header: str, default: str, places: Places) -> None:
        self._header = header
        self._default = default
        self._places = places
        self.groups: dict[str, Group] = {}
        self._of: dict[int, Group] = {}
        self._free: Heap = []
        self._owned: dict[int, Heap] = {}
        self._keys: dict[int, dict[str, None]] = {}  # of the groups that each subscription has
        self._left: dict[tuple[int, str], int] = {}  # those that were cancelled and have some still
        self._names: dict[int, tuple[int, str]] = {}  # theirs
        self.ready: dict[int, None] = {}
        self.away: dict[int, None] = {}
        self.freed: int | None = None

    def key_of(self, message: Message) -> str:
        """Which group it is of."""
        return key_of(message, self._header) or self._default

    def lane_of(self, entry: Entry) -> int:
        """Which lane of the queue a copy is in."""
        return self._of[entry.position].lane

    def allows(self, entry: Entry, subscription: int) -> bool:
        """Whether nobody else has its group."""
        return self._of[entry.position].owner in (NOBODY, subscription)

    def owner_of(self, message: Message) -> int:
        """Who has the group that it would be of."""
        group = self.groups.get(self.key_of(message))
        return NOBODY if group is None else group.owner

    def put(self, entry: Entry) -> None:
        """A copy behind all others."""
        key = self.key_of(entry.message)
        group = self.groups.get(key)
        if group is None:
            group = Group(key, self._places)
            self.groups[key] = group
        self._of[entry.position] = group
        group.count += 1
        group.append(entry.position)
        self._offer(group)

    def hold(self, entry: Entry, subscription: int) -> None:
        """A subscription has acquired it, and so has its group."""
        group = self._of[entry.position]
        group.held += 1
        if group.owner != subscription:
            self._give(group, subscription)
        self._offer(group)

    def give_back(self, entry: Entry) -> None:
        """Nobody holds it any more."""
        group = self._of[entry.position]
        group.give_back(entry.position)
        self._let_go(group)

    def remove(self, entry: Entry) -> None:
        """A copy leaves, which may be held."""
        self._remove(entry.position, held=entry.holder != AVAILABLE)

    def lose(self, position: int) -> None:
        """A copy that was on disk is lost."""
        self._remove(position, held=False)

    def _remove(self, position: int, *, held: bool) -> None:
        group = self._of.pop(position)
        group.count -= 1
        if group.count == 0:
            del self.groups[group.key]
            self._give(group, NOBODY)
        elif held:
            self._let_go(group)
        else:
            self._offer(group)

    def peek_free(self) -> Entry | None:
        """The first copy of the groups that nobody has; `None`, too, if it is on disk."""
        return self._here(self._peek(self._free, NOBODY))

    def peek_owned(self, subscription: int) -> Entry | None:
        """The first copy, that nobody holds, of the groups that a subscription has; as above."""
        return self._here(self._peek_owned(subscription))

    def _peek_owned(self, subscription: int) -> int:
        heap = self._owned.get(subscription)
        if heap is None:
            return NO_POSITION
        position = self._peek(heap, subscription)
        if position == NO_POSITION:
            del self._owned[subscription]
        return position

    def _here(self, position: int) -> Entry | None:
        """What is there, unless it is on disk."""
        places = self._places
        places.missed = NO_PAGE
        if position == NO_POSITION:
            return None
        entry = places.get(position)
        if entry is None:
            places.missed = position >> PAGE_BITS
        return entry

    def come(self) -> None:
        """A page has come: whoever waits for one has a turn."""
        self.ready.update(self.away)
        self.away.clear()

    def leave(self, subscription: int, owner: int, name: str) -> None:
        """It is cancelled: `owner` may subscribe again by that name while it has groups still."""
        if subscription in self._keys:
            self._left[owner, name] = subscription
            self._names[subscription] = owner, name

    def join(self, subscription: int, owner: int, name: str) -> None:
        """It has the groups that one of that name has still, which `owner` has cancelled."""
        older = self._left.get((owner, name), NOBODY)
        self._owned.pop(older, None)
        for key in list(self._keys.get(older, ())):
            group = self.groups[key]
            self._give(group, subscription)
            self._offer(group)

    def _give(self, group: Group, subscription: int) -> None:
        """A group changes hands."""
        if group.owner != NOBODY:
            keys = self._keys[group.owner]
            del keys[group.key]
            if not keys:
                del self._keys[group.owner]
                name = self._names.pop(group.owner, None)
                if name is not None and self._left.get(name) == group.owner:
                    del self._left[name]
        group.owner = subscription
        if subscription != NOBODY:
            self._keys.setdefault(subscription, {})[group.key] = None

    def take_freed(self) -> int | None:
        """From where copies may be had that others had the group of; once."""
        freed = self.freed
        self.freed = None
        return freed

    def _let_go(self, group: Group) -> None:
        group.held -= 1
        if group.held == 0:
            owner = group.owner
            self._give(group, NOBODY)
            self._peek_owned(owner)  # which forgets one that has nothing any more
            first = group.first()
            if first != NO_POSITION and (self.freed is None or first < self.freed):
                self.freed = first
        self._offer(group)

    def _offer(self, group: Group) -> None:
        """It has changed: where it stands, by its first copy that nobody holds."""
        first = group.first()
        if first == NO_POSITION:
            return
        if group.owner == NOBODY:
            heap = self._free
        else:
            self.ready[group.owner] = None
            heap = self._owned.setdefault(group.owner, [])
        heappush(heap, (first, group.key))
        if len(heap) > 2 * len(self.groups) + SLACK:
            self._clean(heap, group.owner)

    def _peek(self, heap: Heap, owner: int) -> int:
        """Where the first copy of the groups is that stand there, or `NO_POSITION`."""
        while heap:
            if self._is_so(heap[0], owner):
                return heap[0][0]
            heappop(heap)
        return NO_POSITION

    def _is_so(self, item: tuple[int, str], owner: int) -> bool:
        """Whether a group still stands there by that copy."""
        group = self.groups.get(item[1])
        return group is not None and group.owner == owner and group.first() == item[0]

    def _clean(self, heap: Heap, owner: int) -> None:
        kept = {item for item in heap if self._is_so(item, owner)}
        heap[:] = list(kept)
        heapify(heap)

"""What a copy that came in takes the place of: the older of its key, and whatever a ring lets go.

A ring lets copies go when the newcomer is in, so that this goes itself where all others come before
it. Whoever has all that are to go before it is left with the newer ones: the oldest are taken back,
as qpidd has it. What goes is sent on to the alternate exchange, if the queue has one; where it
enters rings again, others go in turn, up to `HOPS`, and as long as that is not too much for one
verb. What is beyond that leaves for good; and what a ring lets go does not come back to it, so that
rings that lead to one another keep what is newest.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from mypy_extensions import i64 as int64

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.bands import FILE
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import AVAILABLE, NO_PAGE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.spread.entering import FEW
from gateway.bridge.spread.rerouting import NO_END, Rerouting
from gateway.wire.work import COPY, SHARE, VERB, WORK

HOPS: Final = 32  # of rings whose alternates lead to one another
NOBODY: Final = 0  # an owner that there is not


class Taking(Protocol):
    """Who knows who has a copy: a virtual host's settlement."""

    def take(self, queue: Queue, entry: Entry, reason: Reason) -> bool:
        """Take it back from whoever has acquired it, who is late to settle it; `False`: not now."""


class Destroys(Protocol):
    """Who deletes queues: a virtual host's owners."""

    def delete(self, queue: Queue, spared: int) -> None:
        """Delete it; what others than the owner `spared` have is taken back."""


class Letting(Protocol):
    """Who knows where copies go that leave a queue: a virtual host's publishing."""

    def alternate_of_queue(self, queue: Queue) -> Exchange | None:
        """Where what it lets go is sent on to."""

    def dead_letter(self, queue: Queue, entry: Entry, reason: Reason) -> Rerouting:
        """A copy leaves for the alternate exchange of its queue; how it goes on."""


@final
class Displaced:
    """A copy that a ring lets go to very many queues. Implements `entering.Long`.

    It stays in the ring until it is its turn, so that it is here or there after a crash.
    """

    __slots__ = ("_copies", "_displacing", "_letting", "_queue", "_rerouting")

    def __init__(
        self, displacing: Displacing, copies: Copies, letting: Letting, queue: Queue
    ) -> None:
        self._displacing = displacing
        self._copies = copies
        self._letting = letting
        self._queue = queue
        self._rerouting: Rerouting | None = None

    def who(self) -> str:
        """See `Long`."""
        return f"queue {self._queue.name!r}, a ring, whose alternate leads to very many queues"

    def go_on(self, end: int) -> bool:
        """See `Long`."""
        self._copies.turns.open = True
        queue = self._queue
        if self._rerouting is None and not queue.deleted and queue.is_over():
            entry = queue.first_to_go()
            if entry is not None and self._displacing.free(queue, entry):
                self._rerouting = self._letting.dead_letter(queue, entry, Reason.QUEUE_FULL)
        if self._rerouting is not None:
            queue.evicting = True  # but not between two passes: others publish to it then
            arrived = self._rerouting.go_on(end)
            queue.evicting = False
            if not arrived:
                return False
        self._displacing.on_displaced(queue)
        return True


@final
class Trimming:
    """A ring that has very many copies to let go, or those to go on disk.

    Implements `Piecework`, `paging.Waiter`.
    """

    __slots__ = ("_displacing", "_queue")

    def __init__(self, displacing: Displacing, queue: Queue) -> None:
        self._displacing = displacing
        self._queue = queue

    def who(self) -> str:
        """See `Piecework`."""
        return f"queue {self._queue.name!r}, a ring that has too much"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        return self._displacing.trim(self._queue, end)

    def on_page(self) -> None:
        """See `Waiter`."""
        self._displacing.on_page(self, self._queue)


@final
class Destruction:
    """A queue that is deleted because of what came. Implements `Piecework`.

    Not as soon as that comes: whoever puts it there may be about to put it into other queues.
    """

    __slots__ = ("_displacing", "_queue")

    def __init__(self, displacing: Displacing, queue: Queue) -> None:
        self._displacing = displacing
        self._queue = queue

    def who(self) -> str:
        """See `Piecework`."""
        return f"queue {self._queue.name!r}, which destructs itself"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        self._displacing.destroy(self._queue)
        return True


@final
class Displacing:
    """What newcomers do in the queues of one virtual host.

    Attributes:
        taking, destroys: set as soon as there is one.
    """

    __slots__ = (
        *("_awaiting", "_copies", "_end", "_hops", "_letting", "_under_way", "destroys", "taking"),
    )

    def __init__(self, copies: Copies, letting: Letting) -> None:
        self._copies = copies
        self._letting = letting
        self.taking: Taking | None = None
        self.destroys: Destroys | None = None
        self._hops = 0
        self._end: int64 = 0  # of what one verb may do
        self._awaiting: set[int] = set()  # queues whose next to go is on disk
        self._under_way: set[int] = set()  # queues of which more goes in later turns

    def came(self, queue: Queue) -> None:
        """A copy has come in last: what it takes the place of leaves."""
        if queue.placement is not None:
            return  # its upstream sees to that
        if queue.last_values is not None:
            newest = queue.places.get(queue.next_position - 1)
            assert newest is not None
            WORK.units += COPY
            self._copies.be_last(queue, newest)
        if queue.destructs:
            if queue.is_over() and not _is_file(queue) and self._is_first(queue):
                self._copies.turns.spread.put_off(Destruction(self, queue))
        elif queue.rings or queue.contents is not None:
            self._trim_some(queue, WORK.units + SHARE)

    def _trim_some(self, queue: Queue, end: int64) -> None:
        """What is more than that goes in later turns."""
        if not self._let_go(queue, end) and self._is_first(queue):
            self._copies.turns.spread.put_off(Trimming(self, queue))

    def _is_first(self, queue: Queue) -> bool:
        """Whether nothing of it is under way for later turns; now there is."""
        first = queue.number not in self._under_way
        self._under_way.add(queue.number)
        return first

    def recovered(self, queue: Queue) -> None:
        """A queue is back: the process may have ended while it let copies go."""
        if queue.rings and queue.placement is None and queue.is_over() and self._is_first(queue):
            self._copies.turns.spread.put_off(Trimming(self, queue))

    def trim(self, queue: Queue, end: int) -> bool:
        """Let go what is too much until `WORK.units` is above `end`; whether all of it has."""
        self._under_way.discard(queue.number)  # so that what has to wait longer may be put off
        if queue.deleted or self._let_go(queue, end):
            return True
        self._under_way.add(queue.number)
        return False

    def destroy(self, queue: Queue) -> None:
        """Delete one that destructs itself."""
        self._under_way.discard(queue.number)
        assert self.destroys is not None
        if not queue.deleted:
            self.destroys.delete(queue, NOBODY)

    def on_displaced(self, queue: Queue) -> None:
        """One that goes to very many queues has gone: there may be more."""
        self._under_way.discard(queue.number)
        if not queue.deleted:
            self._trim_some(queue, WORK.units)

    def free(self, queue: Queue, entry: Entry) -> bool:
        """Let nobody have a copy that is to go."""
        if entry.holder == AVAILABLE:
            return True
        taking = self.taking
        return taking is not None and taking.take(queue, entry, Reason.QUEUE_FULL)

    def _let_go(self, queue: Queue, end: int64) -> bool:
        """Until it is within its limits; `False`: it is cut off."""
        if not queue.is_over():
            return True
        ledger = self._copies.ledger
        transaction = ledger.transaction
        ledger.transaction = 0  # they are none of what enters by it
        if self._hops == 0:
            self._end = WORK.units + VERB
        self._hops += 1
        queue.evicting = True
        try:
            while queue.is_over():
                entry = queue.first_to_go()
                if entry is None:
                    self._await_page(queue)
                if entry is None or not self._evict(queue, entry):
                    break  # or it goes later
                if WORK.units > end:
                    return not queue.is_over()
        finally:
            queue.evicting = False
            self._hops -= 1
            ledger.transaction = transaction
        return True

    def _await_page(self, queue: Queue) -> None:
        """What is to go is on disk, if that is why there is nothing."""
        missed = queue.places.missed
        if missed != NO_PAGE and queue.number not in self._awaiting:
            self._awaiting.add(queue.number)
            trimming = Trimming(self, queue)
            self._copies.paging.want(queue, missed, trimming, alone=queue.contents is not None)

    def on_page(self, trimming: Trimming, queue: Queue) -> None:
        """It is here."""
        self._awaiting.discard(queue.number)
        if not queue.deleted and self._is_first(queue):
            self._copies.turns.spread.put_off(trimming)

    def _evict(self, queue: Queue, entry: Entry) -> bool:
        """It leaves; `False`: it, or another, does so when it is its turn."""
        WORK.units += COPY
        if not self.free(queue, entry):
            return False
        alternate = self._letting.alternate_of_queue(queue)
        if alternate is None or self._hops > HOPS or self._end < WORK.units:
            self._copies.ledger.evicted(queue, entry)
            self._copies.leave(queue, entry)
            return True
        if len(alternate.bindings) > FEW:
            if self._is_first(queue):
                long = Displaced(self, self._copies, self._letting, queue)
                self._copies.entering.put_off(long)
            return False
        self._letting.dead_letter(queue, entry, Reason.QUEUE_FULL).go_on(NO_END)
        return True


def _is_file(queue: Queue) -> bool:
    """Whether what came last is a file, which is not let go with its queue."""
    newest = queue.places.get(queue.next_position - 1)
    return newest is not None and newest.message.flags & FILE != 0

"""What a prepared branch is to publish, until its end: durable, counted, and nobody's.

A shelf is a queue without a name that anybody could use. A copy that the branch is to put into some
queue stands there meanwhile, durable if it will be durable there: so the store and the audit log
know it as they know any copy, over restarts. With the branch's end each copy leaves: it is `moved`
and `routed` to where it goes, or `purged`. What it needs in memory, and room in its queue, is
counted as that of any transaction.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.branches.rows import PAGE, BranchRow, PageRow, pages_of
from gateway.bridge.durable.topology_rows import RowKind
from gateway.bridge.node_names import NodeNames
from gateway.bridge.numbers import Numbers
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import NOBODY
from gateway.bridge.seams import QueueSettings
from gateway.bridge.transaction import Held
from gateway.message import Delivery
from gateway.wire.work import COPY, WORK

NAME: Final = "branch "  # in front of the branch's own, in the audit log


@final
class Shelf:
    """That of one branch. Implements `Kept`.

    Attributes:
        queue: holds the copies; what `Deadlines` has the branch for.
        decided: what its row says from its end on: an operator has ended it; `None`: nothing.
    """

    __slots__ = (
        "_copies",
        "_host",
        "_names",
        "_numbers",
        "_page",
        "_page_entries",
        "_pages",
        "_text",
        "decided",
        "queue",
    )

    def __init__(
        self, host: str, text: str, number: int, copies: Copies, names: NodeNames, numbers: Numbers
    ) -> None:
        self._host = host
        self._text = text
        self._copies = copies
        self._names = names
        self._numbers = numbers
        self.queue = Queue(number, host, text, "", QueueSettings(), numbers.first_position)
        self.queue.transit = True  # of whoever is told when the branch ends
        self.decided: BranchRow | None = None
        self._page = PageRow(host, text, 0)
        self._page_entries = 0
        self._pages = 0

    @property
    def open(self) -> bool:
        """Whether the audit log knows it."""
        return self.queue.node != 0

    def begin(self) -> None:
        """The branch is to be prepared."""
        self.queue.node = self._names.name(NAME + self._text)

    def put(self, held: Held) -> None:
        """A publish of the branch: its copies are here from now on, and no longer on their way."""
        WORK.units += COPY * len(held.queues)
        message, exchange, queue = held.message, held.exchange, self.queue
        writes = self._copies.turns.writes
        for target in held.queues:
            durable = message.durable and target.settings.durable and not target.deleted
            entry = queue.append(message, durable, NOBODY)
            held.places.append(entry.position)
            if durable:
                self._copies.turns.store_message(message)
                writes.enqueue(queue.number, entry.position, message.id)
            self._copies.ledger.entered(queue, entry, exchange, False)
        exchange.pending -= len(held.queues)
        stored = [
            (target.number, position)
            for target, position in zip(held.queues, held.places, strict=True)
            if self._durable(position)
        ]
        if stored:
            self._page.held.append((exchange.name, stored))
            self._added(len(stored))

    def retire(self, delivery: Delivery, queue: Queue) -> None:
        """A delivery that the branch accepts: the store is to know, if it has the copy."""
        entry = queue.places.get(delivery.position)
        held = entry is not None and entry.holder == delivery.subscription
        if entry is not None and held and entry.durable:
            self._page.accepts.append((queue.number, delivery.position))
            self._added(1)

    def store(self, row: BranchRow) -> None:
        """The branch is prepared: all of it, and that, is of this turn."""
        if self._page_entries:
            self._write_page()
        self._copies.turns.writes.topology(RowKind.BRANCH, row.key(), row.encoded())

    def recover(self, page: PageRow) -> None:
        """A page of an earlier run."""
        self._pages = max(self._pages, page.number + 1)

    def lose(self, entry: Entry) -> None:
        """The queue that a copy was to go to has been deleted."""
        self._copies.ledger.purged(self.queue, entry, Reason.QUEUE_DELETED)
        self._leave(entry)

    def node(self) -> int:
        """See `Kept`."""
        return self.queue.node

    def take(self, held: Held) -> None:
        """See `Kept`: its copies go to where they were to go."""
        queue, copies = self.queue, self._copies
        WORK.units += COPY * len(held.places)
        for position in held.places:
            entry = queue.places.get(position)
            if entry is not None:
                copies.ledger.moved(queue, entry, Reason.BRANCH)
                self._leave(entry)
            # Behind each its own, which says where that goes.
            copies.ledger.routed(held.message, held.exchange, 1, Reason.BRANCH)
        held.places.clear()
        held.rerouted = True
        held.exchange.pending += len(held.queues)

    def drop(self, held: Held) -> None:
        """The branch is rolled back: its copies go nowhere."""
        queue, copies = self.queue, self._copies
        WORK.units += COPY * len(held.places)
        for position in held.places:
            entry = queue.places.get(position)
            if entry is not None:
                copies.ledger.purged(queue, entry, Reason.ROLLBACK)
                self._leave(entry)
        held.places.clear()
        held.exchange.pending += len(held.queues)  # which whoever lets go of it counts down

    def close(self) -> None:
        """See `Kept`: with this turn the store has nothing of it any more."""
        writes = self._copies.turns.writes
        if self._pages:
            writes.topology_cleared(RowKind.BRANCH_PAGE, *pages_of(self._host, self._text))
        self._pages = 0
        if self.decided is None:
            self.remove()
        else:
            writes.topology(RowKind.BRANCH, self.decided.key(), self.decided.encoded())
        self._numbers.queue_deleted(self.queue.next_position)
        self._names.forget(NAME + self._text, self.queue.node)
        self.queue.node = 0

    def remove(self) -> None:
        """The store has no row of the branch any more."""
        row = BranchRow(self._host, self._text)
        self._copies.turns.writes.topology_removed(RowKind.BRANCH, row.key())

    def _durable(self, position: int) -> bool:
        entry = self.queue.places.get(position)
        return entry is not None and entry.durable

    def _leave(self, entry: Entry) -> None:
        self.queue.remove(entry)
        if entry.durable:
            self._copies.turns.writes.dequeue(self.queue.number, entry.position)

    def _added(self, entries: int) -> None:
        self._page_entries += entries
        if self._page_entries >= PAGE:
            self._write_page()

    def _write_page(self) -> None:
        page = self._page
        self._copies.turns.writes.topology(RowKind.BRANCH_PAGE, page.key(), page.encoded())
        self._pages += 1
        self._page = PageRow(self._host, self._text, self._pages)
        self._page_entries = 0

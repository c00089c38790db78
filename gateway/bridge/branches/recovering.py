"""Branches that an earlier run has prepared: from rows, pages and entries to what they were.

What a branch has accepted is taken out of its queue's reach before anybody can have it, and what it
is to publish has its room again. Of what was not durable nothing is left.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.bridge.branches.branch import Branch, State, xid_of
from gateway.bridge.branches.holding import Holding
from gateway.bridge.branches.rows import BranchRow, PageRow, Place
from gateway.bridge.durable.imports import Imports
from gateway.bridge.host import VirtualHost
from gateway.bridge.numbers import Numbers
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import AVAILABLE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.transaction import Held
from gateway.errors import DecodeError
from gateway.message import Delivery, Message

STATES: Final = (State.PREPARED, State.COMMITTED, State.ROLLED_BACK)


@final
class Returning:
    """A branch that comes back.

    Attributes:
        accepts: what it had, by queue and position.
        held: what it is to publish: exchange, and queues with positions on the shelf.
    """

    __slots__ = ("accepts", "branch", "held", "host")

    def __init__(self, branch: Branch, host: VirtualHost) -> None:
        self.branch = branch
        self.host = host
        self.accepts: list[Place] = []
        self.held: list[tuple[str, list[Place]]] = []


@final
class RecoveringBranches:
    """Those of one recovery.

    Attributes:
        aside: prepared ones whose hosts are not configured: their names in the audit log, and the
            numbers of their shelves.
        awaited: what they have accepted: those places are pinned until `restore`.
    """

    __slots__ = ("_by_text", "_copies", "_numbers", "_shelves", "aside", "awaited")

    def __init__(self, copies: Copies, numbers: Numbers) -> None:
        self._copies = copies
        self._numbers = numbers
        self._by_text: dict[tuple[str, str], Returning] = {}
        self._shelves: dict[int, Returning] = {}
        self.aside: list[tuple[int, int]] = []
        self.awaited: set[Place] = set()

    def read(self, row: BranchRow, host: VirtualHost) -> None:
        """A branch of a host that is there; `DecodeError`."""
        xid = xid_of(row.text)
        if xid is None or row.state not in STATES:
            raise DecodeError(f"a branch {row.text!r} in state {row.state}")
        branch = host.branches.make(xid, row.user, row.number)
        branch.machine.state = row.state
        branch.prepared_ms = row.prepared_ms
        branch.timeout_s = row.timeout_s
        if row.state != State.PREPARED:
            return
        branch.shelf.begin()
        returning = Returning(branch, host)
        self._by_text[row.host, row.text] = returning
        self._shelves[row.number] = returning

    def read_page(self, page: PageRow) -> None:
        """A page of what one holds; `DecodeError`: of none."""
        returning = self._by_text.get((page.host, page.text))
        if returning is None:
            raise DecodeError(f"there is no branch {page.text!r}")
        returning.accepts += page.accepts
        self.awaited.update(page.accepts)
        returning.held += page.held
        returning.branch.shelf.recover(page)

    def shelf(self, number: int) -> Queue | None:
        """The queue of a shelf; `None`: no branch has one of that number."""
        returning = self._shelves.get(number)
        return None if returning is None else returning.branch.shelf.queue

    def restore(self, queues: dict[int, Queue], imports: Imports) -> None:
        """All entries are back in `queues` and on the shelves: the branches get what they had.

        `imports`: those of which the audit log hears; in it what they brought is prepared now.
        """
        ledger = self._copies.ledger
        for node, number in self.aside:
            ledger.branch(0, 0, node, _outcome(imports, number))
        for returning in self._by_text.values():
            branch = returning.branch
            transaction = branch.transaction
            transaction.enlisted = True
            transaction.kept = branch.shelf
            shelf = branch.shelf.queue
            ledger.branch(transaction.number, 0, shelf.node, _outcome(imports, shelf.number))
            for exchange, places in returning.held:
                self._hold(returning, exchange, places, queues)
            transaction.take_over(self._accepted(returning, queues))

    def _hold(
        self, returning: Returning, exchange: str, places: list[Place], queues: dict[int, Queue]
    ) -> None:
        shelf, host = returning.branch.shelf, returning.host
        found: list[tuple[Queue, int]] = []
        message: Message | None = None
        for number, position in places:
            entry = shelf.queue.places.get(position)
            queue = queues.get(number)
            if entry is None:
                continue
            if queue is None:
                shelf.lose(entry)
            else:
                message = entry.message
                found.append((queue, position))
        if message is None:
            return
        topology = host.topology
        routed_by = topology.exchanges.get(exchange, topology.unknown)
        held = Held(message, routed_by, [queue for queue, _ in found], True, None)
        held.published = True  # the store does not say that it was not
        held.places = [at for _, at in found]
        held.stock = self._copies.pressure.quotas.of_host(host.name)
        for queue in held.queues:
            queue.promise(1, len(message.payload))
        returning.branch.transaction.hold_again(held, self._copies.pressure)

    def _accepted(self, returning: Returning, queues: dict[int, Queue]) -> list[Delivery]:
        """Of each queue, in the order of their places."""
        by_queue: dict[int, list[Entry]] = {}
        for number, position in sorted(returning.accepts):
            queue = queues.get(number)
            entry = None if queue is None else queue.places.get(position)
            if queue is not None and entry is not None:
                queue.places.pin(position, -1)
            if entry is not None and entry.holder == AVAILABLE:
                by_queue.setdefault(number, []).append(entry)
        settlement = returning.host.settlement
        held: list[Delivery] = []
        for number, entries in by_queue.items():
            holding = Holding(settlement, self._numbers, returning.branch.user)
            held += holding.hold(queues[number], entries)
        for delivery in held:
            settlement.keep(delivery)
        return held


def _outcome(imports: Imports, number: int) -> AuditOutcome:
    return AuditOutcome.PREPARED if imports.brought(number) else AuditOutcome.RECOVERED

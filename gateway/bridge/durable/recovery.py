"""From what the store held at start to hosts, exchanges, queues, bindings and messages.

The delivery count of what may have been seen goes up (`dispatched`). Copies of a queue that had
been deleted while they were with subscribers come back and end, as they would have. What there is
no place for (`absent`) stays in the store, counted, reported and, as far as its queue has a name,
recovered in the audit log. A queue whose row is gone, which the store does not start without an
operator's word, is made again, with what it holds and without its properties.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.branches.branch import State
from gateway.bridge.branches.recovering import RecoveringBranches
from gateway.bridge.branches.rows import branch_row, page_row
from gateway.bridge.branches.shelf import NAME as BRANCH
from gateway.bridge.durable.absent import AbsentQueue
from gateway.bridge.durable.dispatched import Dispatched
from gateway.bridge.durable.imports import Imports
from gateway.bridge.durable.topology_rows import (
    QUEUE_KINDS,
    QueueRow,
    RowKind,
    binding_row,
    encoded_host,
    exchange_row,
    host_row,
    queue_row,
    read_identity,
    row_key,
)
from gateway.bridge.durable.topology_writes import upstream_of
from gateway.bridge.exchanges.exchange import Binding
from gateway.bridge.exchanges.filters import kept_selector
from gateway.bridge.host import VirtualHost
from gateway.bridge.ledger import DURABLE, TRANSIT
from gateway.bridge.node_names import prefix_of
from gateway.bridge.numbers import Numbers
from gateway.bridge.paging.laying import Laying
from gateway.bridge.queues.bands import CONTENT
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import DELIVERY_COUNT_MAX, PAGE_BITS, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.errors import DecodeError
from gateway.message import Message
from gateway.store.entries import Entry as StoredEntry
from gateway.store.interface import Recovered, TopologyRow

BLOCK_OCTETS: Final = 1 << 20


@final
class Recovery:
    """Rebuilds one bridge; used once: `begin`, `take` until there are no more entries, `end`.

    Attributes:
        absent: the queues of no configured host, by the audit log's number of their name.
        problems: one line for each row that could not be used, for each host that is missing, and
            for the copies of each queue that is in no row.
        topology: what it was begun with.
    """

    __slots__ = (
        "_absent",
        "_branches",
        "_copies",
        "_digests",
        "_dispatched",
        "_host_of",
        "_hosts",
        "_imports",
        "_laying",
        "_lays",
        "_missing",
        "_nameless",
        "_numbers",
        "_plain_host",
        "_queues",
        "absent",
        "problems",
        "topology",
    )

    def __init__(
        self,
        hosts: dict[str, VirtualHost],
        plain_host: str,
        copies: Copies,
        numbers: Numbers,
        recovered: Recovered,
    ) -> None:
        self.topology = recovered.topology
        self._hosts = hosts
        self._plain_host = plain_host
        self._copies = copies
        self._numbers = numbers
        self._branches = RecoveringBranches(copies, numbers)
        self._queues: dict[int, Queue] = {}
        self._host_of: dict[int, VirtualHost] = {}
        self._missing: set[str] = set()
        self._absent: dict[int, AbsentQueue] = {}
        self._nameless: dict[int, int] = {}
        self._digests: dict[int, int] = {}
        self._imports = Imports(copies.ledger, numbers, copies.turns.writes)
        self._dispatched = Dispatched(
            copies.turns.writes, clean=recovered.clean, first_position=numbers.first_position
        )
        self._laying: dict[int, Laying] = {}  # the page that is recovered, of each queue
        self._lays = False
        self.absent: dict[int, AbsentQueue] = {}
        self.problems: list[str] = []

    @property
    def ordered(self) -> bool:
        """Whether `take` wants all entries of a queue before those of the next, by number."""
        return self._imports.any

    def begin(self, recovered: Recovered) -> None:
        """Rebuild everything but what is in the queues."""
        self._numbers.above(recovered.highest_message_id)
        dispatched = self._dispatched
        self._store_plain_host(recovered.topology)
        nodes: list[TopologyRow] = []
        bindings: list[TopologyRow] = []
        for row in recovered.topology:
            (bindings if row.kind == RowKind.BINDING else nodes).append(row)
        self._topology_rows(nodes, dispatched)
        self._make_again(recovered)
        self._topology_rows(bindings, dispatched)
        self._count_alternates()
        dispatched.apply(list(self._queues.values()))
        self._imports.begin({name: prefix_of(name, self._plain_host) for name in self._hosts})
        # Else more is to be known of some copies.
        self._lays = not self._imports.any and not self._branches.awaited

    def take(self, entries: list[StoredEntry]) -> None:
        """Entries, of each queue by position: they are back, and in the audit's records."""
        for entry in entries:
            laying = self._laying.get(entry.queue_id)
            if laying is None or not laying.lays or laying.number != entry.position >> PAGE_BITS:
                self._entry(entry, self._dispatched)
            else:
                self._leave(laying, entry)
        self._digests.clear()

    def end(self) -> None:
        """All entries are back."""
        for laying in self._laying.values():
            self._lay(laying)
        self._imports.end()
        self._branches.restore(self._queues, self._imports)
        for number, count in self._nameless.items():
            self.problems.append(
                f"queue number {number} is in no row that can be read: its {count} messages are "
                "kept, but the accounting will call them lost"
            )
        for number, queue in self._queues.items():
            self._dispatched.keep(queue)
            self._host_of[number].on_recovered(queue)

    def _store_plain_host(self, rows: list[TopologyRow]) -> None:
        if all([row.kind != RowKind.PLAIN_HOST for row in rows]):
            value = encoded_host(self._plain_host)
            self._copies.turns.writes.topology(RowKind.PLAIN_HOST, "", value)

    def _topology_rows(self, rows: list[TopologyRow], dispatched: Dispatched) -> None:
        for row in rows:
            try:
                self._topology_row(row, dispatched)
            except DecodeError as error:
                self._unreadable(row, error)

    def _make_again(self, recovered: Recovered) -> None:
        """Queues that have messages and no row; not where a row is there that cannot be read."""
        keys = {row.key for row in recovered.topology if row.kind in QUEUE_KINDS}
        for number, text in recovered.nameless.items():
            host, name = self._named(text or f"recovered.{number}")
            if name in host.topology.queues:
                name = f"{name}.recovered.{number}"
            if row_key(host.name, name) in keys:
                continue
            settings = QueueSettings(durable=True)
            first_position = self._numbers.first_position
            queue = host.topology.add_queue(number, name, settings, first_position)
            host.topology.rows.store_queue(queue)
            host.add_line(queue)
            self._queues[number] = queue
            self._host_of[number] = host
            self.problems.append(
                f"queue number {number} has no row: it is made again as {name!r}, with what it"
                " holds, and without its properties"
            )

    def _named(self, text: str) -> tuple[VirtualHost, str]:
        """The host and the name of what the audit log calls so."""
        for host in self._hosts.values():
            prefix = prefix_of(host.name, self._plain_host)
            if prefix and text.startswith(prefix):
                return host, text[len(prefix) :]
        return self._any_host(), text

    def _any_host(self) -> VirtualHost:
        """The plain one, if it is configured."""
        return self._hosts.get(self._plain_host) or next(iter(self._hosts.values()))

    def _topology_row(self, row: TopologyRow, dispatched: Dispatched) -> None:
        if row.kind == RowKind.EXCHANGE:
            self._exchange(row.value)
        elif row.kind == RowKind.QUEUE:
            self._queue(row.value)
        elif row.kind == RowKind.BINDING:
            self._binding(row.value)
        elif row.kind == RowKind.DISPATCHED or row.kind == RowKind.SEEN:
            dispatched.read(row)
        elif row.kind == RowKind.TRANSIT:
            self._outbound(row)
        elif row.kind == RowKind.DELETED:
            self._deleted(row.value)
        elif row.kind == RowKind.UNREADABLE:
            self._unreadable_before(row)
        elif row.kind == RowKind.PLAIN_HOST:
            host_row(row.value)
        elif row.kind == RowKind.IMPORT:
            self._imports.read(row)
        elif row.kind == RowKind.BRANCH:
            self._branch(row.value)
        elif row.kind == RowKind.BRANCH_PAGE:
            page = page_row(row.value)
            if page.host in self._hosts:
                self._branches.read_page(page)

    def _unreadable(self, stored: TopologyRow, error: DecodeError) -> None:
        """A row of another version, or broken; a queue's is noted: it may be declared again."""
        problem = f"topology row {stored.key!r} is unreadable: {error}"
        if stored.kind in QUEUE_KINDS and stored.kind != RowKind.UNREADABLE:
            row = read_identity(stored.key, stored.value)
            if row is not None:
                self._put_aside(row)
                self._copies.turns.writes.topology(
                    RowKind.UNREADABLE, row.numbered_key(), row.encoded()
                )
                problem += "; what the queue holds is kept"
        self.problems.append(problem)

    def _unreadable_before(self, stored: TopologyRow) -> None:
        row = queue_row(stored.value)
        if row.number in self._queues:
            self._copies.turns.writes.topology_removed(RowKind.UNREADABLE, stored.key)
        elif row.number not in self._absent:
            self._put_aside(row)
            self.problems.append(f"queue {row.name!r} has no row; what it held is kept")

    def _put_aside(self, row: QueueRow) -> None:
        """The queue is absent: its copies stay where they are."""
        host = self._hosts.get(row.host)
        if host is None:
            prefix = prefix_of(row.host, self._plain_host)
            node = self._copies.ledger.audit.name(prefix + row.name)
        else:
            node = host.topology.names.name(row.name)
        queue = self.absent.get(node)
        if queue is None:
            queue = AbsentQueue(node)
            self.absent[node] = queue
        self._absent[row.number] = queue

    def _host(self, name: str) -> VirtualHost | None:
        host = self._hosts.get(name)
        if host is None and name not in self._missing:
            self._missing.add(name)
            self.problems.append(f"virtual host {name!r} is not configured; what it holds is kept")
        return host

    def _exchange(self, value: bytes) -> None:
        row = exchange_row(value)
        host = self._host(row.host)
        if host is not None and row.name not in host.topology.exchanges:
            exchange = host.topology.add_exchange(
                row.name,
                row.type,
                durable=True,
                auto_delete=row.auto_delete,
                alternate_exchange=row.alternate_exchange,
                arguments=row.arguments,
                numbers=row.numbers,
                remembers=row.remembers,
            )
            exchange.maker = row.maker

    def _queue(self, value: bytes) -> None:
        row = queue_row(value)
        host = self._host(row.host)
        if host is None:
            self._put_aside(row)
            return
        queue = host.topology.add_queue(
            row.number, row.name, row.settings, self._numbers.first_position
        )
        queue.rows.written = True
        if row.upstream != upstream_of(queue):
            host.topology.rows.store_moved(queue)
        host.add_line(queue)
        self._queues[row.number] = queue
        self._host_of[row.number] = host

    def _outbound(self, stored: TopologyRow) -> None:
        row = queue_row(stored.value)
        host = self._host(row.host)
        if host is None:
            self._put_aside(row)
            return
        queue = host.nodes.recover_outbound(row.name, row.number, row.settings)
        if not queue.transit:
            self._copies.turns.writes.topology_removed(RowKind.TRANSIT, stored.key)
        self._queues[row.number] = queue
        self._host_of[row.number] = host

    def _deleted(self, value: bytes) -> None:
        row = queue_row(value)
        host = self._host(row.host)
        if host is None:
            self._put_aside(row)
            return
        queue = host.topology.recover_deleted(row, self._numbers.first_position)
        self._queues[row.number] = queue
        self._host_of[row.number] = host

    def _branch(self, value: bytes) -> None:
        row = branch_row(value)
        host = self._host(row.host)
        if host is None:
            settings = QueueSettings(durable=True)
            self._put_aside(QueueRow(row.host, BRANCH + row.text, row.number, settings))
            if row.state == State.PREPARED:
                self._branches.aside.append((self._absent[row.number].node, row.number))
        else:
            self._branches.read(row, host)
            self._host_of[row.number] = host

    def _binding(self, value: bytes) -> None:
        row = binding_row(value)
        host = self._host(row.host)
        if host is None:
            return
        queue = host.topology.find_queue(row.queue)
        exchange = host.topology.find_exchange(row.exchange)
        if queue is None or exchange is None:
            self.problems.append(f"binding {row.queue!r} to {row.exchange!r} lacks an end")
            return
        host.topology.bindings.put(
            exchange,
            Binding(
                queue,
                row.key,
                row.arguments,
                row.encoded_arguments,
                kept_selector(row.arguments),
            ),
        )

    def _count_alternates(self) -> None:
        """Queues counted themselves; an exchange may have come before its alternate."""
        for host in self._hosts.values():
            for exchange in list(host.topology.exchanges.values()):
                host.topology.count_alternate(exchange.alternate_exchange, 1)

    def _entry(self, stored: StoredEntry, dispatched: Dispatched) -> None:
        message = stored.message
        self._give_reader(message, self._host_of.get(stored.queue_id))
        ledger = self._copies.ledger
        queue = self._queues.get(stored.queue_id)
        shelf = self._branches.shelf(stored.queue_id)
        if shelf is not None:
            count = stored.delivery_count
            shelf.put(Entry(stored.position, message, count, True))
            if self._say(shelf.node, stored, count, flags=DURABLE | TRANSIT):
                shelf.entered += 1
            else:
                ledger.counts.recovered += 1
            return
        if queue is None:
            ledger.counts.orphaned += 1
            self._keep(stored)
            return
        count = stored.delivery_count
        if dispatched.includes(queue, stored.position) and count < DELIVERY_COUNT_MAX:
            count += 1
        laying = self._page(queue, stored.position)
        if laying.lays:
            self._leave(laying, stored)
            return
        entry = Entry(stored.position, message, count, True)
        entry.annotations = stored.annotations
        self._copies.recover(queue, entry)
        if self._branches.awaited and (queue.number, entry.position) in self._branches.awaited:
            queue.places.pin(entry.position, 1)  # in memory until its branch has it
        flags = DURABLE | TRANSIT if queue.transit else DURABLE
        if self._say(queue.node, stored, count, flags=flags, lane=queue.lane_of(entry)):
            queue.entered += 1
        else:
            ledger.counts.recovered += 1

    def _page(self, queue: Queue, position: int) -> Laying:
        """The page of a queue that is recovered; the one before it is over."""
        number = position >> PAGE_BITS
        laying = self._laying.get(queue.number)
        if laying is not None:
            if laying.number == number:
                return laying
            self._lay(laying)
        copies = self._copies
        lays = self._lays and copies.paging.lays(queue)
        stock = copies.pressure.quotas.of_host(queue.host)
        laying = Laying(queue, number, stock, self._host_of[queue.number].reader, lays=lays)
        self._laying[queue.number] = laying
        return laying

    def _lay(self, laying: Laying) -> None:
        if laying.lays:
            self._copies.lay(laying.queue, laying)

    def _leave(self, laying: Laying, stored: StoredEntry) -> None:
        """A copy that stays on disk: of these there are very many, and none by an import."""
        message, queue = stored.message, laying.queue
        message.reader = laying.reader
        count = stored.delivery_count
        if stored.position < queue.rows.seen_before and count < DELIVERY_COUNT_MAX:
            count += 1
        if message.flags & CONTENT:
            queue.expect(message)
        laying.add(stored.position, message, stored.annotations)
        ledger = self._copies.ledger
        ledger.audit.recovered(
            ledger.now_ms,
            message.id,
            stored.position,
            node=queue.node,
            id_digest=message.id_digest,
            body_digest=laying.reader.body_digest(message),
            size=len(message.payload),
            delivery_count=count,
        )
        ledger.counts.recovered += 1
        self._end_turn(stored)

    def _give_reader(self, message: Message, host: VirtualHost | None) -> None:
        """That of its host; of a copy whose queue is absent any, which digests all the same."""
        if host is None and message.reader is None:
            host = self._any_host()
        if host is not None:
            message.reader = host.reader

    def _keep(self, stored: StoredEntry) -> None:
        """A copy of an absent queue."""
        absent = self._absent.get(stored.queue_id)
        if absent is None:
            self._nameless[stored.queue_id] = self._nameless.get(stored.queue_id, 0) + 1
            return
        message = stored.message
        absent.hold(message.id, stored.position, len(message.payload))
        if self._say(absent.node, stored, stored.delivery_count):
            absent.entered += 1

    def _say(
        self, node: int, stored: StoredEntry, count: int, *, flags: int = DURABLE, lane: int = 0
    ) -> bool:
        """It is back, or has come by an import: whether it has."""
        message, position = stored.message, stored.position
        body_digest = self._digests.get(message.id)
        if body_digest is None:
            reader = message.reader
            body_digest = 0 if reader is None else reader.body_digest(message)
            self._digests[message.id] = body_digest
        ledger = self._copies.ledger
        telling = self._imports.of(message.id, stored.queue_id, position)
        if telling is not None:
            self._imports.say(telling, stored, body_digest, node=node, flags=flags, lane=lane)
        else:
            ledger.audit.recovered(
                ledger.now_ms,
                message.id,
                position,
                node=node,
                id_digest=message.id_digest,
                body_digest=body_digest,
                size=len(message.payload),
                delivery_count=count,
            )
        self._end_turn(stored)
        return telling is not None

    def _end_turn(self, stored: StoredEntry) -> None:
        """Behind that copy, if there is much to be written."""
        ledger = self._copies.ledger
        if ledger.audit.pending() > BLOCK_OCTETS:
            turns = self._copies.turns
            self._imports.reached(stored.queue_id, stored.position)
            turns.end(ledger.audit.take_block(ledger.now_ms, turns.writes.any()))

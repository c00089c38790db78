"""The bridge: every virtual host, the turn that is under way, and what spans both.

The composition of package `bridge`, and the only part of it that the service, the turn loop and
the metrics know; faces use it for numbers, waiting and the audit log, and a `VirtualHost` for the
rest. It is driven: time, turns, commits and recovery all come as calls.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.records.log import AuditLog
from gateway.bridge.awaited import awaited
from gateway.bridge.confirming import Confirming
from gateway.bridge.durable.absent import AbsentQueue
from gateway.bridge.durable.checkpoint import Checkpoint
from gateway.bridge.durable.debts import Debts
from gateway.bridge.durable.notes import Notebook, NoteSource, recover_notes
from gateway.bridge.durable.recovery import Recovery
from gateway.bridge.host import VirtualHost
from gateway.bridge.ledger import Counts, Ledger
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.living import LivingQueues
from gateway.bridge.node_names import prefix_of
from gateway.bridge.numbers import Numbers
from gateway.bridge.paging.paging import Paging
from gateway.bridge.pressure import Pressure
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.deadlines import Deadlines
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import Placements, Remote
from gateway.bridge.seams import CommitWaiter
from gateway.bridge.spread.entering import Entering
from gateway.bridge.topology import Topology
from gateway.bridge.turns import TurnBook
from gateway.bridge.unwritten import Author, Unwritten
from gateway.errors import StoreError
from gateway.message import MessageReader
from gateway.store.interface import Recovered, Store

EXPIRY_SLICE: Final = 64


@final
class Expiry:
    """Copies of a queue are over whose page is away. Implements `paging.Waiter`."""

    __slots__ = ("_deadlines", "_queue")

    def __init__(self, deadlines: Deadlines, queue: Queue) -> None:
        self._deadlines = deadlines
        self._queue = queue

    def on_page(self) -> None:
        """See `Waiter`."""
        when_ms = self._queue.expiring.next_ms()
        if when_ms is not None:
            self._deadlines.arm(self._queue, when_ms)


@final
class Bridge:
    """Messages, queues and settlement of the whole gateway.

    Args:
        audit: packs the records of every step; its incarnation makes ids unique.
        store: takes each turn's durable writes; opened already (see `recover`).
        limits: what all peers together may make it hold.
        reader: of messages, until a host has one of its own (`VirtualHost.reader`).
        hosts: names of the virtual hosts.
        default_host: one of them.
        plain_host: whose names stand alone in the audit log (see `node_names`); "": the default's.
        now_ms: gateway clock.
        placements, remotes: which nodes are at which upstream (see `place`).

    Attributes:
        confirming: what publishers are told, for the audit log.
        counts: what it has counted so far.
        latency: how long publishers and copies wait.
        numbers: for messages, owners and links.
        paging: which copies are on disk; it is given the disk before `recover`, if there is one.
        pressure: what all queues hold now.
        turns: the turn under way.
        unwritten: what waits for the store's thread, by whose it is.
        store_error: why the disk refuses at the moment; `None` when it does not.
        asked: an operator has had something changed.
        swamped: so much waits for the disk meanwhile that nothing is delivered, and nothing is to
            be read.
        problems: what recovery could not use, one line each.
    """

    __slots__ = (
        "_absent",
        "_checkpoint",
        "_deadlines",
        "_dispatcher",
        "_entering",
        "_limits",
        "_notebooks",
        "_plain_host",
        "asked",
        "audit",
        "confirming",
        "copies",
        "counts",
        "debts",
        "default_host",
        "hosts",
        "latency",
        "ledger",
        "numbers",
        "paging",
        "pressure",
        "problems",
        "queue_size_default",
        "store_error",
        "swamped",
        "turns",
        "unwritten",
    )

    def __init__(
        self,
        audit: AuditLog,
        store: Store,
        limits: BridgeLimits,
        *,
        reader: MessageReader,
        hosts: list[str],
        default_host: str,
        now_ms: int,
        plain_host: str = "",
        placements: Placements | None = None,
        remotes: list[Remote] | None = None,
    ) -> None:
        self.audit = audit
        self.ledger = Ledger(audit, now_ms)
        self.counts: Counts = self.ledger.counts
        self.latency = self.ledger.latency
        self.pressure = Pressure(limits)
        self.turns = TurnBook(store)
        self.unwritten = Unwritten(audit, self.turns)
        self.confirming = Confirming(audit)
        self.debts = Debts(self.turns)
        self.store_error: StoreError | None = None
        self.swamped = False
        self.asked = False
        self.problems: list[str] = []
        self._absent: dict[int, AbsentQueue] = {}
        self._checkpoint: Checkpoint | None = None
        self._plain_host = plain_host or default_host
        self._limits = limits
        self.queue_size_default = limits.queue_size_default
        self.numbers = Numbers(audit.incarnation)
        self._deadlines = Deadlines()
        self._entering = Entering(self.turns, self.unwritten)
        self.paging = Paging(self.pressure, store, limits.memory_octets, limits.index_octets)
        store.on_fetched = self.paging.on_fetched
        self.copies = Copies(
            self.ledger, self.turns, self.pressure, self._deadlines, self._entering, self.paging
        )
        self._dispatcher = Dispatcher(self.copies)
        self.hosts: dict[str, VirtualHost] = {}
        self._notebooks: dict[str, Notebook] = {}
        for name in hosts:
            prefix = prefix_of(name, self._plain_host)
            topology = Topology(name, prefix, self.ledger, self.turns, limits)
            host = VirtualHost(name, topology, self._dispatcher, self.numbers, limits, reader)
            self.hosts[name] = host
            self._notebooks[name] = Notebook(name)
        self.default_host: VirtualHost = self.hosts[default_host]
        if placements is not None or remotes:
            self.place(placements, remotes or [])

    def place(self, placements: Placements | None, remotes: list[Remote]) -> None:
        """The node rules, and the upstreams they name: at most once, before `recover`.

        What is remote is served from the end of `recover` on.
        """
        for host in self.hosts.values():
            host.nodes.place(placements, remotes)

    @property
    def now_ms(self) -> int:
        """The time of everything that is done now."""
        return self.ledger.now_ms

    @now_ms.setter
    def now_ms(self, now_ms: int) -> None:
        self._act(now_ms)

    @property
    def now_us(self) -> int:
        """The same, finer, for what is measured; read once where a turn begins or ends."""
        return int(self.latency.now_us)

    @now_us.setter
    def now_us(self, now_us: int) -> None:
        self.latency.at(now_us)

    def act(self, now_ms: int, author: Author, connection: int, actor: int) -> None:
        """What it is asked from now on is asked for a client."""
        self.unwritten.begin(author)
        self.ledger.begin(now_ms, connection, actor)

    def act_for_operator(self, now_ms: int, how: str, address: str) -> None:
        """The same for an operator, in this turn: the audit log says how, and where he is."""
        audit = self.audit
        self.asked = True
        self.unwritten.begin(None)
        self.ledger.begin(
            now_ms,
            actor=audit.passing(f"operator by {how}"),
            address=audit.passing(address) if address else 0,
        )

    def _act(self, now_ms: int) -> None:
        """What is done from now on is done for nobody but the gateway."""
        self.unwritten.begin(None)
        self.ledger.begin(now_ms)

    def wait(self, waiter: CommitWaiter) -> int:
        """`waiter.on_committed(turn)` once the current turn, whose number is returned, is safe.

        Told once a turn, however often it asks; at the end of the turn when nothing durable is
        outstanding. A waiter whose connection has ended may still be told: it ignores that.
        """
        return self.turns.wait(waiter)

    def keep_notes(self, host: str, source: NoteSource) -> None:
        """Keep what `source` notes for a virtual host; it gets back what was kept. Once a host.

        What is new at the end of a turn is made durable with that turn.
        """
        self._notebooks[host].attach(source)

    def end_turn(self, now_ms: int) -> bool:
        """Dispatch, hand the turn's writes and audit block to the store, count the turn up.

        Whether there is more to dispatch at once (the turn's budget was used up): the turn loop
        then schedules another turn, after it has flushed and read.
        """
        self._act(now_ms)
        spread = self.turns.spread
        much = self.unwritten.much()
        self.paging.run(self.turns.number)
        if not self.swamped:
            if not much:
                spread.run()
            if not much or self.turns.open:
                self._entering.run()
            self._dispatcher.run(self._limits.turn_deliveries)
        self.paging.page_out()
        for notebook in self._notebooks.values():
            notebook.collect(self.turns.writes, now_ms)
        turns = self.turns
        self._tell()
        self.confirming.record(now_ms)
        number = turns.number
        turns.end(self.audit.take_block(now_ms, turns.writes.any()))
        self.latency.end_turn(number, over=turns.number != number)
        self.unwritten.end_turn()
        self.swamped = turns.octets_waiting() >= self._limits.backlog_octets_max
        self._on_safe()
        # Else with the next commit.
        goes_on = turns.open or ((spread.has_work or self._entering.has_work) and not much)
        goes_on = goes_on or len(self.confirming.open) > 0 or self.paging.busy
        return (goes_on or self._dispatcher.has_work) and not self.swamped

    def who(self) -> str:
        """What was most work at the end of the last turn."""
        spread = self.turns.spread
        units = max(spread.units, self._dispatcher.units)
        if self._entering.units > units:
            return self._entering.who()
        if spread.costliest is not None and spread.units == units:
            return spread.costliest.who()
        return self._dispatcher.who()

    def finish(self, now_ms: int) -> None:
        """No turns but one more: what is half done, and has to be done whole, is."""
        self._act(now_ms)
        for host in self.hosts.values():
            host.branches.finish()
        self._entering.finish()

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called (expiry, auto-delete, staging), gateway ms.

        Not while much waits for the store: the next commit ends a turn, and so it is asked again.
        """
        if self.unwritten.much():
            return None
        soonest = self._deadlines.next_ms()
        for host in self.hosts.values():
            staged = host.staging.next_ms()
            if staged is not None and (soonest is None or staged < soonest):
                soonest = staged
        return soonest

    def handle_deadline(self, now_ms: int) -> None:
        """Expire messages, branches, delete queues whose time has come; `end_turn` must follow.

        No more than a turn's worth: what is left over is due at once.
        """
        self._act(now_ms)
        budget = self._limits.turn_deliveries
        for host in self.hosts.values():
            budget -= host.staging.expire(now_ms, budget)
        while budget > 0:
            queue = self._deadlines.take_due(now_ms)
            if queue is None:
                return
            host = self._host_of(queue)
            if host.branches.on_deadline(queue, now_ms):
                budget -= 1
                continue
            budget -= 1 + self._expire(queue, now_ms, min(budget, EXPIRY_SLICE))
            host.owners.on_deadline(queue, now_ms)

    def _expire(self, queue: Queue, now_ms: int, budget: int) -> int:
        count = 0
        while count < budget:
            entry = queue.expiring.next(now_ms)
            if entry is None:
                break
            self.copies.expire(queue, entry)
            count += 1
        for number in queue.expiring.take_missed():
            self.paging.want(queue, number, Expiry(self._deadlines, queue))
        queue.places.wanted.clear()
        when_ms = queue.expiring.next_ms()
        if when_ms is not None:
            self._deadlines.arm(queue, when_ms)
        return count

    def _host_of(self, queue: Queue) -> VirtualHost:
        return self.hosts[queue.host]

    def on_committed(self, turn: int) -> None:
        """The store says that everything up to `turn` is on disk; `end_turn` must follow."""
        self.turns.committed(turn)
        self.unwritten.on_committed(turn)
        self._on_safe()

    def _on_safe(self) -> None:
        self._dispatcher.on_safe()
        self._tell()
        for host in self.hosts.values():
            host.nodes.feeds.tend()

    def _tell(self) -> None:
        """Tell publishers what is safe, and need not be held back any more."""
        self.pressure.release(self.turns.safe)
        self.copies.tickets.tell(self.turns.safe)
        self.latency.tell(self.turns.safe)

    def on_store_failed(self, error: StoreError) -> None:
        """The disk refuses, or is full: no publish is confirmed until `on_store_eased`.

        Transient ones neither: the audit log could not tell of them. What publishers go on sending
        counts against the limits of memory.
        """
        self.store_error = error
        self.turns.blocked = True
        self.pressure.block()
        self.unwritten.on_blocked()

    def on_store_eased(self) -> None:
        """The disk takes everything again; `end_turn` must follow."""
        self.store_error = None
        self.turns.blocked = False
        self.pressure.unblock()
        self._on_safe()

    def stuck(self) -> bool:
        """Whether nothing can be committed: of a full disk there may be the reserve."""
        return self.store_error is not None and not self.store_error.on_reserve

    def recover(self, recovered: Recovered) -> Recovery:
        """Rebuild exchanges, queues and bindings; call once, first of all.

        What is returned takes the messages, and then `end_recovery` does.
        """
        recovery = Recovery(self.hosts, self._plain_host, self.copies, self.numbers, recovered)
        recovery.begin(recovered)
        return recovery

    def end_recovery(self, recovery: Recovery) -> None:
        """All messages are back."""
        recovery.end()
        self.problems.extend(recovery.problems)
        self._absent = recovery.absent
        for host in self.hosts.values():
            host.nodes.start()
        self.debts.recover(recovery.topology, self.problems)
        recover_notes(recovery.topology, self._notebooks, self.problems)
        for host in self.hosts.values():
            host.staging.recover(recovery.topology, self.problems)
            host.branches.recover_claims(host.staging)
        self._new_checkpoint().write_queues()

    def drain(self) -> None:
        """Graceful stop: dispatch nothing to clients from now on.

        Settlements and publishes are served, and what waits for an upstream is sent to it.
        """
        self._dispatcher.stopped = True
        self.copies.end_flow(self.living_queues().rest())
        for host in self.hosts.values():
            host.nodes.drain()

    def idle(self, *, clients: bool = True) -> bool:
        """Whether nothing waits for a commit, for room, for an upstream or for its turn.

        Without `clients` nobody makes room any more, nor hears that there is some.
        """
        waits = self.copies.tickets.waiting or (clients and self.pressure.waiting)
        works = self.turns.spread.has_work or self._entering.has_work
        return self.turns.idle() and not waits and not works

    def awaited(self) -> list[str]:
        """What it waits for, as operators read it."""
        return awaited(self.living_queues().rest(), self.copies, self.store_error)

    def checkpoint(self, now_ms: int, *, last: bool = False) -> None:
        """Write the audit's checkpoint records: depth, counts and checksum of every queue.

        Notes that have become too old meanwhile are removed. It may take several turns, but for the
        last one: no turn follows that.
        """
        self._act(now_ms)
        for notebook in self._notebooks.values():
            notebook.trim(self.turns.writes, now_ms)
        if last:
            self.confirming.record(now_ms)
            self._new_checkpoint().write()
        elif self._checkpoint is None or self._checkpoint.done:
            self._checkpoint = self._new_checkpoint()
            self.turns.spread.begin(self._checkpoint)

    def _new_checkpoint(self) -> Checkpoint:
        return Checkpoint(self.hosts, self._dispatcher, self._absent, self.ledger)

    def living_queues(self) -> LivingQueues:
        """Every queue, deleted ones too as long as a copy of them is unsettled."""
        return LivingQueues(self.hosts, self._dispatcher.links)

"""Work done as one or not at all: the bridge holds publishes, the face settlements.

A publish in a transaction is routed when it comes - what is refused or unroutable is said at once -
and held; at the commit all copies enter and all deliveries are accepted in one turn, which is one
commit of the store. Every check is made before any of it is done. A rollback forgets the publishes.

A transaction has one resource: the local queues, or one upstream. Publishes to an upstream are held
only until that has begun a transaction (`remote.transaction`), and then sent in it.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import FANOUT, TOPIC, Exchange
from gateway.bridge.ledger import Ledger
from gateway.bridge.pressure import Pressure
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import NOBODY, Stock
from gateway.bridge.remote.remote import Remote
from gateway.bridge.seams import Published, Publisher
from gateway.bridge.staging.area import Claim
from gateway.bridge.tickets import Ticket
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    Condition,
    Delivery,
    Flag,
    Message,
    Outcome,
    Refusal,
)
from gateway.wire.work import COPY, LOOK, WORK

# What a message of a transaction is taken to need besides its octets.
OVERHEAD: Final = 256
# To these one publishes for whoever listens.
LENIENT: Final = (TOPIC, FANOUT)
UNDONE: Final = ": the transaction is rolled back"


class AtUpstream(Protocol):
    """What there is of a transaction at the upstream that is its resource."""

    def on_held(self) -> None:
        """Something was published in it: sent, or held until it can be, or it falls."""

    def commit(self, publisher: Publisher, token: int) -> Published:
        """Commit it; `publisher` is told of the end."""

    def roll_back(self) -> None:
        """What the upstream has of it, it gives up."""


class Kept(Protocol):
    """What the store has of a prepared branch, whose transaction it is."""

    def node(self) -> int:
        """Its name in the audit log."""

    def take(self, held: Held) -> None:
        """A publish is its transaction's again, which is committed in this turn."""

    def drop(self, held: Held) -> None:
        """A publish goes nowhere: its transaction is rolled back in this turn."""

    def close(self) -> None:
        """All has been taken, and the transaction has had its end, in this turn."""


@final
class Held:
    """One publish: the queues that it was routed to, by `exchange`.

    Attributes:
        ticket: of a publish to an upstream, whose publisher waits for its outcome.
        stock: whose quota it counts for while it is held.
        published: it goes there by no alternate exchange, whatever has held it meanwhile.
        next: of its queues, the first that it has not entered yet.
        durable: a copy that has entered is.
        places: of its queues, where their copies are on the shelf of a prepared branch.
    """

    __slots__ = (
        "durable",
        "exchange",
        "message",
        "next",
        "places",
        "published",
        "queues",
        "rerouted",
        "stock",
        "ticket",
    )

    def __init__(
        self,
        message: Message,
        exchange: Exchange,
        queues: list[Queue],
        rerouted: bool,
        ticket: Ticket | None,
    ) -> None:
        self.message = message
        self.exchange = exchange
        self.queues = queues
        self.rerouted = rerouted
        self.published = not rerouted
        self.ticket = ticket
        self.stock: Stock = NOBODY
        self.next = 0
        self.durable = False
        self.places: list[int] = []

    def may_vanish(self) -> bool:
        """Whether it is no error that nobody is left who wants it: not where many may listen.

        Had its queues been deleted before it came, it would have been unroutable.
        """
        exchange = self.exchange
        return exchange.type in LENIENT or self.message.flags & Flag.DISCARD_UNROUTABLE != 0


@final
class Retirement:
    """An unsettled delivery that gets its outcome when its transaction is committed.

    Attributes:
        otherwise: what it gets when the commit was asked for and comes to nothing; `None`: it
            stays with whoever has it.
    """

    __slots__ = ("delivery", "otherwise", "outcome")

    def __init__(self, delivery: Delivery, outcome: Outcome, otherwise: Outcome | None) -> None:
        self.delivery = delivery
        self.outcome = outcome
        self.otherwise = otherwise


@final
class Transaction:
    """One transaction of one session; over after `Transacting.commit` or `rollback`.

    Attributes:
        number: in the audit log.
        connection: whose.
        enlisted: its resource is known.
        local: it is a branch's: an upstream cannot be its resource, which could not prepare it.
        kept: once it is prepared, what the store has of it: it can be committed for sure.
        remote: the upstream, if that is its resource.
        work: what there is of it at that upstream; `None`: nothing yet.
        held: its publishes, in order, that are in no queue yet.
        octets: what it holds until its end: `OVERHEAD` for each copy and, of publishes to the
            local queues, their own.
        sent: what was sent on to the upstream, by exchange and key; of each a message's number.
        copies: of its publishes.
        retirements: the outcomes that the commit is to apply, in order; a set.
        claims: what it has published of what is staged.
    """

    __slots__ = (
        "_octets_max",
        "claims",
        "connection",
        "copies",
        "enlisted",
        "held",
        "kept",
        "local",
        "number",
        "octets",
        "remote",
        "retirements",
        "sent",
        "work",
    )

    def __init__(
        self, number: int, connection: int, octets_max: int, *, local: bool = False
    ) -> None:
        self.number = number
        self.connection = connection
        self.local = local
        self.kept: Kept | None = None
        self.enlisted = False
        self.remote: Remote | None = None
        self.work: AtUpstream | None = None
        self.held: list[Held] = []
        self.octets = 0
        self.sent: dict[tuple[str, str], int] = {}
        self.copies = 0
        self.retirements: dict[Retirement, None] = {}
        self.claims: list[Claim] = []
        self._octets_max = octets_max

    def enlist(self, queues: list[Queue]) -> Refusal | None:
        """Make what `queues` are in its resource; not-implemented if there is more than one."""
        for queue in queues:
            remote = remote_of(queue)
            if remote is not None and self.local:
                text = f"a distributed transaction is for the queues here, not for {_name(remote)}"
                return Refusal(Condition.NOT_IMPLEMENTED, text)
            if not self.enlisted:
                if remote is not None and not remote.transactional:
                    text = f"upstream {remote.name} offers no transactions"
                    return Refusal(Condition.NOT_IMPLEMENTED, text)
                self.enlisted = True
                self.remote = remote
            elif remote is not self.remote:
                text = f"a transaction is for {_name(self.remote)} or {_name(remote)}, not for both"
                return Refusal(Condition.NOT_IMPLEMENTED, text)
        return None

    def accept(self, deliveries: list[Delivery]) -> None:
        """The commit is to accept these; whose commit fails, goes back as failed."""
        for delivery in deliveries:
            self.retirements[Retirement(delivery, ACCEPTED, MODIFIED_FAILED)] = None

    def take_over(self, deliveries: list[Delivery]) -> None:
        """The same of what no session has any more: it is held here, until the end."""
        self.accept(deliveries)
        self.enlisted = True  # perhaps as that of a branch whose first one was rolled back
        self.octets += OVERHEAD * len(deliveries)

    def room_to_accept(self, count: int) -> Refusal | None:
        """Whether so many accepted deliveries may be part of it."""
        return self._room(OVERHEAD * count)

    def room_for(self, message: Message, copies: int) -> Refusal | None:
        """Whether one more message may be part of it, which is enlisted where that goes."""
        return self._room(self._size_of(message, copies))

    def _room(self, octets: int) -> Refusal | None:
        if self.octets + octets <= self._octets_max:
            return None
        return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, "the transaction holds too much")

    def _size_of(self, message: Message, copies: int) -> int:
        kept = OVERHEAD * copies
        return kept if self.remote is not None else len(message.payload) + kept

    def hold(self, publish: Held, pressure: Pressure) -> None:
        """Keep a publish for the commit, or until it can be sent to the upstream.

        Each copy that it is to be has its room from now on, so that a commit passes no limit.
        """
        copies = len(publish.queues)
        WORK.units += LOOK * copies
        self.held.append(publish)
        self.octets += self._size_of(publish.message, copies)
        self.copies += copies
        hold(publish, pressure)

    def hold_again(self, publish: Held, pressure: Pressure) -> None:
        """A publish of an earlier run, which is durable; it has its stock."""
        copies = len(publish.places)
        size = len(publish.message.payload)
        self.held.append(publish)
        self.octets += size + OVERHEAD * copies
        self.copies += copies
        for _ in publish.queues:
            pressure.entered(size, publish.stock)

    def let_go(self, pressure: Pressure) -> list[Held]:
        """What was held, which goes where it belongs."""
        held = self.held
        self.held = []
        for each in held:
            let_go(each, pressure)
        return held

    def end_claims(self, *, committed: bool) -> None:
        """It is over: what it has published of what is staged is used up, or is not."""
        claims = self.claims
        self.claims = []
        WORK.units += COPY * len(claims)
        for claim in claims:
            claim.end(committed=committed)

    def end(self, ledger: Ledger, outcome: AuditOutcome) -> None:
        """All of it is where it belongs: the audit log has how it ended, the store nothing more."""
        self.end_claims(committed=outcome == AuditOutcome.COMMITTED)
        kept = self.kept
        node = 0 if kept is None else kept.node()
        ledger.transaction_ended(self.number, self.connection, outcome, node)
        if kept is not None:
            kept.close()

    def obstacle(self) -> Refusal | None:
        """Why what it holds cannot enter: nothing is left to enter, or a queue has no room."""
        wanted: dict[Queue, tuple[int, int]] = {}
        for each in self.held:
            size = len(each.message.payload)
            goes = False
            for queue in each.queues:
                if queue.deleted:
                    continue
                goes = True
                if queue.max_count or queue.max_size:
                    count, octets = wanted.get(queue, (0, 0))
                    wanted[queue] = (count + 1, octets + size)
            if not goes and not each.may_vanish():
                return deleted(each)
        for queue, (count, octets) in wanted.items():
            if queue.full_for(octets, count):
                return full(queue)
        return None


@final
class Rollback:
    """What a transaction held goes, over several turns if it is very much. Is a `Piecework`."""

    __slots__ = ("_held", "_ledger", "_next", "_pressure", "_transaction")

    def __init__(self, transaction: Transaction, pressure: Pressure, ledger: Ledger) -> None:
        self._transaction = transaction
        self._pressure = pressure
        self._ledger = ledger
        self._held = transaction.held
        self._next = 0
        transaction.held = []
        transaction.end_claims(committed=False)

    def who(self) -> str:
        """See `Piecework`."""
        return f"connection {self._transaction.connection}, whose transaction is rolled back"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        held = self._held
        transaction = self._transaction
        while self._next < len(held):
            if WORK.units > end:
                return False
            each = held[self._next]
            self._next += 1
            WORK.units += COPY * len(each.queues)
            let_go(each, self._pressure)
            drop(each, transaction.number, self._ledger)
        self._ledger.transaction_ended(
            transaction.number, transaction.connection, AuditOutcome.ROLLED_BACK
        )
        return True


def remote_of(queue: Queue) -> Remote | None:
    """The upstream that copies in `queue` are on the way to or from; `None`: they are local."""
    return queue.placement.remote if queue.transit and queue.placement is not None else None


def deleted(held: Held) -> Refusal:
    """Why a commit fails: nothing is left of where that was to go."""
    name = held.queues[0].name
    return Refusal(Condition.RESOURCE_DELETED, f"queue {name!r} was deleted{UNDONE}")


def full(queue: Queue) -> Refusal:
    """Why a commit fails: that queue has no room."""
    return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, queue.why_full() + UNDONE)


def hold(held: Held, pressure: Pressure) -> None:
    """It is held from now on: its copies are pending, and each has its room."""
    held.exchange.pending += len(held.queues)
    held.stock = pressure.stock_of(held.message.publisher)
    size = len(held.message.payload)
    for _ in held.queues:
        pressure.entered(size, held.stock)


def let_go(held: Held, pressure: Pressure) -> None:
    """It is held no more, whatever of it has entered."""
    left = len(held.queues) - held.next
    held.exchange.pending -= left
    give_room(left, held, pressure)


def give_room(copies: int, held: Held, pressure: Pressure) -> None:
    """So many copies of what is held enter, or never will."""
    size = len(held.message.payload)
    for _ in range(copies):
        pressure.left(size, held.stock)


def drop(held: Held, number: int, ledger: Ledger) -> None:
    """The transaction is rolled back: what it held ends."""
    for queue in held.queues:
        ledger.rolled_back(held.message, held.exchange, queue, number)


def refuse_deleted(each: Held, queues: list[Queue], ledger: Ledger) -> list[Queue]:
    """Those of the queues of a held publish that still exist; copies for others end."""
    living = [queue for queue in queues if not queue.deleted]
    for queue in queues:
        if queue.deleted:
            ledger.refused(each.message, each.exchange, Reason.QUEUE_DELETED, queue.node)
    return living


def _name(remote: Remote | None) -> str:
    return "the queues here" if remote is None else f"upstream {remote.name}"

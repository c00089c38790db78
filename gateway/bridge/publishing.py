"""From a published message to the queues that hold it: checks, route, alternate, answer.

A publish is all or nothing: every check is made before the first copy goes in. A message that is
moved to an alternate exchange later has been accepted already, so there each queue is asked alone.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.exchanges.marks import Marks
from gateway.bridge.numbers import Numbers
from gateway.bridge.queues.contents import FILE, STREAM
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import Stock
from gateway.bridge.refusals import closed, not_found
from gateway.bridge.seams import (
    DONE,
    IMMEDIATE_UNTAKEN,
    IN_TURN,
    PENDING,
    UNROUTABLE,
    Published,
    Publisher,
    PublishStatus,
)
from gateway.bridge.spread.displacing import Displacing
from gateway.bridge.spread.entering import Late, LongPublish
from gateway.bridge.spread.rerouting import Rerouting
from gateway.bridge.tickets import Ticket
from gateway.bridge.topology import UNKNOWN_EXCHANGE, Topology
from gateway.bridge.transaction import Held, Transaction, give_room, hold, let_go, refuse_deleted
from gateway.message import ACCEPTED, RELEASED, Condition, Flag, Message, Refusal
from gateway.wire.work import COPY, PUBLISH, VERB, WORDS_MAX, WORK, too_many_words

IMMEDIATE: Final = int(Flag.IMMEDIATE)
HELD_ENOUGH: Final = "the gateway holds as much as it may, or as much as it may of yours"
NOWHERE: Final = UNKNOWN_EXCHANGE  # the exchange of a message that is refused before it is routed


@final
class Publishing:
    """The verb publish of one virtual host, and the way to alternate exchanges.

    Implements `entering.Places`, `rerouting.Ways`, `displacing.Letting`, `bindings.Repeating`.

    Attributes:
        displacing: what copies take the place of that came in.
    """

    __slots__ = ("_copies", "_numbers", "_topology", "displacing")

    def __init__(self, topology: Topology, copies: Copies, numbers: Numbers) -> None:
        self._topology = topology
        self._copies = copies
        self._numbers = numbers
        self.displacing = Displacing(copies, self)

    def publish(
        self,
        message: Message,
        publisher: Publisher | None,
        token: int,
        link: int = 0,
        transaction: Transaction | None = None,
    ) -> Published:
        """Route `message` by its `exchange` and `routing_key` and put a copy in each queue.

        One copy a queue, however many bindings match. `DONE`: every copy is in its queue, nothing
        durable among them; or no queue that it is for lets it in. `IN_TURN`: safe with the current
        turn (`Bridge.wait`). `PENDING`: the copies are in, but one goes to an upstream, or too much
        is held, in all or in one of the queues; or they are too many for one turn:
        `publisher.on_published(token, outcome)` follows at the end of a turn (without a publisher
        the answer is as if there were room); released, modified and rejected of an upstream are
        told as they are to who has `Flag.OUTCOMES`.
        `UNROUTABLE`: no queue took it, nor the exchange's alternate, which is tried once unless the
        message has `Flag.TELL_UNROUTABLE` or `Flag.DISCARD_UNROUTABLE`. `REFUSED`: nothing was
        enqueued; not-found (no such exchange), resource-limit-exceeded (a queue is full, or the
        bindings look at too much of it), invalid-argument (its key has too many words) or
        unauthorized-access (it names the queue of a durable subscription). `link` is the
        publisher's number in the audit log (`Bridge.numbers.next_link`). `transaction` is given by
        `Transacting.publish` only.
        """
        topology = self._topology
        exchange = topology.exchanges.get(message.exchange)
        if exchange is None:
            exchange = topology.find_exchange(message.exchange)
        if exchange is None:
            self._refuse(message, topology.unknown, Reason.NOT_FOUND, 0, link)
            return Published(PublishStatus.REFUSED, not_found("exchange", message.exchange))
        if self._copies.pressure.full(message.publisher):
            self._refuse(message, exchange, Reason.QUEUE_FULL, 0, link)
            return _refused(HELD_ENOUGH)
        if exchange.marks is not None:
            message = self._mark(exchange.marks, message, transaction)
        queues = self.route(exchange, message)
        if not queues:
            if queues is None:
                return self._unroutable(message, exchange, link)
            if self._is_kept_out(exchange, message):
                return self._keep_out(message, exchange, link)
            return self._unrouted(message, exchange, publisher, token, link, transaction)
        if message.flags & IMMEDIATE:
            queues = self._ready(queues, message)
            if not queues:
                self._copies.ledger.received(message, exchange, 1, link)
                self._copies.ledger.unroutable(message, exchange, Reason.IMMEDIATE)
                return IMMEDIATE_UNTAKEN
        full = _first_full(queues, message)
        if full is not None:
            self._refuse(message, exchange, Reason.QUEUE_FULL, full.node, link)
            return _refused(full.why_full())
        if transaction is not None:
            refusal = self._join(transaction, queues, message)
            if refusal is not None:
                return self._refuse_in(refusal, message, exchange, link)
        self._copies.ledger.received(message, exchange, len(queues), link)
        ticket = self._ticket(queues, message, publisher, token, transaction)
        if transaction is not None:
            return self._hold(transaction, Held(message, exchange, queues, False, ticket))
        if len(queues) > self._copies.entering.few and self._waits(queues):
            held = Held(message, exchange, queues, False, ticket)
            return self._put_off(held, publisher, token)
        durable = self._enter(queues, message, exchange, False, b"", ticket)
        return self._answer(durable, message, publisher, token, ticket)

    def refuse(self, message: Message, reason: Reason, link: int = 0) -> None:
        """Put into the books that a message came, and that its face does not publish it.

        Whoever sent it may hear of that or not. Its exchange may be one that does not exist
        (`NOWHERE`, where nobody knows where it was to go).
        """
        topology = self._topology
        exchange = topology.exchanges.get(message.exchange, topology.unknown)
        self._refuse(message, exchange, reason, 0, link)

    def put(
        self,
        queue: Queue,
        message: Message,
        exchange: Exchange,
        ticket: Ticket | None,
        *,
        rerouted: bool = False,
        annotations: bytes = b"",
        stock: Stock | None = None,
    ) -> bool:
        """A copy into one queue, past routing and limits; whether it is durable."""
        return self._enter(queue.only, message, exchange, rerouted, annotations, ticket, stock)

    def enter(self, queues: list[Queue], held: Held) -> bool:
        """A copy into each queue: what a transaction held; whether any is durable."""
        if held.exchange.marks is not None and not held.exchange.deleted:
            held.exchange.marks.remember(held.message, self._copies.pressure)
        return self._enter(
            queues, held.message, held.exchange, held.rerouted, b"", None, held.stock
        )

    def rerouting(
        self,
        message: Message,
        exchange: Exchange,
        reason: Reason,
        annotations: bytes,
        stock: Stock,
        ticket: Ticket | None,
    ) -> Rerouting:
        """Send a message on through an alternate exchange, as far as whoever asks goes on."""
        return Rerouting(self, self._copies, message, exchange, reason, annotations, stock, ticket)

    def dead_letter(self, queue: Queue, entry: Entry, reason: Reason) -> Rerouting:
        """A copy leaves `queue`, which has an alternate exchange, for that; how it goes on."""
        alternate = self._topology.alternate_of(queue)
        assert alternate is not None
        ticket = entry.ticket
        entry.ticket = None
        self._copies.ledger.dead_lettered(queue, entry, reason)
        self._copies.leave(queue, entry)
        rerouting = self.rerouting(
            entry.message, alternate, reason, entry.annotations, entry.stock, ticket
        )
        if reason == Reason.QUEUE_DELETED:  # somebody may have made use of it
            rerouting.failures = entry.delivery_count - entry.message.delivery_count
        return rerouting

    def alternate_of_queue(self, queue: Queue) -> Exchange | None:
        """See `Letting`."""
        return self._topology.alternate_of(queue)

    def alternate_of(self, exchange: Exchange) -> Exchange | None:
        """Where what `exchange` cannot route goes."""
        name = exchange.alternate_exchange
        return self._topology.find_exchange(name) if name else None

    def route(self, exchange: Exchange, message: Message) -> list[Queue] | None:
        """To which queues that let it in; `None`: that is too much work to say."""
        queues = exchange.router.route(message)
        if self._topology.keeping_out == 0 or queues is None:
            return queues
        given_up = WORK.given_up
        end = WORK.units + VERB
        found: list[Queue] = []
        for queue in queues:
            if not queue.keeps_out(message):
                found.append(queue)
            # What a filter was given up on may be what its queue is there for.
            if WORK.units > end or WORK.given_up > given_up:
                return None
        return found

    def _mark(self, marks: Marks, message: Message, transaction: Transaction | None) -> Message:
        """What an exchange does with all that comes; of a transaction it remembers with its end."""
        message = marks.number(message)
        if transaction is None:
            marks.remember(message, self._copies.pressure)
        return message

    def repeat(self, exchange: Exchange) -> None:
        """See `Repeating`: as if the message that came last came once more."""
        marks = exchange.marks
        last = None if marks is None else marks.last(self._copies.ledger.now_ms)
        if last is not None:
            number = self._numbers.next_message()
            self.publish(last.with_octets(last.payload, last.body_at, number), None, 0)

    def _is_kept_out(self, exchange: Exchange, message: Message) -> bool:
        """Whether it is for a queue, but for none that lets it in."""
        if self._topology.keeping_out == 0:
            return False
        queues = exchange.router.route(message)
        return queues is not None and not all([queue.deleted for queue in queues])

    def _keep_out(self, message: Message, exchange: Exchange, link: int) -> Published:
        """It has come where it was to go, and is not wanted: its publisher need not hear of it."""
        WORK.units += PUBLISH + COPY
        self._copies.ledger.received(message, exchange, 1, link)
        self._copies.ledger.unroutable(message, exchange, Reason.NOT_ALLOWED)
        return DONE

    def _unrouted(
        self,
        message: Message,
        exchange: Exchange,
        publisher: Publisher | None,
        token: int,
        link: int,
        transaction: Transaction | None,
    ) -> Published:
        """No binding matched: once to the alternate exchange, unless the publisher wants else."""
        if not exchange.name:
            queue = self._topology.queues.get(message.routing_key)
            if queue is not None and queue.settings.subscriber is not None:
                self._refuse(message, exchange, Reason.NOT_ALLOWED, queue.node, link)
                return Published(PublishStatus.REFUSED, closed(queue))
        WORK.units += PUBLISH + COPY  # its records are the same
        ledger = self._copies.ledger
        alternate = self.alternate_of(exchange)
        if alternate is None or message.flags & (Flag.TELL_UNROUTABLE | Flag.DISCARD_UNROUTABLE):
            discard = message.flags & Flag.DISCARD_UNROUTABLE
            ledger.received(message, exchange, 1, link)
            ledger.unroutable(
                message, exchange, Reason.DISCARD_UNROUTABLE if discard else Reason.NO_BINDING
            )
            return UNROUTABLE
        if alternate.marks is not None:
            message = self._mark(alternate.marks, message, transaction)
        queues = self.route(alternate, message)
        if queues is None:
            return self._unroutable(message, exchange, link)
        full = _first_full(queues, message)
        if full is not None:
            self._refuse(message, exchange, Reason.QUEUE_FULL, full.node, link)
            return _refused(full.why_full())
        if transaction is not None and queues:
            refusal = self._join(transaction, queues, message)
            if refusal is not None:
                return self._refuse_in(refusal, message, exchange, link)
        ledger.received(message, exchange, 1, link)
        ledger.unroutable(message, exchange, Reason.ALTERNATE_EXCHANGE)
        ledger.routed(message, alternate, len(queues), Reason.ALTERNATE_EXCHANGE)
        if not queues:
            ledger.unroutable(message, alternate, Reason.NO_BINDING)
            return UNROUTABLE
        ticket = self._ticket(queues, message, publisher, token, transaction)
        if transaction is not None:
            return self._hold(transaction, Held(message, alternate, queues, True, ticket))
        if len(queues) > self._copies.entering.few and self._waits(queues):
            return self._put_off(Held(message, alternate, queues, True, ticket), publisher, token)
        durable = self._enter(queues, message, alternate, True, b"", ticket)
        return self._answer(durable, message, publisher, token, ticket)

    def _enter(
        self,
        queues: list[Queue],
        message: Message,
        exchange: Exchange,
        rerouted: bool,
        annotations: bytes,
        ticket: Ticket | None,
        stock: Stock | None = None,
    ) -> bool:
        """A copy into each queue, for `stock` or its publisher's; whether any is durable."""
        copies: int64 = len(queues)
        WORK.units += PUBLISH + COPY * copies
        lines = self._topology.lines
        durable = False
        for queue in queues:
            if queue.transit:
                if self._pass_on(queue, message, exchange, rerouted, annotations, ticket, stock):
                    durable = True
            elif self._copies.enter(queue, message, exchange, rerouted, annotations, stock, ticket):
                durable = True
            if queue.displaces or message.flags & STREAM:
                self.displacing.came(queue)
            lines[queue.number].on_entered()
        if durable and ticket is not None:
            ticket.turn = self._copies.turns.number
        return durable

    def _waits(self, queues: list[Queue]) -> bool:
        """Whether so many copies, or what is before them, are too much for this turn."""
        return self._copies.entering.puts_off(PUBLISH + COPY * len(queues))

    def _put_off(self, held: Held, publisher: Publisher | None, token: int) -> Published:
        """Its copies enter over several turns, or behind those of others."""
        copies = self._copies
        hold(held, copies.pressure)
        size = len(held.message.payload)
        for queue in held.queues:
            queue.promise(1, size)
        copies.entering.put_off(LongPublish(self, copies.turns, held, publisher, token))
        if publisher is not None:
            return PENDING
        return IN_TURN if held.message.durable else DONE

    def go_on(self, held: Held, end: int, late: Late | None) -> bool:
        """Put copies into its queues until `WORK.units` is above `end`; whether all are in.

        Of its queues that are deleted, `late` may know more than that.
        """
        queues = held.queues
        while held.next < len(queues):
            if WORK.units > end:
                return False
            count: int = (end - WORK.units) // COPY
            part = queues[held.next : held.next + max(1, count)]
            if late is not None:
                part = _alike(part)
            held.next += len(part)
            held.exchange.pending -= len(part)
            give_room(len(part), held, self._copies.pressure)
            use_room(part, held.message)
            if late is not None:
                part = self._decided(part, held, late)
            living = refuse_deleted(held, part, self._copies.ledger)
            if held.ticket is not None:
                for queue in part:
                    if queue.deleted and queue.transit:
                        self._copies.tickets.end(held.ticket, RELEASED)
            if self._enter(
                living,
                held.message,
                held.exchange,
                held.rerouted,
                b"",
                held.ticket,
                held.stock,
            ):
                held.durable = True
        return True

    def _decided(self, queues: list[Queue], held: Held, late: Late) -> list[Queue]:
        """Without those queues that were deleted after it was decided that it enters them."""
        rest: list[Queue] = []
        for queue in queues:
            if queue.deleted and late.awaits(queue):
                WORK.units += COPY
                if late.enter_deleted(queue, held):
                    held.durable = True
            else:
                rest.append(queue)
        return rest

    def on_entered(self, held: Held, publisher: Publisher | None, token: int) -> None:
        """All copies of a publish that was put off are in: its publisher is to be told."""
        copies = self._copies
        let_go(held, copies.pressure)
        published = self._answer(held.durable, held.message, publisher, token, held.ticket)
        if publisher is not None and published.status != PublishStatus.PENDING:
            copies.tickets.over(publisher, token, ACCEPTED, copies.turns.number)

    def _pass_on(
        self,
        queue: Queue,
        message: Message,
        exchange: Exchange,
        rerouted: bool,
        annotations: bytes,
        ticket: Ticket | None,
        stock: Stock | None,
    ) -> bool:
        """A copy towards an upstream: stored when nobody waits who would send it again."""
        if ticket is None:
            message.flags &= ~Flag.OUTCOMES
            if message.durable:
                self._topology.rows.store_transit(queue)
        return self._copies.pass_on(
            queue,
            message,
            exchange,
            ticket,
            rerouted=rerouted,
            annotations=annotations,
            stock=stock,
        )

    def _ticket(
        self,
        queues: list[Queue],
        message: Message,
        publisher: Publisher | None,
        token: int,
        transaction: Transaction | None,
    ) -> Ticket | None:
        """For what its publisher may have to wait for: copies to upstreams, or in stopped queues.

        In a transaction it waits for no queue: the commit does not either.
        """
        copies = 0
        flows = False
        for queue in queues:
            if queue.transit:
                copies += 1
            elif queue.flow is not None:
                flows = True
        if publisher is None:
            return None
        tickets = self._copies.tickets
        if transaction is not None:
            ticket = tickets.begin(publisher, token, copies) if copies else None
        else:
            ticket = tickets.enter(publisher, token, copies) if copies or flows else None
        if ticket is not None:
            ticket.stays = copies < len(queues)
            ticket.connection = message.publisher
        return ticket

    def _join(
        self, transaction: Transaction, queues: list[Queue], message: Message
    ) -> Refusal | None:
        """Whether a publish may be part of a transaction: what it says, and if there is room."""
        refusal = transaction.enlist(queues) or transaction.room_for(message, len(queues))
        if refusal is not None:
            return refusal
        pressure = self._copies.pressure
        copies = len(queues)
        octets = copies * len(message.payload)
        if pressure.has_room(copies, octets, pressure.stock_of(message.publisher)):
            return None
        return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, HELD_ENOUGH)

    def _hold(self, transaction: Transaction, publish: Held) -> Published:
        """Part of a transaction: done as far as its publisher goes, or the upstream's to say."""
        transaction.hold(publish, self._copies.pressure)
        return DONE if publish.ticket is None else PENDING

    def _answer(
        self,
        durable: bool,
        message: Message,
        publisher: Publisher | None,
        token: int,
        ticket: Ticket | None,
    ) -> Published:
        tickets = self._copies.tickets
        counts = self._copies.ledger.counts
        if ticket is not None and ticket.counted:
            tickets.entered(ticket)
            return PENDING
        if message.durable and not durable:
            message.flags |= Flag.TRANSIENT_COPY
        if ticket is not None and tickets.entered(ticket):
            counts.withheld += 1
            return PENDING
        pressure = self._copies.pressure
        if publisher is not None and pressure.holds_back(message.publisher):
            counts.pending += 1
            pressure.hold_back(
                self._copies.turns.number, publisher, token, connection=message.publisher
            )
            return PENDING
        return IN_TURN if durable else DONE

    def _ready(self, queues: list[Queue], message: Message) -> list[Queue]:
        lines = self._topology.lines
        return [queue for queue in queues if lines[queue.number].has_ready_consumer(message)]

    def _unroutable(self, message: Message, exchange: Exchange, link: int) -> Published:
        """The bindings cannot be asked about it: none of them gets it."""
        WORK.refused += 1
        self._refuse(message, exchange, Reason.TOO_LARGE, 0, link)
        if too_many_words(message.routing_key):
            why = f"the routing key has more than {WORDS_MAX} words"
            return Published(PublishStatus.REFUSED, Refusal(Condition.INVALID_ARGUMENT, why))
        return _refused("to match it with the bindings of the exchange is too much work")

    def _refuse_in(
        self,
        refusal: Refusal,
        message: Message,
        exchange: Exchange,
        link: int,
    ) -> Published:
        """The transaction cannot hold it."""
        full = refusal.condition == Condition.RESOURCE_LIMIT_EXCEEDED
        reason = Reason.QUEUE_FULL if full else Reason.NOT_ALLOWED
        self._refuse(message, exchange, reason, 0, link)
        return Published(PublishStatus.REFUSED, refusal)

    def _refuse(
        self, message: Message, exchange: Exchange, reason: Reason, node: int, link: int
    ) -> None:
        WORK.units += PUBLISH + COPY
        self._copies.ledger.received(message, exchange, 1, link)
        self._copies.ledger.refused(message, exchange, reason, node)


def _refused(why: str) -> Published:
    return Published(PublishStatus.REFUSED, Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, why))


def _alike(queues: list[Queue]) -> list[Queue]:
    """The first of them if it is deleted, as what is in that may go to many; else up to such."""
    for at, queue in enumerate(queues):
        if queue.deleted:
            return queues[: max(1, at)]
    return queues


def use_room(queues: list[Queue], message: Message) -> None:
    """Copies come for which room was kept."""
    size = len(message.payload)
    for queue in queues:
        queue.promise(-1, -size)


def _first_full(queues: list[Queue], message: Message) -> Queue | None:
    if message.flags & FILE:
        for queue in queues:
            queue.await_files()
    for queue in queues:
        if queue.is_full_for(message):
            return queue
    return None

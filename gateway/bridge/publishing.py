"""From a published message to the queues that hold it: checks, route, alternate, answer.

A publish is all or nothing: every check is made before the first copy goes in. A message that is
moved to an alternate exchange later has been accepted already, so there each queue is asked alone.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.exchanges.marks import Marks
from gateway.bridge.numbers import Numbers
from gateway.bridge.placing import Placing
from gateway.bridge.queues.bands import FILE
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import Stock
from gateway.bridge.refusals import closed, homeless, not_found
from gateway.bridge.seams import (
    DONE,
    IMMEDIATE_UNTAKEN,
    UNROUTABLE,
    Published,
    Publisher,
    PublishStatus,
)
from gateway.bridge.spread.displacing import Displacing
from gateway.bridge.spread.rerouting import Rerouting
from gateway.bridge.tickets import Ticket
from gateway.bridge.topology import UNKNOWN_EXCHANGE, Topology
from gateway.bridge.transaction import Held, Transaction
from gateway.message import ACCEPTED, Condition, Flag, Message, Refusal
from gateway.wire.work import COPY, PUBLISH, VERB, WORDS_MAX, WORK, too_many_words

IMMEDIATE: Final = int(Flag.IMMEDIATE)
HELD_ENOUGH: Final = "the gateway holds as much as it may, or as much as it may of yours"
NOWHERE: Final = UNKNOWN_EXCHANGE  # the exchange of a message that is refused before it is routed


@final
class Publishing:
    """The verb publish of one virtual host, and the way to alternate exchanges.

    Implements `rerouting.Ways`, `displacing.Letting`, `bindings.Repeating`.

    Attributes:
        displacing: what copies take the place of that came in.
        placing: puts copies into queues.
    """

    __slots__ = ("_copies", "_numbers", "_topology", "displacing", "placing")

    def __init__(self, topology: Topology, copies: Copies, numbers: Numbers) -> None:
        self._topology = topology
        self._copies = copies
        self._numbers = numbers
        self.displacing = Displacing(copies, self)
        self.placing = Placing(topology, copies, self.displacing)

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
        enqueued; not-found (no such exchange), not-allowed (at most another gateway of the group
        could route it), resource-limit-exceeded (a queue is full, or the bindings look at too much
        of it), invalid-argument (its key has too many words) or
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
        if self._copies.ledger.tracer is not None:
            self._copies.ledger.tracer.arrives(message)
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
        refused = self._no_room(queues, message, exchange, link, transaction)
        if refused is not None:
            return refused
        self._copies.ledger.received(message, exchange, len(queues), link)
        return self.placing.place(queues, message, exchange, False, publisher, token, transaction)

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
        return self.placing.enter(
            queue.only, message, exchange, rerouted, annotations, ticket, stock
        )

    def take(
        self,
        by: Publisher,
        token: int,
        queue: Queue,
        message: Message,
        exchange: Exchange,
        *,
        keep: bool,
    ) -> None:
        """A copy of what an upstream has sent into one queue; `by` hears of its end.

        `keep`: it is the gateway's as soon as it is safe; otherwise as soon as the queue's upstream
        has it.
        """
        copies = self._copies
        if not keep:
            self.put(queue, message, exchange, copies.tickets.begin(by, token, 1))
            return
        durable = self.put(queue, message, exchange, None)
        copies.tickets.over(by, token, ACCEPTED, copies.turns.number if durable else 0)

    def enter(self, queues: list[Queue], held: Held) -> bool:
        """A copy into each queue: what a transaction held; whether any is durable."""
        if held.exchange.marks is not None and not held.exchange.deleted:
            held.exchange.marks.remember(held.message, self._copies.pressure)
        return self.placing.enter(
            queues,
            held.message,
            held.exchange,
            held.rerouted,
            b"",
            None,
            held.stock,
            published=held.published,
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
        if not self._topology.local_nodes:
            self._refuse(message, exchange, Reason.NOT_ALLOWED, 0, link)
            if exchange.name:
                return Published(PublishStatus.REFUSED, homeless("exchange", exchange.name))
            return Published(PublishStatus.REFUSED, homeless("queue", message.routing_key))
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
        refused = self._no_room(queues, message, exchange, link, transaction)
        if refused is not None:
            return refused
        ledger.received(message, exchange, 1, link)
        ledger.unroutable(message, exchange, Reason.ALTERNATE_EXCHANGE)
        ledger.routed(message, alternate, len(queues), Reason.ALTERNATE_EXCHANGE)
        if not queues:
            ledger.unroutable(message, alternate, Reason.NO_BINDING)
            return UNROUTABLE
        return self.placing.place(queues, message, alternate, True, publisher, token, transaction)

    def _no_room(
        self,
        queues: list[Queue],
        message: Message,
        exchange: Exchange,
        link: int,
        transaction: Transaction | None,
    ) -> Published | None:
        """The answer where one of the queues cannot take it, or the transaction."""
        full = _first_full(queues, message)
        if full is not None:
            self._refuse(message, exchange, Reason.QUEUE_FULL, full.node, link)
            return _refused(full.why_full())
        if transaction is not None and queues:
            refusal = self._join(transaction, queues, message)
            if refusal is not None:
                return self._refuse_in(refusal, message, exchange, link)
        return None

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


def _first_full(queues: list[Queue], message: Message) -> Queue | None:
    if message.flags & FILE:
        for queue in queues:
            queue.await_files()
    for queue in queues:
        if queue.is_full_for(message):
            return queue
    return None

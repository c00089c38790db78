"""Copies of a message into the queues that it is for: at once, or over several turns.

Whether they may come in has been asked before, and room for those that come later is kept.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64 as int64

from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.bands import STREAM
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.latency import DISK, MEMORY, UPSTREAM
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import Stock
from gateway.bridge.remote.shadows import Shadows
from gateway.bridge.seams import DONE, IN_TURN, PENDING, Published, Publisher, PublishStatus
from gateway.bridge.spread.displacing import Displacing
from gateway.bridge.spread.entering import Late, LongPublish
from gateway.bridge.tickets import Ticket
from gateway.bridge.topology import Topology
from gateway.bridge.transaction import Held, Transaction, give_room, hold, let_go, refuse_deleted
from gateway.message import ACCEPTED, RELEASED, Flag, Message
from gateway.wire.work import COPY, PUBLISH, WORK


@final
class Placing:
    """Those of one virtual host. Implements `entering.Places`.

    Attributes:
        shadows: of its queues.
    """

    __slots__ = ("_copies", "_displacing", "_topology", "shadows")

    def __init__(self, topology: Topology, copies: Copies, displacing: Displacing) -> None:
        self.shadows = Shadows(topology, copies)
        self._topology = topology
        self._copies = copies
        self._displacing = displacing

    def place(
        self,
        queues: list[Queue],
        message: Message,
        exchange: Exchange,
        rerouted: bool,
        publisher: Publisher | None,
        token: int,
        transaction: Transaction | None,
    ) -> Published:
        """All have room: a copy into each, with the transaction's end or over several turns."""
        ticket = self._ticket(queues, message, publisher, token, transaction)
        if transaction is not None:
            return self._hold(transaction, Held(message, exchange, queues, rerouted, ticket))
        if len(queues) > self._copies.entering.few and self._waits(queues):
            held = Held(message, exchange, queues, rerouted, ticket)
            return self._put_off(held, publisher, token)
        durable = self.enter(queues, message, exchange, rerouted, b"", ticket)
        answer = self._answer(durable, message, publisher, token, ticket)
        if publisher is not None and answer.status != PublishStatus.PENDING:
            arrivals = self._copies.ledger.latency.arrivals[message.encoding]
            if durable:
                arrivals.stored += 1
            else:
                arrivals.told += 1
        return answer

    def enter(
        self,
        queues: list[Queue],
        message: Message,
        exchange: Exchange,
        rerouted: bool,
        annotations: bytes,
        ticket: Ticket | None,
        stock: Stock | None = None,
        *,
        published: bool = False,
    ) -> bool:
        """A copy into each queue, for `stock` or its publisher's; whether any is durable.

        `published`: as what is not `rerouted`, it may have a shadow.
        """
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
                self._displacing.came(queue)
            lines[queue.number].on_entered()
            if queue.shadowed and (published or not rerouted) and not _may_fall(ticket):
                self.shadows.on_published(queue, message)
        if durable and ticket is not None:
            ticket.turn = self._copies.turns.number
        return durable

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
            self._time(ticket, message, UPSTREAM if copies else MEMORY)
        return ticket

    def _time(self, ticket: Ticket, message: Message, target: int) -> None:
        """How long its publisher waits is told with its end."""
        latency = self._copies.ledger.latency
        ticket.run = latency.arrivals[message.encoding].runs[target]
        ticket.since_us = latency.now_us

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
            latency = self._copies.ledger.latency
            pressure.hold_back(
                self._copies.turns.number,
                publisher,
                token,
                connection=message.publisher,
                run=latency.arrivals[message.encoding].runs[DISK if durable else MEMORY],
                since_us=latency.now_us,
            )
            return PENDING
        return IN_TURN if durable else DONE

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
            if self.enter(
                living,
                held.message,
                held.exchange,
                held.rerouted,
                b"",
                held.ticket,
                held.stock,
                published=held.published,
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


def _alike(queues: list[Queue]) -> list[Queue]:
    """The first of them if it is deleted, as what is in that may go to many; else up to such."""
    for at, queue in enumerate(queues):
        if queue.deleted:
            return queues[: max(1, at)]
    return queues


def _may_fall(ticket: Ticket | None) -> bool:
    """Whether it is part of a transaction at an upstream."""
    return ticket is not None and ticket.transaction is not None


def use_room(queues: list[Queue], message: Message) -> None:
    """Copies come for which room was kept."""
    size = len(message.payload)
    for queue in queues:
        queue.promise(-1, -size)

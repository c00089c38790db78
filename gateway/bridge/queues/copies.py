"""Copies come into queues and leave them: the one place where memory, store and totals change.

What is recorded of it is the caller's to say (`ledger`), since copies come and go for many reasons.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.ledger import Ledger
from gateway.bridge.paging.away import AwayPage, Back
from gateway.bridge.paging.laying import Laying
from gateway.bridge.paging.paging import LARGE, Paging
from gateway.bridge.pressure import Pressure
from gateway.bridge.queues.alarms import Alarm, Alarms
from gateway.bridge.queues.deadlines import Deadlines
from gateway.bridge.queues.places import AVAILABLE, DELIVERY_COUNT_MAX, PAGE_MASK, Entry, Page
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import Stock
from gateway.bridge.spread.entering import Entering, Hiding
from gateway.bridge.tickets import Ticket, Tickets
from gateway.bridge.turns import TurnBook
from gateway.message import ACCEPTED, NEVER, Message, Outcome, OutcomeKind

EXPIRED_BEHIND: Final = Outcome(OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True)


@final
class Copies:
    """Puts copies in and takes them out, in memory and in the turn's writes. Implements `Losing`.

    Attributes:
        entering: what comes in over several turns.
        alarms: which queues hold much, for people.
        paging: which of them are on disk.
        hiding: who hides the queues that dead letters come to, while a long commit is done.
    """

    __slots__ = (
        *("alarms", "deadlines", "entering", "hiding", "ledger", "paging", "pressure", "tickets"),
        "turns",
    )

    def __init__(
        self,
        ledger: Ledger,
        turns: TurnBook,
        pressure: Pressure,
        deadlines: Deadlines,
        entering: Entering,
        paging: Paging,
    ) -> None:
        self.alarms = Alarms()
        self.entering = entering
        self.paging = paging
        paging.losing = self
        self.hiding: Hiding | None = None
        self.ledger = ledger
        self.turns = turns
        self.pressure = pressure
        self.deadlines = deadlines
        self.tickets = Tickets(pressure)

    def enter(
        self,
        queue: Queue,
        message: Message,
        exchange: Exchange,
        rerouted: bool,
        annotations: bytes = b"",
        stock: Stock | None = None,
        ticket: Ticket | None = None,
    ) -> bool:
        """A new copy at the end of `queue`; whether it is a durable one.

        `stock`: whose quota it counts for; `None`: its publisher's. `ticket`: of its publish.
        """
        durable = message.durable and queue.settings.durable
        self._put(queue, message, exchange, durable, rerouted, annotations, None, stock)
        flow = queue.flow
        if flow is not None and flow.stopped and ticket is not None and ticket.entering:
            flow.withhold(queue.next_position - 1, ticket)
        return durable

    def pass_on(
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
        """A new copy at the end of a transit queue; stored, if it is durable and nobody waits."""
        durable = ticket is None and message.durable and queue.rows.written
        self._put(queue, message, exchange, durable, rerouted, annotations, ticket, stock)
        return durable

    def _put(
        self,
        queue: Queue,
        message: Message,
        exchange: Exchange,
        durable: bool,
        rerouted: bool,
        annotations: bytes,
        ticket: Ticket | None,
        stock: Stock | None,
    ) -> None:
        if stock is None:
            stock = self.pressure.stock_of(message.publisher)
        size = len(message.payload)
        if size >= LARGE:
            self.paging.make_room(queue, size)
        entry = queue.append(message, durable, stock)
        entry.ticket = ticket
        entry.entered_us = self.ledger.latency.now_us
        self.pressure.entered(size, stock)
        if entry.position & PAGE_MASK == 0:
            self.paging.began(queue)
        if message.expires_ms != NEVER:
            self.deadlines.arm(queue, message.expires_ms)
        if durable:
            self.turns.store_message(message)
            self.turns.writes.enqueue(queue.number, entry.position, message.id)
        if queue.alarm is not None:
            self._alert(queue, queue.alarm)
        self.ledger.entered(queue, entry, exchange, rerouted)
        if annotations:
            self.annotate(queue, entry, annotations)

    def recover(self, queue: Queue, entry: Entry) -> None:
        """A copy that the store brought back; positions ascend."""
        queue.put(entry)
        queue.recovered += 1
        entry.stock = self.pressure.quotas.of_host(queue.host)
        size = len(entry.message.payload) + len(entry.annotations)
        self.pressure.entered(size, entry.stock)
        if entry.message.expires_ms != NEVER:
            self.deadlines.arm(queue, entry.message.expires_ms)
        if queue.alarm is not None:
            self._alert(queue, queue.alarm)
        self.be_last(queue, entry)
        tail = queue.places.tail
        if tail is not None and tail.live == 1:
            self.paging.recovered(queue)

    def lay(self, queue: Queue, laying: Laying) -> None:
        """A page that the store brought back, and that stays on disk."""
        summary = laying.summary()
        queue.recovered += summary.messages
        self.paging.laid(queue, laying.number, summary, laying.kinds)
        if laying.earliest_ms != NEVER:
            queue.expiring.came(laying.first, laying.earliest_ms)
            self.deadlines.arm(queue, laying.earliest_ms)
        if queue.alarm is not None:
            self._alert(queue, queue.alarm)

    def _alert(self, queue: Queue, alarm: Alarm) -> None:
        self.alarms.look(alarm, queue.places.count, queue.octets, self.ledger.now_ms)

    def be_last(self, queue: Queue, entry: Entry) -> None:
        """A copy that came in is the last value of its key: the one before leaves, if it can."""
        if queue.last_values is not None:
            position = queue.last_values.put(entry)
            older = queue.places.get(position)
            if older is not None and older.holder == AVAILABLE:
                self.replace(queue, older)
            elif older is None and queue.places.is_away(position):
                self._replace_away(queue, position)

    def replace(self, queue: Queue, entry: Entry) -> None:
        """There is a newer one of its key."""
        self.ledger.replaced(queue, entry.message.id, entry.position)
        self.leave(queue, entry)

    def _replace_away(self, queue: Queue, position: int) -> None:
        """The same of one that is on disk, and need not come back for that."""
        if not queue.places.holds(position):
            return
        copy = self.paging.take_out(queue, position)
        self.ledger.replaced(queue, copy.message, position)
        if copy.durable:
            self.turns.writes.dequeue(queue.number, position)
        self._let_go(queue, position)
        self._look(queue)

    def leave(self, queue: Queue, entry: Entry, outcome: Outcome = ACCEPTED) -> None:
        """A copy is gone; `outcome` is for whoever awaits its end, if anybody does."""
        queue.remove(entry)
        size = len(entry.message.payload) + len(entry.annotations)
        self.pressure.left(size, entry.stock)
        if entry.durable:
            self.turns.writes.dequeue(queue.number, entry.position)
        ticket = entry.ticket
        if ticket is not None:
            entry.ticket = None
            self.tickets.end(ticket, outcome)
        self._let_go(queue, entry.position)
        self._look(queue)

    def _let_go(self, queue: Queue, position: int) -> None:
        """A publish waits for that copy no more."""
        flow = queue.flow
        if flow is not None and flow.withheld:
            for withheld in flow.let_go(position):
                self.tickets.end(withheld, None)

    def _look(self, queue: Queue) -> None:
        """There is less in it than there was."""
        if queue.alarm is not None:
            self._alert(queue, queue.alarm)
        if queue.emptied is not None and queue.places.count == 0:
            queue.emptied.on_empty(queue)

    def lose(self, queue: Queue, page: Page, away: AwayPage, back: Back) -> None:
        """See `Losing`. The store, if it has one of them, keeps it."""
        for position, message, _ in back.lost:
            self.ledger.lost(queue, message, position)
            self._let_go(queue, position)
        for number, source in enumerate(away.sources):
            self.pressure.lost(back.messages[number], back.octets[number], source.stock)
        queue.lose(page, back.lost, away.payload - back.payload)
        self._look(queue)

    def end_flow(self, queues: list[Queue]) -> None:
        """Nobody makes room in these any more: no publish is to wait for that."""
        for queue in queues:
            if queue.flow is not None:
                for withheld in queue.flow.let_all_go():
                    self.tickets.end(withheld, None)
                queue.flow = None

    def hollow(self, queue: Queue, entry: Entry) -> None:
        """An acquired copy need not be sent again: its octets are let go, its place stays."""
        size = len(entry.message.payload)
        queue.octets -= size
        self.pressure.changed(-size, entry.stock)
        entry.message = entry.message.hollow()

    def give_back(self, queue: Queue, entry: Entry) -> None:
        """An acquired copy is available again."""
        queue.give_back(entry)
        if entry.message.expires_ms != NEVER:
            self.deadlines.arm(queue, entry.message.expires_ms)

    def failed(self, queue: Queue, entry: Entry) -> None:
        """A delivery of the copy has failed: it counts."""
        if entry.delivery_count < DELIVERY_COUNT_MAX:
            entry.delivery_count += 1
        if entry.durable:
            self._store_state(queue, entry)

    def have_failed(self, queue: Queue, count: int) -> None:
        """So many deliveries have failed of what came last into `queue`, before it did."""
        entry = queue.places.get(queue.next_position - 1)
        if entry is None:
            return  # it has been displaced at once
        entry.delivery_count = min(entry.delivery_count + count, DELIVERY_COUNT_MAX)
        if entry.durable:
            self._store_state(queue, entry)

    def annotate(self, queue: Queue, entry: Entry, annotations: bytes) -> None:
        """The copy's annotations are `annotations` from now on."""
        self.pressure.changed(len(annotations) - len(entry.annotations), entry.stock)
        entry.annotations = annotations
        if entry.durable:
            self._store_state(queue, entry)

    def _store_state(self, queue: Queue, entry: Entry) -> None:
        count = entry.delivery_count
        if entry.position < queue.rows.seen_before:
            count -= 1  # a suspicion is added again each time that the copy comes back
        self.turns.writes.redelivered(queue.number, entry.position, count, entry.annotations)

    def expire(self, queue: Queue, entry: Entry) -> None:
        """An available copy whose time is over; to its upstream that is a failed delivery."""
        self.leave(queue, entry, EXPIRED_BEHIND if queue.inbound else ACCEPTED)
        self.ledger.expired(queue, entry)

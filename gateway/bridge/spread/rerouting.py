"""A message on its way through alternate exchanges: as far as there is work for, and then on.

It has left its queue, or was never in one, and goes to every queue of the first exchange that leads
to one with room. What a commit brings on this way is hidden like the rest of it, until all of that
is done.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import Stock
from gateway.bridge.tickets import Ticket
from gateway.message import ACCEPTED, Message
from gateway.wire.work import COPY, WORK

NO_END: Final = (1 << 62) - 1


class Ways(Protocol):
    """Where exchanges lead: those of a virtual host."""

    def route(self, exchange: Exchange, message: Message) -> list[Queue] | None:
        """To which queues; `None`: that is too much work to say."""

    def alternate_of(self, exchange: Exchange) -> Exchange | None:
        """Where what `exchange` cannot route goes."""

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


@final
class Rerouting:
    """One message.

    So it goes on until a queue takes it or there is no exchange left, each at most once; a full
    queue does not get it. One copy takes the room of the one that it was, and its `stock`; more
    have to have room of their own. Who awaits the end of that copy waits for these, too (`ticket`).

    Attributes:
        failures: failed deliveries of that copy, which count for these, too.
    """

    __slots__ = (
        "_annotations",
        "_copies",
        "_exchange",
        "_message",
        "_next",
        "_queues",
        "_reason",
        "_stock",
        "_taken",
        "_ticket",
        "_tried",
        "_ways",
        "failures",
    )

    def __init__(
        self,
        ways: Ways,
        copies: Copies,
        message: Message,
        exchange: Exchange,
        reason: Reason,
        annotations: bytes,
        stock: Stock,
        ticket: Ticket | None,
    ) -> None:
        self._ways = ways
        self._copies = copies
        self._message = message
        self._exchange: Exchange | None = exchange
        self._reason = reason
        self._annotations = annotations
        self._stock = stock
        self._ticket = ticket
        self.failures = 0
        self._tried: list[Exchange] = []
        self._queues: list[Queue] | None = None  # of the exchange that is tried last
        self._next = 0
        self._taken = False

    def go_on(self, end: int) -> bool:
        """Go on until `WORK.units` is above `end`; whether it has arrived, or is nowhere."""
        while self._exchange is not None:
            exchange = self._exchange
            if len(self._tried) == 0 or self._tried[-1] is not exchange:
                self._try(exchange)
            if self._queues is not None and not self._enter(self._queues, exchange, end):
                return False
            self._exchange = None if self._taken else self._onward(exchange)
        ticket = self._ticket
        if ticket is not None:
            self._ticket = None
            self._copies.tickets.end(ticket, ACCEPTED)
        return True

    def _try(self, exchange: Exchange) -> None:
        self._tried.append(exchange)
        queues = self._ways.route(exchange, self._message)
        self._queues = queues
        self._next = 0
        copies = 1 if queues is None else len(queues)
        self._copies.ledger.routed(self._message, exchange, copies, self._reason)
        if queues:
            exchange.pending += copies  # a checkpoint may be written before all are in

    def _enter(self, queues: list[Queue], exchange: Exchange, end: int) -> bool:
        """Into each of these that is not full, as long as there is room; whether all are seen."""
        copies = self._copies
        message = self._message
        ticket = self._ticket
        size = len(message.payload) + len(self._annotations)
        while self._next < len(queues):
            if WORK.units > end:
                return False
            queue = queues[self._next]
            self._next += 1
            exchange.pending -= 1
            reason = Reason.NONE
            if queue.deleted:  # since it began
                reason = Reason.QUEUE_DELETED
            elif queue.is_full_for(message) or (
                self._taken and not copies.pressure.has_room(1, size, self._stock)
            ):
                reason = Reason.QUEUE_FULL
            if reason != Reason.NONE:
                WORK.units += COPY
                copies.ledger.refused(message, exchange, reason, queue.node)
                continue
            if queue.transit and ticket is not None:
                ticket.left += 1
            if copies.hiding is not None:
                copies.hiding.hide(queue)
            self._ways.put(
                queue,
                message,
                exchange,
                ticket,
                rerouted=True,
                annotations=self._annotations,
                stock=self._stock,
            )
            if self.failures:
                copies.have_failed(queue, self.failures)
            self._taken = True
        return True

    def _onward(self, exchange: Exchange) -> Exchange | None:
        """No queue has taken it: the next exchange, if there is one."""
        ledger = self._copies.ledger
        queues = self._queues
        alternate = self._ways.alternate_of(exchange)
        onward = alternate is not None and alternate not in self._tried
        if queues is None:
            WORK.refused += 1
            ledger.refused(self._message, exchange, Reason.TOO_LARGE, 0)
        elif not queues:
            why = Reason.ALTERNATE_EXCHANGE if onward else Reason.NO_BINDING
            ledger.unroutable(self._message, exchange, why)
        self._reason = Reason.ALTERNATE_EXCHANGE
        return alternate if onward else None

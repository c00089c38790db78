"""The audit log's checkpoint: what every queue, subscription and exchange has, at one moment each.

If they are very many it is written over several turns, queues first, then outlets, then routes.
Each record is true of the moment that it is written at; what has come since the beginning is left
to the next checkpoint, and what has gone has none. Several queues may stand under one name -
deleted ones that hold copies still, absent ones, those behind an upstream - and have one record,
which is written in the first turn.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.durable.absent import AbsentQueue
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.host import VirtualHost
from gateway.bridge.ledger import Ledger
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.wire.work import CHECKPOINT, LOOK, WORK

NOTHING: Final = AbsentQueue(0)
NO_END: Final = (1 << 62) - 1


@final
class Checkpoint:
    """One checkpoint. Implements `Piecework`.

    Attributes:
        done: all of it is written.
    """

    __slots__ = (
        "_absent",
        "_begun",
        "_dispatcher",
        "_exchanges",
        "_hosts",
        "_ledger",
        "_next",
        "_queues",
        "_subscriptions",
        "_together",
        "done",
    )

    def __init__(
        self,
        hosts: dict[str, VirtualHost],
        dispatcher: Dispatcher,
        absent: dict[int, AbsentQueue],
        ledger: Ledger,
    ) -> None:
        self._hosts = hosts
        self._dispatcher = dispatcher
        self._absent = absent
        self._ledger = ledger
        self._begun = False
        self._together: dict[int, list[Queue]] = {}  # by the number of the name
        self._queues: list[Queue] = []
        self._subscriptions: list[Subscription] = []
        self._exchanges: list[Exchange] = []
        self._next = 0
        self.done = False

    def who(self) -> str:
        """See `Piecework`."""
        return "the audit log's checkpoint"

    def write(self) -> None:
        """All of it, at once."""
        self.go_on(NO_END)

    def write_queues(self) -> None:
        """What queues have, at once."""
        self._begin()
        self._write_queues(NO_END)

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        if not self._begun:
            self._begin()
        self.done = self._write_queues(end) and self._write_outlets(end) and self._write_routes(end)
        return self.done

    def _begin(self) -> None:
        """Take down what there is, and write of names that several have."""
        self._begun = True
        self._together = {node: [] for node in self._absent}
        for host in self._hosts.values():
            for queue in host.settlement.lingering_queues():
                self._put_together(queue)
            self._queues.extend(host.topology.queues.values())
            self._queues.extend(host.nodes.in_front())
            self._queues.extend(host.branches.shelves())
            self._exchanges.append(host.topology.unknown)
            self._exchanges.extend(host.topology.exchanges.values())
            self._exchanges.extend(host.nodes.sources.by_upstream.values())
        self._subscriptions = list(self._dispatcher.links.values())
        for subscription in self._subscriptions:
            queue = subscription.queue
            if (queue.deleted or queue.inbound) and queue.depth:
                self._put_together(queue)
        WORK.units += LOOK * len(self._subscriptions)
        if self._together:
            for queue in self._queues:
                if queue.node in self._together:
                    self._put_together(queue)
            WORK.units += LOOK * len(self._queues)
        for node, queues in self._together.items():
            self._write_queue(node, queues)

    def _put_together(self, queue: Queue) -> None:
        queues = self._together.setdefault(queue.node, [])
        if queue not in queues:
            queues.append(queue)

    def _write_queues(self, end: int) -> bool:
        queues = self._queues
        while self._next < len(queues):
            if WORK.units > end:
                return False
            queue = queues[self._next]
            self._next += 1
            if not queue.deleted and queue.node not in self._together:
                self._write_queue(queue.node, queue.only)
        self._next = 0
        queues.clear()
        return True

    def _write_queue(self, node: int, queues: list[Queue]) -> None:
        WORK.units += CHECKPOINT
        absent = self._absent.get(node, NOTHING)
        checksum = absent.checksum
        for queue in queues:
            checksum ^= queue.checksum
        self._ledger.audit.queue_checkpoint(
            self._ledger.now_ms,
            node,
            depth=absent.depth + sum([queue.depth for queue in queues]),
            unsettled=sum([queue.unsettled for queue in queues]),
            octets=absent.octets + sum([queue.octets for queue in queues]),
            entered=absent.entered + sum([queue.entered for queue in queues]),
            checksum=checksum,
        )

    def _write_outlets(self, end: int) -> bool:
        subscriptions = self._subscriptions
        while self._next < len(subscriptions):
            if WORK.units > end:
                return False
            subscription = subscriptions[self._next]
            self._next += 1
            if subscription.number in self._dispatcher.links:
                WORK.units += CHECKPOINT
                self._ledger.audit.outlet_checkpoint(
                    self._ledger.now_ms,
                    subscription.number,
                    node=subscription.queue.node,
                    sent=subscription.sent,
                    unsettled=subscription.unsettled,
                )
        self._next = 0
        subscriptions.clear()
        return True

    def _write_routes(self, end: int) -> bool:
        exchanges = self._exchanges
        while self._next < len(exchanges):
            if WORK.units > end:
                return False
            exchange = exchanges[self._next]
            self._next += 1
            if exchange.routed and not exchange.deleted:
                WORK.units += CHECKPOINT
                self._ledger.audit.route_checkpoint(
                    self._ledger.now_ms,
                    exchange.node,
                    routed=exchange.routed,
                    pending=exchange.pending,
                )
        return True

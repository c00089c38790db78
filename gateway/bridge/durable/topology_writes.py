"""The rows that the store has of a virtual host's exchanges and queues, written as these change.

Only what is durable has rows, each written or removed with the turn that makes or ends it. Those of
bindings are written in `bindings`.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.durable.topology_rows import ExchangeRow, QueueRow, RowKind, row_key
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.places import NO_PAGE
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import Target
from gateway.bridge.turns import TurnBook


@final
class TopologyWrites:
    """Those of one virtual host."""

    __slots__ = ("_host", "_turns")

    def __init__(self, host: str, turns: TurnBook) -> None:
        self._host = host
        self._turns = turns

    def store_exchange(self, exchange: Exchange) -> None:
        """Write its row, if it is durable."""
        if exchange.durable:
            row = ExchangeRow(
                self._host,
                exchange.name,
                exchange.type,
                exchange.auto_delete,
                exchange.alternate_exchange,
                exchange.arguments,
                exchange.maker,
                numbers=exchange.marks is not None and exchange.marks.numbers,
                remembers=exchange.marks is not None and exchange.marks.remembers,
            )
            self._turns.writes.topology(RowKind.EXCHANGE, row.key(), row.encoded())

    def remove_exchange(self, exchange: Exchange) -> None:
        """It is deleted."""
        if exchange.durable:
            key = row_key(self._host, exchange.name)
            self._turns.writes.topology_removed(RowKind.EXCHANGE, key)

    def store_queue(self, queue: Queue) -> None:
        """Write its row, if it is durable."""
        if queue.settings.durable:
            self._store(queue)

    def store_moved(self, queue: Queue) -> None:
        """It lives elsewhere: its row, if it has one, says so, whether it is durable now or not."""
        if queue.rows.written or queue.settings.durable:
            self._store(queue)

    def store_transit(self, queue: Queue) -> None:
        """A transit queue is to hold a copy that nobody else would send again."""
        if not queue.rows.written:
            self._store(queue)
            if queue.users.ever:
                self.mark_dispatched(queue)

    def store_transit_again(self, queue: Queue, name: str) -> None:
        """Its row says `name` from now on."""
        row = QueueRow(self._host, name, queue.number, queue.settings)
        self._turns.writes.topology(RowKind.TRANSIT, queue.rows.key, row.encoded())

    def mark_dispatched(self, queue: Queue) -> None:
        """A durable queue is about to be read: the store knows before anything is sent."""
        if queue.rows.written and not queue.rows.marked:
            queue.rows.marked = True
            queue.rows.safe_after = self._turns.number
            self._turns.writes.topology(RowKind.DISPATCHED, queue.rows.key, b"")

    def remove_queue(self, kind: RowKind, queue: Queue) -> None:
        """It is deleted, if it had rows; its own is of `kind`."""
        if queue.rows.written:
            self._turns.writes.topology_removed(kind, queue.rows.key)
            self._turns.writes.topology_removed(RowKind.DISPATCHED, queue.rows.key)
            self._turns.writes.topology_removed(RowKind.SEEN, queue.rows.key)
            queue.rows.written = False

    def store_deleted(self, queue: Queue) -> None:
        """What a deleted queue still has is with subscribers: the store keeps its name for that."""
        entry = queue.places.next_at(0)
        while entry is not None and not entry.durable:
            entry = queue.places.next_at(entry.position + 1)
        away = queue.places.missed != NO_PAGE and queue.settings.durable  # whatever is there
        if entry is not None or away:
            row = self._row(queue)
            self._turns.writes.topology(RowKind.DELETED, row.numbered_key(), row.encoded())
            queue.rows.written = True

    def remove_deleted(self, queue: Queue) -> None:
        """Nothing of a deleted queue is outstanding any more."""
        if queue.rows.written:
            key = self._row(queue).numbered_key()
            self._turns.writes.topology_removed(RowKind.DELETED, key)
            queue.rows.written = False

    def _store(self, queue: Queue) -> None:
        queue.rows.written = True
        kind = RowKind.QUEUE if queue.target == Target.QUEUE else RowKind.TRANSIT
        self._turns.writes.topology(kind, queue.rows.key, self._row(queue).encoded())

    def _row(self, queue: Queue) -> QueueRow:
        name = queue.node_name or queue.name
        return QueueRow(self._host, name, queue.number, queue.settings, upstream_of(queue))


def upstream_of(queue: Queue) -> str:
    """Where it lives: the name of its upstream, or "" for here."""
    return "" if queue.placement is None else queue.placement.remote.name

"""What the rows of a store's topology mean: hosts, exchanges, queues, bindings, imports."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, final

from gateway.bridge.branches.rows import BranchRow, PageRow, branch_row, page_row
from gateway.bridge.branches.shelf import NAME as BRANCH
from gateway.bridge.durable.imports import ImportRow, import_row, untold
from gateway.bridge.durable.topology_rows import (
    BindingRow,
    ExchangeRow,
    QueueRow,
    RowKind,
    binding_row,
    exchange_row,
    host_row,
    notes_row,
    position_row,
    queue_row,
    read_identity,
)
from gateway.bridge.seams import QueueSettings
from gateway.bridge.staging.rows import part_row, staged_row
from gateway.bridge.topology import PREDECLARED
from gateway.errors import DecodeError
from gateway.store.contents import topology_in
from gateway.store.interface import TopologyRow

# How a queue stands, by the kind of its row.
STATES: Final = {
    int(RowKind.QUEUE): "",
    int(RowKind.TRANSIT): "in front of an upstream",
    int(RowKind.DELETED): "deleted",
    int(RowKind.UNREADABLE): "its row cannot be read",
    int(RowKind.BRANCH): "of a prepared branch",
}
KINDS: Final = frozenset(int(kind) for kind in RowKind)
GONE: Final = "in no row"
PREDECLARED_NAMES: Final = frozenset(name for name, _type in PREDECLARED)


class Queue(NamedTuple):
    """A queue, as far as the store knows it: kind of its row, and what that says."""

    kind: int
    row: QueueRow

    @property
    def state(self) -> str:
        """What is special about it, for people; "" if nothing is."""
        return STATES[self.kind]


@final
class Topology:
    """All rows of one store.

    Attributes:
        rows: those that are as they were written.
        damaged, unreadable: a line for each that is not, or has another version.
        queues: by number.
        marked: keys of queues that have had a subscription since the last stop in order.
        branches: those that are prepared, or decided; pages: what they hold.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        """Read them. sqlite3.Error."""
        self.rows, damaged = topology_in(database)
        self.damaged = list(damaged.values())
        self.unreadable: list[str] = []
        self.queues: dict[int, Queue] = {}
        self.exchanges: list[ExchangeRow] = []
        self.bindings: list[BindingRow] = []
        self.marked: list[str] = []
        self.branches: dict[tuple[str, str], BranchRow] = {}
        self.pages: list[PageRow] = []
        self._hosts: set[str] = set()
        self._twice: list[str] = []
        readers: dict[int, Callable[[TopologyRow], object]] = {
            RowKind.EXCHANGE: lambda row: self.exchanges.append(exchange_row(row.value)),
            RowKind.BINDING: lambda row: self.bindings.append(binding_row(row.value)),
            RowKind.DEBT: lambda row: binding_row(row.value),
            RowKind.NOTES: lambda row: notes_row(row.value),
            RowKind.SEEN: lambda row: position_row(row.value),
            RowKind.PLAIN_HOST: lambda row: self._hosts.add(host_row(row.value)),
            RowKind.IMPORT: lambda row: import_row(row.value),
            RowKind.DISPATCHED: lambda row: self.marked.append(row.key),
            RowKind.BRANCH_PAGE: lambda row: self.pages.append(page_row(row.value)),
            RowKind.STAGED: lambda row: staged_row(row.value),
            RowKind.STAGED_PART: lambda row: part_row(row.value),
            **dict.fromkeys(STATES, self._queue),
            RowKind.BRANCH: self._branch,
        }
        for row in self.rows:
            read = readers.get(row.kind)
            try:
                if read is not None:
                    read(row)
                elif row.kind not in KINDS:
                    raise DecodeError("no row of this version is of that kind")
            except DecodeError as error:
                self.unreadable.append(f"topology {row.kind} {row.key!r}: {error}")
                self._identity(row)

    def hosts(self) -> list[str]:
        """Virtual hosts that something is in."""
        queues = {each.row.host for each in self.queues.values()}
        exchanges = {each.host for each in self.exchanges}
        return sorted(self._hosts | queues | exchanges)

    def untold(self) -> list[ImportRow]:
        """Imports of which the audit log does not know yet."""
        return untold(self.rows)

    def flaws(self) -> Iterator[str]:
        """What does not fit together."""
        yield from self._twice
        exchanges = {(each.host, each.name) for each in self.exchanges}
        queues = {
            (each.row.host, each.row.name)
            for each in self.queues.values()
            if each.kind in (RowKind.QUEUE, RowKind.UNREADABLE)
        }
        for each in self.bindings:
            told = f"binding of {each.queue!r} to {each.exchange!r} in {each.host!r}"
            if (each.host, each.queue) not in queues:
                yield f"{told}: there is no such queue"
            predeclared = each.exchange in PREDECLARED_NAMES
            if not predeclared and (each.host, each.exchange) not in exchanges:
                yield f"{told}: there is no such exchange"

    def _queue(self, stored: TopologyRow) -> None:
        self._put(stored.kind, queue_row(stored.value))

    def _branch(self, stored: TopologyRow) -> None:
        """What it is to publish stands on a shelf of its own, which is a queue."""
        row = branch_row(stored.value)
        self.branches[row.host, row.text] = row
        if row.number:
            settings = QueueSettings(durable=True)
            self._put(stored.kind, QueueRow(row.host, BRANCH + row.text, row.number, settings))

    def _identity(self, stored: TopologyRow) -> None:
        """What its number and name are, if no more can be read."""
        if stored.kind in STATES:
            row = read_identity(stored.key, stored.value)
            if row is not None:
                self._put(RowKind.UNREADABLE, row)

    def _put(self, kind: int, row: QueueRow) -> None:
        before = self.queues.get(row.number)
        if before is None or before.kind == RowKind.UNREADABLE:
            self.queues[row.number] = Queue(kind, row)
        elif kind != RowKind.UNREADABLE:
            names = f"{before.row.name!r} and {row.name!r}"
            self._twice.append(f"queue number {row.number} is that of {names}")

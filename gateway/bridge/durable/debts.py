"""Debts: bindings that were made at an upstream and are still to be removed at it.

Whoever unbinds is not kept waiting for an upstream that is away, and the process that was told may
not live to see it again. So each debt is a row of the store's topology, written with the turn that
removes the binding at the gateway, until the upstream has said that it has removed it, too. The row
is that of a binding, `host` being the upstream's name and `queue` what the upstream calls the
queue.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.durable.topology_rows import BindingRow, RowKind, binding_row
from gateway.bridge.turns import TurnBook
from gateway.errors import DecodeError
from gateway.store.interface import TopologyRow

__all__ = ["BindingRow", "Debts"]


@final
class Debts:
    """All of them."""

    __slots__ = ("_owed", "_turns")

    def __init__(self, turns: TurnBook) -> None:
        self._turns = turns
        self._owed: dict[str, BindingRow] = {}

    def owe(self, row: BindingRow) -> None:
        """It is to be removed; once more changes nothing."""
        key = row.row_key()
        if key not in self._owed:
            self._owed[key] = row
            self._turns.writes.topology(RowKind.DEBT, key, row.encoded())

    def paid(self, row: BindingRow) -> None:
        """The upstream has removed it, or it is wanted again."""
        key = row.row_key()
        if self._owed.pop(key, None) is not None:
            self._turns.writes.topology_removed(RowKind.DEBT, key)

    def of(self, upstream: str) -> list[BindingRow]:
        """What is to be removed at an upstream."""
        return [row for row in self._owed.values() if row.host == upstream]

    def recover(self, rows: list[TopologyRow], problems: list[str]) -> None:
        """Those that the store brought back; of upstreams that are not configured they stay."""
        for row in rows:
            if row.kind == RowKind.DEBT:
                try:
                    self._owed[row.key] = binding_row(row.value)
                except DecodeError as error:
                    problems.append(f"debt {row.key!r} is unreadable: {error}")

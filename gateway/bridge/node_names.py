"""The numbers that the audit log has for the names of one host's exchanges and queues.

Owns how many things use a name, so that the log can forget it with the last; and the records that
say what became of them.

The log is of many starts, and a name means the same in all of them. So the virtual host whose names
stand alone is the one that was the default at the first start, whatever the configuration says by
now: the store remembers it. The names of all others have the host before them.
"""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Flag, Reason
from gateway.bridge.durable.topology_rows import RowKind, host_row
from gateway.bridge.ledger import Ledger
from gateway.errors import DecodeError
from gateway.store.interface import TopologyRow


def plain_host(rows: list[TopologyRow], default_host: str) -> str:
    """The virtual host whose names stand alone: `default_host`, unless `rows` say another."""
    for row in rows:
        if row.kind == RowKind.PLAIN_HOST:
            try:
                return host_row(row.value)
            except DecodeError:  # which recovery reports
                return default_host
    return default_host


def prefix_of(host: str, plain: str) -> str:
    """What stands before the names of `host`."""
    return "" if host == plain else f"{host}/"


@final
class NodeNames:
    """How often each name is used; `prefix` is what the host adds to all of them."""

    __slots__ = ("_ledger", "_prefix", "_uses")

    def __init__(self, prefix: str, ledger: Ledger) -> None:
        self._prefix = prefix
        self._ledger = ledger
        self._uses: dict[str, int] = {}

    def name(self, name: str) -> int:
        """The audit log's number for the name of a thing that comes to be (`forget`)."""
        self._uses[name] = self._uses.get(name, 0) + 1
        return self._ledger.audit.name(self._prefix + name)

    def forget(self, name: str, number: int) -> None:
        """An exchange, a queue and a deleted queue of one name share its number."""
        uses = self._uses[name] - 1
        if uses:
            self._uses[name] = uses
            return
        del self._uses[name]
        self._ledger.audit.forget(number)

    def record(
        self,
        reason: Reason,
        node: int,
        exchange: int,
        durable: bool,
        copies: int = 0,
        whose: str = "",
    ) -> None:
        """Something came to be, or ended: `node` is a queue's number, `exchange` an exchange's.

        Whoever acts has done it. `copies`: how many a purge took, or bindings that went together.
        `whose`: a subscription is by now, and was; of a queue that is declared: its discipline.
        """
        ledger = self._ledger
        ledger.audit.topology(
            ledger.now_ms,
            reason=reason,
            node=node,
            exchange=exchange,
            connection=ledger.connection,
            actor=ledger.actor,
            address=ledger.address,
            flags=int(Flag.DURABLE) if durable else 0,
            copies=copies,
            peer=ledger.audit.passing(whose) if whose else 0,
        )

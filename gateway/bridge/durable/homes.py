"""Where queues lived when their rows were written, which the rules of a start may know otherwise.

What a queue holds that lived here is for clients of this gateway; what one holds that lived at an
upstream, held or spooled, is for that. Rows of before do not say (`QueueRow.upstream`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from gateway.bridge.durable.topology_rows import QueueRow, RowKind, queue_row
from gateway.errors import DecodeError
from gateway.store.interface import TopologyRow

WHERE_DROPPED: Final = "and what that rejects is dropped, as its rule says (on_rejected: drop)"


class Home(NamedTuple):
    """Where a queue lives by now; `drops`: what the upstream rejects is not kept."""

    upstream: str
    drops: bool = False


HomeOf = Callable[[str, str], Home | None]


class SentAway(NamedTuple):
    """A queue that lived here, holds `messages`, and would live elsewhere."""

    host: str
    name: str
    messages: int
    home: Home

    def __str__(self) -> str:
        dropped = f", {WHERE_DROPPED}" if self.home.drops else ""
        return (
            f"{self.name!r} of virtual host {self.host!r} holds {self.messages} messages, and would"
            f" live at {self.home.upstream}{dropped}"
        )


def sent_away(rows: list[TopologyRow], held: Mapping[int, int], home_of: HomeOf) -> list[SentAway]:
    """Those whose messages would go elsewhere.

    Args:
        rows: the topology.
        held: how many messages queues hold, by their numbers.
        home_of: of a virtual host and a queue's name, where that lives by now; `None`: here.
    """
    found: list[SentAway] = []
    for row in queue_rows(rows):
        count = held.get(row.number, 0)
        if row.upstream != "" or row.settings.subscriber is not None or not count:
            continue
        home = home_of(row.host, row.name)
        if home is not None:
            drops = home.drops and not row.settings.alternate_exchange
            found.append(SentAway(row.host, row.name, count, Home(home.upstream, drops)))
    return found


def queue_rows(rows: list[TopologyRow], kind: RowKind = RowKind.QUEUE) -> Iterator[QueueRow]:
    """Those of one kind that can be read; of others recovery tells."""
    for row in rows:
        if row.kind == kind:
            try:
                yield queue_row(row.value)
            except DecodeError:
                continue

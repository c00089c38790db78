"""Where queues lived when their rows were written, which the rules of a start may know otherwise.

What a queue holds that lived here is for clients of this gateway; what one holds that lived at an
upstream, held or spooled, is for that. Rows of before do not say (`QueueRow.upstream`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gateway.bridge.durable.topology_rows import QueueRow, RowKind, queue_row
from gateway.errors import DecodeError
from gateway.store.interface import Entry, TopologyRow

UpstreamOf = Callable[[str, str], str]


class SentAway(NamedTuple):
    """A queue that lived here, holds `messages`, and would live at `upstream`."""

    host: str
    name: str
    messages: int
    upstream: str

    def __str__(self) -> str:
        return (
            f"{self.name!r} of virtual host {self.host!r} holds {self.messages} messages, and would"
            f" live at {self.upstream}"
        )


def sent_away(
    rows: list[TopologyRow], entries: list[Entry], upstream_of: UpstreamOf
) -> list[SentAway]:
    """Those whose messages would go elsewhere.

    `upstream_of`: of a virtual host and a queue's name, which upstream has it by now, or "".
    """
    held = Counter(entry.queue_id for entry in entries)
    found: list[SentAway] = []
    for row in queue_rows(rows):
        if row.upstream != "" or row.settings.subscriber is not None or not held[row.number]:
            continue
        upstream = upstream_of(row.host, row.name)
        if upstream:
            found.append(SentAway(row.host, row.name, held[row.number], upstream))
    return found


def queue_rows(rows: list[TopologyRow], kind: RowKind = RowKind.QUEUE) -> Iterator[QueueRow]:
    """Those of one kind that can be read; of others recovery tells."""
    for row in rows:
        if row.kind == kind:
            try:
                yield queue_row(row.value)
            except DecodeError:
                continue

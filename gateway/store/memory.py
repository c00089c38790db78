"""A store that forgets: for tests, and for a gateway that is told to keep nothing on disk."""

from __future__ import annotations

from functools import partial
from typing import final

from gateway.store.interface import (
    AuditSegments,
    CallInReactor,
    Committed,
    Fetched,
    OnFetched,
    Recovered,
    StoreCounts,
    TopologyRow,
    nobody_asked,
)
from gateway.store.places import NOWHERE
from gateway.store.recovery import Replay


@final
class MemoryStore:
    """A `Store` in memory; opened again, the same object hands over what it was given.

    What it reports goes through `call_in_reactor`: a test that collects the calls decides when
    turns count as committed.
    """

    def __init__(
        self,
        call_in_reactor: CallInReactor,
        committed: Committed,
        segments: AuditSegments | None = None,
    ) -> None:
        self.counts = StoreCounts()
        self.on_fetched: OnFetched = nobody_asked
        self._call_in_reactor = call_in_reactor
        self._committed = committed
        self._segments = segments
        self._content = Replay()
        self._incarnation = 0
        self._clean = True

    def open(self) -> Recovered:
        """See `Store.open`."""
        self._incarnation += 1
        clean, self._clean = self._clean, False
        return Recovered(
            topology=self.topology(),
            held={number: len(queue) for number, queue in self._content.queues.items()},
            highest_message_id=self._content.highest_message_id,
            incarnation=self._incarnation,
            clean=clean,
            damage=[],
            flags=self._content.flags(),
            aside=[],
        )

    def topology(self) -> list[TopologyRow]:
        """The topology rows, by kind and key."""
        return [
            TopologyRow(kind, key, value)
            for (kind, key), value in sorted(self._content.topology.items())
            if value is not None
        ]

    def submit(self, turn: int, writes: bytes, audit_block: bytes) -> None:
        """See `Store.submit`."""
        self.counts.turns_submitted += 1
        self.counts.turns += 1
        if writes:
            self.counts.commits += 1
            self._content.apply(writes)
        if audit_block and self._segments is not None:
            self._segments.append(audit_block)
        self._call_in_reactor(partial(self._committed, turn))

    def recall(self, take: OnFetched, queues: list[int] | None = None) -> None:
        """See `Store.recall`; all of it is one piece, by queue, which `take` is given at once."""
        numbers = sorted(self._content.queues) if queues is None else queues
        entries = [
            entry for number in numbers for entry in self._content.living(number, 0, NOWHERE)
        ]
        take(Fetched(0, entries, last=True))

    def fetch(
        self, request: int, queue_number: int, first_position: int, behind_position: int
    ) -> None:
        """See `Store.fetch`; all of it is one piece."""
        entries = self._content.living(queue_number, first_position, behind_position)
        piece = Fetched(request, entries, last=True)
        self._call_in_reactor(lambda: self.on_fetched(piece))

    def close(self, final_audit: bytes) -> None:
        """See `Store.close`."""
        self._clean = True
        if self._segments is not None:
            self._segments.append(final_audit)
            self._segments.close()

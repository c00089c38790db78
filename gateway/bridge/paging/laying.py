"""A page that a start leaves where it is: of its copies nothing is made but its summary."""

from __future__ import annotations

from typing import final

from librt.strings import BytesWriter, write_i64_be

from gateway.audit.digests import entry_mix
from gateway.bridge.paging.away import AwayPage, Source
from gateway.bridge.queues.bands import kind_of
from gateway.bridge.queues.places import PAGE_MASK
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import Stock
from gateway.message import NEVER, Message, MessageReader


@final
class Laying:
    """One page of one queue, of which the copies come by position.

    Attributes:
        queue: whose it is; `number`: of the page.
        reader: of its messages.
        lays: it stays on disk; else its copies come into memory, one by one.
        first: where the first of them is.
        earliest_ms: none of them expires before; `NEVER`: none does.
    """

    __slots__ = (
        *("_away", "_ids", "_indexes", "_kinds", "_source", "earliest_ms", "first", "lays"),
        "number",
        *("queue", "reader"),
    )

    def __init__(
        self, queue: Queue, number: int, stock: Stock, reader: MessageReader, *, lays: bool
    ) -> None:
        self.queue = queue
        self.number = number
        self.reader = reader
        self.lays = lays
        self.first: int = -1
        self.earliest_ms = NEVER
        self._source = Source(stock, 0, reader)
        self._away = AwayPage()
        self._ids = BytesWriter()
        self._indexes = BytesWriter()
        self._kinds = BytesWriter()

    def add(self, position: int, message: Message, annotations: bytes) -> None:
        """A copy, which the store has."""
        if self.first < 0:
            self.first = position
        away = self._away
        away.messages += 1
        away.payload += len(message.payload)
        away.octets += len(message.payload) + len(annotations)
        away.mix ^= entry_mix(message.id, position)
        if away.arrived_ms == 0 or message.arrived_ms < away.arrived_ms:
            away.arrived_ms = message.arrived_ms
        expires_ms = message.expires_ms
        if expires_ms != NEVER and (self.earliest_ms == NEVER or expires_ms < self.earliest_ms):
            self.earliest_ms = expires_ms
        write_i64_be(self._ids, message.id)
        self._indexes.append(position & PAGE_MASK)
        self._kinds.append(kind_of(message))

    @property
    def kinds(self) -> bytes:
        """One octet for each copy."""
        return self._kinds.getvalue()

    def summary(self) -> AwayPage:
        """All of them have come."""
        self._source.messages = self._away.messages
        self._source.octets = self._away.octets
        ids, indexes = self._ids.getvalue(), self._indexes.getvalue()
        self._away.lay(ids, indexes, self.kinds, self._source)
        return self._away

"""What stays of a page that is away, and its copies as octets.

The octets are records as the store has them in its log: of each copy its message, that it is in its
queue, and what was counted and annotated on the way. Where all copies are durable they are in that
log, and need not be written again. What such records do not say - whose quota a
copy counts for, by which connection it came, whether it is durable - stays in memory, for a whole
page at once, since it mostly is the same for all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import pack, unpack
from typing import final

from gateway.audit.digests import entry_mix
from gateway.bridge.paging.disk import Spot
from gateway.bridge.pressure import AWAY_OCTETS, COPY_OCTETS
from gateway.bridge.queues.bands import KIND_CONTENT, kind_of
from gateway.bridge.queues.places import (
    AVAILABLE,
    DELIVERY_COUNT_MAX,
    PAGE_BITS,
    PAGE_MASK,
    AwayCopy,
    Entry,
    Page,
)
from gateway.bridge.quotas import Stock
from gateway.message import MessageReader
from gateway.store.entries import Entry as StoredEntry
from gateway.store.recovery import Replay
from gateway.store.writes import TurnWriter


@final
class Source:
    """Whose copies some of a page are.

    Attributes:
        stock: whose quota they count for.
        publisher, reader: as of their messages.
        messages, octets: how many they are, and what is in them.
    """

    __slots__ = ("messages", "octets", "publisher", "reader", "stock")

    def __init__(self, stock: Stock, publisher: int, reader: MessageReader | None) -> None:
        self.stock = stock
        self.publisher = publisher
        self.reader = reader
        self.messages = 0
        self.octets = 0

    def is_of(self, stock: Stock, publisher: int, reader: MessageReader | None) -> bool:
        """Whether it is that."""
        return self.stock is stock and self.publisher == publisher and self.reader is reader


@final
class AwayPage:
    """One page. Implements `places.Away`.

    Attributes:
        messages: copies in it; `octets`: what is in them, `payload` without annotations.
        memory: what they took that is free meanwhile.
        arrived_ms: when the oldest of them came.
        mix: their share of the queue's checksum.
        changed: what was counted and annotated on the way, as a checksum; 0: nothing.
        spot: where the octets are on disk; `None`: in the store's log, where turns before `turn`
            are that it has been given.
        sources: whose they are.
    """

    __slots__ = (
        *("_durable", "_ids", "_indexes", "_kept_from", "_kinds", "_sizes", "_which"),
        *("arrived_ms", "changed"),
        *("memory", "messages", "mix", "octets", "overhead", "payload", "sources", "spot", "turn"),
    )

    def __init__(self) -> None:
        self.messages = 0
        self.octets = 0
        self.payload = 0
        self.memory = 0
        self.arrived_ms = 0
        self.mix = 0
        self.changed = 0
        self.spot: Spot | None = None
        self.overhead = 0
        self.turn = 0
        self.sources: list[Source] = []
        self._ids = b""
        self._indexes = b""
        self._which = b""  # whose each is; empty: all are the first one's
        self._durable = b""  # one octet for each; empty: none is
        self._sizes = b""  # of the messages, where copies may be taken out
        self._kinds = b""  # of each; empty: nobody asks for one
        self._kept_from: dict[frozenset[int], list[int]] = {}  # indexes, by from whom (`Entry`)

    def has(self, index: int) -> bool:
        """See `Away`."""
        return index in self._indexes

    @property
    def logged(self) -> bool:
        """Whether the store's log has all of its copies."""
        return self._durable.count(1) == self.messages

    @property
    def any_logged(self) -> bool:
        """Whether it has some of them."""
        return len(self._durable) > 0

    def fill(self, page: Page, *, sized: bool) -> bool:
        """Sum up a page; `False`: one of its copies has to stay in memory.

        `sized`: copies may be taken out of it, by `take`.
        """
        ids: list[int] = []
        sizes: list[int] = []
        indexes = bytearray()
        which = bytearray()
        durable = bytearray()
        kinds = bytearray()
        for index, entry in enumerate(page.entries):
            if entry is None:
                continue
            if entry.holder != AVAILABLE or entry.ticket is not None:
                return False
            if sized and entry.annotations:
                return False
            message = entry.message
            if sized:
                sizes.append(len(message.payload))
            if entry.excluded is not None:
                self._kept_from.setdefault(frozenset(entry.excluded), []).append(index)
            kinds.append(kind_of(message))
            indexes.append(index)
            durable.append(1 if entry.durable else 0)
            ids.append(message.id)
            which.append(self._add(entry))
        self.messages = len(ids)
        self.memory = self.octets + (COPY_OCTETS - AWAY_OCTETS) * self.messages
        self._ids = pack(f">{len(ids)}q", *ids)
        self._sizes = pack(f">{len(sizes)}I", *sizes)
        self._indexes = bytes(indexes)
        self._which = bytes(which) if len(self.sources) > 1 else b""
        self._durable = bytes(durable) if any(durable) else b""
        self._kinds = bytes(kinds)
        if not sized and not has_content(self._kinds):
            self._kinds = b""
        return True

    def lay(self, ids: bytes, indexes: bytes, kinds: bytes, source: Source) -> None:
        """All of its copies are durable, and one source's; the sums are there."""
        self._ids = ids
        self._indexes = indexes
        self._durable = b"\x01" * self.messages
        self._kinds = kinds if has_content(kinds) else b""
        self.sources.append(source)
        self.memory = self.octets + (COPY_OCTETS - AWAY_OCTETS) * self.messages

    def _add(self, entry: Entry) -> int:
        """Count a copy; the number of its source."""
        message = entry.message
        size = len(message.payload) + len(entry.annotations)
        self.octets += size
        self.payload += len(message.payload)
        if self.arrived_ms == 0 or message.arrived_ms < self.arrived_ms:
            self.arrived_ms = message.arrived_ms
        self.mix ^= entry_mix(message.id, entry.position)
        if is_changed(entry):
            self.changed ^= hash((entry.position, entry.delivery_count, entry.annotations)) | 1
        stock, publisher, reader = entry.stock, message.publisher, message.reader
        number = 0
        for source in self.sources:
            if source.is_of(stock, publisher, reader):
                break
            number += 1
        else:
            source = Source(stock, publisher, reader)
            self.sources.append(source)
        source.messages += 1
        source.octets += size
        return number

    def take(self, position: int) -> AwayCopy:
        """Take a copy out that it has."""
        at = self._indexes.index(position & PAGE_MASK)
        (message,) = unpack(">q", self._ids[8 * at : 8 * at + 8])
        (size,) = unpack(">I", self._sizes[4 * at : 4 * at + 4])
        durable = len(self._durable) > 0 and self._durable[at] != 0
        kind = self._kinds[at] if self._kinds else 0
        source = self.sources[self._which[at] if self._which else 0]
        self._ids = self._ids[: 8 * at] + self._ids[8 * at + 8 :]
        self._sizes = self._sizes[: 4 * at] + self._sizes[4 * at + 4 :]
        self._indexes = self._indexes[:at] + self._indexes[at + 1 :]
        self._which = self._which[:at] + self._which[at + 1 :]
        self._durable = self._durable[:at] + self._durable[at + 1 :]
        self._kinds = self._kinds[:at] + self._kinds[at + 1 :]
        memory = size + COPY_OCTETS - AWAY_OCTETS
        self.messages -= 1
        self.octets -= size
        self.payload -= size
        self.memory -= memory
        self.mix ^= entry_mix(message, position)
        source.messages -= 1
        source.octets -= size
        return AwayCopy(position, message, durable, source.stock, size, memory, kind)

    def back(self, page: int, found: Mapping[int, StoredEntry], seen_before: int) -> Back:
        """The copies of the page `page` again, of what was found of them, by position.

        `seen_before`: those before that have one failed delivery that is not in what was found.
        """
        back = Back(self.sources)
        ids = unpack(f">{self.messages}q", self._ids)
        for at, index in enumerate(self._indexes):
            position = (page << PAGE_BITS) + index
            which = self._which[at] if self._which else 0
            known = found.get(position)
            if known is None or known.message.id != ids[at]:
                kind = self._kinds[at] if self._kinds else 0
                back.lost.append((position, int(ids[at]), kind))
                back.messages[which] += 1
                continue
            source = self.sources[which]
            message = known.message
            message.publisher = source.publisher
            message.reader = source.reader
            count = known.delivery_count
            if position < seen_before:
                count = min(count + 1, DELIVERY_COUNT_MAX)
            durable = len(self._durable) > 0 and self._durable[at] != 0
            entry = Entry(position, message, count, durable, source.stock)
            entry.annotations = known.annotations
            back.add(index, entry, which)
        for whom, kept in self._kept_from.items():
            for index in kept:
                back.keep_from(index, whom)
        return back


@final
class Back:
    """What has come back of a page.

    Attributes:
        entries: its copies.
        payload: octets of their messages.
        lost: position, message and kind of those that have not.
        messages, octets: what these were, by source.
    """

    __slots__ = ("entries", "lost", "messages", "octets", "payload")

    def __init__(self, sources: list[Source]) -> None:
        self.entries: list[Entry | None] = []
        self.payload = 0
        self.lost: list[tuple[int, int, int]] = []
        self.messages = [0 for _ in sources]
        self.octets = [source.octets for source in sources]  # less what has come

    def add(self, index: int, entry: Entry, which: int) -> None:
        """One has come."""
        while len(self.entries) < index:
            self.entries.append(None)
        self.entries.append(entry)
        size = len(entry.message.payload)
        self.payload += size
        self.octets[which] -= size + len(entry.annotations)

    def keep_from(self, index: int, whom: frozenset[int]) -> None:
        """One is not to be sent to those, if it has come."""
        entry = self.entries[index] if index < len(self.entries) else None
        if entry is not None:
            entry.excluded = set(whom)


def found_in(octets: bytes, queue: int) -> dict[int, StoredEntry]:
    """What is in the octets of a page, by position; `DecodeError`."""
    replay = Replay()
    replay.apply(octets)
    return replay.queues.get(queue, {})


def has_content(kinds: bytes) -> bool:
    """Whether some of these are of files or streams."""
    return any(kind & KIND_CONTENT for kind in set(kinds))


def is_changed(entry: Entry) -> bool:
    """Whether something was counted or annotated on the way."""
    return entry.delivery_count != entry.message.delivery_count or len(entry.annotations) > 0


def octets_of(page: Page, queue: int) -> bytes:
    """The copies of a page, as `AwayPage.entries` reads them."""
    writer = TurnWriter()
    last = -1
    for entry in page.entries:
        if entry is not None:
            message = entry.message
            if message.id != last:
                last = message.id
                writer.message(message)
            writer.enqueue(queue, entry.position, message.id)
            if is_changed(entry):
                count = entry.delivery_count
                writer.redelivered(queue, entry.position, count, entry.annotations)
    return writer.take()

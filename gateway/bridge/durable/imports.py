"""What `store import` has put into the store, and how the audit log hears of it.

An import is made while no gateway runs, and says nothing to the log. It leaves a row: which numbers
its messages have, and of which copies the log does not know yet. The next start finds these copies
in the store as all others; in the log they have not been recovered but come in: `received` by a
link that is the import's own, from the exchange "import DIGEST", and `entered`. How far that has
come is written with the records, in one turn: a start that is killed leaves to the next one what it
has not said, and nothing is said twice. The row stays, so that the same is not brought twice.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, final

from gateway.audit.schema import Flag, Reason
from gateway.bridge.durable.row_fields import read_text, write_text
from gateway.bridge.durable.topology_rows import RowKind
from gateway.bridge.ledger import DURABLE, Ledger
from gateway.bridge.numbers import QUEUE_BITS, Numbers
from gateway.errors import DecodeError
from gateway.store.entries import Entry
from gateway.store.interface import TopologyRow
from gateway.store.writes import TurnWriter
from gateway.wire.buffers import Reader, Writer

VERSION: Final = 1
SHOWN: Final = 16  # digits of a digest, in the name that the log has
ACTOR: Final = "operator by store import"
PUBLISHER: Final = int(Flag.PUBLISHER)
NOTHING: Final = (-1, -1)
ALL: Final = ((1 << 63) - 1, (1 << 63) - 1)


@final
class ImportRow:
    """One import.

    Attributes:
        number: the incarnation of which its numbers are.
        digest: SHA-256 of what was brought, in hex.
        who: of which file, and by which user of the system.
        at_ms: when.
        first, last: numbers of its messages.
        declared: queues and exchanges that it made: kind of row, host and name.
        told: the last copy that the audit log knows, by queue and position; copies are told of in
            that order.
    """

    __slots__ = ("at_ms", "declared", "digest", "first", "last", "number", "told", "who")

    def __init__(
        self, number: int, digest: str, who: str, at_ms: int, first: int, last: int
    ) -> None:
        self.number = number
        self.digest = digest
        self.who = who
        self.at_ms = at_ms
        self.first = first
        self.last = last
        self.declared: list[tuple[int, str, str]] = []
        self.told = NOTHING

    def key(self) -> str:
        """Its row's key."""
        return f"{self.number:016x}"

    def encoded(self) -> bytes:
        """Its row's value."""
        out = Writer()
        out.u8(VERSION)
        for number in (self.number, self.at_ms, self.first, self.last, *self.told):
            out.i64(number)
        write_text(out, self.digest)
        write_text(out, self.who)
        out.u32(len(self.declared))
        for kind, host, name in self.declared:
            out.u32(kind)
            write_text(out, host)
            write_text(out, name)
        return out.getvalue()


def import_row(value: bytes) -> ImportRow:
    """Decode; `DecodeError`."""
    data = Reader(value)
    version = data.u8()
    if version != VERSION:
        raise DecodeError(f"topology row of version {version}")
    number, at_ms, first, last = data.i64(), data.i64(), data.i64(), data.i64()
    told = (data.i64(), data.i64())
    row = ImportRow(number, read_text(data), read_text(data), at_ms, first, last)
    row.told = told
    for _ in range(data.u32()):
        row.declared.append((data.u32(), read_text(data), read_text(data)))
    return row


def untold(rows: list[TopologyRow]) -> list[ImportRow]:
    """The imports that the audit log does not know to their end, as far as they can be read."""
    found: list[ImportRow] = []
    for row in rows:
        if row.kind == RowKind.IMPORT:
            with suppress(DecodeError):  # which recovery reports
                found.append(import_row(row.value))
    return [row for row in found if row.told != ALL]


@final
class Telling:
    """One import that the audit log does not know to its end, while it is told of."""

    __slots__ = ("exchange", "link", "row")

    def __init__(self, row: ImportRow, link: int, exchange: int) -> None:
        self.row = row
        self.link = link
        self.exchange = exchange


@final
class Imports:
    """The imports of one recovery that the audit log does not know to their end."""

    __slots__ = ("_ledger", "_numbers", "_rows", "_telling", "_writes")

    def __init__(self, ledger: Ledger, numbers: Numbers, writes: TurnWriter) -> None:
        self._ledger = ledger
        self._numbers = numbers
        self._writes = writes
        self._rows: list[ImportRow] = []
        self._telling: list[Telling] = []

    @property
    def any(self) -> bool:
        """Whether there are some, once all rows are read: their copies are told of in order."""
        return len(self._rows) > 0

    def brought(self, queue_id: int) -> bool:
        """Whether a queue, or a branch's shelf, has come by one of them."""
        return any([row.number == queue_id >> QUEUE_BITS for row in self._rows])

    def read(self, row: TopologyRow) -> None:
        """A row of kind `IMPORT`; `DecodeError`."""
        found = import_row(row.value)
        if found.told != ALL:
            self._rows.append(found)

    def begin(self, prefixes: dict[str, str]) -> None:
        """All rows have been read; `prefixes`: what stands before the names of a host."""
        audit = self._ledger.audit
        now_ms = self._ledger.now_ms
        for row in self._rows:
            actor = audit.passing(ACTOR)
            exchange = audit.name(f"import {row.digest[:SHOWN]}")
            link = self._numbers.next_link()
            if row.told == NOTHING:
                self._tell_declared(row, prefixes, actor)
            audit.link_attached(
                now_ms,
                link,
                connection=0,
                node=exchange,
                peer=audit.passing(f"import: {row.who}"),
                flags=PUBLISHER,
                actor=actor,
            )
            self._telling.append(Telling(row, link, exchange))

    def _tell_declared(self, row: ImportRow, prefixes: dict[str, str], actor: int) -> None:
        audit = self._ledger.audit
        for kind, host, name in row.declared:
            queue = kind != RowKind.EXCHANGE
            node = audit.passing(prefixes.get(host, f"{host}/") + name)
            audit.topology(
                self._ledger.now_ms,
                reason=Reason.QUEUE_DECLARED if queue else Reason.EXCHANGE_DECLARED,
                node=node if queue else 0,
                exchange=0 if queue else node,
                connection=0,
                actor=actor,
                flags=DURABLE,
            )

    def of(self, message_id: int, queue_id: int, position: int) -> Telling | None:
        """The import that has brought a copy of which the audit log does not know."""
        for each in self._telling:
            row = each.row
            if row.first <= message_id <= row.last and (queue_id, position) > row.told:
                return each
        return None

    def say(
        self,
        telling: Telling,
        entry: Entry,
        body_digest: int,
        *,
        node: int,
        flags: int,
        lane: int,
    ) -> None:
        """A message came, and is in its queue: `node`."""
        ledger = self._ledger
        message = entry.message
        size = len(message.payload)
        ledger.counts.received += 1
        ledger.counts.entered += 1
        ledger.counts.entered_durable += 1
        ledger.audit.received(
            ledger.now_ms,
            message.id,
            link=telling.link,
            exchange=telling.exchange,
            copies=1,
            id_digest=message.id_digest,
            body_digest=body_digest,
            size=size,
            flags=DURABLE if message.durable else 0,
        )
        ledger.audit.entered(
            ledger.now_ms,
            message.id,
            entry.position,
            node=node,
            exchange=telling.exchange,
            body_digest=body_digest,
            size=size,
            flags=flags,
            lane=lane,
        )

    def reached(self, queue_id: int, position: int) -> None:
        """The turn ends behind that copy: the store is to know it with the records."""
        for each in self._telling:
            each.row.told = max(each.row.told, (queue_id, position))
            self._store(each.row)

    def end(self) -> None:
        """All copies are told of."""
        audit = self._ledger.audit
        for each in self._telling:
            audit.link_detached(self._ledger.now_ms, each.link, connection=0)
            audit.forget(each.exchange)
            each.row.told = ALL
            self._store(each.row)
        self._telling.clear()

    def _store(self, row: ImportRow) -> None:
        self._writes.topology(RowKind.IMPORT, row.key(), row.encoded())

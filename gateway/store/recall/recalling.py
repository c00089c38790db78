"""What the store held when it was opened, piece by piece, as whoever recovers it asks for more.

By rows, each of which is read once: queues come side by side. Or queue by queue, which reads rows
again that several queues share. Used by the commit thread; while a recall is under way nothing is
written again elsewhere (`rewriting`), and what is dequeued meanwhile was handed over before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from gateway.errors import DecodeError, StoreError
from gateway.message import Message
from gateway.store.database import Database
from gateway.store.entries import Entry
from gateway.store.interface import Fetched, OnFetched
from gateway.store.log_rows import unpack_row
from gateway.store.occupancy import Occupancy
from gateway.store.places import NOWHERE
from gateway.store.recall.fetching import entry_of
from gateway.store.recall.kept_rows import KeptRows
from gateway.store.recall.rereading import RowIndex, RowOrder, end_of_piece
from gateway.store.tallies import LIVE

PIECE_ENTRIES: Final = 4096
PIECE_OCTETS: Final = 1024 * 1024
READ_OCTETS: Final = 1024 * 1024


@final
class Recalling:
    """One recall after the other.

    Attributes:
        under_way: some of it was handed over, and not the last of it.
    """

    def __init__(self, database: Database, occupancy: Occupancy, rows: KeptRows) -> None:
        self._database = database
        self._occupancy = occupancy
        self._rows = rows
        self._pieces: Iterator[list[Entry]] = iter(())
        self.under_way = False

    def piece(self, take: OnFetched, queues: list[int] | None) -> None:
        """Hand over the next piece."""
        if not self.under_way:
            if queues is None:
                self._pieces = self._by_row()
            else:
                self._pieces = _in_pieces(self._by_queue(queues))
            self.under_way = True
        error: StoreError | None = None
        try:
            entries = next(self._pieces, None)
        except (DecodeError, StoreError) as failed:
            entries, error = None, StoreError(str(failed))
        self.under_way = entries is not None
        take(Fetched(0, entries or [], last=not self.under_way, error=error))

    def _by_row(self) -> Iterator[list[Entry]]:
        order = RowOrder(self._occupancy, self._elsewhere, PIECE_ENTRIES, PIECE_OCTETS)
        number = 0
        more = True
        while more:
            rows, more = self._database.rows_behind(number, READ_OCTETS)
            for number, body in rows:
                if self._occupancy.rows.get(number, LIVE):
                    order.begin(number, unpack_row(body)[0])
                    while order.go_on():
                        yield order.taken()
                if order.full:
                    yield order.taken()
        if order.entries:
            yield order.taken()

    def _by_queue(self, queues: list[int]) -> Iterator[list[Entry]]:
        for queue_id in queues:
            first = 0
            while living := self._occupancy.living(queue_id, first, NOWHERE):
                yield [
                    entry_of(
                        self._occupancy, self._row(number, queue_id, position), queue_id, position
                    )
                    for position, number in living
                ]
                first = living[-1][0] + 1

    def _elsewhere(self, number: int, queue_id: int, position: int) -> Message:
        return self._row(number, queue_id, position).message(queue_id, position)

    def _row(self, number: int, queue_id: int, position: int) -> RowIndex:
        """A row that an entry is in, and with it some that the entries behind that are in."""
        row = self._rows.get(number)
        if row is None:
            self._rows.read(self._occupancy.living(queue_id, position, NOWHERE, 1))
            row = self._rows.get(number)
        if row is None:
            raise self._rows.bad.pop(number)
        return row


def _in_pieces(found: Iterator[list[Entry]]) -> Iterator[list[Entry]]:
    """The same, in pieces of bounded numbers and octets."""
    for entries in found:
        at = 0
        while at < len(entries):
            end = end_of_piece(entries, at, PIECE_ENTRIES, PIECE_OCTETS)
            yield entries[at:end]
            at = end

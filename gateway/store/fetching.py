"""What is read from the log again while the gateway runs: the copies that rest there.

Locking is exclusive, so the commit thread reads, between commits, a share at a time. A request is
taken in its order among the turns: by then all that was submitted before it is in rows, and
`occupancy` knows in which. That is asked anew for each share, since rows are written again and
removed meanwhile. Rows of the last requests are kept, walked, for those that need them next:
neighbouring copies are in the same rows, whatever their queues are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, final

from gateway.errors import DecodeError, StoreError
from gateway.store.database import Database
from gateway.store.interface import Entry, Fetched, OnFetched
from gateway.store.occupancy import MOST, Occupancy
from gateway.store.row_index import RowIndex

PIECE_OCTETS: Final = 1024 * 1024
SHARE_OCTETS: Final = 256 * 1024  # of rows that are read between two commits, and one row more
SHARE_ROWS: Final = 64
KEPT_OCTETS: Final = 16 * 1024 * 1024


class Request(NamedTuple):
    """As `Store.fetch` was asked."""

    number: int
    queue_id: int
    first: int
    behind: int


@final
class Fetching:
    """The requests, and the rows that were read last. Used by the commit thread.

    Args:
        fetched: takes the pieces.
        unreadable: is told of a row that is not as it was written.
    """

    def __init__(
        self,
        database: Database,
        occupancy: Occupancy,
        fetched: OnFetched,
        unreadable: Callable[[StoreError], None],
    ) -> None:
        self._database = database
        self._occupancy = occupancy
        self._fetched = fetched
        self._unreadable = unreadable
        self._requests: deque[Request] = deque()
        self._kept: dict[int, RowIndex] = {}  # the last used is the last
        self._kept_octets = 0
        self._entries: list[Entry] = []  # of the first request, not handed over yet
        self._octets = 0
        self._bad: dict[int, StoreError] = {}  # rows that it needs

    @property
    def asked(self) -> bool:
        """Whether there is a request that is not answered."""
        return bool(self._requests)

    def ask(self, request: Request) -> None:
        """All turns in front of it are committed when `answer` is called next."""
        self._requests.append(request)

    def answer(self, enough: Callable[[], bool]) -> None:
        """A share after the other, until that is enough, or all requests are answered."""
        while self._requests:
            self._share(self._requests[0])
            if enough():
                return

    def forget(self) -> None:
        """Nobody has asked for a while: let go of the rows."""
        self._kept.clear()
        self._kept_octets = 0

    def _share(self, request: Request) -> None:
        """Go on with the first request as far as the rows of one share reach."""
        living = self._occupancy.living(request.queue_id, request.first, request.behind)
        self._read(living)
        for position, number in living:
            row = self._row(number)
            if row is None:
                if number in self._bad:
                    continue
                self._requests[0] = request._replace(first=position)
                return
            self._take(request, position, row)
        if len(living) >= MOST:
            self._requests[0] = request._replace(first=living[-1][0] + 1)
            return
        last = Fetched(request.number, self._entries, last=True, error=self._problem())
        self._requests.popleft()
        self._entries, self._octets, self._bad = [], 0, {}
        self._fetched(last)

    def _take(self, request: Request, position: int, row: RowIndex) -> None:
        """An entry, to be handed over with others."""
        message = row.message(request.queue_id, position)
        entry = Entry(request.queue_id, position, message.delivery_count, message)
        counted = self._occupancy.counted.get((request.queue_id, position))
        if counted is not None:
            entry.delivery_count, entry.annotations = counted[1], counted[2]
        self._entries.append(entry)
        self._octets += message.size()
        if self._octets >= PIECE_OCTETS:
            entries, self._entries, self._octets = self._entries, [], 0
            self._fetched(Fetched(request.number, entries, last=False))

    def _row(self, number: int) -> RowIndex | None:
        """A row that is kept, which is the last used from now on."""
        row = self._kept.pop(number, None)
        if row is not None:
            self._kept[number] = row
        return row

    def _read(self, living: list[tuple[int, int]]) -> None:
        """The first rows of those that are wanted and not kept, as many as are a share."""
        wanted: dict[int, None] = {}
        octets = 0
        for _position, number in living:
            if number not in self._kept and number not in wanted and number not in self._bad:
                wanted[number] = None
                octets += self._occupancy.rows[number].size
                if octets >= SHARE_OCTETS or len(wanted) == SHARE_ROWS:
                    break
        if not wanted:
            return
        try:
            rows = self._database.some_rows(sorted(wanted))
        except StoreError as error:
            for number in wanted:
                self._is_bad(number, error)
            return
        for number in wanted:
            self._keep(number, rows.get(number, b""))
        while self._kept_octets > KEPT_OCTETS:
            oldest = next(iter(self._kept))
            if oldest in wanted:
                return
            self._kept_octets -= self._kept.pop(oldest).octets

    def _keep(self, number: int, octets: bytes) -> None:
        try:
            row = RowIndex(octets)
        except DecodeError as error:
            self._is_bad(number, error)
        else:
            self._kept[number] = row
            self._kept_octets += row.octets

    def _is_bad(self, number: int, why: Exception) -> None:
        """It was readable when it was written."""
        error = StoreError(f"row {number}: {why}")
        self._bad[number] = error
        self._unreadable(error)

    def _problem(self) -> StoreError | None:
        return next(iter(self._bad.values()), None)

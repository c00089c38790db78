"""What is read from the log again while the gateway runs: the copies that rest there.

Locking is exclusive, so the commit thread reads, between commits, a share at a time. A request is
taken in its order among the turns: by then all that was submitted before it is in rows, and
`occupancy` knows in which. That is asked anew for each share, since rows are written again and
removed meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, final

from gateway.store.entries import Entry
from gateway.store.interface import Fetched, OnFetched
from gateway.store.occupancy import MOST, Occupancy
from gateway.store.recall.kept_rows import KeptRows
from gateway.store.recall.rereading import RowIndex

PIECE_OCTETS: Final = 1024 * 1024


class Request(NamedTuple):
    """As `Store.fetch` was asked."""

    number: int
    queue_id: int
    first: int
    behind: int


@final
class Fetching:
    """The requests, and what of the first one is not handed over yet. Used by the commit thread."""

    def __init__(self, occupancy: Occupancy, rows: KeptRows, fetched: OnFetched) -> None:
        """Make it; `fetched` takes the pieces."""
        self._occupancy = occupancy
        self._rows = rows
        self._fetched = fetched
        self._requests: deque[Request] = deque()
        self._entries: list[Entry] = []
        self._octets = 0

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

    def _share(self, request: Request) -> None:
        """Go on with the first request as far as the rows of one share reach."""
        living = self._occupancy.living(request.queue_id, request.first, request.behind)
        self._rows.read(living)
        for position, number in living:
            row = self._rows.get(number)
            if row is not None:
                self._take(request, position, row)
            elif number not in self._rows.bad:
                self._requests[0] = request._replace(first=position)
                return
        if len(living) >= MOST:
            self._requests[0] = request._replace(first=living[-1][0] + 1)
            return
        error = next(iter(self._rows.bad.values()), None)
        last = Fetched(request.number, self._entries, last=True, error=error)
        self._requests.popleft()
        self._entries, self._octets = [], 0
        self._rows.bad.clear()
        self._fetched(last)

    def _take(self, request: Request, position: int, row: RowIndex) -> None:
        """An entry, to be handed over with others."""
        entry = entry_of(self._occupancy, row, request.queue_id, position)
        self._entries.append(entry)
        self._octets += entry.message.size()
        if self._octets >= PIECE_OCTETS:
            entries, self._entries, self._octets = self._entries, [], 0
            self._fetched(Fetched(request.number, entries, last=False))


def entry_of(occupancy: Occupancy, row: RowIndex, queue_id: int, position: int) -> Entry:
    """A living entry, whose message is in that row, as it is now."""
    message = row.message(queue_id, position)
    entry = Entry(queue_id, position, message.delivery_count, message)
    counted = occupancy.counted.get((queue_id, position))
    if counted is not None:
        entry.delivery_count, entry.annotations = counted[1], counted[2]
    return entry

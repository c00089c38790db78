"""The rows of the log that were read last, walked, for those that need them next.

Neighbouring copies are in the same rows, whatever their queues are. Used by the commit thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gateway.errors import DecodeError, StoreError
from gateway.store.database import Database
from gateway.store.occupancy import Occupancy
from gateway.store.recall.rereading import RowIndex

SHARE_OCTETS: Final = 256 * 1024  # of rows that are read at once, and one row more
SHARE_ROWS: Final = 64
KEPT_OCTETS: Final = 16 * 1024 * 1024


@final
class KeptRows:
    """Rows by number, and why some cannot be read.

    Attributes:
        bad: by number; whoever has told of them clears it.
    """

    def __init__(
        self, database: Database, occupancy: Occupancy, unreadable: Callable[[StoreError], None]
    ) -> None:
        """Make it; `unreadable` is told of a row that is not as it was written."""
        self._database = database
        self._occupancy = occupancy
        self._unreadable = unreadable
        self._kept: dict[int, RowIndex] = {}  # the last used is the last
        self._octets = 0
        self.bad: dict[int, StoreError] = {}

    def get(self, number: int) -> RowIndex | None:
        """A row that is kept, which is the last used from now on."""
        row = self._kept.pop(number, None)
        if row is not None:
            self._kept[number] = row
        return row

    def forget(self) -> None:
        """Nobody has asked for a while: let go of them."""
        self._kept.clear()
        self._octets = 0

    def read(self, living: list[tuple[int, int]]) -> None:
        """The first rows that these entries are in and that are not kept, as many as a share has.

        `living`: by `Occupancy.living`. The first of them is kept then, or bad.
        """
        wanted: dict[int, None] = {}
        octets = 0
        for _position, number in living:
            if number not in self._kept and number not in wanted and number not in self.bad:
                wanted[number] = None
                octets += self._occupancy.rows.size(number)
                if octets >= SHARE_OCTETS or len(wanted) == SHARE_ROWS:
                    break
        if not wanted:
            return
        try:
            rows = self._database.some_rows(sorted(wanted))
        except StoreError:  # of one of them; what the others hold is not lost for that
            for number in wanted:
                self._keep_alone(number)
        else:
            for number in wanted:
                self._keep(number, rows.get(number, b""))
        while self._octets > KEPT_OCTETS:
            oldest = next(iter(self._kept))
            if oldest in wanted:
                return
            self._octets -= self._kept.pop(oldest).octets

    def _keep_alone(self, number: int) -> None:
        try:
            row = self._database.row(number)
        except StoreError as error:
            self._is_bad(number, error)
        else:
            self._keep(number, row)

    def _keep(self, number: int, octets: bytes) -> None:
        try:
            row = RowIndex(octets)
        except DecodeError as error:
            self._is_bad(number, error)
        else:
            self._kept[number] = row
            self._octets += row.octets

    def _is_bad(self, number: int, why: Exception) -> None:
        """It was readable when it was written."""
        error = StoreError(f"row {number}: {why}")
        self.bad[number] = error
        self._unreadable(error)

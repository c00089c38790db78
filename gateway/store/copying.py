"""A copy of the store, made while it is used: the commit thread reads, another thread writes.

The disk that the copy is on may be slow, or not answer at all, and the commit thread must never
wait for it. So it reads a share of the rows when the last one has been written elsewhere, and goes
on with its work. Rows are only ever added behind the others, or removed: each share says which of
those that the copy has are gone, and with the last one, behind which there are none, comes all
else. What is in memory meanwhile is one share, and numbers of rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, Final, final

from gateway.audit.ends import LogEnds
from gateway.errors import StoreError
from gateway.store.database import SCHEMA, Database
from gateway.store.failures import as_store_errors

SHARE_OCTETS: Final = 4 * 1024 * 1024
_SETTINGS: Final = (
    "PRAGMA page_size = 8192",
    "PRAGMA journal_mode = OFF",  # one that is not finished is thrown away
    "PRAGMA synchronous = OFF",  # it is synced once, when it is whole
)


@final
@dataclass(frozen=True)
class Share:
    """What is to be written next.

    Attributes:
        rows: of the log, behind those of earlier shares.
        gone: numbers of rows of earlier shares that the store does not have any more.
        tables: the rows of all other tables; `ends` are the log's. Both of the last share only.
    """

    rows: list[tuple[int, bytes]]
    gone: list[int]
    # Any: SQLite's values.
    tables: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    ends: LogEnds | None = None


@final
class Copying:
    """One copy. `write` is for the thread that writes it, `end` for any, the rest for the other.

    Args:
        wake: has the commit thread look at `asks`.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._asked = Event()
        self._shares: SimpleQueue[Share | StoreError] = SimpleQueue()
        self._reached = 0
        self._gone: list[int] = []
        self.over = False

    @property
    def asks(self) -> bool:
        """Whether all that was handed over is written."""
        return self._asked.is_set()

    def end(self, error: StoreError) -> None:
        """Nothing more is handed over; whoever writes is told why, as soon as its disk lets it."""
        self.over = True
        self._shares.put(error)
        self._wake()

    def removed(self, numbers: list[int]) -> None:
        """The store does not have these rows of the log any more."""
        self._gone += [number for number in numbers if number <= self._reached]

    def hand_over(self, database: Database, log_ends: Callable[[], LogEnds]) -> None:
        """The next share. `log_ends` is asked with the last one, when nothing is behind it."""
        rows, more = database.rows_behind(self._reached, SHARE_OCTETS)
        if rows:
            self._reached = rows[-1][0]
        gone, self._gone = self._gone, []
        if more:
            share = Share(rows, gone)
        else:
            ends = log_ends()
            share = Share(rows, gone, database.other_tables(), ends)
            self.over = True
        self._asked.clear()
        self._shares.put(share)

    def write(self, path: Path, stepped: Callable[[], None]) -> LogEnds:
        """Write a new file, and wait for what there is to write; the ends of the log beside it.

        `stepped` is called after each share. The log that ends there has all that the copy has, and
        nothing more of what is durable. `StoreError` if the copy came to nothing.
        """
        with as_store_errors("cannot copy the store"):
            target = sqlite3.connect(path, isolation_level=None)
        with as_store_errors("cannot copy the store"), closing(target):
            for statement in (*_SETTINGS, *SCHEMA):
                target.execute(statement).fetchall()
            while True:
                self._asked.set()
                self._wake()
                share = self._shares.get()
                if isinstance(share, StoreError):
                    raise share
                _write(target, share)
                stepped()
                if share.ends is not None:
                    return share.ends


def _write(target: sqlite3.Connection, share: Share) -> None:
    target.execute("BEGIN")
    target.executemany("INSERT INTO log VALUES (?, ?)", share.rows)
    target.executemany("DELETE FROM log WHERE number = ?", [(each,) for each in share.gone])
    for table, rows in share.tables.items():
        if rows:
            values = ", ".join("?" * len(rows[0]))
            target.executemany(f"INSERT INTO {table} VALUES ({values})", rows)
    target.execute("COMMIT")

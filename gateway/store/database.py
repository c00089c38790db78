"""The SQLite file under the log: schema, statements, settings. Every error becomes a `StoreError`.

    log        one row per commit (`log_rows` has the layout), numbered ascending
    topology   the durable exchanges, queues, bindings and notes, each with its own CRC-32
    damaged    rows of the log that could not be read, kept aside for people
    damaged_topology   the same of the other
    meta       format, incarnation, whether it was closed in order, and with how many rows
    audit_log  where the audit log begins, and where it has come to at least
    audit_missing    numbers of its segments that are known to be missing, first and last
    audit_life    the last incarnation that it has a segment of, and its id

Settings, and why: WAL with synchronous=FULL makes a commit one append and one fsync. The log is
checkpointed by `checkpoint`, after the commit was reported, never by SQLite within a commit.
Locking is exclusive (one process, one connection), which spares the shared-memory index and its
locks. secure_delete is off: some builds overwrite what is deleted, which doubles all writing; who
needs deleted messages unreadable needs an encrypted disk. Pages of 8 KiB measured best for rows
from 300 octets to 400 KB.

After a failed sync nothing is left to trust in vain: SQLite ends the transaction, and the next one
writes the same part of the WAL anew; a checkpoint copies everything anew whose sync failed. What an
earlier life wrote may never have reached the disk, so the WAL that it left is copied into the file,
and that synced, before anything is written behind it.
"""

from __future__ import annotations

import ctypes
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, final

from gateway.audit.ahead import Known
from gateway.audit.ends import NOTHING_KNOWN, LogEnd, LogEnds
from gateway.audit.whereabouts import TouchedError, Whereabouts
from gateway.errors import BrokenStoreError, StoreError
from gateway.store.contents import (
    COUNTED,
    FIRST,
    FORMAT,
    LAST,
    checksum_of,
    has_table,
    known_in,
    rows_in,
    shrunk_in,
    topology_in,
)
from gateway.store.damage import Damage, TopologyKey, row_line, topology_line
from gateway.store.failures import as_store_errors, reading, refuse_other_files
from gateway.store.interface import TopologyRow
from gateway.store.untouched import Untouched

UNKNOWN_OCTETS: Final = 4 * 1024 * 1024  # of the audit log, behind the end that is remembered
WAL_OCTETS_KEPT: Final = 64 * 1024 * 1024
OTHER_TABLES: Final = (
    "topology",
    "damaged",
    "damaged_topology",
    "meta",
    "audit_log",
    "audit_missing",
    "audit_life",
)
PLACES: Final = (FIRST, LAST)
LOOKED_AT: Final = (
    10_000  # steps of SQLite's, some milliseconds, from one look for a stop to the next
)
SHRUNK_OCTETS: Final = 16 * 1024 * 1024  # the most that is written again to give back room

_SETTINGS: Final = (
    "PRAGMA page_size = 8192",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA temp_store = MEMORY",
    f"PRAGMA journal_size_limit = {WAL_OCTETS_KEPT}",
)
SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS topology (kind INTEGER, key TEXT, value BLOB, checksum INTEGER,"
    " PRIMARY KEY (kind, key)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS damaged (incarnation INTEGER, number INTEGER, body BLOB)",
    "CREATE TABLE IF NOT EXISTS damaged_topology (incarnation INTEGER, kind, key, value, checksum)",
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS audit_log (place TEXT PRIMARY KEY, sequence INTEGER,"
    " segment INTEGER, octets INTEGER, sha256 TEXT) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS audit_missing (first INTEGER PRIMARY KEY, last INTEGER)",
    "CREATE TABLE IF NOT EXISTS audit_life (place TEXT PRIMARY KEY, incarnation INTEGER, log TEXT)"
    " WITHOUT ROWID",
)
_INSERT: Final = "INSERT INTO log VALUES (?, ?)"
_BEHIND: Final = "SELECT number, body FROM log WHERE number > ? ORDER BY number"
_CLEAR: Final = "DELETE FROM topology WHERE kind = ? AND key >= ? AND key < ?"


def _is_near(end: LogEnd, known: LogEnd | None) -> bool:
    """Whether it is not worth a commit that it is remembered where the log is written on."""
    if known is None or known.segment != end.segment:
        return False
    return end.offset - known.offset < UNKNOWN_OCTETS


@contextmanager
def _as_gone() -> Iterator[None]:
    """Of other errors the next write tells."""
    try:
        yield
    except (FileNotFoundError, TouchedError) as error:
        raise StoreError(f"the store: {error}", cause="gone") from error
    except OSError:
        return


@final
class Database:
    """One connection; whoever calls sees to it that only one thread does so at a time."""

    def __init__(
        self, path: Path, *, late: bool = False, given_up: Callable[[], bool] = lambda: False
    ) -> None:
        """Open or create the file; `StoreError` if it is no store, a newer one, or broken.

        `late`: only read it; `take_over` follows, before anything is written. `given_up`: nobody
        wants it any more, while it is looked through.
        """
        self._path = path
        refuse_other_files(path)
        with reading(f"cannot open {path}"):
            self._db = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, cached_statements=16
            )
        try:
            self._db.set_progress_handler(given_up, LOOKED_AT)
            self._prepare(path, late)
            self._db.set_progress_handler(None, 0)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, path: Path, late: bool) -> None:
        with reading(f"cannot open {path}"):
            for setting in _SETTINGS:
                self._db.execute(setting).fetchall()
            if not late:
                self._copy_wal()
            (problem,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
            problem = " ".join(problem.split())
            if problem == "ok" and not late:
                self._create()
        if problem != "ok":
            raise BrokenStoreError(f"{path} is broken: {problem}")
        self._ends = NOTHING_KNOWN
        self._missing: frozenset[tuple[int, int]] | None = None
        self._life = (0, "")
        self._files: list[Whereabouts] = []
        self._untouched: Untouched | None = None
        if self.meta("format") != FORMAT:
            raise StoreError(f"{path} has format {self.meta('format')}; this program has {FORMAT}")

    def take_over(self) -> None:
        """What an earlier life left is made sure of, and this one may write."""
        with as_store_errors("cannot start the store"):
            self._copy_wal()
            self._create()

    def _copy_wal(self) -> None:
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _create(self) -> None:
        with self._transaction():
            for table in SCHEMA:
                self._db.execute(table)
            self._db.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (FORMAT,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def meta(self, key: str) -> int:
        """A value of the meta table; 0 if there is none."""
        with reading():
            found = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            return int(found[0]) if found else 0

    def rows(self) -> Iterator[tuple[int, bytes]]:
        """All rows of the log, in order."""
        with reading():
            for number, body in self._db.execute("SELECT number, body FROM log ORDER BY number"):
                yield int(number), body if isinstance(body, bytes) else b""

    def row(self, number: int) -> bytes:
        """One row of the log; empty if it is not there."""
        with reading():
            found = self._db.execute("SELECT body FROM log WHERE number = ?", (number,)).fetchone()
        return bytes(found[0]) if found else b""

    def some_rows(self, numbers: list[int]) -> dict[int, bytes]:
        """These rows of the log, as far as they are there."""
        listed = ",".join(map(str, numbers))
        asked = f"SELECT number, body FROM log WHERE number IN ({listed})"
        with reading():
            found = self._db.execute(asked).fetchall()
        return {int(number): body if isinstance(body, bytes) else b"" for number, body in found}

    def topology(self) -> tuple[list[TopologyRow], dict[TopologyKey, str]]:
        """The topology, by kind and key, and one line for each row that is not as written."""
        with reading():
            return topology_in(self._db)

    def set_aside(self) -> tuple[list[str], list[str]]:
        """A line for each row that was set aside, and those of the last life, if it was cut off."""
        lines: list[str] = []
        untold: list[str] = []
        last = 0 if self.meta("clean") else self.meta("incarnation")
        with reading():
            found = [
                (life, row_line(number, body if isinstance(body, bytes) else b""))
                for life, number, body in self._db.execute("SELECT * FROM damaged ORDER BY number")
            ]
            if has_table(self._db, "damaged_topology"):
                found += [
                    (life, topology_line((kind, key)))
                    for life, kind, key in self._db.execute(
                        "SELECT incarnation, kind, key FROM damaged_topology ORDER BY kind, key"
                    )
                ]
        for life, line in found:
            lines.append(line)
            if life == last:
                untold.append(line)
        return lines, untold

    def known(self) -> Known:
        """What it knows of the audit log: its ends, as they were remembered last, and more."""
        with reading():
            return known_in(self._db)

    def remember(self, ends: LogEnds, *, moved: bool = False) -> None:
        """Remember the ends of the audit log; `moved`: only those that are far from the known."""
        if ends.missing != self._missing:
            self._remember_missing(ends.missing)
        if ends.life and (ends.life, ends.log) != self._life:
            with as_store_errors("cannot write to the store"):
                row = (LAST, ends.life, ends.log)
                self._db.execute("INSERT OR REPLACE INTO audit_life VALUES (?, ?, ?)", row)
            self._life = (ends.life, ends.log)
        for place, end, known in zip(PLACES, ends[:2], self._ends[:2], strict=True):
            if end is None or end == known or (moved and _is_near(end, known)):
                continue
            with as_store_errors("cannot write to the store"):
                self._db.execute(
                    "INSERT OR REPLACE INTO audit_log VALUES (?, ?, ?, ?, ?)", (place, *end)
                )
            first, last = self._ends[:2]
            self._ends = LogEnds(end, last) if place == FIRST else LogEnds(first, end)

    def _remember_missing(self, missing: frozenset[tuple[int, int]]) -> None:
        with as_store_errors("cannot write to the store"), self._transaction():
            self._db.execute("DELETE FROM audit_missing")
            self._db.executemany("INSERT INTO audit_missing VALUES (?, ?)", sorted(missing))
        self._missing = missing

    def started(self, incarnation: int, damage: Damage | None = None) -> None:
        """A new incarnation begins, not closed in order yet; unreadable rows are set aside.

        From now on `look` knows the files, of which the WAL exists by then.
        """
        with as_store_errors("cannot start the store"), self._transaction():
            if damage is not None:
                self._set_aside(incarnation, damage)
            self._set_meta("incarnation", incarnation)
            self._set_meta("clean", 0)
        names = (self._path.name, f"{self._path.name}-wal")
        self._files = [Whereabouts(self._path.with_name(name)) for name in names]
        try:
            self._untouched = Untouched(self._path)
        except OSError as error:
            raise StoreError(f"cannot start the store: {error.strerror}") from error

    def _set_aside(self, incarnation: int, damage: Damage) -> None:
        if damage.untold:  # once more by this one
            self._still_untold(incarnation)
        for number in damage.rows:
            self._db.execute(
                "INSERT INTO damaged SELECT ?, number, body FROM log WHERE number = ?",
                (incarnation, number),
            )
            self._db.execute("DELETE FROM log WHERE number = ?", (number,))
        for key in damage.topology:
            self._db.execute(
                "INSERT INTO damaged_topology SELECT ?, kind, key, value, checksum FROM topology"
                " WHERE kind IS ? AND key IS ?",
                (incarnation, *key),
            )
            self._db.execute("DELETE FROM topology WHERE kind IS ? AND key IS ?", key)

    def _still_untold(self, incarnation: int) -> None:
        last = self.meta("incarnation")
        for table in ("damaged", "damaged_topology"):
            self._db.execute(
                f"UPDATE {table} SET incarnation = ? WHERE incarnation = ?", (incarnation, last)
            )

    @contextmanager
    def as_incarnation(self, incarnation: int) -> Iterator[None]:
        """What is written meanwhile is committed at the end, all of it or nothing.

        By who is no gateway: its numbers are those of an incarnation of its own, which has begun
        nothing. Whether the store was closed in order stays as it is.
        """
        with as_store_errors("cannot write to the store"), self._transaction():
            yield
            if not self.meta("incarnation"):
                self._set_meta("clean", 1)
            if self.meta("clean"):
                self._count_rows()
            else:
                self._still_untold(incarnation)
            self._set_meta("incarnation", incarnation)

    def _count_rows(self) -> None:
        for table in COUNTED:
            self._set_meta(table, rows_in(self._db, table))

    def last_row(self) -> int:
        """The number of the newest row of the log; 0 if there is none."""
        with reading():
            found = self._db.execute("SELECT max(number) FROM log").fetchone()
            return int(found[0] or 0)

    def look(self) -> None:
        """`StoreError` if the files have been removed or moved: SQLite writes to them as ever."""
        with _as_gone():
            for file in self._files:
                file.look()

    def look_inside(self) -> None:
        """The same, if they have been cut off or written over."""
        with _as_gone():
            if self._untouched is not None:
                self._untouched.look(self._db.total_changes)

    def shrunk_tables(self) -> list[str]:
        """As `shrunk_in`."""
        with reading():
            return list(shrunk_in(self._db))

    def stopped(self, rows: int, *, in_order: bool = True) -> None:
        """All is in the file, and the WAL is empty; `in_order`: the store counts as closed so.

        `rows`: of the log, which SQLite would have to read all of to count them.
        """
        with as_store_errors("cannot close the store"):
            if in_order:
                self._set_meta("log", rows)
                self._set_meta("topology", rows_in(self._db, "topology"))
                self._set_meta("clean", 1)
        self.checkpoint(shrink=True)

    def _set_meta(self, key: str, value: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def commit(
        self,
        number: int,
        body: bytes,
        topology: dict[tuple[int, str], bytes | None],
        cleared: Sequence[tuple[int, str, str]] = (),
    ) -> None:
        """One row of the log, and topology values, or `None` for those that are gone.

        Before these go those that are `cleared`: kind, first key and the key behind the last.
        """
        with as_store_errors("cannot write to the store"):
            if not topology and not cleared:
                # One statement and no transaction around it: each statement gives up the
                # interpreter lock, and a busy reactor gives it back only after a whole turn.
                self._db.execute(_INSERT, (number, body))
            else:
                with self._transaction():
                    self._db.execute(_INSERT, (number, body))
                    for span in cleared:
                        self._db.execute(_CLEAR, span)
                    self.write_topology(topology)
        if self._untouched is not None and self._untouched.begins:
            self._look_at_begin()

    def _look_at_begin(self) -> None:
        """As `look_inside`, of a row that is committed: what is wrong is told by a later look."""
        with suppress(StoreError):
            self.look_inside()

    def write_topology(self, topology: dict[tuple[int, str], bytes | None]) -> None:
        """Values of rows, or `None` for those that are gone; within a transaction."""
        for (kind, key), value in topology.items():
            if value is None:
                self._db.execute("DELETE FROM topology WHERE kind = ? AND key = ?", (kind, key))
            else:
                self._db.execute(
                    "INSERT OR REPLACE INTO topology VALUES (?, ?, ?, ?)",
                    (kind, key, value, checksum_of(kind, key, value)),
                )

    def delete(self, numbers: list[int]) -> None:
        """Delete rows of the log, all or none."""
        listed = ",".join(map(str, numbers))
        with as_store_errors("cannot delete from the store"):
            self._db.execute(f"DELETE FROM log WHERE number IN ({listed})")

    def checkpoint(self, *, shrink: bool = False) -> None:
        """Copy the WAL into the file, so that it starts again from its beginning, or is emptied.

        Not a WAL that others have touched: it would take what is in the file along.
        """
        self.look_inside()
        mode = "TRUNCATE" if shrink else "PASSIVE"
        untouched = self._untouched
        if untouched is not None:
            untouched.checkpoint_begins()
        try:
            with as_store_errors("cannot write to the store"):
                self._db.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        finally:
            if untouched is not None:
                untouched.checkpoint_ended(self._db.total_changes)
        if untouched is not None:
            untouched.checkpoint_done()

    def shrink(self, free: Callable[[], int]) -> None:
        """Give back room: the WAL's, and that of the file if little is in it beside holes.

        What is left in the file is written again, to the WAL first. That may take half of what is
        `free` on the disk, in octets: else it would take the room that settlements need, in vain.
        """
        self.checkpoint(shrink=True)  # what is written again needs some of it
        with as_store_errors("cannot shrink the store"):
            pages, holes, octets = (
                int(self._db.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
            living = (pages - holes) * octets
            if 2 * holes <= pages or living > min(SHRUNK_OCTETS, free() // 2):
                return
            self._db.execute("VACUUM")
        self.checkpoint(shrink=True)

    def rows_behind(self, number: int, octets: int) -> tuple[list[tuple[int, bytes]], bool]:
        """Rows of the log behind that number, until they have so many octets; are there more?"""
        found: list[tuple[int, bytes]] = []
        size = 0
        with reading():
            for row in self._db.execute(_BEHIND, (number,)):
                if size >= octets:
                    return found, True
                found.append(row)
                size += len(row[1])
        return found, False

    def other_tables(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables but the log. Any: SQLite's values."""
        with reading():
            return {
                table: self._db.execute(f"SELECT * FROM {table}").fetchall()
                for table in OTHER_TABLES
            }

    def close(self) -> None:
        """Let go of the file, whatever state it is in.

        Where others have touched it, SQLite is kept from its last checkpoint: for as long as there
        is a reference, and there is one for ever. What the file had before that can still be read.
        """
        if self._is_touched():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))
            return
        with as_store_errors("cannot close the store"):
            self._db.close()
        if self._untouched is not None:
            self._untouched.close()
            self._untouched = None

    def _is_touched(self) -> bool:
        try:
            self.look_inside()
        except StoreError:
            return True
        return False

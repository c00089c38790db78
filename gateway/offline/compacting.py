"""A store's file written anew, without holes and without rows that nobody needs.

A new file is written beside the store, read again, synced, and put into its place by one rename: a
kill or a full disk at any point leaves the old one or the new one, whole. What the new one has is
compared with what the old one has before that.

Where the store was closed in order and the audit log beside it is as it remembers, each row is cut
down to the copies that still live in it: the rest - copies that have left, and audit records, which
the log has - is not needed by a start. Else rows stay as they are, and holes alone are given back.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from gateway.audit.ends import differences
from gateway.errors import StoreError
from gateway.files.own import create_anew
from gateway.net.data_directory import AUDIT_FOLDER
from gateway.offline.directory import (
    alone,
    octets_of,
    own_as,
    refuse_for_want_of_room,
    refuse_others,
    sync,
)
from gateway.offline.living import Living
from gateway.store.contents import COUNTED, damage_in, has_table, known_in, rows_in
from gateway.store.damage import in_short
from gateway.store.database import OTHER_TABLES, SCHEMA, Database
from gateway.store.failures import as_store_errors
from gateway.store.log_rows import pack_row, scan, unpack_row
from gateway.store.occupancy import Occupancy
from gateway.store.outside import opened
from gateway.store.rewriting import living_part
from gateway.store.sqlite import FILE_NAME

NEW: Final = "store-compact"
_SETTINGS: Final = (
    "PRAGMA page_size = 8192",
    "PRAGMA journal_mode = OFF",  # one that is not finished is thrown away
    "PRAGMA synchronous = OFF",  # it is synced once, when it is whole
)


class Compacted(NamedTuple):
    """Octets of the store before and after; `cut`: rows were cut down to what lives in them."""

    before: int
    after: int
    cut: bool


def compact(directory: Path) -> Compacted:
    """Write the store anew.

    Raises:
        GatewayError: it stays as it was: a gateway has it, it is damaged, there is no room.
    """
    path, new = directory / FILE_NAME, directory / NEW
    if os.path.isdir(directory) and not os.path.exists(path):  # nor is a lock made there
        raise StoreError(f"there is no {path}")
    with alone(directory):
        before = octets_of(directory)
        with opened(directory, keep=False) as database:
            _refuse_damage(database)
            cut = _is_in_order(database, directory)
            refuse_for_want_of_room(directory, before)
        Database(path).close()  # what a kill has left in the WAL is in the file, and no WAL is left
        try:
            os.close(create_anew(new))  # for its owner alone
            with opened(directory, keep=False) as database, as_store_errors(f"cannot write {new}"):
                _write(database, new, cut=cut)
            with opened(directory, keep=False) as old, closing(_read_only(new)) as written:
                _compare(old, written)
            _put_into_place(new, path)
        finally:
            new.unlink(missing_ok=True)
        return Compacted(before, octets_of(directory), cut)


def _put_into_place(new: Path, path: Path) -> None:
    try:
        own_as(new, path)
        new.chmod(path.stat().st_mode & 0o777)
        sync(new)
        new.replace(path)
        sync(path.parent)
    except OSError as error:
        raise StoreError(f"cannot write {new}: {error.strerror}") from error


def _refuse_damage(database: sqlite3.Connection) -> None:
    refuse_others(database)
    found = list(damage_in(database))
    if found:
        raise StoreError(f"the store is damaged, and stays as it is: {in_short(found)}")


def _is_in_order(database: sqlite3.Connection, directory: Path) -> bool:
    """Whether the audit log has all that is in the rows."""
    known = known_in(database)
    log = directory / AUDIT_FOLDER
    return known.clean and known.ends.last is not None and not differences(log, known.ends)


def _write(database: sqlite3.Connection, new: Path, *, cut: bool) -> None:
    with closing(sqlite3.connect(new, isolation_level=None)) as target:
        for statement in (*_SETTINGS, *SCHEMA):
            target.execute(statement).fetchall()
        target.execute("BEGIN")
        for table in OTHER_TABLES:
            if has_table(database, table):
                _copy(database, target, table)
        for row in _cut_rows(database) if cut else _rows(database):
            target.execute("INSERT INTO log VALUES (?, ?)", row)
        if cut:
            for table in COUNTED:
                values = (table, rows_in(target, table))
                target.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
        target.execute("COMMIT")


def _copy(database: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    found = database.execute(f"SELECT * FROM {table}")
    values = ", ".join("?" * len(found.description))
    target.executemany(f"INSERT INTO {table} VALUES ({values})", found)


def _rows(database: sqlite3.Connection) -> Iterator[tuple[int, bytes]]:
    yield from database.execute("SELECT number, body FROM log ORDER BY number")


def _cut_rows(database: sqlite3.Connection) -> Iterator[tuple[int, bytes]]:
    """Of each row what lives in it, under its number. Where all live is in memory, as at a start.

    No row is left in which there is something that another one has to take back.
    """
    occupancy = Occupancy()
    for number, body in _rows(database):
        occupancy.add(number, len(body), scan(unpack_row(body)[0]))
    for number, body in _rows(database):
        part = living_part(number, unpack_row(body)[0], occupancy)
        if part:
            yield number, pack_row(part, b"")


def _compare(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """StoreError if a start would not find the same in both."""
    (problem,) = new.execute("PRAGMA quick_check(1)").fetchone()
    with closing(Living(old)) as one, closing(Living(new)) as other:
        same = problem == "ok" and not other.unread and one.held() == other.held()
        if not same or one.digest() != other.digest():
            raise StoreError("what was written is not what was read; the store stays as it was")


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1", uri=True)

"""What a store holds, as any connection to it reads: what it knows of the audit log, what
is in it, and damage.

A store may be of an older gateway, which had fewer tables, or of none. Nothing is written here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final
from zlib import crc32

from gateway.audit.ahead import KNOWS_NOTHING, Known, last_sequence_in
from gateway.audit.ends import NOTHING_KNOWN, LogEnd, LogEnds
from gateway.errors import DecodeError
from gateway.store.damage import TopologyKey, row_line, topology_line
from gateway.store.interface import TopologyRow
from gateway.store.log_rows import scan, unpack_row
from gateway.store.occupancy import Occupancy

FORMAT: Final = 1
FIRST: Final = "first"
LAST: Final = "last"
COUNTED: Final = ("log", "topology")  # tables whose rows are counted when it is closed


def checksum_of(kind: int, key: str, value: bytes) -> int:
    """That of a row of the topology."""
    return crc32(value, crc32(str(key).encode(), kind))


def is_as_written(kind: Any, key: Any, value: Any, checksum: Any) -> bool:
    """Whether a row of the topology is. Any: SQLite's values, which damage makes of any type."""
    try:
        return bool(checksum_of(kind, key, value) == checksum)
    except (TypeError, OverflowError):
        return False


def ends_in(database: sqlite3.Connection) -> LogEnds:
    """What is remembered of the audit log."""
    found: dict[str, LogEnd] = {}
    if not has_table(database, "audit_log"):
        return NOTHING_KNOWN  # of an older gateway
    missing: frozenset[tuple[int, int]] = frozenset()
    if has_table(database, "audit_missing"):
        rows = database.execute("SELECT first, last FROM audit_missing")
        missing = frozenset((int(begin), int(end)) for begin, end in rows)
    for place, *end in database.execute("SELECT * FROM audit_log"):
        sequence, segment, octets, digest = end
        found[str(place)] = LogEnd(int(sequence), int(segment), int(octets), str(digest))
    life, log = 0, ""
    if has_table(database, "audit_life"):
        asked = "SELECT incarnation, log FROM audit_life WHERE place = ?"
        row = database.execute(asked, (LAST,)).fetchone()
        life, log = (int(row[0]), str(row[1])) if row else (0, "")
    return LogEnds(found.get(FIRST), found.get(LAST), missing, life, log)


def has_table(database: sqlite3.Connection, name: str) -> bool:
    """Whether there is one; an older gateway's store has fewer, and so has one that begins late."""
    asked = "SELECT 1 FROM sqlite_master WHERE name = ?"
    return database.execute(asked, (name,)).fetchone() is not None


def known_in(database: sqlite3.Connection) -> Known:
    """What it knows of the audit log."""
    if not has_table(database, "meta"):
        return KNOWS_NOTHING  # empty, or not ours
    meta = dict(database.execute("SELECT key, value FROM meta").fetchall())
    return Known(
        ends_in(database),
        _last_sequence(database),
        int(meta.get("incarnation", 0)),
        clean=int(meta.get("clean", 0)) != 0,
    )


def _last_sequence(database: sqlite3.Connection) -> int | None:
    """Of the last audit record in a row; `None`: a row that cannot be read may have it."""
    for (body,) in database.execute("SELECT body FROM log ORDER BY number DESC"):
        try:
            _writes, audit = unpack_row(body if isinstance(body, bytes) else b"")
        except DecodeError:
            return None
        if audit:
            return last_sequence_in(audit)
    return 0


def topology_in(
    database: sqlite3.Connection,
) -> tuple[list[TopologyRow], dict[TopologyKey, str]]:
    """The topology, by kind and key, and one line for each row that is not as written."""
    found: list[TopologyRow] = []
    damage: dict[TopologyKey, str] = {}
    for kind, key, value, checksum in database.execute(
        "SELECT kind, key, value, checksum FROM topology ORDER BY kind, key"
    ):
        if is_as_written(kind, key, value, checksum):
            found.append(TopologyRow(kind, key, value))
        else:
            damage[(kind, key)] = topology_line((kind, key))
    return found, damage


def held_in(database: sqlite3.Connection) -> dict[int, int]:
    """How many messages queues hold, by their numbers; rows that cannot be read do not count."""
    occupancy = Occupancy()
    for number, body in database.execute("SELECT number, body FROM log ORDER BY number"):
        row = body if isinstance(body, bytes) else b""
        with suppress(DecodeError):
            occupancy.add(number, len(row), scan(unpack_row(row)[0]))
    return occupancy.held()


def damage_in(database: sqlite3.Connection) -> Iterator[str]:
    """What is not as it was written, a line each, as a start would find it; one row in memory."""
    (problem,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        yield f"it is broken: {' '.join(str(problem).split())}"
        return
    if not has_table(database, "meta"):
        return  # empty, or not ours
    format = database.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    if format != (FORMAT,):
        yield f"it has format {format[0] if format else 0}; this program has {FORMAT}"
        return
    for number, body in database.execute("SELECT number, body FROM log ORDER BY number"):
        row = body if isinstance(body, bytes) else b""
        try:
            scan(unpack_row(row)[0])
        except DecodeError:
            yield row_line(number, row)
    for kind, key, *rest in database.execute("SELECT kind, key, value, checksum FROM topology"):
        if not is_as_written(kind, key, *rest):
            yield topology_line((kind, key))
    yield from shrunk_in(database)


def shrunk_in(database: sqlite3.Connection) -> Iterator[str]:
    """A line for each table with fewer rows than it had when the store was closed in order.

    Nothing is known of one that was not, nor of a store that an older gateway closed.
    """
    meta = dict(database.execute("SELECT key, value FROM meta").fetchall())
    for table in COUNTED:
        had, has = int(meta.get(table, 0)), rows_in(database, table)
        if meta.get("clean") and has < had:
            yield f"the table {table} has {has} rows, and had {had} at the end"


def rows_in(database: sqlite3.Connection, table: str) -> int:
    """How many rows a table has."""
    return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

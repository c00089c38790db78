"""A data directory opened: to be read, without a trace, or to be changed, by nobody else meanwhile.

A gateway that has it is an error, which says so. Whatever else is in the way - no such directory,
no permission, a pipe in the place of a file, a file that is no store - is a line, too.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gateway.errors import GatewayError, StoreError
from gateway.net.data_directory import UNFINISHED_FILE
from gateway.store.contents import FORMAT, has_table
from gateway.store.lock import lock, unlock
from gateway.store.outside import opened
from gateway.store.sqlite import FILE_NAME

OURS: Final = ("log", "topology", "meta")  # every store has these tables


@contextmanager
def to_read(directory: Path) -> Iterator[sqlite3.Connection]:
    """The store of a directory, as a start would find it; nothing is written.

    Raises:
        GatewayError: it cannot be read, or a gateway has it.
    """
    _look_at(directory)
    with _words(directory), opened(directory) as database:
        database.text_factory = _text
        yield database


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Nobody else has the directory, which is there, until this ends. GatewayError."""
    _look_at(directory)
    if os.path.lexists(directory / UNFINISHED_FILE):
        raise GatewayError(f"{directory} is a backup that was not finished: it is not changed")
    held = lock(directory)
    try:
        with _words(directory):
            yield
    finally:
        unlock(held)


def refuse_others(database: sqlite3.Connection) -> None:
    """GatewayError if it is a file of SQLite, but no store, or of another format."""
    if not all(has_table(database, name) for name in OURS):
        raise StoreError(f"it is no store of a gateway: it has no table {_lacking(database)}")
    row = database.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    if row != (FORMAT,):
        found = row[0] if row else 0
        raise StoreError(f"it has format {found}; this program has {FORMAT}")


def meta_in(database: sqlite3.Connection) -> dict[str, int]:
    """The numbers that the store keeps of itself."""
    return {str(key): int(value) for key, value in database.execute("SELECT * FROM meta")}


def octets_of(directory: Path) -> int:
    """What the files of the store take."""
    paths = (directory / FILE_NAME, directory / f"{FILE_NAME}-wal")
    return sum(path.stat().st_size for path in paths if path.exists())


def free_octets(directory: Path) -> int:
    """What can be written to its disk."""
    told = os.statvfs(directory)
    return told.f_bavail * told.f_frsize


def refuse_for_want_of_room(directory: Path, wanted: int) -> None:
    """GatewayError if so many octets cannot be written to its disk."""
    free = free_octets(directory)
    if free < wanted:
        raise StoreError(
            f"there is no room for it on the disk of {directory}: {wanted} octets are needed, and"
            f" {free} are free. Nothing was changed",
            full=True,
        )


def own_as(path: Path, like: Path) -> None:
    """The owner of `like` has it, whoever has made it: the superuser, say. Raises OSError."""
    made, wanted = path.stat(), like.stat()
    if (made.st_uid, made.st_gid) != (wanted.st_uid, wanted.st_gid):
        os.chown(path, wanted.st_uid, wanted.st_gid)


def sync(path: Path) -> None:
    """What it has is on disk when this returns. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _text(octets: bytes) -> str:
    """Of a value that damage has made text: it is none of ours, and is looked at all the same."""
    return octets.decode(errors="backslashreplace")


def _lacking(database: sqlite3.Connection) -> str:
    return next(name for name in OURS if not has_table(database, name))


def _look_at(directory: Path) -> None:
    """What the system says of a directory that is not there, or may not be entered."""
    with _words(directory):
        if "\0" in str(directory):
            raise GatewayError("the name of the directory has a NUL in it")
        os.listdir(directory)


@contextmanager
def _words(directory: Path) -> Iterator[None]:
    """What the system or SQLite refuses is told in a line."""
    try:
        yield
    except OSError as error:
        if error.filename is None:  # of what is written meanwhile: standard output
            raise
        raise GatewayError(f"{error.filename}: {error.strerror}") from error
    except sqlite3.Error as error:
        raise StoreError(f"{directory / FILE_NAME}: {error}") from error

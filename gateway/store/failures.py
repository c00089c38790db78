"""What SQLite raises, and what is no file of its, as errors of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gateway.errors import BrokenStoreError, StoreError
from gateway.files.own import refuse_others

BESIDE: Final = ("-wal", "-journal", "-shm")
BROKEN: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def as_store_errors(doing: str) -> Iterator[None]:
    """What SQLite raises becomes a `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        # The extended codes have the plain one in their last octet; errors of the module have none.
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        raise StoreError(f"{doing}: {in_words(error)}", full=full) from error


@contextmanager
def reading(doing: str = "cannot read the store") -> Iterator[None]:
    """Octets that were changed on disk may also come out as values of another type."""
    try:
        yield
    except sqlite3.Error as error:
        if is_broken(error):
            raise BrokenStoreError(f"{doing}: {error}") from error
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        raise StoreError(f"{doing}: {in_words(error)}", full=full) from error
    except (TypeError, ValueError) as wrong:
        raise BrokenStoreError(f"{doing}: {wrong}") from wrong


def in_words(error: sqlite3.Error) -> str:
    """What SQLite says, and what it does not.

    It does not tell why the system refused something, but which call; and a page that cannot be
    read while something is written is "malformed" to it, whatever is on the disk.
    """
    name = str(getattr(error, "sqlite_errorname", ""))
    if is_broken(error):
        return (
            f"{error}, as it is read now: the disk may fail to read (see the system's log), or"
            " somebody has changed the file"
        )
    return f"{error} ({name})" if name.startswith("SQLITE_IOERR") else str(error)


def is_broken(error: sqlite3.Error) -> bool:
    """Whether SQLite says that the file is not what it has written."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in BROKEN


def refuse_other_files(path: Path) -> None:
    """`StoreError` if a pipe or the like has the place of a file that SQLite opens.

    Or if it was emptied beside a WAL: SQLite, even if it is to read only, would remove that.
    """
    try:
        refuse_others(path, *(path.with_name(path.name + end) for end in BESIDE))
        left = _left_of_an_empty(path)
    except OSError as error:
        raise StoreError(f"cannot open {error.filename}: {error.strerror}") from None
    if left:
        raise BrokenStoreError(
            f"{path} is empty, but beside it is {path.name}-wal, of {left} octets that may be all"
            " there is of its messages"
        )


def _left_of_an_empty(path: Path) -> int:
    wal = path.with_name(f"{path.name}-wal")
    if not path.exists() or path.stat().st_size or not wal.exists():
        return 0
    return wal.stat().st_size

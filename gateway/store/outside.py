"""A look at a store from outside, by who is not its gateway: what it knows of the audit log, and
whether all of it is as it was written.

Nothing is touched, so that a directory may be read-only. SQLite reads what a killed process left in
the WAL only if it may lock the file or make one beside it; both is spared here: the store's own
lock says whether a gateway has it, and who keeps that has it alone.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from gateway.audit.ahead import Known
from gateway.errors import StoreError
from gateway.files.own import open_own
from gateway.store.contents import damage_in, known_in
from gateway.store.failures import is_broken, reading, refuse_other_files
from gateway.store.lock import LOCK_NAME
from gateway.store.sqlite import FILE_NAME


def known(directory: Path) -> Known:
    """What the store of a data directory knows of the audit log.

    Raises:
        StoreError: it cannot be read, is not there, or a gateway is using it.
    """
    with _opened(directory) as database:
        return known_in(database)


def damage(directory: Path) -> list[str]:
    """What of the store is not as it was written, a line each; a gateway does not start with it.

    Raises:
        StoreError: as `known`, but where it cannot be read since it is broken.
    """
    with _opened(directory) as database:
        try:
            return list(damage_in(database))
        except sqlite3.Error as error:
            if not is_broken(error):
                raise
            return [f"it is broken: {error}"]
        except (TypeError, ValueError) as error:
            return [f"it is broken: {error}"]


@contextmanager
def _opened(directory: Path) -> Iterator[sqlite3.Connection]:
    path = directory / FILE_NAME
    if not path.exists():
        raise StoreError(f"there is no {path}")
    refuse_other_files(path)
    with _kept(directory), reading(f"cannot read {path}"):
        wal = path.with_name(FILE_NAME + "-wal")
        left = wal.exists() and wal.stat().st_size > 0
        how = "vfs=unix-none" if left else "immutable=1"
        database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&{how}", uri=True)
        try:
            if left:  # its index is then in memory
                database.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            yield database
        finally:
            database.close()


@contextmanager
def _kept(directory: Path) -> Iterator[None]:
    """No gateway opens the store meanwhile; of a copy without a lock that is true anyway."""
    try:
        lock = open_own(directory / LOCK_NAME, os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise StoreError(f"cannot read {directory / LOCK_NAME}: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise StoreError(f"a gateway is using {directory}") from None
    finally:
        os.close(lock)

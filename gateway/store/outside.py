"""A look at a store from outside, by who is not its gateway: what it knows of the audit log, what
its queues hold, and whether all of it is as it was written.

Nothing is touched, so that a directory may be read-only. SQLite reads what a killed process left in
the WAL only if it may lock the file or make one beside it; both is spared here: the store's own
lock says whether a gateway has it, and who keeps that has it alone.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from gateway.audit.ahead import Known
from gateway.errors import StoreError
from gateway.files.own import open_own
from gateway.store.contents import damage_in, held_in, known_in, topology_in
from gateway.store.failures import is_broken, reading, refuse_other_files
from gateway.store.interface import TopologyRow
from gateway.store.lock import LOCK_NAME
from gateway.store.sqlite import FILE_NAME


def known(directory: Path) -> Known:
    """What the store of a data directory knows of the audit log.

    Raises:
        StoreError: it cannot be read, is not there, or a gateway is using it.
    """
    with opened(directory) as database:
        return known_in(database)


def damage(directory: Path) -> list[str]:
    """What of the store is not as it was written, a line each; a gateway does not start with it.

    Raises:
        StoreError: as `known`, but where it cannot be read since it is broken.
    """
    with opened(directory) as database:
        try:
            return list(damage_in(database))
        except sqlite3.Error as error:
            if not is_broken(error):
                raise
            return [f"it is broken: {error}"]
        except (TypeError, ValueError) as error:
            return [f"it is broken: {error}"]


class Contents(NamedTuple):
    """What a start would find: the topology, and how many messages queues hold, by number."""

    topology: list[TopologyRow]
    held: dict[int, int]


def contents(directory: Path) -> Contents:
    """What is in it, but for what is damaged, of which a start tells first.

    Reading may take as long as a start's own does. A gateway that starts meanwhile is not kept from
    it; what was read may then be of two lives, and is not told.

    Raises:
        StoreError: as `known`.
    """
    with _kept(directory):
        pass
    with opened(directory, keep=False) as database:
        found = Contents(topology_in(database)[0], held_in(database))
    with _kept(directory):
        return found


@contextmanager
def opened(directory: Path, *, keep: bool = True) -> Iterator[sqlite3.Connection]:
    """The store, to be read; `keep`: no gateway can start meanwhile.

    Raises:
        StoreError: as `known`.
    """
    path = directory / FILE_NAME
    if not path.exists():
        raise StoreError(f"there is no {path}")
    refuse_other_files(path)
    kept = _kept(directory) if keep else nullcontext()
    with kept, reading(f"cannot read {path}"):
        wal = path.with_name(FILE_NAME + "-wal")
        left = wal.exists() and wal.stat().st_size > 0
        how = "vfs=unix-none" if left else "immutable=1"
        database = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro&{how}", uri=True)
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

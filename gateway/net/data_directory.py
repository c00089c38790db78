"""What lies in the data directory beside the store's own files, and opening it all in order.

store.sqlite, lock   the store's
reserve              room that is set aside
unlogged             which audit records were in memory only when the last life ended
audit/               the audit log's segments
gateway-id           a UUID that stays with the directory

`Disk` says how much of it there is, for the metrics.
"""

from __future__ import annotations

import os
import pathlib
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, final

from gateway.audit.segment import SegmentWriter
from gateway.errors import StartupError, StoreError
from gateway.store.interface import Recovered
from gateway.store.reserve import is_full
from gateway.store.sqlite import SqliteStore

IDENTITY_FILE: Final = "gateway-id"


@final
class LateSegments:
    """The audit segments, opened at first use: the store holds the directory by then."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._writer: SegmentWriter | None = None

    def writer(self) -> SegmentWriter:
        """The writer, opened."""
        if self._writer is None:
            self._writer = SegmentWriter(self._directory)
        return self._writer

    @property
    def unsynced_octets(self) -> int:
        """See `AuditSegments`."""
        return 0 if self._writer is None else self._writer.unsynced_octets

    def append(self, blocks: bytes) -> None:
        """See `AuditSegments`."""
        with _as_store_errors():
            self.writer().append(blocks)

    def sync(self) -> None:
        """See `AuditSegments`."""
        with _as_store_errors():
            self.writer().sync()

    def close(self) -> None:
        """See `AuditSegments`."""
        with _as_store_errors():
            self.writer().close()


@contextmanager
def _as_store_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        text = f"cannot write to the audit log: {error.strerror}"
        raise StoreError(text, part="audit", full=is_full(error)) from error


@final
class Disk:
    """What the data directory takes of its file systems, and what these have left."""

    def __init__(self, directory: pathlib.Path, audit: str) -> None:
        self._parts = {"store": directory, "audit": directory / audit}

    def free(self) -> dict[str, int]:
        """Octets that the process may still write, for the store and the audit log."""
        return {part: _free(path) for part, path in self._parts.items()}

    def used(self) -> dict[str, int]:
        """Octets of the files of the store, the reserve included, and of the audit log."""
        return {part: _used(path) for part, path in self._parts.items()}


def _free(directory: pathlib.Path) -> int:
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize


def _used(directory: pathlib.Path) -> int:
    octets = 0
    for entry in os.scandir(directory):
        with suppress(FileNotFoundError):  # just removed
            if entry.is_file():
                octets += entry.stat().st_size
    return octets


def open_store(store: SqliteStore) -> Recovered:
    """Lock the directory and read everything. Raises StartupError."""
    try:
        return store.open()
    except (OSError, StoreError, sqlite3.Error) as error:
        raise StartupError(f"cannot open the data directory: {error}") from error


def identity(directory: pathlib.Path) -> str:
    """A UUID that stays with a data directory: the first start makes it."""
    path = directory / IDENTITY_FILE
    try:
        if path.exists():
            return str(uuid.UUID(path.read_text().strip()))
        made = str(uuid.uuid4())
        path.write_text(made + "\n")
        return made
    except (OSError, ValueError) as error:
        raise StartupError(f"cannot use {path}: {error}") from None

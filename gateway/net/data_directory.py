"""What lies in the data directory beside the store's own files, and opening it all in order.

store.sqlite, lock   the store's
audit/               the audit log's segments
gateway-id           a UUID that stays with the directory
"""

from __future__ import annotations

import pathlib
import sqlite3
import uuid
from typing import Final, final

from gateway.audit.segment import SegmentWriter
from gateway.errors import StartupError, StoreError
from gateway.store.interface import Recovered
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

    def append(self, blocks: bytes) -> None:
        """See `AuditSegments`."""
        self.writer().append(blocks)

    def sync(self) -> None:
        """See `AuditSegments`."""
        self.writer().sync()

    def close(self) -> None:
        """See `AuditSegments`."""
        self.writer().close()


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

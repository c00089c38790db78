"""The product's own store without a gateway: nothing is audited, and a commit is waited for."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue

from gateway.errors import StoreError
from gateway.store.sqlite import SqliteStore


class NoSegments:
    """Takes audit blocks nowhere."""

    unsynced_octets = 0

    def append(self, blocks: bytes) -> None:
        return

    def sync(self) -> None:
        return

    def look(self) -> None:
        return

    def close(self) -> None:
        return


def complain(error: StoreError) -> None:
    raise error


def bare_store(directory: Path) -> tuple[SqliteStore, SimpleQueue[int]]:
    """One that is not open, and the turns that it has committed."""
    done: SimpleQueue[int] = SimpleQueue()
    store = SqliteStore(directory, NoSegments(), lambda call: call(), done.put, complain, int)
    return store, done

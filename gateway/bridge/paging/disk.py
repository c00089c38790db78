"""What paging knows of where the octets of pages are: `store.spill` is that."""

from __future__ import annotations

from typing import Protocol

# Of one page: its number on the disk, and octets there.
Spot = tuple[int, int]


class Answered(Protocol):
    """Who is told what became of pages, on the reactor's thread; a turn must end after that."""

    def on_written(self, token: int, spot: Spot | None) -> None:
        """A page is on disk; `None`: there is no room, or the disk refuses."""

    def on_read(self, token: int, octets: bytes | None) -> None:
        """The octets of a page; `None`: they cannot be read, or are not as they were written."""


class Disk(Protocol):
    """Octets of pages, for the life of the process; no call blocks."""

    def write(self, token: int, octets: bytes) -> None:
        """Keep a page; `on_written` answers."""

    def read(self, token: int, spot: Spot) -> None:
        """Bring it; `on_read` answers. It is still kept."""

    def let_go(self, spot: Spot) -> None:
        """Nobody needs it any more."""

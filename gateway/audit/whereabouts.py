"""Whether a file that is open is still in its place: a removed one is written as ever, in vain."""

from __future__ import annotations

import os
from pathlib import Path
from typing import final


class TouchedError(OSError):
    """A file has become shorter than what was written to it, or has something else in it."""


@final
class Whereabouts:
    """A file that was at `path` when this was made."""

    __slots__ = ("_file", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file, _ = _file_at(path)

    def look(self) -> int:
        """Its octets, -1 of one that was never there.

        `FileNotFoundError` if it has been removed or moved, or another is in its place.
        """
        found, size = _file_at(self.path)
        if self._file is not None and found != self._file:
            raise FileNotFoundError(f"{self.path} has been removed or moved")
        return size


def _file_at(path: Path) -> tuple[tuple[int, int] | None, int]:
    """Which file is there, and its octets."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None, -1
    return (status.st_dev, status.st_ino), status.st_size

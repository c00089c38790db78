"""How far the audit log's numbers had come when the disk refused to take more of it.

A small file, whose place on the disk is taken at start, so that it can be written when there is no
room. While records wait in memory it names the last of them; a process that is killed then leaves
it behind, and the next one goes on behind that number: the gap is what was lost. Once those records
are in the log the number says nothing any more, since numbers only grow.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final, final
from zlib import crc32

from gateway.files.own import open_own

FILE_NAME: Final = "unlogged"


@final
class Unlogged:
    """The file.

    Attributes:
        sequence: the number that it names; 0: none.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE_NAME
        self._file = -1
        self.sequence = 0

    def open(self) -> None:
        """Read what an earlier life left, and take the place. `OSError` if that is impossible."""
        self._file = open_own(self._path, os.O_RDWR | os.O_CREAT)
        text = os.pread(self._file, 12, 0)
        number = text[:8]
        if len(text) == 12 and text[8:] == crc32(number).to_bytes(4, "big"):
            self.sequence = int.from_bytes(number, "big")
        else:  # new, or a write that was cut short
            self.mark(0)

    def mark(self, sequence: int) -> None:
        """Records up to this one may be in memory only; a disk may refuse to hear even that."""
        with contextlib.suppress(OSError):
            self._write(sequence)
        self.sequence = sequence

    def close(self) -> None:
        """Let go of it."""
        os.close(self._file)

    def _write(self, sequence: int) -> None:
        number = sequence.to_bytes(8, "big")
        os.pwrite(self._file, number + crc32(number).to_bytes(4, "big"), 0)
        os.fdatasync(self._file)

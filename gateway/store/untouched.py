"""Whether the store's files are still as SQLite has left them: what others write, it never sees.

It keeps in memory where in its files what is, and a file that was cut off or written over meanwhile
takes commits as ever, which nobody can read again. Worse, the next checkpoint copies what is not
there any more over the file. So both are looked at, now and then and before each checkpoint, by
what nothing but SQLite can change (https://www.sqlite.org/fileformat2.html, sections 1.3 and 4):

- store.sqlite is written by checkpoints alone, which we ask for: between them neither its size nor
  its header changes;
- the WAL has one header from the first write behind a checkpoint until the next one, and each of
  its frames, once written, repeats the salt of that header until then.

What is written over in the middle, header and salts spared, is not seen here: its checksums tell
when it is read. The descriptors are kept: the system takes SQLite's lock away when any other of the
process is closed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from gateway.audit.whereabouts import TouchedError
from gateway.files.own import open_own

MAIN_HEADER: Final = 100
WAL_HEADER: Final = 32
FRAME_HEADER: Final = 24
PAGE_SIZE: Final = slice(8, 12)
SALT: Final = slice(16, 24)  # of the WAL's header
SALT_AT: Final = 8  # in that of a frame, whose page stands first
SALT_END: Final = 16
NO_PAGE: Final = bytes(4)
PIECE_FRAMES: Final = 512  # each call that reads may cost the interpreter lock
WAL_MAGIC: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


@final
class Untouched:
    """The two files of one connection, which has written to the WAL already."""

    __slots__ = ("_changes", "_frames", "_header", "_main", "_main_state", "_wal", "path")

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self.path = path
        self._main = open_own(path, os.O_RDONLY)
        try:
            self._wal = open_own(self._wal_path, os.O_RDONLY)
        except OSError:
            os.close(self._main)
            raise
        self._changes = -1
        self._header = b""  # the WAL's, since the last checkpoint; not known before a write
        self._frames = 0  # of it, at the last look
        self._main_state: tuple[int, bytes] | None = self._now_main()

    @property
    def _wal_path(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    def close(self) -> None:
        """After SQLite has let go of them."""
        os.close(self._main)
        os.close(self._wal)

    def look(self, changes: int) -> None:
        """Compare; `changes` are all that the connection has made (`total_changes`).

        Raises:
            TouchedError: somebody else has written.
            OSError: they cannot be read.
        """
        if self._main_state is not None and self._now_main() != self._main_state:
            raise TouchedError(f"{self.path} has been cut off or written over")
        if changes == self._changes:
            return  # nothing was written since the checkpoint, so nothing is needed of the WAL
        header = os.pread(self._wal, WAL_HEADER, 0)
        if not self._header and header[:4] in WAL_MAGIC:
            self._header, self._frames = header, 0
        if not self._header or header != self._header or not self._goes_on():
            raise TouchedError(f"{self._wal_path} has been cut off or written over")

    @property
    def begins(self) -> bool:
        """What was written just now may have begun the WAL anew: it is best looked at at once."""
        return not self._header

    def checkpoint_begins(self) -> None:
        """What the main file comes to is not known while it is written."""
        self._main_state = None

    def checkpoint_ended(self, changes: int) -> None:
        """Well or not: what is written next may begin the WAL anew."""
        self._changes = changes
        self._header = b""

    def checkpoint_done(self) -> None:
        """Well: the main file stays as it is now."""
        with suppress(OSError):
            self._main_state = self._now_main()

    def _now_main(self) -> tuple[int, bytes]:
        return os.fstat(self._main).st_size, os.pread(self._main, MAIN_HEADER, 0)

    def _goes_on(self) -> bool:
        """Whether the last frame that is known is there, and no hole behind it; to the last one.

        What is cut off and written on behind has a hole, and a frame of a hole is of page 0. Behind
        the last frame are those of an earlier header, or nothing.
        """
        frame = FRAME_HEADER + int.from_bytes(self._header[PAGE_SIZE])
        salt = self._header[SALT]
        size = os.fstat(self._wal).st_size
        number = max(self._frames - 1, 0)
        while True:
            start = WAL_HEADER + number * frame
            # No more than there is: what is asked for is taken of memory before it is read.
            asked = max(min(PIECE_FRAMES * frame, size - start), 0)
            piece = os.pread(self._wal, asked, start)
            for at in range(0, len(piece) // frame * frame, frame):
                if piece[at + SALT_AT : at + SALT_END] != salt:
                    return piece[at : at + len(NO_PAGE)] != NO_PAGE and self._ends_at(number)
                number += 1
            if len(piece) < PIECE_FRAMES * frame:
                return self._ends_at(number)

    def _ends_at(self, number: int) -> bool:
        """So many frames are there, which must not be fewer than there were."""
        if number < self._frames:
            return False
        self._frames = number
        return True

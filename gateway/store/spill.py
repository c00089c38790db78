"""Octets of pages that do not fit into memory, for the life of the process.

Files of bounded size in a folder of the data directory, written one after the other: a page is
appended to the last one, and a file goes when nothing in it is needed any more. Nothing of it
outlives the process: what is durable is in the store, and so the folder is emptied at start, and
nothing is ever synced. A page is read only as it was written: its checksum says so.

One thread writes and reads; `write`, `read` and `let_go` put into its queue, and answers go through
`call_in_reactor`. A disk that is full, or has little room left, does not take a page, and it stays
in memory; what cannot be read is tried again a few times.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from struct import Struct
from threading import Thread
from time import sleep
from typing import Final, Protocol, final
from zlib import crc32

from gateway.errors import DecodeError
from gateway.store.interface import CallInReactor

FOLDER: Final = "paged"
FILE_OCTETS: Final = 16 * 1024 * 1024  # a file that has so many takes no further page
HEAD: Final = Struct(">III")  # checksum of what follows, number of the page, octets
ATTEMPTS: Final = 3
PAUSE_S: Final = 0.05
STOP_S: Final = 10.0  # no stop waits longer for a disk that does not answer

Spot = tuple[int, int, int]  # number of the file, where the page is in it, octets


class Answered(Protocol):
    """Who has asked, on the reactor's thread."""

    def on_written(self, token: int, spot: Spot | None) -> None:
        """See `bridge.paging.disk`."""

    def on_read(self, token: int, octets: bytes | None) -> None:
        """See `bridge.paging.disk`."""


@final
class SpillFile:
    """One file. Used by the thread.

    Attributes:
        size: octets that were written to it.
        pages: how many in it are needed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.pages = 0
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def append(self, octets: bytes) -> int:
        """Write at its end; where."""
        at = self.size
        view = memoryview(octets)
        done = 0
        while done < len(view):
            done += os.pwrite(self.descriptor, view[done:], at + done)
        self.size += len(octets)
        self.pages += 1
        return at

    def read(self, at: int, count: int) -> bytes:
        """What was written there, or less."""
        parts: list[bytes] = []
        while count > 0:
            part = os.pread(self.descriptor, count, at)
            if not part:
                break
            parts.append(part)
            at += len(part)
            count -= len(part)
        return b"".join(parts)

    def remove(self) -> None:
        """Nothing in it is needed."""
        os.close(self.descriptor)
        with suppress(OSError):
            self.path.unlink()


@final
class Spill:
    """Pages on disk. Implements `bridge.paging.disk.Disk`.

    Args:
        most: octets of files; a page beyond is not taken.
        keep_free: octets that the disk is to keep free for others, as it is asked each time.
        failed: told on the reactor's thread why the disk does not take or give a page.

    Attributes:
        octets: of the files there are.
        write_failures, read_failures: answers of the disk that were no good.
    """

    def __init__(
        self,
        directory: Path,
        call_in_reactor: CallInReactor,
        *,
        most: int,
        keep_free: Callable[[], int],
        failed: Callable[[str], None],
        file_octets: int = FILE_OCTETS,
    ) -> None:
        self.octets = 0
        self.write_failures = 0
        self.read_failures = 0
        self._folder = directory / FOLDER
        self._call_in_reactor = call_in_reactor
        self._most = most
        self._keep_free = keep_free
        self._failed = failed
        self._file_octets = file_octets
        self._answered: Answered | None = None
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._files: dict[int, SpillFile] = {}
        self._last = 0  # number of the file that is written to
        self._pages = 0
        self._thread = Thread(target=self._run, name="spill", daemon=True)

    def open(self, answered: Answered) -> None:
        """Empty the folder, which may have pages of an earlier life, and begin; `OSError`."""
        self._answered = answered
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._folder.chmod(0o700)  # others may have been let in meanwhile
        for path in self._folder.iterdir():
            path.unlink()
        self._thread.start()

    def close(self) -> None:
        """End; what it has is not needed any more."""
        self._work.put(None)
        self._thread.join(STOP_S)

    def write(self, token: int, octets: bytes) -> None:
        """See `Disk`."""
        self._work.put(partial(self._write, token, octets))

    def read(self, token: int, spot: Spot) -> None:
        """See `Disk`."""
        self._work.put(partial(self._read, token, spot))

    def let_go(self, spot: Spot) -> None:
        """See `Disk`."""
        self._work.put(partial(self._let_go, spot[0]))

    # In the thread.

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
        for number in list(self._files):
            self._remove(number)

    def _write(self, token: int, octets: bytes) -> None:
        assert self._answered is not None
        self._pages = (self._pages + 1) & 0xFFFFFFFF
        head = HEAD.pack(crc32(octets, self._pages), self._pages, len(octets))
        spot: Spot | None = None
        try:
            file = self._file(HEAD.size + len(octets))
            if file is not None:
                at = file.append(head + octets)
                self.octets += HEAD.size + len(octets)
                spot = (self._last, at, HEAD.size + len(octets))
        except OSError as error:
            self.write_failures += 1
            self._tell(f"the disk does not take what the queues hold beyond memory: {error}")
        self._call_in_reactor(partial(self._answered.on_written, token, spot))

    def _file(self, size: int) -> SpillFile | None:
        """The file to write to; `None`: there is no room for so much more."""
        if self.octets + size > self._most:
            return None
        file = self._files.get(self._last)
        if file is None or file.size >= self._file_octets:
            room = os.statvfs(self._folder)
            if room.f_bavail * room.f_frsize < self._keep_free() + self._file_octets:
                return None
            self._last += 1
            file = SpillFile(self._folder / str(self._last))
            self._files[self._last] = file
        return file

    def _read(self, token: int, spot: Spot) -> None:
        assert self._answered is not None
        octets: bytes | None = None
        for attempt in range(ATTEMPTS):
            try:
                octets = self._page(spot)
                break
            except (OSError, DecodeError) as error:
                self.read_failures += 1
                if attempt == ATTEMPTS - 1:
                    self._tell(f"what queues hold on disk cannot be read: {error}")
                else:
                    sleep(PAUSE_S)
        self._call_in_reactor(partial(self._answered.on_read, token, octets))

    def _page(self, spot: Spot) -> bytes:
        number, at, count = spot
        found = self._files[number].read(at, count)
        if len(found) != count:
            raise DecodeError(f"file {number} ends in a page")
        checksum, page, size = HEAD.unpack_from(found)
        octets = found[HEAD.size :]
        if size != len(octets) or crc32(octets, page) != checksum:
            raise DecodeError(f"a page in file {number} is not as it was written")
        return octets

    def _let_go(self, number: int) -> None:
        file = self._files[number]
        file.pages -= 1
        if file.pages == 0:
            self._remove(number)

    def _remove(self, number: int) -> None:
        file = self._files.pop(number)
        self.octets -= file.size
        file.remove()

    def _tell(self, line: str) -> None:
        self._call_in_reactor(partial(self._failed, line))

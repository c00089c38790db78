"""Octets of pages that do not fit into memory, for the life of the process.

Files of bounded size in a folder of the data directory, written one after the other: a page is
appended to the last one, and a file goes when nothing in it is needed any more. When little of one
is, that moves to the last one: else a page that stays for long would keep all that was written
beside it. Nothing of it outlives the process: what is durable is in the store, and so the folder is
emptied at start, and nothing is ever synced. A page is read only as it was written: its checksum
says so.

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
FILES: Final = 16  # of so many there may be, at least: what is in the last one does not move
FILE_OCTETS_MIN: Final = 64 * 1024
SPARSE: Final = 2  # what is needed of a file moves when it is less than the file divided by this
HEAD: Final = Struct(">III")  # checksum of what follows, number of the page, octets
ATTEMPTS: Final = 3
PAUSE_S: Final = 0.05
STOP_S: Final = 10.0  # no stop waits longer for a disk that does not answer

FULL: Final = "what the queues hold beyond memory stays in memory from now on"

Spot = tuple[int, int]  # number of the page, octets


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
        pages: where those are that are needed: place and octets, by their numbers.
        needed: octets of these.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.pages: dict[int, tuple[int, int]] = {}
        self.needed = 0
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def append(self, number: int, octets: bytes) -> None:
        """Write a page at its end."""
        at = self.size
        view = memoryview(octets)
        done = 0
        while done < len(view):
            done += os.pwrite(self.descriptor, view[done:], at + done)
        self.size += len(octets)
        self.pages[number] = (at, len(octets))
        self.needed += len(octets)

    def forget(self, number: int) -> None:
        """A page is not needed."""
        self.needed -= self.pages.pop(number)[1]

    def page(self, number: int) -> bytes:
        """What was written of a page; DecodeError: it is not all there."""
        at, count = self.pages[number]
        found = self.read(at, count)
        if len(found) != count:
            raise DecodeError(f"{self.path.name}: it ends in a page")
        return found

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
        self._file_octets = min(file_octets, max(most // FILES, FILE_OCTETS_MIN))
        self._answered: Answered | None = None
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._files: dict[int, SpillFile] = {}
        self._last = 0  # number of the file that is written to
        self._pages = 0  # number of the page that was written last
        self._where: dict[int, int] = {}  # the file of each
        self._spare = min(self._file_octets, most) // SPARSE  # for what moves
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
        self._pages += 1
        named = self._pages & 0xFFFFFFFF
        page = HEAD.pack(crc32(octets, named), named, len(octets)) + octets
        spot: Spot | None = None
        try:
            if self.octets + len(page) > self._most - self._spare:
                self._tell(f"{FULL}: queues.paged_size is {self._most} octets")
            elif self._put(self._pages, page):
                spot = (self._pages, len(page))
            else:
                self._tell(f"{FULL}: the disk is to keep {self._keep_free()} octets free")
        except OSError as error:
            self.write_failures += 1
            self._tell(f"the disk does not take what the queues hold beyond memory: {error}")
        self._call_in_reactor(partial(self._answered.on_written, token, spot))

    def _put(self, number: int, page: bytes) -> bool:
        """Write a page to the last file; `False`: the disk has no room for another file."""
        file = self._files.get(self._last)
        if file is None or file.size >= self._file_octets:
            room = os.statvfs(self._folder)
            if room.f_bavail * room.f_frsize < self._keep_free() + self._file_octets:
                return False
            self._last += 1
            file = SpillFile(self._folder / str(self._last))
            self._files[self._last] = file
        file.append(number, page)
        self.octets += len(page)
        self._where[number] = self._last
        return True

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
        number = spot[0]
        file = self._files[self._where[number]]
        found = file.page(number)
        checksum, page, size = HEAD.unpack_from(found)
        octets = found[HEAD.size :]
        if size != len(octets) or page != number & 0xFFFFFFFF or crc32(octets, page) != checksum:
            raise DecodeError(f"{file.path.name}: a page is not as it was written")
        return octets

    def _let_go(self, number: int) -> None:
        where = self._where.pop(number)
        file = self._files[where]
        file.forget(number)
        if not file.pages:
            self._remove(where)
        elif file.size >= self._file_octets and file.needed * SPARSE < file.size:
            self._move(where)

    def _move(self, where: int) -> None:
        """What is needed of a file goes to the last one; what cannot be moved stays."""
        file = self._files[where]
        with suppress(OSError, DecodeError):
            for number in list(file.pages):
                if not self._put(number, file.page(number)):
                    return
                file.forget(number)
            self._remove(where)

    def _remove(self, number: int) -> None:
        file = self._files.pop(number)
        self.octets -= file.size
        file.remove()

    def _tell(self, line: str) -> None:
        self._call_in_reactor(partial(self._failed, line))

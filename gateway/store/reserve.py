"""Room on the disk that is set aside, so that a full disk does not stop what makes it emptier.

A file of allocated blocks in the data directory. When a write meets a full disk most of it is let
go, and is there for settlements and audit records, while publishers are held back (`trouble`). The
last part goes when that is used up, too: it has room for a copy of the WAL, which gives back more.
All of it is set aside again when there is room for it and for half as much more.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Final, final

from gateway.errors import StoreError
from gateway.files.own import open_own, remove_others

FILE_NAME: Final = "reserve"
DISK_SHARE: Final = 16  # of a small disk no more than this part is set aside
LAST_SHARE: Final = 4  # this part of it is let go last
MARGIN_SHARE: Final = 2  # beside the reserve this part of it must be free: it would be used at once
FULL: Final = (errno.ENOSPC, errno.EDQUOT)
BLOCK_OCTETS: Final = 512  # what st_blocks counts, whatever the file system's own are


def is_full(error: OSError) -> bool:
    """Whether it says that there is no room left."""
    return error.errno in FULL


@final
class Reserve:
    """The file.

    Attributes:
        wanted: octets to set aside; 0: there is no reserve.
        held: octets that are.
        released: some of it was let go, or could not be had at all: the disk is, or was, full.
    """

    def __init__(self, directory: Path, octets: int) -> None:
        self._directory = directory
        self._path = directory / FILE_NAME
        self._octets = octets
        self.wanted = 0
        self.held = 0
        self.released = False

    def open(self) -> None:
        """At start: set aside as much as there is room for, at most half of what is free.

        `StoreError` if a directory is in its place.
        """
        disk = os.statvfs(self._directory)
        self.wanted = min(self._octets, disk.f_blocks * disk.f_frsize // DISK_SHARE)
        left = 0
        if self._path.is_dir() and not self._path.is_symlink():
            raise StoreError(
                f"{self._path} is a directory: remove it, or move it away; the room is set aside in"
                " a file of that name"
            )
        remove_others(self._path)
        with contextlib.suppress(FileNotFoundError):
            left = self._path.stat().st_blocks * BLOCK_OCTETS
        try:
            self._take(min(self.wanted, left + disk.f_bavail * disk.f_frsize // 2))
        except OSError:  # a file system that cannot set room aside
            self.wanted = 0
        self.released = self.wanted > 0 and self.held == 0

    def release(self) -> bool:
        """Give some of it to whoever writes next; whether there was any."""
        last = self.held // LAST_SHARE
        try:
            if self.held == self.wanted and last >= BLOCK_OCTETS:
                self._cut(last)
                self.held = last
            else:
                self._path.unlink()
                self.held = 0
        except OSError:  # a disk that refuses even that has nothing to give
            return False
        self.released = True
        return True

    def whole(self) -> bool:
        """Have it again, if it was let go and there is room; whether all of it is there."""
        return not self.released or self.set_aside()

    def lost(self) -> bool:
        """Whether somebody has removed it; then there is none, until it is set aside again."""
        if not self.held or self._path.exists():
            return False
        self.held = 0
        self.released = True
        return True

    def roomy(self, octets: int, *, margin: bool = True) -> bool:
        """Whether so much is free beside it, and the usual margin; true where there is none."""
        if not self.wanted:
            return True
        return self.room() >= octets + (self.wanted // MARGIN_SHARE if margin else 0)

    def set_aside(self) -> bool:
        """Have it again, if there is room; whether that is so."""
        if self.room() >= self.wanted + self.wanted // MARGIN_SHARE:
            with contextlib.suppress(OSError):
                self._take(self.wanted)
                self.released = self.held == 0
        return not self.released

    def room(self) -> int:
        """Octets that are free beside it; 0 where the disk does not say."""
        try:
            disk = os.statvfs(self._directory)
        except OSError:
            return 0
        return disk.f_bavail * disk.f_frsize

    def _take(self, octets: int) -> None:
        """That many, or none where the disk is full; another `OSError` is passed on."""
        self.held = 0
        try:
            if octets > 0:
                self._allocate(octets)
                self.held = octets
        except OSError as error:
            if not is_full(error):
                raise
        finally:
            if not self.held:
                self._path.unlink(missing_ok=True)

    def _cut(self, octets: int) -> None:
        remove_others(self._path)
        file = open_own(self._path, os.O_RDWR)
        try:
            os.ftruncate(file, octets)
        finally:
            os.close(file)

    def _allocate(self, octets: int) -> None:
        remove_others(self._path)  # nothing is written to what is somebody else's, too
        file = open_own(self._path, os.O_RDWR | os.O_CREAT)
        try:
            os.ftruncate(file, octets)
            os.posix_fallocate(file, 0, octets)
            os.fsync(file)
        finally:
            os.close(file)

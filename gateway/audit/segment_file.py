"""One segment's file while it is written: whole appends, and what of it is surely on disk.

After a failed sync the file is not trusted: the system may have dropped what was to be written, and
a second sync would say that all is well. What was appended since the last good sync is therefore
kept in memory (`unsynced`; whoever writes syncs often enough to bound it), and `cut` takes it off
the file, so that it can be written elsewhere. `segment` has the whole log.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import sha256
from pathlib import Path
from typing import Final, final

from gateway.audit.whereabouts import TouchedError, Whereabouts
from gateway.files.own import create_anew, open_own

LOOKED_AT: Final = 64  # octets of its header


@final
class SegmentFile:
    """A segment open for appending.

    Attributes:
        path: where it is.
        size, digest: of all that was appended; the digest is a running SHA-256.
        synced_size, synced_digest: of what is on disk.
        unsynced: what was appended since, in order; `unsynced_octets` is its length.
        trusted: no sync has failed; else only `cut` and `close` may follow.
    """

    __slots__ = (
        "_begin",
        "_file",
        "_torn",
        "_where",
        "digest",
        "path",
        "size",
        "synced_digest",
        "synced_size",
        "trusted",
        "unsynced",
        "unsynced_octets",
    )

    def __init__(self, path: Path, file: int, content: bytes) -> None:
        """`file` is open for appending, and holds `content`, on disk."""
        self.path = path
        self._file = file
        self.size = self.synced_size = len(content)
        self.digest = sha256(content)
        self.synced_digest = self.digest.copy()
        self.unsynced: list[bytes] = []
        self.unsynced_octets = 0
        self.trusted = True
        self._torn = False
        self._where = Whereabouts(path)
        self._begin = content[:LOOKED_AT]

    def look(self) -> None:
        """`OSError` if it is not where it was begun, nor begins and is as long as was written."""
        if self._where.look() != self.size and not self._torn:
            raise TouchedError(f"{self.path} has been cut off or written over")
        file = open_own(self.path, os.O_RDONLY)
        try:
            begin = os.pread(file, LOOKED_AT, 0)
        finally:
            os.close(file)
        if begin[: len(self._begin)] != self._begin:
            raise TouchedError(f"{self.path} has been written over")

    def append(self, octets: bytes) -> None:
        """Write all of it; `OSError` leaves the file as if nothing had been written."""
        if self._torn:
            self._cut_torn()
        try:
            write_all(self._file, octets)
        except OSError:
            self._torn = True
            with contextlib.suppress(OSError):  # then before the next write
                self._cut_torn()
            raise
        self.size += len(octets)
        self.digest.update(octets)
        self.unsynced.append(octets)
        self.unsynced_octets += len(octets)

    def sync(self) -> None:
        """Everything appended is on disk when this returns; `OSError`: it is not, nor trusted."""
        if not self.unsynced:
            return
        if self._torn:
            self._cut_torn()
        try:
            os.fdatasync(self._file)
        except OSError:
            self.trusted = False
            raise
        self.synced_size = self.size
        self.synced_digest = self.digest.copy()
        self.unsynced.clear()
        self.unsynced_octets = 0

    def cut(self) -> None:
        """Leave only what is surely on disk, and have that on disk; may be called again."""
        file = open_own(self.path, os.O_WRONLY)
        try:
            os.ftruncate(file, self.synced_size)
            self.size = self.synced_size
            # What the failed sync dropped is behind the new end; this syncs the end itself.
            os.fsync(file)
        finally:
            os.close(file)

    def close(self) -> None:
        """Let go of it; what is to be on disk was synced before."""
        with contextlib.suppress(OSError):
            os.close(self._file)

    def _cut_torn(self) -> None:
        os.ftruncate(self._file, self.size)
        self._torn = False


def create(path: Path, header: bytes) -> SegmentFile:
    """A segment that holds its header, on disk; one of that name that came to nothing is gone."""
    file = create_anew(path)
    try:
        write_all(file, header)
        os.fdatasync(file)
        sync_directory(path.parent)
    except OSError:
        os.close(file)
        raise
    return SegmentFile(path, file, header)


def go_on(path: Path, content: bytes) -> SegmentFile:
    """A segment of an earlier life, cut to `content`, which it begins with.

    It is written over once more: whether that life could sync it nobody knows.
    """
    file = open_own(path, os.O_WRONLY)
    try:
        os.ftruncate(file, len(content))
        write_all(file, content)
        os.fsync(file)
    finally:
        os.close(file)
    return SegmentFile(path, open_own(path, os.O_WRONLY | os.O_APPEND), content)


def write_all(file: int, octets: bytes) -> None:
    """Write, in as many pieces as it takes."""
    while octets:
        octets = octets[os.write(file, octets) :]


def sync_directory(directory: Path) -> None:
    """A file that was made or removed in it stays so."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

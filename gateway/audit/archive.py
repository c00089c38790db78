"""Keeps a segment elsewhere, before it is let go: as a copy in a directory, or by a program.

Nothing is taken to be kept that was not read again, or for which the program did not exit with 0.
Both may be done again for the same segment. They wait for disks and programs: not for the reactor's
thread, nor for the one that commits.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from gateway.audit.books import digest_of
from gateway.audit.printable import printable
from gateway.audit.segment_file import sync_directory, write_all
from gateway.files.own import PRIVATE, open_own
from gateway.files.whole import PIECE

TIMEOUT_S: Final = 3_600
TOLD_OCTETS: Final = 300  # of what a program says on its standard error


class ArchiveError(Exception):
    """Why a segment is not kept elsewhere, in a sentence."""


def copy_into(directory: Path, log: str, path: Path, sha256: str) -> None:
    """Have a segment of that SHA-256 in the directory's folder for its log.

    The directory itself is not made: where a disk is not mounted nothing is to be kept.

    Raises:
        ArchiveError: it is not there as it should be; another one of its name stays.
    """
    folder = directory / log
    target = folder / path.name
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
            sync_directory(directory)
        if os.path.lexists(target):
            if os.path.samefile(target, path):  # by a link to it, or to where it is
                raise ArchiveError(f"{target} is the segment itself, and no copy of it")
            if digest_of(target)[1] != sha256:
                raise ArchiveError(f"{target} is there already, and is another one")
            sync_directory(folder)
            return
        new = folder / f"{path.name}.new"
        try:
            _copy(path, new)
            if digest_of(new)[1] != sha256:
                raise ArchiveError(f"{new} is not what was written to it")
            new.rename(target)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise
        sync_directory(folder)
    except OSError as error:
        raise ArchiveError(
            f"cannot write {error.filename or target}: {error.strerror or error}"
        ) from None


def _copy(path: Path, new: Path) -> None:
    """On disk when this returns."""
    new.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(open_own(path, os.O_RDONLY), "rb") as source:
        copy = os.open(new, flags, PRIVATE)
        try:
            while piece := source.read(PIECE):
                write_all(copy, piece)
            os.fsync(copy)
        finally:
            os.close(copy)


def hand_over(command: Sequence[str], path: Path, timeout_s: float = TIMEOUT_S) -> None:
    """Run the program with the segment's path behind its arguments. ArchiveError: it did not."""
    with TemporaryFile() as said:
        try:
            done = subprocess.run(
                [*command, str(path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ArchiveError(f"{command[0]} has not ended after {timeout_s:g} s") from None
        except (OSError, ValueError) as error:
            raise ArchiveError(f"cannot run {command[0]}: {error}") from None
        if done.returncode == 0:
            return
        said.seek(0)
        lines = said.read(PIECE).decode("utf-8", "replace").split("\n")
    told = next((line for line in reversed(lines) if line.strip()), "")[:TOLD_OCTETS]
    ended = f"exit code {done.returncode}"
    if done.returncode < 0:
        ended = f"signal {-done.returncode}"
    raise ArchiveError(f"{command[0]} {path.name}: {ended}{': ' if told else ''}{printable(told)}")

"""The directory that a backup is made in, until it is whole.

The first that is in it is a file that says so, `UNFINISHED_FILE`, and the last that happens before
it gets its name is that this is removed: no gateway starts with a directory that has it. Whoever
makes the backup holds a lock on it. What a killed gateway left is removed before a backup to the
same place: a directory with that file, which nobody holds, and with nothing in it that a backup
does not have. All else that is there is somebody's, and stays.
"""

from __future__ import annotations

import fcntl
import os
import pathlib
from contextlib import suppress
from typing import Final, final

from gateway.audit.schema import segment_numbers
from gateway.audit.segment_file import sync_directory
from gateway.errors import GatewayError
from gateway.files.own import open_own
from gateway.files.whole import SECRET_MAX, read_regular
from gateway.net.data_directory import (
    AUDIT_FOLDER,
    IDENTITY_FILE,
    SECRET_FILE,
    UNFINISHED_FILE,
)
from gateway.store.sqlite import FILE_NAME

FILES: Final = frozenset((FILE_NAME, IDENTITY_FILE, SECRET_FILE, UNFINISHED_FILE))
TEXT: Final = b"amqp-gateway: a backup that is not finished; it can be removed\n"


@final
class Unfinished:
    """One such directory, made empty; `GatewayError` if somebody's is there, `OSError`."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        if os.path.lexists(path):
            _remove_left(path)
        path.mkdir(mode=0o700, parents=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._lock = os.open(path / UNFINISHED_FILE, flags, 0o600)
        except OSError:
            with suppress(OSError):
                path.rmdir()
            raise
        try:
            with suppress(OSError):  # a file system may have no locks: then nobody removes it
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._lock, TEXT)
            os.fsync(self._lock)
            sync_directory(path)
            sync_directory(path.parent)
        except OSError:
            self.remove()
            raise

    def finish(self, target: pathlib.Path) -> None:
        """All is on disk: it gets its name."""
        (self._path / UNFINISHED_FILE).unlink()
        sync_directory(self._path)
        os.rename(self._path, target)
        sync_directory(target.parent)
        self._let_go()

    def remove(self) -> None:
        """It came to nothing."""
        with suppress(OSError):
            _remove(self._path)
        self._let_go()

    def _let_go(self) -> None:
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def _remove_left(path: pathlib.Path) -> None:
    """Remove what a killed gateway left; `GatewayError` if it may be anything else."""
    if path.is_symlink() or not path.is_dir() or not _is_backup(path):
        raise GatewayError(
            f"{path} is there, and is not surely a backup that was not finished: nothing is"
            " removed; move it away, or choose another name"
        )
    lock = open_own(path / UNFINISHED_FILE, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
    except BlockingIOError:
        raise GatewayError(f"{path} is being made by another gateway") from None
    finally:
        os.close(lock)


def _is_backup(path: pathlib.Path) -> bool:
    """Whether it says so, and nothing else is in it."""
    log = path / AUDIT_FOLDER
    try:
        if read_regular(path / UNFINISHED_FILE, SECRET_MAX) not in (TEXT, b""):
            return False
    except OSError:
        return False
    inside = list(path.iterdir())
    segments = list(log.iterdir()) if log in inside and not log.is_symlink() else []
    return (
        not any(each.is_symlink() for each in (*inside, *segments))
        and all(each.name in FILES for each in inside if each != log)
        and all(segment_numbers(each.name)[0] for each in segments)
    )


def _remove(path: pathlib.Path) -> None:
    """What a backup has, and nothing else; what says what it is goes last."""
    log = path / AUDIT_FOLDER
    for each in sorted(log.iterdir()) if log.exists() else []:
        if segment_numbers(each.name)[0]:
            each.unlink()
    if log.exists():
        log.rmdir()
    for name in sorted(FILES - {UNFINISHED_FILE}):
        (path / name).unlink(missing_ok=True)
    (path / UNFINISHED_FILE).unlink(missing_ok=True)
    path.rmdir()

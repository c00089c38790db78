"""Who has a data directory: one process, by two locks that end with it.

One is on a file, which those who only read a store look at; the other on the directory itself,
since the file may be removed under a gateway.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final

from gateway.errors import StartupError
from gateway.files.own import open_own

LOCK_NAME: Final = "lock"


def lock(directory: Path) -> list[int]:
    """Have the directory, which is made if need be; the descriptors that hold it for this process.

    Raises:
        StartupError: it cannot be used, or another process has it.
    """
    held: list[int] = []
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        directory.mkdir(parents=True, exist_ok=True)
        held.append(open_own(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT))
        held.append(os.open(directory, flags))
        fcntl.flock(held[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        _lock_itself(held[1])
    except BlockingIOError as error:
        unlock(held)
        raise StartupError(f"data directory {directory} is used by another process") from error
    except OSError as error:
        unlock(held)
        raise StartupError(
            f"cannot use data directory {directory}: {_words(error, directory)}"
        ) from error
    return held


def _words(error: OSError, directory: Path) -> str:
    """What is wrong, and with which file in it."""
    of_itself = error.filename in (None, str(directory))
    return f"{error.strerror}" if of_itself else f"{error.filename}: {error.strerror}"


def unlock(held: list[int]) -> None:
    """Somebody else may have it."""
    for descriptor in held:
        os.close(descriptor)


def _lock_itself(directory: int) -> None:
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        pass  # a file system of the network, say: it locks only what is open to be written

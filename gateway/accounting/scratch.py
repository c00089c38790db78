"""The directory in which a job has its temporary files, for it alone.

A job that is killed leaves it behind, with all that Spark had put there, which of a large log is
much. So each job holds a lock in its own one, and removes those that nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PREFIX: Final = "accounting-"
LOCK: Final = "held"


@contextmanager
def scratch() -> Iterator[Path]:
    """A new one, removed at the end; before, those that killed jobs of this user have left."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as made:
        own, new = Path(made), Path(made, "new")
        lock = os.open(new, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(new, own / LOCK)  # nobody has seen it without that
            yield own
        finally:
            os.close(lock)


def _remove_if_left(directory: Path) -> None:
    """Its lock is there, ours, and nobody's: a job that has just begun has none yet."""
    try:
        lock = os.open(directory / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # none, somebody else's, or no directory
        return
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
    except OSError:  # it is held
        pass
    finally:
        os.close(lock)

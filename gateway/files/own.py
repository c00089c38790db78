"""The files of a data directory: each a regular file of its own, and nobody waits for another kind.

A pipe that has taken the place of one would be waited for without a word, and what is written
through a link changes somebody else's file. Whatever is wrong is an OSError with a `strerror`.
"""

from __future__ import annotations

import errno
import os
import pathlib
import stat
from contextlib import suppress
from typing import Final

NEVER_WAITING: Final = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
PRIVATE: Final = 0o600


def default_data_directory() -> pathlib.Path:
    """`$XDG_STATE_HOME/amqp-gateway`, or `~/.local/state/amqp-gateway`."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = pathlib.Path(state) if state.startswith("/") else pathlib.Path.home() / ".local/state"
    return base / "amqp-gateway"


def open_own(path: pathlib.Path, flags: int) -> int:
    """A descriptor of a regular file; with `O_CREAT` it is made, and no symbolic link followed.

    Raises:
        OSError: it cannot be opened, or is of another kind.
    """
    if flags & os.O_CREAT:
        flags |= os.O_NOFOLLOW
    try:
        handle = os.open(path, flags | NEVER_WAITING, PRIVATE)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # a link; a pipe, a socket, a device
            raise
        raise not_regular(path) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise not_regular(path)
    return handle


def create_anew(path: pathlib.Path) -> int:
    """A descriptor to append to a new file, instead of what had that name. Raises OSError."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.open(path, flags, PRIVATE)


def write_whole(path: pathlib.Path, text: str) -> None:
    """A file with this line, whole or not at all, instead of what had that name. Raises OSError."""
    new = path.with_name(path.name + ".new")
    handle = create_anew(new)
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(handle)
    os.replace(new, path)


def refuse_others(*paths: pathlib.Path) -> None:
    """For who opens files by their names: OSError of the first that is there and not regular."""
    for path in paths:
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(path.stat().st_mode):
                raise not_regular(path)


def remove_others(path: pathlib.Path) -> None:
    """Remove what is there under that name if it is not a file of its own: a link, a pipe.

    What it links to stays as it is. Raises OSError, of a directory, too.
    """
    with suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            path.unlink()


def not_regular(path: pathlib.Path) -> OSError:
    """What is raised of a file of another kind."""
    return OSError(errno.EINVAL, "is no regular file", str(path))

"""Files that are read whole: none without an upper size, and none that a running gateway waits for.

Whatever is wrong is an OSError with a `strerror`, as it is where a file cannot be opened.
"""

from __future__ import annotations

import errno
import os
import pathlib
import stat
from typing import Final

CONFIGURATION_MAX: Final = 4 * 1024 * 1024
USERS_MAX: Final = 16 * 1024 * 1024
CERTIFICATES_MAX: Final = 16 * 1024 * 1024
SECRET_MAX: Final = 64 * 1024
BODY_MAX: Final = 2 * 1024 * 1024 * 1024  # as the largest `limits.message_size`
# The largest `audit.segment_size`, and the block by which a segment reaches it.
SEGMENT_MAX: Final = 5 * 1024 * 1024 * 1024
PIECE: Final = 1024 * 1024


def read_whole(path: pathlib.Path, octets_max: int) -> bytes:
    """What is in it; pipes and devices are read as well, to their end.

    Raises:
        OSError: it cannot be read, or is larger than `octets_max`.
    """
    return _read(path, os.O_NOCTTY, octets_max)


def read_regular(path: pathlib.Path, octets_max: int) -> bytes:
    """The same of a regular file alone: for a pipe a running gateway could wait for ever.

    Raises:
        OSError: as `read_whole`, or it is of another kind.
    """
    return _read(path, os.O_NOCTTY | os.O_NONBLOCK, octets_max)


def _read(path: pathlib.Path, flags: int, octets_max: int) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        told = os.fstat(handle)
        if stat.S_ISDIR(told.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if flags & os.O_NONBLOCK and not stat.S_ISREG(told.st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        if told.st_size > octets_max:  # nothing of it is read
            raise too_large(path, octets_max)
        octets = _to_the_end(handle, octets_max)
    finally:
        os.close(handle)
    if len(octets) > octets_max:
        raise too_large(path, octets_max)
    return octets


def _to_the_end(handle: int, octets_max: int) -> bytes:
    """One octet more than `octets_max` at most."""
    pieces: list[bytes] = []
    left = octets_max + 1
    while left and (piece := os.read(handle, min(left, PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def too_large(path: pathlib.Path, octets_max: int) -> OSError:
    """What is raised of a file above its size."""
    return OSError(errno.EFBIG, f"is larger than {octets_max} octets", str(path))

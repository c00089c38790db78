"""Files that are read whole: none without an upper size, and none that a running gateway waits for.

Whatever is wrong is an OSError with a `strerror`, as it is where a file cannot be opened.
"""

from __future__ import annotations

import errno
import os
import pathlib
import select
import stat
from typing import Final

from gateway.files.own import not_regular

CONFIGURATION_MAX: Final = 4 * 1024 * 1024
USERS_MAX: Final = 16 * 1024 * 1024
CERTIFICATES_MAX: Final = 16 * 1024 * 1024
SECRET_MAX: Final = 64 * 1024
ANCHORS_MAX: Final = 256 * 1024 * 1024
BODY_MAX: Final = 2 * 1024 * 1024 * 1024  # as the largest `limits.message_size`
# The largest `audit.segment_size`, and the block by which a segment reaches it.
SEGMENT_MAX: Final = 5 * 1024 * 1024 * 1024
PIECE: Final = 1024 * 1024
PATIENCE_S: Final = 10  # with who is to write to a pipe


def read_whole(path: pathlib.Path, octets_max: int) -> bytes:
    """What is in it; pipes and devices are read as well, to their end.

    Raises:
        OSError: it cannot be read, is larger than `octets_max`, or is a pipe that nobody writes to.
    """
    return _read(path, octets_max, regular=False)


def read_regular(path: pathlib.Path, octets_max: int) -> bytes:
    """The same of a regular file alone: for a pipe a running gateway could wait for ever.

    Raises:
        OSError: as `read_whole`, or it is of another kind.
    """
    return _read(path, octets_max, regular=True)


def read_segment(path: pathlib.Path) -> bytes:
    """A segment of an audit log. Raises as `read_regular`."""
    return read_regular(path, SEGMENT_MAX)


def read_head(path: pathlib.Path, octets: int) -> bytes:
    """The first octets of a segment, so many at most. Raises as `read_regular`."""
    handle, _told = _opened(path, SEGMENT_MAX, regular=True)
    try:
        return os.read(handle, octets)
    finally:
        os.close(handle)


def segment_size(path: pathlib.Path) -> int:
    """Its octets, of a segment that `read_segment` would read. Raises OSError."""
    handle, told = _opened(path, SEGMENT_MAX, regular=True)
    os.close(handle)
    return told.st_size


def is_no_file(path: pathlib.Path) -> bool:
    """Whether something is there that is no file and leads to none, or is larger than a segment."""
    if not os.path.isfile(path):
        return os.path.lexists(path)
    return os.path.getsize(path) > SEGMENT_MAX


def is_file(path: pathlib.Path) -> bool:
    """Whether there is such a regular file; of a name that none can have there is not."""
    return os.path.isfile(path)


def expanded(path: pathlib.Path) -> pathlib.Path:
    """With `~` and `~NAME` as the home directories that there are."""
    return pathlib.Path(os.path.expanduser(path))


def _read(path: pathlib.Path, octets_max: int, *, regular: bool) -> bytes:
    handle, told = _opened(path, octets_max, regular=regular)
    try:
        octets = _to_the_end(handle, told.st_size, octets_max)
    except TimeoutError as error:
        raise TimeoutError(errno.ETIMEDOUT, error.strerror, str(path)) from None
    finally:
        os.close(handle)
    if len(octets) > octets_max:
        raise too_large(path, octets_max)
    return octets


def _opened(path: pathlib.Path, octets_max: int, *, regular: bool) -> tuple[int, os.stat_result]:
    """To be read, and nobody waits for it yet; `regular`: a regular file alone."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    told = os.fstat(handle)
    error: OSError | None = None
    if stat.S_ISDIR(told.st_mode):
        error = IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    elif regular and not stat.S_ISREG(told.st_mode):
        error = not_regular(path)
    elif told.st_size > octets_max:  # nothing of it is read
        error = too_large(path, octets_max)
    if error is not None:
        os.close(handle)
        raise error
    return handle, told


def _to_the_end(handle: int, size: int, octets_max: int) -> bytes:
    """One octet more than `octets_max` at most."""
    pieces: list[bytes] = []
    left = octets_max + 1
    most = max(size + 1, PIECE)  # of most files all at once
    ready = select.poll()
    ready.register(handle, select.POLLIN)
    while left:
        # A regular file is always ready; a pipe is when it has had a writer.
        if not ready.poll(PATIENCE_S * 1000):
            raise TimeoutError(errno.ETIMEDOUT, f"has had nothing for {PATIENCE_S} seconds")
        piece = os.read(handle, min(left, most))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def too_large(path: pathlib.Path, octets_max: int) -> OSError:
    """What is raised of a file above its size."""
    return OSError(errno.EFBIG, f"is larger than {octets_max} octets", str(path))

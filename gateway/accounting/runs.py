"""The directories of runs: one for each, by the time at which it began, and never written again.

`begin` makes one that says by its name that it is not finished, and `Run.finish` gives it its own
name at once, when all is in it; then `latest` leads to it. What a run that was ended left behind
is removed by the next one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

LATEST: Final = "latest"
UNFINISHED: Final = "unfinished-"
_FORM: Final = "%Y-%m-%dT%H%M%SZ"  # as text in the order of time; no colon, which Windows refuses
_NAME: Final = re.compile(r"(\d{4,}-\d\d-\d\dT\d{6}Z)(?:-([1-9]\d*))?")
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# A file system without symbolic links says one of these.
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Run:
    """One run's directory, as `begin` makes it; if it is not finished, nothing is left of it.

    Attributes:
        began_s: when it began, in seconds since 1970.
        work: where its files are written.
        path: where they are when it is finished.
    """

    def __init__(self, began_s: float, work: Path, handle: int) -> None:
        """`handle`: the directory, held for this run."""
        self.began_s, self.work = began_s, work
        self.path = work.with_name(work.name.removeprefix(UNFINISHED))
        self._handle = handle
        self._finished = False

    def __enter__(self) -> Run:
        """The run."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Its end."""
        if not self._finished:
            shutil.rmtree(self.work, ignore_errors=True)
        os.close(self._handle)

    def finish(self) -> None:
        """All is written: from now on it is there. Raises OSError."""
        os.rename(self.work, self.path)
        self._finished = True


def begin(out: Path, began_s: float) -> Run:
    """A new run in `out`, which is made. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    _sweep(out)
    return Run(began_s, *_made(out, time.strftime(_FORM, time.gmtime(began_s))))


def _made(out: Path, name: str) -> tuple[Path, int]:
    """A directory for a run of that name, or of the first behind it that no other has; held."""
    number = 0
    while True:
        path = out / (f"{name}-{number}" if number else name)
        work = path.with_name(UNFINISHED + path.name)
        with suppress(FileExistsError):
            work.mkdir()
            # Whoever had this one has given it its name before it was made here.
            if not os.path.lexists(path):
                handle = os.open(work, _DIRECTORY)
                with suppress(
                    OSError
                ):  # where there are no locks, nothing is taken for left behind
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return work, handle
            work.rmdir()
        number += 1


def _sweep(out: Path) -> None:
    """Remove what runs have left that were ended; nobody holds those."""
    for path in out.glob(f"{UNFINISHED}*"):
        if _key(path.name.removeprefix(UNFINISHED)) is None:
            continue
        with suppress(OSError):  # somebody has it, or it is no directory
            handle = os.open(path, _DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)


def lead_to(run: Path) -> None:
    """`latest` beside it leads there: a link, or where there are none a file with its name.

    Raises:
        OSError: it leads where it did.
    """
    beside = run.with_name(f"{LATEST}.{os.getpid()}.new")
    beside.unlink(missing_ok=True)
    try:
        beside.symlink_to(run.name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        beside.write_text(run.name + "\n", encoding="utf-8")
    try:
        os.replace(beside, run.with_name(LATEST))
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def keep(out: Path, most: int, run: Path) -> None:
    """Remove the oldest runs in `out` but for so many, and never `run`. Raises OSError."""
    runs = [path for path in finished(out) if path != run]
    for path in runs[: max(len(runs) + 1 - most, 0)]:
        # It is not there any more before its files go one by one.
        gone = path.with_name(UNFINISHED + path.name)
        os.rename(path, gone)
        shutil.rmtree(gone, ignore_errors=True)  # what is left, the next run removes


def finished(out: Path) -> list[Path]:
    """The runs that are there, whole, in the order of their names."""
    keyed = [(_key(path.name), path) for path in out.iterdir() if path.is_dir()]
    return [path for _key, path in sorted((key, path) for key, path in keyed if key is not None)]


def _key(name: str) -> tuple[str, int] | None:
    """By what it is ordered among runs; `None`: it is none."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found[1], int(found[2] or 0))

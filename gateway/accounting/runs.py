"""The directories of runs: one for each, by the time at which it began, and never written again.

`begin` makes one that says by its name that it is not finished, and `Run.finish` gives it its own
name at once, when all is in it; then `latest` leads to it. What a run that was ended left behind
is removed by the next one. Elsewhere nothing can be given another name at once: a run is written
where it stays, `report.json` as the last of it, and what was ended has none.
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

from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.locations.remote import FOLDER, Remote
from gateway.files.json_text import json_value
from gateway.files.whole import read_regular

LATEST: Final = "latest"
REPORT: Final = "report.json"  # the last file that is written of a run
REPORT_MAX: Final = 256 * 1024 * 1024
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

    def __init__(self, began_s: float, work: Location, handle: int | None = None) -> None:
        """`handle`: the directory, held for this run; elsewhere there is none."""
        self.began_s, self.work = began_s, work
        self.path: Location = work
        if isinstance(work, Path):
            self.path = work.with_name(work.name.removeprefix(UNFINISHED))
        self._handle = handle
        self._finished = False

    def __enter__(self) -> Run:
        """The run."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Its end."""
        if not self._finished and isinstance(self.work, Path):
            shutil.rmtree(self.work, ignore_errors=True)
        elif not self._finished and isinstance(self.work, Remote):
            with suppress(OSError):
                self.work.remove()
        if self._handle is not None:
            os.close(self._handle)

    def finish(self) -> None:
        """All is written: from now on it is there. Raises OSError."""
        if isinstance(self.work, Path) and isinstance(self.path, Path):
            self._check_there(self.work)
            os.rename(self.work, self.path)
        self._finished = True

    def _check_there(self, work: Path) -> None:
        """Whoever writes makes what is missing anew: what was written before would be missing."""
        if self._handle is None:
            return
        made = os.fstat(self._handle)
        with suppress(FileNotFoundError):
            if os.path.samestat(made, work.stat()):
                return
        raise OSError(errno.ENOENT, "was removed while the run wrote it", str(work))


def begin(out: Location, began_s: float) -> Run:
    """A new run in `out`, which is made. Raises OSError."""
    location.make(out)
    name = time.strftime(_FORM, time.gmtime(began_s))
    if isinstance(out, Remote):
        return Run(began_s, _free(out, name))
    _sweep(out)
    return Run(began_s, *_made(out, name))


def _free(out: Remote, name: str) -> Remote:
    """Where no run is, as far as can be seen: two that begin in the same second might meet."""
    number = 0
    while (path := out / (f"{name}-{number}" if number else name)).is_folder():
        number += 1
    return path


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


def lead_to(run: Location) -> None:
    """`latest` beside it leads there: a link, or where there are none a file with its name.

    Raises:
        OSError: it leads where it did.
    """
    if isinstance(run, Remote):
        (run.parent / LATEST).write(run.name + "\n")
        return
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
    except OSError as error:
        beside.unlink(missing_ok=True)
        told = f"it is not changed, and leads nowhere new: {error.strerror}"
        raise OSError(error.errno, told, str(run.with_name(LATEST))) from None


def keep(most: int, run: Location) -> None:
    """Remove the oldest runs beside `run` but for so many, and never that. Raises OSError."""
    runs = [path for path in finished(run.parent) if path.name != run.name]
    for path in runs[: max(len(runs) + 1 - most, 0)]:
        if isinstance(path, Remote):
            path.remove()
            continue
        # It is not there any more before its files go one by one.
        gone = path.with_name(UNFINISHED + path.name)
        os.rename(path, gone)
        shutil.rmtree(gone, ignore_errors=True)  # what is left, the next run removes


def finished(out: Location) -> list[Location]:
    """The runs that are there, whole, in the order of their names. Raises OSError."""
    if isinstance(out, Remote):
        there = [each.name for each in out.listed() if each.octets == FOLDER]
        names = [name for name in there if _key(name) and _is_whole(out / name)]
    else:
        names = [path.name for path in out.iterdir() if _key(path.name) and _is_run(path)]
    return [out / name for name in sorted(names, key=lambda name: _key(name) or ("", 0))]


def newest_told(out: Location) -> str:
    """The newest segment that the last run there has read; empty: none can be told. OSError."""
    try:
        runs = finished(out)
    except FileNotFoundError:  # somebody has removed it, and the next run makes it again
        return ""
    if not runs:
        return ""
    path = runs[-1] / REPORT
    try:
        octets = read_regular(path, REPORT_MAX) if isinstance(path, Path) else path.read(REPORT_MAX)
        return str(json_value(octets)["log"]["newest"])
    except (ValueError, KeyError, TypeError):
        return ""


def _is_run(path: Path) -> bool:
    """Not what somebody else has put there, by whatever name."""
    return not path.is_symlink() and (path / REPORT).is_file()


def _is_whole(run: Remote) -> bool:
    try:
        return (run / REPORT).size() > 0
    except FileNotFoundError:
        return False


def _key(name: str) -> tuple[str, int] | None:
    """By what it is ordered among runs; `None`: it is none."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    try:
        time.strptime(found[1], _FORM)
    except ValueError:  # no time that there is
        return None
    return found[1], int(found[2] or 0)

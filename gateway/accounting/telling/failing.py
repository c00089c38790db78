"""Why a job could not go on, in one line: of Spark, Java, the disk, and of what a worker met.

Of a place without room neither Java nor Spark says which one it is. A job writes in few, so the one
that has the least room is told.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

# Of a file, as a worker's traceback ends in the middle of what Spark says.
_OF_A_FILE: Final = re.compile(r"^\w+: \[Errno \d+\] (.*): '(.*)'\s*$", re.MULTILINE)
_FULL: Final = re.compile("No space left on device|Disk quota exceeded")
_READ_ONLY: Final = "Read-only file system"
# Java puts the reason behind the file.
_OF_JAVA: Final = re.compile(rf"(/[^\n]*) \((?:{_FULL.pattern}|{_READ_ONLY})\)")

# What Java says is wrong, and behind that why; the last one says it best.
_CAUSES: Final = re.compile("^(?:Caused by)?: (.+)$", re.MULTILINE)
# A table that Spark wrote and cannot read again, or a worker.
_DAMAGED: Final = re.compile(
    r"Checksum error: file:(/[^\n]*) at \d+ exp|"
    r"\[FAILED_READ_FILE[^\]]*\] Encountered error while reading file file:/*(/[^\n]*?\.parquet)|"
    r"^(?:\w+: )?\[Errno \d+\] is damaged: '(.*)'\s*$",
    re.MULTILINE,
)
_REMOVED: Final = "FILE_NOT_EXIST"  # of these, what is not there


class Place(NamedTuple):
    """A directory that a job writes in.

    Attributes:
        name: by which option or variable it is said.
        remedy: what else can be done than to make room there.
        anew: what can be done where a file in it is damaged.
    """

    name: str
    path: Path
    remedy: str = ""
    anew: str = ""


def reason(error: BaseException, places: Sequence[Place] = ()) -> str:
    """What the error says, with its name; of a file that could not be used, that.

    `places`: those in which the job writes.
    """
    said = all_of(error)
    if full := _FULL.search(said):
        return _without_room(_place_of(error, said, places), full[0])
    if _READ_ONLY in said:
        return _not_writable(_place_of(error, said, places), _READ_ONLY)
    damaged = _DAMAGED.search(said)
    if isinstance(error, OSError) and not damaged:
        if error.filename and error.strerror:
            return f"{error.filename}: {error.strerror}"
    elif not damaged and (found := _OF_A_FILE.search(said)):
        why, path = found.groups()
        return f"cannot read {path}: {why}"
    if damaged:
        path = next(filter(None, damaged.groups()))
        if _REMOVED in damaged[0]:
            return f"cannot read {path}, which was removed meanwhile"
        return f"cannot read {path}, which is damaged" + _anew(Path(path), places)
    lines = _CAUSES.findall(said)[-1:] or str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no more is known'}"


def all_of(error: BaseException) -> str:
    """What it says, and what Java says behind that, where the cause is."""
    return f"{str(error).strip()}\n{getattr(error, '_stackTrace', '')}"


def _without_room(place: Place | None, why: str) -> str:
    if place is None:
        return f"no room: {why}"
    return f"no room in {place.path} ({place.name}): {why}; make room there{place.remedy}"


def _not_writable(place: Place | None, why: str) -> str:
    if place is None:
        return why
    return f"cannot write in {place.path} ({place.name}): {why}"


def _place_of(error: BaseException, said: str, places: Sequence[Place]) -> Place | None:
    """Where it was, as it is said itself; else where there is least room, or none may write."""
    path = error.filename if isinstance(error, OSError) else None
    if path is None and (found := _OF_JAVA.search(said)):
        path = found[1].rpartition(": ")[2]
    if isinstance(path, str | Path):
        of = [each for each in places if Path(path).is_relative_to(each.path)]
        return max(of, key=_depth) if of else Place("a file of the job's", Path(path))
    return min(places, key=_room, default=None)


def _anew(path: Path, places: Sequence[Place]) -> str:
    found = [each.anew for each in places if each.anew and path.is_relative_to(each.path)]
    return f": {found[0]}" if found else ""


def _depth(place: Place) -> int:
    return len(place.path.parts)


def _room(place: Place) -> tuple[bool, int]:
    """Where the fewest octets are free; in front of it, where nothing can be written."""
    path = place.path
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return os.access(path, os.W_OK), shutil.disk_usage(path).free
    except OSError:
        return False, 0

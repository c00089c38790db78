"""Spark's classes as Java has them in memory, in a file from which the next Java has them at once.

To read, check and link twenty thousand classes is more than all that a small log asks for. The file
is made by the first Java that finds none, when it ends, and is in the user's cache: 190 MB. Java
itself sees whether it is of the same Java and the same jars, and goes without it where it is not;
but it does not see that half of a file is missing, and would end. So its name has its length.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark import SparkContext

CACHE: Final = "XDG_CACHE_HOME"
_DAY_S: Final = 24 * 60 * 60
KEPT_S: Final = 30 * _DAY_S  # without being used
KEPT: Final = 3  # of other installations: each has its own
ENDS_S: Final = 120  # of Java, which writes it
QUIET: Final = "-Xlog:cds*=off"
_MISSED: Final = (OSError, subprocess.TimeoutExpired, Py4JError, KeyboardInterrupt)


class Classes(NamedTuple):
    """What Java is told of such a file; `new`: that it writes one, there."""

    option: str = ""
    new: Path | None = None


def shared(home: Path, jars: Path, environment: Mapping[str, str] = os.environ) -> Classes:
    """For a Java, and Spark's jars; nothing where no file can be."""
    server = home / "lib" / "server"
    with contextlib.suppress(OSError, RuntimeError):  # there is no home, or no such Java
        if not (server / "classes.jsa").is_file():  # to which it would be added
            return Classes()
        cache = environment.get(CACHE) or Path.home() / ".cache"
        directory = Path(cache, "amqp-gateway")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = _name((server / "libjvm.so").resolve(), jars)
        for path in directory.glob(f"{name}-*.jsa"):
            if path.name == _whole(name, path) and _is_ours(path):
                with contextlib.suppress(OSError):  # it is the image's, which nobody writes
                    os.utime(path)
                return Classes(f"{QUIET} -XX:SharedArchiveFile={path}")
        if os.access(directory, os.W_OK) and " " not in str(directory):
            _sweep(directory)
            new = directory / f"{name}.{os.getpid()}.new"
            return Classes(f"{QUIET} -XX:ArchiveClassesAtExit={new}", new)
    return Classes()


def keep(new: Path) -> None:
    """Have the file there when this process ends; whoever waits for it has all else by then."""
    process = getattr(SparkContext._gateway, "proc", None)
    if isinstance(process, subprocess.Popen):
        atexit.register(_ended, process, new)


def _ended(process: subprocess.Popen[bytes], new: Path) -> None:
    with contextlib.suppress(*_MISSED):
        if SparkContext._gateway is not None:
            SparkContext._gateway.shutdown()
        if process.stdin is not None:
            process.stdin.close()  # by which Spark's Java knows that it is to end
        if process.wait(ENDS_S) == 0:
            with new.open("rb") as file:
                os.fsync(file.fileno())
            new.rename(new.with_name(_whole(new.name.partition(".")[0], new)))
    new.unlink(missing_ok=True)


def _whole(name: str, path: Path) -> str:
    return f"{name}-{path.stat().st_size}.jsa"


def _is_ours(path: Path) -> bool:
    """Nobody else can have written it: whoever does runs what he likes."""
    there = (path.stat(), path.parent.stat())
    return all(each.st_uid in (0, os.getuid()) and not each.st_mode & 0o022 for each in there)


def _name(java: Path, jars: Path) -> str:
    """Of the file for this Java and these jars."""
    known = [(str(each), each.stat()) for each in (java, *sorted(jars.iterdir()))]
    said = [(name, stat.st_size, int(stat.st_mtime)) for name, stat in known]
    return f"spark-{sha256(repr(said).encode()).hexdigest()[:16]}"


def _sweep(directory: Path) -> None:
    """Remove what nobody has used for long, all but the newest, and what was never finished."""
    now_s = time.time()
    for pattern, kept_s, kept in (("spark-*.jsa", KEPT_S, KEPT), ("spark-*.new", _DAY_S, None)):
        ages: list[tuple[float, Path]] = []
        for path in directory.glob(pattern):
            with contextlib.suppress(OSError):
                ages.append((now_s - path.stat().st_mtime, path))
        for at, (age_s, path) in enumerate(sorted(ages)):
            if age_s > kept_s or (kept is not None and at >= kept):
                with contextlib.suppress(OSError):
                    path.unlink()

"""Files that the configuration names, as they were read last: tokens, passwords, certificates.

The event loop reads none of them, since a file system that is gone never answers: threads do, every
second, one at a time for each directory. What was read last counts meanwhile, but not for ever.
"""

from __future__ import annotations

import errno
import os
import pathlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol, final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from gateway.files.whole import read_regular, too_large

LOOK_S: Final = 1.0
TOLD_S: Final = 5.0  # after which it is told that a directory does not answer
VALID_S: Final = 60.0  # how long what was read counts without being read again
THREADS: Final = 16  # and so directories that may all be silent while others are read

Found = dict[pathlib.Path, bytes | OSError]
InThread = Callable[[Callable[[], Found]], Deferred[Found]]


class Read(Protocol):
    """What is in a file. Raises OSError, as `files.whole.read_regular`."""

    def __call__(self, path: pathlib.Path, octets_max: int, /) -> bytes:
        """It, if it is not larger."""


def read_all(files: Iterable[tuple[pathlib.Path, int]]) -> Found:
    """What is in each, of so many octets at most, or why that is not known; in a thread."""
    found: Found = {}
    for path, octets_max in files:
        try:
            found[path] = read_regular(path, octets_max)
        except OSError as error:
            found[path] = error
    return found


@final
class KeptFiles:
    """What was read of each, and when; who wants one never waits for it.

    Args:
        named: all that count now, and of how many octets at most.
    """

    log = Logger()

    def __init__(
        self,
        named: Callable[[], Iterable[tuple[pathlib.Path, int]]],
        *,
        in_thread: InThread,
        clock: IReactorTime,
    ) -> None:
        self._named = named
        self._in_thread = in_thread
        self._clock = clock
        self._found: Found = {}
        self._read_s: dict[pathlib.Path, float] = {}
        self._asked_s: dict[pathlib.Path, float] = {}  # directories that have not answered
        self._silent: set[pathlib.Path] = set()  # of these, those that were told of

    def read(self, path: pathlib.Path, octets_max: int) -> bytes:
        """What is in the file, as far as is known."""
        found = self._found.get(path)
        since_s = self._clock.seconds() - self._read_s.get(path, 0.0)
        if found is None:
            raise OSError(errno.EAGAIN, "has not been read yet", str(path))
        if since_s > VALID_S:
            told = f"has not been read for {since_s:.0f} s: its disk does not answer"
            raise OSError(errno.ETIMEDOUT, told, str(path))
        if isinstance(found, OSError):
            raise OSError(found.errno, found.strerror or os.strerror(found.errno or 0), str(path))
        if len(found) > octets_max:
            raise too_large(path, octets_max)
        return found

    def keep(self, found: Found, asked_s: float | None = None) -> None:
        """These have been read; what was asked for later counts more."""
        now_s = self._clock.seconds() if asked_s is None else asked_s
        for path, octets in found.items():
            if now_s >= self._read_s.get(path, now_s):
                self._found[path] = octets
                self._read_s[path] = now_s

    def look(self) -> None:
        """Have all of them read again, except where that is under way."""
        by_directory: dict[pathlib.Path, list[tuple[pathlib.Path, int]]] = {}
        for path, octets_max in self._named():
            by_directory.setdefault(path.parent, []).append((path, octets_max))
        self._forget({path for files in by_directory.values() for path, _octets in files})
        now_s = self._clock.seconds()
        for directory, files in by_directory.items():
            if directory in self._asked_s:
                self._tell(directory, now_s - self._asked_s[directory])
                continue
            self._asked_s[directory] = now_s
            answer = self._in_thread(partial(read_all, files))
            answer.addBoth(partial(self._answered, directory, now_s))

    def _answered(self, directory: pathlib.Path, asked_s: float, found: Found | Failure) -> None:
        del self._asked_s[directory]
        if isinstance(found, Failure):
            self.log.failure("files of {directory} cannot be read", found, directory=str(directory))
            return
        if directory in self._silent:
            self._silent.remove(directory)
            self.log.info("files of {directory} are read again", directory=str(directory))
        self.keep(found, asked_s)

    def _tell(self, directory: pathlib.Path, silent_s: float) -> None:
        if silent_s >= TOLD_S and directory not in self._silent:
            self._silent.add(directory)
            self.log.warn(
                "files of {directory} that the configuration names have not been read for"
                " {seconds:.0f} s: one of them, or the disk, does not answer. What was read before"
                " counts for {left:.0f} s more",
                directory=str(directory),
                seconds=silent_s,
                left=max(VALID_S - silent_s, 0.0),
            )

    def _forget(self, named: set[pathlib.Path]) -> None:
        """What is not named any more, and was not read just now for settings that will count."""
        before_s = self._clock.seconds() - VALID_S
        for path in [*self._found]:
            if path not in named and self._read_s[path] < before_s:
                del self._found[path], self._read_s[path]

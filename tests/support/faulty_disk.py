"""A disk that fails at one operation, for code that writes through `os`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FULL, BROKEN, SHORT, UNSYNCED = "full", "broken", "short", "unsynced"
FAULTS = (FULL, BROKEN, SHORT, UNSYNCED)
WRITES = ("write", "pwrite", "ftruncate")
SYNCS = ("fsync", "fdatasync")


class FaultyDisk:
    """Counts the operations that change a file or have it written, and fails some of them.

    Faults: `FULL` is ENOSPC and `BROKEN` EIO at any operation, `SHORT` takes half of a write before
    ENOSPC, `UNSYNCED` is a sync that fails and drops what was not synced; the next one succeeds.

    Attributes:
        operations: how many there were.
        failed: how many of them failed.
        let_through: name of a file that can always be written.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, within: Path = Path("/")) -> None:
        """Only files below `within` are on it."""
        self.operations = 0
        self.failed = 0
        self.let_through = ""
        self._fault = ""
        self._from = 0
        self._times = 0
        self._synced: dict[int, int] = {}  # by inode: octets that are on disk
        self._real = {name: getattr(os, name) for name in WRITES + SYNCS}
        self._within = within
        for name in self._real:
            monkeypatch.setattr(os, name, self._operation(name))

    def fail(self, fault: str, *, at: int = 0, times: int = 1) -> None:
        """From `at` operations on from now, that many which can fail so do."""
        self._fault, self._from, self._times = fault, self.operations + at, times

    def heal(self) -> None:
        """It is as good as new."""
        self._times = 0

    def _operation(self, name: str) -> Callable[..., Any]:
        def perform(file: int, *arguments: Any) -> Any:
            path = Path(os.readlink(f"/proc/self/fd/{file}"))
            if not path.is_relative_to(self._within) or path.name == self.let_through:
                return self._real[name](file, *arguments)
            self.operations += 1
            if self._due(name):
                self._times -= 1
                self.failed += 1
                self._break(name, file, *arguments)
            result = self._real[name](file, *arguments)
            if name in SYNCS:
                status = os.fstat(file)
                self._synced[status.st_ino] = status.st_size
            return result

        return perform

    def _due(self, name: str) -> bool:
        if self._times <= 0 or self.operations <= self._from:
            return False
        if self._fault == SHORT:
            return name == "write"
        return self._fault != UNSYNCED or name in SYNCS

    def _break(self, name: str, file: int, *arguments: Any) -> None:
        if self._fault == SHORT:
            self._real["write"](file, arguments[0][: len(arguments[0]) // 2])
        if self._fault == UNSYNCED:
            self._drop(file)
        code = errno.ENOSPC if self._fault in (FULL, SHORT) else errno.EIO
        raise OSError(code, os.strerror(code))

    def _drop(self, file: int) -> None:
        """What was not synced reads as zeros: the system has forgotten it."""
        status = os.fstat(file)
        synced = self._synced.get(status.st_ino, 0)
        with open(f"/proc/self/fd/{file}", "r+b") as again:
            again.seek(synced)
            again.write(bytes(status.st_size - synced))

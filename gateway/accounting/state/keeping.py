"""What is done with the files of a state: here, where a lock keeps other runs away, and elsewhere.

Elsewhere there is no lock that a run would let go of by dying. There a run has folders of its own,
deletes nothing that another may be writing, and replaces `state.json` only if that is still what it
has read. Between looking and replacing another one may do so, too: of two that end in that moment
one counts, which is whole by itself, and goes on from the same one before.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from gateway.accounting.locations.remote import FOLDER, Remote
from gateway.files.whole import read_regular

STATE_FILE: Final = "state.json"
LOCK_FILE: Final = "lock"
TABLES: Final = "*.parquet"
STATE_MAX: Final = 256 * 1024 * 1024
OLD_S: Final = 7 * 24 * 3600  # nobody is writing that any more
FOOTER_MAX: Final = 64 * 1024 * 1024
_END: Final = 8
APART: Final = 1 << 30


class Table(NamedTuple):
    """One file of Parquet.

    Attributes:
        octets: how many it has.
        footer: the SHA-256 of what stands behind its pages, which have their own checksums: where
            each column is, and what it is called; "": an earlier version did not say.
    """

    octets: int
    footer: str


class InUseError(Exception):
    """Another run has it, or has changed it; in words that follow its name."""


class Here:
    """On this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """For one run alone. Raises InUseError."""
        self._path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InUseError("is in use by another run") from None
            self._lock = handle
            yield
        finally:
            self._lock = None
            os.close(handle)

    def read(self) -> bytes:
        """What `state.json` says. Raises OSError."""
        return read_regular(self._path / STATE_FILE, STATE_MAX)

    def tables(self, name: str) -> dict[str, Table]:
        """The files of Parquet in a folder; none if it is not there. Raises OSError."""
        found: dict[str, Table] = {}
        for path in (self._path / name).glob(TABLES):
            with path.open("rb") as file:
                octets = os.fstat(file.fileno()).st_size
                found[path.name] = Table(octets, _footer(file, octets))
        return found

    def fresh(self, named: AbstractSet[str]) -> int:
        """A number that is no folder's, nor is the next one; `named`: those of the state.

        What else there is was left by a run that was killed, and is deleted.
        """
        self._path.mkdir(parents=True, exist_ok=True)
        taken = [name for name in os.listdir(self._path) if name.isdigit()]
        self.sweep(named, named)
        return max([0, *map(int, taken), *map(int, named)]) + 1

    def put(self, text: str) -> None:
        """Replace `state.json`; then it is on disk. Raises OSError, InUseError."""
        self._check_held()
        beside = self._path / f"{STATE_FILE}.new"
        try:
            with beside.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path / STATE_FILE)
        except OSError:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
        directory = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _check_held(self) -> None:
        """Where the lock was removed, another run may have put a state there."""
        if self._lock is None:
            return
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._lock), (self._path / LOCK_FILE).stat()):
                return
        raise InUseError("was removed while this run went on from it: this one leaves nothing")

    def sweep(self, named: AbstractSet[str], before: AbstractSet[str]) -> None:
        """Delete the folders that the state does not name; `before`: those that it did."""
        for path in self._path.iterdir():
            if path.name.isdigit() and path.name not in named:
                shutil.rmtree(path, ignore_errors=True)

    def drop(self, begun: AbstractSet[str]) -> None:
        """Delete the folders that this run has begun, unless another one has them by now."""
        with suppress(OSError, InUseError):
            self._check_held()
            for name in begun:
                shutil.rmtree(self._path / name, ignore_errors=True)

    def clear(self) -> None:
        """Nothing was reconciled yet."""
        self._path.mkdir(parents=True, exist_ok=True)
        (self._path / STATE_FILE).unlink(missing_ok=True)
        self.sweep(frozenset(), frozenset())


class Elsewhere:
    """Where there is a URI, and no lock."""

    def __init__(self, directory: Remote) -> None:
        self._directory = directory
        self._file = directory / STATE_FILE
        self._found: bytes | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """By nobody; whoever ends second is told by `put`."""
        yield

    def read(self) -> bytes:
        """What `state.json` says. Raises OSError."""
        self._found = None
        self._found = self._file.read(STATE_MAX)
        return self._found

    def tables(self, name: str) -> dict[str, Table]:
        """The files of Parquet in a folder; none if it is not there. Raises OSError."""
        found: dict[str, Table] = {}
        for each in (self._directory / name).listed():
            if fnmatch(each.name, TABLES):
                with (self._directory / name / each.name).opened() as file:
                    found[each.name] = Table(each.octets, _footer(file, each.octets))
        return found

    def fresh(self, named: AbstractSet[str]) -> int:
        """A number that is no folder's, nor is the next one, nor that of a run beside this one."""
        taken = [each.name for each in self._directory.listed() if each.name.isdigit()]
        after = max([0, *map(int, taken), *map(int, named)])
        return after + 1 + 2 * secrets.randbelow(APART)

    def put(self, text: str) -> None:
        """Replace `state.json`, if it is what was read. Raises OSError, InUseError."""
        try:
            now: bytes | None = self._file.read(STATE_MAX)
        except FileNotFoundError:
            now = None
        if now != self._found:
            raise InUseError("was gone on from by another run meanwhile: this one leaves nothing")
        self._file.write(text)
        self._found = text.encode()

    def sweep(self, named: AbstractSet[str], before: AbstractSet[str]) -> None:
        """Delete what the state does not name any more, and what no run can be writing."""
        for each in self._directory.listed():
            if each.octets != FOLDER or not each.name.isdigit() or each.name in named:
                continue
            folder = self._directory / each.name
            if each.name in before or _is_old(folder):
                folder.remove()

    def drop(self, begun: AbstractSet[str]) -> None:
        """Delete the folders that this run has begun."""
        for name in begun:
            with suppress(OSError):
                (self._directory / name).remove()

    def clear(self) -> None:
        """Nothing was reconciled yet; folders go when they are old."""
        self._file.remove()


def _is_old(folder: Remote) -> bool:
    newest = max([each.modified_s for each in folder.listed()], default=0.0)
    return 0 < newest < time.time() - OLD_S


def _footer(file: Any, octets: int) -> str:  # Any: pyarrow's file, or one of this machine
    """The digest of a table's footer; the last octets but four say how long that is."""
    file.seek(max(octets - _END, 0))
    end = file.read(_END)
    length = min(int.from_bytes(end[:4], "little") + _END, octets, FOOTER_MAX)
    file.seek(octets - length)
    return sha256(file.read(length)).hexdigest()

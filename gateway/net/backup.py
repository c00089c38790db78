"""A copy of a running gateway's store and audit log that belong together.

The commit thread copies the store and says how far the log had come by then; the segments up to
there never change any more, and a thread of this copies them. All of it is made beside its place
and moved to it at the end, so that a directory which is there is a whole backup. A gateway that is
started from it goes on as after a kill at the moment of the copy.
"""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Callable
from threading import Thread
from typing import Final, final

from twisted.internet.defer import Deferred

from gateway.audit.ends import LogEnds
from gateway.audit.reader import segment_paths
from gateway.errors import GatewayError, StoreError
from gateway.net.data_directory import AUDIT_FOLDER, IDENTITY_FILE, SECRET_FILE
from gateway.store.interface import CallInReactor
from gateway.store.sqlite import FILE_NAME, SqliteStore

KEPT: Final = (IDENTITY_FILE, SECRET_FILE)


@final
class Backup:
    """Copies of one data directory, one at a time."""

    def __init__(
        self, store: SqliteStore, directory: pathlib.Path, call_in_reactor: CallInReactor
    ) -> None:
        self._store = store
        self._directory = directory
        self._call_in_reactor = call_in_reactor
        self._under_way = False

    def make(self, target: pathlib.Path) -> Deferred[str]:
        """Copy everything into `target`, which must not be there; what was done, in words.

        GatewayError: it cannot be made there, or another one is being made.
        """
        if self._under_way:
            raise GatewayError("another backup is being made")
        if not target.is_absolute():
            raise GatewayError(f"{target} is not an absolute path")
        own = self._directory.resolve()
        if own in (target.resolve(), *target.resolve().parents):
            raise GatewayError(f"{target} is in the data directory that is to be copied")
        new = target.with_name(target.name + ".new")
        try:
            if target.exists():
                raise GatewayError(f"{target} is there already")
            shutil.rmtree(new, ignore_errors=True)  # what was not finished
            new.mkdir(mode=0o700, parents=True)
            (new / FILE_NAME).touch(mode=0o600)  # for its owner alone, as SQLite leaves it
        except OSError as error:
            raise GatewayError(f"cannot make {new}: {error.strerror}") from None
        self._under_way = True
        done: Deferred[str] = Deferred()

        def answer(told: str | GatewayError) -> None:
            self._under_way = False
            if isinstance(told, GatewayError):
                shutil.rmtree(new, ignore_errors=True)
                done.errback(told)
            else:
                done.callback(told)

        def copied(ends: StoreError | LogEnds) -> None:
            if isinstance(ends, StoreError):
                answer(ends)
                return
            copying = Thread(
                target=self._finish, args=(new, target, ends, answer), name="backup", daemon=True
            )
            copying.start()

        self._store.copy(new / FILE_NAME, copied)
        return done

    def _finish(
        self,
        new: pathlib.Path,
        target: pathlib.Path,
        ends: LogEnds,
        answer: Callable[[str | GatewayError], None],
    ) -> None:
        """In a thread of its own: the rest, and into its place."""
        told: str | GatewayError
        try:
            segments = _copy_log(self._directory / AUDIT_FOLDER, new / AUDIT_FOLDER, ends)
            for name in KEPT:
                if (self._directory / name).exists():
                    _copy(self._directory / name, new / name)
            _sync(new / FILE_NAME)
            _sync(new)
            os.rename(new, target)
            _sync(target.parent)
            last = 0 if ends.last is None else ends.last.sequence
            told = f"{target}: the store, and {segments} segments of the audit log to record {last}"
        except OSError as error:
            told = GatewayError(f"cannot write {error.filename}: {error.strerror}")
        self._call_in_reactor(lambda: answer(told))


def _copy_log(log: pathlib.Path, to: pathlib.Path, ends: LogEnds) -> int:
    """The segments up to the log's end, as it was; how many."""
    to.mkdir(mode=0o700)
    last = ends.last
    if last is None:
        return 0
    paths = [path for path in segment_paths(log) if _number(path) <= last.segment]
    for path in paths:
        cut = last.offset if _number(path) == last.segment else 0
        _copy(path, to / path.name, cut or None)
    _sync(to)
    return len(paths)


def _number(path: pathlib.Path) -> int:
    return int(path.name.partition("-")[0])


def _copy(path: pathlib.Path, to: pathlib.Path, octets: int | None = None) -> None:
    """A file, or its first octets; on disk when this returns."""
    handle = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with path.open("rb") as source, os.fdopen(handle, "wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
        if octets is not None:
            copy.truncate(octets)
        copy.flush()
        os.fsync(handle)


def _sync(path: pathlib.Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

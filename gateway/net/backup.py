"""A copy of a running gateway's store and audit log that belong together.

A thread writes it, and nobody else waits for the disk that it is on: the commit thread reads the
store for it (`store.copying`) and says how far the log had come by then; the segments up to there
never change any more. All of it is made beside its place and moved to it at the end, so that a
directory which is there is a whole backup. A gateway that is started from it goes on as after a
kill at the moment of the copy. One that comes no further for `PATIENCE_MS` is given up.

`unfinished` says what stands beside its place until then. What is there already is replaced only if
it is surely that, and never what a gateway keeps its data in.
"""

from __future__ import annotations

import errno
import os
import pathlib
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import BinaryIO, Final, final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from gateway.audit.ends import LogEnds
from gateway.audit.reader import segment_paths
from gateway.audit.schema import segment_numbers
from gateway.errors import ConfigurationError, GatewayError, StoreError
from gateway.files.own import open_own
from gateway.net.data_directory import AUDIT_FOLDER, IDENTITY_FILE, SECRET_FILE
from gateway.net.unfinished import Unfinished
from gateway.store.copying import Copying
from gateway.store.interface import CallInReactor
from gateway.store.sqlite import FILE_NAME, SqliteStore

KEPT: Final = (IDENTITY_FILE, SECRET_FILE)
PATIENCE_MS: Final = 30_000
PIECE_OCTETS: Final = 1024 * 1024


@final
class Backup:
    """Copies of one data directory, one at a time.

    Attributes:
        removing: segments of the log are being removed: no backup is begun meanwhile.
    """

    log = Logger()

    def __init__(
        self,
        store: SqliteStore,
        directory: pathlib.Path,
        call_in_reactor: CallInReactor,
        stuck: Callable[[], StoreError | None],
    ) -> None:
        """Make none yet; `stuck`: why nothing can be committed now, if it cannot."""
        self._store = store
        self._stuck = stuck
        self._directory = directory
        self._call_in_reactor = call_in_reactor
        self._making: Making | None = None
        self.removing = False

    @property
    def making(self) -> bool:
        """Whether one is being made."""
        return self._making is not None and not self._making.given_up

    def make(self, target: pathlib.Path) -> Deferred[str]:
        """Copy everything into `target`, which must not be there; what was done, in words.

        GatewayError, now or later: it cannot be made there, or another one is being made. None of
        them is in the way of the next one.
        """
        if self._making is not None:
            silent = " was given up, and its disk still does not answer"
            which = silent if self._making.given_up else " is being made"
            raise GatewayError(f"another backup{which}")
        if self.removing:
            raise GatewayError("segments of the audit log are being removed: ask again")
        check_place(target)
        stuck = self._stuck()
        if stuck is not None:
            raise GatewayError(f"no backup can be made now: {stuck}")
        making = Making(self._directory, target, self._store.copy())
        try:
            Thread(target=lambda: self._run(making), name="backup", daemon=True).start()
        except RuntimeError as error:
            making.end("it was not begun")
            raise GatewayError(f"no backup can be made now: {error}") from None
        self._making = making
        return making.done

    def look(self, now_ms: int) -> None:
        """Each second or so: is the backup that is made coming on?"""
        if self._making is not None:
            self._making.look(now_ms, self._stuck())

    def _run(self, making: Making) -> None:
        """In a thread of its own."""
        told: str | GatewayError
        try:
            told = making.make()
        except OSError as error:
            told = GatewayError(f"cannot write {error.filename or making.new}: {error.strerror}")
        except GatewayError as error:
            told = error
        except Exception as error:  # a thread that dies would end the gateway
            self.log.failure("the backup broke off")
            told = GatewayError(f"a defect of the gateway: {type(error).__name__}: {error}")
        self._call_in_reactor(partial(self._ended, making, told))

    def _ended(self, making: Making, told: str | GatewayError) -> None:
        self._making = None
        making.answer(told)


@final
class Making:
    """One backup.

    Attributes:
        done: what was done, in words; or the GatewayError for which it was not.
        new: the directory that it is made in.
        given_up: its disk has not answered for too long; its thread may still wait for that.
    """

    def __init__(self, directory: pathlib.Path, target: pathlib.Path, copying: Copying) -> None:
        self.done: Deferred[str] = Deferred()
        self.new = target.with_name(target.name + ".new")
        self.given_up = False
        self._directory = directory
        self._target = target
        self._copying = copying
        self._steps = 0  # changed by its thread alone
        self._seen = -1
        self._since_ms = 0

    def look(self, now_ms: int, stuck: StoreError | None = None) -> None:
        """Give it up if it has come no further for long."""
        if self._seen != self._steps:
            self._seen, self._since_ms = self._steps, now_ms
        elif not self.given_up and now_ms - self._since_ms >= PATIENCE_MS:
            self.given_up = True
            why = "" if stuck is None else f": {stuck}"
            error = StoreError(
                f"the backup has come no further for {PATIENCE_MS // 1000} s, and is given up{why}"
            )
            self._copying.end(error)
            self.done.errback(error)

    def end(self, why: str) -> None:
        """The store is not read for it any more."""
        self._copying.end(StoreError(why))

    def answer(self, told: str | GatewayError) -> None:
        """It has come to an end; nobody hears of it who was told already that it was given up."""
        self.end("the backup has ended")
        if self.given_up:
            return
        if isinstance(told, GatewayError):
            self.done.errback(told)
        else:
            self.done.callback(told)

    def make(self) -> str:
        """All of it; `OSError` or `GatewayError` if it came to nothing, of which nothing is left.

        Nothing that the reactor or the commit thread does waits for the disk that it is on.
        """
        unfinished = self._begin()
        try:
            ends = self._copying.write(self.new / FILE_NAME, self._step)
            segments = self._copy_log(ends)
            for name in KEPT:
                if (self._directory / name).exists():
                    self._copy(self._directory / name, self.new / name)
            _sync(self.new / FILE_NAME)
            _sync(self.new)
            if self.given_up:
                raise GatewayError("it was given up")
            unfinished.finish(self._target)
        except BaseException:
            unfinished.remove()
            raise
        last = 0 if ends.last is None else ends.last.sequence
        return (
            f"{self._target}: the store, and {segments} segments of the audit log to record {last}"
        )

    def _begin(self) -> Unfinished:
        """An empty directory, and in it the store's file for its owner alone."""
        try:
            self._refuse_own()
            if os.path.lexists(self._target):
                raise GatewayError(f"{self._target} is there already")
            unfinished = Unfinished(self.new)
            try:
                (self.new / FILE_NAME).touch(mode=0o600)
            except OSError:
                unfinished.remove()
                raise
        except OSError as error:
            raise GatewayError(f"cannot make {self.new}: {error.strerror}") from None
        return unfinished

    def _refuse_own(self) -> None:
        """Nothing is written to what is copied, by whatever name, nor is that removed."""
        for own in (self._directory, self._directory / AUDIT_FOLDER):
            kept, around = _same(own), _places(own)
            for path in (self._target, self.new):
                if kept in _places(path):
                    raise GatewayError(f"{path} is in the data directory that is to be copied")
                if _same(path) in around:
                    raise GatewayError(f"the data directory that is to be copied is in {path}")

    def _step(self) -> None:
        self._steps += 1

    def _copy_log(self, ends: LogEnds) -> int:
        """The segments up to the log's end, as it was; how many."""
        log, to, last = self._directory / AUDIT_FOLDER, self.new / AUDIT_FOLDER, ends.last
        to.mkdir(mode=0o700)
        if last is None:
            return 0
        count = 0
        for path in segment_paths(log):
            number, _incarnation = segment_numbers(path.name)
            if number > last.segment:
                break
            cut = last.offset if number == last.segment else 0
            self._copy(path, to / path.name, cut or None)
            count += 1
        _sync(to)
        return count

    def _copy(self, path: pathlib.Path, to: pathlib.Path, octets: int | None = None) -> None:
        """A file, or its first octets; on disk when this returns."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            own = open_own(path, os.O_RDONLY)
        except OSError as error:
            raise GatewayError(f"cannot read {path}: {error.strerror}") from None
        with os.fdopen(own, "rb") as source:
            self._write(source, os.open(to, flags, 0o600), octets)
        self._step()

    def _write(self, source: BinaryIO, handle: int, octets: int | None) -> None:
        with os.fdopen(handle, "wb") as copy:
            while piece := source.read(
                PIECE_OCTETS if octets is None else min(octets, PIECE_OCTETS)
            ):
                copy.write(piece)
                octets = None if octets is None else octets - len(piece)
                self._step()
            copy.flush()
            os.fsync(handle)


def check_place(target: pathlib.Path) -> None:
    """ConfigurationError if no directory can be made of that name."""
    problem = ""
    if not target.is_absolute():
        problem = f"{str(target)!r} is not an absolute path"
    elif target.name in ("", ".."):
        problem = f"{target} has no name of its own: a new directory is made"
    elif "\0" in str(target):
        problem = f"{str(target)!r} has a NUL in it"
    else:
        try:
            os.fsencode(target)
        except UnicodeEncodeError:
            problem = f"{str(target)!r} cannot be the name of a directory"
    if problem:
        raise ConfigurationError([("directory", problem)])


def _places(path: pathlib.Path) -> set[tuple[int, int]]:
    """What a path is, or would be, in: itself and all directories above it, as far as they are."""
    try:
        whole = path.resolve()
    except RuntimeError:  # as Python before 3.13 tells it
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    return {_same(each) for each in (whole, *whole.parents) if each.exists()}


def _same(path: pathlib.Path) -> tuple[int, int]:
    """What two names of one directory have in common; a directory that is not there has nothing."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return (-1, -1)
    return (found.st_dev, found.st_ino)


def _sync(path: pathlib.Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

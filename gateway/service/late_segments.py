"""The audit log's segments in the data directory, written from the store's thread.

What the store remembers of the log is compared with what is there first. Each seal of it is
published in the file `audit-head`. Where the log is to begin later, since segments are let go, the
store remembers that once the record that says so is sealed; before that none is removed.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, final

from gateway.audit.ahead import Known, ahead
from gateway.audit.ends import (
    NOTHING_KNOWN,
    Difference,
    LogEnd,
    LogEnds,
    beginning,
    differences,
    has_messages,
    holes,
    last_incarnation,
    lost_end,
    newest,
    size_of,
    untold,
)
from gateway.audit.sealing import Sealer, Sign
from gateway.audit.seals import Head
from gateway.audit.segment import SegmentWriter
from gateway.audit.whereabouts import TouchedError
from gateway.errors import StoreError, UnknownStoreError
from gateway.files.own import write_whole
from gateway.store.reserve import is_full

HEAD_FILE: Final = "audit-head"
OLDER: Final = "older than the audit log"
# The store remembers an end of the log each `store.database.UNKNOWN_OCTETS`, so that no life that
# was cut off can have given more numbers behind it than this.
GIVEN_BEHIND: Final = 1_000_000


@final
class LateSegments:
    """The audit segments, opened at first use: the store holds the directory by then.

    Implements `AuditSegments` and `LogKeeper`.

    Args:
        accept_new_store: a store that does not know what is in the log is meant.
        now_ms: the time that seals have.
        sign: signs them; `sign_by` has another one do so.

    Attributes:
        differences: in which ways the log is not what the store remembers of it.
        told_by: the last record that tells of them, or of `accepted`; before it is on disk the
            store goes on remembering what it did, so that a start that comes to nothing has hidden
            nothing.
        accepted: what was the matter with the store that was accepted, or "".
        head: the last seal of this life, once it may be known; `None`: there is none yet. Other
            threads may read it.
        first, last: the ends that the store surely remembers; nothing in front of the first is
            wanted. Other threads may read them.
        head_failures: how often it could not be written to its file; `head_problem` says why it
            is not there now, or "".
    """

    def __init__(
        self,
        directory: pathlib.Path,
        *,
        accept_new_store: bool = False,
        now_ms: Callable[[], int] = lambda: 0,
        sign: Sign | None = None,
    ) -> None:
        self._directory = directory
        self._now_ms = now_ms
        self._sign = sign
        self._sealer: Sealer | None = None
        self.head: Head | None = None
        self.head_failures = 0
        self.head_problem = ""
        self._accept_new_store = accept_new_store
        self._writer: SegmentWriter | None = None
        self.first: LogEnd | None = None
        self.last: LogEnd | None = None
        self._first: LogEnd | None = None
        self._told = NOTHING_KNOWN
        self._letting_go: tuple[LogEnd, int] | None = None
        self._remembered = NOTHING_KNOWN
        self._surely_on_disk: LogEnd | None = None
        self._given = 0
        self._missing: frozenset[tuple[int, int]] = frozenset()
        self._opened_at = 0
        self.told_by: int | None = None
        self.differences: list[Difference] = []
        self.accepted = ""

    def compare(self, known: Known, *, store: str) -> int:
        """See `LogKeeper`."""
        directory = self._directory
        if store and has_messages(directory):
            self._accept(store, _unknown_store(directory, store))
        self._remembered = known.ends
        self.first = known.ends.first
        self.differences = differences(directory, known.ends)
        found = holes(directory, self._since)
        self._missing = frozenset(found)
        if known.ends.last is not None:
            self._look_at_end(known.ends.last, known)
        if known.incarnation:
            self.differences += untold(found, known.ends)
        older = ahead(directory, known, as_remembered=not self.differences)
        if older:
            self._accept(OLDER, _older_store(directory, older[0]))
            self.differences += older
        if not self.differences:
            self._surely_on_disk = known.surely_on_disk()
        return last_incarnation(directory)

    @property
    def _since(self) -> int:
        """The number of the log's first segment, as the store knows it; 0: it does not."""
        return 0 if self._remembered.first is None else self._remembered.first.segment

    @property
    def log_id(self) -> str:
        """The log's id."""
        return self.writer().log

    def let_go(self, first: LogEnd, told_by: int) -> None:
        """From another thread: the log is to begin there, once the record that says so is sealed.

        It does when `self.first` is that.
        """
        self._letting_go = (first, told_by)

    def _look_at_end(self, last: LogEnd, known: Known) -> None:
        """What is given, and called, anew lies behind what may have been there."""
        lost = lost_end(self._directory, known.ends) and not known.clean
        self._given = last.sequence + (GIVEN_BEHIND if lost else 0)
        left = newest(self._directory)
        if 0 < left < last.segment:
            self._missing |= {(left + 1, last.segment)}

    def _accept(self, store: str, refusal: str) -> None:
        if not self._accept_new_store:
            raise UnknownStoreError(refusal)
        self.accepted = store

    def begin(self, life: int) -> None:
        """See `LogKeeper`."""
        self._sealer = Sealer(life, self._now_ms, self._sign)
        if self._writer is not None:
            self._writer.sealer = self._sealer

    def sign_by(self, sign: Sign | None) -> None:
        """From another thread: from the next seal on."""
        self._sign = sign
        if self._sealer is not None:
            self._sealer.sign = sign

    def kept(self) -> int:
        """See `LogKeeper`."""
        last = self._remembered.last
        return 0 if last is None or self.differences else last.sequence

    @property
    def begun(self) -> int:
        """See `LogKeeper`."""
        return self.writer().segments

    def ends(self) -> LogEnds:
        """See `LogKeeper`."""
        synced = self.writer().synced
        telling = self.differences or self.accepted
        if telling and (self.told_by is None or synced.sequence < self.told_by):
            return self._remembered
        if self._first is None and synced.sequence:
            with _as_store_errors(self._directory, "cannot read the audit log"):
                self._first = beginning(self._directory, self._since)
        self._begin_later()
        last = synced if synced.segment else None
        self._told = LogEnds(
            self._first, last, self._missing, self.writer().incarnation, self.writer().log
        )
        return self._told

    def _begin_later(self) -> None:
        letting = self._letting_go
        head = None if self._sealer is None else self._sealer.head
        if letting is not None and head is not None and head.sequence >= letting[1]:
            self._first = letting[0]

    def writer(self) -> SegmentWriter:
        """The writer, opened."""
        if self._writer is None:
            self._writer = SegmentWriter(
                self._directory, self._surely_on_disk, log=self._remembered.log
            )
            self._writer.sealer = self._sealer
            self._opened_at = self._writer.last_sequence
            if self.differences and self._remembered.last is not None:
                self._writer.go_on_behind(self._remembered.last.segment)
        return self._writer

    @property
    def flaw(self) -> str:
        """What was the matter with the log's end when it was opened; "": nothing but a torn one."""
        writer = self.writer()
        if writer.cut:
            octets = f"{writer.cut_octets} octets from there on were not surely on disk"
            return f"{writer.cut}; {octets}, and are written again as far as the store has them"
        return writer.damaged

    @property
    def cut_octets(self) -> int:
        """How much was cut off the log's end when it was opened."""
        return self.writer().cut_octets

    @property
    def last_sequence(self) -> int:
        """The highest number that a record was given, be it there or not: it is not given again."""
        return max(self.writer().last_sequence, self._given)

    @property
    def written_again(self) -> range:
        """Numbers of records that were in the store alone when it was opened."""
        last = self.writer().last_sequence
        return range(self._opened_at + 1, last + 1)

    @property
    def unsynced_octets(self) -> int:
        """See `AuditSegments`."""
        return 0 if self._writer is None else self._writer.unsynced_octets

    def append(self, blocks: bytes) -> None:
        """See `AuditSegments`."""
        with _as_store_errors(self._directory):
            self.writer().append(blocks)

    def sync(self) -> None:
        """See `AuditSegments`."""
        with _as_store_errors(self._directory):
            self.writer().sync()

    def seal(self) -> None:
        """See `LogKeeper`."""
        with _as_store_errors(self._directory):
            self.writer().seal()

    def publish(self) -> None:
        """See `LogKeeper`. Where its file cannot be written, the head is told all the same."""
        self.first, self.last = self._told[:2]
        head = None if self._sealer is None else self._sealer.head
        if head is not None and head != self.head:
            self.head = head
            path = self._directory.parent / HEAD_FILE
            try:
                write_whole(path, head.line())
                self.head_problem = ""
            except OSError as error:
                self.head_failures += 1
                self.head_problem = f"cannot write {path}: {error.strerror}"

    def look(self) -> None:
        """See `AuditSegments`."""
        try:
            self.writer().look()
        except (FileNotFoundError, TouchedError) as error:
            raise _gone(error) from error
        except OSError:
            return  # the next write tells

    def close(self) -> None:
        """See `AuditSegments`."""
        with _as_store_errors(self._directory):
            self.writer().close()


def _unknown_store(directory: pathlib.Path, store: str) -> str:
    segments, octets = size_of(directory)
    return (
        f"the store in {directory.parent} is {store}, but beside it is an audit log with messages"
        f" ({segments} segments, {octets} octets): with this store, all durable messages and nodes"
        " that the log knows of would be gone without a word. Put the store back, or move the log"
        " away; if it is meant: amqp-gateway serve --accept-new-store, which the log will record"
    )


def _older_store(directory: pathlib.Path, found: Difference) -> str:
    segments, octets = size_of(directory)
    return (
        f"the store in {directory.parent} is {OLDER} beside it ({segments} segments, {octets}"
        f" octets): {found}. With this store, durable messages and nodes that the log knows of"
        " would be gone, or come again, without a word. Put back the store that belongs to the log,"
        " its store.sqlite-wal included, or move the log away; if it is meant: amqp-gateway serve"
        " --accept-new-store, which the log will record"
    )


@contextmanager
def _as_store_errors(
    directory: pathlib.Path, doing: str = "cannot write to the audit log"
) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, TouchedError) as error:
        raise _gone(error) from error
    except OSError as error:
        text = f"{doing}: {error.strerror}"
        if is_full(error) and _on_a_disk_of_its_own(directory):
            # The room that the store has set aside is none for the log.
            raise StoreError(text, part="audit", cause="full") from error
        raise StoreError(text, part="audit", full=is_full(error)) from error


def _gone(error: OSError) -> StoreError:
    return StoreError(f"the audit log: {error}", part="audit", cause="gone")


def _on_a_disk_of_its_own(directory: pathlib.Path) -> bool:
    try:
        return directory.stat().st_dev != directory.parent.stat().st_dev
    except OSError:
        return False

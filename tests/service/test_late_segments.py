"""The audit log of a data directory: on disks that are full, swapped and slow, and its head."""

import errno
import os
import pathlib
import queue
import shutil

import pytest
from support.stores import message

from gateway.audit.ends import LogEnd, LogEnds
from gateway.audit.records.log import AuditLog
from gateway.audit.schema import NO_LIFE
from gateway.audit.seals import head_in
from gateway.audit.segment import SegmentWriter
from gateway.audit.verify import WHOLE, verify
from gateway.errors import StoreError
from gateway.service.late_segments import HEAD_FILE, LateSegments
from gateway.store.database import Database
from gateway.store.sqlite import SqliteStore
from gateway.store.writes import TurnWriter


@pytest.mark.parametrize("own_disk", [True, False])
def test_a_full_disk_of_the_audit_log_alone_does_not_cost_the_stores_reserve(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, own_disk: bool
) -> None:
    def full(_writer: SegmentWriter, _blocks: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    segments = LateSegments(tmp_path / "audit")
    segments.writer()
    monkeypatch.setattr(SegmentWriter, "append", full)
    if own_disk:
        stat = pathlib.Path.stat

        def mounted(path: pathlib.Path, **more: bool) -> os.stat_result:
            found = [*stat(path, **more)]
            found[2] += path.name == "audit"  # st_dev
            return os.stat_result(found)

        monkeypatch.setattr(pathlib.Path, "stat", mounted)
    with pytest.raises(StoreError, match="cannot write to the audit log: No space") as caught:
        segments.append(b"")
    assert (caught.value.cause, caught.value.full) == ("full", not own_disk)


def test_a_first_segment_that_cannot_be_read_does_not_end_the_thread_that_commits(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    segments = LateSegments(tmp_path / "audit")
    records = AuditLog(1, 1)
    records.clock(1, 0)
    segments.append(records.take_block(1))
    segments.sync()
    (path,) = (tmp_path / "audit").iterdir()
    with monkeypatch.context() as broken:
        broken.setattr(os, "open", failing)
        with pytest.raises(StoreError, match="cannot read the audit log: Input/output error"):
            segments.ends()
    path.rename(tmp_path / "kept")
    os.mkfifo(path)
    assert segments.ends().first is None
    path.unlink()
    (tmp_path / "kept").rename(path)
    assert segments.ends().first is not None


def test_no_segment_begins_in_a_directory_that_has_taken_the_logs_place(
    tmp_path: pathlib.Path,
) -> None:
    segments = LateSegments(tmp_path / "audit")
    first, other = (AuditLog(1, at, segment_octets=1) for at in (1, 2))
    first.clock(1, 0)
    segments.append(first.take_block(1))
    (tmp_path / "audit").rename(tmp_path / "aside")
    (tmp_path / "audit").mkdir()
    other.clock(2, 0)
    following = other.take_block(2)
    with pytest.raises(StoreError, match="has been removed or moved") as raised:
        segments.append(following)
    assert (raised.value.part, raised.value.cause) == ("audit", "gone")
    assert not list((tmp_path / "audit").iterdir())
    (tmp_path / "audit").rmdir()
    (tmp_path / "aside").rename(tmp_path / "audit")
    segments.append(following)
    segments.close()
    assert len(list((tmp_path / "audit").iterdir())) == 2
    assert verify(tmp_path / "audit") == WHOLE


@pytest.mark.parametrize("octets", [0, 200, 100_000])
def test_a_segment_that_is_not_as_long_as_what_was_written_is_missed(
    tmp_path: pathlib.Path, octets: int
) -> None:
    segments = LateSegments(tmp_path / "audit")
    log = AuditLog(1, 1)
    for _ in range(2):
        log.clock(1, 0)
        segments.append(log.take_block(1))
        segments.look()
    (path,) = (tmp_path / "audit").iterdir()
    os.truncate(path, octets)
    log.clock(2, 0)
    segments.append(log.take_block(2))
    with pytest.raises(StoreError, match=f"{path.name} has been cut off or written") as raised:
        segments.look()
    assert (raised.value.part, raised.value.cause) == ("audit", "gone")


class Life:
    """A store and its log in a directory; `events` has what its thread reports."""

    def __init__(self, directory: pathlib.Path, **options: int) -> None:
        self.events: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.segments = LateSegments(directory / "audit", now_ms=lambda: 5)
        self.store = SqliteStore(
            directory,
            self.segments,
            lambda call: call(),
            self.events.put,
            self.events.put,
            lambda: None,
            log=self.segments,
            **options,
        )
        self.recovered = self.store.open()
        life = self.recovered.incarnation
        self.log = AuditLog(life, self.segments.last_sequence + 1)
        self.log.incarnation_started(1, "0.1", self.recovered.previous)
        self.turn = 0

    def commit(self) -> object:
        """A durable turn; what came of it."""
        self.turn += 1
        writer = TurnWriter()
        writer.message(message(self.turn))
        writer.enqueue(1, self.turn, self.turn)
        self.log.clock(1, 0)
        self.store.submit(self.turn, writer.take(), self.log.take_block(1, True))
        return self.events.get(timeout=60)

    def stop(self) -> None:
        self.log.incarnation_stopped(1)
        self.store.close(self.log.take_block(1))


def test_a_head_is_published_when_the_store_remembers_an_end_behind_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[tuple[LogEnd | None, str]] = []
    publish = LateSegments.publish

    def watched(segments: LateSegments) -> None:
        publish(segments)
        file = tmp_path / HEAD_FILE
        known.append((remembered[-1], file.read_text() if file.exists() else ""))

    remembered: list[LogEnd | None] = [None]
    remember = Database.remember

    def noted(database: Database, ends: LogEnds, *, moved: bool = False) -> None:
        remember(database, ends, moved=moved)
        remembered.append(database.known().ends.last)

    monkeypatch.setattr(LateSegments, "publish", watched)
    monkeypatch.setattr(Database, "remember", noted)
    life = Life(tmp_path, seal_ms=0)
    for _ in range(3):
        life.commit()
    life.stop()
    heads = [(end, head_in(text.encode())) for end, text in known if text]
    assert len({head for _end, head in heads}) > 1
    for end, head in heads:
        assert end is not None
        assert head is not None
        assert (end.segment, end.offset) > (head.segment, head.offset)
        assert end.sequence >= head.sequence
    assert life.segments.head == heads[-1][1]
    assert verify(tmp_path / "audit") == WHOLE


def test_a_head_that_cannot_be_written_is_known_all_the_same(tmp_path: pathlib.Path) -> None:
    (tmp_path / f"{HEAD_FILE}.new").mkdir()
    life = Life(tmp_path, seal_ms=0)
    life.commit()
    life.stop()
    assert life.segments.head is not None
    assert not (tmp_path / HEAD_FILE).exists()


def test_a_run_of_which_only_the_store_has_records_is_the_one_before_the_next(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_writer: SegmentWriter, _blocks: bytes) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    first = Life(tmp_path / "data")
    first.commit()
    first.stop()
    second = Life(tmp_path / "data")
    with monkeypatch.context() as context:
        context.setattr(SegmentWriter, "append", refused)
        assert isinstance(second.commit(), StoreError)
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    second.stop()
    third = Life(tmp_path / "killed")
    assert [each.recovered.previous for each in (first, second, third)] == [NO_LIFE, 1, 2]
    third.commit()
    third.stop()
    assert verify(tmp_path / "killed" / "audit") == WHOLE


def test_a_run_that_has_written_nothing_is_not_the_one_before_the_next(
    tmp_path: pathlib.Path,
) -> None:
    lives = []
    for writes in (True, False, True):
        life = Life(tmp_path)
        lives.append(life)
        if writes:
            life.commit()
            life.stop()
        else:
            life.store.close(b"")
    assert [each.recovered.incarnation for each in lives] == [1, 2, 3]
    assert [each.recovered.previous for each in lives] == [NO_LIFE, 1, 1]
    assert verify(tmp_path / "audit") == WHOLE

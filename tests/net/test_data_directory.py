"""What lies in a data directory beside the store's files."""

import errno
import os
import pathlib
from collections.abc import Callable

import pytest

from gateway.audit.records.log import AuditLog
from gateway.audit.segment import SegmentWriter
from gateway.errors import StartupError, StoreError
from gateway.net.data_directory import (
    IDENTITY_FILE,
    SECRET_FILE,
    LateSegments,
    identity,
    secret,
)


def test_the_identity_stays(tmp_path: pathlib.Path) -> None:
    assert identity(tmp_path) == identity(tmp_path)


@pytest.mark.parametrize(("text", "said"), [("", "it is empty"), ("x", "it has no UUID in it")])
def test_an_identity_that_is_none_says_what_to_do(
    tmp_path: pathlib.Path, text: str, said: str
) -> None:
    file = tmp_path / IDENTITY_FILE
    file.write_text(text)
    with pytest.raises(StartupError, match=f"{file}: {said}: put it back, or remove it"):
        identity(tmp_path)
    assert file.read_text() == text


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


@pytest.mark.parametrize("make", [identity, secret])
def test_a_pipe_where_a_file_is_made_is_not_waited_for(
    tmp_path: pathlib.Path, make: Callable[[pathlib.Path], object]
) -> None:
    for name in (IDENTITY_FILE, SECRET_FILE):
        os.mkfifo(tmp_path / f"{name}.new")
    assert make(tmp_path) == make(tmp_path)


def test_an_identity_that_is_a_pipe_is_one_line(tmp_path: pathlib.Path) -> None:
    file = tmp_path / IDENTITY_FILE
    os.mkfifo(file)
    with pytest.raises(StartupError) as raised:
        identity(tmp_path)
    assert str(raised.value) == f"cannot use {file}: is no regular file"


def test_a_first_segment_that_cannot_be_read_does_not_end_the_thread_that_commits(
    tmp_path: pathlib.Path,
) -> None:
    segments = LateSegments(tmp_path / "audit")
    records = AuditLog(1, 1)
    records.clock(1, 0)
    segments.append(records.take_block(1))
    segments.sync()
    (path,) = (tmp_path / "audit").iterdir()
    path.rename(tmp_path / "kept")
    os.mkfifo(path)
    with pytest.raises(StoreError, match="cannot read the audit log: is no regular file"):
        segments.ends()
    path.unlink()
    (tmp_path / "kept").rename(path)
    assert segments.ends().first is not None

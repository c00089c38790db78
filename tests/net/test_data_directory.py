"""What lies in a data directory beside the store's files."""

import errno
import os
import pathlib

import pytest

from gateway.audit.segment import SegmentWriter
from gateway.errors import StartupError, StoreError
from gateway.net.data_directory import IDENTITY_FILE, Disk, LateSegments, identity
from gateway.wire.work import FILE, WORK


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


def test_the_sizes_of_very_many_files_are_looked_at_a_few_at_a_time(tmp_path: pathlib.Path) -> None:
    (tmp_path / "audit").mkdir()
    (tmp_path / "store.sqlite").write_bytes(b"x" * 7)
    for number in range(300):
        (tmp_path / "audit" / f"{number}.seg").write_bytes(b"xx")
    disk = Disk(tmp_path, "audit")
    look = disk.look()
    more = True
    while more:
        assert disk.used == {}
        began = WORK.units
        more = next(look, look) is not look
        assert WORK.units - began <= FILE
    assert disk.used == {"store": 7, "audit": 600}


def test_nothing_is_said_of_a_part_that_is_gone(tmp_path: pathlib.Path) -> None:
    disk = Disk(tmp_path, "audit")
    for _ in disk.look():
        pass
    assert disk.used == {"store": 0}

"""One segment's file: what of it is surely on disk."""

import os
from pathlib import Path

import pytest
from support.faulty_disk import SHORT, UNSYNCED, FaultyDisk

from gateway.audit.segment_file import create, go_on
from gateway.audit.whereabouts import TouchedError


def test_what_was_appended_is_unsynced_until_it_is_synced(tmp_path: Path) -> None:
    file = create(tmp_path / "a", b"head")
    file.append(b"one")
    file.append(b"two")
    assert (file.size, file.synced_size, file.unsynced) == (10, 4, [b"one", b"two"])
    file.sync()
    assert (file.size, file.synced_size, file.unsynced_octets) == (10, 10, 0)
    assert file.digest.digest() == file.synced_digest.digest()
    file.close()


def test_after_a_failed_sync_it_is_cut_to_what_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FaultyDisk(monkeypatch)
    file = create(tmp_path / "a", b"head")
    file.append(b"one")
    disk.fail(UNSYNCED)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    assert not file.trusted
    assert (tmp_path / "a").read_bytes() == b"head\0\0\0"
    file.cut()
    assert (tmp_path / "a").read_bytes() == b"head"
    assert file.unsynced == [b"one"]


def test_a_short_write_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FaultyDisk(monkeypatch)
    file = create(tmp_path / "a", b"head")
    disk.fail(SHORT)
    with pytest.raises(OSError, match="No space"):
        file.append(b"torn")
    assert (file.size, (tmp_path / "a").read_bytes()) == (4, b"head")
    file.append(b"whole")
    assert (tmp_path / "a").read_bytes() == b"headwhole"


def test_an_earlier_lifes_file_is_cut_and_written_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"good and torn")
    file = go_on(tmp_path / "a", b"good")
    file.append(b" again")
    file.close()
    assert (tmp_path / "a").read_bytes() == b"good again"


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_new_one_is_a_file_of_its_own_whatever_had_its_name(tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"somebody's")
    if kind == "link":
        (tmp_path / "a").symlink_to(other)
    else:
        os.mkfifo(tmp_path / "a")
    file = create(tmp_path / "a", b"head")
    file.append(b"one")
    file.close()
    assert (tmp_path / "a").read_bytes() == b"headone"
    assert other.read_bytes() == b"somebody's"


def test_a_pipe_in_the_place_of_the_segment_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = create(tmp_path / "a", b"head")
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    with pytest.raises(OSError, match="is no regular file"):
        file.cut()
    with pytest.raises(OSError, match="is no regular file"):
        go_on(tmp_path / "a", b"head")


@pytest.mark.parametrize("harm", ["header", "regrown"])
def test_a_segment_whose_header_was_written_over_is_missed(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "segment"
    segment = create(path, b"header" * 20)
    segment.append(b"block" * 1000)
    segment.look()
    size = path.stat().st_size
    if harm == "header":
        with path.open("r+b") as file:
            file.write(bytes(64))
    else:
        os.truncate(path, 0)
        os.truncate(path, size)
    with pytest.raises(TouchedError, match="written over"):
        segment.look()
    segment.close()

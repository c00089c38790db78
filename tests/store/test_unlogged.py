import os
from pathlib import Path

import pytest
from support.faulty_disk import FULL, FaultyDisk

from gateway.store.unlogged import Unlogged


def opened(directory: Path) -> Unlogged:
    unlogged = Unlogged(directory)
    unlogged.open()
    return unlogged


def test_what_was_marked_is_there_in_the_next_life(tmp_path: Path) -> None:
    first = opened(tmp_path)
    assert first.sequence == 0
    first.mark(2**40)
    first.close()
    second = opened(tmp_path)
    assert second.sequence == 2**40
    second.mark(2**40 + 1)
    second.close()
    assert opened(tmp_path).sequence == 2**40 + 1


def test_a_write_that_was_cut_short_marks_nothing(tmp_path: Path) -> None:
    opened(tmp_path).mark(7)
    path = tmp_path / "unlogged"
    octets = path.read_bytes()
    path.write_bytes(octets[:6] + b"x" + octets[7:])
    assert opened(tmp_path).sequence == 0
    path.write_bytes(octets[:6])
    assert opened(tmp_path).sequence == 0


def test_its_place_is_taken_before_it_is_needed(tmp_path: Path) -> None:
    opened(tmp_path)
    assert (tmp_path / "unlogged").stat().st_size == 12


def test_a_disk_that_refuses_even_that_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlogged = opened(tmp_path)
    disk = FaultyDisk(monkeypatch)
    disk.fail(FULL, times=1)
    unlogged.mark(5)
    assert (unlogged.sequence, disk.failed) == (5, 1)
    unlogged.mark(6)
    assert opened(tmp_path).sequence == 6


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_nothing_is_written_to_what_is_not_its_own(tmp_path: Path, kind: str) -> None:
    other = tmp_path / "precious"
    other.write_bytes(b"precious precious")
    if kind == "link":
        (tmp_path / "unlogged").symlink_to(other)
    else:
        os.mkfifo(tmp_path / "unlogged")
    with pytest.raises(OSError, match="is no regular file"):
        opened(tmp_path)
    assert other.read_bytes() == b"precious precious"

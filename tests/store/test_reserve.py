import errno
import os
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.store.reserve import Reserve


def blocks(directory: Path) -> int:
    return (directory / "reserve").stat().st_blocks * 512


def test_it_takes_real_blocks_and_gives_them_back(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path, 1_000_000)
    reserve.open()
    assert (reserve.held, reserve.released) == (1_000_000, False)
    assert blocks(tmp_path) >= 1_000_000
    assert reserve.release()
    assert (reserve.held, reserve.released) == (250_000, True)
    assert 250_000 <= blocks(tmp_path) < 300_000
    assert reserve.release()
    assert (reserve.held, reserve.released) == (0, True)
    assert not (tmp_path / "reserve").exists()
    assert not reserve.release()
    assert reserve.set_aside()
    assert blocks(tmp_path) >= 1_000_000


def test_no_reserve_is_none(tmp_path: Path) -> None:
    Reserve(tmp_path, 1_000_000).open()
    reserve = Reserve(tmp_path, 0)
    reserve.open()
    assert (reserve.held, reserve.released) == (0, False)
    assert not (tmp_path / "reserve").exists()


def test_of_a_small_disk_a_sixteenth_is_taken_and_of_what_is_free_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk(monkeypatch, blocks=16_000, free=16_000)
    reserve = Reserve(tmp_path, 10_000_000)
    reserve.open()
    assert reserve.held == reserve.wanted == 1_000 * 4096
    reserve.release()
    reserve.release()
    disk(monkeypatch, blocks=16_000, free=100)
    reserve.open()
    assert (reserve.held, reserve.wanted) == (50 * 4096, 1_000 * 4096)


def disk(monkeypatch: pytest.MonkeyPatch, *, blocks: int, free: int) -> None:
    told = os.statvfs_result((4096, 4096, blocks, free, free, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _path: told)


def test_it_is_not_set_aside_where_it_would_be_used_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = Reserve(tmp_path, 4096 * 100)
    reserve.open()
    reserve.release()
    reserve.release()
    disk(monkeypatch, blocks=10_000, free=149)
    assert not reserve.set_aside()
    disk(monkeypatch, blocks=10_000, free=150)
    assert reserve.set_aside()


def test_a_disk_that_fills_meanwhile_gets_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, errno.ENOSPC)
    reserve = Reserve(tmp_path, 4096)
    reserve.open()
    assert (reserve.held, reserve.wanted) == (0, 4096)
    assert not (tmp_path / "reserve").exists()


def test_a_file_system_that_cannot_do_it_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, errno.EOPNOTSUPP)
    reserve = Reserve(tmp_path, 4096)
    reserve.open()
    assert (reserve.held, reserve.released) == (0, False)


def refuse(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def fallocate(*_arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", fallocate)


@pytest.mark.parametrize("link", ["symbolic", "hard", "fifo"])
def test_what_it_is_a_link_to_is_somebody_elses_and_stays_as_it_is(
    tmp_path: Path, link: str
) -> None:
    other = tmp_path / "precious"
    other.write_bytes(b"precious\n" * 1000)
    if link == "symbolic":
        (tmp_path / "reserve").symlink_to(other)
    elif link == "hard":
        (tmp_path / "reserve").hardlink_to(other)
    else:
        os.mkfifo(tmp_path / "reserve")
    reserve = Reserve(tmp_path, 1_000_000)
    reserve.open()
    assert (reserve.held, blocks(tmp_path) >= 1_000_000) == (1_000_000, True)
    assert other.read_bytes() == b"precious\n" * 1000
    assert not (tmp_path / "reserve").is_symlink()
    assert (tmp_path / "reserve").stat().st_nlink == 1


def test_what_has_become_a_link_under_the_gateway_is_not_cut(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path, 1_000_000)
    reserve.open()
    other = tmp_path / "precious"
    other.write_bytes(b"x" * 900_000)
    (tmp_path / "reserve").unlink()
    (tmp_path / "reserve").symlink_to(other)
    reserve.release()
    assert other.stat().st_size == 900_000
    reserve.released = True
    assert reserve.set_aside()
    assert other.read_bytes() == b"x" * 900_000


def test_a_directory_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "reserve").mkdir()
    with pytest.raises(StoreError, match="reserve is a directory: remove it, or move it"):
        Reserve(tmp_path, 1_000_000).open()

"""One process has a data directory, whatever becomes of the file that says so."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from gateway.errors import StartupError
from gateway.store.lock import LOCK_NAME, lock, unlock


@pytest.mark.parametrize("removed", [False, True])
def test_a_directory_is_one_process_s_also_when_the_lock_file_is_gone(
    tmp_path: Path, removed: bool
) -> None:
    held = lock(tmp_path / "data")
    if removed:
        (tmp_path / "data" / LOCK_NAME).unlink()
    open_files = len(os.listdir("/proc/self/fd"))
    (tmp_path / "link").symlink_to(tmp_path / "data")
    for path in ("data", "link"):
        with pytest.raises(StartupError, match="is used by another process"):
            lock(tmp_path / path)
    assert len(os.listdir("/proc/self/fd")) == open_files
    unlock(held)
    unlock(lock(tmp_path / "data"))


def test_where_directories_cannot_be_locked_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def of_the_network(descriptor: int, how: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", of_the_network)
    held = lock(tmp_path)
    with pytest.raises(StartupError, match="is used by another process"):
        lock(tmp_path)
    unlock(held)
    unlock(lock(tmp_path))


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_what_is_no_file_is_told_by_its_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / LOCK_NAME
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(StartupError, match=rf"cannot use data directory {tmp_path}: {path}: \w"):
        lock(tmp_path)

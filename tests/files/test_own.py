"""Files of a data directory are regular files of their own, and nobody waits for another kind."""

import os
import pathlib
import socket

import pytest

from gateway.files.own import create_anew, open_own, refuse_others, remove_others

NEW = os.O_RDWR | os.O_CREAT


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "file"


def make(path: pathlib.Path, kind: str) -> None:
    """Something of that kind there."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, os.O_RDWR, NEW])
@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_nobody_waits_for_what_is_no_regular_file(path: pathlib.Path, kind: str, flags: int):
    make(path, kind)
    with pytest.raises(OSError, match="is no regular file") as raised:
        open_own(path, flags)
    assert raised.value.filename == str(path)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR])
def test_a_directory_is_no_file(path: pathlib.Path, flags: int):
    path.mkdir()
    with pytest.raises(OSError, match=r"irectory|is no regular file"):
        open_own(path, flags)


def test_a_file_is_made_for_its_owner_alone_and_opened_again(path: pathlib.Path):
    made = open_own(path, NEW)
    os.write(made, b"x")
    os.close(made)
    assert path.stat().st_mode & 0o777 == 0o600
    again = open_own(path, os.O_RDONLY)
    assert os.read(again, 9) == b"x"
    os.close(again)


def test_none_is_made_at_the_end_of_a_link(path: pathlib.Path):
    path.symlink_to("elsewhere")
    with pytest.raises(OSError, match="is no regular file"):
        open_own(path, NEW)
    assert not path.with_name("elsewhere").exists()


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "link"])
def test_a_new_file_takes_the_place_of_whatever_was_there(path: pathlib.Path, kind: str):
    other = path.with_name("other")
    other.write_bytes(b"kept")
    if kind == "link":
        path.symlink_to(other)
    else:
        make(path, kind)
    made = create_anew(path)
    os.write(made, b"new")
    os.close(made)
    assert (path.read_bytes(), path.is_symlink(), other.read_bytes()) == (b"new", False, b"kept")


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "directory"])
def test_who_opens_by_name_is_told_what_is_no_file(path: pathlib.Path, kind: str):
    there = path.with_name("there")
    there.touch()
    refuse_others(there, path)
    make(path, kind)
    with pytest.raises(OSError, match="is no regular file") as raised:
        refuse_others(there, path)
    assert raised.value.filename == str(path)


def test_what_is_not_a_file_of_its_own_is_removed_and_what_it_was_linked_to_stays(
    path: pathlib.Path,
):
    other = path.with_name("other")
    other.write_bytes(b"kept")
    remove_others(path)
    for link in (path.symlink_to, path.hardlink_to):
        link(other)
        remove_others(path)
        assert (os.path.lexists(path), other.read_bytes()) == (False, b"kept")
    make(path, "fifo")
    remove_others(path)
    path.write_bytes(b"own")
    remove_others(path)
    assert path.read_bytes() == b"own"


def test_a_directory_is_not_removed(path: pathlib.Path):
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        remove_others(path)

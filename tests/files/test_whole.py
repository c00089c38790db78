"""Files that are read whole end, and are not too large."""

import os
import pathlib
import threading

import pytest

from gateway.files import whole
from gateway.files.whole import read_regular, read_whole

MAX = 100_000


@pytest.mark.parametrize("read", [read_whole, read_regular])
def test_a_file_is_read_up_to_its_size(read, tmp_path: pathlib.Path):
    file = tmp_path / "file"
    file.write_bytes(b"x" * MAX)
    assert read(file, MAX) == b"x" * MAX
    with pytest.raises(OSError, match="is larger than 99999 octets"):
        read(file, MAX - 1)


@pytest.mark.parametrize("read", [read_whole, read_regular])
def test_of_a_file_that_is_too_large_nothing_is_read(read, tmp_path: pathlib.Path):
    file = tmp_path / "sparse"
    file.touch()
    os.truncate(file, 1 << 40)
    with pytest.raises(OSError, match="is larger than 100000 octets"):
        read(file, MAX)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_what_does_not_end_is_larger_than_any_size(device: str):
    with pytest.raises(OSError, match="is larger than 100000 octets"):
        read_whole(pathlib.Path(device), MAX)
    with pytest.raises(OSError, match="is no regular file"):
        read_regular(pathlib.Path(device), MAX)


def test_a_pipe_is_read_to_its_end_and_no_gateway_waits_for_one(tmp_path: pathlib.Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="is no regular file"):
        read_regular(pipe, MAX)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"x" * MAX,))
    writer.start()
    assert read_whole(pipe, MAX) == b"x" * MAX
    writer.join()


def test_nobody_waits_for_ever_for_a_pipe_that_nobody_writes_to(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(whole, "PATIENCE_S", 0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="has had nothing for 0 seconds") as raised:
        read_whole(pipe, MAX)
    assert raised.value.filename == str(pipe)


def test_who_writes_to_a_pipe_may_take_its_time(tmp_path: pathlib.Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(read_whole(pipe, MAX)))
    reader.start()
    with pipe.open("wb", buffering=0) as writer:
        for _ in range(3):
            writer.write(b"x" * 1000)
    reader.join()
    assert found == [b"x" * 3000]


@pytest.mark.parametrize("read", [read_whole, read_regular])
@pytest.mark.parametrize(
    ("name", "problem"), [("", "directory"), ("none", "No such file"), ("a" * 300, "too long")]
)
def test_what_is_wrong_has_words(read, name: str, problem: str, tmp_path: pathlib.Path):
    with pytest.raises(OSError, match=problem) as raised:
        read(tmp_path / name, MAX)
    assert problem in raised.value.strerror

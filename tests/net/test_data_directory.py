"""What lies in a data directory beside the store's files."""

import os
import pathlib
from collections.abc import Callable

import pytest

from gateway.errors import StartupError
from gateway.net.data_directory import IDENTITY_FILE, SECRET_FILE, identity, secret


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

"""What lies in a data directory beside the store's files."""

import pathlib

import pytest

from gateway.errors import StartupError
from gateway.net.data_directory import IDENTITY_FILE, identity


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

"""When segments of the audit log may go, as far as a configuration can say so."""

import pathlib

import pytest

from gateway.config import load
from gateway.errors import ConfigurationError

GOES = ["audit.keep_age=30d", "audit.books=/books"]


def test_nothing_is_let_go_unless_it_is_said() -> None:
    audit = load(None).audit
    assert not audit.lets_go
    assert not audit.archives
    assert audit.keep_unclosed


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (["audit.keep_age=30d"], "audit.books: no segment could be let go"),
        (["audit.keep_size=1GiB"], "audit.books: no segment could be let go"),
        ([*GOES, "audit.keep_size=1MiB"], "audit.keep_size: must not be below audit.segment_size"),
        (["audit.book_keys_file=/keys.pem"], "audit.book_keys_file: needs audit.books"),
        (
            [*GOES, "audit.archive_directory=/archive", "audit.archive_command=[keep]"],
            "audit.archive_command: either this or a directory",
        ),
        (
            [*GOES, "data_directory=/data", "audit.archive_directory=/data/audit/old"],
            "audit.archive_directory: must not be in the log, /data/audit",
        ),
        (
            ["audit.keep_age=1d", "data_directory=/data", "audit.books=/data/audit"],
            "audit.books: must not be in the log, /data/audit",
        ),
        (["audit.archive_command=['']"], "audit.archive_command.0: "),
    ],
)
def test_what_contradicts_itself_is_refused(changes: list[str], problem: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        load(None, changes)
    assert str(told.value).startswith(problem)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "changes",
    [
        GOES,
        ["audit.keep_size=1GiB", "audit.keep_unclosed=false"],
        [*GOES, "audit.book_keys_file=/keys.pem", "audit.archive_command=[keep, --into, s3]"],
        [*GOES, "audit.archive_directory=/archive"],
        ["audit.books=/books"],
        ["audit.archive_directory=/archive"],
        ["audit.archive_command=[cp]"],
    ],
)
def test_what_can_be_done_is_taken(changes: list[str]) -> None:
    load(None, changes)


def test_its_paths_are_relative_to_the_file(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(
        "audit: {keep_age: 1d, books: books, book_keys_file: keys.pem, archive_directory: archive,"
        " signing_key_file: key.pem}\n"
    )
    audit = load(file).audit
    assert audit.books == tmp_path / "books"
    assert audit.book_keys_file == tmp_path / "keys.pem"
    assert audit.archive_directory == tmp_path / "archive"
    assert audit.signing_key_file == tmp_path / "key.pem"

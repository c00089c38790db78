"""Paths and URIs, asked alike."""

import os
from pathlib import Path

import pytest
from support.audit_logs import balanced_log, put_unreadable
from support.buckets import bucket

from gateway.accounting.locations import location
from gateway.accounting.locations.remote import Remote
from gateway.accounting.locations.settings import NONE
from gateway.audit.ends import log_id_in


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("logs/audit", "logs/audit"),
        ("C:odd", "C:odd"),
        ("file:/logs/a%20b", "/logs/a b"),
        ("file:///logs", "/logs"),
        ("file://localhost/logs", "/logs"),
    ],
)
def test_a_path_is_a_path(text, path):
    assert location.at(text, NONE) == Path(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("s3a://logs", "s3a://logs"),
        ("s3://logs//gateway/audit/", "s3a://logs/gateway/audit"),
        ("S3A://logs/a b%20c", "s3a://logs/a b%20c"),
        ("hdfs://node:8020/logs", "hdfs://node:8020/logs"),
        ("hdfs:///logs", "hdfs:///logs"),
    ],
)
def test_a_uri_is_elsewhere_by_the_name_that_spark_has_for_it(text, told):
    found = location.at(text, NONE)
    assert isinstance(found, Remote)
    assert str(found) == str(location.absolute(found)) == told


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gs://logs/audit", "gs:// is not known"),
        ("s3a://me:secret@logs/audit", "has no name or key in it"),
        ("s3a:///audit", "begins with a bucket"),
        ("s3a://logs/../other", r'has no "\."'),
        ("file://other/logs", "is not on this machine"),
        ("file:logs", "file:///PATH"),
        ("file:///logs?x", "file:///PATH"),
    ],
)
def test_what_is_no_address_is_refused_and_nothing_of_it_repeated_that_may_be_a_secret(
    text, problem
):
    with pytest.raises(ValueError, match=problem) as raised:
        location.at(text, NONE)
    assert "secret" not in str(raised.value)


@pytest.fixture
def both(tmp_path) -> list:
    """The same log by a path and by a URI."""
    there = bucket(tmp_path) / "audit"
    return [balanced_log(tmp_path / "bucket" / "audit", segment_octets=3000), there]


def test_a_log_is_the_same_by_its_path_and_by_its_uri(both):
    for ask in (
        lambda log: [each.name for each in location.segments(log)],
        lambda log: [location.size(each) for each in location.segments(log)],
        lambda log: [location.read(each) for each in location.segments(log)],
        lambda log: [location.head(each, 100) for each in location.segments(log)],
        location.log_id,
    ):
        here, there = map(ask, both)
        assert here == there != []
    assert location.log_id(both[1]) == log_id_in(both[0]) != ""


def test_a_segment_that_cannot_be_read_is_told_by_its_path(tmp_path):
    bad = tmp_path / "0000000001-000001.audit"
    put_unreadable(bad, "directory")
    for ask in (location.size, location.read, lambda path: location.head(path, 1)):
        with pytest.raises(IsADirectoryError) as raised:
            ask(bad)
        assert raised.value.filename == str(bad)


def test_a_file_is_replaced_or_keeps_what_it_has(tmp_path, monkeypatch):
    file = tmp_path / "gateway.prom"
    location.write(file, "old\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        location.write(file, "new\n")
    assert file.read_text() == "old\n"


def test_a_report_is_written_where_its_directory_is_made(tmp_path):
    for directory in (tmp_path / "a" / "b", bucket(tmp_path / "there")):
        location.make(directory)
        location.write(directory / "report.html", "<p>")
        assert location.anchors(directory / "report.html") == (f"{directory}/report.html", b"<p>")


def test_tables_are_the_files_of_parquet(tmp_path):
    for directory in (tmp_path / "bucket" / "breaks", bucket(tmp_path) / "breaks"):
        if isinstance(directory, Path):
            directory.mkdir(parents=True)
            for name in ("part-1.parquet", "part-0.parquet", "_SUCCESS"):
                (directory / name).touch()
        assert [each.name for each in location.tables(directory)] == [
            "part-0.parquet",
            "part-1.parquet",
        ]


def test_books_are_copied_from_elsewhere_and_nothing_else_is(tmp_path):
    there = bucket(tmp_path)
    book = tmp_path / "bucket" / "0000000001.book"
    book.mkdir()
    (book / "book.json").write_text("{}")
    (book / "-odd").touch()
    (tmp_path / "bucket" / "new-1234").mkdir()
    (tmp_path / "bucket" / "0000000002.book").touch()
    with location.books_here(there) as copy:
        assert [each.name for each in copy.iterdir()] == ["0000000001.book"]
        assert [each.name for each in (copy / "0000000001.book").iterdir()] == ["book.json"]
        assert (copy / "0000000001.book" / "book.json").read_text() == "{}"
    assert not copy.exists()
    with location.books_here(there, 3) as none:
        assert list(none.iterdir()) == []
    with location.books_here(tmp_path) as here:
        assert here == tmp_path


def test_a_file_is_copied_and_a_directory_removed(tmp_path):
    source = tmp_path / "table"
    source.write_bytes(b"rows" * 500_000)
    there = bucket(tmp_path) / "b"
    for directory in (tmp_path / "bucket" / "b", there):
        location.make(tmp_path / "bucket" / "b")
        location.copy(source, directory / "table")
        assert location.read(directory / "table") == source.read_bytes()
        for _ in range(2):
            location.remove(directory)
        with pytest.raises(FileNotFoundError):
            location.size(directory / "table")

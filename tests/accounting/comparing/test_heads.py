"""What a book lacks is seen by how it begins: of CSV, zipped or not, and of Parquet."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from gateway.accounting.comparing.arguments import COLUMNS, Ledger
from gateway.accounting.comparing.heads import check

NAMES = {name: name for name in COLUMNS}


def ledger(where: Path, *, counts: bool = False, **columns: str) -> Ledger:
    return Ledger(where, NAMES | columns, "string", ";", counts=counts)


def test_a_book_has_the_columns_that_are_needed_and_those_that_were_named(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text('\ufeff"Order; Id";when\n1;2\n')
    assert check(ledger(path, message_id="Order; Id"), ()) == ""
    assert check(ledger(path, message_id="Order; Id", time="when"), ()) == ""
    has = "it has Order; Id, when"
    assert check(ledger(path), ()) == f"{path} has no column 'message_id': {has}"
    named = ledger(path, message_id="Order; Id", time="at")
    assert check(named, ()) == f"{path} has no column 'at': {has}"
    queues = ledger(path, message_id="Order; Id")
    assert check(queues, ("orders",)) == f"{path} has no column 'queue': {has}"


def test_a_zipped_book_and_one_of_parquet_are_looked_at_too(tmp_path):
    zipped = tmp_path / "counts.csv.gz"
    zipped.write_bytes(gzip.compress(b"queue;messages\norders;3\n"))
    assert check(ledger(zipped, counts=True, count="messages"), ()) == ""
    assert check(ledger(zipped, counts=True), ()).endswith("it has queue, messages")
    table = tmp_path / "ledger"
    parquet.write_table(pa.table({"id": ["a"]}), table)
    assert check(ledger(table, message_id="id"), ()) == ""
    assert check(ledger(table), ()).endswith("has no column 'message_id': it has id")


def test_of_several_files_in_a_directory_nothing_can_be_seen_yet(tmp_path):
    assert check(ledger(tmp_path), ()) == ""


def test_what_is_no_book_is_told(tmp_path):
    (tmp_path / "empty.csv").touch()
    assert check(ledger(tmp_path / "empty.csv"), ()).endswith("has no line of names")
    for name, told in {"a.csv.gz": "it is no gzip", "a.parquet": "it is no Parquet"}.items():
        (tmp_path / name).write_text("message_id\norder\n")
        with pytest.raises(OSError) as caught:
            check(ledger(tmp_path / name), ())
        assert caught.value.strerror == told
    with pytest.raises(FileNotFoundError):
        check(ledger(tmp_path / "none.csv"), ())

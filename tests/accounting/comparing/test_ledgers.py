"""Books of others: CSV and Parquet, of ids and of counts."""

from datetime import UTC, datetime
from uuid import UUID

import pyarrow as pa
import pytest
from pyarrow import parquet

from gateway.accounting.comparing.arguments import COLUMNS, Ledger
from gateway.accounting.comparing.ids import digest_in
from gateway.accounting.comparing.ledgers import Book, LedgerError, book

ID = UUID("8c79d4bf-09b3-350a-9cd3-127a4be2ac36")
MS = 1_790_000_000_000
NAMES = {name: name for name in COLUMNS}


def ledger(path, *, counts: bool = False, id_type: str = "string", **columns: str) -> Ledger:
    delimiter = ";" if "semicolon" in path.name else ","
    return Ledger(path, NAMES | columns, id_type, delimiter, counts=counts)


def lines(found: Book) -> list[tuple]:
    rows = found.items.collect()
    return sorted(
        ((row["text"], row["id_digest"], row["time_ms"], row["nodes"]) for row in rows), key=str
    )


def test_csv_has_ids_of_several_types_and_what_cannot_be_read_is_counted(spark, tmp_path):
    path = tmp_path / "semicolon.csv"
    path.write_text(
        "when;Id;id_type;queue;more\n"
        "2026-09-21T14:13:20Z;order-17;;orders;x\n"
        f"{MS + 1};{ID};uuid;orders;x\n"
        f'2026-09-21 14:13:22.000;"quoted ""a"";b";string;;x\n'
        ";17;ULONG;orders;x\n"
        "never;;;orders;x\n"
        "2026-09-21T14:13:20Z;order-18;uuid;orders;x\n"
    )
    found = book(spark, ledger(path, message_id="Id", time="when"), ())
    quoted = 'quoted "a";b'
    assert lines(found) == sorted(
        [
            ("order-17", digest_in("string", "order-17", None), MS, ["orders"]),
            (str(ID), digest_in("uuid", str(ID), None), MS + 1, ["orders"]),
            (quoted, digest_in("string", quoted, None), MS + 2000, []),
            ("17", digest_in("ulong", "17", None), None, ["orders"]),
            (None, 0, None, ["orders"]),
        ],
        key=str,
    )
    assert found[1:] == (6, 1, 1, MS, MS + 2000, True)


def test_an_id_of_a_csv_that_is_no_utf_8_is_not_read_and_counted(spark, tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_bytes("message_id\nm\u00fctze\nm\u00e9tro\n".encode("latin-1"))
    found = book(spark, ledger(path), ())
    assert (found.items.count(), found.unread) == (0, 2)


def test_what_is_quoted_and_goes_on_in_another_line_is_not_read(spark, tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text('message_id\n"new\nline"\n"whole ""one"""\n')
    assert book(spark, ledger(path), ()).unread == 2  # of one id, which is none of these lines


def test_a_line_with_other_columns_than_the_first_is_not_read_whatever_queue_it_is_of(
    spark, tmp_path
):
    path = tmp_path / "ledger.csv"
    path.write_text(
        'message_id,queue,time\na,orders,1\nb,1,orders,1\nc\nd,"orders,2\n"e,f",orders,2\n\n'
    )
    found = book(spark, ledger(path), ("orders",))
    assert [row[0] for row in lines(found)] == ["a", "e,f"]
    assert (found.lines, found.unread, found.ends_ms) == (2, 3, 2)
    counts = tmp_path / "counts.csv"
    counts.write_text("queue,count\norders,1,204\nothers,7\n")
    found = book(spark, ledger(counts, counts=True), ())
    assert ([row["surely"] for row in found.items.collect()], found.unread) == ([7], 1)


def test_parquet_has_octets_and_times_of_its_own_types(spark, tmp_path):
    path = tmp_path / "ledger.parquet"
    at = [datetime.fromtimestamp(MS / 1000, UTC), None]
    columns = {
        "message_id": pa.array([ID.bytes, None], pa.binary()),
        "time": pa.array(at, pa.timestamp("ms", tz="UTC")),
        "queue": ["orders", "others"],
    }
    parquet.write_table(pa.table(columns), path)
    found = book(spark, ledger(path, id_type="uuid"), ("orders",))
    digest = digest_in("uuid", str(ID), None)
    assert lines(found) == [(ID.bytes.hex(), digest, MS, ["orders"])]
    assert (found.lines, found.unread, found.ends_ms) == (1, 0, MS)


def test_counts_are_of_queues(spark, tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("queue,count\norders,3\nothers,many\n,4\n")
    found = book(spark, ledger(path, counts=True), ())
    assert [(row["nodes"], row["surely"]) for row in found.items.collect()] == [(["orders"], 3)]
    assert (found.lines, found.unread) == (3, 2)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "id,queue\n", "has no column 'message_id': it has id, queue"),
        ("b.csv", "", "has no column 'message_id': it has none"),
        ("c.csv", None, "cannot be read: "),
        ("d", "no Parquet", "cannot be read: "),
    ],
)
def test_what_is_no_book_is_told_in_a_sentence(name, text, told, spark, tmp_path):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(LedgerError, match=told) as error:
        book(spark, ledger(path), ())
    assert "\n" not in str(error.value)

"""What a closed book says, who has signed it, and what is no book."""

import json
from collections.abc import Callable

import pytest
from support.closed_books import book_of, close, tables_in
from support.keys import Key

from gateway.audit.books import (
    BOOK_FILE,
    BOOK_MAX,
    CLOSING,
    OPENING,
    Book,
    BookError,
    book_number,
    book_path,
    book_paths,
    check_follows,
    check_signature,
    check_tables,
    parsed,
    read,
    signature_in_words,
    table_path,
)
from gateway.audit.shelf import write


@pytest.fixture
def books(tmp_path):
    return tmp_path / "books"


def test_a_book_is_read_as_it_was_written(books):
    book = close(books, 1, 3)
    assert read(book_path(books, 1)) == book
    assert (book.number, book.last_segment, book.last_sequence) == (1, 3, 30)


def test_it_covers_its_segments_as_they_were_and_no_others():
    book = book_of(4, 6)
    for number in (4, 5, 6):
        covered = book.covered(number)
        assert covered is not None
        assert covered.last_sequence == number * 10
        assert book.covers(number, covered.sha256)
        assert not book.covers(number + 1, covered.sha256)
    assert book.covered(3) is None
    assert book.covered(7) is None


def test_it_may_say_that_a_segment_is_missing(books, tmp_path):
    book = book_of(1, 2, balanced=False, classes={"LOG_GAP": 1})
    missing = book.segments[1]._replace(sha256="")
    write(books, book._replace(segments=(book.segments[0], missing)), tables_in(tmp_path / "a"))
    assert read(book_path(books, 1)).covers(2, "")
    assert not read(book_path(books, 1)).covers(2, "0" * 64)


def test_its_directory_is_named_by_its_number(books):
    close(books, 1, 1)
    (books / "notes.book").mkdir()
    (books / "new-0011").mkdir()
    assert [path.name for path in book_paths(books)] == ["0000000001.book"]
    assert book_number("0000000017.book") == 17
    assert book_number("17.book") == book_number("0000000017.books") == 0
    (books / "0000000001.book").rename(books / "0000000002.book")
    with pytest.raises(BookError, match=r"0000000002\.book: it is book number 1"):
        read(books / "0000000002.book")


def test_where_no_books_are_there_are_none(books):
    assert book_paths(books) == []
    books.write_text("")
    with pytest.raises(BookError, match=r"cannot read .*books: Not a directory"):
        book_paths(books)


def test_a_signature_is_of_all_that_the_book_says_and_of_its_key(books):
    key, other = Key(), Key()
    book = close(books, 1, 3, signer=key.sign)
    check_signature(read(book_path(books, 1)), key.trusted())
    for changed in (
        book._replace(balanced=False, classes={"LOST": 1}),
        book._replace(made_by="somebody else"),
        book._replace(segments=book.segments[:2]),
    ):
        with pytest.raises(BookError, match=r"it is not what key [0-9a-f]{16} has signed"):
            check_signature(changed, key.trusted())
    with pytest.raises(BookError, match=r"signed by key [0-9a-f]{16}, which is not trusted"):
        check_signature(book, other.trusted())
    with pytest.raises(BookError, match="book 1: it is not what key"):
        check_signature(book._replace(key=other.sign.key), other.trusted())


def test_a_book_that_is_not_signed_is_said_to_be_so(books):
    book = close(books, 1, 3)
    with pytest.raises(BookError, match="book 1: it is not signed"):
        check_signature(book, Key().trusted())
    assert signature_in_words(book).startswith("not signed")
    assert signature_in_words(close(books, 4, 4, signer=Key().sign)).startswith("signed by key ")


def test_its_tables_are_what_it_says(books):
    book = close(books, 1, 3)
    path = book_path(books, 1)
    check_tables(path, book)
    table = table_path(path, book, CLOSING)
    table.write_text(table.read_text().replace("closing", "closinG"))
    with pytest.raises(BookError, match="book 1: its table closing is not what it was"):
        check_tables(path, book)
    table.unlink()
    with pytest.raises(BookError, match=r"book 1: cannot read closing\.jsonl: No such file"):
        check_tables(path, book)
    table.mkdir()
    with pytest.raises(BookError, match="is no regular file"):
        check_tables(path, book)


def test_each_follows_the_one_before_it(books):
    first, second = close(books, 1, 3), close(books, 4, 6)
    check_follows(first, None)
    check_follows(second, first)
    opening = second.tables[OPENING]._replace(sha256="0" * 64)
    for changed, problem in (
        (second._replace(number=3), "it comes behind book 1: what is between is missing"),
        (second._replace(log="cd"), "it is of another log, with id cd"),
        (second._replace(previous="1" * 64), "book 1 is not the one that it was written behind"),
        (second._replace(first_segment=5), "it begins with segment 5, and not with 4"),
        (second._replace(first_sequence=32), "it begins with record 32, and not with 31"),
        (
            second._replace(tables={**second.tables, OPENING: opening}),
            "it does not open with what book 1 closed with",
        ),
    ):
        with pytest.raises(BookError, match=problem):
            check_follows(changed, first)


def test_the_first_that_is_there_may_be_a_later_one(books):
    close(books, 1, 3)
    second = close(books, 4, 6)
    check_follows(second, None)
    with pytest.raises(BookError, match="it is the first, and names one before it"):
        check_follows(second._replace(number=1), None)


def test_no_octet_of_it_can_be_another_unnoticed(books):
    key = Key()
    book = close(books, 1, 2, signer=key.sign)
    octets = (book_path(books, 1) / BOOK_FILE).read_bytes()
    for at in range(len(octets)):
        changed = bytearray(octets)
        changed[at] ^= 1
        try:
            found = parsed(bytes(changed))
            assert found != book
            check_signature(found, key.trusted())
        except BookError:
            continue
        pytest.fail(f"octet {at} is another, and nobody notices")


def test_no_part_of_it_is_a_book(books):
    close(books, 1, 2)
    octets = (book_path(books, 1) / BOOK_FILE).read_bytes()
    for end in range(len(octets)):
        with pytest.raises(BookError, match="it is no book"):
            parsed(octets[:end])


def _said(change: Callable[[dict[str, object]], None], book: Book) -> bytes:
    said = json.loads(book.text())
    change(said)
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda said: said.update(form=2), "of form 2, and this program knows form 1"),
        (lambda said: said.update(form=True), "it is no book"),
        (lambda said: said.pop("log"), "it is no book that could be: 'log'"),
        (lambda said: said.update(log="../x"), "no book that could be: log"),
        (lambda said: said.update(made_by="a\x1b[2J"), "no book that could be: made_by"),
        (lambda said: said.update(more=1), "it was changed"),
        (lambda said: said.update(balanced=1), "no book that could be: balanced"),
        (lambda said: said.update(balanced=False), "balanced and has breaks, or neither"),
        (lambda said: said.update(classes={"LOST": 1}), "balanced and has breaks, or neither"),
        (lambda said: said.update(classes=[]), "no book that could be: classes"),
        (lambda said: said.update(sums={"a": -1}), "no book that could be: sums"),
        (lambda said: said.update(number=0), "no book that could be: number"),
        (lambda said: said.update(from_ms=1 << 63), "no book that could be: from_ms"),
        (lambda said: said.update(first_sequence=25), "not one behind the other"),
        (lambda said: said.update(first_segment=0), "not one behind the other"),
        (lambda said: said.update(segments=[]), "it covers no segments"),
        (lambda said: said.update(segments=[[1, 1, "0" * 64]] * 100_001), "or more than 100000"),
        (lambda said: said.update(segments=[7]), "no book that could be: segments"),
        (lambda said: said.update(signature="0" * 128), "no book that could be: key"),
        (lambda said: said["tables"].pop("closing"), "it must have the tables"),
        (lambda said: said["tables"].update(closing=7), "it is no book that could be"),
        (lambda said: said["tables"]["closing"].update(file="../a"), "could be: file"),
        (lambda said: said["tables"]["closing"].update(file=BOOK_FILE), "are the same file"),
    ],
)
def test_what_is_no_book_is_told_in_a_sentence(books, change, problem):
    octets = _said(change, close(books, 1, 2))
    with pytest.raises(BookError) as told:
        parsed(octets)
    assert problem in str(told.value)
    assert "\n" not in str(told.value)
    assert "\x1b" not in str(told.value)


@pytest.mark.parametrize(
    "octets",
    [b"", b"\0" * 100, b"[]", b"1" * 5000, b"[" * 100_000, b'{"form": 1.5}', b'{"form": NaN}'],
)
def test_what_is_no_json_or_another_is_no_book(octets):
    with pytest.raises(BookError, match="it is no book"):
        parsed(octets)


def test_what_is_said_twice_was_changed(books):
    text = close(books, 1, 2).text()
    with pytest.raises(BookError, match="it was changed"):
        parsed(text.replace('"balanced"', '"balanced":false,"balanced"').encode())


def test_a_book_that_is_too_large_or_no_file_is_not_read(books):
    close(books, 1, 2)
    file = book_path(books, 1) / BOOK_FILE
    with file.open("r+b") as large:
        large.truncate(BOOK_MAX + 1)
    with pytest.raises(BookError, match=r"0000000001\.book: cannot read book\.json: is larger"):
        read(book_path(books, 1))
    file.unlink()
    with pytest.raises(BookError, match="No such file"):
        read(book_path(books, 1))
    file.mkdir()
    with pytest.raises(BookError, match="Is a directory"):
        read(book_path(books, 1))


def test_a_later_book_may_have_more_tables(books, tmp_path):
    tables = tables_in(tmp_path / "tables")
    book = write(books, book_of(1, 1), {**tables, "losses": tables[CLOSING]})
    assert read(book_path(books, 1)).tables.keys() == book.tables.keys()

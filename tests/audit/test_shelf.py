"""Books that are written behind one another, and read as far as they are good."""

import os
import shutil

import pytest
from support.closed_books import book_of, close, tables_in
from support.keys import Key

from gateway.audit import shelf as shelf_module
from gateway.audit.books import BOOK_FILE, CLOSING, OPENING, BookError, book_path, table_path
from gateway.audit.shelf import Shelf, write


@pytest.fixture
def books(tmp_path):
    return tmp_path / "books"


def looked_at(books, trust=None):
    shelf = Shelf(books, trust)
    shelf.look()
    return shelf


def test_an_empty_shelf_covers_nothing(books):
    shelf = looked_at(books)
    assert (shelf.last, shelf.problem, shelf.covering(1)) == (None, "", None)


def test_a_segment_is_covered_by_its_book(books):
    written = [close(books, 1, 3), close(books, 4, 4), close(books, 5, 9)]
    shelf = looked_at(books)
    assert shelf.last == written[2]
    assert shelf.first_segment == 1
    assert [shelf.covering(number) for number in (1, 3, 4, 5, 9)] == [
        *(written[0], written[0], written[1], written[2], written[2])
    ]
    assert shelf.covering(10) is None


def test_books_that_come_later_are_seen_at_the_next_look(books):
    close(books, 1, 3)
    shelf = looked_at(books)
    later = close(books, 4, 4)
    assert shelf.covering(4) is None
    shelf.look()
    assert shelf.covering(4) == later


def test_a_book_opens_with_what_the_one_before_closed_with(books):
    first, second = close(books, 1, 3), close(books, 4, 4)
    assert second.tables[OPENING].sha256 == first.tables[CLOSING].sha256
    assert second.previous == first.digest()


def test_books_behind_a_wrong_one_do_not_count(books):
    for number in (1, 2, 3):
        close(books, number, number)
    (book_path(books, 2) / BOOK_FILE).write_bytes(b"{")
    shelf = looked_at(books)
    assert shelf.problem == "0000000002.book: it is no book: damaged, or cut off"
    assert shelf.covering(1) is not None
    assert shelf.covering(3) is None


def test_a_book_that_is_missing_between_others_is_told_of(books):
    for number in (1, 2, 3):
        close(books, number, number)
    shutil.rmtree(book_path(books, 2))
    shelf = looked_at(books)
    assert shelf.problem == "book 3: it comes behind book 1: what is between is missing"


def test_the_oldest_books_may_have_been_put_away(books):
    for number in (1, 2, 3):
        close(books, number, number)
    shutil.rmtree(book_path(books, 1))
    shelf = looked_at(books)
    assert (shelf.problem, shelf.first_segment) == ("", 2)
    assert shelf.covering(1) is None
    assert shelf.covering(3) is not None


def test_with_trusted_keys_only_what_they_have_signed_counts(books):
    key = Key()
    close(books, 1, 1, signer=key.sign)
    close(books, 2, 2)
    shelf = looked_at(books, key.trusted())
    assert shelf.covering(1) is not None
    assert shelf.covering(2) is None
    assert shelf.problem == "book 2: it is not signed"
    assert looked_at(books).unsigned == 1


def test_a_book_that_was_changed_since_it_was_looked_at_covers_nothing(books):
    close(books, 1, 1)
    shelf = looked_at(books)
    shutil.rmtree(books)
    close(books, 1, 2)
    with pytest.raises(BookError, match="book 1: it is not what it was"):
        shelf.covering(1)


def test_tables_are_looked_at_before_a_book_covers_anything(books):
    book = close(books, 1, 1)
    table_path(book_path(books, 1), book, CLOSING).write_text("")
    shelf = looked_at(books)
    with pytest.raises(BookError, match="its table closing is not what it was"):
        shelf.covering(1)


def test_a_book_that_does_not_follow_is_not_written(books, tmp_path):
    close(books, 1, 3)
    for book, problem in (
        (book_of(5, 6), "it begins with segment 5, and not with 4"),
        (book_of(4, 6, log="cd"), "it is of another log"),
    ):
        with pytest.raises(BookError, match=problem):
            write(books, book, tables_in(tmp_path / "tables"))
    assert os.listdir(books) == ["0000000001.book"]


def test_a_book_that_nobody_could_read_is_not_written(books, tmp_path):
    tables = tables_in(tmp_path / "tables")
    for book, problem in (
        (book_of(1, 3, made_by="a\nb"), "made_by"),
        (book_of(1, 3, balanced=False), "balanced"),
        (book_of(3, 2), "covers no segments"),
    ):
        with pytest.raises(BookError, match=problem):
            write(books, book, tables)
    with pytest.raises(BookError, match="it must have the tables"):
        write(books, book_of(1, 3), {CLOSING: tables[CLOSING]})
    assert os.listdir(books) == []


def test_nothing_is_left_of_a_book_that_could_not_be_written(books, tmp_path, monkeypatch):
    tables = tables_in(tmp_path / "tables")

    def refuse(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(shelf_module.os, "fsync", refuse)
        with pytest.raises(
            BookError, match=r"cannot write a book into .*: No space left on device"
        ):
            write(books, book_of(1, 3), tables)
    assert os.listdir(books) == []
    with pytest.raises(BookError, match="cannot write a book into"):
        write(tmp_path / "tables" / "closing.jsonl", book_of(1, 3), tables)


def test_of_two_that_close_the_same_book_one_is_told(books, tmp_path, monkeypatch):
    tables = tables_in(tmp_path / "tables")
    written = shelf_module.check_follows

    def meanwhile(book, before):
        monkeypatch.setattr(shelf_module, "check_follows", written)
        close(books, 1, 3)

    monkeypatch.setattr(shelf_module, "check_follows", meanwhile)
    with pytest.raises(BookError, match="cannot write a book into"):
        write(books, book_of(1, 3), tables)
    assert os.listdir(books) == ["0000000001.book"]

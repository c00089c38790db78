"""What is known of a log that is not in it: its closed books, as far as they are there."""

import shutil
from pathlib import Path

from support.closed_books import LOG, close
from support.keys import Key

from gateway.audit.books import book_path
from gateway.audit.elsewhere import take_books
from gateway.audit.provenance import Provenance

NOT_THERE = "books to number 1 are not there: what they say is not proven"


def test_what_books_that_are_not_there_say_is_not_proven_and_a_line_says_so(tmp_path: Path) -> None:
    key, books = Key(), tmp_path / "books"
    close(books, 1, 3, signer=key.sign)
    close(books, 4, 5, signer=key.sign)
    for trusted in (None, key.trusted()):
        known = Provenance(trusted)
        assert take_books(known, books, LOG) == []
        assert NOT_THERE not in known.books_in_words
    shutil.rmtree(book_path(books, 1))
    for trusted in (None, key.trusted()):
        known = Provenance(trusted)
        assert take_books(known, books, LOG) == []
        assert known.books_in_words[0] == NOT_THERE
        assert NOT_THERE in "\n".join(known.lines())

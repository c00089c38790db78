"""`audit verify`, of logs of which a part was let go."""

import pathlib

import pytest
from support.audit_logs import ScriptedGateway
from support.closed_books import close_log
from support.keys import Key
from support.verbs import amqp_gateway

from gateway.audit.reader import segment_paths


class Kept:
    """A log, its books, and who signs them."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.key = Key()
        self.log = directory / "audit"
        self.books = directory / "books"
        self.trust = directory / "keys.pem"
        self.trust.write_bytes(self.key.public)
        gateway = ScriptedGateway(self.log, segment_octets=600, sign=self.key.sign)
        for _ in range(24):
            gateway.publish("orders")
            gateway.turn()
        gateway.stop()
        gateway.close()

    def close(self, first: int, last: int, *, signed: bool = True) -> None:
        signer = self.key.sign if signed else None
        close_log(self.books, self.log, first, last, signer=signer)

    def remove(self, last: int) -> None:
        for path in segment_paths(self.log)[:last]:
            path.unlink()

    def verify(self, *more: object) -> tuple[int, str]:
        done = amqp_gateway("audit", "verify", str(self.log), *map(str, more))
        return done.exit_code, done.output


@pytest.fixture
def kept(tmp_path: pathlib.Path) -> Kept:
    return Kept(tmp_path)


def test_what_a_book_covers_may_have_gone_and_nothing_else(kept: Kept) -> None:
    kept.close(1, 3)
    kept.remove(2)
    assert kept.verify()[0] == 1
    code, told = kept.verify("--books", kept.books)
    assert code == 0
    assert told.startswith("segments to number 2, records to ")
    kept.remove(2)
    code, told = kept.verify("--books", kept.books)
    assert code == 1
    assert told.startswith("LOG_GAP 0000000005-000001.audit ")


def test_with_trusted_keys_books_must_be_signed_too(kept: Kept) -> None:
    kept.close(1, 3)
    kept.close(4, 5, signed=False)
    kept.remove(3)
    code, told = kept.verify("--books", kept.books, "--trust", kept.trust)
    assert (code, told.splitlines()[0]) == (1, "BOOK book 2: it is not signed")
    assert "LOG_GAP" not in told


def test_without_trusted_keys_it_is_said_who_has_signed_the_books(kept: Kept) -> None:
    kept.close(1, 2)
    kept.close(3, 3, signed=False)
    told = kept.verify("--books", kept.books)[1].splitlines()
    assert "book 2 is not signed: whoever can write the books can write that anew" in told
    (signed,) = [line for line in told if line.startswith("book 1 is signed by key ")]
    assert signed.endswith(": that was not checked, since no key is said to be trusted")
    kept.close(4, 4, signed=False)
    told = kept.verify("--books", kept.books)[1].splitlines()
    assert any(line.startswith("2 books, the first of them number 2, are not si") for line in told)


def test_with_trusted_keys_nothing_is_left_to_say_of_books_that_they_have_signed(
    kept: Kept,
) -> None:
    kept.close(1, 3)
    code, told = kept.verify("--books", kept.books, "--trust", kept.trust)
    assert (code, "book 1" in told) == (0, False)


def test_a_book_that_is_wrong_is_told(kept: Kept) -> None:
    kept.close(1, 3)
    (kept.books / "0000000001.book" / "closing.jsonl").write_text("")
    code, told = kept.verify("--books", kept.books)
    assert code == 1
    assert "BOOK book 1: its table closing is not what it was\n" in told
    (kept.books / "0000000001.book" / "book.json").write_text("")
    code, told = kept.verify("--books", kept.books)
    assert code == 1
    assert "BOOK 0000000001.book: it is no book: damaged, or cut off\n" in told


def test_books_of_another_log_say_nothing(kept: Kept, tmp_path: pathlib.Path) -> None:
    (tmp_path / "other").mkdir()
    other = Kept(tmp_path / "other")
    other.close(1, 3)
    kept.remove(3)
    code, told = kept.verify("--books", other.books)
    assert code == 1
    assert "BOOK the books are of another log, with id " in told

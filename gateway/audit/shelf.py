"""All closed books of a directory, one behind the other; and another one at their end.

A shelf remembers of each book no more than where it begins and ends, and reads none twice unless it
is asked for. Books behind one that is wrong do not count: nobody can say what they follow.
Standard library only, as in `books`.
"""

from __future__ import annotations

import os
import secrets
import shutil
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol, final

from gateway.audit.books import (
    BOOK_FILE,
    CLOSING,
    OPENING,
    Book,
    BookError,
    Table,
    TrustText,
    book_number,
    book_path,
    book_paths,
    check_follows,
    check_signature,
    check_tables,
    parsed,
    read,
    table_path,
)
from gateway.audit.reader import FIRST
from gateway.audit.segment_file import sync_directory
from gateway.files.own import open_own
from gateway.files.whole import PIECE


class SignText(Protocol):
    """Who signs books (`signing.Signer`)."""

    @property
    def key(self) -> str:
        """The public key, in hex digits."""

    def signature(self, text: bytes) -> str:
        """Of a text, in hex digits."""


class NewTable(NamedTuple):
    """A file that is to be a table of a new book, and how many rows it has."""

    path: Path
    rows: int


class _Kept(NamedTuple):
    number: int
    first_segment: int
    last_segment: int
    digest: str
    balanced: bool


@final
class Shelf:
    """The books of one directory, as far as they are good.

    Attributes:
        last: the last of them; `None`: there is none.
        problem: why those behind it do not count, or "".
        unsigned: how many of them are not signed.
    """

    def __init__(self, directory: Path, trust: TrustText | None = None) -> None:
        """Not looked at yet. `trust`: they must be signed by one of these keys."""
        self.directory = directory
        self._trust = trust
        self._kept: list[_Kept] = []
        self.last: Book | None = None
        self.problem = ""
        self.unsigned = 0

    def look(self) -> None:
        """At books that are new since; raises nothing that a book can be wrong by."""
        self.problem = ""
        try:
            for path in book_paths(self.directory):
                if self.last is None or book_number(path.name) > self.last.number:
                    self._take(path)
        except BookError as error:
            self.problem = str(error)

    def _take(self, path: Path) -> None:
        book = read(path)
        check_follows(book, self.last)
        if self._trust is not None:
            check_signature(book, self._trust)
        self._kept.append(
            _Kept(book.number, book.first_segment, book.last_segment, book.digest(), book.balanced)
        )
        self.last = book
        self.unsigned += not book.key

    @property
    def first_segment(self) -> int:
        """The number of the first that any covers. Raises BookError; only where there is one."""
        return self._book(self._kept[0]).first_segment

    def unbalanced_from(self, number: int) -> int:
        """The first segment from there on that is in a book that is not balanced; 0: none is."""
        at = bisect_left(self._kept, number, key=lambda kept: kept.last_segment)
        first = next((kept.first_segment for kept in self._kept[at:] if not kept.balanced), 0)
        return max(first, number) if first else 0

    def covering(self, number: int) -> Book | None:
        """The book that covers the segment of that number, with its tables looked at again.

        Raises:
            BookError: it is not what it was.
        """
        at = bisect_left(self._kept, number, key=lambda kept: kept.last_segment)
        if at == len(self._kept):
            return None
        book = self._book(self._kept[at])
        if book.covered(number) is None:
            return None
        check_tables(book_path(self.directory, book.number), book)
        return book

    def books(self) -> Iterator[Book]:
        """All that are good, in order, with their tables looked at. Raises BookError."""
        for kept in self._kept:
            book = self._book(kept)
            check_tables(book_path(self.directory, book.number), book)
            yield book

    def _book(self, kept: _Kept) -> Book:
        book = read(book_path(self.directory, kept.number))
        if book.digest() != kept.digest:
            raise BookError(f"book {kept.number}: it is not what it was")
        if self._trust is not None:
            check_signature(book, self._trust)
        return book


def write(
    directory: Path, book: Book, tables: Mapping[str, NewTable], signer: SignText | None = None
) -> Book:
    """Close a book behind those that there are; its number, tables and signature are filled in.

    It is there whole and on disk when this returns, or not at all. Of `tables`, by name, the files
    are copied. What it opens with is given for the first book alone: else it is copied, too, from
    the one before.

    Raises:
        BookError: it does not follow the last one, could not be read again, or written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        paths = book_paths(directory)
        before = read(paths[-1]) if paths else None
        new = directory / f"new-{secrets.token_hex(8)}"
        new.mkdir()
        try:
            return _written(new, book, {**tables, **_opening(directory, before)}, before, signer)
        finally:
            with suppress(FileNotFoundError):
                shutil.rmtree(new)
    except OSError as error:
        why = error.strerror or str(error)
        raise BookError(f"cannot write a book into {directory}: {why}") from None


def _opening(directory: Path, before: Book | None) -> dict[str, NewTable]:
    if before is None:
        return {}
    path = table_path(book_path(directory, before.number), before, CLOSING)
    return {OPENING: NewTable(path, before.tables[CLOSING].rows)}


def _written(
    new: Path,
    book: Book,
    tables: Mapping[str, NewTable],
    before: Book | None,
    signer: SignText | None,
) -> Book:
    """Made there, then put in its place."""
    made = {name: _copied(name, table, new) for name, table in tables.items()}
    number, previous = (1, FIRST) if before is None else (before.number + 1, before.digest())
    whole = book._replace(number=number, previous=previous, tables=made, key="", signature="")
    if signer is not None:
        whole = whole._replace(key=signer.key)
        whole = whole._replace(signature=signer.signature(whole.statement()))
    text = whole.text().encode()
    check_follows(parsed(text), before)
    _write_synced(new / BOOK_FILE, text)
    sync_directory(new)
    new.rename(book_path(new.parent, number))
    sync_directory(new.parent)
    return whole


def _copied(name: str, table: NewTable, new: Path) -> Table:
    """With the end of its name, and that on disk."""
    file = name + table.path.suffix
    digest, octets = sha256(), 0
    with (
        os.fdopen(open_own(table.path, os.O_RDONLY), "rb") as source,
        (new / file).open("xb") as copy,
    ):
        while piece := source.read(PIECE):
            digest.update(piece)
            octets += len(piece)
            copy.write(piece)
        copy.flush()
        os.fsync(copy.fileno())
    return Table(file, octets, digest.hexdigest(), table.rows)


def _write_synced(path: Path, octets: bytes) -> None:
    with path.open("xb") as file:
        file.write(octets)
        file.flush()
        os.fsync(file.fileno())

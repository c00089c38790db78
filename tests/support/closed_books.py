"""Closed books, as a job would make them, of segments that need not be there."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from gateway.audit.books import CLOSING, OPEN_ITEMS, OPENING, Book, Covered
from gateway.audit.ends import last_sequence_of, log_id_in
from gateway.audit.reader import segment_paths
from gateway.audit.schema import segment_numbers
from gateway.audit.shelf import NewTable, SignText, write

LOG = "ab12"


def book_of(first: int, last: int, *, records: int = 10, log: str = LOG, **other: object) -> Book:
    """Of these segments, of so many records each, whose SHA-256 is that of their number."""
    covered = tuple(
        Covered(number * records, 1, sha256(str(number).encode()).hexdigest())
        for number in range(first, last + 1)
    )
    book = Book(
        log=log,
        first_segment=first,
        first_sequence=(first - 1) * records + 1,
        segments=covered,
        from_ms=1_000 * first,
        until_ms=1_000 * last,
        balanced=True,
        final=True,
        classes={},
        sums={"entered": (last - first + 1) * records},
        made_ms=9_000,
        made_by="auditor@example",
        version="0.1.0",
    )
    return book._replace(**other)  # type: ignore[arg-type]  # what a test says of it


def tables_in(directory: Path, *, said: str = "") -> dict[str, NewTable]:
    """Three tables of one row."""
    directory.mkdir(parents=True, exist_ok=True)
    tables: dict[str, NewTable] = {}
    for name in (OPENING, CLOSING, OPEN_ITEMS):
        path = directory / f"{name}.jsonl"
        path.write_text(f'{{"table": "{name}{said}"}}\n')
        tables[name] = NewTable(path, 1)
    return tables


def close(books: Path, first: int, last: int, *, signer: SignText | None = None) -> Book:
    """Write a book of these segments behind the others."""
    tables = tables_in(books.parent / "tables", said=f" {first}")
    return write(books, book_of(first, last), tables, signer)


def book_of_log(directory: Path, first: int, last: int, **other: object) -> Book:
    """Of the segments of a log that are there with these numbers, as they are."""
    there = {segment_numbers(path.name)[0]: path for path in segment_paths(directory)}
    covered: list[Covered] = []
    begin = 1
    reached = 0
    for number in range(1, last + 1):
        path = there.get(number)
        if path is None:
            covered.append(Covered(reached, 1, ""))
            continue
        if number == first:
            begin = reached + 1
        reached = max(last_sequence_of([path]), reached)
        digest = sha256(path.read_bytes()).hexdigest()
        covered.append(Covered(reached, segment_numbers(path.name)[1], digest))
    book = book_of(first, last, log=log_id_in(directory))
    book = book._replace(segments=tuple(covered[first - 1 :]), first_sequence=begin)
    return book._replace(**other)  # type: ignore[arg-type]  # as above


def close_log(
    books: Path,
    directory: Path,
    first: int,
    last: int,
    *,
    signer: SignText | None = None,
    **other: object,
) -> Book:
    """Write a book of these segments of a log behind the others."""
    tables = tables_in(books.parent / "tables", said=f" {first}")
    return write(books, book_of_log(directory, first, last, **other), tables, signer)

"""What a closed book has of a state, so that a run without one begins with what it closed with.

`left_in` makes the tables of a book by the state that it is made of, `begin` the state of them that
a run goes on from as from any other. Each book has all of it anew and for good, so that it is less
than the state is: of runs of the gateway before the one at the cut, the records of messages that
were left in them, wrong, or go on in that, alone; and what charts are drawn from, the ids of what
was published and which messages are folded not at all: what is not among the records, and is not
newer than the last that was folded, had left. Breaks that are not found again by that are told by
the book's own table of them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.segments.columns import CHECKPOINTS, Columns
from gateway.accounting.segments.drawing import MOVES
from gateway.accounting.segments.folding import OF_NO_MESSAGE, WORD_SHIFT
from gateway.accounting.segments.parts import PARTS_SCHEMA
from gateway.accounting.state.carried import CARRIED_SCHEMA, checked
from gateway.accounting.state.folder import Folder, Had, Said, State, StateError, in_text, parsed
from gateway.accounting.state.keeping import STATE_MAX
from gateway.accounting.steps.ages import WAITS
from gateway.accounting.steps.breaks import COLUMNS, BreakClass
from gateway.accounting.steps.strays import ALL
from gateway.audit.books import BREAKS, STATE, Book, BookError, book_path, check_tables, table_path
from gateway.audit.provenance import Provenance
from gateway.audit.schema import Kind, segment_numbers
from gateway.audit.shelf import NewTable
from gateway.files.json_text import json_value
from gateway.files.whole import read_regular

OPENING: Final = "opening"
PARTS: Final = "parts"
RECORDS: Final = "records"  # and a number: each of a partition of its own
_WORD: Final = (1 << 64) - 1
_LEFT_OUT: Final = ("folded", "published", "moves", "waits")
# Of runs before the one at the cut: by these the breaks that a book has would be found otherwise.
_STAYS: Final = (*CHECKPOINTS, Kind.TOPOLOGY, Kind.LOG_DIFFERS, Kind.LET_GO)

Row = dict[str, Any]  # Any: a cell of a result


class Cut(NamedTuple):
    """Where a book ends.

    Attributes:
        since: the run of the gateway that its balances are of.
        messages: those of which a copy was left when its run ended, or something is wrong.
        last_run, depth: the last one, and how many copies its queues have.
        until_ms: the time of its last record.
    """

    since: int
    messages: Iterable[int]
    last_run: int
    depth: int
    until_ms: int


class Kept(NamedTuple):
    """Of which records a book has: of runs since that one, and of these."""

    since: int
    messages: Columns
    transactions: Columns
    branches: pa.Array


def left_in(folder: Folder, cut: Cut, scratch: Path) -> dict[str, NewTable]:
    """The tables of a book by the state in `folder`, which ends where the book does."""
    state = folder.read()
    files = list(location.tables(folder.path / state.records))
    messages = _goes_on(files, cut)
    kept = Kept(cut.since, messages, _transactions_of(files, messages), _branches(files, cut.since))
    tables: dict[str, NewTable] = {}
    for number, file in enumerate(files):
        name = f"{RECORDS}-{number}"
        batches = (_kept(batch, kept) for batch in _batches(file))
        tables[name] = _written(scratch / f"{name}.parquet", CARRIED_SCHEMA, batches)
    said = [file for each in state.said for file in location.tables(folder.path / each.folder)]
    parts = [pa.RecordBatch.from_pylist([_depth(cut)], schema=PARTS_SCHEMA)]
    tables[PARTS] = _written(scratch / f"{PARTS}.parquet", PARTS_SCHEMA, _parts(parts, said))
    path = scratch / f"{STATE}.json"
    had = Had(len(state.segments), max(state.had.message, _greatest(said)))
    state = state._replace(said=(Said("1", cut.until_ms),), records="2", had=had)
    path.write_text(in_text(state, {}))
    return {**tables, STATE: NewTable(path, 1)}


def _batches(file: Location) -> Iterator[pa.Table]:
    with checked(file) as table:
        for batch in table.iter_batches():
            yield pa.Table.from_batches([batch])


def _greatest(said: Iterable[Location]) -> int:
    """The last message that has left; 0: none has."""
    greatest = 0
    for file in said:
        with checked(file) as table:
            for batch in table.iter_batches(columns=["folded"]):
                words = batch.column("folded").flatten()
                numbers, bits = (words.field(name).to_numpy() for name in ("word", "bits"))
                if len(numbers := numbers[bits != 0]):
                    last = int(np.argmax(numbers))
                    top = (int(bits[bits != 0][last]) & _WORD).bit_length() - 1
                    greatest = max(greatest, (int(numbers[last]) << WORD_SHIFT) + top)
    return greatest


def _goes_on(files: Iterable[Location], cut: Cut) -> Columns:
    """These messages, and all of which the run at the cut has records."""
    found = [np.fromiter(cut.messages, dtype=np.int64)]
    for file in files:
        for batch in _batches(file):
            of = (_numbers(batch, "incarnation") >= cut.since) & _of_messages(batch)
            found.append(np.unique(_numbers(batch, "message")[of]))
    return np.unique(np.concatenate(found))


def _transactions_of(files: Iterable[Location], messages: Columns) -> Columns:
    """The transactions that these messages are part of."""
    found = [np.zeros(0, dtype=np.int64)]
    for file in files:
        for batch in _batches(file):
            of = np.isin(_numbers(batch, "message"), messages) & _of_messages(batch)
            found.append(np.unique(_numbers(batch, "transaction")[of]))
    return np.setdiff1d(np.concatenate(found), [0])


def _branches(files: Iterable[Location], since: int) -> pa.Array:
    """The branches that have come back in that run: they were prepared in another."""
    found: set[str] = set()
    for file in files:
        for batch in _batches(file):
            of = _numbers(batch, "incarnation") >= since
            of &= _numbers(batch, "kind") == Kind.TRANSACTION
            found.update(filter(None, batch.filter(pa.array(of)).column("node").to_pylist()))
    return pa.array(sorted(found), pa.string())


def _kept(batch: pa.Table, kept: Kept) -> pa.Table:
    kind = _numbers(batch, "kind")
    stays = _numbers(batch, "incarnation") >= kept.since
    stays |= np.isin(_numbers(batch, "message"), kept.messages) & _of_messages(batch)
    stays |= np.isin(kind, _STAYS)
    named = pa.compute.is_in(batch.column("node"), value_set=kept.branches).to_numpy()
    told = np.isin(_numbers(batch, "transaction"), kept.transactions) | named
    stays |= (kind == Kind.TRANSACTION) & told
    return batch.filter(pa.array(stays)).select(CARRIED_SCHEMA.names).cast(CARRIED_SCHEMA)


def _of_messages(batch: pa.Table) -> Columns:
    return ~np.isin(_numbers(batch, "kind"), OF_NO_MESSAGE)


def _numbers(batch: pa.Table, name: str) -> Columns:
    return batch.column(name).to_numpy()


def _parts(first: list[pa.RecordBatch], files: Iterable[Location]) -> Iterator[pa.Table]:
    yield pa.Table.from_batches(first)
    for file in files:
        for batch in _batches(file):
            columns = [
                pa.nulls(len(batch), field.type)
                if field.name in _LEFT_OUT or field.name not in batch.schema.names
                else batch.column(field.name).cast(field.type)
                for field in PARTS_SCHEMA
            ]
            table = pa.Table.from_arrays(columns, schema=PARTS_SCHEMA)
            told = [pa.compute.is_valid(table[name]) for name in ("sums", "about", "ranges")]
            yield table.filter(functools.reduce(pa.compute.or_, told))


def _depth(cut: Cut) -> Row:
    """What is in queues at the cut, as charts take what a run begins with."""
    moved = dict.fromkeys((field.name for field in MOVES), 0) | {
        "incarnation": cut.last_run,
        "at_ms": cut.until_ms,
        "node": "",
        "kind": int(Kind.RECOVERED),
        "records": cut.depth,
    }
    return {"ordinal": ALL, "part": 0, "moves": [moved]}


def _written(path: Path, schema: pa.Schema, batches: Iterable[pa.Table]) -> NewTable:
    rows = 0
    with parquet.ParquetWriter(path, schema, write_page_checksum=True) as writer:
        for batch in batches:
            writer.write_table(batch)
            rows += len(batch)
    return NewTable(path, rows)


class Opening(NamedTuple):
    """What a run begins with.

    Attributes:
        book: that closed with it.
        folder: the state that is made of it.
        known: what was wrong by then, as rows of breaks.
    """

    book: Book
    folder: Folder
    known: list[Row]


class Beginning(NamedTuple):
    """With what a reconciliation begins: the beginning of the log, or another one.

    Attributes:
        book: with what this book closed with.
        record: with this record, and nobody says what was open then; 0: it is known.
        why: why nobody does.
    """

    book: Book | None = None
    record: int = 0
    why: str = ""


def covering(books: Iterable[Book], first: int) -> Book | None:
    """Which of these covers what is in front of the segment of that number; `None`: none does."""
    return next((book for book in books if book.covered(first - 1) is not None), None)


def why_none(books: Sequence[Book], first: int) -> str:
    """Why a log that begins with the segment of that number does not begin with what these say."""
    book = covering(books, first)
    if book is None:
        return "no closed book that covers it is given" if books else "no closed books are given"
    return f"book {book.number} was made by a version that left nothing to go on from in it"


@contextmanager
def opened(
    log: Location, books: Location | None, known: Provenance, state: Folder | None, work: Location
) -> Iterator[Opening | None]:
    """What a run begins with whose log has let segments go, where one of its closed books says it.

    `None`: the log is there from its beginning, no book says it, or `state` has it already. If that
    has nothing yet, and the book knows of nothing that was wrong, it begins with it, too; else it
    is made below `work` while it is needed.

    Raises:
        BookError, StateError: what the book says cannot be gone on from.
    """
    numbers = [segment_numbers(path.name)[0] for path in location.segments(log)]
    book = covering(known.books, numbers[0]) if books is not None and numbers else None
    if books is None or book is None or STATE not in book.tables:
        yield None
        return
    if state is not None and (state.read().segments or _rows_of(book, BREAKS)):
        yield None
        return
    if numbers[-1] <= book.last_segment:
        raise BookError(
            f"book {book.number} covers to segment number {book.last_segment}, and {log} ends with "
            f"number {numbers[-1]}: its end is gone, or it is an older copy"
        )
    folder = Folder(work / OPENING) if state is None else state
    try:
        with location.books_here(books, book.number) as here:
            path = book_path(here, book.number)
            begin(folder, path, book)
            yield Opening(book, folder, _known(path, book))
    finally:
        if state is None:
            location.remove(work / OPENING)


def _rows_of(book: Book, name: str) -> int:
    return book.tables[name].rows if name in book.tables else 0


def _waits(row: Row) -> bool:
    """It is of what was in a queue for long, which it need not be any more; else it is found."""
    return row["class"] == BreakClass.STUCK and str(row["detail"]).startswith(WAITS)


def _known(path: Path, book: Book) -> list[Row]:
    if not _rows_of(book, BREAKS):
        return []
    try:
        with table_path(path, book, BREAKS).open(encoding="utf-8") as lines:
            rows = [json_value(line) for line in lines]
            return [{name: row.get(name) for name in COLUMNS} for row in rows if not _waits(row)]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise BookError(f"book {book.number}: cannot read its table {BREAKS}: {error}") from None


def begin(folder: Folder, path: Path, book: Book) -> State:
    """Make a state of what the book at `path` has, in a folder in which there is none yet.

    Raises:
        BookError: it is not what it was.
        StateError: its state is of a version that this one does not go on from.
        OSError: it cannot be read or written.
    """
    check_tables(path, book)
    try:
        state, _tables = parsed(read_regular(table_path(path, book, STATE), STATE_MAX))
    except StateError as error:
        raise StateError(f"book {book.number}: its state {error}") from None
    said, records = folder.fresh(State())
    for name, table in book.tables.items():
        if name == PARTS or name.startswith(f"{RECORDS}-"):
            into = folder.path / (said if name == PARTS else records)
            location.make(into)
            location.copy(table_path(path, book, name), into / table.file)
    state = state._replace(said=(Said(said, state.said[0].last_ms),), records=records)
    folder.write(state)
    return state

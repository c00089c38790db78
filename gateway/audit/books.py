"""Closed books: what a stretch of a log came to, said for good, so that its segments may go.

A book is a directory among the books, `0000000017.book` by its number. In it are `book.json` and
the tables that this names with their SHA-256: JSON lines or Parquet, as whoever makes books likes.
It covers segments without a gap, from behind those of the book before, and says what each of them
was, whether all in them was balanced, and what was open then. It names the digest of the book
before it, so that none can be taken out or put in, and what it opens with is, octet by octet, what
the one before it closed with.

    path = book_path(books, number)
    book = read(path)               check_tables(path, book)            check_signature(book, trust)
    book.covers(segment, sha256)    check_follows(book, before)         signature_in_words(book)

`shelf` writes them, and reads those of a directory one behind the other. What is wrong with one is
a `BookError` in a sentence. Standard library only, as in `reader`; with trusted keys, `signing`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from gateway.audit.reader import FIRST
from gateway.audit.schema import SHA256
from gateway.audit.seals import key_id
from gateway.files.json_text import json_value
from gateway.files.own import open_own
from gateway.files.whole import PIECE, read_regular

FORM: Final = 1
BOOK_FILE: Final = "book.json"
BOOK_MAX: Final = 32 * 1024 * 1024
SEGMENTS_MAX: Final = 100_000  # of one book
OPENING: Final = "opening"  # balance of each queue, outlet and route when it begins
CLOSING: Final = "closing"  # and when it ends
OPEN_ITEMS: Final = "open_items"  # what is in flight then, by its numbers
TABLES: Final = (OPENING, CLOSING, OPEN_ITEMS)
BREAKS: Final = "breaks"  # all that are known when it ends; older books do not say
# By which a reconciliation goes on from there, beside other tables of its own; older books have not
STATE: Final = "state"

_NAME: Final = re.compile(r"([0-9]{10,18})\.book")
_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LOG: Final = re.compile("[0-9a-f]{1,64}")
_SIGNATURE: Final = re.compile("[0-9a-f]{128}")
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{0,255}")
_MAX: Final = 1 << 63


class BookError(ValueError):
    """What is wrong with a book, in a sentence."""


class TrustText(Protocol):
    """Who knows which keys are to be trusted (`signing.TrustedKeys`)."""

    def trusts(self, key: str) -> bool:
        """Whether the key is one of those."""

    def has_signed(self, key: str, signature: str, text: bytes) -> bool:
        """Whether the key is one of those, and has signed the text."""


class Covered(NamedTuple):
    """A segment that a book covers.

    Attributes:
        last_sequence: of the last record in it, or in front of it where it has none.
        incarnation: the gateway's run that wrote it.
        sha256: of the whole file, in hex digits; "": it is missing, which is a break.
    """

    last_sequence: int
    incarnation: int
    sha256: str


class Table(NamedTuple):
    """A file beside the book; `rows`: how many it has."""

    file: str
    octets: int
    sha256: str
    rows: int


class Book(NamedTuple):
    """What a book says. Whoever makes one leaves to `shelf.write` what stands behind `version`.

    Attributes:
        log: the log's id.
        first_segment, first_sequence: where it begins; what is before is the book's before it.
        segments: of that number on, one behind the other.
        from_ms, until_ms: of its first and its last record, by the gateway's clock.
        balanced: nothing is wrong in it; else `classes` counts the breaks, by their classes, that
            no book before it has.
        final: nothing that comes later can change that.
        sums: what people look at first, by names of the maker's.
        made_ms, made_by, version: when, by whom, with which version of the program.
        number: from 1 on, without a gap.
        previous: the digest of the book before it; `reader.FIRST`: there is none.
        tables: by name; at least `TABLES`.
        key, signature: as of `seals.Head`.
    """

    log: str
    first_segment: int
    first_sequence: int
    segments: tuple[Covered, ...]
    from_ms: int
    until_ms: int
    balanced: bool
    final: bool
    classes: Mapping[str, int]
    sums: Mapping[str, int]
    made_ms: int
    made_by: str
    version: str
    number: int = 0
    previous: str = ""
    tables: Mapping[str, Table] = {}
    key: str = ""
    signature: str = ""

    @property
    def last_segment(self) -> int:
        """The number of the last one that it covers."""
        return self.first_segment + len(self.segments) - 1

    @property
    def last_sequence(self) -> int:
        """The last record that it covers."""
        return self.segments[-1].last_sequence

    def covered(self, number: int) -> Covered | None:
        """What it says of a segment; `None`: nothing."""
        at = number - self.first_segment
        return self.segments[at] if 0 <= at < len(self.segments) else None

    def covers(self, number: int, digest: str) -> bool:
        """Whether it covers the segment of that number, and that with this SHA-256."""
        covered = self.covered(number)
        return covered is not None and covered.sha256 == digest

    def statement(self) -> bytes:
        """What is signed: all of it but the signature, by no more than one text."""
        return f"amqp-gateway audit book {FORM}\n{_canonical(self._said())}\n".encode()

    def digest(self) -> str:
        """What the next one calls it: the SHA-256 of what is signed."""
        return sha256(self.statement()).hexdigest()

    def text(self) -> str:
        """What stands in its file."""
        return _canonical({**self._said(), "signature": self.signature})

    def _said(self) -> dict[str, Any]:  # Any: as `json.dumps` takes it
        said: dict[str, Any] = {"form": FORM, **self._asdict()}
        said["segments"] = [list(each) for each in self.segments]
        said["tables"] = {name: table._asdict() for name, table in self.tables.items()}
        said["classes"], said["sums"] = dict(self.classes), dict(self.sums)
        del said["signature"]
        return said


def book_path(directory: Path, number: int) -> Path:
    """Where the book of that number is among the books."""
    return directory / f"{number:010d}.book"


def book_number(name: str) -> int:
    """The number in a book's name; 0: no book has that name."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else 0


def book_paths(directory: Path) -> list[Path]:
    """The books of a directory, in order; of one that is not there none. Raises BookError."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise BookError(f"cannot read {directory}: {_why(error)}") from None
    return [directory / name for name in sorted(names, key=book_number) if book_number(name)]


def table_path(path: Path, book: Book, name: str) -> Path:
    """Where a table of the book at `path` is."""
    return path / book.tables[name].file


def read(path: Path) -> Book:
    """The book in that directory, by itself. Raises BookError."""
    try:
        octets = read_regular(path / BOOK_FILE, BOOK_MAX)
    except (OSError, ValueError) as error:
        raise BookError(f"{path.name}: cannot read {BOOK_FILE}: {_why(error)}") from None
    try:
        book = parsed(octets)
    except BookError as error:
        raise BookError(f"{path.name}: {error}") from None
    if book_path(path.parent, book.number).name != path.name:
        raise BookError(f"{path.name}: it is book number {book.number}")
    return book


def parsed(octets: bytes) -> Book:
    """The book in a file of that content. Raises BookError."""
    try:
        said = json_value(octets, fractions=_no_number, constants=_no_number)
    except ValueError:
        raise BookError("it is no book: damaged, or cut off") from None
    if not isinstance(said, dict) or type(said.get("form")) is not int:
        raise BookError("it is no book")
    if said["form"] != FORM:
        raise BookError(f"it is of form {said['form']}, and this program knows form {FORM}")
    try:
        book = _book(said)
    except (KeyError, TypeError, ValueError) as error:
        raise BookError(f"it is no book that could be: {error}") from None
    if book.text().encode() != octets:  # more than it should have, or twice
        raise BookError("it is not as a book is written: it was changed")
    return book


def check_follows(book: Book, before: Book | None) -> None:
    """BookError unless it comes next behind that one; `None`: it is the first that there is.

    The first may have any number: older ones were put away.
    """
    if before is None:
        if (book.number == 1) != (book.previous == FIRST):
            raise BookError(f"book {book.number}: it is the first, and names one before it")
        return
    segment, sequence = before.last_segment + 1, before.last_sequence + 1
    problem = ""
    if book.number != before.number + 1:
        problem = f"it comes behind book {before.number}: what is between is missing"
    elif book.log != before.log:
        problem = f"it is of another log, with id {book.log}"
    elif book.previous != before.digest():
        problem = f"book {before.number} is not the one that it was written behind"
    elif book.first_segment != segment:
        problem = f"it begins with segment {book.first_segment}, and not with {segment}"
    elif book.first_sequence != sequence:
        problem = f"it begins with record {book.first_sequence}, and not with {sequence}"
    elif book.tables[OPENING].sha256 != before.tables[CLOSING].sha256:
        problem = f"it does not open with what book {before.number} closed with"
    if problem:
        raise BookError(f"book {book.number}: {problem}")


def check_tables(path: Path, book: Book) -> None:
    """BookError unless the tables of the book at `path` are there, as it says."""
    for name, table in book.tables.items():
        try:
            octets, digest = digest_of(path / table.file)
        except OSError as error:
            raise BookError(
                f"book {book.number}: cannot read {table.file}: {_why(error)}"
            ) from None
        if (octets, digest) != (table.octets, table.sha256):
            raise BookError(f"book {book.number}: its table {name} is not what it was")


def check_signature(book: Book, trust: TrustText) -> None:
    """BookError unless it is signed by a key that is trusted."""
    if not book.key:
        raise BookError(f"book {book.number}: it is not signed")
    if not trust.trusts(book.key):
        raise BookError(f"book {book.number}: it is {_by(book)}, which is not trusted")
    if not trust.has_signed(book.key, book.signature, book.statement()):
        raise BookError(f"book {book.number}: it is not what key {key_id(book.key)} has signed")


def signature_in_words(book: Book) -> str:
    """What is known of that without trusted keys."""
    if not book.key:
        return "not signed: whoever can write the books can write that anew"
    return f"{_by(book)}: that was not checked, since no key is said to be trusted"


def _by(book: Book) -> str:
    return f"signed by key {key_id(book.key)}"


def digest_of(path: Path) -> tuple[int, str]:
    """Octets and SHA-256 of a regular file, a piece at a time. Raises OSError."""
    digest, octets = sha256(), 0
    with os.fdopen(open_own(path, os.O_RDONLY), "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            octets += len(piece)
    return octets, digest.hexdigest()


def _book(said: dict[str, Any]) -> Book:
    """Raises what it may of what it is not."""
    signed = said["key"] != "" or said["signature"] != ""
    segments = said["segments"]
    if not isinstance(segments, list) or not 0 < len(segments) <= SEGMENTS_MAX:
        raise ValueError(f"it covers no segments, or more than {SEGMENTS_MAX}")
    book = Book(
        log=_text(said["log"], "log", _LOG),
        first_segment=_number(said["first_segment"], "first_segment"),
        first_sequence=_number(said["first_sequence"], "first_sequence"),
        segments=tuple(_covered(each) for each in segments),
        from_ms=_number(said["from_ms"], "from_ms"),
        until_ms=_number(said["until_ms"], "until_ms"),
        balanced=_flag(said["balanced"], "balanced"),
        final=_flag(said["final"], "final"),
        classes=_counts(said["classes"], "classes"),
        sums=_counts(said["sums"], "sums"),
        made_ms=_number(said["made_ms"], "made_ms"),
        made_by=_text(said["made_by"], "made_by", _TEXT),
        version=_text(said["version"], "version", _TEXT),
        number=_number(said["number"], "number"),
        previous=_text(said["previous"], "previous", SHA256),
        tables=_tables(said["tables"]),
        key=_text(said["key"], "key", SHA256) if signed else "",
        signature=_text(said["signature"], "signature", _SIGNATURE) if signed else "",
    )
    sequences = [book.first_sequence - 1, *(each.last_sequence for each in book.segments)]
    if sequences != sorted(sequences) or book.first_segment < 1 or book.first_sequence < 1:
        raise ValueError("its segments are not one behind the other")
    if book.balanced == any(book.classes.values()):
        raise ValueError("it is balanced and has breaks, or neither")
    if book.number < 1:
        raise ValueError("number")
    return book


def _covered(said: object) -> Covered:
    if not isinstance(said, list) or len(said) != len(Covered._fields):
        raise ValueError("segments")
    last, incarnation, digest = said
    return Covered(
        _number(last, "segments"),
        _number(incarnation, "segments"),
        "" if digest == "" else _text(digest, "segments", SHA256),
    )


def _tables(said: object) -> dict[str, Table]:
    if not isinstance(said, dict) or not set(TABLES) <= set(said):
        raise ValueError(f"it must have the tables {', '.join(TABLES)}")
    tables: dict[str, Table] = {}
    for name, table in said.items():
        file = _text(table["file"], "file", _FILE)
        octets, rows = _number(table["octets"], "octets"), _number(table["rows"], "rows")
        tables[name] = Table(file, octets, _text(table["sha256"], "sha256", SHA256), rows)
    if len({BOOK_FILE, *(table.file for table in tables.values())}) != len(tables) + 1:
        raise ValueError("two of its tables are the same file")
    return tables


def _counts(said: object, name: str) -> dict[str, int]:
    if not isinstance(said, dict) or not all(_TEXT.fullmatch(each) for each in said):
        raise ValueError(name)
    return {each: _number(count, name) for each, count in said.items()}


def _number(said: object, name: str) -> int:
    if type(said) is not int or not 0 <= said < _MAX:
        raise ValueError(name)
    return said


def _flag(said: object, name: str) -> bool:
    if not isinstance(said, bool):
        raise ValueError(name)
    return said


def _text(said: object, name: str, form: re.Pattern[str]) -> str:
    if not isinstance(said, str) or not form.fullmatch(said):
        raise ValueError(name)
    return said


def _no_number(text: str) -> int:
    raise ValueError(text)


def _canonical(said: dict[str, Any]) -> str:  # Any: as `json.dumps` takes it
    return json.dumps(said, sort_keys=True, separators=(",", ":"))


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)

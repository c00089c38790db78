"""What of a log is gone on purpose: as its own records say, or closed books that are given.

The gateway writes a `let-go` record, and seals it, before it removes anything; only the oldest
segments go, so that the last of these records says how far. What is missing beyond that was not let
go. Where trusted keys are given, a record that is not sealed says nothing: whoever can write the
log could have added it. Standard library only, as in `reader`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, final

from gateway.audit.books import Book
from gateway.audit.reader import Block, Segment, shown
from gateway.audit.schema import FIELD_NAMES, FIELDS, Kind

_KIND_AT: Final = FIELDS[FIELD_NAMES.index("kind")].offset  # in a record of any version


class Departure(NamedTuple):
    """Segments that were let go, all before them having gone already.

    Attributes:
        last_segment, last_sequence, sha256: of the last one: its number, its last record, and what
            it was.
        book: the number of the book that covers it; 0: none did.
        record: the number of the record that says so; 0: it is a book.
    """

    last_segment: int
    last_sequence: int
    sha256: str
    book: int
    record: int

    def __str__(self) -> str:
        """In words."""
        by = f", by record {self.record}" if self.record else ""
        book = f" and book {self.book}" if self.record and self.book else ""
        book = f", and book {self.book} has them" if self.book and not self.record else book
        to = f"segments to number {self.last_segment}, records to {self.last_sequence}"
        return f"{to}, were let go{by}{book}"


def departures_in(segment: Segment, block: Block, texts: dict[int, str]) -> list[Departure]:
    """What a block of records says was let go; `texts`: the names so far."""
    octets = segment.octets
    if Kind.LET_GO not in octets[block.start + _KIND_AT : block.end : block.record_octets]:
        return []
    found: list[Departure] = []
    for at in block.places():
        if octets[at + _KIND_AT] == Kind.LET_GO:
            told = shown(segment.layout.record.unpack_from(octets, at), texts)
            found.append(
                Departure(
                    told["last_segment"],
                    told["last_sequence"],
                    told.get("sha256", ""),
                    told["book"],
                    told["sequence"],
                )
            )
    return found


def departed_by(books: Iterable[Book]) -> list[Departure]:
    """Of each segment that they cover: it may have gone, and all before it."""
    return [
        Departure(number, covered.last_sequence, covered.sha256, book.number, 0)
        for book in books
        for number, covered in enumerate(book.segments, start=book.first_segment)
    ]


@final
class LetGo:
    """All that is known to have gone on purpose."""

    def __init__(self, by_books: Sequence[Departure] = ()) -> None:
        self._known = {each.last_segment: each for each in by_books}
        self._records: list[Departure] = []

    def note(self, departures: Iterable[Departure]) -> None:
        """What records say, in the order of the log."""
        self._records += departures

    def discount(self, first: int, last: int) -> None:
        """Records from that to that number say nothing."""
        self._records = [each for each in self._records if not first <= each.record <= last]

    def through(self, number: int) -> Departure | None:
        """What says that the segment of that number has gone, and all before it; `None`: nothing.

        Of what says so exactly of that one, the last.
        """
        exact = [each for each in self._records if each.last_segment == number]
        if exact:
            return exact[-1]
        beyond = [each for each in self._records if each.last_segment > number]
        return self._known.get(number) or (beyond[-1] if beyond else None)


def flaw_behind(departure: Departure, number: int, *, found: int, previous_sha256: str) -> str:
    """Why what comes behind the segment of that number is not what came behind it; "": it is.

    `found`: its first record, 0 if it has none; `previous_sha256`: what it says of that segment.
    """
    if departure.last_segment != number:
        return ""  # it was to go on, and says nothing of this one
    if found and found != departure.last_sequence + 1:
        return f"segment number {number} was let go with record {departure.last_sequence}"
    if departure.sha256 and departure.sha256 != previous_sha256:
        return f"segment number {number} was let go, and is not the one that came before this one"
    return ""

"""Which segments of a log may go, by age, size and closed books; archives and removes them.

An operator may ask for some to go that are neither too old nor too many: by the same rules, but all
of them or none, as far as books say so.

In three steps, with what the gateway does in between, so that a kill at any moment leaves a log
that is whole by what it says itself:

1. `Retention.look` chooses the oldest ones that should go and may, and has each kept elsewhere.
2. The gateway writes, seals and remembers that they are let go (`service.letting_go`).
3. `remove` removes what is in front of the beginning that the store remembers then. What a kill
   left of that is removed by the next life.

All of it waits for disks: not for the reactor's thread, nor for the one that commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, final

from gateway.audit.archive import ArchiveError, copy_into, hand_over
from gateway.audit.books import Book, BookError, TrustText, digest_of
from gateway.audit.ends import HEAD_OCTETS, LogEnd
from gateway.audit.reader import (
    Segment,
    block_at,
    octets_at,
    segment_at,
    segment_paths,
    sequence_at,
)
from gateway.audit.schema import BLOCK_HEADER, FIELD_NAMES, FIELDS, BlockKind, segment_numbers
from gateway.audit.segment_file import sync_directory
from gateway.audit.shelf import Shelf

TOGETHER: Final = 256  # segments that are let go at a time ...
OCTETS_TOGETHER: Final = 1 << 30  # ... and octets
SEEN: Final = 1024  # that should go, of however many
_TIME_AT: Final = FIELDS[FIELD_NAMES.index("time_ms")].offset


class Policy(NamedTuple):
    """What an operator wants, as `config.audit` has it."""

    keep_age_ms: int = 0
    keep_octets: int = 0
    keep_unclosed: bool = True
    archive_directory: Path | None = None
    archive_command: tuple[str, ...] = ()
    unbalanced: bool = False  # an operator has said that those of such books go, too

    @property
    def archive(self) -> str:
        """Where segments are kept, for the log; "": nowhere."""
        if self.archive_directory is not None:
            return str(self.archive_directory)
        return self.archive_command[0] if self.archive_command else ""

    @property
    def holds_unbalanced(self) -> bool:
        """Whether segments of a book that is not balanced stay, and so all behind them."""
        return self.keep_unclosed and not self.archive and not self.unbalanced


class Departing(NamedTuple):
    """Segments that may go, and are kept elsewhere where they are to be.

    Attributes:
        first, last: as `let_go.Departure`; of the first of them, too.
        begins: where the log begins without them.
    """

    first_segment: int
    last_segment: int
    first_sequence: int
    last_sequence: int
    sha256: str
    book: int
    begins: LogEnd


class Standing(NamedTuple):
    """What a look at a log has found.

    Attributes:
        segments, octets: how many it has, and how large they are.
        oldest_ms: the time of its first record; 0: it has none.
        uncovered_octets: of segments that no closed book covers.
        held_octets: of segments that are in a book that is not balanced, or behind one, where such
            are not let go.
        overdue: how many should go, and stay: `why`; `SEEN` at most.
        remedy: what can be done about that, or "".
        failure: why one of them could not be archived, or "".
        leftovers: what is in front of the beginning that the store remembers, in order: nothing
            else goes before that has.
        departing: what may go; `None`: nothing.
        book, book_ms, balanced: the number of the last closed book, when it was made, and whether
            all in it was balanced; 0, 0 and false without one.
        books_problem: why books behind it do not count, or "".
    """

    segments: int = 0
    octets: int = 0
    oldest_ms: int = 0
    uncovered_octets: int = 0
    held_octets: int = 0
    overdue: int = 0
    why: str = ""
    remedy: str = ""
    failure: str = ""
    leftovers: tuple[Path, ...] = ()
    departing: Departing | None = None
    book: int = 0
    book_ms: int = 0
    balanced: bool = False
    books_problem: str = ""


class StaysError(Exception):
    """Why a segment that should go stays, in words.

    Attributes:
        remedy: what can be done about it, or "".
    """

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.remedy = remedy


@final
class _One(NamedTuple):
    path: Path
    number: int
    octets: int


@final
class Retention:
    """One log's; `shelf` are its closed books, `None` where there are none."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.shelf: Shelf | None = None

    def read_books(self, directory: Path | None, trust: TrustText | None) -> None:
        """Closed books are there, and must be signed by one of these keys, if any are given."""
        self.shelf = None if directory is None else Shelf(directory, trust)

    def look(
        self, policy: Policy, *, log: str, first: LogEnd, last: LogEnd, now_ms: int, asked: int = 0
    ) -> Standing:
        """At the log of that id with the ends that the store remembers. Raises OSError.

        `asked`: segments to that number are to go, and no others, however old or many; 0: nobody
        has asked.
        """
        shelf = self.shelf  # another one may be put there meanwhile
        if shelf is not None:
            shelf.look()
        there = [
            _One(path, segment_numbers(path.name)[0], octets_at(path))
            for path in segment_paths(self._directory)
        ]
        leftovers = tuple(each.path for each in there if each.number < first.segment)
        there = there[len(leftovers) :]
        standing = _standing(there, shelf, policy)._replace(leftovers=leftovers)
        if leftovers:
            return standing
        choice = _Choice(policy, log, shelf)
        if asked:
            should = sum(each.number <= min(asked, last.segment - 1) for each in there[:-1])
            return choice.chosen(standing, there, should, whole=True)
        should = _should_go(policy, there, standing.octets, last.segment, now_ms)
        return choice.chosen(standing, there, should)


def _standing(there: list[_One], shelf: Shelf | None, policy: Policy) -> Standing:
    last = None if shelf is None else shelf.last
    closed = 0 if last is None else last.last_segment
    held = 0
    if shelf is not None and there and policy.holds_unbalanced:
        held = shelf.unbalanced_from(there[0].number)
    return Standing(
        segments=len(there),
        octets=sum(each.octets for each in there),
        oldest_ms=_begins(there[0].path)[1] if there else 0,
        uncovered_octets=sum(each.octets for each in there if each.number > closed),
        held_octets=sum(each.octets for each in there if 0 < held <= each.number),
        book=0 if last is None else last.number,
        book_ms=0 if last is None else last.made_ms,
        balanced=last is not None and last.balanced,
        books_problem="" if shelf is None else shelf.problem,
    )


def remove(paths: Sequence[Path]) -> int:
    """Remove segments, the oldest first; octets that there is more room for. Raises OSError."""
    octets = 0
    for path in paths:
        octets += octets_at(path)
        path.unlink()
    if paths:
        sync_directory(paths[0].parent)
    return octets


def _should_go(policy: Policy, there: list[_One], octets: int, last: int, now_ms: int) -> int:
    """How many of the oldest are too old, or too many; never the one that the log ends in."""
    count = 0
    for each, behind in pairwise(there[: SEEN + 1]):
        large = 0 < policy.keep_octets < octets
        if each.number >= last or not (large or policy.keep_age_ms):
            break
        # No record of it is younger than the first one behind it.
        since_ms = _begins(behind.path)[1]
        if not since_ms and behind.number < last:  # it is damaged: whoever asks is told
            since_ms = _begins(each.path)[1]
        if not large and now_ms - (since_ms or now_ms) <= policy.keep_age_ms:
            break
        octets -= each.octets
        count += 1
    return count


@final
class _Choice:
    """Of those that should go, as many as may."""

    def __init__(self, policy: Policy, log: str, shelf: Shelf | None) -> None:
        self._policy = policy
        self._log = log
        self._shelf = shelf
        self._book: Book | None = None

    def chosen(
        self, standing: Standing, there: list[_One], should: int, *, whole: bool = False
    ) -> Standing:
        """The same with what goes, and what stays and why; `whole`: none, if books keep one."""
        went: list[str] = []
        why = remedy = failure = ""
        try:
            if whole:
                self._ask_all(there, should)
            self._keep_some(there, should, went)
        except StaysError as error:
            why, remedy = str(error), error.remedy
        except BookError as error:
            why = str(error)
        except ArchiveError as error:
            why = failure = str(error)
        standing = standing._replace(why=why, remedy=remedy, failure=failure)
        if why:
            standing = standing._replace(overdue=should - len(went))
        if not went:
            return standing
        return standing._replace(departing=self._departing(there, len(went), went[-1]))

    def _ask_all(self, there: list[_One], should: int) -> None:
        """StaysError unless all of them may go, if they are what books say."""
        for each, behind in pairwise(there[: should + 1]):
            for number in range(each.number, behind.number):
                self._ask(number)

    def _keep_some(self, there: list[_One], should: int, went: list[str]) -> None:
        """One after the other: the SHA-256 of each that may go, and is kept where it is to be."""
        octets = 0
        for each, behind in pairwise(there[: min(should, TOGETHER) + 1]):
            self._ask(each.number)  # before it is read
            _size, digest = digest_of(each.path)
            self._compare(each.number, digest)
            for missing in range(each.number + 1, behind.number):
                self._ask(missing)
                self._compare(missing, "")
            self._last_sequence(behind)
            self._keep(each.path, digest)
            went.append(digest)
            octets += each.octets
            if octets >= OCTETS_TOGETHER:
                return

    def _ask(self, number: int) -> None:
        """StaysError unless the segment may go, if it is what its book says."""
        if not self._policy.keep_unclosed:
            return
        book = self._covering(number)
        if book is None:
            problem = "" if self._shelf is None else self._shelf.problem
            raise StaysError(
                f"no closed book covers segment number {number}" + _behind(problem), self._to_cover
            )
        if book.log != self._log:
            raise StaysError(
                f"book {book.number} is of another log, with id {book.log}",
                "audit.books must be those of this log",
            )
        if not book.balanced and self._policy.holds_unbalanced:
            raise StaysError(
                f"book {book.number} is not balanced, and there is no archive for the segments",
                "set audit.archive_directory or audit.archive_command; or, when they are kept "
                "elsewhere, ctl let-go --unbalanced",
            )

    @property
    def _to_cover(self) -> str:
        """What can be done about a segment that no book covers."""
        if self._shelf is None:
            return "set audit.books, or audit.keep_unclosed: false"
        if self._shelf.problem:
            return "put that right, for none behind it counts"
        return "amqp-gateway audit close makes one"

    def _compare(self, number: int, digest: str) -> None:
        """StaysError if it is not; `digest`: "" if it is missing."""
        book = self._covering(number) if self._policy.keep_unclosed else None
        if book is not None and not book.covers(number, digest):
            raise StaysError(f"segment number {number} is not what book {book.number} says")

    def _covering(self, number: int) -> Book | None:
        book = self._book
        if book is None or book.covered(number) is None:
            book = self._book = None if self._shelf is None else self._shelf.covering(number)
        return book

    def _keep(self, path: Path, digest: str) -> None:
        policy = self._policy
        if policy.archive_directory is not None:
            copy_into(policy.archive_directory, self._log, path, digest)
        elif policy.archive_command:
            hand_over(policy.archive_command, path)

    def _departing(self, there: list[_One], went: int, digest: str) -> Departing:
        last, behind = there[went - 1], there[went]
        gap = behind.number > last.number + 1
        sequence = self._last_sequence(behind)
        book = self._covering(behind.number - 1) if self._policy.keep_unclosed else None
        return Departing(
            there[0].number,
            behind.number - 1,
            _begins(there[0].path)[0],
            sequence,
            "" if gap else digest,
            0 if book is None else book.number,
            _beginning(behind, sequence + 1),
        )

    def _last_sequence(self, behind: _One) -> int:
        """The last record in front of a segment. StaysError if nobody can say."""
        book = self._covering(behind.number - 1) if self._policy.keep_unclosed else None
        covered = None if book is None else book.covered(behind.number - 1)
        first = _begins(behind.path)[0]
        if covered is None and not first:
            raise StaysError(f"segment number {behind.number}, behind it, cannot be read")
        return first - 1 if covered is None else covered.last_sequence


def _behind(problem: str) -> str:
    return f": {problem}" if problem else ""


def _beginning(there: _One, sequence: int) -> LogEnd:
    """A log's, at that segment."""
    segment = segment_at(there.path, HEAD_OCTETS)
    header = sha256(segment.octets[: segment.good]).hexdigest()
    return LogEnd(sequence, there.number, segment.good, header)


def _begins(path: Path) -> tuple[int, int]:
    """Number and time of the first record of a segment; 0 where it has none, or is damaged."""
    found = _first_record(segment_at(path, HEAD_OCTETS))
    return found or _first_record(segment_at(path)) or (0, 0)


def _first_record(segment: Segment) -> tuple[int, int] | None:
    """`None`: it is not in what was read."""
    octets, at = segment.octets, segment.good
    while at and at + BLOCK_HEADER.size <= len(octets):
        block = block_at(octets, at)
        if block.kind == BlockKind.RECORDS:
            if block.start + block.record_octets > len(octets):
                return None
            return sequence_at(octets, block.start), sequence_at(octets, block.start + _TIME_AT)
        at = block.end
    return None

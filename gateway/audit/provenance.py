"""Who says that a log is what was written: its seals by life of the gateway, trusted keys, anchors.

`verify` and the reconciliation tell of each segment what its seals are worth (`Sealed`); what
follows from that for the whole log is found here, with what only somebody else can know: heads that
were kept elsewhere (*anchors*), and public keys that are to be trusted. Standard library only, as
in `reader`: signatures are checked by whoever is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol, final

from gateway.audit.books import Book
from gateway.audit.ends import Difference
from gateway.audit.let_go import Departure, departed_by
from gateway.audit.schema import SEALED_SINCE
from gateway.audit.seals import Head, head_in, key_id

TAIL_MAX_MS: Final = 60_000  # of what a life that was cut off may have left unsealed
LISTED: Final = 5  # unsealed ranges, for people


class Sealed(NamedTuple):
    """One segment, in the order of the log.

    Attributes:
        previous_sha256, sha256: what it says of the segment before, and what it is itself.
        first_sequence, last_sequence, first_time_ms, last_time_ms: of its records; 0 without any.
        stopped: its last record says that the gateway stops.
        flawed: something in it is damaged, or not as it was sealed; that is told by itself, and
            seals behind it cannot be judged.
        head: its last seal that is right; `None`: it has none.
        hashes: of the offsets that were asked for and are there.
    """

    segment: str
    number: int
    incarnation: int
    schema: int
    log: str
    previous_sha256: str
    sha256: str
    first_sequence: int
    last_sequence: int
    first_time_ms: int
    last_time_ms: int
    stopped: bool
    flawed: bool
    head: Head | None
    hashes: dict[int, str]


class Anchor(NamedTuple):
    """A head that was kept elsewhere; `where`: file and line."""

    head: Head
    where: str


class Unsealed(NamedTuple):
    """What a life left behind its last seal; `since_ms`: of that, else of its first record."""

    incarnation: int
    segment: str
    first: int
    last: int
    since_ms: int
    until_ms: int
    stopped: bool

    def __str__(self) -> str:
        """In words."""
        seconds = max(self.until_ms - self.since_ms, 0) / 1000
        return f"records {self.first} to {self.last} of run {self.incarnation} ({seconds:.1f} s)"


class Trust(Protocol):
    """Who can check signatures."""

    def trusts(self, key: str) -> bool:
        """Whether the key is one of those."""

    def signed(self, head: Head) -> bool:
        """Whether that key has signed the head."""

    def has_signed(self, key: str, signature: str, text: bytes) -> bool:
        """Whether that key has signed the text."""


def anchors_in(text: bytes, name: str) -> list[Anchor]:
    """Of a file with one head on each line. `ValueError` with the line that is none."""
    found: list[Anchor] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        head = head_in(line)
        if head is None:
            raise ValueError(f"line {number} is no head of an audit log")
        found.append(Anchor(head, f"{name} line {number}"))
    if not found:
        raise ValueError("there is no head of an audit log in it")
    return found


@final
class Provenance:
    """What is known of one log, as its segments are noted; then what follows from it.

    Attributes:
        books: closed books of it that are given, and are good.
        by_books: what these say may have gone.
        books_in_words: what is known of their signatures, for people.
        let_go: what says that segments of it were let go; `None`: none were.
    """

    def __init__(self, trust: Trust | None = None, anchors: Sequence[Anchor] = ()) -> None:
        self.trust = trust
        self.anchors = anchors
        self.books: Sequence[Book] = ()
        self.by_books: Sequence[Departure] = ()
        self.books_in_words: Sequence[str] = ()
        self.let_go: Departure | None = None
        self._segments: list[Sealed] = []
        self._right: dict[Head, bool] = {}

    def take(self, books: Iterable[Book]) -> None:
        """Closed books, one behind the other."""
        self.books = list(books)
        self.by_books = departed_by(self.books)

    def offsets(self, number: int) -> list[int]:
        """Of which places in a segment the hash is wanted."""
        return sorted({each.head.offset for each in self.anchors if each.head.segment == number})

    def note(self, segment: Sealed) -> None:
        """The next segment."""
        self._segments.append(segment)

    @property
    def segments(self) -> Sequence[Sealed]:
        """Those that were noted."""
        return self._segments

    @property
    def head(self) -> Head | None:
        """The last seal of the log."""
        return next((each.head for each in reversed(self._segments) if each.head), None)

    @property
    def keys(self) -> list[str]:
        """The public keys that seals were signed by, in the order of the log."""
        signed = [each.head.key for each in self._segments if each.head and each.head.key]
        return list(dict.fromkeys(signed))

    def found(self) -> list[Difference]:
        """What is wrong, by anchors and trusted keys."""
        return [*self._not_as_anchored(), *self._not_trusted()]

    def unsealed(self) -> list[Unsealed]:
        """What lives have left behind their last seals, or all that they have left."""
        return [tail for _life, tail in self._tails() if tail is not None]

    def lines(self) -> list[str]:
        """For people: what protects this log, in a line or two."""
        told = [] if self.let_go is None else [str(self.let_go)]
        told += self.books_in_words
        told.append(self._sealed_in_words())
        if self.anchors:
            told.append(self._anchored_in_words())
        tails = [] if self.head is None else self.unsealed()
        if tails:
            shown = ", ".join(map(str, tails[-LISTED:]))
            more = f"; {len(tails) - LISTED} more before" if len(tails) > LISTED else ""
            told.append(f"unsealed: {shown}{more}")
        return told

    def caveats(self) -> list[str]:
        """In a sentence each: for want of what nobody can say that all of it is as it was."""
        told: list[str] = []
        if not self.keys:
            told.append("It is not signed.")
        elif self.trust is None:
            told.append("Who has signed it was not checked.")
        records = sum(tail.last - tail.first + 1 for tail in self.unsealed())
        if records:
            told.append(f"{records:,} {'record is' if records == 1 else 'records are'} not sealed.")
        return told

    def _sealed_in_words(self) -> str:
        head = self.head
        if head is None:
            return "not sealed: whoever can write the directory can write all of it anew"
        to = f"sealed to record {head.sequence}"
        if not self.keys:
            return f"{to}, unsigned: whoever can write the directory can write all of it anew"
        several = "key" if len(self.keys) == 1 else "keys"
        signed = f"{to}, signed by {several} {', '.join(map(key_id, self.keys))}"
        if self.trust is None:
            return f"{signed}: signatures were not checked, since no key is said to be trusted"
        if any(True for _each in self._not_signed()):
            return f"{signed}: not all of it stands before the trusted keys"
        return f"{signed}, held against the trusted keys"

    def _anchored_in_words(self) -> str:
        gone = sum(self._is_gone(each.head) for each in self.anchors)
        told = f"held against {_counted(len(self.anchors) - gone, 'head')} kept elsewhere"
        return f"{told}; {_counted(gone, 'more')} of what was let go" if gone else told

    def _is_gone(self, head: Head) -> bool:
        """Whether what it speaks of was let go."""
        there = any(each.number == head.segment for each in self._segments)
        to = 0 if self.let_go is None else self.let_go.last_segment
        return head.segment <= to and not there

    def _not_as_anchored(self) -> Iterator[Difference]:
        by_number = {each.number: each for each in self._segments}
        newest = self._segments[-1].segment if self._segments else ""
        for head, where in self.anchors:
            segment = by_number.get(head.segment)
            problem = self._problem_with(head, segment)
            if problem:
                name = newest if segment is None else segment.segment
                yield Difference(name, f"{problem}, by {where}", max(head.sequence, 1))

    def _problem_with(self, head: Head, segment: Sealed | None) -> str:
        if self.trust is not None and not self._is_trusted(head):
            return "a head that no trusted key has signed"
        if segment is None and self._is_gone(head):
            same = not self._segments or self._segments[0].log in ("", head.log)
            return "" if same else "it is of another log"
        if segment is None:
            return f"segment number {head.segment} is missing: the log had come to it"
        if segment.log != head.log:
            return "it is of another log"
        if head.offset not in segment.hashes:
            return f"it had {head.offset} octets at least, and has fewer"
        if segment.hashes[head.offset] != head.sha256:
            return f"its first {head.offset} octets are not what they were"
        return ""

    def _is_trusted(self, head: Head) -> bool:
        trust = self.trust
        return trust is not None and trust.trusts(head.key) and self._is_right(head)

    def _not_trusted(self) -> Iterator[Difference]:
        """By trusted keys: seals that are not theirs, and what has none.

        What was written before seals were first signed has no signature that could be missing: it
        counts as they found it, if the chain leads from there to them.
        """
        if self.trust is None:
            return
        yield from self._not_signed()
        begin = self._signing_begins()
        if begin is None:
            return
        for life, tail in self._tails():
            if tail is None or life[0] < begin:
                continue
            if any(self._segments[place].flawed for place in life):
                continue
            if tail.stopped:
                problem = f"the run ended in order, and this is not sealed: {tail}"
            elif tail.until_ms - tail.since_ms > TAIL_MAX_MS:
                problem = f"more is not sealed than a kill leaves: {tail}"
            else:
                continue
            yield Difference(tail.segment, problem, tail.first)

    def _not_signed(self) -> Iterator[Difference]:
        """Those of it that are about signatures."""
        begin = self._signing_begins()
        if begin is None:
            name = self._segments[0].segment if self._segments else ""
            last = self._segments[-1].last_sequence if self._segments else 0
            yield Difference(name, "no trusted key has signed anything of this log", max(last, 1))
            begin = len(self._segments)
        for place, each in enumerate(self._segments):
            if each.head is None:
                continue
            problem = self._signature_problem(each.head, leading=place < begin)
            if problem:
                yield Difference(each.segment, problem, each.head.sequence)

    def _signature_problem(self, head: Head, *, leading: bool) -> str:
        assert self.trust is not None
        if not head.key:
            return "" if leading else "its seal is not signed"
        if not self.trust.trusts(head.key):
            return f"its seal is signed by key {key_id(head.key)}, which is not trusted"
        return "" if self._is_right(head) else "the signature of its seal is not right"

    def _signing_begins(self) -> int | None:
        """The segment with the first seal by a trusted key, to which the chain leads from all
        before.

        Where it does not, what is before was not found there as it is now.
        """
        for place, each in enumerate(self._segments):
            if each.head is not None and self._is_trusted(each.head):
                return place if all(map(self._joined, range(1, place + 1))) else 0
        return None

    def _is_right(self, head: Head) -> bool:
        """Its signature, by the key that it names; that takes time, and is looked at once."""
        if head not in self._right and self.trust is not None:
            self._right[head] = self.trust.signed(head)
        return self._right[head]

    def _joined(self, place: int) -> bool:
        before, each = self._segments[place - 1 : place + 1]
        return each.previous_sha256 == before.sha256

    def _tails(self) -> Iterator[tuple[range, Unsealed | None]]:
        """Each life, by the places of its segments, and what it left unsealed."""
        begin = 0
        for end in range(1, len(self._segments) + 1):
            same = self._segments[begin].incarnation
            if end == len(self._segments) or self._segments[end].incarnation != same:
                yield range(begin, end), self._tail(range(begin, end))
                begin = end

    def _tail(self, life: range) -> Unsealed | None:
        """Behind its last seal; `None`: nothing, or it is of before there were seals."""
        segments = self._segments[life.start : life.stop]
        if segments[-1].schema < SEALED_SINCE:
            return None
        sealed = next((place for place in reversed(life) if self._segments[place].head), None)
        head = None if sealed is None else self._segments[sealed].head
        behind = segments if sealed is None else self._segments[sealed : life.stop]
        reached = 0 if head is None else head.sequence
        last = max(each.last_sequence for each in behind)
        first = min((each.first_sequence for each in behind if each.first_sequence), default=0)
        if last <= reached or not last:
            return None
        since = head.time_ms if head else min(e.first_time_ms for e in behind if e.first_sequence)
        return Unsealed(
            segments[0].incarnation,
            next(each.segment for each in behind if each.last_sequence > reached),
            max(reached + 1, first),
            last,
            since,
            max(each.last_time_ms for each in behind),
            segments[-1].stopped,
        )


def _counted(count: int, what: str) -> str:
    return f"one {what}" if count == 1 else f"{count} {what if what == 'more' else what + 's'}"

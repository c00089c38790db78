"""Looks at a whole log: is anything of it missing, changed, or not where it was written?

Checksums, the sequence numbers without a gap from 1 on, the runs of the gateway that knew of one
another, the chain of hashes from segment to segment, seals, and what the gateway itself recorded of
a log that had been changed. What has one cause is told once: behind a damaged block the hash of its
segment cannot be right, and a missing segment's records are missing with it. What was let go is not
missing (`let_go`). What the seals prove is for `provenance`. Standard library only, as in `reader`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple, final

from gateway.audit.let_go import LetGo, departures_in, flaw_behind
from gateway.audit.provenance import Provenance
from gateway.audit.reader import (
    Block,
    Damage,
    Header,
    Segment,
    last_sequence,
    names_in,
    segment_at,
    segment_paths,
    sequence_at,
    sequence_break,
    shown,
)
from gateway.audit.salvage import Salvage
from gateway.audit.schema import (
    FIELD_NAMES,
    FIELDS,
    NO_LIFE,
    BlockKind,
    Kind,
    segment_numbers,
)
from gateway.audit.seals import hashes_at
from gateway.audit.seen import Seen

_KIND_AT: Final = FIELDS[FIELD_NAMES.index("kind")].offset  # in a record of any version


class Verified(NamedTuple):
    """What is wrong with a log, in order, and the half-written block that it ends with.

    A gateway may be writing that, or was cut off while it did: nobody was told of what is in it.
    """

    damages: list[Damage]
    unfinished: Damage | None


WHOLE: Final = Verified([], None)


class _Absent(NamedTuple):
    """Segments that are missing in front of one; `place`: of the damage that says so."""

    place: int
    last: int
    found: int
    previous_sha256: str


class _Before(NamedTuple):
    """The segment before; `sha256` is empty if its octets are not what they were."""

    name: str
    header: Header
    sha256: str


def verify(directory: Path, provenance: Provenance | None = None) -> Verified:
    """Everything that is wrong with a log by itself; what it says of its seals is noted.

    A log begins with record 1: what comes first with a higher number has lost what was before it,
    unless that was let go, as its records say or closed books.
    """
    look = _Look(provenance or Provenance(), expected=1)
    for path in segment_paths(directory):
        look.take(segment_at(path))
    return look.result()


def verify_segment(path: Path, provenance: Provenance | None = None) -> Verified:
    """What is wrong within one segment.

    Half a block is: nobody can say that it is the newest one.
    """
    look = _Look(provenance or Provenance(), expected=0)
    look.take(segment_at(path))
    damages, unfinished = look.result()
    return Verified(damages + ([] if unfinished is None else [unfinished]), None)


@final
class _Look:
    """At one segment behind the other; `expected`: the next record's number, 0 is any."""

    def __init__(self, provenance: Provenance, *, expected: int) -> None:
        self._provenance = provenance
        self._expected = expected
        self._whole_log = expected == 1
        self._runs = (NO_LIFE, NO_LIFE)  # the last one, and the one before that
        self._found: list[Damage] = []
        self._before: _Before | None = None
        self._let_go = LetGo(provenance.by_books)
        self._missing_to = 0  # a segment's number; nothing says yet which records these had
        self._absent: list[_Absent] = []
        self._at_end = False  # the last of those found is of the end of the segment before
        self._unfinished: Damage | None = None

    def take(self, segment: Segment) -> None:
        """The next segment."""
        if self._unfinished is not None:  # and nobody goes on with it
            self._found.append(self._unfinished._replace(expected=self._expected))
            self._at_end = True
        first = self._expected
        salvage = Salvage(segment, self._expected - 1)
        texts: dict[int, str] = {0: ""}
        inside: list[Damage] = []
        between = self._between(segment)
        self._note_missing(segment)
        seen = Seen(segment)
        for block in salvage.blocks():
            if block.kind == BlockKind.NAMES:
                texts.update(names_in(segment.octets, block))
                continue
            if block.kind == BlockKind.SEAL:
                seen.seal(block, intact=salvage.intact)
                continue
            broken = sequence_break(segment.octets, block, self._expected)
            self._expected = last_sequence(segment.octets, block) + 1
            begun = seen.first_sequence > 0
            if not begun and self._at_end:
                found = sequence_at(segment.octets, block.start)
                self._found[-1] = self._found[-1]._replace(found=found)
            elif broken is not None and not salvage.skipped:
                gap = Damage(segment.name, block.ordinal, broken[0], "gap", *broken[1:])
                if begun:
                    inside.append(gap)
                    seen.gapped = True
                elif between is not None:  # what is missing is told with its cause
                    between = between._replace(expected=gap.expected, found=gap.found)
                else:
                    between = gap
            seen.records(block)
            if not begun and between is None:
                between = self._run_missing(segment, block, seen.previous)
            inside += _told_differences(segment, block, texts)
            self._let_go.note(departures_in(segment, block, texts))
        inside += [_numbered(damage, first) for damage in salvage.damages]
        inside += [] if seen.seals.flaw is None else [Damage(segment.name, *seen.seals.flaw)]
        if between is not None:
            self._excuse_later(segment, seen.first_sequence)
            self._found.append(between)
        self._found += sorted(inside, key=lambda damage: damage.offset)
        self._leave(segment, salvage, seen)

    def result(self) -> Verified:
        """When all segments have been looked at; half a block and nothing else is no log."""
        self._excuse()
        if self._unfinished is not None and self._expected <= 1:
            return Verified([*self._found, self._unfinished], None)
        return Verified(self._found, self._unfinished)

    def _note_missing(self, segment: Segment) -> None:
        header, before = segment.header, self._before
        if header is None or not self._whole_log:
            return
        if header.number > (1 if before is None else before.header.number + 1):
            self._missing_to = header.number - 1

    def _excuse_later(self, segment: Segment, found: int) -> None:
        """What is told next may be of segments that were let go; a later record would say so."""
        if self._missing_to and segment.header is not None:
            previous = segment.header.previous_sha256
            if segment.header.number > self._missing_to + 1:  # that one has no records
                previous = ""
            self._absent.append(_Absent(len(self._found), self._missing_to, found, previous))
        self._missing_to = 0

    def _excuse(self) -> None:
        """Take back what was told of segments that were let go."""
        if self._provenance.trust is not None:
            for tail in self._provenance.unsealed():
                self._let_go.discount(tail.first, tail.last)
        for place, last, found, previous in reversed(self._absent):
            departure = self._let_go.through(last)
            if departure is None:
                continue
            flaw = flaw_behind(departure, last, found=found, previous_sha256=previous)
            if flaw:
                self._found[place] = self._found[place]._replace(problem=flaw)
                continue
            del self._found[place]
            self._provenance.let_go = self._provenance.let_go or departure

    def _between(self, segment: Segment) -> Damage | None:
        """What a header says of the segment before that cannot be."""
        header, before = segment.header, self._before
        if header is None or before is None:
            return None
        if header.number != before.header.number + 1:
            problem = _missing(before.header.number + 1, header.number)
            return Damage(segment.name, 0, 0, problem)
        if header.log and before.header.log and header.log != before.header.log:
            problem = f"it is of another log, with id {header.log}"
            return Damage(segment.name, 0, 0, problem)
        if before.sha256 and header.previous_sha256 != before.sha256:
            return Damage(segment.name, 0, 0, f"chain broken: {before.name} was changed")
        return None

    def _run_missing(self, segment: Segment, block: Block, previous: int) -> Damage | None:
        """The run of the gateway that begins there knew of another one before it."""
        before = self._run_before(segment)
        if previous in (0, before) or not self._whole_log:
            return None
        problem = f"run {previous} of the gateway is missing: this one came behind it"
        if previous < before:
            problem = f"run {before} of the gateway is not the one that this one came behind"
        return Damage(segment.name, block.ordinal, block.start, problem)

    def _run_before(self, segment: Segment) -> int:
        """A run may have begun twice, if the first segment of it could not be written."""
        assert segment.header is not None, "it has records"
        run, before = self._runs
        return before if segment.header.incarnation == run else run

    def _leave(self, segment: Segment, salvage: Salvage, seen: Seen) -> None:
        self._unfinished = salvage.unfinished
        self._at_end = bool(salvage.damages) and salvage.damages[-1].found == 0
        number, incarnation = segment_numbers(segment.name)
        header = segment.header or Header(0, incarnation, number, "")
        whole = not salvage.damages and salvage.unfinished is None and seen.seals.flaw is None
        sha = seen.seals.whole()
        if header.incarnation != self._runs[0]:
            self._runs = (header.incarnation, self._runs[0])
        if header.number:
            self._before = _Before(segment.name, header, sha if whole else "")
        offsets = self._provenance.offsets(header.number)
        hashes = dict(hashes_at(segment.octets, offsets))
        sealed = seen.sealed(header, sha, hashes, damaged=bool(salvage.damages))
        self._provenance.note(sealed)


def _numbered(damage: Damage, first: int) -> Damage:
    """Before any record that could be read; `first`: what the segment should begin with."""
    return damage._replace(expected=first) if damage.found and not damage.expected else damage


def _missing(first: int, number: int) -> str:
    if number < first:
        return f"segment number {number} where {first} belongs: it was moved"
    if number == first + 1:
        return f"segment number {first} is missing"
    return f"segments number {first} to {number - 1} are missing"


def _told_differences(segment: Segment, block: Block, texts: dict[int, str]) -> list[Damage]:
    """What the gateway found at a start to be not as it had left it; recorded there for ever."""
    octets = segment.octets
    if Kind.LOG_DIFFERS not in octets[block.start + _KIND_AT : block.end : block.record_octets]:
        return []
    found: list[Damage] = []
    for at in block.places():
        if octets[at + _KIND_AT] == Kind.LOG_DIFFERS:
            told = shown(segment.layout.record.unpack_from(octets, at), texts)
            problem = (
                "the gateway started with a log that was not what it had left: "
                f"{told['segment']} {told['problem']} (record {told['expected']})"
            )
            found.append(Damage(segment.name, block.ordinal, at, problem))
    return found

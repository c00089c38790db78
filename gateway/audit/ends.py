"""Where a log begins and ends: what somebody else remembers of it, and whether it is still so.

A log can prove what stands between its segments, but not that its first or its newest one is there.
The store keeps both ends, and they are compared at start and by `audit verify`. A start, which does
not read the whole log as `audit verify` does, looks for its holes (`holes`), and the store keeps
which of them have been told of. Standard library only, as in `reader`.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from gateway.audit.reader import (
    Segment,
    block_at,
    last_sequence,
    octets_at,
    schema_of,
    segment_at,
    segment_paths,
    sequence_at,
)
from gateway.audit.schema import (
    BLOCK_HEADER,
    FIELD_NAMES,
    HEADER_OCTETS,
    LAYOUTS,
    BlockKind,
    Kind,
    segment_numbers,
)

MESSAGE_KINDS: Final = frozenset(kind for kind in Kind if Kind.RECEIVED <= kind <= Kind.REQUEUED)
HEAD_OCTETS: Final = 64 * 1024  # the first records, too, of nearly all segments
_KIND: Final = FIELD_NAMES.index("kind")
_MESSAGE: Final = FIELD_NAMES.index("message")


class LogEnd(NamedTuple):
    """A place in a log: a record's number, the segment, octets of it, and the SHA-256 of these.

    `offset` 0 stands for the whole segment.
    """

    sequence: int
    segment: int
    offset: int
    sha256: str


class LogEnds(NamedTuple):
    """Both ends of a log; `None` where it has none, or nobody knows.

    `missing`: between them, the first and last numbers of segments that are known not to be there.
    `life`: the last incarnation that it has a segment of, 0 if that is not known; `log`: its id.
    """

    first: LogEnd | None
    last: LogEnd | None
    missing: frozenset[tuple[int, int]] = frozenset()
    life: int = 0
    log: str = ""


NOTHING_KNOWN: Final = LogEnds(None, None)


class Difference(NamedTuple):
    """One way in which a log is not what is remembered of it; `expected`: a record's number."""

    segment: str
    problem: str
    expected: int

    def __str__(self) -> str:
        """One line for people."""
        where = f"{self.segment}: " if self.segment else ""
        return f"{where}{self.problem} (record {self.expected})"


def beginning(directory: Path, since: int = 0) -> LogEnd | None:
    """The first record of a log, and the header of the segment that it is in.

    `since`: the number of its first segment; what is before that was let go, and is to be removed.
    """
    for path in segment_paths(directory):
        if _number(path) < since:
            continue
        segment = segment_at(path)
        head = segment.good  # before any block is read
        for block in segment.blocks():
            if block.kind == BlockKind.RECORDS and segment.header is not None:
                sequence = sequence_at(segment.octets, block.start)
                header = sha256(segment.octets[:head]).hexdigest()
                return LogEnd(sequence, segment.header.number, head, header)
        if segment.damage is not None:
            return None
    return None


def differences(directory: Path, ends: LogEnds) -> list[Difference]:
    """What is not there any more, or is not as it was, of what is remembered of a log."""
    by_number = {_number(path): path for path in segment_paths(directory)}
    found: list[Difference] = []
    own = log_id_in(directory)
    if own and ends.log and own != ends.log:
        name = by_number[max(by_number)].name
        record = 1 if ends.last is None else max(ends.last.sequence, 1)
        return [Difference(name, "it is another gateway's log", record)]
    first = ends.first
    if first is not None:
        there = min((each for each in by_number if each >= first.segment), default=0)
        if there > first.segment:
            text = f"the log begins here; segments from number {first.segment} on are missing"
            found.append(Difference(by_number[there].name, text, first.sequence))
        elif there:
            found += _changed(by_number[there], first)
    return found + lost_end(directory, ends)


def lost_end(directory: Path, ends: LogEnds) -> list[Difference]:
    """Those at its end: records of which nobody knows how many there were."""
    by_number = {_number(path): path for path in segment_paths(directory)}
    last = ends.last
    if last is None or not last.segment:
        return []
    if last.segment in by_number:
        return _changed(by_number[last.segment], last)
    text = f"segment number {last.segment} is missing: the log had come to it"
    newest = by_number[max(by_number)].name if by_number else ""
    return [Difference(newest, text, max(last.sequence, 1))]


def _changed(path: Path, end: LogEnd) -> list[Difference]:
    segment = segment_at(path)
    if segment.unreadable:
        return [Difference(path.name, segment.unreadable, end.sequence)]
    octets = segment.octets
    if len(octets) < end.offset:
        text = f"it has {len(octets)} octets and had {end.offset} at least"
        return [Difference(path.name, text, end.sequence)]
    known = octets[: end.offset] if end.offset else octets
    if sha256(known).hexdigest() != end.sha256:
        return [Difference(path.name, "it is not what it was", end.sequence)]
    return []


def holes(directory: Path, since: int = 0) -> dict[tuple[int, int], Difference]:
    """Which segments between its first and its newest a log does not have: first number and last.

    What is there under a name and is not that segment, by its header, is a hole, too. Of each
    segment no more than the header is read. `since`: as of `beginning`.
    """
    found: dict[tuple[int, int], Difference] = {}
    expected = 0
    for path in _begun(directory):
        number = _number(path)
        if number < since:
            continue
        if expected and number > expected:
            last = number - 1
            told = f"segments number {expected} to {last} are"
            told = f"segment number {last} is" if last == expected else told
            text = f"{told} missing: the log goes on here"
            found[expected, last] = Difference(path.name, text, _record_before(path))
        flaw = _flaw_of_header(path) or ("it is there twice" if number < expected else "")
        if flaw:
            found[number, number] = Difference(path.name, flaw, _record_before(path))
        expected = number + 1
    return found


def untold(found: dict[tuple[int, int], Difference], ends: LogEnds) -> list[Difference]:
    """Those holes that are not known, or are larger than the known ones.

    What is not the segment that an end is in is one of the `differences` already.
    """
    known = {*ends.missing, *((end.segment, end.segment) for end in ends[:2] if end is not None)}
    return [
        told
        for (first, last), told in found.items()
        if not any(begin <= first and last <= end for begin, end in known)
    ]


def _flaw_of_header(path: Path) -> str:
    segment = _headed(path)
    header = segment.header
    if header is None:
        return segment.unreadable or "its header cannot be read"
    if (header.number, header.incarnation) != segment_numbers(path.name):
        return f"by its header it is segment number {header.number} of start {header.incarnation}"
    return ""


def _record_before(path: Path) -> int:
    """The last record that is missing in front of a segment; 1 where that cannot be told."""
    segment = segment_at(path, HEAD_OCTETS)
    octets, at = segment.octets, segment.good
    while at and at + BLOCK_HEADER.size + 8 <= len(octets):
        block = block_at(octets, at)  # of which the end may be beyond
        if block.kind == BlockKind.RECORDS:
            return max(sequence_at(octets, block.start) - 1, 1)
        at = block.end
    return 1


def _headed(path: Path) -> Segment:
    """Of which the header can be read, and nothing else."""
    return segment_at(path, HEADER_OCTETS)


def has_messages(directory: Path) -> bool:
    """Whether any message stands in a log."""
    for path in reversed(segment_paths(directory)):
        segment = segment_at(path)
        for block in segment.blocks():
            if block.kind == BlockKind.RECORDS:
                for record in segment.rows(block):
                    if record[_KIND] in MESSAGE_KINDS:
                        return True
    return False


def last_incarnation(directory: Path) -> int:
    """The number of the gateway's last life that a log has a segment of; 0: of none.

    A file that has not even a header tells of none, whatever it is called.
    """
    return max((_incarnation(path) for path in _begun(directory)), default=0)


def log_id_in(directory: Path) -> str:
    """The id of a log, by its newest segment that has one; "": none has."""
    for path in reversed(segment_paths(directory)):
        header = _headed(path).header
        if header is not None and header.log:
            return header.log
    return ""


def newest(directory: Path) -> int:
    """The number of a log's newest segment that has a header; 0: it has none."""
    return max((_number(path) for path in _begun(directory)), default=0)


def _begun(directory: Path) -> list[Path]:
    """Without those at its end that came to nothing."""
    paths = segment_paths(directory)
    while paths and not _is_begun(paths[-1]):
        paths.pop()
    return paths


def _is_begun(path: Path) -> bool:
    segment = _headed(path)
    return segment.header is not None or not segment.torn


def size_of(directory: Path) -> tuple[int, int]:
    """How many segments a log has, and how many octets."""
    paths = segment_paths(directory)
    return len(paths), sum(octets_at(path) for path in paths)


def last_sequence_of(paths: list[Path]) -> int:
    """The sequence number of the last record in these segments, in order; 0 if they have none."""
    for path in reversed(paths):
        last = 0
        segment = segment_at(path)
        for block in segment.blocks():
            if block.kind == BlockKind.RECORDS:
                last = last_sequence(segment.octets, block)
        last = max(last, last_sequence_behind(segment, last))
        if last:
            return last
    return 0


def last_sequence_behind(segment: Segment, known: int) -> int:
    """The last sequence number behind damage, as far as the blocks' lengths still lead there.

    `known`: the last one before it. No more can be behind that than there is room for; what is
    beyond was never a number.
    """
    last, at, octets = 0, segment.good, segment.octets
    most = known + (len(octets) - at) // LAYOUTS[1].octets
    while segment.good and at + BLOCK_HEADER.size <= len(octets):
        block = block_at(octets, at)
        if block.end > len(octets):
            break
        if block.kind == BlockKind.RECORDS and block.end - block.start >= block.record_octets:
            found = last_sequence(octets, block)
            last = found if found <= most else last
        at = block.end
    return last


def incarnation_in(blocks: bytes, current: int) -> int:
    """The incarnation that begins with these blocks, else the current one."""
    block = block_at(blocks, 0)
    if block.kind != BlockKind.RECORDS:
        block = block_at(blocks, block.end)
    record = LAYOUTS[schema_of(blocks, 0)].record.unpack_from(blocks, block.start)
    if record[_KIND] == Kind.INCARNATION_STARTED:
        return int(record[_MESSAGE])
    return current


def _number(path: Path) -> int:
    return segment_numbers(path.name)[0]


def _incarnation(path: Path) -> int:
    return segment_numbers(path.name)[1]

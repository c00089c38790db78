"""Where a log begins and ends: what somebody else remembers of it, and whether it is still so.

A log can prove what stands between its segments, but not that its first or its newest one is there.
The store keeps both ends, and they are compared at start and by `audit verify`. Standard library
only, as in `reader`.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from gateway.audit.reader import Segment, segment_paths, sequence_at
from gateway.audit.schema import FIELD_NAMES, BlockKind, Kind, segment_numbers
from gateway.files.whole import read_head, read_segment

MESSAGE_KINDS: Final = frozenset(kind for kind in Kind if Kind.RECEIVED <= kind <= Kind.REQUEUED)
HEAD_OCTETS: Final = 64 * 1024  # more than any header has
_KIND: Final = FIELD_NAMES.index("kind")


class LogEnd(NamedTuple):
    """A place in a log: a record's number, the segment, octets of it, and the SHA-256 of these.

    `offset` 0 stands for the whole segment.
    """

    sequence: int
    segment: int
    offset: int
    sha256: str


class LogEnds(NamedTuple):
    """Both ends of a log; `None` where it has none, or nobody knows."""

    first: LogEnd | None
    last: LogEnd | None


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


def beginning(directory: Path) -> LogEnd | None:
    """The first record of a log, and the header of the segment that it is in."""
    for path in segment_paths(directory)[:1]:
        segment = Segment(path.name, read_segment(path))
        head = segment.good  # before any block is read
        for block in segment.blocks():
            if block.kind == BlockKind.RECORDS and segment.header is not None:
                sequence = sequence_at(segment.octets, block.start)
                header = sha256(segment.octets[:head]).hexdigest()
                return LogEnd(sequence, segment.header.number, head, header)
    return None


def differences(directory: Path, ends: LogEnds) -> list[Difference]:
    """What is not there any more, or is not as it was, of what is remembered of a log."""
    by_number = {_number(path): path for path in segment_paths(directory)}
    found: list[Difference] = []
    first, last = ends
    if first is not None:
        if by_number and min(by_number) > first.segment:
            text = f"the log begins here; segments from number {first.segment} on are missing"
            found.append(Difference(by_number[min(by_number)].name, text, first.sequence))
        elif first.segment in by_number:
            found += _changed(by_number[first.segment], first)
    if last is not None and last.segment:
        if last.segment not in by_number:
            text = f"segment number {last.segment} is missing: the log had come to it"
            newest = by_number[max(by_number)].name if by_number else ""
            found.append(Difference(newest, text, last.sequence))
        else:
            found += _changed(by_number[last.segment], last)
    return found


def _changed(path: Path, end: LogEnd) -> list[Difference]:
    octets = read_segment(path)
    if len(octets) < end.offset:
        text = f"it has {len(octets)} octets and had {end.offset} at least"
        return [Difference(path.name, text, end.sequence)]
    known = octets[: end.offset] if end.offset else octets
    if sha256(known).hexdigest() != end.sha256:
        return [Difference(path.name, "it is not what it was", end.sequence)]
    return []


def has_messages(directory: Path) -> bool:
    """Whether any message stands in a log."""
    for path in reversed(segment_paths(directory)):
        segment = Segment(path.name, read_segment(path))
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
    paths = segment_paths(directory)
    while paths and not _is_begun(paths[-1]):
        paths.pop()
    return max((_incarnation(path) for path in paths), default=0)


def _is_begun(path: Path) -> bool:
    segment = Segment(path.name, read_head(path, HEAD_OCTETS))
    return segment.header is not None or not segment.torn


def size_of(directory: Path) -> tuple[int, int]:
    """How many segments a log has, and how many octets."""
    paths = segment_paths(directory)
    return len(paths), sum(path.stat().st_size for path in paths)


def _number(path: Path) -> int:
    return segment_numbers(path.name)[0]


def _incarnation(path: Path) -> int:
    return segment_numbers(path.name)[1]

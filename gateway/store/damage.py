"""What is not as it was written: what can be said of it, and what of it is good.

No crash makes such a row: a commit that was torn is cut by SQLite, whole. So somebody, or the disk,
has changed it, and its messages and nodes may be gone. What is given to clients is never read from
it. The audit blocks in it have checksums of their own: as far as these are right, the log gets
them, and knows of the messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, final
from zlib import crc32

from gateway.audit.reader import block_at
from gateway.audit.schema import BLOCK_HEADER
from gateway.errors import DecodeError
from gateway.store.log_rows import scan, unpack_row, walk
from gateway.wire.buffers import Reader

HEAD_OCTETS: Final = 9  # of a row: checksum, version, length of the records
TOLD: Final = 5  # of many, in one line

TopologyKey = tuple[Any, Any]  # kind and key, of whatever type SQLite has it by now


@final
@dataclass
class Damage:
    """All that was found at one start.

    Attributes:
        rows: of the log, a line each by number.
        topology: a line for each row of the topology table.
        missing: a line for each table that has fewer rows than it had.
        audit: the audit blocks that are good in `rows`, by number.
        aside: a line for each row that an earlier start has set aside.
        untold: of these, those of a life that may have ended before the audit log told of them.
    """

    rows: dict[int, str] = field(default_factory=dict)
    topology: dict[TopologyKey, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    audit: dict[int, bytes] = field(default_factory=dict)
    aside: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)

    def found(self) -> list[str]:
        """What no earlier start has found."""
        return [*self.rows.values(), *self.topology.values(), *self.missing]

    def add_row(self, number: int, row: bytes) -> None:
        """A row of the log that cannot be read."""
        self.rows[number] = row_line(number, row)
        self.audit[number] = _good_audit(row)


def in_short(lines: list[str]) -> str:
    """Some of the lines, and how many there are more."""
    more = len(lines) - TOLD
    return "; ".join(lines[:TOLD]) + (f"; and {more} more" if more > 0 else "")


def row_line(number: int, row: bytes) -> str:
    """What is the matter with a row of the log, and what it seems to have in it."""
    problem = "is not what was written"
    try:
        scan(unpack_row(row)[0])
    except DecodeError as error:
        problem = str(error)
    found = _Found(row)
    return f"row {number} of {len(row)} octets: {problem}; {found.line()}"


def topology_line(key: TopologyKey) -> str:
    """What is the matter with a row of the topology table."""
    return f"topology {key[0]} {key[1]!r}: checksum does not match"


@final
class _Found:
    """The messages that a row seems to have, up to the first record that is none."""

    def __init__(self, row: bytes) -> None:
        self.messages: list[int] = []
        try:
            walk(row[HEAD_OCTETS : HEAD_OCTETS + _records_octets(row)], self)
        except DecodeError:
            return  # as far as it can be read

    def line(self) -> str:
        """In words."""
        if not self.messages:
            return "no message in it can be told"
        first, last = min(self.messages), max(self.messages)
        return f"as far as it can be read, messages {first} to {last}, {len(self.messages)} copies"

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        """It counts with its copies."""

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        """A copy, which may have left since."""
        self.messages.append(message_id)

    def on_dequeue(self, queue_id: int, position: int) -> None:
        """What left comes again."""

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        """All are marked."""

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        """Its table has it."""

    def on_topology_removed(self, kind: int, key: str) -> None:
        """So it does not have that."""

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        """Nor these."""


def _records_octets(row: bytes) -> int:
    try:
        return int(Reader(row, HEAD_OCTETS - 4, HEAD_OCTETS).u32())
    except DecodeError:
        return 0


def _good_audit(row: bytes) -> bytes:
    """The audit blocks of a row, if each of them is what was written; else none."""
    blocks = row[HEAD_OCTETS + _records_octets(row) :]
    at = 0
    while at < len(blocks):
        if at + BLOCK_HEADER.size > len(blocks):
            return b""
        block = block_at(blocks, at)
        checksum = BLOCK_HEADER.unpack_from(blocks, at)[0]
        if block.end > len(blocks) or crc32(blocks[at + 4 : block.end]) != checksum:
            return b""
        at = block.end
    return blocks

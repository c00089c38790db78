"""Reads a segment behind its damage, too: what is damaged costs the block that it is in.

Behind damage it goes on with the next block whose checksum is right and whose records are numbered
one behind the other. Which numbers are missing is told with the damage, so that whoever judges what
is left knows what it cannot prove. A header that cannot be read is made up for by the file's name.

A last block that is half written is no damage yet: a gateway may be writing it, unless it has said
before that it stops, and sealed that. Standard library only, as in `reader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, final
from zlib import crc32

from gateway.audit.reader import (
    Block,
    Damage,
    Header,
    Segment,
    block_at,
    last_sequence,
    schema_of,
    sequence_at,
)
from gateway.audit.schema import (
    BLOCK_HEADER,
    FIELD_NAMES,
    FIELDS,
    LAYOUTS,
    NAME_ENTRY,
    SEALED_SINCE,
    BlockKind,
    Kind,
    segment_numbers,
)
from gateway.audit.seals import seal_in

# Kind, flags and schema version of a block's header, as they stand in it; version 1 is also 0.
_MAY_BEGIN: Final = {
    version: re.compile(
        rb"[\x01-\x03][\x00-\x03]"
        + (rb"[\x00\x01]\x00" if version == 1 else re.escape(version.to_bytes(2, "little"))),
        re.DOTALL,
    )
    for version in LAYOUTS
}
_KIND_AT: Final = 8  # in a block's header
_RECORD_KIND_AT: Final = FIELDS[FIELD_NAMES.index("kind")].offset  # of a record of any version
CHECKED: Final = 4  # times the octets of a segment are read in search of blocks; false ones cost


@final
class Salvage:
    """All good blocks of one segment.

    Args:
        last: the sequence number of the last record before the segment; 0: not known.

    Attributes:
        skipped: something is missing just before the block of records that came last.
        intact: nothing is damaged in front of the block that came last.

    And when `blocks` is exhausted:
        segment: its `header` is what the file's name says, where its own cannot be read.
        damages: what is wrong, in order; `expected` and `found` are the numbers of the first record
            that is missing for it and of the first behind it, where there is one on either side.
        unfinished: the half-written block that it ends with.
    """

    def __init__(self, segment: Segment, last: int = 0) -> None:
        self.segment = segment
        self.skipped = False
        self.intact = True
        self.damages: list[Damage] = []
        self.unfinished: Damage | None = None
        self._last = max(last, 0)  # sequence number of the last good record
        self._stopped = False  # the last good block says that the gateway stops
        self._stopping = False  # the last good record does, and the seal behind it is to come
        self._open: Damage | None = None  # the last damage, until a record comes behind it
        self._budget = CHECKED * len(segment.octets)

    def blocks(self) -> Iterator[Block]:
        """The good blocks in order."""
        segment = self.segment
        at, ordinal = segment.good, 0
        while True:
            for block in segment.blocks_from(at, ordinal):
                self._note(block)
                yield block
            damage = segment.damage
            if damage is None:
                break
            found = self._behind(damage)
            if found is None:
                self._ends_with(damage)
                break
            self._close()
            self._open = damage
            self.intact = False
            at, ordinal = found, damage.block + 1
            segment.damage, segment.torn = None, False
        self._close()
        if self.damages and segment.damage is None:
            segment.damage = self.damages[-1]

    def _note(self, block: Block) -> None:
        """A good block: how much is missing before it."""
        if block.kind != BlockKind.RECORDS:
            if block.kind == BlockKind.SEAL:
                self._stopped = self._stopped or self._stopping
            return
        octets = self.segment.octets
        self.skipped = self._open is not None
        if self._open is not None:
            self._open = self._open._replace(
                expected=self._expected(), found=sequence_at(octets, block.start)
            )
            self._close()
        self._last = last_sequence(octets, block)
        kind = octets[block.end - block.record_octets + _RECORD_KIND_AT]
        self._stopping = kind == Kind.INCARNATION_STOPPED
        self._stopped = self._stopping and schema_of(octets, block.offset) < SEALED_SINCE

    def _expected(self) -> int:
        return self._last + 1 if self._last else 0

    def _close(self) -> None:
        if self._open is not None:
            expected = self._open.expected or self._expected()
            self.damages.append(self._open._replace(expected=expected))
            self._open = None

    def _ends_with(self, damage: Damage) -> None:
        if self.segment.torn and not self._stopped:
            self.unfinished = damage
        else:
            self._close()
            self._open = damage._replace(expected=self._expected())

    def _behind(self, damage: Damage) -> int | None:
        """Where the next good block begins; `None`: there is none."""
        segment = self.segment
        if segment.header is None:
            return self._first_block()
        layout = segment.layout.octets
        at = damage.offset + BLOCK_HEADER.size
        if at <= len(segment.octets):
            end = block_at(segment.octets, damage.offset).end
            if damage.offset < end < len(segment.octets) and self._is_block(end, layout):
                return end
        return self._search(damage.offset + 1, segment.header.schema)

    def _first_block(self) -> int | None:
        """Of a segment whose header cannot be read: its name, and a block, stand for that."""
        segment = self.segment
        number, incarnation = segment_numbers(segment.name)
        found = [
            (at, version)
            for version in LAYOUTS
            if number and (at := self._search(0, version)) is not None
        ]
        if not found:
            return None
        at, version = min(found)
        segment.header = Header(version, incarnation, number, "")
        return at

    def _search(self, at: int, version: int) -> int | None:
        octets = self.segment.octets
        layout = LAYOUTS[version].octets
        for match in _MAY_BEGIN[version].finditer(octets, at + _KIND_AT):
            begin = match.start() - _KIND_AT
            if self._is_block(begin, layout):
                return begin
        return None

    def _is_block(self, at: int, record_octets: int) -> bool:
        """Whether a good block begins there. What costs little is looked at first."""
        octets = self.segment.octets
        start = at + BLOCK_HEADER.size
        if start >= len(octets) or schema_of(octets, at) not in LAYOUTS:
            return False
        block = block_at(octets, at)
        if not start < block.end <= len(octets) or block.record_octets != record_octets:
            return False
        records = block.kind == BlockKind.RECORDS
        if records and not _has_records(octets, block, self._last):
            return False
        self._budget -= block.end - start
        if self._budget < 0 or not (
            records or _has_names(octets, block) or _has_seal(octets, block)
        ):
            return False
        checksum = int(BLOCK_HEADER.unpack_from(octets, at)[0])
        return crc32(octets[start : block.end], crc32(octets[at + 4 : start])) == checksum


def _has_records(octets: bytes, block: Block, last: int) -> bool:
    count, rest = divmod(block.end - block.start, block.record_octets)
    if rest:
        return False
    first = sequence_at(octets, block.start)
    return first > last and last_sequence(octets, block) - first == count - 1


def _has_seal(octets: bytes, block: Block) -> bool:
    if block.kind != BlockKind.SEAL:
        return False
    return seal_in(octets[block.start : block.end], "", 0, block.offset) is not None


def _has_names(octets: bytes, block: Block) -> bool:
    at = block.start
    while block.kind == BlockKind.NAMES and at + NAME_ENTRY.size <= block.end:
        at += NAME_ENTRY.size + int(NAME_ENTRY.unpack_from(octets, at)[1])
    return at == block.end

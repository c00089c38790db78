"""What is to be known of a segment as a whole.

Its place in the chain, its sequence numbers, and everything that is wrong with it: one row, made
while its blocks are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from gateway.accounting.segments.columns import (
    DTYPES,
    SEQUENCE_MAX,
    Columns,
    sequences_in,
    times_in,
)
from gateway.audit.reader import Block, Damage, Segment, names_in, sequence_break
from gateway.audit.salvage import Salvage
from gateway.audit.schema import NAME_FIELDS, BlockKind, segment_numbers
from gateway.audit.seals import hashes_at
from gateway.audit.seen import Seen

FINDING: Final = pa.struct(
    [
        ("block", pa.int64()),
        ("offset", pa.int64()),
        ("problem", pa.string()),
        ("expected", pa.int64()),
        ("found", pa.int64()),
        ("time_back_ms", pa.int64()),
    ]
)
HEAD: Final = pa.struct(
    [
        ("log", pa.string()),
        ("segment", pa.int64()),
        ("offset", pa.int64()),
        ("sequence", pa.int64()),
        ("time_ms", pa.int64()),
        ("sha256", pa.string()),
        ("key", pa.string()),
        ("signature", pa.string()),
    ]
)
HASH: Final = pa.struct([("offset", pa.int64()), ("sha256", pa.string())])
SEGMENTS_SCHEMA: Final = pa.schema(
    [
        ("segment", pa.string()),
        ("ordinal", pa.int64()),  # by file name, from 0
        ("number", pa.int64()),  # by its header, else by its name
        ("incarnation", pa.int64()),
        ("previous_sha256", pa.string()),
        ("sha256", pa.string()),
        ("octets", pa.int64()),
        ("records", pa.int64()),
        ("first_sequence", pa.int64()),
        ("last_sequence", pa.int64()),
        ("first_time_ms", pa.int64()),
        ("last_time_ms", pa.int64()),
        ("damaged", pa.bool_()),
        ("unfinished", pa.list_(FINDING)),  # the half-written block that it ends with, if it does
        ("findings", pa.list_(FINDING)),  # those of damage last, as they stand in the file
        # The first and the last record with a name that nobody can tell: damage has it.
        ("unnamed_from", pa.int64()),
        ("unnamed_to", pa.int64()),
        ("schema", pa.int64()),
        ("log", pa.string()),  # its id
        ("previous_incarnation", pa.int64()),  # the one in front of that which begins here, if so
        ("stopped", pa.bool_()),  # its last record says that the gateway stops
        ("head", HEAD),  # its last seal that is right
        ("unlike_seal", pa.bool_()),  # a seal is not right, and nothing in front of it is damaged
        ("flawed", pa.bool_()),  # that, or it is damaged
        ("hashes", pa.list_(HASH)),  # of the offsets that were asked for
    ]
)


class SegmentSurvey:
    """One segment, surveyed while its blocks of names and records are read."""

    def __init__(self, name: str, octets: bytes) -> None:
        self.segment = Segment(name, octets)
        self._salvage = Salvage(self.segment)
        self._seen = Seen(self.segment)
        self._survey = _Survey()

    def blocks(self) -> Iterator[Block]:
        """Its good blocks, but for seals."""
        octets, survey, seen = self.segment.octets, self._survey, self._seen
        for block in self._salvage.blocks():
            if block.kind == BlockKind.SEAL:
                seen.seal(block, intact=self._salvage.intact)
                continue
            if block.kind == BlockKind.NAMES:
                survey.names.update(number for number, _text in names_in(octets, block))
            else:
                seen.records(block)
                rows = survey.look_at(octets, block, skipped=self._salvage.skipped)
                seen.gapped = survey.gapped
                if self._salvage.damages:
                    survey.look_for_names(rows)
            yield block

    def row(self, ordinal: int, offsets: Iterable[int] = ()) -> dict[str, Any]:
        """A value of `SEGMENTS_SCHEMA`, when all blocks are read. Any: as pyarrow takes it.

        `offsets`: of the octets in front of these the hash is wanted.
        """
        octets, salvage, seen, survey = self.segment.octets, self._salvage, self._seen, self._survey
        seals, header = seen.seals, self.segment.header
        if seals.flaw is not None:
            survey.findings.append(_finding(*seals.flaw))
        findings = survey.findings + [_told(damage) for damage in salvage.damages]
        unfinished = [_told(salvage.unfinished)] if salvage.unfinished is not None else []
        number, incarnation = segment_numbers(self.segment.name)
        return {
            "segment": self.segment.name,
            "ordinal": ordinal,
            "number": header.number if header else number or None,
            "incarnation": header.incarnation if header else incarnation or None,
            "previous_sha256": (header.previous_sha256 or None) if header else None,
            "sha256": seals.whole(),
            "octets": len(octets),
            "records": survey.records,
            "first_sequence": survey.first_sequence,
            "last_sequence": survey.last_sequence,
            "first_time_ms": survey.first_time_ms,
            "last_time_ms": survey.last_time_ms,
            "damaged": bool(salvage.damages),
            "unfinished": unfinished,
            "findings": findings,
            "unnamed_from": survey.unnamed_from,
            "unnamed_to": survey.unnamed_to,
            "schema": header.schema if header else None,
            "log": header.log if header else None,
            "previous_incarnation": seen.previous or None,
            "stopped": seen.stopped,
            "head": None if seals.last is None else seals.last._asdict(),
            "unlike_seal": seals.flaw is not None,
            "flawed": seals.flaw is not None or seen.gapped or bool(salvage.damages),
            "hashes": [{"offset": at, "sha256": sha} for at, sha in hashes_at(octets, offsets)],
        }


def segment_row(
    name: str, ordinal: int, octets: bytes, offsets: Iterable[int] = ()
) -> pa.RecordBatch:
    """One row about a segment, with everything that is wrong inside it."""
    survey = SegmentSurvey(name, octets)
    for _block in survey.blocks():
        pass
    return pa.RecordBatch.from_pylist([survey.row(ordinal, offsets)], schema=SEGMENTS_SCHEMA)


class _Survey:
    """What the good blocks of a segment say about it."""

    def __init__(self) -> None:
        self.records = 0
        self.gapped = False
        self.first_sequence: int | None = None
        self.last_sequence: int | None = None
        self.first_time_ms: int | None = None
        self.last_time_ms: int | None = None
        self.findings: list[dict[str, Any]] = []  # Any: as pyarrow takes them
        self.names = {0}  # the numbers of those that it has
        self.unnamed_from: int | None = None
        self.unnamed_to: int | None = None

    def look_at(self, octets: bytes, block: Block, *, skipped: bool) -> Columns:
        """Take in one block of records; `skipped`: what is missing before it is told as damage."""
        expected = 0 if self.last_sequence is None or skipped else self.last_sequence + 1
        broken = sequence_break(octets, block, expected)
        if broken:
            self.gapped = True
            self.findings.append(_finding(block.ordinal, broken[0], "sequence gap", *broken[1:]))
        count = len(block.places())
        dtype = DTYPES[block.record_octets]
        rows = np.frombuffer(octets, dtype=dtype, count=count, offset=block.start)
        times = times_in(rows)
        back = _time_back_ms(times, self.last_time_ms)
        if back:
            self.findings.append(_finding(block.ordinal, block.offset, "", back_ms=back))
        sequences = sequences_in(rows)
        if self.first_sequence is None:
            self.first_sequence = int(sequences[0])
            self.first_time_ms = int(times[0])
        self.last_sequence = int(sequences[-1])
        self.last_time_ms = int(times[-1])
        self.records += count
        return rows

    def look_for_names(self, rows: Columns) -> None:
        """Which of these records, behind damage, have names that the segment does not tell."""
        known = np.array(sorted(self.names))
        there = [name for name in NAME_FIELDS if name in rows.dtype.names]
        unnamed = sequences_in(rows)[
            np.logical_or.reduce([~np.isin(rows[name], known) for name in there])
        ]
        if len(unnamed):
            if self.unnamed_from is None:
                self.unnamed_from = int(unnamed[0])
            self.unnamed_to = int(unnamed[-1])


def _told(damage: Damage) -> dict[str, Any]:
    return _finding(damage.block, damage.offset, damage.problem, damage.expected, damage.found)


def _finding(
    block: int, offset: int, problem: str, expected: int = 0, found: int = 0, back_ms: int = 0
) -> dict[str, Any]:
    """A value of `FINDING`. Any: as pyarrow takes it."""
    return {
        "block": block,
        "offset": offset,
        "problem": problem,
        "expected": min(max(expected, -SEQUENCE_MAX), SEQUENCE_MAX) or None,
        "found": min(max(found, -SEQUENCE_MAX), SEQUENCE_MAX) or None,
        "time_back_ms": back_ms or None,
    }


def _time_back_ms(times: Columns, before: int | None) -> int:
    """By how much the clock goes back within these records, or since the one before them."""
    back = 0 if before is None else before - int(times[0])
    if len(times) > 1:
        back = max(back, -int(np.diff(times).min()))
    return max(back, 0)

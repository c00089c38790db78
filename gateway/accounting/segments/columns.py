"""From a segment's octets to columns: what a Spark task does with its one segment.

`record_batches` gives every record of a segment that can be read, as Arrow batches of about
`BATCH_RECORDS`; `segment_row` gives what is to be known of the segment as a whole: its place in the
chain, its sequence numbers, and everything that is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from gateway.accounting.steps.order import bends
from gateway.audit.reader import Block, Damage, Segment, names_in, sequence_break
from gateway.audit.salvage import Salvage
from gateway.audit.schema import (
    FIELDS,
    LAYOUTS,
    NAME_FIELDS,
    BlockKind,
    Kind,
    Layout,
    segment_numbers,
)
from gateway.audit.seals import hashes_at
from gateway.audit.seen import Seen

BATCH_RECORDS: Final = 65_536
CHECKPOINTS: Final = (Kind.QUEUE_CHECKPOINT, Kind.OUTLET_CHECKPOINT, Kind.ROUTE_CHECKPOINT)
WINDOW_SHIFT: Final = 32


def _dtype(layout: Layout) -> Any:  # Any: a numpy type, as `Columns` below
    return np.dtype(
        {
            "names": [field.name for field in layout.fields],
            "formats": [f"<i{int(field.type[1:]) // 8}" for field in layout.fields],
            "offsets": [field.offset for field in layout.fields],
            "itemsize": layout.octets,
        }
    )


_DTYPES: Final = {layout.octets: _dtype(layout) for layout in LAYOUTS.values()}
_ARROW: Final = {"i64": pa.int64(), "i32": pa.int32(), "i16": pa.int16(), "i8": pa.int8()}

RECORDS_SCHEMA: Final = pa.schema(
    [
        (field.name, pa.string() if field.name in NAME_FIELDS else _ARROW[field.type])
        for field in FIELDS
    ]
    + [
        ("incarnation", pa.int64()),
        ("window", pa.int64()),  # grows with each run of checkpoints: they close the one before
        ("mix", pa.int64()),  # the copy's share of its queue's checksum
        ("bends", pa.bool_()),  # of sends: see `order.bends`
    ]
)
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

_LOW: Final = 0x7FFF_FFFF

Columns = Any  # numpy arrays; whether its annotations are there depends on what is installed


def entry_mix(message: Columns, position: Columns) -> Columns:
    """`audit.digests.entry_mix` on columns of 64-bit integers."""
    mixed = ((message & _LOW) * 0x5851_F42D) ^ ((((message >> 31) ^ position) & _LOW) * 0x4C95_7F2D)
    mixed = mixed ^ (mixed >> 31)
    return ((mixed & _LOW) * 0x6A09_E667) ^ (mixed >> 16)


def record_batches(
    name: str, octets: bytes, kinds: frozenset[int] = frozenset()
) -> Iterator[pa.RecordBatch]:
    """The segment's records, all or of some kinds only."""
    segment = Segment(name, octets)
    texts: dict[int, str] = {}
    parts: list[bytes] = []
    size, runs, wanted = 0, _Runs(), np.array(sorted(kinds), dtype=np.int8)
    for block in Salvage(segment).blocks():
        if block.kind == BlockKind.NAMES:
            texts.update(names_in(octets, block))
        if block.kind != BlockKind.RECORDS:
            continue
        parts.append(octets[block.start : block.end])
        size += block.end - block.start
        if size >= BATCH_RECORDS * block.record_octets:
            yield _batch(segment, parts, texts, runs, wanted)
            parts, size = [], 0
    if parts:
        yield _batch(segment, parts, texts, runs, wanted)


class _Runs:
    """Counts runs of checkpoint records across the batches of one segment."""

    def __init__(self) -> None:
        self.count = 0
        self.in_run = False

    def windows(self, kinds: Columns) -> Columns:
        """For each record, how many runs began before or with it."""
        checkpoint = np.isin(kinds, CHECKPOINTS)
        before = np.concatenate(([self.in_run], checkpoint[:-1]))
        counts = self.count + np.cumsum(checkpoint & ~before)
        self.count = int(counts[-1])
        self.in_run = bool(checkpoint[-1])
        return counts


def _batch(
    segment: Segment, parts: list[bytes], texts: dict[int, str], runs: _Runs, wanted: Columns
) -> pa.RecordBatch:
    rows = np.frombuffer(b"".join(parts), dtype=_DTYPES[segment.layout.octets])
    header = segment.header
    assert header is not None, "a segment without header has no blocks"
    windows = (header.number << WINDOW_SHIFT) + runs.windows(rows["kind"])
    marks = bends(rows)
    if len(wanted):
        keep = np.isin(rows["kind"], wanted)
        rows, windows, marks = rows[keep], windows[keep], marks[keep]
    columns = [_column(rows, field.name, texts) for field in FIELDS]
    columns.append(pa.array(np.full(len(rows), header.incarnation, dtype=np.int64)))
    columns.append(pa.array(windows.astype(np.int64)))
    columns.append(pa.array(entry_mix(rows["message"], rows["position"])))
    columns.append(pa.array(marks))
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS_SCHEMA)


def _column(rows: Columns, name: str, texts: dict[int, str]) -> pa.Array:
    if name not in rows.dtype.names:  # an older version has no such field
        values = np.zeros(len(rows), dtype=np.int32)
    else:
        values = np.ascontiguousarray(rows[name])
    if name not in NAME_FIELDS:
        return pa.array(values)
    numbers, places = np.unique(values, return_inverse=True)
    shown = pa.array([_text(int(number), texts) for number in numbers], pa.string())
    return shown.take(pa.array(places.reshape(-1)))


def _text(number: int, texts: dict[int, str]) -> str | None:
    return texts.get(number, f"#{number}") if number else None


def segment_row(
    name: str, ordinal: int, octets: bytes, offsets: Iterable[int] = ()
) -> pa.RecordBatch:
    """One row about a segment, with everything that is wrong inside it.

    `offsets`: of the octets in front of these the hash is wanted.
    """
    segment = Segment(name, octets)
    survey, salvage, seen = _Survey(), Salvage(segment), Seen(segment)
    for block in salvage.blocks():
        if block.kind == BlockKind.NAMES:
            survey.names.update(number for number, _text in names_in(octets, block))
            continue
        if block.kind == BlockKind.SEAL:
            seen.seal(block, intact=salvage.intact)
            continue
        seen.records(block)
        rows = survey.look_at(octets, block, skipped=salvage.skipped)
        seen.gapped = survey.gapped
        if salvage.damages:
            survey.look_for_names(rows)
    seals = seen.seals
    if seals.flaw is not None:
        survey.findings.append(_finding(*seals.flaw))
    findings = survey.findings + [_told(damage) for damage in salvage.damages]
    unfinished = [_told(salvage.unfinished)] if salvage.unfinished is not None else []
    header = segment.header
    number, incarnation = segment_numbers(name)
    row = {
        "segment": name,
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
        "hashes": [{"offset": offset, "sha256": sha} for offset, sha in hashes_at(octets, offsets)],
    }
    return pa.RecordBatch.from_pylist([row], schema=SEGMENTS_SCHEMA)


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
        dtype = _DTYPES[block.record_octets]
        rows = np.frombuffer(octets, dtype=dtype, count=count, offset=block.start)
        back = _time_back_ms(rows["time_ms"], self.last_time_ms)
        if back:
            self.findings.append(_finding(block.ordinal, block.offset, "", back_ms=back))
        if self.first_sequence is None:
            self.first_sequence = int(rows["sequence"][0])
            self.first_time_ms = int(rows["time_ms"][0])
        self.last_sequence = int(rows["sequence"][-1])
        self.last_time_ms = int(rows["time_ms"][-1])
        self.records += count
        return rows

    def look_for_names(self, rows: Columns) -> None:
        """Which of these records, behind damage, have names that the segment does not tell."""
        known = np.array(sorted(self.names))
        there = [name for name in NAME_FIELDS if name in rows.dtype.names]
        unnamed = rows["sequence"][
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
        "expected": expected or None,
        "found": found or None,
        "time_back_ms": back_ms or None,
    }


def _time_back_ms(times: Columns, before: int | None) -> int:
    """By how much the clock goes back within these records, or since the one before them."""
    back = 0 if before is None else before - int(times[0])
    if len(times) > 1:
        back = max(back, -int(np.diff(times).min()))
    return max(back, 0)

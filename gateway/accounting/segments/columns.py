"""From a segment's octets to columns: what a Spark task does with its one segment.

`units` gives its records as columns of numpy, as many at a time as are wanted; `record_batches`
every record of it that can be read, as Arrow batches of about `BATCH_RECORDS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from gateway.accounting.steps.order import bends
from gateway.accounting.telling.words import LATEST_MS
from gateway.audit.reader import Block, Segment, names_in
from gateway.audit.salvage import Salvage
from gateway.audit.schema import FIELDS, LAYOUTS, NAME_FIELDS, BlockKind, Kind, Layout

BATCH_RECORDS: Final = 65_536
CHECKPOINTS: Final = (Kind.QUEUE_CHECKPOINT, Kind.OUTLET_CHECKPOINT, Kind.ROUTE_CHECKPOINT)
WINDOW_SHIFT: Final = 32
_NUMBER_MAX: Final = (1 << 30) - 1  # of a segment: a window of a greater one has no number


def _dtype(layout: Layout) -> Any:  # Any: a numpy type, as `Columns` below
    return np.dtype(
        {
            "names": [field.name for field in layout.fields],
            "formats": [f"<i{int(field.type[1:]) // 8}" for field in layout.fields],
            "offsets": [field.offset for field in layout.fields],
            "itemsize": layout.octets,
        }
    )


DTYPES: Final = {layout.octets: _dtype(layout) for layout in LAYOUTS.values()}
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
_LOW: Final = 0x7FFF_FFFF
# What is added up, and what is subtracted from each other. No log of a gateway comes near to these,
# and what a hostile one says beyond is taken as just that much.
_COUNT_MAX: Final = 1 << 44
SEQUENCE_MAX: Final = 1 << 60
_STATING: Final = (*CHECKPOINTS, Kind.CLOCK)  # which count by their numbers of messages and places

Columns = Any  # numpy arrays; whether its annotations are there depends on what is installed


def times_in(rows: Columns) -> Columns:
    """When these records were written; what no clock can say is as near to it as there is a time.

    So nothing is worked out of it that no number can hold.
    """
    return np.clip(rows["time_ms"], 0, LATEST_MS)


def sequences_in(rows: Columns) -> Columns:
    """The numbers of these records; the same is so of them."""
    return np.clip(rows["sequence"], -SEQUENCE_MAX, SEQUENCE_MAX)


def _bounded(rows: Columns) -> Columns:
    """Records with numbers of which sums and differences can be had."""
    stating = np.isin(rows["kind"], _STATING)
    bounded = {
        "time_ms": times_in(rows),
        "sequence": sequences_in(rows),
        "size": np.clip(rows["size"], 0, _COUNT_MAX),
    }
    for name in ("message", "position"):
        counts = np.clip(rows[name], -_COUNT_MAX, _COUNT_MAX)
        bounded[name] = np.where(stating, counts, rows[name])
    beyond = [name for name, values in bounded.items() if np.any(values != rows[name])]
    if beyond:
        rows = rows.copy()
    for name in beyond:
        rows[name] = bounded[name]
    return rows


def entry_mix(message: Columns, position: Columns) -> Columns:
    """`audit.digests.entry_mix` on columns of 64-bit integers."""
    mixed = ((message & _LOW) * 0x5851_F42D) ^ ((((message >> 31) ^ position) & _LOW) * 0x4C95_7F2D)
    mixed = mixed ^ (mixed >> 31)
    return ((mixed & _LOW) * 0x6A09_E667) ^ (mixed >> 16)


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


class Unit(NamedTuple):
    """Records of one segment that follow each other: columns of the same length.

    Attributes:
        incarnation: which run they are of; of several runs, each of them.
        rows: the records, by the fields that their version has.
        windows: of each, the `window`.
        marks: of each, whether it `bends`.
        texts: what the numbers of names mean.
    """

    incarnation: int | Columns
    rows: Columns
    windows: Columns
    marks: Columns
    texts: dict[int, str]

    def column(self, name: str) -> Columns:
        """A field of all of them, by itself; 0 where their version does not have it."""
        if name not in self.rows.dtype.names:
            return np.zeros(len(self.rows), dtype=np.int32)
        return np.ascontiguousarray(self.rows[name])


def units(segment: Segment, blocks: Iterable[Block], records: int) -> Iterator[Unit]:
    """The records of these blocks of the segment, about so many at a time."""
    texts: dict[int, str] = {}
    parts: list[bytes] = []
    size, runs = 0, _Runs()
    for block in blocks:
        if block.kind == BlockKind.NAMES:
            texts.update(names_in(segment.octets, block))
        if block.kind != BlockKind.RECORDS:
            continue
        parts.append(segment.octets[block.start : block.end])
        size += block.end - block.start
        if size >= records * block.record_octets:
            yield _unit(segment, parts, texts, runs)
            parts, size = [], 0
    if parts:
        yield _unit(segment, parts, texts, runs)


def _unit(segment: Segment, parts: list[bytes], texts: dict[int, str], runs: _Runs) -> Unit:
    rows = _bounded(np.frombuffer(b"".join(parts), dtype=DTYPES[segment.layout.octets]))
    header = segment.header
    assert header is not None, "a segment without header has no blocks"
    windows = (min(header.number, _NUMBER_MAX) << WINDOW_SHIFT) + runs.windows(rows["kind"])
    return Unit(header.incarnation, rows, windows.astype(np.int64), bends(rows), texts)


def record_batches(
    name: str, octets: bytes, kinds: frozenset[int] = frozenset()
) -> Iterator[pa.RecordBatch]:
    """The segment's records, all or of some kinds only."""
    segment = Segment(name, octets)
    wanted = np.array(sorted(kinds), dtype=np.int8)
    for unit in units(segment, Salvage(segment).blocks(), BATCH_RECORDS):
        keep = np.isin(unit.rows["kind"], wanted) if len(wanted) else slice(None)
        yield pa.RecordBatch.from_arrays(record_columns(unit, keep), schema=RECORDS_SCHEMA)


def record_columns(unit: Unit, keep: Columns) -> list[pa.Array]:
    """Some of a unit's records, as `RECORDS_SCHEMA` has them."""
    kept = Unit(unit.incarnation, unit.rows[keep], unit.windows[keep], unit.marks[keep], unit.texts)
    columns = [
        in_words(kept.column(field.name), kept.texts)
        if field.name in NAME_FIELDS
        else pa.array(kept.column(field.name))
        for field in FIELDS
    ]
    columns.append(pa.array(np.full(len(kept.rows), kept.incarnation, dtype=np.int64)))
    columns.append(pa.array(kept.windows))
    columns.append(pa.array(entry_mix(kept.rows["message"], kept.rows["position"])))
    columns.append(pa.array(kept.marks))
    return columns


def in_words(numbers: Columns, texts: dict[int, str]) -> pa.Array:
    """Numbers of names as their texts; 0 is none."""
    different, places = np.unique(numbers, return_inverse=True)
    shown = pa.array([text_of(int(number), texts) for number in different], pa.string())
    return shown.take(pa.array(places.reshape(-1)))


def text_of(number: int, texts: dict[int, str]) -> str | None:
    """The name with a number, or that number where nothing says what it means."""
    return texts.get(number, f"#{number}") if number else None

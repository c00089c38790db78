"""All that the job takes from one segment, in one pass over its octets.

A *part* is a unit of a segment: of each there is a row with its sums, its folded messages, the ids
of those that were published, what publishers were told that is not right within it and what charts
are drawn from; and rows with the records that are not folded. Behind the last part of a segment is
the row about the segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from gateway.accounting.segments.columns import (
    BATCH_RECORDS,
    RECORDS_SCHEMA,
    Columns,
    Unit,
    record_columns,
    units,
)
from gateway.accounting.segments.drawing import MOVES, WAITS, moves, tellings, waits
from gateway.accounting.segments.folding import Folding, folded, folded_words, nothing, of_messages
from gateway.accounting.segments.ranges import RANGES, from_clients, open_ranges
from gateway.accounting.segments.summing import SUMS, sums
from gateway.accounting.segments.survey import SEGMENTS_SCHEMA, SegmentSurvey

PART_RECORDS: Final = 1 << 20

WORD: Final = pa.struct([("word", pa.int64()), ("bits", pa.int64())])
PUBLISHED: Final = pa.struct([("id_digest", pa.int64()), ("message", pa.int64())])
PARTS_SCHEMA: Final = pa.schema(
    [
        *RECORDS_SCHEMA,  # of a record that is not folded; else null
        ("ordinal", pa.int64()),  # of the segment
        ("part", pa.int64()),  # its first sequence number
        ("sums", pa.list_(SUMS)),
        ("folded", pa.list_(WORD)),
        ("published", pa.list_(PUBLISHED)),
        ("moves", pa.list_(MOVES)),
        ("waits", pa.list_(WAITS)),
        ("ranges", pa.list_(RANGES)),
        ("about", pa.struct(list(SEGMENTS_SCHEMA))),
    ]
)


class Asked(NamedTuple):
    """What is asked of a segment.

    Attributes:
        offsets: of the octets in front of these the hash is wanted.
        late_ms: what is settled later is not folded; 0: that is no matter.
        fold: whether anything is.
        only: instead of everything, the records of these messages that are folded.
        whole: and with `only`, all records of these.
    """

    offsets: tuple[int, ...] = ()
    late_ms: int = 0
    fold: bool = True
    only: Columns | None = None
    whole: Columns | None = None


EVERYTHING: Final = Asked()


def part_batches(
    name: str, ordinal: int, octets: bytes, asked: Asked = EVERYTHING
) -> Iterator[pa.RecordBatch]:
    """The rows of a segment."""
    survey = SegmentSurvey(name, octets)
    for unit in units(survey.segment, survey.blocks(), PART_RECORDS):
        folding = folded(unit, asked.late_ms) if asked.fold else nothing(unit)
        place = (ordinal, int(unit.rows["sequence"][0]))
        if asked.only is None:
            yield from _records(unit, ~folding.alone, place)
            yield row_about(place, _lists(unit, folding))
        else:
            message = unit.column("message")
            wanted = folding.alone & np.isin(message, asked.only)
            if asked.whole is not None:
                wanted |= of_messages(unit) & np.isin(message, asked.whole)
            yield from _records(unit, wanted, place)
    if asked.only is None:
        about = pa.array([survey.row(ordinal, asked.offsets)], PARTS_SCHEMA.field("about").type)
        yield _batch({"about": about}, (ordinal, 0), 1)


def _lists(unit: Unit, folding: Folding) -> dict[str, pa.Array]:
    """What is said of a unit, besides its records."""
    published = from_clients(unit)
    return {
        "sums": sums(unit),
        "folded": words_of(unit, folding.alone),
        "published": _published(unit, published),
        "moves": moves(unit),
        "waits": pa.concat_arrays([waits(unit, folding), tellings(unit)]),
        "ranges": open_ranges(unit, published),
    }


def _records(unit: Unit, which: Columns, place: tuple[int, int]) -> Iterator[pa.RecordBatch]:
    wanted = np.flatnonzero(which)
    for start in range(0, len(wanted), BATCH_RECORDS):
        keep = wanted[start : start + BATCH_RECORDS]
        columns = dict(zip(RECORDS_SCHEMA.names, record_columns(unit, keep), strict=True))
        yield _batch(columns, place, len(keep))


def row_about(place: tuple[int, int], lists: dict[str, pa.Array]) -> pa.RecordBatch:
    """The row about a part."""
    columns = {
        name: pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
        for name, values in lists.items()
    }
    return _batch(columns, place, 1)


def _batch(columns: Mapping[str, pa.Array], place: tuple[int, int], length: int) -> pa.RecordBatch:
    placed = dict(columns)
    for name, value in zip(("ordinal", "part"), place, strict=True):
        placed[name] = pa.array(np.full(length, value, dtype=np.int64))
    return pa.RecordBatch.from_arrays(
        [
            placed[field.name] if field.name in placed else pa.nulls(length, field.type)
            for field in PARTS_SCHEMA
        ],
        schema=PARTS_SCHEMA,
    )


def words_of(unit: Unit, these: Columns) -> pa.Array:
    """Values of `WORD`: which messages these records are of."""
    words, bits = folded_words(unit, these)
    return pa.StructArray.from_arrays([pa.array(words), pa.array(bits)], fields=list(WORD))


def _published(unit: Unit, published: Columns) -> pa.Array:
    """The ids that applications gave what they published; not what an upstream gave back."""
    ids = unit.column("id_digest")
    published = published & (ids != 0)
    arrays = [pa.array(ids[published]), pa.array(unit.column("message")[published])]
    return pa.StructArray.from_arrays(arrays, fields=list(PUBLISHED))

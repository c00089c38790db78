"""What a comparison takes from one segment, in one pass: a few columns of records of some kinds.

Behind them is a row about the segment, with `message` below 0, so that the end of the log, and what
of it cannot be read, is known without reading it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from gateway.accounting.segments.columns import (
    BATCH_RECORDS,
    Columns,
    Unit,
    in_words,
    text_of,
    units,
)
from gateway.accounting.segments.survey import SegmentSurvey
from gateway.accounting.steps.messages import FROM_UPSTREAM
from gateway.audit.schema import Kind

AT: Final = " at "  # between address and upstream, in where a link leads to
ABOUT: Final = pa.struct(  # of `survey.SEGMENTS_SCHEMA`
    [
        *((name, pa.int64()) for name in ("ordinal", "schema", "records")),
        *((name, pa.int64()) for name in ("first_sequence", "last_sequence")),
        *((name, pa.int64()) for name in ("first_time_ms", "last_time_ms")),
        *((name, pa.bool_()) for name in ("stopped", "flawed")),
        ("log", pa.string()),
    ]
)
_NUMBERS: Final = ("incarnation", "time_ms", "message", "position", "link")
_DIGESTS: Final = ("id_digest", "body_digest")
_SHORT: Final = (
    *(("kind", pa.int8()), ("outcome", pa.int8())),
    *(("flags", pa.int16()), ("reason", pa.int16())),
)
COMPARABLE_SCHEMA: Final = pa.schema(
    [
        *((name, pa.int64()) for name in (*_NUMBERS, *_DIGESTS)),
        *_SHORT,
        ("node", pa.string()),
        ("upstream", pa.string()),  # that a message came from, or that a link leads to
        ("about", ABOUT),
    ]
)


def comparable_batches(
    name: str, ordinal: int, octets: bytes, kinds: frozenset[int]
) -> Iterator[pa.RecordBatch]:
    """The rows of a segment."""
    survey = SegmentSurvey(name, octets)
    wanted = np.array(sorted(kinds), dtype=np.int8)
    for unit in units(survey.segment, survey.blocks(), BATCH_RECORDS):
        yield _records(unit, np.isin(unit.rows["kind"], wanted))
    row = survey.row(ordinal)
    about = pa.array([{field.name: row[field.name] for field in ABOUT}], ABOUT)
    yield _batch({"message": pa.array([-1 - ordinal]), "about": about}, 1)


def _records(unit: Unit, keep: Columns) -> pa.RecordBatch:
    length = int(np.count_nonzero(keep))
    columns = {
        name: pa.array(unit.column(name)[keep])
        for name in (*_NUMBERS[1:], *_DIGESTS, *(name for name, _type in _SHORT))
    }
    columns["incarnation"] = pa.array(np.full(length, unit.incarnation, dtype=np.int64))
    columns["node"] = in_words(unit.column("node")[keep], unit.texts)
    columns["upstream"] = _upstreams(unit, keep)
    return _batch(columns, length)


def _upstreams(unit: Unit, keep: Columns) -> pa.Array:
    """Of messages that came from one and links that lead to one: which."""
    kinds = unit.column("kind")[keep]
    exchange, peer = unit.column("exchange")[keep], unit.column("peer")[keep]
    came, attached = kinds == Kind.RECEIVED, kinds == Kind.LINK_ATTACHED
    numbers = np.where(came, exchange, np.where(attached, peer, 0))
    different, places = np.unique(numbers, return_inverse=True)
    told = [_upstream(text_of(int(number), unit.texts) or "") for number in different]
    return pa.array(told, pa.string()).take(pa.array(places.reshape(-1)))


def _upstream(text: str) -> str | None:
    if text.startswith(FROM_UPSTREAM):
        return text.removeprefix(FROM_UPSTREAM)
    where, at, name = text.rpartition(AT)
    return name if at and where.startswith("link ") else None


def _batch(columns: dict[str, pa.Array], length: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            columns[field.name] if field.name in columns else pa.nulls(length, field.type)
            for field in COMPARABLE_SCHEMA
        ],
        schema=COMPARABLE_SCHEMA,
    )

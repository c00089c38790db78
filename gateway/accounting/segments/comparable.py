"""What a comparison takes from one segment, in one pass: messages that came, deliveries that left.

The records of a message, or of a delivery, are brought together here, as far as they are in one
unit of a segment: a row has what they say. What is `open` may have records elsewhere, without which
it says little; `logs` brings those rows together, too.

Behind them is a row about the segment, with `message` below 0, so that the end of the log, and what
of it cannot be read, is known without reading it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from zlib import crc32

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
from gateway.accounting.segments.parts import PART_RECORDS
from gateway.accounting.segments.survey import SegmentSurvey
from gateway.accounting.steps.messages import FROM_UPSTREAM
from gateway.audit.schema import Flag, Kind, Outcome, Reason

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
COMPARABLE_SCHEMA: Final = pa.schema(
    [
        ("message", pa.int64()),
        ("open", pa.bool_()),
        *((name, pa.int64()) for name in ("id_digest", "surely", "at_most")),
        *((name, pa.int64()) for name in ("time_ms", "body_digest")),
        *((name, pa.int64()) for name in ("incarnation", "link", "position")),  # of a delivery
        ("node", pa.int64()),  # of it, a digest: its queue, to tell it apart
        ("nodes", pa.list_(pa.string())),  # if they are asked for
        ("upstream", pa.string()),  # that a link leads to, of which this row is
        ("about", ABOUT),
    ]
)
_LEAST: Final = np.iinfo(np.int64).min
_GREATEST: Final = np.iinfo(np.int64).max
_GROUP_SHIFT: Final = 32  # above the number of a name
_TURNED_AWAY: Final = (Kind.REFUSED, Kind.ROLLED_BACK, Kind.UNROUTABLE)


class Sought(NamedTuple):
    """What is compared of a log.

    Attributes:
        left: deliveries that left; else messages that were received.
        upstream: of these, what came from it; "": from publishers.
        queues: it is also asked of which queues.
    """

    left: bool = False
    upstream: str = ""
    queues: bool = False


def comparable_batches(
    name: str, ordinal: int, octets: bytes, sought: Sought
) -> Iterator[pa.RecordBatch]:
    """The rows of a segment."""
    survey = SegmentSurvey(name, octets)
    for unit in units(survey.segment, survey.blocks(), PART_RECORDS):
        if sought.left:
            yield _links(unit)
        rows = _deliveries(unit, sought) if sought.left else _messages(unit, sought)
        for start in range(0, rows.num_rows, BATCH_RECORDS):
            yield rows.slice(start, BATCH_RECORDS)
    row = survey.row(ordinal)
    about = pa.array([{field.name: row[field.name] for field in ABOUT}], ABOUT)
    yield _batch({"message": pa.array([-1 - ordinal]), "about": about}, 1)


class _Together:
    """Records of a unit in groups, by what is alike in them; `order`: each group's in a row."""

    def __init__(self, unit: Unit, which: Columns, *alike: str) -> None:
        self.unit = unit
        places = np.flatnonzero(which)
        keys = [unit.column(name)[places] for name in alike]
        order = np.lexsort(keys[::-1])
        begins = np.zeros(len(order), dtype=bool)
        begins[:1] = True
        for key in keys:
            ordered = key[order]
            begins[1:] |= ordered[1:] != ordered[:-1]
        self.order = places[order]
        self.starts = np.flatnonzero(begins)
        self.groups = np.cumsum(begins) - 1

    def column(self, name: str) -> Columns:
        return self.unit.column(name)[self.order]

    def first(self, name: str) -> Columns:
        """Of each group what is alike in it."""
        return self.column(name)[self.starts].astype(np.int64)

    def sum(self, these: Columns) -> Columns:
        """How many of each group are these."""
        return self._over(np.add, these.astype(np.int64))

    def least(self, name: str, these: Columns) -> Columns:
        values = np.where(these, self.column(name).astype(np.int64), _GREATEST)
        return self._over(np.minimum, values)

    def most(self, name: str, these: Columns) -> Columns:
        values = np.where(these, self.column(name).astype(np.int64), _LEAST)
        return self._over(np.maximum, values)

    def _over(self, way: np.ufunc, values: Columns) -> Columns:
        return way.reduceat(values, self.starts) if len(values) else values


def _messages(unit: Unit, sought: Sought) -> pa.RecordBatch:
    """Each message that is asked for; of one that was turned away it is not sure that it counts."""
    kind = unit.rows["kind"]
    which = np.isin(kind, (*_TURNED_AWAY, Kind.ENTERED) if sought.queues else _TURNED_AWAY)
    which |= (kind == Kind.RECEIVED) & np.isin(unit.column("exchange"), _from(unit, sought))
    of = _Together(unit, which, "message")
    kind = of.column("kind")
    came = kind == Kind.RECEIVED
    elsewhere = (kind == Kind.UNROUTABLE) & (of.column("reason") == Reason.ALTERNATE_EXCHANGE)
    turned_away = np.isin(kind, _TURNED_AWAY) & ~elsewhere
    there = of.sum(came) > 0
    columns = {
        "message": pa.array(of.first("message")),
        "open": pa.array(~there),
        "surely": pa.array((of.sum(turned_away) == 0).astype(np.int64)),
        "at_most": pa.array(np.ones(len(there), dtype=np.int64), mask=~there),
        **_values(of, came, there),
    }
    if sought.queues:
        at = ((kind == Kind.ENTERED) & (of.column("flags") & int(Flag.REROUTED) == 0)) | (
            kind == Kind.REFUSED
        )
        columns["nodes"] = _nodes(of, at)
    return _batch(columns, len(there))


def _deliveries(unit: Unit, sought: Sought) -> pa.RecordBatch:
    """Each delivery of a copy by one link; it surely left if it was accepted."""
    kind, flags = unit.rows["kind"], unit.rows["flags"]
    which = ((kind == Kind.SENT) | (kind == Kind.SETTLED)) & (flags & int(Flag.COPY) == 0)
    of = _Together(unit, which, "message", "link", "position", "node")
    sent = of.column("kind") == Kind.SENT
    settled = of.column("flags") & int(Flag.SETTLED) != 0
    accepted = of.column("outcome") == Outcome.ACCEPTED
    times = of.sum(sent)
    surely = of.sum(np.where(sent, settled, accepted)) > 0
    columns = {name: pa.array(of.first(name)) for name in ("message", "link", "position")} | {
        "incarnation": pa.array(np.full(len(times), unit.incarnation, dtype=np.int64)),
        "open": pa.array(~surely | (times == 0)),
        "node": pa.array(_digests(of.first("node"), unit.texts)),
        "surely": pa.array(surely.astype(np.int64)),
        "at_most": pa.array(times, mask=times == 0),
        **_values(of, sent, times > 0),
    }
    if sought.queues:
        first = np.zeros(len(of.order), dtype=bool)
        first[of.starts] = True
        columns["nodes"] = _nodes(of, first)
    return _batch(columns, len(times))


def _values(of: _Together, these: Columns, there: Columns) -> dict[str, pa.Array]:
    """What these records say of a message; nothing where there are none of them."""
    values = {
        "id_digest": of.most("id_digest", these),
        "time_ms": of.least("time_ms", these),
        "body_digest": of.most("body_digest", these),
    }
    return {name: pa.array(column, mask=~there) for name, column in values.items()}


def _nodes(of: _Together, these: Columns) -> pa.Array:
    """Of each group the different queues that these records name."""
    named = of.column("node").astype(np.int64)
    these = these & (named > 0)
    pairs = np.unique((of.groups[these] << _GROUP_SHIFT) | named[these])
    groups, nodes = pairs >> _GROUP_SHIFT, pairs & ((1 << _GROUP_SHIFT) - 1)
    ends = np.searchsorted(groups, np.arange(len(of.starts) + 1))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), in_words(nodes, of.unit.texts))


def _digests(numbers: Columns, texts: dict[int, str]) -> Columns:
    """Of names: a number may be that of another one in another segment."""
    different, places = np.unique(numbers, return_inverse=True)
    names = [(text_of(int(number), texts) or "").encode() for number in different]
    return np.array([crc32(name) for name in names], dtype=np.int64)[places.reshape(-1)]


def _from(unit: Unit, sought: Sought) -> list[int]:
    """The numbers of exchanges by which comes what is asked for."""
    received = unit.column("exchange")[unit.rows["kind"] == Kind.RECEIVED]
    numbers = np.unique(received).tolist()
    texts = {number: text_of(number, unit.texts) or "" for number in numbers}
    if sought.upstream:
        asked = FROM_UPSTREAM + sought.upstream
        return [number for number, text in texts.items() if text == asked]
    return [number for number, text in texts.items() if not text.startswith(FROM_UPSTREAM)]


def _links(unit: Unit) -> pa.RecordBatch:
    """Those that lead to an upstream, and to which."""
    attached = unit.rows["kind"] == Kind.LINK_ATTACHED
    links, peers = unit.column("link")[attached], unit.column("peer")[attached]
    told = {int(number): _upstream(text_of(int(number), unit.texts) or "") for number in set(peers)}
    found = {
        (int(link), name) for link, peer in zip(links, peers, strict=True) if (name := told[peer])
    }
    leads = sorted(found)
    columns = {
        "message": pa.array([0] * len(leads), pa.int64()),
        "incarnation": pa.array([unit.incarnation] * len(leads), pa.int64()),
        "link": pa.array([link for link, _name in leads], pa.int64()),
        "upstream": pa.array([name for _link, name in leads], pa.string()),
    }
    return _batch(columns, len(leads))


def _upstream(text: str) -> str | None:
    where, at, name = text.rpartition(AT)
    return name if at and where.startswith("link ") else None


def _batch(columns: Mapping[str, pa.Array], length: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            columns[field.name] if field.name in columns else pa.nulls(length, field.type)
            for field in COMPARABLE_SCHEMA
        ],
        schema=COMPARABLE_SCHEMA,
    )

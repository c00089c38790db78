"""What charts are drawn from, of one unit: counts by time, and how long copies and clients waited.

Nothing here decides anything: it is as exact as a chart needs. Of what is not folded, the waiting
times are those that `telling.figures` finds in its records. Of publishers who are told in another
unit than the one that has their message it is not known how long they waited.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from gateway.accounting.segments.columns import Columns, Unit, in_words
from gateway.accounting.segments.folding import Folding
from gateway.accounting.segments.summing import groups_of
from gateway.accounting.steps.ledger import TOLD_APART
from gateway.accounting.telling.figures import CLASSES, span_ms
from gateway.audit.schema import Flag, Kind

MOVES: Final = pa.struct(
    [
        ("incarnation", pa.int64()),
        ("at_ms", pa.int64()),
        ("node", pa.string()),  # empty; null where there is none
        ("kind", pa.int8()),
        ("outcome", pa.int8()),
        ("flags", pa.int16()),
        ("reason", pa.int16()),
        ("records", pa.int64()),
    ]
)
WAITS: Final = pa.struct(
    [
        ("node", pa.string()),
        ("exchange", pa.string()),
        ("step", pa.int32()),  # the class of times
        ("number", pa.int64()),
        ("worst", pa.int64()),
        ("told", pa.bool_()),  # until a publisher was told; else until the copy was settled
    ]
)


def moves(unit: Unit) -> pa.Array:
    """A value of `MOVES` for each different thing that happened in each span of the unit."""
    times = unit.column("time_ms")
    ends = int(times[0]), int(times[-1])  # of which a clock that is wrong in between is no matter
    times = np.clip(times, min(ends), max(ends))
    length = span_ms(min(ends), max(ends))
    keys = {name: unit.column(name) for name in ("kind", "outcome", "reason")}
    keys["flags"] = unit.column("flags") & TOLD_APART
    keys["at_ms"] = times // length * length
    named = unit.column("node") != 0
    _different, firsts, counts = np.unique(
        groups_of([*keys.values(), named.astype(np.int8)]), return_index=True, return_counts=True
    )
    values = {name: key[firsts] for name, key in keys.items()}
    values |= {"incarnation": np.full(len(firsts), unit.incarnation), "records": counts}
    arrays = [
        pa.array([("" if name else None) for name in named[firsts]], pa.string())
        if field.name == "node"
        else pa.array(values[field.name]).cast(field.type)
        for field in MOVES
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(MOVES))


def waits(unit: Unit, folding: Folding) -> pa.Array:
    """A value of `WAITS` for each queue, exchange and class of times, of folded copies.

    From when a copy entered until somebody has settled it.
    """
    kind, flags, times = unit.column("kind"), unit.column("flags"), unit.column("time_ms")
    first, last = folding.first, folding.last
    settled = np.isin(kind[last], (Kind.SETTLED, Kind.SENT)) & (kind[first] == Kind.ENTERED)
    settled &= flags[first] & int(Flag.UNQUEUED) == 0
    first, last = first[settled], last[settled]
    nodes, exchanges = unit.column("node")[first], unit.column("exchange")[first]
    return _by_class(unit, nodes, exchanges, times[last] - times[first], told=False)


def tellings(unit: Unit) -> pa.Array:
    """A value of `WAITS` for each exchange and class of times, of messages.

    From when a message came until its publisher was told how it ended. Ranges of one link do not
    overlap: a message needs only the last one that begins at it or before.
    """
    kind = unit.column("kind")
    ranges, came = np.flatnonzero(kind == Kind.CONFIRMED), np.flatnonzero(kind == Kind.RECEIVED)
    rows = np.concatenate([ranges, came])
    link, message = unit.column("link")[rows], unit.column("message")[rows]
    order = np.lexsort((np.arange(len(rows)) >= len(ranges), message, link))
    is_range = order < len(ranges)
    before = np.maximum.accumulate(np.where(is_range, np.arange(len(order)), -1))
    asked = np.flatnonzero(~is_range & (before >= 0))
    one, its = order[asked], order[before[asked]]
    in_it = (link[one] == link[its]) & (message[one] <= unit.column("position")[rows[its]])
    one, its = rows[one[in_it]], rows[its[in_it]]
    times = unit.column("time_ms")
    nowhere = np.zeros(len(one), dtype=np.int32)
    exchanges = unit.column("exchange")[one]
    return _by_class(unit, nowhere, exchanges, times[its] - times[one], told=True)


def _by_class(
    unit: Unit, nodes: Columns, exchanges: Columns, waited: Columns, *, told: bool
) -> pa.Array:
    forward = waited >= 0
    nodes, exchanges, waited = nodes[forward], exchanges[forward], waited[forward]
    steps = np.rint(np.log(waited + 1) * CLASSES).astype(np.int32)
    _different, firsts, places, counts = np.unique(
        groups_of([nodes, exchanges, steps]),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    worst = np.zeros(len(firsts), dtype=np.int64)
    np.maximum.at(worst, places.reshape(-1), waited)
    arrays = [
        in_words(nodes[firsts], unit.texts),
        in_words(exchanges[firsts], unit.texts),
        pa.array(steps[firsts]),
        pa.array(counts),
        pa.array(worst),
        pa.array(np.full(len(firsts), told)),
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(WAITS))

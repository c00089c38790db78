"""What charts are drawn from, of one unit: counts by time, and how long copies waited.

Nothing here decides anything: it is as exact as a chart needs. Of what is not folded, the waiting
times are those that `telling.figures` finds in its records.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from gateway.accounting.segments.columns import Unit, in_words
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
    ]
)


def moves(unit: Unit) -> pa.Array:
    """A value of `MOVES` for each different thing that happened in each span of the unit."""
    times = unit.column("time_ms")
    length = span_ms(int(times.min()), int(times.max()))
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
    waited = times[last] - times[first]
    first, waited = first[waited >= 0], waited[waited >= 0]
    steps = np.rint(np.log(waited + 1) * CLASSES).astype(np.int32)
    nodes, exchanges = unit.column("node")[first], unit.column("exchange")[first]
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
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(WAITS))

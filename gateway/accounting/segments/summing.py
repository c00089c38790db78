"""The ledger of one unit of a segment: its records by what happened, summed up.

`steps.ledger` says what the sums are for; those of several units are added up there.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from gateway.accounting.segments.columns import Columns, Unit, entry_mix, in_words
from gateway.accounting.steps.ledger import COUNTED_IN_COPIES, TOLD_APART

SUMS: Final = pa.struct(
    [
        ("incarnation", pa.int64()),
        ("window", pa.int64()),
        ("node", pa.string()),
        ("exchange", pa.string()),
        ("link", pa.int64()),
        ("kind", pa.int8()),
        ("outcome", pa.int8()),
        ("flags", pa.int16()),  # those that the ledger tells apart
        ("reason", pa.int16()),
        ("records", pa.int64()),
        ("count", pa.int64()),  # copies that were made, else records
        ("octets", pa.int64()),
        ("mix", pa.int64()),
        ("first_sequence", pa.int64()),
        ("last_sequence", pa.int64()),
    ]
)
_DENSE: Final = 1 << 24  # below, numbers are made dense by a table, not by sorting


def sums(unit: Unit) -> pa.Array:
    """A value of `SUMS` for each different thing that happened."""
    keys = {
        name: unit.column(name)
        for name in ("kind", "outcome", "reason", "node", "exchange", "link")
    }
    keys["flags"] = unit.column("flags") & TOLD_APART
    keys["window"] = unit.windows
    groups = groups_of(list(keys.values()))
    small = groups.astype(np.uint16) if groups.max(initial=0) < 1 << 16 else groups
    order = np.argsort(small, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    firsts = order[starts]  # of each group a record of it
    sequence = unit.column("sequence")[order]
    copies = np.isin(keys["kind"], COUNTED_IN_COPIES)
    counted = np.where(copies, unit.column("copies"), 1).astype(np.int64)
    mixes = entry_mix(unit.column("message"), unit.column("position"))
    names = ("node", "exchange")
    values = {
        "incarnation": np.full(len(starts), unit.incarnation),
        **{name: key[firsts] for name, key in keys.items() if name not in names},
        "records": np.diff(np.append(starts, len(order))),
        "count": np.add.reduceat(counted[order], starts),
        "octets": np.add.reduceat(unit.column("size")[order], starts),
        "mix": np.bitwise_xor.reduceat(mixes[order], starts),
        "first_sequence": np.minimum.reduceat(sequence, starts),
        "last_sequence": np.maximum.reduceat(sequence, starts),
    }
    arrays = [
        in_words(keys[field.name][firsts], unit.texts)
        if field.name in names
        else pa.array(values[field.name]).cast(field.type)
        for field in SUMS
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(SUMS))


def groups_of(keys: list[Columns]) -> Columns:
    """For each record a number, the same where all keys are the same."""
    groups = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        dense, different = _dense(key.astype(np.int64) - int(key.min(initial=0)))
        groups, _different = _dense(groups * different + dense)
    return groups


def _dense(numbers: Columns) -> tuple[Columns, int]:
    """The same numbers as others without great gaps, and below what they are."""
    top = int(numbers.max(initial=0)) + 1
    odd = int(numbers.min(initial=0)) < 0  # they are too far from each other to be subtracted
    if top <= 256 and not odd:
        return numbers, top
    if top > _DENSE or odd:
        different, places = np.unique(numbers, return_inverse=True)
        return places.reshape(-1), len(different)
    there = np.zeros(top, dtype=bool)
    there[numbers] = True
    table = np.cumsum(there) - 1
    return table[numbers], int(table[-1]) + 1

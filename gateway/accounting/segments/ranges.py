"""What publishers of one unit were told, held against what came by their links there.

A `confirmed` record names a range of one link's messages by the first and the last, and how many
there are: all that came by the link in between, but for what is part of a transaction. Where the
unit has just these, and no other range of it has any of them, nothing is left to ask. What is left
is said for all units together (`steps.confirmed`): ranges that are of messages of other units, or
not right, or in front of one of theirs, and messages of which nobody was told here. Of a link they
are the last ones, one by one, and the others as one span: its publisher hears of these soon, or
never.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from gateway.accounting.segments.columns import Columns, Unit, text_of
from gateway.accounting.steps.messages import FROM_UPSTREAM
from gateway.audit.schema import Kind

# A range; or with sequence 0 messages: one, `messages` being the record by which it came (0:
# earlier versions did not say), or all that are not told one by one from the first to the last.
RANGES: Final = pa.struct(
    [
        ("incarnation", pa.int64()),
        ("link", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("messages", pa.int64()),
        ("sequence", pa.int64()),
    ]
)
UNTOLD_MAX: Final = 1 << 14  # messages of a unit that are told one by one; of a link its share


def from_clients(unit: Unit) -> Columns:
    """Of each record, whether a message came by it, and from no upstream."""
    exchange, received = unit.column("exchange"), unit.column("kind") == Kind.RECEIVED
    given_back = [
        number
        for number in np.unique(exchange[received]).tolist()
        if (text_of(number, unit.texts) or "").startswith(FROM_UPSTREAM)
    ]
    return received & ~np.isin(exchange, given_back)


def open_ranges(unit: Unit, published: Columns) -> pa.Array:
    """Values of `RANGES`: what of the unit is not right within it; `published`: `from_clients`."""
    rows = unit.rows  # of which only a few are looked at
    link, message, last, copies = (rows[name] for name in ("link", "message", "position", "copies"))
    told = np.flatnonzero(unit.column("kind") == Kind.CONFIRMED)
    came = np.flatnonzero(published)
    came = came[(rows["transaction"][came] == 0) & (link[came] != 0)]
    keys, firsts, lasts = _keys(
        (link[came], message[came]), (link[told], message[told]), (link[told], last[told])
    )
    order = np.argsort(keys, kind="stable")
    came, keys = came[order], keys[order]
    sequence = unit.column("sequence")
    begin: Columns = np.searchsorted(keys, firsts, "left")
    end: Columns = np.searchsorted(keys, lasts, "right")
    right = (end > begin) & (end - begin == copies[told])
    right[right] = (keys[begin[right]] == firsts[right]) & (keys[end[right] - 1] == lasts[right])
    right[right] = _last_of(sequence[came], begin[right], end[right]) < sequence[told[right]]
    several = _covered(begin[right], end[right], len(keys)) > 1
    before = np.concatenate(([0], np.cumsum(several)))
    right[right] = before[end[right]] == before[begin[right]]
    wrong = told[~right]
    untold = came[_covered(begin[right], end[right], len(keys)) == 0]
    one, spans = _shortened(link[untold], message[untold])
    nothing = np.zeros(len(one) + len(spans[0]), dtype=np.int64)
    columns = {
        "incarnation": np.full(len(wrong) + len(nothing), unit.incarnation),
        "link": np.concatenate((link[wrong], link[untold[one]], spans[0])),
        "first": np.concatenate((message[wrong], message[untold[one]], spans[1])),
        "last": np.concatenate((last[wrong], message[untold[one]], spans[2])),
        "messages": np.concatenate((copies[wrong], sequence[untold[one]], nothing[len(one) :])),
        "sequence": np.concatenate((sequence[wrong], nothing)),
    }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in RANGES]
    return pa.StructArray.from_arrays(arrays, fields=list(RANGES))


def _keys(*pairs: tuple[Columns, Columns]) -> list[Columns]:
    """Numbers that are in the order of link and message."""
    links, messages = (np.sort(np.concatenate(each)) for each in zip(*pairs, strict=True))
    return [
        (np.searchsorted(links, link) << 32) | np.searchsorted(messages, message)
        for link, message in pairs
    ]


def _last_of(values: Columns, begin: Columns, end: Columns) -> Columns:
    """The greatest value in each of these ranges of places, none of which is empty."""
    if not len(begin):
        return begin
    bounds = np.stack((begin, end), axis=1).reshape(-1)
    return np.maximum.reduceat(np.append(values, 0), bounds)[::2]


def _covered(begin: Columns, end: Columns, length: int) -> Columns:
    """For each of so many places, how many of these ranges it is in."""
    steps = np.zeros(length + 1, dtype=np.int64)
    np.add.at(steps, begin, 1)
    np.add.at(steps, end, -1)
    return np.cumsum(steps)[:-1]


def _shortened(links: Columns, messages: Columns) -> tuple[Columns, tuple[Columns, ...]]:
    """Of messages in the order of their links, which are told one by one, and spans of the rest.

    A span: link, first and last.
    """
    begins = np.flatnonzero(np.append(True, links[1:] != links[:-1])[: len(links)])
    ends = np.append(begins[1:], len(links))[: len(begins)]
    few = UNTOLD_MAX // max(len(begins), 1)
    behind = np.repeat(ends, ends - begins) - np.arange(len(links))
    rest = np.maximum(ends - begins - few, 0)
    some = rest > 0
    at, last = begins[some], begins[some] + rest[some] - 1
    return np.flatnonzero(behind <= few), (links[at], messages[at], messages[last])

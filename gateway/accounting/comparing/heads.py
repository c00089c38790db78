"""Which columns a book has, as it begins: what it lacks is told before Spark is started.

A name that ends with `.csv` or `.csv.gz` is CSV with a line of names, in UTF-8; else it is Parquet.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gateway.accounting.comparing.arguments import Ledger
from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location

CSV: Final = (".csv", ".csv.gz")
ID, TYPE, QUEUE, TIME, COUNT = "message_id", "id_type", "queue", "time", "count"
_HEAD_OCTETS: Final = 64 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS  # as zlib is told of it


def is_csv(where: Location) -> bool:
    """By its name."""
    return where.name.endswith(CSV)


def check(ledger: Ledger, queues: Sequence[str]) -> str:
    """What is wrong with how a book begins; empty: nothing that can be seen. Raises OSError."""
    if is_folder(ledger.where):
        return ""  # which Spark puts together
    if not is_csv(ledger.where):
        return lacking(ledger, queues, _parquet(ledger.where))
    names = _csv(ledger)
    return lacking(ledger, queues, names) if names else f"{ledger.where} has no line of names"


def lacking(ledger: Ledger, queues: Sequence[str], has: Sequence[str]) -> str:
    """Which column is not among those that it has, in a sentence; empty: none.

    `queues`: those of it that are asked for.
    """
    needed = {QUEUE, COUNT} if ledger.counts else {ID}
    needed |= {QUEUE} if queues else set()
    for name, column in ledger.columns.items():
        if (name in needed or column != name) and column not in has:
            return f"{ledger.where} has no column {column!r}: it has {', '.join(has) or 'none'}"
    return ""


def is_folder(where: Location) -> bool:
    """Of several files."""
    return where.is_dir() if isinstance(where, Path) else where.is_folder()


def _parquet(where: Location) -> list[str]:
    from pyarrow import ArrowException, parquet

    try:
        return list(parquet.read_schema(location.opened(where)).names)
    except ArrowException:
        raise OSError(0, "it is no Parquet", str(where)) from None


def _csv(ledger: Ledger) -> list[str]:
    """As Spark reads them; of a line that goes on behind what is looked at, as far as it is."""
    octets = location.head(ledger.where, _HEAD_OCTETS)
    if ledger.where.name.endswith(".gz"):
        octets = _unzipped(octets, str(ledger.where))
    lines = octets.decode(errors="replace").removeprefix("\ufeff").replace("\r", "\n").split("\n")
    rows = csv.reader([line for line in lines if line.strip()][:1], delimiter=ledger.delimiter)
    return next(rows, [])


def _unzipped(octets: bytes, name: str) -> bytes:
    try:
        return zlib.decompressobj(_GZIP).decompress(octets, _HEAD_OCTETS)
    except zlib.error:
        raise OSError(0, "it is no gzip", name) from None

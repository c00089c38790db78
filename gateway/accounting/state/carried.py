"""Which records are carried on to the next run: those of messages of which more may come.

What is complete and in order over several parts of the log is folded as it is within one: by the
same rules, over the records that no part has folded, when they are read again.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.segments.columns import DTYPES, RECORDS_SCHEMA, Columns, Unit
from gateway.accounting.segments.drawing import waits
from gateway.accounting.segments.folding import folded, nothing
from gateway.accounting.segments.parts import PARTS_SCHEMA, row_about, words_of
from gateway.accounting.steps.strays import ALL
from gateway.audit.schema import FIELDS, NAME_FIELDS, RECORD_OCTETS

DAMAGED: Final = "is damaged"
# A flipped bit would be another record. Written by Spark as usual, but looked at by nobody.
WRITTEN: Final = {"parquet.page.write-checksum.enabled": "true"}
VERIFIED: Final = {"parquet.page.verify-checksum.enabled": "true"}
PLACE: Final = ("ordinal", "part")
CARRIED_SCHEMA: Final = pa.schema(
    [PARTS_SCHEMA.field(name) for name in (*RECORDS_SCHEMA.names, *PLACE)]
)


def carried(records: DataFrame) -> DataFrame:
    """Records as they are left for the next run: all of a message in one partition, in order."""
    return _without_bends(records).select(*CARRIED_SCHEMA.names).sortWithinPartitions("sequence")


def _without_bends(records: DataFrame) -> DataFrame:
    """Marks are taken from sends that stand between others that ascend, as if seen together.

    They stay with what overtook or was overtaken, and with the last one of each outlet and lane of
    the last run.
    """
    sends = Window.partitionBy("incarnation", "node", "link", "copies").orderBy("sequence")
    before, behind = F.lag("position").over(sends), F.lead("position").over(sends)
    last = F.max("incarnation").over(Window.partitionBy())
    marked = records.where("bends").select(
        "sequence",
        (
            (F.col("position") < before)
            | (behind < F.col("position"))
            | (behind.isNull() & (F.col("incarnation") == last))
        ).alias("stays"),
    )
    stays = marked.where("stays").select("sequence", F.lit(True).alias("stays")).distinct()
    joined = records.join(F.broadcast(stays), "sequence", "left")
    return joined.withColumn("bends", F.coalesce("stays", F.lit(False))).drop("stays")


def carried_batches(path: Location, late_ms: int, *, fold: bool = True) -> Iterator[pa.RecordBatch]:
    """Rows of parts from one file of what `carried` has left; its folder has a number for name."""
    names = CARRIED_SCHEMA.names
    with checked(path) as file:
        table = file.read(columns=names).select(names).cast(CARRIED_SCHEMA)
    yield from folded_again(table, part_of(path.parent.name), late_ms, fold=fold)


@contextmanager
def checked(path: Location) -> Iterator[parquet.ParquetFile]:
    """A table of a state, whose pages are held against their checksums. Raises OSError."""
    try:
        yield parquet.ParquetFile(location.opened(path), page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        if getattr(error, "filename", None):  # it cannot be opened at all
            raise
        raise OSError(errno.EIO, DAMAGED, str(path)) from None


def part_of(folder: str) -> int:
    """The part that is made of what was left in a folder: a number that no other has."""
    return -int(folder)


def folded_again(
    table: pa.Table, part: int, late_ms: int, *, fold: bool = True
) -> Iterator[pa.RecordBatch]:
    """Rows of parts from records in the order of the log, with all that there are of a message."""
    unit = unit_of(table)
    folding = folded(unit, late_ms) if fold else nothing(unit)
    kept = table.filter(pa.array(~folding.alone))
    columns = [
        kept.column(field.name) if field.name in kept.schema.names else _nulls(field, len(kept))
        for field in PARTS_SCHEMA
    ]
    yield from pa.Table.from_arrays(columns, schema=PARTS_SCHEMA).to_batches()
    lists = {"folded": words_of(unit, folding.alone), "waits": waits(unit, folding)}
    yield row_about((ALL, part), lists)


def _nulls(field: pa.Field, length: int) -> pa.Array:
    return pa.nulls(length, field.type)


def unit_of(table: pa.Table) -> Unit:
    """Records as they were read, of several segments and runs."""
    rows = np.zeros(len(table), dtype=DTYPES[RECORD_OCTETS])
    texts: dict[int, str] = {}
    numbers: dict[str, int] = {}
    for field in FIELDS:
        column = table.column(field.name)
        if field.name not in NAME_FIELDS:
            rows[field.name] = column.to_numpy()
            continue
        coded = column.combine_chunks().dictionary_encode()
        names = [
            numbers.setdefault(name, len(numbers) + 1) for name in coded.dictionary.to_pylist()
        ]
        table_of = np.array([*names, 0], dtype=np.int32)  # the last one stands for none
        places = coded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        rows[field.name] = table_of[places]
    texts.update({number: name for name, number in numbers.items()})
    runs = _column(table, "incarnation")
    return Unit(runs, rows, _column(table, "window"), _column(table, "bends"), texts)


def _column(table: pa.Table, name: str) -> Columns:
    return table.column(name).to_numpy()

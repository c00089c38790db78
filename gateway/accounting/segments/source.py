"""The audit log as a Spark data source: `spark.read.format("amqp_gateway_audit").load(directory)`.

One partition a segment. Options: `view` is `records` (default), `segments` (one row a segment, with
what is wrong inside it), `names` (one row a segment, unread), `parts` (all that a reconciliation
takes, in one pass) or `comparable` (the same of a comparison: `left`, `upstream` and `queues` as in
`comparable.Sought`); `kinds` keeps only records of these kinds, as numbers with commas; `offsets`
is a JSON object of segments' numbers, each with the places up to which it is hashed. `after` is the
name of a segment, in front of those that are read, `until` that of the last of them, `first` the
ordinal of the first, and `carried` a folder with what an earlier run has left of those before
(`state.carried`). `only` is a JSON object of the names of segments that alone are read, each with
its ordinal and, of parts, the messages that are wanted of what is folded, and those of which
everything is. Of parts: `late_ms` and `fold` as in `parts.Asked`. With `readStream` segments come
when they are closed (`stream`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.locations.settings import NONE, Settings
from gateway.accounting.segments.columns import RECORDS_SCHEMA, record_batches
from gateway.accounting.segments.comparable import COMPARABLE_SCHEMA, Sought, comparable_batches
from gateway.accounting.segments.parts import PARTS_SCHEMA, Asked, part_batches
from gateway.accounting.segments.stream import AuditStreamReader
from gateway.accounting.segments.survey import SEGMENTS_SCHEMA, segment_row
from gateway.accounting.state.carried import carried_batches
from gateway.accounting.steps.strays import ALL
from gateway.audit.schema import segment_numbers

FORMAT: Final = "amqp_gateway_audit"

Wanted = tuple[int, list[int], list[int]]  # an ordinal; messages: of what is folded, of everything

NAMES_SCHEMA: Final = pa.schema([("segment", pa.string()), ("ordinal", pa.int64())])
_SCHEMAS: Final = {
    "records": RECORDS_SCHEMA,
    "segments": SEGMENTS_SCHEMA,
    "parts": PARTS_SCHEMA,
    "comparable": COMPARABLE_SCHEMA,
    "names": NAMES_SCHEMA,
}


class SegmentPartition(InputPartition):
    """One segment: its path or URI, and its ordinal by file name."""

    def __init__(self, path: str, ordinal: int) -> None:
        super().__init__((path, ordinal))
        self.path = path
        self.ordinal = ordinal


class AuditDataSource(DataSource):
    """See the module.

    Attributes:
        reach: how other machines are reached; no option, since these are shown in plans.
    """

    reach: ClassVar[Settings] = NONE

    @classmethod
    def name(cls) -> str:
        """The short name for `format`."""
        return FORMAT

    def schema(self) -> StructType:
        """Of the chosen view."""
        return from_arrow_schema(self.columns())

    def columns(self) -> pa.Schema:
        """The same, as batches have it."""
        return _SCHEMAS[self.options.get("view", "records")]

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch reader."""
        return self.audit_reader()

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # PySpark's
        """One that gives segments when they are closed."""
        return AuditStreamReader(self.audit_reader())

    def audit_reader(self) -> AuditReader:
        """What reads it, one partition after the other."""
        kinds = self.options.get("kinds", "")
        return AuditReader(
            self.reach,
            self.options.get("view", "records"),
            frozenset(int(kind) for kind in kinds.split(",") if kind),
            Asked(
                late_ms=int(self.options.get("late_ms", "0")),
                fold=self.options.get("fold", "true") == "true",
            ),
            self.options,
        )


class AuditReader(DataSourceReader):
    """Reads whole segments, behind damage too; `options`: those that say which, as JSON mostly."""

    def __init__(
        self,
        reach: Settings,
        view: str,
        kinds: frozenset[int],
        asked: Asked,
        options: Mapping[str, str],
    ) -> None:
        self.reach = reach
        self.directory = options["path"]
        self.view = view
        self.kinds = kinds
        self.asked = asked
        offsets: dict[str, list[int]] = json.loads(options.get("offsets", "{}"))
        self.offsets = {int(number): places for number, places in offsets.items()}
        only = options.get("only")
        self.only: dict[str, Wanted] | None = json.loads(only) if only else None
        self.after = options.get("after", "")
        self.until = options.get("until", "")
        self.first = int(options.get("first", "0"))
        self.carried = options.get("carried", "")
        self.sought = Sought(
            left=options.get("left") == "true",
            upstream=options.get("upstream", ""),
            queues=options.get("queues") == "true",
        )

    def partitions(self) -> list[SegmentPartition]:
        """One for each segment there is now, or of those that are asked for."""
        paths = [
            path
            for path in self.segments()
            if path.name > self.after and (not self.until or path.name <= self.until)
        ]
        only = self.only
        if only is None:
            left = location.tables(self.at(self.carried)) if self.carried else []
            carried = [SegmentPartition(str(path), ALL) for path in left]
            new = [SegmentPartition(str(path), at) for at, path in enumerate(paths, self.first)]
            return [*carried, *new]
        return [
            SegmentPartition(str(path), only[path.name][0]) for path in paths if path.name in only
        ]

    def between(self, after: str, until: str, first: int) -> list[InputPartition]:
        """One for each segment behind `after`, up to `until`; `first`: the ordinal of the first."""
        names = [path for path in self.segments() if after < path.name <= until]
        return [SegmentPartition(str(path), at) for at, path in enumerate(names, first)]

    def segments(self) -> Sequence[Location]:
        """Those that there are now, in order. Raises OSError."""
        return location.segments(self.at(self.directory))

    def at(self, address: str) -> Location:
        """What an address means."""
        return location.at(address, self.reach)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one segment."""
        assert isinstance(partition, SegmentPartition)
        path, ordinal = self.at(partition.path), partition.ordinal
        if self.view == "names":
            yield pa.RecordBatch.from_pylist(
                [{"segment": path.name, "ordinal": ordinal}], schema=NAMES_SCHEMA
            )
            return
        if ordinal == ALL:
            yield from carried_batches(path, self.asked.late_ms, fold=self.asked.fold)
            return
        octets = location.read(path)
        offsets = self.offsets.get(segment_numbers(path.name)[0], [])
        if self.view == "segments":
            yield segment_row(path.name, ordinal, octets, offsets)
        elif self.view == "parts":
            asked = self.asked._replace(offsets=tuple(offsets))
            if self.only is not None:
                _ordinal, folded, whole = self.only[path.name]
                asked = asked._replace(
                    only=np.array(folded, dtype=np.int64), whole=np.array(whole, dtype=np.int64)
                )
            yield from part_batches(path.name, ordinal, octets, asked)
        elif self.view == "comparable":
            yield from comparable_batches(path.name, ordinal, octets, self.sought)
        else:
            yield from record_batches(path.name, octets, self.kinds)


def reaching(settings: Settings) -> type[AuditDataSource]:
    """The data source that reaches other machines so.

    Spark gives it to workers as it is, by value, and shows nothing of what is in it.
    """

    class Reaching(AuditDataSource):
        reach = settings

    return Reaching

"""One log as the job reads it: in one pass, and of what an earlier run has read, what it has left.

`Reading` says which parts the log has and which records are wanted one by one; with a state it
reads new segments alone, and `carry` leaves for the next run what this one has found of those that
are closed. The newest segment may still grow: it is read each time, or left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from gateway.accounting.judging import Evidence
from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.partitions import gathered, makes_one_partition
from gateway.accounting.segments import sealed
from gateway.accounting.segments.columns import RECORDS_SCHEMA
from gateway.accounting.segments.folding import OF_NO_MESSAGE
from gateway.accounting.segments.parts import PARTS_SCHEMA
from gateway.accounting.segments.source import Wanted
from gateway.accounting.segments.view import read
from gateway.accounting.state.carried import VERIFIED, WRITTEN, carried, part_of
from gateway.accounting.state.condensed import brought_together, without_ended, without_repeated
from gateway.accounting.state.folder import (
    REBUILD,
    Covered,
    Folder,
    Said,
    State,
    StateError,
    differences,
)
from gateway.accounting.state.opening import Beginning, Opening, why_none
from gateway.accounting.steps import balance, confirmed, strays
from gateway.accounting.steps.ages import DAY_MS, Bounds
from gateway.accounting.steps.breaks import COLUMNS, BreakClass, as_breaks, with_known
from gateway.accounting.steps.kept import kept
from gateway.accounting.steps.ledger import kind_is
from gateway.accounting.telling import figures
from gateway.audit.let_go import LetGo
from gateway.audit.provenance import Provenance
from gateway.audit.reader import Segment
from gateway.audit.schema import segment_numbers

USED: Final = (*RECORDS_SCHEMA.names, "ordinal", "part")
STRAYS_MAX: Final = 100_000  # above, nothing is folded
SAID_MAX: Final = 8  # folders of a state; more are brought together
IDS_KEPT_MS: Final = DAY_MS  # for so long a state has the ids of what was published
HEAD_OCTETS: Final = 64 * 1024  # the header of a segment is in these


class Reading:
    """One run's reading of one log.

    Attributes:
        log: where it is.
        bounds: what takes too long.
        provenance: what is known of it that is not in it.
        until: the name of its last segment that is read, all of them being closed; "": of it all.
        opening: what a closed book has of what is in front of it; `None`: nothing is needed.
    """

    def __init__(
        self,
        spark: SparkSession,
        log: Location,
        provenance: Provenance,
        bounds: Bounds,
        *,
        fold: bool = True,
        folder: Folder | None = None,
        opening: Opening | None = None,
        until: str = "",
    ) -> None:
        """`fold`: whether messages that are complete in a part are left to its sums.

        `folder`: the state, which is left for the next run, too. `opening`: what this one begins
        with.

        Raises:
            StateError: the state in `folder` cannot be gone on from.
            OSError: the log cannot be read.
        """
        self.spark, self.log = spark, log
        self.provenance, self.bounds = provenance, bounds
        self._fold = fold
        self._keeps = folder is not None
        if folder is None and opening is not None:
            folder = opening.folder
        self._folder = folder
        self.opening = opening
        self.until = until
        paths = location.segments(log)
        self._paths = [path for path in paths if not until or path.name <= until]
        self._state = State() if folder is None else folder.read()
        self._id = _log_id(self._paths)
        self._strays: list[Any] | None = []  # Any: rows of Spark's
        self._gone: set[int] = set()  # messages that were folded of segments that were let go
        if self._state.segments:
            self._check_state()

    def _check_state(self) -> None:
        assert self._folder is not None
        state, where = self._state, self._folder.path
        if state.log != self._id:
            raise StateError(
                f"the state in {where} is of another log, with id {state.log or 'unknown'}; that "
                f"of {self.log} is {self._id or 'unknown'}"
            )
        late = f"--late-after {state.late_ms / 1000:g}"
        if state.late_ms != self.bounds.late_ms and self.opening is not None:
            raise StateError(f"book {self.opening.book.number} was closed with {late}: use that")
        if state.late_ms != self.bounds.late_ms:
            raise StateError(f"the state in {where} was made with {late}: use that, or {REBUILD}")

    def parts(self) -> DataFrame:
        """The log: sums of everything, and the records that are in doubt; each octet read once."""
        state = self._state
        asked = {"after": state.last, "first": str(len(state.segments))}
        if self._folder is not None and state.records:
            asked["carried"] = str(self._folder.path / state.records)
        new = self._parts(offsets=sealed.asked(self.provenance), **asked)
        new = kept(gathered(new))
        for frame in self._before():
            new = new.unionByName(frame)
        return new

    def _before(self) -> list[DataFrame]:
        """What earlier runs have left; of what is old, not the ids of what was published."""
        state = self._state
        if self._folder is None or not state.said:
            return []
        newest = state.said[-1].last_ms
        recent = [each for each in state.said if newest - each.last_ms <= IDS_KEPT_MS]
        old = [each for each in state.said if each not in recent]
        frames = [self._left(*(each.folder for each in recent))]
        if old:
            left = self._left(*(each.folder for each in old))
            nothing = F.lit(None).cast(left.schema["published"].dataType)
            frames.append(left.withColumn("published", nothing))
        return frames

    def _left(self, *folders: str) -> DataFrame:
        assert self._folder is not None
        paths = [str(self._folder.path / name) for name in folders]
        reader = self.spark.read.options(**VERIFIED).schema(from_arrow_schema(PARTS_SCHEMA))
        left = reader.parquet(*paths)
        # Earlier versions have left none: which messages came by a link is not known of these.
        return left.withColumn("ranges", F.coalesce("ranges", F.expr(confirmed.ANY_CAME)))

    def segments(self, parts: DataFrame) -> DataFrame:
        """One row about each segment; those of which anchors ask for hashes are read again."""
        about = parts.where("about is not null").select("about.*")
        asked = {each.head.segment for each in self.provenance.anchors}
        again: dict[str, Wanted] = {
            each.name: (ordinal, [], [])
            for ordinal, each in enumerate(self._state.segments)
            if segment_numbers(each.name)[0] in asked
        }
        if again:
            offsets = sealed.asked(self.provenance)
            options = {"view": "segments", "offsets": offsets, "only": json.dumps(again)}
            anew = read(self.spark, self.log, **options)
            about = about.where(~F.col("segment").isin(list(again))).unionByName(anew)
        return about.coalesce(1)

    def records(self, parts: DataFrame) -> DataFrame:
        """The records in doubt, and those of messages that only seem not to be, by message."""
        records = _by_message(parts)
        if not self._fold:
            return records
        of_messages = records.where(~kind_is(*OF_NO_MESSAGE))
        seen, had = strays.strays(of_messages, strays.words(parts)), self._state.had
        if had.segments:
            seen = seen.unionByName(strays.had_left(of_messages, had.message, had.segments))
        found = seen.limit(STRAYS_MAX + 1).collect()
        if not found:
            return records
        if len(found) > STRAYS_MAX:
            self._strays = None
            return _by_message(self._parts(fold="false"))
        found = self._still_there(found)
        self._strays = found
        if not found:
            return records
        return _by_message(parts.unionByName(self._parts(only=json.dumps(self._wanted(found)))))

    def _still_there(self, found: list[Any]) -> list[Any]:
        """Of these, what is in segments that are all there; of the others not all can be read."""
        there = {path.name for path in self._paths}
        covered = [each.name in there for each in self._state.segments]
        gone = [row for row in found if not _all_of(covered, row["ordinal"])]
        self._gone = {row["message"] for row in gone}
        return [row for row in found if row not in gone]

    @property
    def complete(self) -> DataFrame | None:
        """Each `message` that was complete in segments that were let go, and has records behind.

        `None`: there are none.
        """
        if not self._gone:
            return None
        rows = [(message,) for message in sorted(self._gone)]
        return self.spark.createDataFrame(rows, "message bigint").coalesce(1)

    def _wanted(self, found: list[Any]) -> dict[str, Wanted]:
        """By segment, what is wanted of it.

        What was folded over several segments is in none of them by itself, and in no record.
        """
        covered = [each.name for each in self._state.segments]
        new = [path.name for path in self._paths if path.name > self._state.last]
        names = [*covered, *new]
        wanted: dict[str, Wanted] = {}
        for row in found:
            everywhere = row["ordinal"] == strays.ALL
            for ordinal in range(len(covered)) if everywhere else (row["ordinal"],):
                _ordinal, folded, whole = wanted.setdefault(names[ordinal], (ordinal, [], []))
                (whole if everywhere else folded).append(row["message"])
        return wanted

    def _parts(self, **asked: str) -> DataFrame:
        options = {"late_ms": str(self.bounds.late_ms), "fold": str(self._fold).lower()} | asked
        options["until"] = self.until
        return read(self.spark, self.log, view="parts", **options)

    def breaks(self, let_go: LetGo) -> list[DataFrame]:
        """Where the log is not any more what earlier runs have read; none where it is.

        What was let go since is what they have read, if it went as that.
        """
        if not self._state.segments:
            return []
        there = {path.name: _size(path) for path in self._paths}
        found = differences(self._state, there, let_go)
        if not found:
            return []
        frame = self.spark.createDataFrame(found, "segment string, problem string")
        return [as_breaks(frame.coalesce(1), BreakClass.LOG_GAP, F.col("problem"))]

    def with_known(self, breaks: DataFrame) -> DataFrame:
        """Breaks, and those that the book knew with which this run begins.

        By what is left of its records some of these are found again, and some are not.
        """
        if self.opening is None or not self.opening.known:
            return breaks
        schema = ", ".join(f"`{name}` {type_}" for name, type_ in COLUMNS.items())
        rows = [tuple(row[name] for name in COLUMNS) for row in self.opening.known]
        known = self.spark.createDataFrame(rows, schema).coalesce(1)
        return with_known(breaks, known)

    def beginning(self, facts: Mapping[str, Any]) -> Beginning:
        """With what it begins; `facts` of the log, as far as it or what is known of it goes."""
        first = facts["first_sequence"] or 1
        if self.opening is not None:
            return Beginning(self.opening.book)
        if first == 1:
            return Beginning()
        if self._state.segments:
            return Beginning(record=first, why="so does the state")
        number = segment_numbers(self._paths[0].name)[0]
        return Beginning(record=first, why=why_none(self.provenance.books, number))

    def carry(self, seen: Evidence) -> None:
        """Leave for the next run what this one has read of closed segments. Raises OSError."""
        state, folder, parts, records = self._state, self._folder, seen.parts, seen.records
        there = len(state.segments) + sum(path.name > state.last for path in self._paths)
        newest = there if self.until else there - 1
        if folder is None or not self._keeps or self._strays is None:
            return
        if newest <= len(state.segments):
            return
        said, kept = folder.fresh(state)
        off = balance.differences(seen.balance.values())
        closed = without_repeated(records.where(F.col("ordinal") < newest), off)
        rest = gathered(without_ended(closed, seen.summed, seen.told))
        carried(rest).write.options(**WRITTEN).parquet(str(folder.path / kept))
        covered, last_ms = self._covered(parts, newest)
        together = len(state.said) >= SAID_MAX
        first = strays.ALL if together else len(state.segments)
        mine = F.col("ordinal").between(first, newest - 1)
        if state.records:
            mine |= (F.col("ordinal") == strays.ALL) & (F.col("part") == part_of(state.records))
        lists = parts.where("sequence is null").where(mine)
        for frame in self._taken_back(records):
            lists = lists.unionByName(frame, allowMissingColumns=True)
        if together:
            place, since_ms = (strays.ALL, part_of(said)), last_ms - IDS_KEPT_MS
            whole = figures.span_ms(seen.facts["first_time_ms"] or 0, last_ms)
            lists = brought_together(lists, closed, place, figures.part_ms(whole), since_ms)
        lists.coalesce(4).write.options(**WRITTEN).parquet(str(folder.path / said))
        before = () if together else state.said
        segments = (*state.segments, *covered)
        now = (*before, Said(said, last_ms))
        folder.write(State(self._id, self.bounds.late_ms, segments, now, kept, state.had))

    def _covered(self, parts: DataFrame, newest: int) -> tuple[list[Covered], int]:
        """The segments that are new to the state, and the time of their last record."""
        about = parts.where(f"about is not null and ordinal >= {len(self._state.segments)}")
        names = ("segment", "octets", "sha256", "last_time_ms")
        closed = about.where(F.col("ordinal") < newest).orderBy("ordinal")
        rows = closed.select(*(f"about.{name}" for name in names)).collect()
        last_ms = max([row["last_time_ms"] or 0 for row in rows])
        return [Covered(row["segment"], row["octets"], row["sha256"]) for row in rows], last_ms

    def drawn(self, parts: DataFrame, records: DataFrame) -> DataFrame:
        """Parts as charts are drawn from them, beside `records`: without what these have, too."""
        if self._strays is None:
            return parts.withColumn("waits", F.filter("waits", lambda each: each["told"]))
        for frame in self._taken_back(records):
            parts = parts.unionByName(frame, allowMissingColumns=True)
        return parts

    def _taken_back(self, records: DataFrame) -> list[DataFrame]:
        """What parts said of messages that were folded and had to be read again, taken back.

        Which they are, and how long their copies waited; their records are kept.
        """
        if not self._strays:
            return []
        found = self.spark.createDataFrame(
            [(row["ordinal"], row["part"], row["message"]) for row in self._strays],
            "ordinal bigint, part bigint, message bigint",
        )
        of_parts = records.join(found, ["ordinal", "part", "message"])
        before = records.where(F.col("ordinal") < len(self._state.segments)).drop("ordinal", "part")
        of_several = before.join(found.where(F.col("ordinal") == strays.ALL), "message")
        waited = figures.waited(of_parts.unionByName(of_several), "ordinal", "part")
        less = F.struct("node", "exchange", "step", F.lit(-1).alias("number"), "worst", "told")
        waits = waited.groupBy("ordinal", "part").agg(F.collect_list(less).alias("waits"))
        return [strays.as_folded(found), waits]


def _all_of(covered: list[bool], ordinal: int) -> bool:
    """Whether what was folded is there; `covered`: of each segment of the state, whether it is."""
    if ordinal == strays.ALL:
        return all(covered)
    return ordinal >= len(covered) or covered[ordinal]


def _by_message(parts: DataFrame) -> DataFrame:
    """The records of parts, brought together by message once, for all steps."""
    records = parts.where("sequence is not null").select(*USED)
    one = makes_one_partition(parts.sparkSession)
    return kept(records.coalesce(1) if one else records.repartition("message"))


def _size(path: Location) -> int:
    try:
        return location.size(path)
    except OSError:
        return -1


def _log_id(paths: Sequence[Location]) -> str:
    """The log's id, by the first segment that says it; empty: none does."""
    for path in paths:
        try:
            header = Segment(path.name, location.head(path, HEAD_OCTETS)).header
        except OSError:
            continue
        if header is not None and header.log:
            return header.log
    return ""

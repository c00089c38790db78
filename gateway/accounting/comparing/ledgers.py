"""A side that is somebody else's book: a line for each message with its id, or counts of queues.

Times are ISO 8601 (UTC where they name no zone), or milliseconds since 1970, or of Parquet's type.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, NumericType, TimestampNTZType, TimestampType

from gateway.accounting.comparing.arguments import Ledger
from gateway.accounting.comparing.heads import COUNT, ID, QUEUE, TIME, TYPE, is_csv, lacking
from gateway.accounting.comparing.ids import digest_in
from gateway.accounting.comparing.logs import ITEM
from gateway.accounting.locations.location import Location
from gateway.accounting.partitions import gathered
from gateway.accounting.steps.kept import kept

TIME_ZONE: Final = "spark.sql.session.timeZone"
UNLIKE: Final = "_unlike"  # a line of CSV that has not as many columns as the first
_DIGITS: Final = "^[0-9]{1,18}$"
_ODD: Final = "(length({0}) - length(replace({0}, '\"', ''))) % 2 = 1"  # are its quotes


class LedgerError(Exception):
    """Why a book cannot be read, in a sentence."""


class Book(NamedTuple):
    """A side: its items, or its counts, and what is known of it.

    Attributes:
        lines: how many it has.
        unread: of how many the id, or the count, is none, or that are no lines of this book.
        timeless: of how many there is a time that is none.
        begins_ms, ends_ms: the first and the last time; `None`: it has no times.
        queues: whether it says of which queue something is.
    """

    items: DataFrame
    lines: int
    unread: int
    timeless: int
    begins_ms: int | None
    ends_ms: int | None
    queues: bool


def book(spark: SparkSession, ledger: Ledger, queues: tuple[str, ...]) -> Book:
    """What it says, of these queues or of all. Raises LedgerError."""
    lines = _lines(spark, ledger)
    has = [name for name in lines.columns if name != UNLIKE]
    if wrong := lacking(ledger, queues, has):
        raise LedgerError(wrong)
    lines = gathered(lines)
    every = kept(_counts(lines, ledger) if ledger.counts else _ids(lines, ledger))
    told = every.where("alike")  # of a line that is not, nobody knows of which queue it is
    if queues:
        told = told.where(F.col("queue").isin(*queues))
    row: Any = told.agg(  # Any: a row of Spark's
        F.count("*").alias("lines"),
        F.count_if(F.col("surely").isNull()).alias("unread"),
        F.count_if("timeless").alias("timeless"),
        F.min("time_ms").alias("begins_ms"),
        F.max("time_ms").alias("ends_ms"),
    ).first()
    return Book(
        told.where("surely is not null").select(*ITEM),
        row["lines"],
        row["unread"] + _unlike(spark, ledger, every),
        row["timeless"],
        row["begins_ms"],
        row["ends_ms"],
        queues=ledger.columns[QUEUE] in lines.columns,
    )


def _lines(spark: SparkSession, ledger: Ledger) -> DataFrame:
    """The lines as they stand there; times without a zone are UTC."""
    spark.conf.set(TIME_ZONE, "UTC")
    where = _address(ledger.where)
    try:
        if not is_csv(ledger.where):
            return spark.read.parquet(where)
        said = {"header": "true", "sep": ledger.delimiter, "escape": '"'}
        said["columnNameOfCorruptRecord"] = UNLIKE
        names = spark.read.options(**said).csv(where).schema
        rows = spark.read.options(**said).schema(names.add(UNLIKE, "string")).csv(where)
        return rows.where(f"{UNLIKE} is null or not ({_ODD.format(UNLIKE)})")
    except PySparkException as error:
        told = str(error).strip().splitlines()
        raise LedgerError(f"{ledger.where} cannot be read: {told[0] if told else error}") from None
    except Py4JJavaError:  # of what its tasks find there
        kind = "CSV, or it is cut off" if is_csv(ledger.where) else "Parquet"
        raise LedgerError(f"{ledger.where} cannot be read: it is no {kind}") from None


def _unlike(spark: SparkSession, ledger: Ledger, lines: DataFrame) -> int:
    """How many lines of CSV are none by themselves, or have not as many columns as the first one.

    Where there is a quote without another, what is quoted goes on in the next one: read so that it
    might, a quote that nobody closes would take all that is behind it with it.
    """
    if not is_csv(ledger.where):
        return 0
    unclosed = spark.read.text(_address(ledger.where)).where(_ODD.format("value"))
    return unclosed.count() + lines.where("not alike").count()


def _address(where: Location) -> str:
    """As Spark is given it."""
    return f"file:{where.resolve()}" if isinstance(where, Path) else str(where)


def _ids(lines: DataFrame, ledger: Ledger) -> DataFrame:
    binary = isinstance(_type(lines, ledger.columns[ID]), BinaryType)
    given = F.col(_quoted(ledger.columns[ID]))
    said = _text(lines, ledger.columns[TYPE])
    plain = lines.select(
        (F.lit(None) if binary else given).cast("string").alias("text"),
        (given if binary else F.lit(None)).cast("binary").alias("octets"),
        F.coalesce(F.lower(F.nullif(said, F.lit(""))), F.lit(ledger.id_type)).alias("id_type"),
        _text(lines, ledger.columns[QUEUE]).alias("queue"),
        _time_ms(lines, ledger.columns[TIME]).alias("time_ms"),
        _timeless(lines, ledger.columns[TIME]).alias("timeless"),
        _alike(lines).alias("alike"),
    )
    # Spark has no such digest. With Arrow it would want pandas, which the jobs do without.
    digest = F.udf(digest_in, "bigint", useArrow=False)("id_type", "text", "octets")
    # Octets that are no UTF-8 are this character by now, so that several ids would be one.
    other = F.contains(F.coalesce("text", F.lit("")), F.lit("\ufffd"))
    readable = F.when(F.col("id_digest").isNotNull() & ~(other & is_csv(ledger.where)), 1)
    shown = F.coalesce("text", F.lower(F.hex("octets")))
    return _as_items(plain.withColumns({"id_digest": digest, "text": shown}), readable)


def _counts(lines: DataFrame, ledger: Ledger) -> DataFrame:
    text = _text(lines, ledger.columns[COUNT])
    count = F.when(text.rlike(_DIGITS), text.cast("bigint"))
    told = lines.select(
        _text(lines, ledger.columns[QUEUE]).alias("queue"),
        _time_ms(lines, ledger.columns[TIME]).alias("time_ms"),
        _timeless(lines, ledger.columns[TIME]).alias("timeless"),
        count.alias("count"),
        _alike(lines).alias("alike"),
    ).withColumns({"id_digest": F.lit(None).cast("bigint"), "text": F.lit(None).cast("string")})
    return _as_items(told, F.when(F.col("queue").isNotNull(), F.col("count")))


def _as_items(told: DataFrame, surely: Column) -> DataFrame:
    """`surely`: how many a line is of; null: it cannot be read."""
    return told.withColumns(
        {
            "surely": surely.cast("bigint"),
            "at_most": surely.cast("bigint"),
            "body_digest": F.lit(None).cast("bigint"),
            "nodes": F.array_compact(F.array("queue")),
            "log": F.lit(0),
            "message": F.lit(None).cast("bigint"),
        }
    )


def _type(lines: DataFrame, column: str) -> Any:  # Any: a data type of Spark's, or none
    return lines.schema[column].dataType if column in lines.columns else None


def _alike(lines: DataFrame) -> Column:
    return F.col(UNLIKE).isNull() if UNLIKE in lines.columns else F.lit(True)


def _quoted(column: str) -> str:
    """A name of a column may have dots and more."""
    return "`" + column.replace("`", "``") + "`"


def _text(lines: DataFrame, column: str) -> Column:
    there = F.col(_quoted(column)) if column in lines.columns else F.lit(None)
    return F.trim(there.cast("string"))


def _time_ms(lines: DataFrame, column: str) -> Column:
    kind = _type(lines, column)
    if kind is None:
        return F.lit(None).cast("bigint")
    given = F.col(_quoted(column))
    if isinstance(kind, TimestampType | TimestampNTZType):
        return F.unix_millis(given.cast("timestamp"))
    if isinstance(kind, NumericType):
        return given.cast("bigint")
    text = _text(lines, column)
    parsed = F.unix_millis(F.try_to_timestamp(text))
    return F.when(text.rlike(_DIGITS), text.try_cast("bigint")).otherwise(parsed)


def _timeless(lines: DataFrame, column: str) -> Column:
    text = _text(lines, column)
    return F.coalesce(text != "", F.lit(False)) & _time_ms(lines, column).isNull()

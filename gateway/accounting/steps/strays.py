"""Messages that one part of the log has folded, and of which another part has records, too.

What is folded is complete by its own part. That nothing is to say of it holds only if no other part
has more of it; else its records are wanted after all.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.ledger import kind_is
from gateway.audit.schema import Kind

ALL: Final = -1  # as the ordinal of what is folded over several segments


def words(parts: DataFrame) -> DataFrame:
    """Which messages each part has folded, 64 by 64; said once more, a bit is taken back."""
    said = parts.where("folded is not null").select("ordinal", "part", F.inline("folded"))
    return said.groupBy("ordinal", "part", "word").agg(F.expr("bit_xor(bits)").alias("bits"))


def as_folded(messages: DataFrame) -> DataFrame:
    """Words of these messages, as parts have them."""
    bit = F.expr("shiftleft(1L, cast(message & 63 as int))")
    found = messages.select(
        "ordinal", "part", F.expr("shiftright(message, 6)").alias("word"), bit.alias("bit")
    )
    summed = found.groupBy("ordinal", "part", "word").agg(F.expr("bit_or(bit)").alias("bits"))
    return summed.select("ordinal", "part", F.array(F.struct("word", "bits")).alias("folded"))


def strays(records: DataFrame, folded: DataFrame) -> DataFrame:
    """Each such `message`, with the part that has folded it, and that part's `ordinal`.

    `records`: those that are not folded; `folded` by `words`.
    """
    seen = records.select("message", F.col("part").alias("seen_in")).distinct()
    seen = seen.withColumn("word", F.expr("shiftright(message, 6)"))
    elsewhere = (
        seen.join(folded, "word")
        .where("seen_in <> part and getbit(bits, cast(message & 63 as int)) = 1")
        .select("ordinal", "part", "message")
    )
    return elsewhere.unionByName(_folded_twice(folded)).distinct()


def had_left(records: DataFrame, message: int, ordinal: int) -> DataFrame:
    """As `strays`, those that had left by what a closed book says: it has no records of them.

    They are not newer than `message`, and all that is there of them is of segments from `ordinal`
    on, where they did not come.
    """
    old = records.where(F.col("message") <= message).groupBy("message")
    seen = old.agg(F.min("ordinal").alias("seen"), F.bool_or(kind_is(Kind.RECEIVED)).alias("came"))
    return seen.where((F.col("seen") >= ordinal) & ~F.col("came")).select(
        F.lit(ALL).cast("long").alias("ordinal"), F.lit(0).cast("long").alias("part"), "message"
    )


def _folded_twice(folded: DataFrame) -> DataFrame:
    """What several parts have folded, and what stands in the same words."""
    shared = folded.groupBy("word").agg(
        F.collect_list(F.struct("ordinal", "part", "bits")).alias("parts"),
        F.bit_count(F.expr("bit_or(bits)")).alias("different"),
        F.sum(F.bit_count("bits")).alias("all"),
    )
    each = shared.where("different < `all`").select("word", F.inline("parts"))
    bits = each.withColumn("bit", F.explode(F.sequence(F.lit(0), F.lit(63))))
    return bits.where("getbit(bits, bit) = 1").select(
        "ordinal", "part", (F.expr("shiftleft(word, 6)") + F.col("bit")).alias("message")
    )

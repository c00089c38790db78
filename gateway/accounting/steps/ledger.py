"""The ledger: all records summed up, and what kinds of records are which term.

Each part of the log comes with the sums of its records; here they are added up.

Everything about identities works on this small table and on the checkpoints (`identities`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.parsed import parsed
from gateway.audit.schema import DELIVERY_OUTCOMES, Flag, Kind, Outcome, Reason

TOLD_APART: Final = int(
    Flag.COPY | Flag.SETTLED | Flag.REMOVED | Flag.UNQUEUED | Flag.REDELIVERED | Flag.DURABLE
)
COUNTED_IN_COPIES: Final = (Kind.RECEIVED, Kind.ROUTED)  # which begin as many as they say
# What a run says until it has got past its recovery: what is durable of the topology is declared
# before the first copy is recovered, and what was found of rules, store and log is told.
RECOVERING: Final = (
    *(Kind.INCARNATION_STARTED, Kind.TOPOLOGY, Kind.RECOVERED),
    *(Kind.RULES_CHANGED, Kind.STORE_ACCEPTED, Kind.LOG_DIFFERS),
)
KEYS: Final = (
    *("incarnation", "window", "node", "exchange", "link"),
    *("kind", "outcome", "flags", "reason"),
)


def kind_is(*kinds: Kind) -> Column:
    """The record is of one of these kinds."""
    return _is_in("kind", kinds)


def outcome_is(*outcomes: Outcome) -> Column:
    """The record has one of these outcomes."""
    return _is_in("outcome", outcomes)


def reason_is(*reasons: Reason) -> Column:
    """The record has one of these reasons."""
    return _is_in("reason", reasons)


def flag(which: Flag) -> Column:
    """The record has the flag."""
    return parsed(f"flags & {int(which)} <> 0")


def _is_in(name: str, numbers: Iterable[int]) -> Column:
    return parsed(f"{name} in ({', '.join(str(int(number)) for number in numbers)})")


def routes_copies() -> Column:
    """The record begins copies of a route, as many as it says."""
    return kind_is(*COUNTED_IN_COPIES)


def ends_route() -> Column:
    """The record ends one copy's route."""
    return (
        kind_is(Kind.ENTERED, Kind.UNROUTABLE, Kind.REFUSED, Kind.ROLLED_BACK)
        | sends_upstream_first()
    )


def sends_upstream_first() -> Column:
    """The record is the first sending of a copy that no queue of the gateway has."""
    return kind_is(Kind.SENT) & flag(Flag.UNQUEUED) & ~flag(Flag.REDELIVERED)


def settles_for_good() -> Column:
    """The record is a settlement by which the copy leaves."""
    return kind_is(Kind.SETTLED) & (flag(Flag.REMOVED) | outcome_is(Outcome.ACCEPTED))


def ends_so() -> Column:
    """The record has an outcome that a delivery can have."""
    return outcome_is(*DELIVERY_OUTCOMES)


def sent_settled() -> Column:
    """The record is a delivery and its accepting settlement in one."""
    return kind_is(Kind.SENT) & flag(Flag.SETTLED)


def ledger(parts: DataFrame) -> DataFrame:
    """All records by incarnation, window, names, link and what happened, with their number."""
    return added_up(parts.where("sums is not null").select(F.inline("sums")))


def added_up(sums: DataFrame) -> DataFrame:
    """One row for all that happened in one window to the same."""
    return sums.groupBy(*KEYS).agg(
        F.sum("records").alias("records"),
        F.sum("count").alias("count"),
        F.sum("octets").alias("octets"),
        F.bit_xor("mix").alias("mix"),
        F.min("first_sequence").alias("first_sequence"),
        F.max("last_sequence").alias("last_sequence"),
    )


def incarnations(summed: DataFrame) -> DataFrame:
    """Each incarnation: with which record it got past its recovery, if so; if it ended in order.

    `checked`, `last_checked`: its first and last record of checkpoints. `last_step`: its last one
    that is neither of these, nor of the clock, nor its end: a checkpoint behind it is whole, which
    is written when it ends in order.
    """
    past_recovery = ~kind_is(*RECOVERING)
    checkpoint = kind_is(Kind.QUEUE_CHECKPOINT, Kind.OUTLET_CHECKPOINT, Kind.ROUTE_CHECKPOINT)
    ends = kind_is(Kind.CLOCK, Kind.INCARNATION_STOPPED)
    return summed.groupBy("incarnation").agg(
        F.min("first_sequence").alias("first_sequence"),
        F.max("last_sequence").alias("last_sequence"),
        F.sum("records").alias("records"),
        F.min(F.when(past_recovery, F.col("first_sequence"))).alias("opened_sequence"),
        F.min(F.when(checkpoint, F.col("first_sequence"))).alias("checked"),
        F.max(F.when(checkpoint, F.col("last_sequence"))).alias("last_checked"),
        F.max(F.when(~checkpoint & ~ends, F.col("last_sequence"))).alias("last_step"),
        F.bool_or(kind_is(Kind.INCARNATION_STOPPED)).alias("stopped"),
        F.max(F.when(kind_is(Kind.INCARNATION_STOPPED), F.col("window"))).alias("stopped_window"),
    )


def losses(summed: DataFrame) -> DataFrame:
    """Values lost in translation, by mapping row: declared, so no breaks."""
    return (
        summed.where(kind_is(Kind.TRANSLATED_WITH_LOSS))
        .groupBy(F.col("exchange").alias("row"), "reason")
        .agg(F.sum("count").alias("count"))
    )


def any_of(columns: list[Column]) -> Column:
    """True where one of them is."""
    return reduce(Column.__or__, columns)

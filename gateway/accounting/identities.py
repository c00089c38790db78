"""The identities of the ledger, checked at every checkpoint.

What the log adds up to is set against what the gateway said of itself at that moment. Each identity
holds from the start of an incarnation, at which depth, unsettled and pending are 0:

* queue: recovered + entered = accepted + rejected + dead-lettered + expired + evicted + replaced
  + purged + moved + returned + depth; and the XOR of the copies' shares is the checksum.
* outlet: sent = accepted + rejected + released + modified + requeued + too late + unsettled.
* route: copies = entered + sent upstream + unroutable + refused + rolled back + pending.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.breaks import BreakClass, as_breaks
from gateway.accounting.ledger import (
    any_of,
    flag,
    kind_is,
    outcome_is,
    routes_copies,
    sends_upstream_first,
    sent_settled,
    settles_for_good,
)
from gateway.audit.schema import Flag, Kind, Outcome

END_OF_LOG: Final = 1 << 62  # a window after all others

Terms = dict[str, Column]


@dataclass(frozen=True)
class Identity:
    """One identity: its key, which ledger rows are its terms, and which checkpoint states the rest.

    Attributes:
        key: the column that, with the incarnation, says of what.
        rest: what is left when the outgoing terms are taken from the incoming ones.
        incoming: how many of the terms are incoming; they come first.
        concerns: which ledger rows count at all.
        value: the checkpoint's column that states the rest.
        terms: which ledger rows are which term, in the order of `term_names`.
    """

    name: str
    key: str
    rest: str
    incoming: int
    checkpoint: Kind
    value: str
    term_names: tuple[str, ...]
    terms: Callable[[], Terms]
    concerns: Callable[[], Column]


def _queue_terms() -> Terms:
    went_back = outcome_is(
        *(Outcome.RELEASED, Outcome.MODIFIED, Outcome.SETTLED_TOO_LATE),
        *(Outcome.ROLLED_BACK, Outcome.IN_DOUBT),
    )
    return {
        "recovered": kind_is(Kind.RECOVERED),
        "entered": kind_is(Kind.ENTERED),
        "accepted": (settles_for_good() & outcome_is(Outcome.ACCEPTED)) | sent_settled(),
        "rejected": settles_for_good() & outcome_is(Outcome.REJECTED),
        "dead_lettered": kind_is(Kind.DEAD_LETTERED),
        "expired": kind_is(Kind.EXPIRED),
        "evicted": kind_is(Kind.EVICTED),
        "replaced": kind_is(Kind.REPLACED),
        "purged": kind_is(Kind.PURGED),
        "moved": kind_is(Kind.MOVED),
        "returned": (settles_for_good() & went_back) | kind_is(Kind.RETURNED),
    }


def _outlet_terms() -> Terms:
    settled = kind_is(Kind.SETTLED)
    return {
        "sent": kind_is(Kind.SENT),
        "accepted": (settled & outcome_is(Outcome.ACCEPTED)) | sent_settled(),
        "rejected": settled & outcome_is(Outcome.REJECTED),
        "released": settled & outcome_is(Outcome.RELEASED, Outcome.ROLLED_BACK, Outcome.IN_DOUBT),
        "modified": settled & outcome_is(Outcome.MODIFIED),
        "requeued": kind_is(Kind.REQUEUED),
        "too_late": settled & outcome_is(Outcome.SETTLED_TOO_LATE),
    }


def _route_terms() -> Terms:
    return {
        "copies": routes_copies(),
        "entered": kind_is(Kind.ENTERED),
        "sent_upstream": sends_upstream_first(),
        "unroutable": kind_is(Kind.UNROUTABLE),
        "refused": kind_is(Kind.REFUSED),
        "rolled_back": kind_is(Kind.ROLLED_BACK),
    }


QUEUE: Final = Identity(
    name="queues",
    key="node",
    rest="depth",
    incoming=2,
    checkpoint=Kind.QUEUE_CHECKPOINT,
    value="position",
    term_names=(
        "recovered",
        "entered",
        "accepted",
        "rejected",
        "dead_lettered",
        "expired",
        "evicted",
        "replaced",
        "purged",
        "moved",
        "returned",
    ),
    terms=_queue_terms,
    concerns=lambda: ~flag(Flag.COPY) & ~flag(Flag.UNQUEUED) & F.col("node").isNotNull(),
)
OUTLET: Final = Identity(
    name="outlets",
    key="link",
    rest="unsettled",
    incoming=1,
    checkpoint=Kind.OUTLET_CHECKPOINT,
    value="copies",
    term_names=("sent", "accepted", "rejected", "released", "modified", "requeued", "too_late"),
    terms=_outlet_terms,
    concerns=lambda: F.lit(True),
)
ROUTE: Final = Identity(
    name="routes",
    key="route",
    rest="pending",
    incoming=1,
    checkpoint=Kind.ROUTE_CHECKPOINT,
    value="copies",
    term_names=("copies", "entered", "sent_upstream", "unroutable", "refused", "rolled_back"),
    terms=_route_terms,
    concerns=lambda: F.col("route").isNotNull(),
)


IDENTITIES: Final = (QUEUE, OUTLET, ROUTE)


def with_route(frame: DataFrame) -> DataFrame:
    """A route is named by its exchange, or by its node where there is none."""
    return frame.withColumn("route", F.coalesce("exchange", "node"))


def sums(summed: DataFrame, identity: Identity) -> DataFrame:
    """The identity's terms per incarnation, key and window, from the ledger."""
    terms = identity.terms()
    rows = with_route(summed).where(identity.concerns()).where(any_of(list(terms.values())))
    return rows.groupBy("incarnation", identity.key, "window").agg(
        *(F.sum(F.when(is_it, F.col("count")).otherwise(0)).alias(n) for n, is_it in terms.items()),
        F.bit_xor("mix").alias("mix"),
        F.max("node").alias("of_node"),
    )


def rest(identity: Identity) -> Column:
    """What must be left, from the columns of the terms."""
    columns = [F.col(name) for name in identity.term_names]
    incoming = reduce(Column.__add__, columns[: identity.incoming])
    return reduce(Column.__sub__, columns[identity.incoming :], incoming)


def totals(windows: DataFrame, identity: Identity) -> DataFrame:
    """The terms over all windows, and what is left at the end of the log."""
    return (
        windows.groupBy("incarnation", identity.key)
        .agg(
            *(F.sum(name).alias(name) for name in identity.term_names),
            F.max("of_node").alias("of_node"),
        )
        .withColumn(identity.rest, rest(identity))
    )


def sums_over_all(results: DataFrame, identity: Identity, *others: str) -> DataFrame:
    """One row: each term over everything. What is left is counted where it still is, at the end."""
    last = F.col("incarnation") == F.col("last_incarnation")
    left = F.when(last, F.col(identity.rest)).otherwise(0)
    marked = results.withColumn("last_incarnation", F.max("incarnation").over(Window.partitionBy()))
    return marked.agg(
        *(
            F.coalesce(F.sum(name), F.lit(0)).alias(name)
            for name in (*identity.term_names, *others)
        ),
        F.coalesce(F.sum(left), F.lit(0)).alias(identity.rest),
    )


def statements(checkpoints: DataFrame, identity: Identity) -> DataFrame:
    """What the gateway said: key, window, sequence, `stated`, and the checksum of a queue."""
    checksum = F.col("id_digest") if identity is QUEUE else F.lit(None).cast("long")
    return (
        with_route(checkpoints)
        .where(kind_is(identity.checkpoint))
        .select(
            *("incarnation", identity.key, "window", "sequence"),
            F.col(identity.value).cast("long").alias("stated"),
            checksum.alias("checksum"),
        )
    )


def with_implied(stated: DataFrame, windows: DataFrame, runs: DataFrame) -> DataFrame:
    """Routes that no checkpoint names have nothing pending when their incarnation ends in order."""
    ended = runs.where("stopped").select("incarnation", F.col("last_sequence").alias("sequence"))
    named = stated.select("incarnation", "route")
    unnamed = (
        windows.select("incarnation", "route")
        .distinct()
        .join(named, ["incarnation", "route"], "left_anti")
        .join(F.broadcast(ended), "incarnation")
    )
    nothing = unnamed.select(
        *("incarnation", "route"),
        F.lit(END_OF_LOG).alias("window"),
        "sequence",
        F.lit(0).cast("long").alias("stated"),
        F.lit(None).cast("long").alias("checksum"),
    )
    return stated.unionByName(nothing)


def compared(windows: DataFrame, stated: DataFrame, identity: Identity) -> DataFrame:
    """Every statement beside what the ledger adds up to at that moment (`computed`).

    A checkpoint opens a window: it sees everything that was before that window.
    """
    keys = ("incarnation", identity.key)
    steps = windows.select(
        *keys, "window", F.lit(1).alias("after"), rest(identity).alias("change"), "mix"
    )
    rows = steps.unionByName(stated.withColumn("after", F.lit(0)), allowMissingColumns=True)
    before = Window.partitionBy(*keys).orderBy("window", "after", "sequence")
    return (
        rows.withColumn("computed", F.coalesce(F.sum("change").over(before), F.lit(0)))
        .withColumn("computed_checksum", F.coalesce(F.bit_xor("mix").over(before), F.lit(0)))
        .where("sequence is not null")
        .drop("change", "mix", "after")
    )


def failures(statements_compared: DataFrame, identity: Identity) -> DataFrame:
    """The checkpoints at which the identity fails, in each key by more than at the one before.

    What was wrong before is taken to be so still, and is not said again: `computed` and `excess`
    are without it. `since`: the sequence of the checkpoint before; null if there is none.
    """
    order = Window.partitionBy("incarnation", identity.key).orderBy("sequence")
    off = F.col("computed") - F.col("stated")
    other = F.coalesce(F.col("computed_checksum").bitwiseXOR(F.col("checksum")), F.lit(0))
    said = statements_compared.withColumns({"off": off, "other": other})
    before = {name: F.coalesce(F.lag(name).over(order), F.lit(0)) for name in ("off", "other")}
    judged = said.withColumns(
        {
            "since": F.lag("sequence").over(order),
            "off_before": before["off"],
            "other_before": before["other"],
        }
    )
    return (
        judged.where("off <> off_before or other <> other_before")
        .withColumns(
            {
                "excess": F.col("off") - F.col("off_before"),
                "computed": F.col("computed") - F.col("off_before"),
                "computed_checksum": F.col("computed_checksum").bitwiseXOR(F.col("other_before")),
            }
        )
        .drop("off", "other", "off_before", "other_before")
    )


def since_begin(failed: DataFrame, runs: DataFrame) -> DataFrame:
    """What fails at its first checkpoint does so since its incarnation began."""
    before = F.lag("last_sequence").over(Window.orderBy("incarnation"))
    begun = runs.select("incarnation", F.coalesce(before, F.lit(0)).alias("begun"))
    joined = failed.join(F.broadcast(begun), "incarnation")
    return joined.withColumn("since", F.coalesce("since", "begun")).drop("begun")


def outlet_breaks(failed: DataFrame) -> DataFrame:
    """Outlets whose unsettled deliveries are not what their checkpoint says."""
    stuck = F.when(F.col("excess") > 0, str(BreakClass.STUCK))
    return as_breaks(
        failed.withColumn("count", F.abs("excess")),
        stuck.otherwise(str(BreakClass.ORPHAN_SETTLEMENT)),
        F.format_string(
            "outlet %d: %d unsettled by the log, %d by its checkpoint", "link", "computed", "stated"
        ),
    )


def detached_breaks(outlets: DataFrame, summed: DataFrame) -> DataFrame:
    """Outlets that are gone although deliveries of theirs never ended."""
    lives = summed.groupBy("incarnation", "link").agg(
        F.min("first_sequence").alias("since"),
        F.max("last_sequence").alias("sequence"),
        F.bool_or(kind_is(Kind.LINK_DETACHED)).alias("gone"),
    )
    stuck = outlets.where("unsettled > 0").join(lives.where("gone"), ["incarnation", "link"])
    return as_breaks(
        stuck.withColumn("count", F.col("unsettled")).withColumn("node", F.col("of_node")),
        BreakClass.STUCK,
        F.format_string("outlet %d is gone, %d of its deliveries never ended", "link", "unsettled"),
    )

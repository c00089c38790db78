"""The identities of the ledger, checked at every checkpoint.

What the log adds up to is set against what the gateway said of itself at that moment. Each identity
holds from the start of an incarnation, at which depth, unsettled and pending are 0:

* queue: recovered + entered = accepted + rejected + dead-lettered + expired + evicted + replaced
  + purged + moved + returned + depth; and the XOR of the copies' shares is the checksum.
* outlet: sent = accepted + rejected + released + modified + requeued + too late + browsed
  + unsettled.
* route: copies = entered + sent upstream + unroutable + refused + rolled back + pending.

A checkpoint counts, too: what has entered a queue, was sent by an outlet, was routed; and which
copies of a queue somebody has. Counters begin anew with the thing that they count, whose name may
come again. So one that is above what the log adds up to is wrong, and one below it says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.steps.ledger import (
    any_of,
    flag,
    kind_is,
    outcome_is,
    reason_is,
    routes_copies,
    sends_upstream_first,
    sent_settled,
    settles_for_good,
)
from gateway.audit.schema import Flag, Kind, Outcome, Reason

END_OF_LOG: Final = 1 << 62  # a window after all others
FAILS: Final = "excess <> 0 or computed_checksum <> checksum"

# By how much a statement differs from the log: what is said once, though it stays so.
DIFFERENCES: Final = ("off", "other", "unseen", "stuck")

_CHANGED: Final = "(off <> off_before or other <> other_before)"

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
        counter: the term that the checkpoint counts, since the thing exists.
        terms: which ledger rows are which term, in the order of `term_names`.
        extras: what else is summed up by window (name -> aggregate), from which other ledger rows.
    """

    name: str
    key: str
    rest: str
    incoming: int
    checkpoint: Kind
    value: str
    counter: str
    term_names: tuple[str, ...]
    terms: Callable[[], Terms]
    concerns: Callable[[], Column]
    extras: Callable[[], tuple[Terms, Column]] = lambda: ({}, F.lit(False))


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


def _queue_extras() -> tuple[Terms, Column]:
    """How many copies are with somebody, and from when to when the queue is there by name."""
    topology, last = kind_is(Kind.TOPOLOGY), F.col("last_sequence")
    declared = topology & reason_is(Reason.QUEUE_DECLARED)
    deleted = topology & reason_is(Reason.QUEUE_DELETED)
    # Who rejects a copy that has an alternate exchange has it until it leaves for that.
    leaves_later = outcome_is(Outcome.REJECTED) & ~flag(Flag.REMOVED)
    left_later = kind_is(Kind.DEAD_LETTERED) & reason_is(Reason.REJECTED)
    taken = kind_is(Kind.SENT) & ~flag(Flag.SETTLED)
    ended = (kind_is(Kind.SETTLED) & ~leaves_later) | kind_is(Kind.REQUEUED) | left_later
    count = F.col("count")
    extras = {
        "held": F.sum(F.when(taken, count).when(ended, -count).otherwise(0)),
        "declared": F.max(F.when(declared, last)),
        "deleted": F.max(F.when(deleted, last)),
        "last_in": F.max(F.when(kind_is(Kind.ENTERED, Kind.RECOVERED), last)),
    }
    return extras, declared | deleted | taken | ended


def _outlet_terms() -> Terms:
    browsed = flag(Flag.COPY)
    settled = kind_is(Kind.SETTLED) & ~browsed
    ended = kind_is(Kind.SETTLED, Kind.REQUEUED) | sent_settled()
    return {
        "sent": kind_is(Kind.SENT),
        "accepted": (settled & outcome_is(Outcome.ACCEPTED)) | (sent_settled() & ~browsed),
        "rejected": settled & outcome_is(Outcome.REJECTED),
        "released": settled & outcome_is(Outcome.RELEASED, Outcome.ROLLED_BACK, Outcome.IN_DOUBT),
        "modified": settled & outcome_is(Outcome.MODIFIED),
        "requeued": kind_is(Kind.REQUEUED) & ~browsed,
        "too_late": settled & outcome_is(Outcome.SETTLED_TOO_LATE),
        "browsed": ended & browsed,
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
    counter="entered",
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
    extras=_queue_extras,
)
OUTLET: Final = Identity(
    name="outlets",
    key="link",
    rest="unsettled",
    incoming=1,
    checkpoint=Kind.OUTLET_CHECKPOINT,
    value="copies",
    counter="sent",
    term_names=(
        *("sent", "accepted", "rejected", "released", "modified", "requeued", "too_late"),
        "browsed",
    ),
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
    counter="copies",
    term_names=("copies", "entered", "sent_upstream", "unroutable", "refused", "rolled_back"),
    terms=_route_terms,
    concerns=lambda: F.col("route").isNotNull(),
)


IDENTITIES: Final = (QUEUE, OUTLET, ROUTE)


def with_route(frame: DataFrame) -> DataFrame:
    """A route is named by its exchange, or by its node where there is none."""
    return frame.withColumn("route", F.coalesce("exchange", "node"))


def sums(summed: DataFrame, identity: Identity) -> DataFrame:
    """The identity's terms per incarnation, key and window, from the ledger (`with_route`)."""
    terms = identity.terms()
    extras, others = identity.extras()
    is_term, count = any_of(list(terms.values())), F.col("count")
    rows = summed.where(identity.concerns() & (is_term | others))
    return rows.groupBy("incarnation", identity.key, "window").agg(
        *(F.sum(F.when(is_it, count).otherwise(0)).alias(name) for name, is_it in terms.items()),
        F.bit_xor(F.when(is_term, F.col("mix"))).alias("mix"),
        F.max("node").alias("of_node"),
        *(what.alias(name) for name, what in extras.items()),
    )


def rest(identity: Identity) -> Column:
    """What must be left, from the columns of the terms."""
    columns = [F.col(name) for name in identity.term_names]
    incoming = reduce(Column.__add__, columns[: identity.incoming])
    return reduce(Column.__sub__, columns[identity.incoming :], incoming)


def totals(windows: DataFrame, identity: Identity) -> DataFrame:
    """The terms over all windows, and what is left at the end of the log."""
    summed = windows.groupBy("incarnation", identity.key).agg(
        *(F.sum(name).alias(name) for name in identity.term_names),
        F.max("of_node").alias("of_node"),
    )
    return summed.withColumn(identity.rest, rest(identity))


def statements(checkpoints: DataFrame, identity: Identity) -> DataFrame:
    """What the gateway said: key, window, sequence, `stated`, `counted`, and of queues the rest.

    From checkpoints `with_route`.
    What is behind an upstream counts in each subscription's own queue, which comes and goes.
    """
    nothing = F.lit(None).cast("long")
    queue, counted = identity is QUEUE, F.col("message")
    return checkpoints.where(kind_is(identity.checkpoint)).select(
        *("incarnation", identity.key, "window", "sequence"),
        F.col("node").alias("of_node"),
        F.col(identity.value).cast("long").alias("stated"),
        (F.col("id_digest") if queue else nothing).alias("checksum"),
        (F.when(~F.contains("node", F.lit(" from ")), counted) if queue else counted).alias(
            "counted"
        ),
        (F.col("copies").cast("long") if queue else nothing).alias("holding"),
    )


def compared(windows: DataFrame, stated: DataFrame, identity: Identity) -> DataFrame:
    """Every statement beside what the ledger adds up to at that moment (`computed`).

    A checkpoint opens a window: it sees everything that was before that window. `unseen`, `stuck`:
    by how much its counter, or what it says to be with somebody, is above what the log adds up to.
    `since`: the sequence of the statement before; null if there is none.
    """
    keys = ("incarnation", identity.key)
    steps = windows.select(
        *(*keys, "window", "mix", F.lit(1).alias("after"), rest(identity).alias("change")),
        F.col(identity.counter).alias("count"),
        *(name for name in ("held", "declared", "deleted") if identity is QUEUE),
    )
    rows = steps.unionByName(stated.withColumn("after", F.lit(0)), allowMissingColumns=True)
    before = Window.partitionBy(*keys).orderBy("window", "after", "sequence")
    unseen, stuck = F.col("counted") - _so_far("count", before), F.lit(0)
    if identity is QUEUE:  # of the name alone, it may be another's that was renamed to it
        there = F.max("declared").over(before).isNotNull()
        unseen = F.when(there, unseen)
        deleted = F.max("deleted").over(before).isNotNull()
        stuck = F.when(there & ~deleted, F.col("holding") - _so_far("held", before))
    earlier = before.rowsBetween(Window.unboundedPreceding, -1)
    return rows.select(
        *(*keys, "window", "sequence", "of_node", "stated", "checksum"),
        _so_far("change", before).alias("computed"),
        F.coalesce(F.bit_xor("mix").over(before), F.lit(0)).alias("computed_checksum"),
        F.greatest(unseen, F.lit(0)).alias("unseen"),
        F.greatest(stuck, F.lit(0)).alias("stuck"),
        F.max("sequence").over(earlier).alias("since"),
    ).where("sequence is not null")


def _so_far(name: str, before: WindowSpec) -> Column:
    return F.coalesce(F.sum(name).over(before), F.lit(0))


def _with_differences(statements_compared: DataFrame) -> DataFrame:
    off = F.col("computed") - F.col("stated")
    other = F.coalesce(F.col("computed_checksum").bitwiseXOR(F.col("checksum")), F.lit(0))
    return statements_compared.withColumns({"off": off, "other": other})


def differences(statements_compared: DataFrame) -> DataFrame:
    """By how much each checkpoint differs, by its sequence."""
    written = statements_compared.where(f"window < {END_OF_LOG}")
    return _with_differences(written).selectExpr(
        "sequence", *(f"cast({name} as long) as {name}" for name in DIFFERENCES)
    )


def failures(statements_compared: DataFrame, identity: Identity) -> DataFrame:
    """The checkpoints at which something fails, in each key by more than at the one before.

    What was wrong before is taken to be so still, and is not said again: `computed`, `excess`,
    `unseen` and `stuck` are without it. Nor is it said of a queue or an outlet that it is as before
    the last time that it was said: these same copies are there again, or have ended. Where `FAILS`,
    it is the identity that does. What left more often than it entered, of a thing that is gone, is
    told with these steps.
    """
    order = Window.partitionBy("incarnation", identity.key).orderBy("sequence")
    said = _with_differences(statements_compared)
    before = {name: F.coalesce(F.lag(name).over(order), F.lit(0)) for name in DIFFERENCES}
    beside = said.withColumns({f"{name}_before": lag for name, lag in before.items()})
    if identity is not ROUTE:
        beside = _without_returns(beside, order)
    judged = beside.where(f"{_CHANGED} or unseen > unseen_before or stuck > stuck_before")
    return judged.select(
        *("incarnation", identity.key, "window", "sequence", "since", "of_node"),
        *("stated", "checksum"),
        (F.col("computed") - F.col("off_before")).alias("computed"),
        F.col("computed_checksum").bitwiseXOR(F.col("other_before")).alias("computed_checksum"),
        (F.col("off") - F.col("off_before")).alias("excess"),
        *(
            F.greatest(F.col(name) - F.col(f"{name}_before"), F.lit(0)).alias(name)
            for name in ("unseen", "stuck")
        ),
    ).where(f"window < {END_OF_LOG} or excess >= 0")


def _without_returns(beside: DataFrame, order: WindowSpec) -> DataFrame:
    """Checkpoints that differ as those in front of the last change did, as if nothing changed.

    What changes after such a return does so anew.
    """
    changed, earlier = F.expr(_CHANGED), order.rowsBetween(Window.unboundedPreceding, -1)
    from_ = F.when(changed, F.struct(F.col("off_before"), F.col("other_before")))
    back = changed & (
        F.last(from_, ignorenulls=True).over(earlier) == F.struct(F.col("off"), F.col("other"))
    )
    marked = beside.withColumns(
        {"back": F.coalesce(back, F.lit(False)), "change": F.count_if(changed).over(order)}
    )
    anew = F.max(F.when(changed & ~F.col("back"), F.col("change"))).over(order)
    returns = F.col("back") & ((F.col("change") - anew) % 2 == 1)
    return marked.withColumn("returns", returns).withColumns(
        {
            f"{name}_before": F.when(F.col("returns"), F.col(name)).otherwise(
                F.col(f"{name}_before")
            )
            for name in ("off", "other")
        }
    )


def since_begin(failed: DataFrame, runs: DataFrame) -> DataFrame:
    """What fails at its first checkpoint does so since its incarnation began."""
    before = F.lag("last_sequence").over(Window.orderBy("incarnation"))
    begun = runs.select("incarnation", F.coalesce(before, F.lit(0)).alias("begun"))
    joined = failed.join(F.broadcast(begun), "incarnation")
    return joined.withColumn("since", F.coalesce("since", "begun")).drop("begun")

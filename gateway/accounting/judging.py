"""All breaks of one log: what the steps find, put together in one table.

What asks why an identity fails is put together only where one does: to plan it takes as long as all
the rest, and as a rule there is nothing to ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from gateway.accounting.partitions import gathered
from gateway.accounting.segments import chain
from gateway.accounting.steps import (
    ages,
    causes,
    checked,
    confirmed,
    copies,
    counters,
    ledger,
    messages,
    mistaken,
    order,
    otherwise,
    outlets,
    strays,
    supposed,
    transactions,
)
from gateway.accounting.steps.balance import Balance
from gateway.accounting.steps.breaks import together
from gateway.accounting.steps.copies import COPY_KEYS
from gateway.accounting.steps.identities import FAILS, OUTLET, QUEUE, ROUTE
from gateway.accounting.steps.kept import kept


@dataclass(frozen=True)
class Evidence:
    """What is known of one log.

    Attributes:
        parts: the log as it was read.
        records: those in doubt, one by one.
        summed: all of them, as `ledger.ledger` has them.
        paired: its segments, by `chain.with_previous`.
        stated: what the gateway said of itself and of the log.
        runs: by `ledger.incarnations`.
        states: of copies that are still there, or late, by `copies.with_fate`.
        balance: by identity.
        told: what publishers were told that is not so, by `confirmed.told_wrongly`; the next job
            that asks, which is to ask by itself, works it out.
        facts: how much log there is, from when to when, and how it ends.
        complete: messages that were so in segments that were let go; `None`: nothing follows them.
    """

    parts: DataFrame
    records: DataFrame
    summed: DataFrame
    paired: DataFrame
    stated: DataFrame
    runs: DataFrame
    states: DataFrame
    balance: Mapping[str, Balance]
    told: DataFrame
    facts: dict[str, Any]  # Any: a cell of a result
    complete: DataFrame | None = None

    @property
    def several(self) -> bool:
        """There is more than one run."""
        return bool(self.facts["runs"] > 1)


class _Steps:
    """What single copies and messages did.

    Attributes:
        steps: by `copies.with_previous`.
        open_copies: that are in a queue when the log ends, or their run.
        away: by `copies.away`.
        doubtful: messages with which something may be wrong.
    """

    def __init__(self, seen: Evidence) -> None:
        records = seen.records.where(ledger.kind_is(*copies.KINDS))
        self.steps = copies.with_previous(copies.copy_steps(records), seen.complete)
        self.open_copies = copies.still_there(seen.states)
        self.away = copies.away(self.steps, seen.runs)
        states = messages.message_states(records, seen.runs)
        self.doubtful = kept(messages.with_steps(states, copies.came_oddly(self.steps)), rare=True)

    @property
    def unsaid(self) -> DataFrame:
        """Messages that came, and no record says so; of the run in which they did."""
        unsaid = self.doubtful.where(messages.UNSAID)
        return unsaid.withColumn("incarnation", F.col("first_end.incarnation"))

    @property
    def arrived(self) -> DataFrame:
        """Messages of which copies took steps, and no record says that they came or entered."""
        return self.doubtful.where("not received and arrived > 0")

    @property
    def short(self) -> DataFrame:
        """Messages of which copies have not arrived."""
        return self.doubtful.where(confirmed.SHORT)


def breaks_in(seen: Evidence, bounds: ages.Bounds) -> list[DataFrame]:
    """What is wrong with the clock, copies, messages, outlets, routes and queues."""
    owing = outlets.gone(seen.balance[OUTLET.name].totals, seen.summed, seen.runs)
    gone = kept(owing, by_next=True)
    did, why = _Steps(seen), None
    odd = did.doubtful.where(messages.ODDLY)
    failing, branches = _asked(seen, gone, seen.told, odd, did.unsaid)
    found: list[DataFrame] = []
    if failing:
        never = kept(_never_received(seen, did), rare=True)
        why = _Reasons(seen, did, gone, never)
        mistakes = kept(why.mistakes(), by_next=True)
        if mistakes.count():
            seen = _put_right(seen, mistakes, bounds)
            did = _Steps(seen)
            why = _Reasons(seen, did, gone, never, mistaken.effects(mistakes))
            found.append(mistaken.mistake_breaks(mistakes))
        found.append(confirmed.never_breaks(never))
        found.append(messages.never_came(did.unsaid, seen.runs))
        found += why.breaks()
    else:
        found.append(confirmed.lost(confirmed.with_told(did.short, seen.records), None))
    if branches:
        found.append(transactions.Branches(seen.records, seen.runs).breaks())
    return [*found, *_copy_breaks(seen, bounds, did, why), *_message_breaks(seen, did.doubtful)]


def _never_received(seen: Evidence, did: _Steps) -> DataFrame:
    named = did.unsaid.select("message").union(did.arrived.select("message"))
    named = named.union(did.doubtful.where(messages.EARLY).select("message")).distinct()
    words = strays.words(seen.parts)
    return confirmed.never_received(seen.told, named, seen.records, words, seen.runs)


def _copy_breaks(
    seen: Evidence, bounds: ages.Bounds, did: _Steps, why: _Reasons | None
) -> list[DataFrame]:
    """What is wrong with the clock and with copies; `why`: identities fail, if they do."""
    missed, beyond, never_ended = (
        (None, None, None) if why is None else (why.missed, why.beyond, why.never_ended)
    )
    clock = chain.clock_breaks(seen.paired, seen.stated)
    timed = ages.timed(seen.states, clock)
    end = (seen.facts["last_time_ms"] or 0, seen.facts["last_sequence"] or 0)
    found = [
        clock,
        copies.step_breaks(did.steps, never_ended),
        ages.stuck(copies.still_there(timed), missed, bounds, *end),
        order.out_of_order(seen.records, seen.complete),
    ]
    if seen.several:  # else nothing was to be there after a restart
        left = copies.not_back(copies.without(did.open_copies, beyond), did.away)
        found.append(copies.lost_at_restart(left, missed))
    if bounds.late_ms:
        found.append(ages.late(timed, bounds))
    return found


def _put_right(seen: Evidence, mistakes: DataFrame, bounds: ages.Bounds) -> Evidence:
    """What is known, with each step as that of the copy that took it."""
    records = kept(mistaken.put_right(seen.records, mistakes))
    states = kept(copies.states_of(records, seen.runs, bounds.late))
    return replace(seen, records=records, states=states)


class _Reasons:
    """Why identities fail.

    Attributes:
        missed: copies that queues miss, by `copies.candidates`.
        beyond: durable ones that a restart misses, and that are told of as too many.
        never_ended: steps, by `causes.never_ended`.
    """

    def __init__(
        self,
        seen: Evidence,
        did: _Steps,
        gone: DataFrame,
        never: DataFrame,
        mistakes: DataFrame | None = None,
    ) -> None:
        """`gone`: by `outlets.gone`; `never`: by `confirmed.never_received`.

        `mistakes`: what they put off, by `mistaken.effects`.
        """
        self._records = seen.records
        self._gone, self._owed = gone, kept(outlets.owed(gone, seen.records), rare=True)
        self._did, doubtful, open_copies = did, did.doubtful, did.open_copies
        known = causes.effects(did.steps, doubtful, seen.runs)
        self._known = kept(known if mistakes is None else known.unionByName(mistakes), rare=True)
        failed = {name: each.failed for name, each in seen.balance.items()}
        ends = kept(causes.of_outlets(failed[OUTLET.name], self._known), rare=True)
        self.never_ended = kept(
            causes.never_ended(failed[OUTLET.name], self._known, self._owed), rare=True
        )
        self._routes = kept(causes.of_routes(failed[ROUTE.name], doubtful, seen.records), rare=True)
        routes = self._routes.where(FAILS)
        short = messages.on_their_routes(did.short, seen.records)
        self._short = short = confirmed.with_told(short, seen.records)
        self._lost = [messages.route_breaks(routes, short), confirmed.lost(short, routes)]
        beyond = supposed.entered_beyond(open_copies, doubtful.where(messages.TWICE), did.steps)
        beyond = kept(beyond, rare=True)
        self.beyond = kept(supposed.lost_too(beyond, open_copies), rare=True)
        lacking = copies.not_back(open_copies, did.away)
        there = supposed.not_recovered(lacking, seen.runs).unionByName(beyond)
        named = together(*self._lost).select("message")
        named = short.join(named, "message", "left_semi").selectExpr(
            *("incarnation", "message", "routed - ended as less"),
            *("first_routed as earliest", "first_routed as latest"),
        )
        never = never.where("message is not null").selectExpr(
            *("incarnation", "message", "1L as less", "earliest", "latest")
        )
        named = named.unionByName(never)
        arrived = supposed.came_unsaid(did.arrived, did.steps)
        self._came = never.withColumn("seen", F.lit(False)).unionByName(arrived)
        queues = kept(causes.of_queues(failed[QUEUE.name], self._known), rare=True)
        self._failed = queues.where(FAILS)
        explained = supposed.accepted(self._failed, there, open_copies)
        queues = kept(supposed.without(queues, explained), rare=True)
        unrecorded = kept(supposed.unrecorded(queues.where(FAILS), named), rare=True)
        self._queues = kept(supposed.without(queues, unrecorded), rare=True)
        self.missed = kept(copies.candidates(self._queues.where(FAILS), open_copies), rare=True)
        lost = copies.lost(copies.without(open_copies, self.beyond), self.missed)
        self._held = kept(causes.of_lost(lost))
        nobody = kept(causes.with_nobody(lost, unrecorded))
        self._outlets = kept(
            causes.without_lost(causes.of_outlets(ends, self._held), nobody), rare=True
        )
        self._counted = causes.without_held(self._queues, nobody)

    def mistakes(self) -> DataFrame:
        """Records that name another copy than the one that took the step."""
        did, queues = self._did, self._queues.where(FAILS)
        taken = kept(mistaken.taken(did.steps, did.doubtful), rare=True)
        beyond = did.doubtful.where("beyond > 0")
        left = kept(otherwise.left_otherwise(taken), rare=True)
        at = F.broadcast(left.select(F.col("at").alias("sequence")))
        return mistaken.first_of(
            left,
            otherwise.displaced(did.steps, self._failed),
            mistaken.misplaced(taken.join(at, "sequence", "left_anti")),
            otherwise.received_otherwise(did.doubtful, did.unsaid, self._records),
            otherwise.ended_otherwise(self._short, beyond, self._records),
            mistaken.entered_otherwise(queues, self._short, taken),
            mistaken.misnamed(queues, did.open_copies, taken),
            otherwise.held_otherwise(did.doubtful),
        )

    def breaks(self) -> list[DataFrame]:
        """What that is."""
        links = ("incarnation", *COPY_KEYS, "links")
        known = self._known.select(*links).unionByName(self._held.select(*links))
        return [
            *self._lost,
            copies.queue_breaks(self._queues.where(FAILS), self.missed),
            outlets.outlet_breaks(self._outlets.where(FAILS), self._gone),
            outlets.detached_breaks(self._gone, self._owed, known),
            counters.counter_breaks(self._counted, self._outlets, self._routes, self._came),
        ]


def _asked(seen: Evidence, *others: DataFrame) -> tuple[bool, bool]:
    """Whether anything fails, and whether the log has prepared branches.

    Asked of all identities in one job, which works out where they fail (`Balance.failed`). Of
    segments that were let go the sums do not say whether there were branches.

    `others`: what is wrong where one of them has a row; they are worked out by it, too.
    """
    frames = [*(each.failed for each in seen.balance.values()), *others]
    failed = reduce(DataFrame.union, (frame.select("incarnation") for frame in frames))
    branches = seen.summed.where(transactions.of_branches()).select("incarnation")
    both = failed.withColumn("fails", F.lit(True)).union(branches.withColumn("fails", F.lit(False)))
    [asked] = (
        gathered(both)
        .agg(F.count_if("fails").alias("failed"), F.count_if(~F.col("fails")).alias("branches"))
        .collect()
    )
    return asked["failed"] > 0, asked["branches"] > 0 or seen.complete is not None


def _message_breaks(seen: Evidence, doubtful: DataFrame) -> list[DataFrame]:
    """What is wrong with messages; `doubtful`: their states, where something may be."""
    return [
        checked.undeclared(seen.records),
        transactions.transaction_breaks(seen.records, seen.runs),
        messages.mutated(doubtful),
        messages.routed_twice(doubtful),
        messages.came_otherwise(doubtful),
        messages.led_nowhere(doubtful, seen.runs),
        confirmed.not_durable(seen.records),
        confirmed.unreadable(seen.records),
    ]


def log_breaks(
    paired: DataFrame, stated: DataFrame, excused: Mapping[str, str] = chain.NOTHING
) -> list[DataFrame]:
    """What is missing of the log, or changed; `paired` by `chain.with_previous`.

    `excused`: as of `chain.gaps_between`.
    """
    return [
        chain.gaps_inside(paired),
        chain.gaps_between(paired, excused),
        chain.told_differences(stated),
    ]

"""All breaks of one log: what the steps find, put together in one table.

What asks why an identity fails is put together only where one does: to plan it takes as long as all
the rest, and as a rule there is nothing to ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame

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
    order,
    outlets,
    strays,
    supposed,
    transactions,
)
from gateway.accounting.steps.balance import Balance
from gateway.accounting.steps.breaks import together
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
        facts: how much log there is, from when to when, and how it ends.
    """

    parts: DataFrame
    records: DataFrame
    summed: DataFrame
    paired: DataFrame
    stated: DataFrame
    runs: DataFrame
    states: DataFrame
    balance: Mapping[str, Balance]
    facts: dict[str, Any]  # Any: a cell of a result

    @property
    def several(self) -> bool:
        """There is more than one run."""
        return bool(self.facts["runs"] > 1)


def breaks_in(seen: Evidence, bounds: ages.Bounds) -> list[DataFrame]:
    """What is wrong with the clock, copies, messages, outlets, routes and queues."""
    gone = kept(outlets.gone(seen.balance[OUTLET.name].totals, seen.summed), by_next=True)
    too_many = kept(confirmed.told_of_too_many(seen.records, seen.summed), by_next=True)
    failing = _anything_fails(seen, gone, too_many)
    open_copies = copies.still_there(seen.states)
    steps = copies.copy_steps(seen.records.where(ledger.kind_is(*copies.KINDS)))
    steps = copies.with_previous(steps)
    states = messages.message_states(seen.records.where(ledger.kind_is(*copies.KINDS)))
    doubtful = states.where(messages.DOUBTFUL)
    doubtful = kept(messages.with_steps(doubtful, copies.came_oddly(steps)))
    short = doubtful.where(confirmed.SHORT)
    missed: DataFrame | None = None
    beyond: DataFrame | None = None
    never_ended: DataFrame | None = None
    if failing:
        why = _Reasons(seen, steps, open_copies, doubtful, gone)
        missed, beyond, never_ended = why.missed, why.beyond, why.never_ended
        of_failures = why.breaks()
    else:
        of_failures = [confirmed.lost(confirmed.with_told(short, seen.records), None)]
    clock = chain.clock_breaks(seen.paired, seen.stated)
    timed = ages.timed(seen.states, clock)
    end = (seen.facts["last_time_ms"] or 0, seen.facts["last_sequence"] or 0)
    found = [
        clock,
        copies.step_breaks(steps, never_ended),
        ages.stuck(copies.still_there(timed), missed, bounds, *end),
        order.out_of_order(seen.records),
        checked.undeclared(seen.records),
        *_message_breaks(seen, doubtful),
        transactions.transaction_breaks(seen.records, seen.runs),
    ]
    if seen.several:  # else nothing was to be there after a restart
        found.append(copies.lost_at_restart(copies.without(open_copies, beyond), missed))
        found.append(transactions.branches_lost(seen.records, seen.runs))
    if bounds.late_ms:
        found.append(ages.late(timed, bounds))
    if failing:
        words = strays.words(seen.parts)
        found.append(confirmed.never_received(too_many, seen.records, words, seen.runs))
    return [*found, *of_failures]


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
        steps: DataFrame,
        open_copies: DataFrame,
        doubtful: DataFrame,
        gone: DataFrame,
    ) -> None:
        """`steps`: by `copies.with_previous`; `doubtful`: messages; `gone`: by `outlets.gone`."""
        self._gone, self._owed = gone, kept(outlets.owed(gone, seen.records))
        self._known = kept(causes.effects(steps, doubtful, seen.runs))
        failed = {name: each.failed for name, each in seen.balance.items()}
        self._outlets = kept(causes.of_outlets(failed[OUTLET.name], self._known))
        self.never_ended = kept(causes.never_ended(failed[OUTLET.name], self._known, self._owed))
        self._routes = kept(causes.of_routes(failed[ROUTE.name], doubtful))
        routes = self._routes.where(FAILS)
        short = confirmed.with_told(doubtful.where(confirmed.SHORT), seen.records)
        self._lost = [messages.route_breaks(routes, short), confirmed.lost(short, routes)]
        beyond = supposed.entered_beyond(open_copies, doubtful.where(messages.TWICE), steps)
        beyond = kept(beyond)
        self.beyond = kept(supposed.lost_too(beyond, open_copies))
        there = supposed.not_recovered(open_copies, seen.runs).unionByName(beyond)
        named = together(*self._lost).select("message")
        named = short.join(named, "message", "left_semi")
        queues = kept(causes.of_queues(failed[QUEUE.name], self._known))
        self._queues = kept(_without_supposed(queues, there, open_copies, named))
        self.missed = kept(copies.candidates(self._queues.where(FAILS), open_copies))

    def breaks(self) -> list[DataFrame]:
        """What that is."""
        return [
            *self._lost,
            copies.queue_breaks(self._queues.where(FAILS), self.missed),
            outlets.outlet_breaks(self._outlets.where(FAILS)),
            outlets.detached_breaks(self._gone, self._owed, self._known),
            counters.counter_breaks(self._queues, self._outlets, self._routes),
        ]


def _without_supposed(
    queues: DataFrame, there: DataFrame, open_copies: DataFrame, short: DataFrame
) -> DataFrame:
    """Where queues fail, without what copies may explain that are told of by name.

    `there`: copies, as `supposed.accepted` takes them; `short`: messages.
    """
    explained = supposed.accepted(queues.where(FAILS), there, open_copies)
    left = kept(supposed.without(queues, explained))
    return supposed.without(left, supposed.unrecorded(left.where(FAILS), short))


def _anything_fails(seen: Evidence, *others: DataFrame) -> bool:
    """Asked of all identities in one job, which works out where they fail (`Balance.failed`).

    `others`: what is wrong where one of them has a row; they are worked out by it, too.
    """
    frames = [*(each.failed for each in seen.balance.values()), *others]
    failed = reduce(DataFrame.union, (frame.select("incarnation") for frame in frames))
    return bool(gathered(failed).count())


def _message_breaks(seen: Evidence, doubtful: DataFrame) -> list[DataFrame]:
    """What is wrong with messages; `doubtful`: their states, where something may be."""
    return [
        messages.mutated(doubtful),
        messages.routed_twice(doubtful),
        messages.led_nowhere(doubtful, seen.runs),
        confirmed.not_durable(seen.records),
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

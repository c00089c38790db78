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
    transactions,
)
from gateway.accounting.steps.balance import Balance
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
    missed, why = _why(seen, steps, open_copies, gone) if failing else (None, [])
    clock = chain.clock_breaks(seen.paired, seen.stated)
    timed = ages.timed(seen.states, clock)
    end = (seen.facts["last_time_ms"] or 0, seen.facts["last_sequence"] or 0)
    found = [
        clock,
        copies.step_breaks(steps),
        ages.stuck(copies.still_there(timed), missed, bounds, *end),
        order.out_of_order(seen.records),
        checked.undeclared(seen.records),
        *_message_breaks(seen, failing=failing),
        transactions.transaction_breaks(seen.records, seen.runs),
    ]
    if seen.several:  # else nothing was to be there after a restart
        found.append(copies.lost_at_restart(open_copies, missed))
    if bounds.late_ms:
        found.append(ages.late(timed, bounds))
    if failing:
        words = strays.words(seen.parts)
        found.append(confirmed.never_received(too_many, seen.records, words, seen.runs))
    return [*found, *why]


def _why(
    seen: Evidence, steps: DataFrame, open_copies: DataFrame, gone: DataFrame
) -> tuple[DataFrame, list[DataFrame]]:
    """Why identities fail: the copies that queues miss (`copies.candidates`), and the breaks.

    `steps`: by `copies.with_previous`; `gone`: by `outlets.gone`.
    """
    known = kept(causes.effects(steps))
    failed = _unexplained(seen, known)
    queues = failed[QUEUE.name].where(FAILS)
    missed = kept(copies.candidates(queues, open_copies))
    return missed, [
        copies.queue_breaks(queues, missed),
        outlets.outlet_breaks(failed[OUTLET.name].where(FAILS)),
        outlets.detached_breaks(gone, seen.records, known),
        counters.counter_breaks(*failed.values()),
    ]


def _unexplained(seen: Evidence, known: DataFrame) -> dict[str, DataFrame]:
    """Where identities fail, without what copies explain; `known` by `causes.effects`."""
    return {
        QUEUE.name: kept(causes.of_queues(seen.balance[QUEUE.name].failed, known)),
        OUTLET.name: kept(causes.of_outlets(seen.balance[OUTLET.name].failed, known)),
        ROUTE.name: seen.balance[ROUTE.name].failed,
    }


def _anything_fails(seen: Evidence, *others: DataFrame) -> bool:
    """Asked of all identities in one job, which works out where they fail (`Balance.failed`).

    `others`: what is wrong where one of them has a row; they are worked out by it, too.
    """
    frames = [*(each.failed for each in seen.balance.values()), *others]
    failed = reduce(DataFrame.union, (frame.select("incarnation") for frame in frames))
    return bool(gathered(failed).count())


def _message_breaks(seen: Evidence, *, failing: bool) -> list[DataFrame]:
    """What is wrong with messages."""
    records = seen.records
    states = messages.message_states(records.where(ledger.kind_is(*copies.KINDS)))
    doubtful = kept(states.where(messages.DOUBTFUL))
    short = confirmed.with_told(doubtful.where(confirmed.SHORT), records)
    failures = seen.balance[ROUTE.name].failures if failing else None
    found = [
        messages.mutated(doubtful),
        messages.routed_twice(doubtful),
        messages.led_nowhere(doubtful, seen.runs),
        confirmed.lost(short, failures),
        confirmed.not_durable(records),
    ]
    if failures is not None:
        found.append(messages.route_breaks(failures, short))
    return found


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

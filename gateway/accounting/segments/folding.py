"""Which messages are complete and in order within one unit of a segment, so that nothing is to ask.

Such a message was received there, all its copies came and left as they may, each once, and its body
stayed the same. Its steps are in the sums of the ledger, and no step of the job would find anything
in its records: they are *folded*, and only those of the others go on. That is sound if no other
unit has a record of it: so `folded_words` says which messages these are, and what another unit has
of one of them (`strays`) brings its records back.

What is in order here is so for the steps in `checked`, `copies`, `messages`, `confirmed` and
`order`; what is in doubt, or is not known here, goes on.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gateway.accounting.segments.columns import Columns, Unit, text_of
from gateway.accounting.steps.ledger import RECOVERING
from gateway.audit.schema import (
    BODIED,
    DELIVERY_OUTCOMES,
    FIELD_NAMES,
    REMOVALS,
    Flag,
    Kind,
    Outcome,
    Reason,
)

WORD_SHIFT: Final = 6  # a word has 64 messages

# The kinds whose `message` is none, and those of which it is known what they say of one.
OF_NO_MESSAGE: Final = (
    *(Kind.INCARNATION_STARTED, Kind.INCARNATION_STOPPED, Kind.CLOCK),
    *(Kind.CONNECTION_OPENED, Kind.CONNECTION_CLOSED, Kind.CONNECTION_REFUSED),
    *(Kind.SESSION_ATTACHED, Kind.SESSION_DETACHED, Kind.LINK_ATTACHED, Kind.LINK_DETACHED),
    *(Kind.CONFIRMED, Kind.TRANSACTION, Kind.TOPOLOGY, Kind.FEATURE_USED, Kind.ACCESS_REFUSED),
    *(Kind.QUEUE_CHECKPOINT, Kind.OUTLET_CHECKPOINT, Kind.ROUTE_CHECKPOINT),
    *(Kind.RULES_CHANGED, Kind.STORE_ACCEPTED, Kind.LOG_DIFFERS, Kind.LET_GO),
)
KNOWN: Final = (
    *(Kind.RECEIVED, Kind.ROUTED, Kind.UNROUTABLE, Kind.REFUSED, Kind.ROLLED_BACK),
    *(Kind.ENTERED, Kind.RECOVERED, Kind.SENT, Kind.SETTLED, Kind.REQUEUED),
    *(Kind.TRANSLATED_WITH_LOSS, Kind.TRANSLATION_CHECKED),
    *sorted(REMOVALS),
)
# The fields that it is known of that no step looks for more in them than is looked for here.
FIELDS_KNOWN: Final = frozenset(
    (
        *("sequence", "time_ms", "message", "position", "link", "id_digest", "body_digest", "size"),
        *("node", "exchange", "peer", "connection", "transaction", "copies", "reason", "flags"),
        *("delivery_count", "kind", "outcome", "actor", "address"),
    )
)

# Steps of a copy, as `copies.copy_steps` has them, told apart as far as what may be before differs.
_NO_STEP, _IN, _IN_AGAIN, _OUT, _OUT_REMOTE, _SENT_OFF, _SENT_OFF_REMOTE = range(7)
_ENDED, _REMOVED, _BACK, _RECOVERED = range(7, 11)
_STEPS: Final = 11
_EXITS: Final = (_SENT_OFF, _SENT_OFF_REMOTE, _ENDED, _REMOVED)
_NEVER: Final = _NO_STEP  # as the step before the first
_HELD: Final = (_IN, _IN_AGAIN, _BACK, _RECOVERED)
_AWAY: Final = (_OUT, _OUT_REMOTE)
_BY_OUTLET: Final = (_ENDED, _BACK)  # the one that it was sent to


def _legal() -> Columns:
    """By step and the step before it, whether that is in order."""
    legal = np.zeros((_STEPS, _STEPS), dtype=bool)
    legal[_IN, _NEVER] = True
    legal[_IN_AGAIN, [_NEVER, *_EXITS]] = True
    for step in (_OUT, _SENT_OFF):
        legal[step, list(_HELD)] = True
    for step in (_OUT_REMOTE, _SENT_OFF_REMOTE):
        legal[step, [_NEVER, *_HELD]] = True
    for step in _BY_OUTLET:
        legal[step, list(_AWAY)] = True
    legal[[[_REMOVED], [_RECOVERED]], [*_HELD, *_AWAY]] = True
    return legal


_LEGAL: Final = _legal()
_ENDS: Final = np.isin(np.arange(_STEPS), _BY_OUTLET)


def _table(kinds: tuple[Kind, ...]) -> Columns:
    """By a kind's number, whether it is one of these."""
    table = np.zeros(256, dtype=bool)
    table[[int(kind) for kind in kinds]] = True
    return table


_OF_A_MESSAGE: Final = ~_table(OF_NO_MESSAGE)
_UNKNOWN: Final = ~_table(KNOWN)
_REMOVES: Final = _table((*sorted(REMOVALS),))
_ROUTES: Final = _table((Kind.RECEIVED, Kind.ROUTED))
_ARRIVES: Final = _table((Kind.ENTERED, Kind.UNROUTABLE, Kind.REFUSED, Kind.ROLLED_BACK))
_BODIED: Final = _table(BODIED)
_ONWARD: Final = _table((Kind.DEAD_LETTERED, Kind.MOVED))


class _Messages:
    """The records of messages, one message behind the other, each in the order of the log."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        places = np.flatnonzero(of_messages(unit))
        numbers = unit.column("message")[places]
        order = np.argsort(numbers, kind="stable")
        self.places = places[order]
        self.numbers = numbers[order]
        begins = np.ones(len(places), dtype=bool)
        begins[1:] = self.numbers[1:] != self.numbers[:-1]
        self.starts = np.flatnonzero(begins)
        self.groups = np.cumsum(begins) - 1  # of each record, which message
        self.kind = self.column("kind").view(np.uint8)
        self.flags = self.column("flags")
        self.outcome = self.column("outcome")

    def column(self, name: str) -> Columns:
        return self.unit.column(name)[self.places]

    def has(self, flag: Flag) -> Columns:
        return self.flags & int(flag) != 0

    def any(self, these: Columns) -> Columns:
        """Of each message, whether one of its records is one of these."""
        return np.logical_or.reduceat(these, self.starts)

    def sum(self, values: Columns) -> Columns:
        return np.add.reduceat(values.astype(np.int64), self.starts)

    def steps(self) -> Columns:
        """Of each record, which step it is."""
        kind, accepted = self.kind, self.outcome == Outcome.ACCEPTED
        remote = self.has(Flag.UNQUEUED)
        sent, settled = kind == Kind.SENT, kind == Kind.SETTLED
        off = sent & self.has(Flag.SETTLED)
        late = settled & (self.outcome == Outcome.SETTLED_TOO_LATE)
        steps = np.zeros(len(kind), dtype=np.int8)
        steps[kind == Kind.ENTERED] = _IN
        steps[kind == Kind.RECOVERED] = _RECOVERED
        steps[(kind == Kind.ENTERED) & self.has(Flag.REROUTED)] = _IN_AGAIN
        steps[settled | (kind == Kind.REQUEUED)] = _BACK
        steps[late] = _NO_STEP
        steps[sent] = _OUT
        steps[sent & remote] = _OUT_REMOTE
        steps[off] = _SENT_OFF
        steps[off & remote] = _SENT_OFF_REMOTE
        steps[settled & (self.has(Flag.REMOVED) | accepted)] = _ENDED
        steps[_REMOVES[kind]] = _REMOVED
        steps[self.has(Flag.COPY)] = _NO_STEP
        return steps


class Folding(NamedTuple):
    """What is folded of a unit.

    Attributes:
        alone: of each record, whether its message is.
        first: where the first step of each copy of these messages stands.
        last: and its last.
    """

    alone: Columns
    first: Columns
    last: Columns


def of_messages(unit: Unit) -> Columns:
    """Of each record, whether it is one of a message."""
    return _OF_A_MESSAGE[unit.column("kind").view(np.uint8)]


def nothing(unit: Unit) -> Folding:
    """Nothing is folded."""
    none = np.zeros(0, dtype=np.int64)
    return Folding(np.zeros(len(unit.rows), dtype=bool), none, none)


def folded(unit: Unit, late_ms: int = 0) -> Folding:
    """Which messages of the unit are folded.

    `late_ms`: what is settled later than that is not; 0: it may be as late as it likes.
    """
    sequences = unit.column("sequence")
    if not len(sequences) or np.any(sequences[1:] <= sequences[:-1]):
        return nothing(unit)
    messages = _Messages(unit)
    if not len(messages.places):
        return nothing(unit)
    copies = _Copies(messages)
    good = ~messages.any(_doubts(messages) | copies.illegal)
    good &= messages.sum(messages.kind == Kind.RECEIVED) == 1
    good &= _routes_agree(messages) & _bodies_agree(messages) & ~_stored_otherwise(messages)
    good &= ~_arrives_early(messages)
    good &= _browsing_ends(messages) & ~_given_back(messages)
    if late_ms:
        good &= _waited_ms(messages) <= late_ms
    alone = np.zeros(len(unit.rows), dtype=bool)
    alone[messages.places] = good[messages.groups]
    first, last = messages.places[copies.first], messages.places[copies.last]
    return Folding(alone, first[alone[first]], last[alone[last]])


def _doubts(messages: _Messages) -> Columns:
    """Of each record, whether it is not known here what it may mean."""
    unit = messages.unit
    doubts = _UNKNOWN[messages.kind] | (messages.column("transaction") != 0)
    doubts |= unit.marks[messages.places]
    doubts |= (messages.kind == Kind.SETTLED) & ~np.isin(messages.outcome, DELIVERY_OUTCOMES)
    stays = ~(messages.has(Flag.REMOVED) | messages.has(Flag.UNQUEUED) | messages.has(Flag.COPY))
    doubts |= (messages.kind == Kind.SETTLED) & (messages.outcome == Outcome.ACCEPTED) & stays
    doubts |= (messages.kind == Kind.PURGED) & (messages.column("reason") == Reason.UNDECODABLE)
    doubts |= (messages.kind == Kind.TRANSLATION_CHECKED) & (messages.column("exchange") != 0)
    for name in unit.rows.dtype.names:
        if name in FIELD_NAMES and name not in FIELDS_KNOWN:
            doubts |= messages.column(name) != 0
    return doubts


def _ends_route(messages: _Messages) -> Columns:
    """Of each record, whether a copy arrives by it, as `ledger.ends_route` has it."""
    remote = messages.has(Flag.UNQUEUED) & ~messages.has(Flag.REDELIVERED)
    return _ARRIVES[messages.kind] | ((messages.kind == Kind.SENT) & remote)


def _routes_agree(messages: _Messages) -> Columns:
    """Of each message: as many copies arrived as were made, and what left says where to."""
    kind = messages.kind
    reason = messages.column("reason")
    made = np.where(_ROUTES[kind], messages.column("copies"), 0)
    onward = _ONWARD[kind]
    onward |= (kind == Kind.UNROUTABLE) & (reason == Reason.ALTERNATE_EXCHANGE)
    arrived = messages.sum(made) == messages.sum(_ends_route(messages))
    return arrived & (messages.sum(onward) <= messages.sum(kind == Kind.ROUTED))


def _bodies_agree(messages: _Messages) -> Columns:
    """Of each message: its body is always the same, but where it was translated."""
    body = messages.column("body_digest")
    compared = _BODIED[messages.kind] & ~messages.has(Flag.TRANSLATED)
    least = np.where(compared, body, np.iinfo(np.int64).max)
    greatest = np.where(compared, body, np.iinfo(np.int64).min)
    least = np.minimum.reduceat(least, messages.starts)
    return least >= np.maximum.reduceat(greatest, messages.starts)


def _browsing_ends(messages: _Messages) -> Columns:
    """Of each message: as many deliveries as browsers were given have ended."""
    browsed, kind = messages.has(Flag.COPY), messages.kind
    if not browsed.any():
        return np.ones(len(messages.starts), dtype=bool)
    given = browsed & (kind == Kind.SENT) & ~messages.has(Flag.SETTLED)
    ended = browsed & ((kind == Kind.SETTLED) | (kind == Kind.REQUEUED))
    return messages.sum(given) == messages.sum(ended)


def _stored_otherwise(messages: _Messages) -> Columns:
    """Of each message, whether it is durable, and not stored in a queue, or not, and is stored."""
    durable, transit = messages.has(Flag.DURABLE), messages.has(Flag.TRANSIT)
    received = messages.any((messages.kind == Kind.RECEIVED) & durable)
    entered = (messages.kind == Kind.ENTERED) & ~transit
    stored = messages.any(entered & durable & ~messages.has(Flag.REROUTED))
    return np.where(received, messages.any(entered & ~durable), stored)


def _arrives_early(messages: _Messages) -> Columns:
    """Of each message: a copy arrived in front of the record that it was received, or went on."""
    kind, none = messages.kind, len(messages.kind)
    places = np.arange(none)
    ends, onward = _ends_route(messages), messages.has(Flag.REROUTED)
    came, arrived, went, followed = (
        np.minimum.reduceat(np.where(these, places, none), messages.starts)
        for these in (kind == Kind.RECEIVED, ends, ends & onward, kind == Kind.ROUTED)
    )
    return (arrived < came) | ((went < followed) & (followed < none))


def _given_back(messages: _Messages) -> Columns:
    """Of each message: a copy is given back and removed, and one is in a queue that is no way."""
    back = (messages.outcome == Outcome.RELEASED) | (messages.outcome == Outcome.MODIFIED)
    back &= (messages.kind == Kind.SETTLED) & messages.has(Flag.REMOVED)
    if not back.any():
        return np.zeros(len(messages.starts), dtype=bool)
    stays = (messages.kind == Kind.ENTERED) & ~messages.has(Flag.TRANSIT)
    return messages.any(back) & messages.any(stays)


class _Copies:
    """The steps of copies, one copy behind the other, each in the order of the log.

    Attributes:
        illegal: of each record, whether it cannot follow, or is the last step and no way out.
        first: where the first step of each copy is, among the records of messages.
        last: and its last.
    """

    def __init__(self, messages: _Messages) -> None:
        steps = messages.steps()
        places = np.flatnonzero(steps)
        names = _same_names(messages.unit)
        keys = (
            messages.column("position")[places],
            names[messages.places[places]],
            messages.groups[places],
        )
        order = _by_copy(*keys)
        places = places[order]
        begins = np.ones(len(places) + 1, dtype=bool)  # and, one further, behind the last
        begins[1:-1] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
        ordered = steps[places]
        before = np.where(begins[:-1], _NEVER, np.roll(ordered, 1))
        bad = ~_LEGAL[ordered, before] | (begins[1:] & ~np.isin(ordered, _EXITS))
        # Between two steps is a restart, if the second one says so.
        runs = np.broadcast_to(messages.unit.incarnation, len(messages.unit.rows))
        runs = runs[messages.places[places]]
        restarted = ~begins[:-1] & (runs != np.roll(runs, 1))
        bad |= restarted != (ordered == _RECOVERED)
        again = np.flatnonzero(restarted)
        if len(again):  # which are none in most units
            bad[again] |= _missed_a_run(messages.unit, runs[again], runs[again - 1])
        links, at = messages.unit.column("link"), messages.places[places]
        cut = np.flatnonzero(restarted & np.isin(before, _AWAY))
        bad[cut] |= _should_have_ended(messages.unit, at[cut - 1])
        ends = np.flatnonzero(_ENDS[ordered])
        bad[ends] |= links[at[ends]] != links[at[ends - 1]]
        self.illegal = np.zeros(len(steps), dtype=bool)
        self.illegal[places] = bad
        self.first, self.last = places[begins[:-1]], places[begins[1:]]


def _should_have_ended(unit: Unit, sent: Columns) -> Columns:
    """Of deliveries that were out when their run ended, whether their outlet was gone by then.

    A record says so, or that the run stopped in order.
    """
    kinds, links = unit.column("kind").view(np.uint8), unit.column("link")
    runs = np.broadcast_to(unit.incarnation, len(kinds))
    gone = (kinds == Kind.LINK_DETACHED) & np.isin(links, links[sent])
    detached = {*zip(runs[gone].tolist(), links[gone].tolist(), strict=True)}
    theirs = zip(runs[sent].tolist(), links[sent].tolist(), strict=True)
    stopped = np.isin(runs[sent], runs[kinds == Kind.INCARNATION_STOPPED])
    return stopped | np.array([each in detached for each in theirs], dtype=bool)


def _missed_a_run(unit: Unit, runs: Columns, before: Columns) -> Columns:
    """Of steps, whether a run between theirs and the one before got past its recovery."""
    of_all = np.broadcast_to(unit.incarnation, len(unit.rows))
    opened = np.unique(of_all[~np.isin(unit.column("kind"), RECOVERING)])
    return np.searchsorted(opened, before, "right") < np.searchsorted(opened, runs, "left")


def _by_copy(positions: Columns, nodes: Columns, groups: Columns) -> Columns:
    """The order in which steps stand by message, which they do, and within each by copy."""
    order = np.arange(len(groups))
    same = (groups[1:] == groups[:-1]) & (
        (nodes[1:] != nodes[:-1]) | (positions[1:] != positions[:-1])
    )
    several = np.zeros(int(groups.max(initial=0)) + 1, dtype=bool)
    several[groups[1:][same]] = True
    mixed = np.flatnonzero(several[groups])
    order[mixed] = mixed[np.lexsort((positions[mixed], nodes[mixed], groups[mixed]))]
    return order


def _same_names(unit: Unit) -> Columns:
    """Of each record the lowest number of a name that means the same as its node's."""
    numbers = unit.column("node")
    different = np.unique(numbers)
    lowest: dict[str | None, int] = {}
    same = [lowest.setdefault(text_of(each, unit.texts), each) for each in different.tolist()]
    return np.array(same, dtype=np.int64)[np.searchsorted(different, numbers)]


def _waited_ms(messages: _Messages) -> Columns:
    """Of each message, how long it is from when the first copy entered until the last is settled.

    That is as long as a copy of it can have waited.
    """
    times, steps = messages.column("time_ms"), messages.steps()
    least, greatest = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    entered = np.where(np.isin(steps, (_IN, _IN_AGAIN)), times, least)
    settled = np.where(np.isin(steps, (_SENT_OFF, _SENT_OFF_REMOTE, _ENDED)), times, greatest)
    first = np.minimum.reduceat(entered, messages.starts)
    last = np.maximum.reduceat(settled, messages.starts)
    known = (first < least) & (last > greatest)
    return np.where(known, last - np.where(known, first, 0), 0)


def folded_words(unit: Unit, these: Columns) -> tuple[Columns, Columns]:
    """Which messages the records of `these` are of: words, and of each word the bits set."""
    numbers = np.unique(unit.column("message")[these])
    words, starts = np.unique(numbers >> WORD_SHIFT, return_index=True)
    bits = np.left_shift(np.uint64(1), (numbers & 63).astype(np.uint64))
    if len(numbers):
        bits = np.bitwise_or.reduceat(bits, starts)
    return words, bits.view(np.int64)

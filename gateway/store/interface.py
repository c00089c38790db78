"""What the bridge and the service know of a store: its protocol, and what it hands over at start.

A store keeps messages in queues, and the topology that they live in, across any crash. It works in
turns: `submit` takes what one turn made durable (packed by `writes.TurnWriter`) together with the
turn's audit block, and the answer, some time later on the reactor's thread, is `committed(turn)`:
everything up to that turn is on disk. The answer is never given early; while the disk refuses, it
is withheld and `failed` says why, until `eased` says that all is well again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

from gateway.audit.ahead import Known
from gateway.audit.ends import LogEnds
from gateway.errors import StoreError
from gateway.store.entries import Entry
from gateway.wire.durations import Durations

CallInReactor = Callable[[Callable[[], None]], None]
Committed = Callable[[int], None]
Failed = Callable[[StoreError], None]
Eased = Callable[[], None]


@final
@dataclass(init=False, slots=True)
class TopologyRow:
    """One durable exchange, queue, binding, page of notes: the bridge knows what its parts mean."""

    kind: int
    key: str
    value: bytes

    def __init__(self, kind: int, key: str, value: bytes) -> None:
        self.kind = kind
        self.key = key
        self.value = value


@final
@dataclass(init=False, slots=True)
class Recovered:
    """What a store held when it was opened.

    Attributes:
        topology: ordered by kind, then key.
        held: how many entries each queue has, by its number: exactly those that were confirmed and
            not dequeued. `Store.recall` hands them over.
        highest_message_id: no message of this data directory has a greater id, neither a stored one
            nor one that was only ever in memory.
        incarnation: how often this data directory was opened, this time included.
        previous: the last incarnation before that has records in the audit log, by all that store
            and log know; `audit.schema.NO_LIFE`: there is none, 0: nobody knows.
        clean: it was closed in order. If not, any entry may have been seen by a consumer before.
        damage: one line for each part that could not be read and was left out, which an operator
            has accepted; and for those of an earlier start of which nobody may have been told.
        nameless: of queues with entries and without a row, by number: what the audit log calls
            them, or "". Whoever can read it fills this in.
        aside: one line for each row that an earlier start has left out, and that is still kept.
        flags: those that its messages have, one or the other.
    """

    topology: list[TopologyRow]
    held: dict[int, int]
    highest_message_id: int
    incarnation: int
    previous: int
    clean: bool
    damage: list[str]
    aside: list[str]
    nameless: dict[int, str]
    flags: int

    def __init__(
        self,
        *,
        topology: list[TopologyRow],
        held: dict[int, int],
        highest_message_id: int,
        incarnation: int,
        clean: bool,
        damage: list[str],
        aside: list[str],
        previous: int = 0,
        flags: int = 0,
    ) -> None:
        self.flags = flags
        self.topology = topology
        self.held = held
        self.highest_message_id = highest_message_id
        self.incarnation = incarnation
        self.previous = previous
        self.clean = clean
        self.damage = damage
        self.aside = aside
        self.nameless = {}

    @property
    def count(self) -> int:
        """How many entries it held."""
        return sum(self.held.values())


@final
@dataclass(init=False, slots=True)
class Fetched:
    """A piece of what `Store.fetch` or `Store.recall` was asked for.

    Attributes:
        request: the number that it was asked under; 0 if it was recalled.
        entries: of each queue by position, behind those of earlier pieces.
        last: nothing more comes.
        error: why entries are not among them that live: their rows cannot be read. Of the last
            piece only.
    """

    request: int
    entries: list[Entry]
    last: bool
    error: StoreError | None

    def __init__(
        self, request: int, entries: list[Entry], *, last: bool, error: StoreError | None = None
    ) -> None:
        self.request = request
        self.entries = entries
        self.last = last
        self.error = error


OnFetched = Callable[[Fetched], None]


def nobody_asked(_piece: Fetched) -> None:
    """What becomes of pieces before there is somebody who fetches."""


# Before anything is written: raises StartupError where what was read, the topology and how many
# entries queues have, must not be begun with.
Judge = Callable[[list[TopologyRow], dict[int, int]], None]


@final
class StoreCounts:
    """What a store counts; read by the metrics at scrape, never reset.

    Each is changed by one thread only: `*_submitted` by the reactor's, the others by the store's.

    Attributes:
        turns_submitted, octets_submitted: what `submit` took.
        turns, octets_done: of these, what was reported as committed.
        commits: transactions of durable turns.
        octets: octets that these wrote to the log.
        octets_read: of rows, at open.
        commit_us: microseconds spent in commits; `commit_times`: how long each took.
        attempts, answers: writes that the commit thread has begun, and those that came to an end,
            good or bad.
        failures, audit_failures: attempts to write the store and the audit log that were refused.
        rows: in the log now.
        rows_damaged: found unreadable at open, or before that and kept aside; and tables with fewer
            rows than they had.
        log_differences: ways in which the audit log was not what the store remembers, at open.
        log_octets_cut: off its end at open: what was there was not whole.
    """

    __slots__ = (
        "answers",
        "attempts",
        "audit_failures",
        "commit_times",
        "commit_us",
        "commits",
        "failures",
        "log_differences",
        "log_octets_cut",
        "octets",
        "octets_done",
        "octets_read",
        "octets_submitted",
        "rows",
        "rows_damaged",
        "turns",
        "turns_submitted",
    )

    def __init__(self) -> None:
        self.turns_submitted = 0
        self.octets_submitted = 0
        self.turns = 0
        self.octets_done = 0
        self.commits = 0
        self.octets = 0
        self.octets_read = 0
        self.commit_us = 0
        self.commit_times = Durations()
        self.attempts = 0
        self.answers = 0
        self.failures = 0
        self.audit_failures = 0
        self.log_differences = 0
        self.log_octets_cut = 0
        self.rows = 0
        self.rows_damaged = 0

    @property
    def turns_waiting(self) -> int:
        """Turns submitted and not reported yet."""
        return self.turns_submitted - self.turns

    def unwritten(self) -> str:
        """What waits, in words that can follow others; "" when nothing does."""
        turns = self.turns_waiting
        return f"; not written: {turns} turns, {self.octets_waiting} octets" if turns else ""

    @property
    def octets_waiting(self) -> int:
        """Their octets, audit blocks included: what holds publishers back when the disk is slow."""
        return self.octets_submitted - self.octets_done


class LogKeeper(Protocol):
    """Who knows where the audit log begins and ends, which the store remembers."""

    def compare(self, known: Known, *, store: str) -> int:
        """Before anything is appended: the number of the last life that the log has records of.

        `store`: why it knows nothing, "missing" or "empty"; "" when it does.
        Raises StartupError where such a store must not be begun, or is older than the log.
        """

    def begin(self, life: int) -> None:
        """Before anything of this life is appended: its number."""

    def kept(self) -> int:
        """After `compare`: the record up to which the log surely has what the store has of it."""

    @property
    def begun(self) -> int:
        """How many segments were begun since it was opened."""

    def ends(self) -> LogEnds:
        """Both ends, as far as they are on disk."""

    def seal(self) -> None:
        """All that this life has appended is sealed, and on disk."""

    def publish(self) -> None:
        """After the store has remembered an end behind it: the last seal may be known."""


class AuditSegments(Protocol):
    """Where audit blocks end up (`audit.segment`); `StoreError` if the disk refuses, then again."""

    @property
    def unsynced_octets(self) -> int:
        """What is kept in memory until it is surely on disk."""

    def append(self, blocks: bytes) -> None:
        """Write complete blocks; those that the segments hold already are skipped."""

    def sync(self) -> None:
        """Everything appended is on disk when this returns."""

    def look(self) -> None:
        """`StoreError` if what is written is not where it can be found again."""

    def close(self) -> None:
        """Sync and close the current segment."""


class Store(Protocol):
    """Where turns are made durable; all calls come from the reactor's thread.

    Attributes:
        on_fetched: is given what was fetched, on the reactor's thread; whoever fetches sets it.
    """

    on_fetched: OnFetched

    @property
    def counts(self) -> StoreCounts:
        """Plain numbers for the metrics."""

    def open(self) -> Recovered:
        """Read what there is, but no message; blocks.

        `StartupError` if another process has the data directory, `StoreError` if it is unreadable.
        """

    def submit(self, turn: int, writes: bytes, audit_block: bytes) -> None:
        """Take one turn, numbers ascending; never blocks. Nothing durable: `writes` is empty."""

    def recall(self, take: OnFetched, queues: list[int] | None = None) -> None:
        """Read what was held when it was opened, piece by piece; never blocks.

        Each call is for one piece, which `take` is given on the store's thread; the first call, and
        the first behind the last piece, begins from the beginning. Queues come side by side, as
        they are on disk; or only `queues`, one after another.
        """

    def fetch(
        self, request: int, queue_number: int, first_position: int, behind_position: int
    ) -> None:
        """Read again what lives in a part of a queue; never blocks.

        `on_fetched` is called with the pieces, of requests in the order in which they were made.
        They have what every turn left that was submitted before; of later ones, what they have
        dequeued may still be there, and what they have enqueued may be there already. Copies of a
        message have a `Message` each. While the disk refuses, nothing is fetched; nor after
        `close`.
        """

    def close(self, final_audit: bytes) -> None:
        """Commit what waits, then `final_audit`, mark the store as closed in order; blocks.

        `StoreError` if the disk still refuses; the store is then not marked, as after a crash.
        """

"""The store's thread: takes the turns that wait, commits them as one row, reports, tidies up.

Why a log: the commit thread shares the interpreter's lock with a reactor that, compiled, keeps it
for a whole turn. Each statement costs at least one such wait, so a commit is one statement, the
INSERT of one row that holds everything the waiting turns made durable (`log_rows`), and never a
statement per message. SQLite gives what a bare file lacks: atomic commits, reuse of freed space, a
WAL that is cut cleanly where a write was torn.

A group: all turns that wait (up to `GROUP_OCTETS`, less on a small disk) become one row; their
audit blocks are appended to the segments; the last of them is reported with one call into the
reactor. `submit` only puts into a queue.

Audit: the blocks of a durable group are in its row, so that they are as durable as the steps that
they record, with the same fsync. They are appended to the segment after the commit; a row stays
until the segment has been synced behind it, and at start what the segment lacks is appended first.
Blocks of groups without durable writes go straight to the segment; until it is synced they are
also remembered as *loose*, and ride in the next durable row: else a power cut could leave a
durable turn's records in the log and lose those before them. `LOOSE_OCTETS` bounds them by syncing.
Of a segment that begins the store is told before anything in it is reported: it is on disk by then,
and whoever removes it after a kill, with all the records of that life, is found out. What the log
has is sealed each few seconds, and at the end; the store remembers that before anybody is told, so
that what somebody was told is never cut off by a restart.

Housekeeping comes after the report, a little each time: rows that nobody needs are deleted in
batches (`occupancy`), at most `REWRITTEN_OCTETS` or so of stragglers ride along with a group while
the log is overgrown, and the WAL is checkpointed each `WAL_OCTETS`. When idle for a second it all
is brought up to date, and the segment synced.

What rests in the log is read again (`fetching`) after that, a share of rows from one commit to the
next, or all that is asked for while no turn waits.

Failure: what the disk refuses - a group, an audit block, housekeeping - is tried again with growing
pauses until it is written (`trouble`), and nothing else is written or reported meanwhile. SQLite
writes a commit whose sync failed anew, and so does a checkpoint; of segments `audit.segment_file`
tells. Where the files are is looked at before a report, at most each `LOOK_NS`, since that is one
more wait for the lock, and each second when idle. An error that is no disk's (a defect) ends the
thread, and so the process: who has nobody to commit must not go on taking messages.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event
from time import perf_counter_ns, sleep
from typing import Final, final

from gateway.audit.ends import NOTHING_KNOWN, LogEnds
from gateway.errors import DecodeError, StoreError
from gateway.store.copying import Copying
from gateway.store.database import Database
from gateway.store.interface import (
    AuditSegments,
    CallInReactor,
    Committed,
    LogKeeper,
    OnFetched,
    StoreCounts,
)
from gateway.store.log_rows import pack_row, scan, unpack_row
from gateway.store.occupancy import Occupancy
from gateway.store.recall.fetching import Fetching, Request
from gateway.store.recall.kept_rows import KeptRows
from gateway.store.recall.recalling import Recalling
from gateway.store.recovery import TopologyChanges
from gateway.store.rewriting import living_part
from gateway.store.trouble import Trouble
from gateway.store.writes import CONTENTS_AT, HAS_TOPOLOGY

GROUP_OCTETS: Final = 4 * 1024 * 1024
LOOSE_OCTETS: Final = 256 * 1024
UNSYNCED_OCTETS: Final = 4 * 1024 * 1024  # of segments: they are kept in memory
REWRITTEN_OCTETS: Final = 256 * 1024
REWRITTEN_ROWS: Final = 16
WAL_OCTETS: Final = 8 * 1024 * 1024
PAGE_OCTETS: Final = 8192
DEAD_ROWS: Final = 1024
DEAD_OCTETS: Final = 4 * 1024 * 1024
IDLE_S: Final = 1.0
RECALLS_S: Final = 0.05  # from one look for a stop to the next, while the disk refuses
LOOK_NS: Final = 100_000_000  # from one look at where the files are to the next
LOOK_INSIDE_NS: Final = 1_000_000_000  # at what is in the store's
SEAL_MS: Final = 10_000  # from one seal of the audit log to the next
STOP_ATTEMPTS: Final = 4  # then a stop gives up

Turn = tuple[int, bytes, bytes]
_STOP: Final[Turn] = (-1, b"", b"")
_COPY: Final[Turn] = (-2, b"", b"")  # a copy wants its next share
_FETCH: Final[Turn] = (-3, b"", b"")  # a request, in its order among the turns
_RECALL: Final[Turn] = (-4, b"", b"")  # a piece is wanted of what was held at the beginning


@final
class Group:
    """What one commit makes durable, and how far it has come."""

    def __init__(self, last_turn: int, turns: int, writes: bytes, audit: bytes) -> None:
        self.last_turn = last_turn
        self.turns = turns
        self.writes = writes
        self.audit = audit
        self.octets = 0
        self.number = 0
        self.row = b""
        self.topology: dict[tuple[int, str], bytes | None] = {}
        self.cleared: list[tuple[int, str, str]] = []
        self.committed = False


@final
class Committer:
    """Runs in the store's thread; `waiting`, `stop` and `counts` are what other threads touch."""

    def __init__(
        self,
        database: Database,
        occupancy: Occupancy,
        segments: AuditSegments,
        counts: StoreCounts,
        trouble: Trouble,
        *,
        next_number: int,
        slack_octets: int,
        seal_ms: int = SEAL_MS,
        call_in_reactor: CallInReactor,
        committed: Committed,
        fetched: OnFetched,
        log: LogKeeper | None = None,
        late: Callable[[], None] | None = None,
    ) -> None:
        """Make it; `late`: what writes the beginning of this life, which is still to be written."""
        self.waiting: SimpleQueue[Turn] = SimpleQueue()
        self.error: StoreError | None = None
        self.in_order = True  # what ends is, once the thread has stopped
        self._database = database
        self._occupancy = occupancy
        self._segments = segments
        self._counts = counts
        self._trouble = trouble
        self._next_number = next_number
        self._slack_octets = slack_octets
        self._seal_ns = seal_ms * 1_000_000
        self._next_seal_ns = 0
        self._call_in_reactor = call_in_reactor
        self._committed = committed
        self._log = log
        self._late = late
        self._begun = 0  # segments that the store knows of
        self._stopping = Event()
        self._final_audit = b""
        self._loose: list[bytes] = []
        self._loose_octets = 0
        self._wal_octets = 0
        self._doomed: list[int] = []
        self._copies: SimpleQueue[Copying] = SimpleQueue()
        self._copying: Copying | None = None
        self._requests: SimpleQueue[Request] = SimpleQueue()
        rows = self._kept_rows = KeptRows(database, occupancy, trouble.unreadable)
        self._fetching = Fetching(
            occupancy, rows, lambda piece: call_in_reactor(partial(fetched, piece))
        )
        self._recalling = Recalling(database, occupancy, rows)
        self._recalls: SimpleQueue[tuple[OnFetched, list[int] | None]] = SimpleQueue()
        self._look_ns = 0
        self._next_look_ns = 0
        self._next_look_inside_ns = 0

    def stop(self, final_audit: bytes) -> None:
        """From another thread: finish what waits, then `final_audit`, then end."""
        self._final_audit = final_audit
        self._stopping.set()
        self.waiting.put(_STOP)

    def copy(self) -> Copying:
        """From another thread: copy the store, as it is with its audit log, one at a time.

        Who asked for it writes the copy, in a thread that may wait for the copy's disk.
        """
        copying = Copying(lambda: self.waiting.put(_COPY))
        self._copies.put(copying)
        return copying

    def fetch(self, request: Request) -> None:
        """From another thread: answer it, when all turns that wait now are committed."""
        self._requests.put(request)
        self.waiting.put(_FETCH)

    def recall(self, take: OnFetched, queues: list[int] | None) -> None:
        """From another thread: have `take` called in this one with the next piece."""
        self._recalls.put((take, queues))
        self.waiting.put(_RECALL)

    def run(self) -> None:
        """The thread; `error` says afterwards why the store could not be closed in order."""
        try:
            self._trouble.begin()
            if self._late is not None:
                self._insist(self._late)
                self._insist(self.delete_dead)
            while self._round():
                pass
            self._finish()
        except StoreError as error:
            self.error = error
            if not self._stopping.is_set():
                raise
        except BaseException as error:
            self.error = StoreError(f"the store stopped: {type(error).__name__}: {error}")
            raise

    def _round(self) -> bool:
        """One group, then housekeeping; false when it is time to stop."""
        turns, more = self._take_turns()
        rewritten = self._rewritten_stragglers()
        if turns or rewritten:
            self._settle(self._group(turns, rewritten))
        else:
            self._insist(self._look)
        recalls = self._recalling.under_way or not self._recalls.empty()
        reads = self._fetching.asked or recalls
        if turns or rewritten or not reads:
            self._insist(partial(self._tidy, idle=not turns and not reads))
        if more:
            self._copy_on()
            self._read_again()
            if not turns and not reads:
                self._kept_rows.forget()
        return more

    def _read_again(self) -> None:
        """What was asked for of the log, as far as no turn waits meanwhile."""
        while not self._recalls.empty():
            self._recalling.piece(*self._recalls.get())
        if self._fetching.asked:
            self._fetching.answer(lambda: not self.waiting.empty())

    def _copy_on(self) -> None:
        """Hand over what comes next of the copy that is made, if it is wanted already."""
        copying = self._copying
        if copying is None or copying.over:
            copying = self._copying = None if self._copies.empty() else self._copies.get_nowait()
        if copying is None or copying.over or not copying.asks:
            return
        try:
            copying.hand_over(self._database, self._synced_ends)
        except StoreError as error:
            copying.end(error)

    def _synced_ends(self) -> LogEnds:
        """Nothing was committed since the last share was read: the log has no more either."""
        self._insist(self._sync_segments)
        return NOTHING_KNOWN if self._log is None else self._log.ends()

    def _insist(self, write: Callable[[], None]) -> None:
        """Have something written, however often it takes; each time it goes on where it failed."""
        while True:
            self._counts.attempts += 1
            try:
                write()
            except StoreError as error:
                self._counts.answers += 1
                pause_s = self._trouble.refused(error)
                if self._stopping.is_set():
                    if self._trouble.attempts >= STOP_ATTEMPTS:
                        raise
                    sleep(pause_s)
                else:
                    self._wait(pause_s)
                if error.full:
                    self._make_room()
            else:
                self._counts.answers += 1
                self._trouble.written()
                return

    def _wait(self, pause_s: float) -> None:
        """Before the next attempt: what was held at the beginning is given out all the same."""
        end_ns = perf_counter_ns() + int(pause_s * 1e9)
        while not self._stopping.is_set() and (left_ns := end_ns - perf_counter_ns()) > 0:
            try:
                recall = self._recalls.get(timeout=min(left_ns / 1e9, RECALLS_S))
            except Empty:
                continue
            self._recalling.piece(*recall)

    def _make_room(self) -> None:
        """The WAL takes room that it may not need: the next attempt will tell."""
        with suppress(StoreError):
            self._database.checkpoint(shrink=True)

    def _take_turns(self) -> tuple[list[Turn], bool]:
        """All turns that wait, after waiting for one; false beside them when it is time to stop."""
        turns: list[Turn] = []
        octets = 0
        most = self._trouble.group_octets(GROUP_OCTETS)
        try:
            turn = self.waiting.get(timeout=self._patience())
            while turn is not _STOP:
                if turn is _FETCH:
                    self._fetching.ask(self._requests.get())
                elif turn is not _COPY and turn is not _RECALL:
                    turns.append(turn)
                    octets += len(turn[1]) + len(turn[2])
                if octets >= most:
                    return turns, True
                turn = self.waiting.get_nowait()
        except Empty:
            return turns, True
        return turns, False

    def _patience(self) -> float:
        """Seconds to wait for a turn before doing something else."""
        if self._fetching.asked:
            return 0.0
        if self._recalling.under_way:
            return IDLE_S
        return 0.0 if self._overgrown() and self._occupancy.victim() else IDLE_S

    def _group(self, turns: list[Turn], rewritten: list[bytes]) -> Group:
        writes = b"".join(rewritten + [turn[1] for turn in turns])
        audit = b"".join([turn[2] for turn in turns])
        group = Group(turns[-1][0] if turns else -1, len(turns), writes, audit)
        group.octets = sum(len(turn[1]) + len(turn[2]) for turn in turns)
        if not writes:
            return group
        group.number = self._next_number
        group.row = pack_row(writes, b"".join(self._loose) + audit)
        # Before it is written: a row that could not be read back must never be.
        self._occupancy.add(group.number, len(group.row), scan(writes))
        if any(turn[1] and turn[1][CONTENTS_AT] & HAS_TOPOLOGY for turn in turns):
            changes = TopologyChanges(writes)
            group.topology = changes.rows
            group.cleared = changes.cleared
        return group

    def _settle(self, group: Group) -> None:
        """Write the group, and report it."""
        self._trouble.foresee(len(group.row) + len(group.audit))
        self._insist(partial(self._write, group))
        if self._log is not None and self._log.begun != self._begun:
            self._insist(partial(self._know_segment, self._log.begun))
        self._insist(self._look)
        if group.turns:
            self._counts.turns += group.turns
            self._counts.octets_done += group.octets
            self._call_in_reactor(partial(self._committed, group.last_turn))

    def _write(self, group: Group) -> None:
        """Commit the row, then append the audit blocks; goes on where the last attempt failed."""
        if group.row and not group.committed:
            started_ns = perf_counter_ns()
            self._database.commit(group.number, group.row, group.topology, group.cleared)
            group.committed = True
            took_us = (perf_counter_ns() - started_ns) // 1000
            self._counts.commit_us += took_us
            self._counts.commit_times.add(took_us)
            self._counts.commits += 1
            self._counts.octets += len(group.row)
            self._wal_octets += len(group.row) + PAGE_OCTETS
            self._next_number = group.number + 1
            self._loose.clear()
            self._loose_octets = 0
        if group.audit:
            self._segments.append(group.audit)
            if not group.row:
                self._loose.append(group.audit)
                self._loose_octets += len(group.audit)

    def _look(self) -> None:
        """Nothing is reported that is in files which nobody finds again; not asked each time."""
        now_ns = perf_counter_ns()
        if now_ns < self._next_look_ns:
            return
        self._database.look()
        self._segments.look()
        self._next_look_ns = now_ns + LOOK_NS
        if now_ns >= self._next_look_inside_ns:
            self._database.look_inside()
            self._next_look_inside_ns = now_ns + LOOK_INSIDE_NS

    def _overgrown(self) -> bool:
        """Whether the log has more garbage than it may, which on a full disk is little."""
        if self._trouble.on_reserve:
            return self._occupancy.wasteful()
        return self._occupancy.overgrown(self._slack_octets)

    def _rewritten_stragglers(self) -> list[bytes]:
        """The living parts of the oldest rows with garbage, if the log is overgrown."""
        parts: list[bytes] = []
        octets = 0
        if self._recalling.under_way or not self._overgrown():
            return parts
        most = self._trouble.group_octets(REWRITTEN_OCTETS)
        while len(parts) < REWRITTEN_ROWS and octets < most:
            number = self._occupancy.take_victim()
            if not number:
                break
            try:
                writes, _audit = unpack_row(self._database.row(number))
            except (DecodeError, StoreError) as error:
                # It was readable when it was written: leave it where recovery will report it.
                self._trouble.unreadable(StoreError(f"row {number}: {error}"))
                continue
            parts.append(living_part(number, writes, self._occupancy))
            octets += len(parts[-1])
        return parts

    def _tidy(self, *, idle: bool) -> None:
        """Give back what is not needed, in batches unless there is nothing else to do."""
        dead = len(self._occupancy.dead)
        # A small dead row may keep many large ones; whether it does shows in the log's size.
        urgent = idle or self._overgrown()
        if (
            self._doomed
            or dead >= DEAD_ROWS
            or self._occupancy.dead_octets >= DEAD_OCTETS
            or (urgent and dead)
        ):
            self.delete_dead()
        elif (self._loose and (idle or self._loose_octets >= LOOSE_OCTETS)) or (
            self._segments.unsynced_octets >= UNSYNCED_OCTETS
        ):
            self._sync_segments()
        if self._wal_octets >= self._trouble.wal_octets(WAL_OCTETS):
            self._database.checkpoint()
            self._wal_octets = 0
            self._trouble.watch_room()
        if perf_counter_ns() >= self._next_seal_ns:
            self._seal()
        if idle:
            self._remember()
        if self._trouble.on_reserve:
            now_ns = perf_counter_ns()
            if self._look_ns and now_ns >= self._look_ns:
                self._look_for_room()
                self._look_ns = 0
            self._look_ns = self._look_ns or now_ns + int(IDLE_S * 1e9)
        self._counts.rows = self._occupancy.rows.count

    def _look_for_room(self) -> None:
        """What was consumed has left holes in the store's file: give them back to the disk."""
        with suppress(StoreError):
            self._database.shrink(self._trouble.room)
        self._trouble.look_for_room()

    def _sync_segments(self) -> None:
        """No row so far is needed for its audit blocks any more, nor a loose block for the next."""
        self._segments.sync()
        self._loose.clear()
        self._loose_octets = 0
        self._remember(moved=True)
        self._trouble.watch_room()

    def _know_segment(self, begun: int) -> None:
        """Before anything is reported that is in a new one, so that it cannot vanish unnoticed."""
        self._sync_segments()
        self._begun = begun
        if self._log is not None:  # the one before it was sealed when it was closed
            self._log.publish()

    def _seal(self) -> None:
        """What is in the audit log is sealed, and known to be."""
        if self._log is not None:
            self._log.seal()
            self._sync_segments()
            self._remember()
            self._log.publish()
        self._next_seal_ns = perf_counter_ns() + self._seal_ns

    def _remember(self, *, moved: bool = False) -> None:
        """The store knows how far the audit log has come, so that nobody can cut it unnoticed."""
        if self._log is not None:
            self._database.remember(self._log.ends(), moved=moved)

    def delete_dead(self) -> None:
        """Delete all rows that nobody needs; before the thread runs, anybody may call it."""
        self._sync_segments()
        self._remember()
        self._doomed += self._occupancy.take_dead()
        # Ascending: a row is never gone before an older one that it supersedes something in.
        self._doomed.sort()
        while self._doomed:
            self._database.delete(self._doomed[:DEAD_ROWS])
            if self._copying is not None:
                self._copying.removed(self._doomed[:DEAD_ROWS])
            self._wal_octets += PAGE_OCTETS
            del self._doomed[:DEAD_ROWS]

    def _finish(self) -> None:
        """The last audit block, everything in its place, closed in order."""
        while self._copying is not None or not self._copies.empty():
            copying = self._copying or self._copies.get_nowait()
            copying.end(StoreError("the gateway stops"))
            self._copying = None
        if self._final_audit:
            self._insist(partial(self._segments.append, self._final_audit))
        self._insist(self.delete_dead)
        self._insist(self._seal)
        self._insist(self._segments.close)
        self._insist(self._remember)
        rows = self._occupancy.rows.count
        self._insist(partial(self._database.stopped, rows, in_order=self.in_order))

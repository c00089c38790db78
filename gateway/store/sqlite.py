"""The durable store in a directory: opening with recovery, submitting, closing.

`committer` is its thread and says how and why; `database` is the file, `log_rows` what is in it.
One process at a time: a lock file is held for as long as the store is open.

A disk that has no room for the beginning of a life, and no reserve that could be given up, is no
reason not to start: what there is can be read, and the thread's first work is to write what begins
the life. Until it has been able to, all is as if the disk had become full while the gateway ran:
what it would have to remember to give out is not given out. A life that is killed before has left
nothing, and the next one takes its number.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Final, final

from gateway.audit.ahead import KNOWS_NOTHING, last_sequence_in
from gateway.audit.ends import incarnation_in
from gateway.audit.schema import NO_LIFE
from gateway.errors import DecodeError, StoreError, UnknownStoreError
from gateway.store.committer import SEAL_MS, Committer
from gateway.store.copying import Copying
from gateway.store.damage import Damage, in_short
from gateway.store.database import Database
from gateway.store.interface import (
    AuditSegments,
    CallInReactor,
    Committed,
    Eased,
    Failed,
    Judge,
    LogKeeper,
    OnFetched,
    Recovered,
    StoreCounts,
    nobody_asked,
)
from gateway.store.lock import lock, unlock
from gateway.store.log_rows import scan, unpack_row
from gateway.store.occupancy import Occupancy
from gateway.store.recall.fetching import Request
from gateway.store.reserve import Reserve
from gateway.store.slowness import Slowness
from gateway.store.trouble import Trouble
from gateway.store.unlogged import Unlogged

FILE_NAME: Final = "store.sqlite"
SLACK_OCTETS: Final = 16 * 1024 * 1024
STOP_S: Final = 10.0  # a stop waits so long for an answer of the disk, the time before included
# Message ids of different incarnations never meet: each has 2**44 of its own.
INCARNATION_SHIFT: Final = 44


@final
class SqliteStore:
    """A `Store`; `committed`, `failed` and `eased` are called through `call_in_reactor` only."""

    def __init__(
        self,
        directory: Path,
        segments: AuditSegments,
        call_in_reactor: CallInReactor,
        committed: Committed,
        failed: Failed,
        eased: Eased,
        *,
        slack_octets: int = SLACK_OCTETS,
        seal_ms: int = SEAL_MS,
        reserve_octets: int = 0,
        log: LogKeeper | None = None,
        accept_damaged: bool = False,
        judge: Judge = lambda _topology, _held: None,
    ) -> None:
        """Make it; `accept_damaged`: it is opened without what cannot be read of it."""
        self.counts = StoreCounts()
        self.on_fetched: OnFetched = nobody_asked
        self.abandoned = False  # whoever opens it, or is about to, is told to stop
        self.directory = directory
        self._segments = segments
        self._call_in_reactor = call_in_reactor
        self._committed = committed
        self._slack_octets = slack_octets
        self._seal_ms = seal_ms
        self._log = log
        self._accept_damaged = accept_damaged
        self._judge = judge
        self.reserve = Reserve(directory, reserve_octets)
        self.unlogged = Unlogged(directory)
        # The last number that the audit log has given; whoever has the log replaces this.
        self.last_sequence: Callable[[], int] = lambda: self.unlogged.sequence
        # How many messages the queues hold; whoever has the queues replaces this.
        self.held: Callable[[], int] = lambda: 0
        self._slowness = Slowness(self.counts, failed, eased)
        self._trouble = Trouble(
            self.reserve,
            self.counts,
            call_in_reactor,
            self._slowness.on_failed,
            self._slowness.on_eased,
            lambda: self.unlogged.mark(self.last_sequence()),
            lambda: self.held(),
        )

    def open(self) -> Recovered:
        """See `Store.open`."""
        self._locks = lock(self.directory)
        try:
            recovered = self._begin_somehow()
            self.unlogged.open()
            self.reserve.open()
        except BaseException:
            unlock(self._locks)
            raise
        self._thread = Thread(target=self._committer.run, name="store", daemon=True)
        self._thread.start()
        return recovered

    def _begin_somehow(self) -> Recovered:
        """Where the disk is full: by what an earlier life has set aside for this, else late."""
        try:
            try:
                return self._begin()
            except StoreError as error:
                if not error.full or not self.reserve.release():
                    raise
                return self._begin()
        except StoreError as error:
            if not error.full:
                raise
            try:
                return self._begin(late=True)
            except StoreError:  # there is no store yet, say
                raise error from None

    def wants_free(self) -> int:
        """Octets of room that nobody else is to take: with less, publishers have to wait."""
        return self.reserve.wanted + 2 * self._trouble.needed()

    def submit(self, turn: int, writes: bytes, audit_block: bytes) -> None:
        """See `Store.submit`."""
        self.counts.turns_submitted += 1
        self.counts.octets_submitted += len(writes) + len(audit_block)
        self._committer.waiting.put((turn, writes, audit_block))

    def recall(self, take: OnFetched, queues: list[int] | None = None) -> None:
        """See `Store.recall`; `recalling` says how."""
        self._committer.recall(take, queues)

    def fetch(
        self, request: int, queue_number: int, first_position: int, behind_position: int
    ) -> None:
        """See `Store.fetch`; `fetching` says how."""
        self._committer.fetch(Request(request, queue_number, first_position, behind_position))

    def size(self) -> int:
        """Octets of its file."""
        try:
            return (self.directory / FILE_NAME).stat().st_size
        except OSError:
            return 0

    def look(self, now_ms: int) -> None:
        """Each second or so: does the disk answer?"""
        self._slowness.look(now_ms)

    def copy(self) -> Copying:
        """Copy it while it goes on; see `Committer.copy`."""
        return self._committer.copy()

    def close(self, final_audit: bytes) -> None:
        """See `Store.close`."""
        self._committer.stop(final_audit)
        self._wait_for_thread()
        try:
            self._database.close()
        finally:
            self.unlogged.close()
            unlock(self._locks)
        if self._committer.error is not None:
            raise self._committer.error

    def give_back(self) -> None:
        """As `close`, of a life that came to nothing: closed in order only if it was found so."""
        self._committer.in_order = self._found_clean
        self.close(b"")

    def _wait_for_thread(self) -> None:
        """`StoreError` if it waits for the disk, and comes no further: files and lock stay its."""
        counts = self.counts
        reached = (-1, -1)
        patience_s = max(STOP_S - self._slowness.silent() / 1000, 0.0)
        while self._thread.is_alive():
            if reached == (counts.attempts, counts.answers):
                raise StoreError(f"the disk has not answered for {STOP_S:.0f} s", cause="slow")
            reached = (counts.attempts, counts.answers)
            self._thread.join(patience_s)
            patience_s = STOP_S

    def _begin(self, *, late: bool = False) -> Recovered:
        path = self.directory / FILE_NAME
        life = 0
        self._logged = 0
        self._highest_id = 0
        missing = not path.exists()
        if missing:  # and is not made where it must not be
            life = 0 if self._log is None else self._log.compare(KNOWS_NOTHING, store="missing")
        self._database = Database(path, late=late, given_up=lambda: self.abandoned)
        try:
            if not missing:
                life = self._compare()
            return self._recover(life, late)
        except BaseException:
            self._database.close()
            raise

    def _compare(self) -> int:
        """The last life that the audit log knows."""
        if self._log is None:
            return 0
        known = self._database.known()
        self._logged = known.ends.life
        return self._log.compare(known, store="" if known.incarnation else "empty")

    def _recover(self, life: int, late: bool) -> Recovered:
        """Read everything; `life`: the last one that the audit log knows, which may be later."""
        database = self._database
        incarnation = max(database.meta("incarnation"), life) + 1
        self._found_clean = clean = database.meta("clean") != 0 or incarnation == 1
        occupancy, damage = Occupancy(), Damage()
        next_number, unlogged = self._replay(occupancy, damage)
        topology, damage.topology = database.topology()
        damage.missing = database.shrunk_tables()
        damage.aside, damage.untold = database.set_aside()
        if damage.found() and not self._accept_damaged:
            raise UnknownStoreError(_refusal(self.directory, damage.found()))
        held = occupancy.held()
        self._judge(topology, held)
        self.counts.rows_damaged = len(damage.found()) + len(damage.aside)
        self._logged = max(self._logged, life)
        owed = self._copy_to_log(unlogged, damage, late)
        if self._log is not None:
            self._log.begin(incarnation)
        beginning = Beginning(database, self._segments, self._log, owed, incarnation, damage)
        if not late:
            beginning.start()
        self._committer = Committer(
            database,
            occupancy,
            self._segments,
            self.counts,
            self._trouble,
            next_number=next_number,
            slack_octets=self._slack_octets,
            seal_ms=self._seal_ms,
            call_in_reactor=self._call_in_reactor,
            committed=self._committed,
            fetched=lambda piece: self.on_fetched(piece),
            log=self._log,
            late=beginning.write if late else None,
        )
        if not late:
            self._committer.delete_dead()
        return Recovered(
            topology=topology,
            held=held,
            highest_message_id=max(self._highest_id, incarnation << INCARNATION_SHIFT),
            incarnation=incarnation,
            previous=0 if self._log is None else self._logged or NO_LIFE,
            clean=clean and not damage.found(),
            damage=[*damage.found(), *damage.untold],
            flags=occupancy.flags,
            aside=damage.aside,
        )

    def _replay(self, occupancy: Occupancy, damage: Damage) -> tuple[int, list[int]]:
        """Read the log; the next row's number, and the rows that the audit log may not have yet."""
        next_number = 1
        unlogged: list[int] = []
        kept = -1 if self._log is None else self._log.kept()
        for number, row in self._database.rows():
            next_number = number + 1
            if self.abandoned:
                raise StoreError("it was told to stop")
            try:
                writes, audit = unpack_row(row)
                steps = scan(writes)
            except DecodeError:
                damage.add_row(number, row)
                unlogged.append(number)
                continue
            self._highest_id = max(self._highest_id, steps.highest_message_id)
            occupancy.add(number, len(row), steps)
            self.counts.octets_read += len(row)
            if audit and (kept < 0 or last_sequence_in(audit) > kept):
                unlogged.append(number)
        return next_number, unlogged

    def _copy_to_log(self, unlogged: list[int], damage: Damage, late: bool) -> list[bytes]:
        """What the audit log lacks of these rows; from the first on for which there is no room.

        Those are behind the last sync of the audit log, and so not many.
        """
        owed: list[bytes] = []
        for number in unlogged:
            audit = damage.audit.get(number)
            if audit is None:
                _writes, audit = unpack_row(self._database.row(number))
            if audit and self._log is not None:
                self._logged = incarnation_in(audit, self._logged)
            if owed:
                owed.append(audit)
                continue
            try:
                self._segments.append(audit)
            except StoreError as error:
                if not late or not error.full:
                    raise
                owed.append(audit)
        return owed


@final
class Beginning:
    """The first that a life writes where it began late; may be called again, if refused."""

    def __init__(
        self,
        database: Database,
        segments: AuditSegments,
        log: LogKeeper | None,
        owed: list[bytes],
        incarnation: int,
        damage: Damage,
    ) -> None:
        self._database = database
        self._segments = segments
        self._log = log
        self._owed = owed
        self._incarnation = incarnation
        self._damage = damage

    def write(self) -> None:
        """What the last life left is made sure of; then it stands in the store that it is over."""
        self._database.take_over()
        for blocks in self._owed:
            self._segments.append(blocks)
        self.start()

    def start(self) -> None:
        """It stands in the store that this life has begun."""
        if self._damage.rows and self._log is not None:
            # Rows that are set aside say no more how far the log had come.
            self._segments.sync()
            self._database.remember(self._log.ends())
        self._database.started(self._incarnation, self._damage)


def _refusal(directory: Path, found: list[str]) -> str:
    return (
        f"the store in {directory} is damaged: {in_short(found)}. No crash does that. Without these"
        " rows, messages and nodes that were confirmed would be gone without a word, and others"
        " come again. Put a backup back; if it is meant: amqp-gateway serve"
        " --accept-damaged-store, which sets them aside, and which the audit log will record"
    )

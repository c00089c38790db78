"""Has old segments of the audit log archived and removed, step by step; says in the log what went.

What waits for disks and programs is done by a thread of its own (`audit.retention`), one thing at a
time. In between, here: the record of what is let go, and that it is sealed and remembered by the
store before anything is removed. Nothing is removed while a backup is made, which copies segments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeVar, final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from gateway.audit.ends import LogEnd
from gateway.audit.retention import Departing, Policy, Retention, Standing, remove
from gateway.bridge.bridge import Bridge
from gateway.config.audit import AuditSettings

LOOK_S: Final = 5
REST_MS: Final = 60_000  # after a look that found nothing to do
T = TypeVar("T")


class InThread(Protocol):
    """Does something in a thread; the answer comes in the reactor's."""

    def __call__(self, call: Callable[[], T]) -> Deferred[T]:
        """Have it done."""


class Log(Protocol):
    """`LateSegments`, as far as it is used."""

    first: LogEnd | None
    last: LogEnd | None

    @property
    def log_id(self) -> str:
        """The log's id."""

    def let_go(self, first: LogEnd, told_by: int) -> None:
        """See `LateSegments.let_go`."""


class Copies(Protocol):
    """`Backup`, as far as it is used."""

    removing: bool

    @property
    def making(self) -> bool:
        """Whether a backup is being made."""


@final
class LettingGo:
    """One gateway's.

    Attributes:
        standing: what the last look has found.
        segments, octets: how much was removed in all, by this run.
        archive_failures: how often a segment could not be archived.
    """

    log = Logger()

    def __init__(
        self,
        retention: Retention,
        bridge: Bridge,
        log: Log,
        copies: Copies,
        *,
        settings: Callable[[], AuditSettings],
        in_thread: InThread,
        now_ms: Callable[[], int],
        schedule: Callable[[], None],
    ) -> None:
        """Look at nothing yet."""
        self.retention = retention
        self.standing = Standing()
        self.segments = self.octets = 0
        self.archive_failures = 0
        self._bridge = bridge
        self._log = log
        self._copies = copies
        self._settings = settings
        self._in_thread = in_thread
        self._now_ms = now_ms
        self._schedule = schedule
        self._next_ms = 0
        self._busy = False
        self._stopped = False
        self._departing: Departing | None = None  # what is recorded, and not remembered yet
        self._told = ""

    def stop(self) -> None:
        """Begin nothing any more."""
        self._stopped = True

    def look(self) -> None:
        """Each few seconds: go on with what is under way, or look again after a rest."""
        first, last = self._log.first, self._log.last
        if self._busy or self._stopped or first is None or last is None or self._bridge.stuck():
            return
        if self._departing is not None:
            if first != self._departing.begins:
                return
            self._departing = None
        elif self._now_ms() < self._next_ms:
            return
        self._begin(
            partial(
                self.retention.look,
                policy_of(self._settings()),
                log=self._log.log_id,
                first=first,
                last=last,
                now_ms=self._now_ms(),
            ),
            self._seen,
        )

    def _begin(self, call: Callable[[], T], then: Callable[[T], None]) -> None:
        self._busy = True
        done = self._in_thread(call)
        done.addCallback(partial(self._ended, then))
        done.addErrback(self._failed)

    def _ended(self, then: Callable[[T], None], found: T) -> None:
        self._busy = False
        if not self._stopped:
            then(found)

    def _failed(self, failure: Failure) -> None:
        self._busy = self._copies.removing = False
        self._next_ms = self._now_ms() + REST_MS
        error = failure.value
        if isinstance(error, OSError):
            self._tell(f"the audit log: {error.filename}: {error.strerror or error}")
        else:
            self.log.failure("letting segments of the audit log go broke off", failure)

    def _seen(self, standing: Standing) -> None:
        self.standing = standing
        self.archive_failures += bool(standing.failure)
        self._tell(_stay(standing))
        if standing.leftovers:
            self._remove(standing)
        elif standing.departing is not None:
            self._record(standing.departing)
        else:
            self._next_ms = self._now_ms() + REST_MS

    def _tell(self, problem: str) -> None:
        """Once of each that there is, one after the other, and when there is none any more."""
        if problem and problem != self._told:
            self.log.warn("{problem}", problem=problem)
        elif self._told and not problem:
            self.log.info("the audit log: nothing that should go stays, and all closed books count")
        self._told = problem

    def _record(self, departing: Departing) -> None:
        """They are not removed before the store knows that they were let go on purpose."""
        bridge, audit = self._bridge, self._bridge.audit
        bridge.now_ms = self._now_ms()
        archive = policy_of(self._settings()).archive
        audit.let_go(
            bridge.now_ms,
            first_segment=departing.first_segment,
            last_segment=departing.last_segment,
            first_sequence=departing.first_sequence,
            last_sequence=departing.last_sequence,
            sha256=audit.passing(departing.sha256) if departing.sha256 else 0,
            book=departing.book,
            archive=audit.passing(archive) if archive else 0,
        )
        self._departing = departing
        self._log.let_go(departing.begins, int(audit.next_sequence) - 1)
        self._schedule()
        self.log.info(
            "segments {first} to {last} of the audit log, to record {record}, are let go: {how}",
            first=departing.first_segment,
            last=departing.last_segment,
            record=departing.last_sequence,
            how=_how(departing, archive),
        )

    def _remove(self, standing: Standing) -> None:
        if self._copies.making:
            return
        self._copies.removing = True
        self._begin(
            partial(remove, standing.leftovers), partial(self._removed, len(standing.leftovers))
        )

    def _removed(self, segments: int, octets: int) -> None:
        self._copies.removing = False
        self.segments += segments
        self.octets += octets


def policy_of(settings: AuditSettings) -> Policy:
    """What the settings come to."""
    return Policy(
        settings.keep_age,
        settings.keep_size,
        settings.keep_unclosed,
        settings.archive_directory,
        tuple(settings.archive_command),
    )


def _stay(standing: Standing) -> str:
    if not standing.why:
        problem = standing.books_problem
        return f"closed books: {problem}; none behind that counts" if problem else ""
    return (
        f"the audit log: {standing.overdue} segments are older, or more, than is to be kept, and"
        f" stay: {standing.why}"
    )


def _how(departing: Departing, archive: str) -> str:
    by = f"by book {departing.book}" if departing.book else "by no book"
    return f"{by}, archived by {archive}" if archive else f"{by}, deleted"

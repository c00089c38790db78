"""Has old segments of the audit log archived and removed, step by step; says in the log what went.

What waits for disks and programs is done by a thread of its own (`audit.retention`), one thing at a
time. In between, here: the record of what is let go, and that it is sealed and remembered by the
store before anything is removed. Nothing is removed while a backup is made, which copies segments.

An operator may ask for segments to go that the configuration would keep for longer: one at a time,
by the same rules and steps; what the configuration wants waits until that is answered.
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
from gateway.errors import ConfigurationError, GatewayError, HalfDoneError
from gateway.net.upstreams.reload import Operator

LOOK_S: Final = 5
REST_MS: Final = 60_000  # after a look that found nothing to do
DEFECT: Final = "a defect of the gateway: see its log"
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
class Asked:
    """What an operator has asked for.

    Attributes:
        first, last: the number of the log's first segment then, and of the last one that is to go.
        unbalanced: those of a book that is not balanced go, too, without an archive.
        done: what went, in words; or the GatewayError for which not all did.
        recorded: something was recorded as let go for it.
        segments, octets: how much was removed since.
    """

    def __init__(self, first: int, last: int, by: Operator, *, unbalanced: bool) -> None:
        self.first = first
        self.last = last
        self.by = by
        self.unbalanced = unbalanced
        self.done: Deferred[str] = Deferred()
        self.recorded = False
        self.segments = self.octets = 0

    def succeed(self, archive: str) -> None:
        """All of them went."""
        how = f"archived by {archive}" if archive else "deleted"
        self.done.callback(
            f"segments {self.first} to {self.last} of the audit log are let go, {how}: "
            f"{self.segments} segments, {self.octets} octets"
        )

    def fail(self, why: str) -> None:
        """Not all of them go."""
        if self.segments:
            went = f"{self.segments} segments, {self.octets} octets, are let go, and not the others"
            self.done.errback(HalfDoneError(f"{went}: {why}"))
        elif self.recorded:
            recorded = "segments are recorded as let go, and are not removed yet"
            self.done.errback(HalfDoneError(f"{recorded}: {why}"))
        else:
            self.done.errback(GatewayError(why))


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
        self._asked: Asked | None = None
        self._told = ""

    def stop(self) -> None:
        """Begin nothing any more."""
        self._stopped = True
        self._fail_asked("the gateway is stopping")

    def ask(self, segment: int, by: Operator, *, unbalanced: bool = False) -> Deferred[str]:
        """Let segments to that number go, as an operator asks; what went, in words.

        `unbalanced`: also those of a book that is not balanced, where there is no archive.

        GatewayError, now or later: some of them stay. The one that the log ends in always does.
        """
        first, last = self._log.first, self._log.last
        if self._asked is not None:
            raise GatewayError(
                f"segments to number {self._asked.last} are being let go: ask again later"
            )
        if self._stopped:
            raise GatewayError("the gateway is stopping")
        if self._copies.making:
            raise GatewayError("a backup is being made: ask again later")
        if self._bridge.stuck():
            raise GatewayError(f"no segment can be let go now: {self._bridge.store_error}")
        if first is None or last is None or last.segment <= first.segment:
            raise GatewayError("no segment of the audit log is closed")
        if not first.segment <= segment < last.segment:
            closed = f"those that are closed have the numbers {first.segment} to {last.segment - 1}"
            raise ConfigurationError([("segment", f"no such segment can be let go: {closed}")])
        self._asked = asked = Asked(first.segment, segment, by, unbalanced=unbalanced)
        self.look()
        return asked.done

    def look(self) -> None:
        """Each few seconds: go on with what is under way, or look again after a rest."""
        first, last = self._log.first, self._log.last
        if self._busy or self._stopped or first is None or last is None or self._bridge.stuck():
            return
        if self._departing is not None:
            if first != self._departing.begins:
                return
            self._departing = None
        elif self._asked is None and self._now_ms() < self._next_ms:
            return
        asked = self._asked
        policy = policy_of(self._settings())
        if asked is not None:
            policy = policy._replace(unbalanced=asked.unbalanced)
        self._begin(
            partial(
                self.retention.look,
                policy,
                log=self._log.log_id,
                first=first,
                last=last,
                now_ms=self._now_ms(),
                asked=0 if asked is None else asked.last,
            ),
            partial(self._seen, asked),
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
        problem = DEFECT
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            problem = f"{where}{error.strerror or error}"
            self._tell(f"the audit log: {problem}")
        else:
            self.log.failure("letting segments of the audit log go broke off", failure)
        self._fail_asked(problem)

    def _seen(self, asked: Asked | None, standing: Standing) -> None:
        """`asked`: for whom it was looked; else for the configuration."""
        self.archive_failures += bool(standing.failure)
        if asked is None:
            self.standing = standing
            self._tell(_stay(standing))
        else:  # of what the configuration wants it says nothing
            wanted = self.standing
            self.standing = standing._replace(
                overdue=wanted.overdue, why=wanted.why, held_octets=wanted.held_octets
            )
        if standing.leftovers:
            self._remove(standing)
        elif standing.departing is not None:
            self._record(standing.departing, asked)
        elif asked is not None:
            self._answer(asked, standing)
        else:
            self._next_ms = self._now_ms() + REST_MS

    def _answer(self, asked: Asked, standing: Standing) -> None:
        """Nothing more goes of what was asked for."""
        why = ": ".join(each for each in (standing.why, standing.remedy) if each)
        if not why and not asked.segments:
            why = f"no segment to number {asked.last} is there: amqp-gateway audit verify says more"
        if why:
            self._fail_asked(why)
            return
        self._asked = None
        asked.succeed(policy_of(self._settings()).archive)

    def _fail_asked(self, why: str) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.fail(why)

    def _tell(self, problem: str) -> None:
        """Once of each that there is, one after the other, and when there is none any more."""
        if problem and problem != self._told:
            self.log.warn("{problem}", problem=problem)
        elif self._told and not problem:
            self.log.info("the audit log: nothing that should go stays, and all closed books count")
        self._told = problem

    def _record(self, departing: Departing, asked: Asked | None) -> None:
        """They are not removed before the store knows that they were let go on purpose."""
        bridge, audit = self._bridge, self._bridge.audit
        bridge.now_ms = self._now_ms()
        if asked is not None:
            asked.recorded = True
            bridge.act_for_operator(bridge.now_ms, asked.by.how, asked.by.address)
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
            actor=bridge.ledger.actor,
            address=bridge.ledger.address,
        )
        bridge.now_ms = self._now_ms()  # what comes of it is the gateway's
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
        if self._asked is not None:
            self._asked.segments += segments
            self._asked.octets += octets


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

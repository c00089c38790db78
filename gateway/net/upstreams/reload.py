"""Other settings while the gateway runs: what may change, and in which order it does.

Everything is checked first, and what cannot be changes nothing. Files are read in a thread, since
large ones take seconds. What is changed by hand is asked of the upstreams, too: nodes that an
upstream lacks do not move to it. Then what is to move to another upstream rests until what is in
flight has settled, or `switch_timeout` is over; then all of it counts at once, in one turn. One
change at a time. Of the configuration the upstreams are asked when it counts: it is the truth,
whatever their state is, and what they refuse is told in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar, final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from gateway.bridge.bridge import Bridge
from gateway.bridge.remote.moving import Moving
from gateway.config import Settings
from gateway.config.load import rules
from gateway.config.section import Section
from gateway.errors import ConfigurationError, GatewayError
from gateway.net.alarm import Later
from gateway.net.counts import NetCounts
from gateway.net.logs import NamedLogger
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.draining import Draining
from gateway.net.upstreams.inquiry import Arrival, Inquiry, arrivals
from gateway.net.upstreams.move import away
from gateway.net.upstreams.moves import Moves
from gateway.net.upstreams.upstreams import Estate, Upstreams, profiles_of
from gateway.translate.profiles.profile import Profile

# What counts without a restart; all other keys must stay as they are.
RELOADABLE: Final = (
    "access",
    "admin_token_file",
    "anonymous",
    "audit.archive_command",
    "audit.archive_directory",
    "audit.book_keys_file",
    "audit.books",
    "audit.keep_age",
    "audit.keep_size",
    "audit.keep_unclosed",
    "audit.signing_key_file",
    "digest_hosts",
    "elsewhere",
    "legacy_mechanisms",
    "logging.level",
    "logging.levels",
    "metrics_token_file",
    "nodes",
    "require_tls_for",
    "scram_iterations",
    "switch_timeout",
    "tls",
    "upstreams",
    "users_file",
)
LOOK_S: Final = 0.05
ASK_MS: Final = 10_000  # how long upstreams have to say whether nodes exist, before they move
ASK_LATER_MS: Final = 60_000  # and after that
READING_S: Final = 5.0  # after which it is told that files are still being read
T = TypeVar("T")


class Operator(NamedTuple):
    """Who asks for a change, as far as the gateway knows.

    Attributes:
        how: what he has asked by.
        address: from where; "": this machine, by a signal, which does not say more.
    """

    how: str
    address: str = ""


SIGNALLED: Final = Operator("SIGHUP")
Count = Callable[[Operator], None]  # makes what was read count


class Reading(NamedTuple):
    """What was read of settings, and makes them count."""

    settings: Settings
    profiles: dict[str, Profile]
    begin: Count


class BusyError(GatewayError):
    """Another change is under way."""


class MissingError(ConfigurationError):
    """An upstream does not have what is to live at it."""


class InThread(Protocol):
    """A thread that reads files."""

    def __call__(self, files: Callable[[], T], /) -> Deferred[T]:
        """The answer of `files`, in the reactor."""


@final
class Reloading:
    """Carries out changes of the settings.

    Args:
        in_thread: runs what reads files.
        check: reads the files that new settings name, in a thread, and may raise
            ConfigurationError; what it returns makes what is not about nodes count for whoever
            asked, is told last, and must not fail.

    Attributes:
        settings: those in force.
        configured: those of the configuration, before anybody changed something by hand.
        under_way: what is being done now; "" for nothing.
        reading: what that takes is being read.
    """

    log = NamedLogger("gateway.net.reload.Reloading")

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        bridge: Bridge,
        upstreams: Upstreams,
        moves: Moves,
        settings: Settings,
        *,
        in_thread: InThread,
        check: Callable[[Settings], Count],
        counts: NetCounts,
    ) -> None:
        self.settings = settings
        self.configured = settings
        self.under_way = ""
        self._drains = False  # what is under way
        self.reading = False
        self._in_thread = in_thread
        self._later = later
        self._now_ms = now_ms
        self._turns = turns
        self._bridge = bridge
        self._upstreams = upstreams
        self._moves = moves
        self._check = check
        self._stopped = False
        self._counts = counts
        self._count_paused()

    def stop(self) -> None:
        """The gateway stops: what is under way does not take place."""
        self._stopped = True

    def reload(self, read_again: Callable[[], Settings], by: Operator) -> Deferred[str]:
        """Have the configuration, read again, count. As `change`."""
        return self._begin("a reload", read_again, by, configured=True)

    def change(
        self,
        what: str,
        settings: Settings,
        by: Operator,
        *,
        configured: bool,
        drain: int | None = None,
    ) -> Deferred[str]:
        """Have other settings count; fires with what was done when they do.

        Unless they are `configured`, the upstreams must have what is to live at them now. `drain`:
        what queues hold is carried along, so many messages a second; 0: as fast as it goes.

        The Deferred fails where nothing was changed: with ConfigurationError, since it cannot be,
        or not any more when what moves has settled; with MissingError; or with BusyError, since the
        gateway stops.

        Raises:
            BusyError: something else is being done.
        """
        read = partial(_checked, settings)
        return self._begin(what, read, by, configured=configured, drain=drain)

    def _begin(
        self,
        what: str,
        read: Callable[[], Settings],
        by: Operator,
        *,
        configured: bool,
        drain: int | None = None,
    ) -> Deferred[str]:
        if self.under_way:
            self._counts.changes["refused"] += 1
            given_up = "; `migrate move --stop` gives it up" if self._drains else ""
            raise BusyError(f"{self.under_way} is under way: try again later{given_up}")
        self.under_way = what
        self._drains = drain is not None
        self.reading = True

        late = self._later.callLater(READING_S, partial(self._tell_late, what))

        def ended() -> None:
            self.reading = False
            if late.active():
                late.cancel()

        def is_read(read: Reading) -> Deferred[str]:
            ended()
            if self._stopped:
                raise BusyError("the gateway stops")
            return self._change(read, by, configured=configured, drain=drain)

        def fail(failure: Failure) -> Failure:
            ended()
            self.under_way = ""
            return failure

        done = self._in_thread(partial(self._read, read)).addCallback(is_read).addErrback(fail)
        return done.addCallbacks(self._done, self._refused)

    def _tell_late(self, what: str) -> None:
        self.log.warn(
            "{what} waits: what it takes has not been read for {seconds:.0f} s; a file, or the disk"
            " that it is on, does not answer. Until then nothing else can be changed",
            what=what,
            seconds=READING_S,
        )

    def _read(self, read: Callable[[], Settings]) -> Reading:
        """In a thread."""
        settings = read()
        problems = list(fixed(self.settings, settings))
        if problems:
            raise ConfigurationError(problems)
        return Reading(settings, profiles_of(settings), self._check(settings))

    def _done(self, told: str) -> str:
        self._counts.changes["done"] += 1
        self._count_paused()
        return told

    def _refused(self, failure: Failure) -> Failure:
        self._counts.changes["refused"] += 1
        return failure

    def _count_paused(self) -> None:
        self._counts.paused_rules = sum(node.paused for node in self.settings.nodes)

    def _change(
        self, read: Reading, by: Operator, *, configured: bool, drain: int | None
    ) -> Deferred[str]:
        settings = read.settings
        estate = self._upstreams.prepare(settings, read.profiles)
        moving = Moving(self._bridge, estate.placements, [*estate.upstreams.values()])
        self._look_for_problems(moving)
        if drain is not None:
            self._look_for_absent(settings, estate)
        coming = arrivals(self._bridge, self._upstreams.placements, estate.placements)
        done: Deferred[str] = Deferred()

        def finish(answer: str) -> str:
            self.settings = settings
            if configured:
                self.configured = settings
            read.begin(by)
            return answer

        done.addCallback(finish)
        if configured:
            done.addCallback(lambda answer: self._ask_later(answer, coming))
            self._rest(estate, moving, done)
        else:
            self._ask_first(estate, moving, done, coming, drain)
        return done

    def _ask_first(
        self,
        estate: Estate,
        moving: Moving,
        done: Deferred[str],
        coming: list[Arrival],
        drain: int | None,
    ) -> None:
        """Move nothing to where it is missing; what nobody could say is told with the answer."""
        inquiry = self._inquiry(coming, at_once=True, patience_ms=ASK_MS)
        doubts: list[str] = []
        done.addCallback(
            lambda answer: "; ".join([answer, *doubts])
        )  # before whoever asks hears it

        def answered(_result: None) -> None:
            if missing := inquiry.missing():
                self._end(moving, done, MissingError(missing))
                return
            doubts.extend(problem for _key, problem in inquiry.doubts())
            if drain is None:
                self._rest(estate, moving, done)
            else:
                self._drain(estate, moving, done, drain)

        def fail(failure: Failure) -> None:
            self.under_way = ""
            done.errback(failure)

        inquiry.done.addCallback(answered).addErrback(fail)

    def _ask_later(self, answer: str, coming: list[Arrival]) -> str:
        """Nobody waits for it."""
        inquiry = self._inquiry(coming, at_once=False, patience_ms=ASK_LATER_MS)

        def answered(_result: None) -> None:
            if missing := [problem for _key, problem in inquiry.missing()]:
                self.log.warn("after a reload: {problems}", problems="; ".join(missing))

        inquiry.done.addCallback(answered)
        return answer

    def _inquiry(self, coming: list[Arrival], *, at_once: bool, patience_ms: int) -> Inquiry:
        return Inquiry(
            self._later,
            self._now_ms,
            self._bridge,
            coming,
            at_once=at_once,
            patience_ms=patience_ms,
        )

    def _rest(self, estate: Estate, moving: Moving, done: Deferred[str]) -> None:
        """Wait for what is in flight, then move."""
        moving.hold()
        self._turns.schedule()
        until_ms = self._now_ms() + self.settings.switch_timeout

        def look() -> None:
            left = moving.unsettled()
            if self._stopped:
                self._end(moving, done, BusyError("the gateway stops"))
            elif left and self._now_ms() < until_ms:
                self._later.callLater(LOOK_S, look)
            else:
                self._carry_out(estate, moving, done, left)

        look()

    def _drain(self, estate: Estate, moving: Moving, done: Deferred[str], rate: int) -> None:
        """Move when what the old places hold is at the new ones."""

        def carry_out(told: str) -> None:
            self._carry_out(estate, moving, done, 0, told)

        Draining(
            self._later,
            self._now_ms,
            self._turns,
            self._bridge,
            moving,
            self._moves,
            rate=rate,
            timeout_ms=self.settings.switch_timeout,
            stopped=lambda: self._stopped,
            carry_out=carry_out,
            fail=lambda error: self._end(moving, done, error),
        ).begin()

    def _look_for_absent(self, settings: Settings, estate: Estate) -> None:
        """What is carried along would wait, for nobody knows how long, and consumers with it."""
        for before, after in zip(self.settings.nodes, settings.nodes, strict=True):
            upstream = estate.upstreams.get(after.upstream or "")
            if upstream is not None and before != after and not upstream.health.connected:
                raise ConfigurationError([("upstream", away(upstream))])

    def _look_for_problems(self, moving: Moving) -> None:
        problems = [("nodes", f"{node}: {problem}") for node, problem in moving.problems()]
        if problems:
            raise ConfigurationError(problems)

    def _carry_out(
        self, estate: Estate, moving: Moving, done: Deferred[str], left: int, more: str = ""
    ) -> None:
        self._bridge.now_ms = self._now_ms()
        try:
            self._look_for_problems(moving)
        except ConfigurationError as error:
            self._end(moving, done, error)
            return
        self._upstreams.tell(estate)
        moving.carry_out()
        self._upstreams.adopt(estate)
        self.under_way = ""
        self._turns.schedule()
        told = f"; {left} deliveries had not settled in time" if left else ""
        done.callback(f"done{told}{more}")

    def _end(self, moving: Moving, done: Deferred[str], why: GatewayError) -> None:
        moving.release()
        self.under_way = ""
        self._turns.schedule()
        done.errback(why)


def _checked(settings: Settings) -> Settings:
    """The same, if its keys fit each other and the files that they name; in a thread."""
    problems = [(reads[0], text) for reads, text in rules(settings)]
    if problems:
        raise ConfigurationError(problems)
    return settings


def fixed(before: Settings, after: Settings) -> Iterator[tuple[str, str]]:
    """What differs and cannot without a restart."""
    for path in _differences(before, after, ""):
        if not any(path == each or path.startswith(each + ".") for each in RELOADABLE):
            yield path, "cannot change while the gateway runs: restart it"


def _differences(before: Any, after: Any, prefix: str) -> Iterator[str]:
    # Any: a section, or the value of a key
    if isinstance(before, Section) and type(before) is type(after):
        for name in type(before).model_fields:
            path = f"{prefix}.{name}" if prefix else name
            yield from _differences(getattr(before, name), getattr(after, name), path)
    elif before != after:
        yield prefix

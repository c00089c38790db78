"""The process around a gateway: reactor, signals, threads that die, what it says at its start."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, cast, final

from twisted.internet.posixbase import PosixReactorBase
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from twisted.python.failure import Failure
from zope.interface import implementer

from gateway.config import Settings, may_show_passwords
from gateway.net.clock import keep_time
from gateway.net.logs import flush
from gateway.net.open_files import FileShares, share_files
from gateway.net.past_mending import past_mending
from gateway.net.threads import loosen
from gateway.service.collecting import Collecting
from gateway.service.defects import Defects
from gateway.service.files import doubtful, password_notes
from gateway.service.service import Service
from gateway.service.standing import Standing
from gateway.service.starting import StoppedError

THREAD_DIED: Final = 70  # the exit code; sysexits.h calls it an internal software error
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
HANDLED: Final = (*SIGNALS, signal.SIGHUP)
NOT_WHOLE: Final = "the gateway ends, since what it has recorded may not be whole: {kind}: {error}"
STANDS: Final = (
    "the gateway is told to stop, and its event loop stands: the process ends, as if it were killed"
)
NO_WORDS: Final = b"the gateway ends: not even memory to say why\n"
ROOM_FOR_WORDS: Final = 2 * 1024 * 1024
_spare: Final[list[bytearray]] = []  # let go where memory is refused, so that a line can be written


def _gone(service: Service) -> int:
    """How many connections, sessions and links have ended; connections without a login, too."""
    faces = service.faces.counts
    ended = [*faces.connections_closed, *faces.sessions_closed, *faces.links_closed]
    return sum(ended) + service.counts.lost


def _share_files(service: Service) -> FileShares:
    """See to it that clients leave files for the store, the log and the admin port."""
    settings = service.settings
    upstreams = sum(1 + upstream.detours for upstream in settings.upstreams.values())
    shares = share_files(settings.limits.connections, settings.admin_connections, upstreams)
    service.door.files_max = shares.clients
    service.admin_connections = shares.admin
    return shares


def _warn(service: Service, shares: FileShares) -> None:
    """Say what is allowed, but perhaps not meant."""
    settings = service.settings
    service.rules.say(settings)
    if shares.clients < settings.limits.connections:
        service.log.warn(
            "only {files} files may be open (ulimit -n): {clients} clients are let in, and not the"
            " {limit} of limits.connections; {admin} connections at the admin port",
            files=shares.files,
            clients=shares.clients,
            limit=settings.limits.connections,
            admin=shares.admin,
        )
    tokens = settings.admin_token_file or settings.metrics_token_file
    if tokens is not None and not settings.admin_tls and not settings.admin.loopback:
        service.log.warn(
            "the admin token crosses the network in clear text on {admin}",
            admin=str(settings.admin),
        )
    passwords = service.authentication.passwords
    notes = [] if passwords is None else password_notes(passwords, settings)
    for line in doubtful(settings) + notes:
        service.log.warn("{line}", line=line)
    if may_show_passwords(settings):
        service.log.warn(
            "passwords may cross the network in clear text on {amqp}; whose do is told, and"
            " counted (gateway_plain_logins_in_clear_total)",
            amqp=str(settings.listen.amqp),
        )


def on_thread_died(died: threading.ExceptHookArgs) -> None:
    """A thread has ended by an exception: so does the process, whatever the others are doing.

    Without its commit thread a gateway would go on taking messages; after a restart it has one.
    """
    name = "?" if died.thread is None else died.thread.name
    error = died.exc_value if died.exc_value is not None else died.exc_type()
    _end("thread {name} has died, and with it the gateway: {kind}: {error}", error, name)


def on_unraisable(lost: sys.UnraisableHookArgs) -> None:
    """An exception of what is collected, say: not to standard error, which may hold whoever writes.

    Where even that comes to nothing there is nobody left to tell.
    """
    with suppress(Exception):
        error = lost.exc_value if lost.exc_value is not None else lost.exc_type()
        what = f"{lost.err_msg or 'an exception that nobody can catch'}: {lost.object!r}"
        Service.log.failure("{what}", Failure(error), what=what)  # type: ignore[no-untyped-call]


def end_at_once(error: BaseException) -> None:
    """Nothing of the turn under way may reach the store: as if the process had been killed."""
    if not isinstance(error, MemoryError):
        globalLogPublisher.removeObserver(_witness)
        with suppress(BaseException):
            Service.log.failure("a turn broke off", Failure(error))  # type: ignore[no-untyped-call]
    _end(NOT_WHOLE, error)


def end_standing() -> None:
    """The gateway is told to stop, and its event loop does not hear of it."""
    try:
        Service.log.critical(STANDS)
        flush()
    finally:
        os._exit(THREAD_DIED)


def _end(text: str, error: BaseException, name: str = "") -> None:
    """Say so, if there is memory for that."""
    try:
        _spare.clear()
        Service.log.critical(text, name=name, kind=type(error).__name__, error=str(error))
        flush()
    except BaseException:
        _write_at_once(NO_WORDS)
    finally:
        os._exit(THREAD_DIED)


def _write_at_once(words: bytes) -> None:
    """To standard error, if it takes them."""
    with suppress(BaseException):
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if poll.poll(0):
            os.write(2, words)


@final
@implementer(ILogObserver)
class Witness:
    """Hears of what others have caught and logged: Twisted's loop, the admin port."""

    def __call__(self, event: LogEvent) -> None:
        """One line of the log, or one that would be."""
        failure = event.get("log_failure") or event.get("failure")  # the reactor's has that name
        if failure is not None and past_mending(failure.value):
            _end(NOT_WHOLE, failure.value)


_witness: Final = Witness()


def run(
    settings: Settings,
    read_again: Callable[[], Settings],
    *,
    accept_new_store: bool = False,
    accept_damaged_store: bool = False,
    accept_moved_queues: bool = False,
) -> int:
    """Run a gateway on Twisted's reactor until it is told to stop; the process's exit code.

    `read_again` reads the configuration anew, for SIGHUP.

    Raises:
        StartupError, ConfigurationError: as `Service`.
    """
    from twisted.internet import reactor as installed

    os.umask(0o077)  # messages are nobody else's; SQLite would ask the umask
    reactor = cast(PosixReactorBase, installed)
    keep_time(reactor)
    loosen(reactor)
    _on_signals((signal.SIGHUP,), lambda: reactor.callFromThread(lambda: service.reload()))
    try:
        service = Service(
            settings,
            reactor,
            accept_new_store=accept_new_store,
            accept_damaged_store=accept_damaged_store,
            accept_moved_queues=accept_moved_queues,
        )
        _watch_over(service, reactor)
        service.read_again = read_again
        service.on_stopped = reactor.stop
        failures: list[Failure] = []

        def end(failure: Failure) -> None:
            failures.append(failure)
            reactor.stop()

        def begin() -> None:
            service.begin().addCallback(lambda _nothing: _start(service)).addErrback(end)

        reactor.callWhenRunning(begin)
        reactor.run(installSignalHandlers=False)
        for failure in failures:
            if not isinstance(failure.value, StoppedError):
                failure.raiseException()
            service.log.info("{why}", why=str(failure.value))
        return service.exit_code
    finally:
        # Python gives signals their defaults back as it ends, unless they are ignored: each would
        # be an end by a signal, of what has stopped in good order.
        for number in HANDLED:
            signal.signal(number, signal.SIG_IGN)
        flush()


def _watch_over(service: Service, reactor: PosixReactorBase) -> None:
    """Signals stop it, and what nothing can mend ends the process."""
    # Not Twisted's own: its second signal ends in a traceback.
    _on_signals(SIGNALS, lambda: reactor.callFromThread(service.stop))
    Standing(SIGNALS, reactor.callFromThread, lambda: service.finished, end_standing).watch()
    threading.excepthook = on_thread_died
    sys.unraisablehook = on_unraisable
    _spare.append(bytearray(ROOM_FOR_WORDS))
    globalLogPublisher.addObserver(_witness)
    globalLogPublisher.addObserver(Defects(service.counts))
    service.turns.give_up = end_at_once


def _start(service: Service) -> None:
    """All is back."""
    shares = _share_files(service)
    service.start()
    _warn(service, shares)
    Collecting(service.reactor, partial(_gone, service))


def _on_signals(numbers: tuple[signal.Signals, ...], call: Callable[[], None]) -> None:
    for number in numbers:
        signal.signal(number, lambda _number, _frame: call())

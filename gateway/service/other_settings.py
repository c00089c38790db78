"""Other settings while the gateway runs: the files that they name are read, then they count.

What of them concerns upstreams is moved by `net.upstreams.reload`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, final

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure

from gateway.config import Settings
from gateway.errors import ConfigurationError, GatewayError
from gateway.net.kept_files import read_all
from gateway.net.listening.pace import Pace
from gateway.net.listening.withdrawing import end_withdrawn
from gateway.net.logs import NamedLogger, set_levels
from gateway.net.upstreams.reload import BusyError, Operator, Reloading
from gateway.service.changes import digest
from gateway.service.faces import elsewhere
from gateway.service.files import (
    NamedFiles,
    digest_hosts,
    doubtful,
    kept,
    load_passwords,
    nobodys_names,
    takes_certificates,
)

if TYPE_CHECKING:
    from gateway.service.service import Service


def reloading_of(service: Service) -> Reloading:
    """What carries out a reload of it."""
    return Reloading(
        service.reactor,
        service.clock.now_ms,
        service.turns,
        service.bridge,
        service.upstreams,
        service.moves,
        service.settings,
        in_thread=service.threads.read,
        check=lambda settings: _prepare(service, settings),
        counts=service.counts,
    )


def _prepare(service: Service, settings: Settings) -> Callable[[Operator], None]:
    """Read the files of other settings, in a thread; what is returned makes them count."""
    found = service.watching.before(settings)
    named, passwords = NamedFiles(settings), load_passwords(settings)
    warnings = doubtful(settings)
    service.reactor.callFromThread(service.files.keep, read_all(kept(settings)))

    def count(by: Operator) -> None:
        service.settings = settings
        service.watching.adopt(found)
        service.changes.note("configuration", digest(settings), "", by)
        service.named = named
        service.door.tls_context = named.tls
        service.segments.sign_by(named.signer)
        service.letting_go.retention.read_books(settings.audit.books, named.book_keys)
        service.authentication.passwords = passwords
        _let_in_by(service, settings)
        set_levels(settings.logging.level, settings.logging.levels)
        service.note_users(by)
        service.rules.adopt(named.access, settings, by)
        end_withdrawn(service.door)
        for line in warnings:
            service.log.warn("{line}", line=line)

    return count


def _let_in_by(service: Service, settings: Settings) -> None:
    """Who is let in, how, and what is said of elsewhere."""
    authentication, faces = service.authentication, service.faces
    authentication.certificates = takes_certificates(settings)
    authentication.anonymous_allowed = settings.anonymous_allowed
    authentication.nobodys_names = nobodys_names(settings)
    authentication.require_tls_for = tuple(settings.require_tls_for)
    authentication.legacy = tuple(settings.legacy_mechanisms)
    authentication.digest_hosts = digest_hosts(settings)
    faces.anonymous_allowed = settings.anonymous_allowed
    faces.elsewhere = elsewhere(settings)


@final
class UnattendedReload:
    """A reload that nobody waits for: what came of it stands in the log."""

    log = NamedLogger("gateway.service.Service")

    def __init__(self, service: Service) -> None:
        self._service = service
        self._hurried = Pace(service.clock.now_ms)  # who wants a reload while there is one

    def begin(self, by: Operator) -> Deferred[bool | None]:
        """Have the configuration, as it is now, count: whether it does; `None`: try again."""
        service = self._service
        done = maybeDeferred(service.reloading.reload, service.read_settings, by)
        return done.addCallbacks(self._say_done, self._say_refused)

    def _say_done(self, told: str) -> bool:
        self.log.info("configuration reloaded: {told}", told=told)
        return True

    def _say_refused(self, failure: Failure) -> bool | None:
        error = failure.value
        if not isinstance(error, GatewayError):
            self.log.failure("a reload broke off", failure)
            return False
        if isinstance(error, BusyError):  # by however many signals meanwhile
            if self._hurried.may_tell():
                told = f"{error}{self._hurried.more()}"
                self.log.error("configuration not reloaded: {told}", told=told)
            return None
        problems = error.problems if isinstance(error, ConfigurationError) else [("", str(error))]
        for path, problem in problems:
            told = f"{path}: {problem}" if path else problem
            self.log.error("configuration not reloaded: {told}", told=told)
        return False

"""One gateway: what it is made of, its start, its stop, and other settings while it runs.

Start: listeners and admin port, data directory, bridge, recovery, faces (`starting`). Stop:
`net.stopping`, then the last turn, the final audit records and the store. Everything that can fail
does so at the start, with one line.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.posixbase import PosixReactorBase
from twisted.python.failure import Failure
from twisted.web.server import Site

from gateway import __version__
from gateway.audit.retention import Retention
from gateway.config import Address, Settings
from gateway.config.access import LoadedRules, load_rules
from gateway.errors import ConfigurationError, GatewayError, StoreError
from gateway.faces.face import Authenticator, Face, FaceSettings, Peer
from gateway.faces.server_0_10 import connection as server_0_10
from gateway.faces.server_1_0 import connection as server_1_0
from gateway.metrics import METRICS, Collector
from gateway.net.admin.clear import TlsOrTold
from gateway.net.admin.measures import readers
from gateway.net.admin.tokens import Tokens
from gateway.net.backup import Backup
from gateway.net.clock import GatewayClock
from gateway.net.counts import AdminCounts, NetCounts
from gateway.net.data_directory import AUDIT_FOLDER
from gateway.net.duties import Duties
from gateway.net.held_back import LOOK_S as HELD_BACK_LOOK_S
from gateway.net.held_back import HeldBack
from gateway.net.keepalive import LOOK_S as UNANSWERED_LOOK_S
from gateway.net.keepalive import Unanswered
from gateway.net.kept_files import LOOK_S as FILES_LOOK_S
from gateway.net.kept_files import THREADS as FILE_THREADS
from gateway.net.kept_files import KeptFiles, read_all
from gateway.net.lag import LAG_INTERVAL_S, LagMeter, StallWatch
from gateway.net.lag import LOOK_S as STALL_LOOK_S
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.doubted import DoubtedClients
from gateway.net.listening.first_octets import Ask
from gateway.net.listening.listen import Door, Listener
from gateway.net.listening.pace import Pace
from gateway.net.listening.password_threads import PasswordThreads
from gateway.net.listening.ports import Ports
from gateway.net.listening.withdrawing import end_withdrawn
from gateway.net.logs import NamedLogger, set_level
from gateway.net.stalls import worked_ms, worked_units
from gateway.net.stopping import Stage, Stopping
from gateway.net.threads import LoosePool
from gateway.net.tls.files import within_tls
from gateway.net.tls.layer import Terms
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.reload import SIGNALLED, BusyError, Operator, Reloading
from gateway.net.upstreams.renewal import LOOK_S, Renewal
from gateway.net.upstreams.upstreams import Upstreams
from gateway.service.admin import measured, site_of, site_of_start, terms_of_start, tls_of
from gateway.service.alerts import AlertLines
from gateway.service.changes import Changes, digest
from gateway.service.declared import declare
from gateway.service.drift import DriftLines
from gateway.service.expiry import ExpiryLines
from gateway.service.exposed import exposed
from gateway.service.faces import elsewhere, face_settings
from gateway.service.files import (
    admin_tls,
    certificate_expires_s,
    client_tls,
    digest_hosts,
    doubtful_keeping,
    kept,
    load_book_keys,
    load_kerberos,
    load_passwords,
    load_signer,
    misplaced_key,
    nobodys_names,
    takes_certificates,
    useless_certificates,
)
from gateway.service.form import form
from gateway.service.giving_back import LOOK_S as GIVING_BACK_LOOK_S
from gateway.service.giving_back import GivingBack, c_library, trim_of
from gateway.service.heads import HeadLines
from gateway.service.late_segments import LateSegments
from gateway.service.letting_go import LOOK_S as LETTING_GO_LOOK_S
from gateway.service.letting_go import LettingGo
from gateway.service.moved import refuse_moved
from gateway.service.opening import (
    empty_bridge,
    nameless,
    names_of,
    tell_of_log,
    tell_of_recovery,
)
from gateway.service.paging import PagingLines, begin_paging
from gateway.service.rules import RulesInForce
from gateway.service.starting import NotBegun, Starting
from gateway.store.entries import Entry
from gateway.store.spill import Spill
from gateway.store.sqlite import SqliteStore
from gateway.translate.replies import ReplyTable
from gateway.translate.view import View

USERS_LOOK_S: Final = 5
SESSIONS_LOOK_S: Final = 1


@final
class Service:
    """One gateway in one process: made, begun, started, running, stopped; `exit_code` counts then.

    Raises:
        StartupError: with one line that says why it cannot run.
        ConfigurationError: a file that the settings name cannot be used.
    """

    log = NamedLogger("gateway.service.Service")

    def __init__(
        self,
        settings: Settings,
        reactor: PosixReactorBase,
        clock: GatewayClock | None = None,
        *,
        accept_new_store: bool = False,
        accept_damaged_store: bool = False,
        accept_moved_queues: bool = False,
    ) -> None:
        self.settings = settings
        self.reactor = reactor
        self.clock = clock or GatewayClock()
        self.counts = NetCounts()
        self.exit_code = 0
        self.admin_connections = settings.admin_connections  # before it listens, it may be fewer
        self.on_stopped: Callable[[], None] = lambda: None
        self.read_again: Callable[[], Settings] = lambda: settings
        self.ports = Ports(reactor)
        self._checkpoint_waits = False
        self._reload_waits = False
        self.spill: Spill | None = None
        self.threads = PasswordThreads(reactor, self.clock.now_ms)
        self._access = load_rules(settings)
        self._tls, self._admin_context = client_tls(settings), admin_tls(settings)
        self.certificate_expires_s = certificate_expires_s(settings)
        self.file_threads = LoosePool(reactor, FILE_THREADS, "files")
        self.archive_threads = LoosePool(reactor, 1, "archive")
        self.files = KeptFiles(
            lambda: kept(self._in_force),
            in_thread=self.file_threads.ask,
            clock=reactor,
        )
        self.files.keep(read_all(kept(settings)))
        self.tokens = Tokens(
            lambda: self._in_force,
            self.clock.now_ms,
            AdminCounts(),
            self.files.read,
        )
        self.segments = LateSegments(
            settings.data_directory / AUDIT_FOLDER,
            accept_new_store=accept_new_store,
            now_ms=self.clock.now_ms,
            sign=load_signer(settings),
        )
        self._retention = Retention(settings.data_directory / AUDIT_FOLDER)
        self._retention.read_books(settings.audit.books, load_book_keys(settings))
        self._not_begun = NotBegun()
        self.turns = TurnLoop(
            reactor,
            self.clock.now_ms,
            self._not_begun,
            self.counts,
            worked_ms=worked_ms,
            worked_units=worked_units(form()),
        )
        self._duties = Duties(reactor, self.turns, self.counts)
        self.store = self._store(self.segments, accept_damaged_store, accept_moved_queues)
        self.starting = Starting(reactor, self.store, self.counts, self._not_begun)

    # Begin.

    def begin(self) -> Deferred[None]:
        """Listen, and recover what the data directory holds while the event loop turns.

        Then `start` lets clients in. It fails with StartupError or ConfigurationError, or since it
        was told to stop: then nothing is open any more.
        """
        return Deferred.fromCoroutine(self._begin())

    async def _begin(self) -> None:
        self.starting.begin()
        try:
            self._listen()
            self.recovered = await self.starting.opened()
            try:
                self._make()
                await self._recover()
                self._complete()
            except BaseException:
                with suppress(StoreError):  # which would hide why there is no gateway
                    self.store.give_back()
                raise
        except BaseException:
            self.ports.shut(*self.ports.open)
            self._close_spill()
            self._stop_threads()
            raise
        finally:
            self.starting.end()

    def _listen(self) -> None:
        """Open all ports: clients wait, and the admin port says why. StartupError."""
        listen = self.settings.listen
        for name, address in (("amqp", listen.amqp), ("amqps", listen.amqps)):
            if address is not None:
                self.ports.listen(name, address)
        self.ports.listen("admin", self.settings.admin)
        for pool in (self.threads, self.file_threads, self.archive_threads):
            pool.start()
        self._serve_admin(site_of_start(self), terms_of_start(self))

    def _make(self) -> None:
        """What there is between store and clients, still empty."""
        settings, recovered, segments = self.settings, self.recovered, self.segments
        self.authentication = self._authentication()
        self.bridge = empty_bridge(
            settings,
            self.store,
            recovered,
            segments,
            self.clock.now_ms(),
            met=lambda: self.counts.accepted > 0 or len(settings.upstreams) > 0,
        )
        tell_of_log(self.bridge, self.store, recovered, segments)
        self.faces = self._faces(self._access)
        self.upstreams = Upstreams(
            settings,
            self.bridge,
            self.turns,
            self.faces,
            self.threads.derive_for,
            read=self.files.read,
        )
        self._paging_lines = PagingLines(self.bridge.paging, self.clock)
        self.spill = begin_paging(
            settings,
            self.bridge,
            self.store,
            self.turns,
            self.reactor.callFromThread,
            self._paging_lines,
        )
        self.bridge.place(self.upstreams.placements, [*self.upstreams.upstreams.values()])

    async def _recover(self) -> None:
        """What the store has goes back into the bridge."""
        recovered, log_directory = self.recovered, self.settings.data_directory / AUDIT_FOLDER
        unknown = nameless(recovered)
        if unknown:
            copies = await self.starting.copies_of(unknown)
            recovered.nameless = names_of(unknown, copies, log_directory)
        recovery = self.bridge.recover(recovered)
        queues = sorted(recovered.held) if recovery.ordered else None

        def take(entries: list[Entry]) -> None:
            self.bridge.now_ms = self.clock.now_ms()
            recovery.take(entries)

        await self.starting.recall(take, queues)
        self.bridge.end_recovery(recovery)

    def _complete(self) -> None:
        """All is back: whatever else there is, but clients."""
        settings, segments = self.settings, self.segments
        tell_of_recovery(settings, self.bridge, self.recovered, self.upstreams, segments.flaw)
        declare(settings, self.bridge)
        self._keep_replies()
        self.changes = Changes(self.bridge, self.clock.now_ms, self.turns.schedule)
        self.changes.begin("configuration", digest(settings), "")
        self.changes.begin("users", *self.authentication.users_file())
        self.rules = RulesInForce(self._access, self.bridge, self.faces.access, self.changes)
        self.rules.count_queues()
        self.authentication.on_read = self._note_users
        self.door = self._door()
        self.reloading = self._reloading()
        self._hurried = Pace(self.clock.now_ms)  # who wants a reload while there is one
        self.backup = Backup(
            self.store,
            settings.data_directory,
            self.reactor.callFromThread,
            lambda: self.bridge.store_error if self.bridge.stuck() else None,
        )
        self.letting_go = LettingGo(
            self._retention,
            self.bridge,
            segments,
            self.backup,
            settings=lambda: self.settings.audit,
            in_thread=self.archive_threads.ask,
            now_ms=self.clock.now_ms,
            schedule=self.turns.schedule,
        )
        self._heads = HeadLines(
            lambda: segments.head, self.clock.now_ms, lambda: segments.head_problem
        )
        self.stopping = Stopping(
            self.door,
            self.bridge,
            self._close_listeners,
            self._close_upstreams,
            drain_timeout_ms=settings.drain_timeout,
        )
        self.starting.over = True
        self._not_begun.pass_on(self.bridge)
        self.turns.begin(self.bridge)

    @property
    def _in_force(self) -> Settings:
        """The settings that count."""
        return self.reloading.settings if self.starting.over else self.settings

    @property
    def addresses(self) -> dict[str, Address]:
        """Where it listens, by the port's name."""
        return self.ports.addresses

    # The parts.

    def _store(
        self, segments: LateSegments, accept_damaged: bool, accept_moved: bool
    ) -> SqliteStore:
        return SqliteStore(
            self.settings.data_directory,
            segments,
            self.reactor.callFromThread,
            lambda turn: self.turns.on_committed(turn),
            lambda error: self.turns.on_store_failed(error),
            lambda: self._on_store_eased(),
            seal_ms=self.settings.audit.seal_interval,
            reserve_octets=self.settings.store_reserve,
            log=segments,
            accept_damaged=accept_damaged,
            judge=refuse_moved(self.settings, accept_moved=accept_moved),
        )

    def _faces(self, access: LoadedRules) -> FaceSettings:
        faces = face_settings(self.settings, self.clock, self.authentication, access)
        scheme = "https" if self.settings.admin_tls else "http"
        faces.admin_address = f"{scheme}://{self.addresses['admin']}"
        for name, host in self.bridge.hosts.items():  # before relays, which keep what they find
            replies = ReplyTable(keep_new=True)
            faces.replies[name] = replies
            host.reader = View(replies)  # whoever asked selects by what is known of the request
        return faces

    def _authentication(self) -> Authentication:
        return Authentication(
            self.reactor,
            self.clock.now_ms,
            anonymous_allowed=self.settings.anonymous_allowed,
            passwords=load_passwords(self.settings),
            threads=self.threads,
            require_tls_for=tuple(self.settings.require_tls_for),
            legacy=tuple(self.settings.legacy_mechanisms),
            digest_hosts=digest_hosts(self.settings),
            kerberos=load_kerberos(self.settings),
            certificates=takes_certificates(self.settings),
            nobodys_names=nobodys_names(self.settings),
        )

    def _keep_replies(self) -> None:
        """What a reply is matched by outlives the process, if the request does."""
        for name, replies in self.faces.replies.items():
            self.bridge.keep_notes(name, replies)

    def _door(self) -> Door:
        limits = self.settings.limits
        door = Door(
            self.reactor,
            self.clock.now_ms,
            self.turns,
            self.authentication,
            self.counts,
            {Ask.SERVE_0_10: self._serve_0_10, Ask.SERVE_1_0: self._serve_1_0},
            connections_max=limits.connections,
            connections_per_address_max=limits.connections_per_address,
            entering_per_address_max=limits.logins_per_address,
            login_octets_max=limits.login_size,
            handshake_timeout_ms=limits.handshake_timeout,
            tls_context=self._tls,
            account=self.faces.accounts.everybody,
        )
        doubted = DoubtedClients(self.bridge, self.turns, self.authentication, self.faces.journal)
        door.on_doubted = doubted.tell
        door.on_vacated = self.faces.access.vacate
        return door

    def _reloading(self) -> Reloading:
        return Reloading(
            self.reactor,
            self.clock.now_ms,
            self.turns,
            self.bridge,
            self.upstreams,
            self.settings,
            in_thread=self.threads.read,
            check=self._prepare,
            counts=self.counts,
        )

    def _prepare(self, settings: Settings) -> Callable[[Operator], None]:
        """Read the files of other settings, in a thread; what is returned makes them count."""
        tls, admin_context = client_tls(settings), admin_tls(settings)
        expires_s = certificate_expires_s(settings)
        passwords = load_passwords(settings)
        access = load_rules(settings)
        signer, book_keys = load_signer(settings), load_book_keys(settings)
        warnings = _doubtful(settings)
        self.reactor.callFromThread(self.files.keep, read_all(kept(settings)))

        def count(by: Operator) -> None:
            self.settings = settings
            self.changes.note("configuration", digest(settings), "", by)
            self.door.tls_context = tls
            self._admin_context = admin_context
            self.certificate_expires_s = expires_s
            self.segments.sign_by(signer)
            self.letting_go.retention.read_books(settings.audit.books, book_keys)
            self.authentication.passwords = passwords
            self.authentication.certificates = takes_certificates(settings)
            self.authentication.anonymous_allowed = settings.anonymous_allowed
            self.authentication.nobodys_names = nobodys_names(settings)
            self.authentication.require_tls_for = tuple(settings.require_tls_for)
            self.authentication.legacy = tuple(settings.legacy_mechanisms)
            self.authentication.digest_hosts = digest_hosts(settings)
            self.faces.anonymous_allowed = settings.anonymous_allowed
            self.faces.elsewhere = elsewhere(settings)
            set_level(settings.logging.level)
            self._note_users(by)
            self.rules.adopt(access, settings, by)
            end_withdrawn(self.door)
            self._warn(warnings)

        return count

    def say_of_files(self) -> None:
        """Warn of those that others use who are not meant to, and of what is of no use."""
        self._warn(_doubtful(self.settings))

    def _warn(self, lines: list[str]) -> None:
        for line in lines:
            self.log.warn("{line}", line=line)

    def _note_users(self, by: Operator | None = None) -> None:
        self.changes.note("users", *self.authentication.users_file(), by)

    def _serve_0_10(self, authenticator: Authenticator, peer: Peer, now_ms: int) -> Face:
        return server_0_10.ServerConnection(
            self.bridge, self.turns, authenticator, peer, self.faces, now_ms
        )

    def _serve_1_0(self, authenticator: Authenticator, peer: Peer, now_ms: int) -> Face:
        return server_1_0.ServerConnection(
            self.bridge, self.turns, authenticator, peer, self.faces, now_ms
        )

    # Start.

    def start(self) -> None:
        """All is back: clients are welcome."""
        proxies = self.settings.listen.proxy_protocol
        sources = measured(self)
        self.collector = Collector(METRICS, readers(sources), sources.count)
        for name in ("amqp", "amqps"):
            if name in self.addresses:
                tls_first = name == "amqps"
                listener = Listener(self.door, tls_first=tls_first, passed_on=name in proxies)
                self.ports.serve(name, listener)
        self._serve_admin(site_of(self, self.collector), tls_of(self))
        self.upstreams.dial(
            self.reactor, self.clock.now_ms, self.turns, self.counts, self.door.next_id
        )
        renewal = Renewal(
            self.clock.now_ms, self.turns, self.bridge, self.upstreams, self.reloading
        )
        every = self._duties.every
        every(LOOK_S, renewal.look)
        every(FILES_LOOK_S, self.files.look)
        every(USERS_LOOK_S, self.authentication.refresh)
        every(SESSIONS_LOOK_S, self._end_absent_sessions)
        every(HELD_BACK_LOOK_S, HeldBack(self.bridge.pressure).look)
        every(GIVING_BACK_LOOK_S, GivingBack(self._held, trim_of(c_library())).look)
        every(UNANSWERED_LOOK_S, Unanswered(self.door.pumps, self.upstreams.pumps).look)
        every(LAG_INTERVAL_S, LagMeter(self.reactor, self.counts).tick)
        every(STALL_LOOK_S, StallWatch(self.reactor, self.turns.stalls).tick)
        every(LAG_INTERVAL_S, lambda: self.store.look(self.clock.now_ms()))
        every(LAG_INTERVAL_S, self._heads.look)
        every(LETTING_GO_LOOK_S, self.letting_go.look)
        every(LAG_INTERVAL_S, self._paging_lines.look)
        every(LAG_INTERVAL_S, AlertLines(self.bridge.copies.alarms).look)
        every(LAG_INTERVAL_S, DriftLines(self.clock.drift_ms).look)
        every(LAG_INTERVAL_S, ExpiryLines(lambda: self.certificate_expires_s, self.clock).look)
        every(LAG_INTERVAL_S, lambda: self.backup.look(self.clock.now_ms()))
        every(self.settings.audit.checkpoint_interval / 1000, self._checkpoint)
        self.turns.schedule()
        self._say_started()
        if self._reload_waits:
            self.reload()

    def _serve_admin(self, site: Site, terms: Terms) -> None:
        """Who comes to the admin port from now on is answered by this one."""
        factory = (
            within_tls(site, lambda: self._admin_context, TlsOrTold, terms)
            if self.settings.admin_tls
            else site
        )
        self.ports.serve("admin", factory)

    def _held(self) -> int:
        """Octets on all accounts."""
        waiting = self.store.counts.octets_waiting
        return self.bridge.pressure.octets + self.faces.accounts.everybody.held + waiting

    def _on_store_eased(self) -> None:
        self.turns.on_store_eased()
        if self._checkpoint_waits:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Not while the disk is full: it would take room that settlements need."""
        error = self.bridge.store_error
        waits = self._checkpoint_waits or (error is not None and error.cause == "full")
        self._checkpoint_waits = waits and error is not None
        if self._checkpoint_waits:
            return
        now_ms = self.clock.now_ms()
        self.bridge.now_ms = now_ms
        self.faces.uses.write()
        self.bridge.checkpoint(now_ms)
        self.bridge.audit.clock(now_ms, self.clock.drift_ms())
        self.turns.schedule()

    def _end_absent_sessions(self) -> None:
        """Those whose clients have not come back in time."""
        now_ms = self.clock.now_ms()
        self.bridge.now_ms = now_ms
        if self.faces.kept.look(now_ms):
            self.turns.schedule()

    def _say_started(self) -> None:
        names = {"amqp": "AMQP", "amqps": "AMQP over TLS", "admin": "admin"}
        where = ", ".join(f"{names[name]} {at}" for name, at in self.addresses.items())
        self.log.info(
            "amqp-gateway {version} ({form}) is ready: {where}, data in {directory}"
            " ({entries} messages recovered)",
            version=__version__,
            form=form(),
            where=where,
            directory=str(self.settings.data_directory),
            entries=self.recovered.count,
        )

    def ready(self) -> str | None:
        """`None` when clients are welcome, else why not.

        They are while a full disk leaves the reserve: consumers make room.
        """
        if not self.starting.over:
            return self.starting.reason()
        if not self._duties.running:
            return "starting"
        if self.stopping.stage != Stage.RUNNING:
            return "draining"
        if self.bridge.stuck():
            return f"nothing can be committed: {self.bridge.store_error}"
        return None

    def reload(self) -> None:
        """Have the configuration, as it is now, count, once all is back; say what came of it."""
        if not self.starting.over:
            self._reload_waits = True
            return
        done = maybeDeferred(self.reloading.reload, self.read_again, SIGNALLED)
        done.addCallback(lambda told: self.log.info("configuration reloaded: {told}", told=told))
        done.addErrback(self._say_refused)

    def _say_refused(self, failure: Failure) -> None:
        error = failure.value
        if not isinstance(error, GatewayError):
            self.log.failure("a reload broke off", failure)
            return
        if isinstance(error, BusyError):  # by however many signals meanwhile
            if self._hurried.may_tell():
                told = f"{error}{self._hurried.more()}"
                self.log.error("configuration not reloaded: {told}", told=told)
            return
        problems = error.problems if isinstance(error, ConfigurationError) else [("", str(error))]
        for path, problem in problems:
            told = f"{path}: {problem}" if path else problem
            self.log.error("configuration not reloaded: {told}", told=told)

    # Stop.

    @property
    def finished(self) -> bool:
        """Whether its stop no more needs the event loop."""
        return self.starting.over and self.stopping.stage == Stage.FINISHED

    def stop(self) -> None:
        """Begin the graceful stop; again: go straight to closing the connections."""
        if not self.starting.over:
            self.starting.stop()
            return
        self.reloading.stop()
        self.stopping.signal()

    def _close_listeners(self) -> None:
        """No more clients; the admin port stays, to say so."""
        self.ports.shut("amqp", "amqps")

    def _close_upstreams(self) -> None:
        """No client is left."""
        finished = self.upstreams.stop().addBoth(lambda _results: self._finish())
        finished.addErrback(self._give_up)

    def _give_up(self, failure: Failure) -> None:
        """A stop broke off: it would last for ever, and what of it was written nobody could say."""
        assert failure.value is not None
        self.turns.give_up(failure.value)

    def _finish(self) -> None:
        """No connection is left: the last turn, the final records, the store, and out."""
        started = self._duties.running
        self._duties.stop()
        self.letting_go.stop()
        self.bridge.now_ms = self.clock.now_ms()
        self.faces.kept.end_all()
        self.bridge.finish(self.clock.now_ms())
        self.turns.end_now()
        self.turns.stop()
        now_ms = self.clock.now_ms()
        audit = self.bridge.audit
        self.bridge.checkpoint(now_ms, last=True)
        audit.clock(now_ms, self.clock.drift_ms())
        audit.incarnation_stopped(now_ms)
        self._close_spill()
        try:
            self.store.close(audit.take_block(now_ms))
            if started:  # else it never started, and says itself why
                self._heads.look(last=True)
                self.log.info("stopped")
        except StoreError as error:
            self.exit_code = 1
            self.log.critical(
                "the store could not be closed in order: {error}{unwritten}",
                error=error,
                unwritten=self.store.counts.unwritten(),
            )
        self._stop_threads()
        self.on_stopped()

    def _close_spill(self) -> None:
        if self.spill is not None:
            self.spill.close()

    def _stop_threads(self) -> None:
        for pool in (self.threads, self.file_threads, self.archive_threads):
            pool.stop()


def _doubtful(settings: Settings) -> list[str]:
    """A line for each file that others use who are not meant to, or that is of no use."""
    files = exposed(settings) + useless_certificates(settings) + misplaced_key(settings)
    return files + doubtful_keeping(settings)

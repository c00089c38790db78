"""One gateway: what it is made of, its start and its stop.

Start: listeners and admin port, data directory, bridge, recovery, faces (`starting`). Stop:
`net.stopping`, then the last turn, the final audit records and the store. Everything that can fail
does so at the start, with one line.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import final

from twisted.internet.defer import Deferred
from twisted.internet.posixbase import PosixReactorBase
from twisted.python.failure import Failure
from twisted.web.server import Site

from gateway import __version__
from gateway.audit.retention import Retention
from gateway.config import Address, Settings
from gateway.errors import StoreError
from gateway.metrics import METRICS, Collector
from gateway.net.admin.clear import TlsOrTold
from gateway.net.admin.measures import readers
from gateway.net.admin.tokens import Tokens
from gateway.net.backup import Backup
from gateway.net.clock import GatewayClock
from gateway.net.counts import AdminCounts, NetCounts
from gateway.net.data_directory import AUDIT_FOLDER, identity
from gateway.net.duties import Duties
from gateway.net.kept_files import THREADS as FILE_THREADS
from gateway.net.kept_files import KeptFiles, read_all
from gateway.net.listening.listen import Listener
from gateway.net.listening.password_threads import PasswordThreads
from gateway.net.listening.ports import Ports
from gateway.net.logs import NamedLogger
from gateway.net.stalls import worked_ms, worked_units
from gateway.net.stopping import Stage, Stopping
from gateway.net.threads import LoosePool
from gateway.net.tls.files import within_tls
from gateway.net.tls.layer import Terms
from gateway.net.tracing.begin import Tracing
from gateway.net.tracing.begin import begin as begin_tracing
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.moves import Moves
from gateway.net.upstreams.reload import SIGNALLED, Operator
from gateway.net.upstreams.upstreams import Upstreams
from gateway.net.upstreams.watching import Watching
from gateway.service.admin import measured, site_of, site_of_start, terms_of_start, tls_of
from gateway.service.changes import Changes, digest
from gateway.service.declared import declare
from gateway.service.duties import Checkpoints, begin_duties
from gateway.service.faces import authentication_of, door_of, faces_of
from gateway.service.files import NamedFiles, kept
from gateway.service.form import form
from gateway.service.heads import HeadLines
from gateway.service.late_segments import LateSegments
from gateway.service.letting_go import LettingGo
from gateway.service.moved import refuse_moved
from gateway.service.opening import (
    empty_bridge,
    nameless,
    names_of,
    tell_of_log,
    tell_of_recovery,
)
from gateway.service.other_settings import UnattendedReload, reloading_of
from gateway.service.paging import PagingLines, begin_paging
from gateway.service.rules import RulesInForce
from gateway.service.starting import NotBegun, Starting
from gateway.store.entries import Entry
from gateway.store.spill import Spill
from gateway.store.sqlite import SqliteStore


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
        self._reload_waits = False
        self.spill: Spill | None = None
        self.tracing: Tracing | None = None
        self.threads = PasswordThreads(reactor, self.clock.now_ms)
        self.file_threads = LoosePool(reactor, FILE_THREADS, "files")
        self.watching = Watching(
            lambda: self.settings,
            in_thread=self.file_threads.ask,
            reload=lambda by: self.unattended.begin(by),
            counts=self.counts,
        )
        self.named = NamedFiles(settings)
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
            sign=self.named.signer,
        )
        self._retention = Retention(settings.data_directory / AUDIT_FOLDER)
        self._retention.read_books(settings.audit.books, self.named.book_keys)
        self._not_begun = NotBegun()
        self.turns = TurnLoop(
            reactor,
            self.clock.now_ms,
            self._not_begun,
            self.counts,
            worked_ms=worked_ms,
            now_us=self.clock.now_us,
            worked_units=worked_units(form()),
        )
        self.duties = Duties(reactor, self.turns, self.counts)
        self.checkpoints = Checkpoints(self)
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
        self.authentication = authentication_of(self)
        self.bridge = empty_bridge(
            settings,
            self.store,
            recovered,
            segments,
            self.clock.now_ms(),
            met=lambda: self.counts.accepted > 0 or len(settings.upstreams) > 0,
        )
        self.tracing = begin_tracing(
            settings,
            self.clock.now_us,
            identity(settings.data_directory),
            self.reactor.callFromThread,
        )
        self.bridge.ledger.tracer = None if self.tracing is None else self.tracing.traces
        tell_of_log(self.bridge, self.store, recovered, segments)
        self.faces = faces_of(self)
        self.upstreams = Upstreams(
            settings,
            self.bridge,
            self.turns,
            self.faces,
            self.threads.derive_for,
            read=self.files.read,
        )
        self.paging_lines = PagingLines(self.bridge.paging, self.clock)
        self.spill = begin_paging(
            settings,
            self.bridge,
            self.store,
            self.turns,
            self.reactor.callFromThread,
            self.paging_lines,
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
        self.rules = RulesInForce(self.named.access, self.bridge, self.faces.access, self.changes)
        self.rules.count_queues()
        self.authentication.on_read = self.note_users
        self.door = door_of(self)
        self.moves = Moves(self.reactor, self.clock.now_ms, self.turns, self.bridge, self.upstreams)
        self.reloading = reloading_of(self)
        self.unattended: UnattendedReload = UnattendedReload(self)
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
        self.heads = HeadLines(
            lambda: segments.head, self.clock.now_ms, lambda: segments.head_problem
        )
        self.stopping = Stopping(
            self.door,
            self.bridge,
            self._close_listeners,
            self._close_upstreams,
            drain_timeout_ms=settings.drain_timeout,
            drain_idle_ms=settings.drain_idle,
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

    def _keep_replies(self) -> None:
        """What a reply is matched by outlives the process, if the request does."""
        for name, replies in self.faces.replies.items():
            self.bridge.keep_notes(name, replies)

    def note_users(self, by: Operator | None = None) -> None:
        """Have the audit log tell of the users file, if it is another one."""
        self.changes.note("users", *self.authentication.users_file(), by)

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
        begin_duties(self)
        self.turns.schedule()
        self._say_started()
        if self._reload_waits:
            self.reload()

    def _serve_admin(self, site: Site, terms: Terms) -> None:
        """Who comes to the admin port from now on is answered by this one."""
        factory = (
            within_tls(site, lambda: self.named.admin_tls, TlsOrTold, terms)
            if self.settings.admin_tls
            else site
        )
        self.ports.serve("admin", factory)

    def _on_store_eased(self) -> None:
        self.turns.on_store_eased()
        self.checkpoints.on_store_eased()

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
        if not self.duties.running:
            return "starting"
        if self.stopping.stage != Stage.RUNNING:
            return "draining"
        if self.bridge.stuck():
            return f"nothing can be committed: {self.bridge.store_error}"
        return None

    def read_settings(self) -> Settings:
        """The configuration as it is now; in a thread."""
        return self.watching.reading(self.read_again)

    def reload(self) -> None:
        """Have the configuration, as it is now, count, once all is back; say what came of it."""
        if self.starting.over:
            self.unattended.begin(SIGNALLED)
        else:
            self._reload_waits = True

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
        started = self.duties.running
        self.duties.stop()
        self.letting_go.stop()
        self.moves.stop()
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
                self.heads.look(last=True)
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
        if self.tracing is not None:
            self.tracing.stop()

"""The composition root: builds the gateway from its settings, starts it, and stops it in order.

Start: data directory and recovery, bridge, faces, listeners, admin port. Stop: `net.stopping`, then
the last turn, the final audit records and the store. Everything that can fail does so at the start,
with one line.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable
from typing import Final, cast, final

from twisted.internet.interfaces import IOpenSSLContextFactory
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.task import LoopingCall
from twisted.logger import Logger, LogLevel
from twisted.web.server import Site

from gateway import __version__
from gateway.audit.records import AuditLog
from gateway.audit.schema import Reason
from gateway.audit.segment import SegmentWriter
from gateway.bridge.bridge import Bridge
from gateway.bridge.node_names import plain_host
from gateway.config import Address, Settings, may_show_passwords
from gateway.config.access import LoadedRules, access_notes, load_rules
from gateway.errors import ConfigurationError, GatewayError, StartupError, StoreError
from gateway.faces.accounts import Accounts
from gateway.faces.face import Authenticator, Face, FaceSettings, Peer
from gateway.faces.server_0_10 import connection as server_0_10
from gateway.faces.server_1_0 import connection as server_1_0
from gateway.metrics import METRICS, OBJECT_METRICS, Collector
from gateway.net.admin.control import Control
from gateway.net.admin.http import admin_site
from gateway.net.admin.measures import Sources, object_readers, readers
from gateway.net.admin.tokens import Tokens
from gateway.net.backup import Backup
from gateway.net.clock import GatewayClock
from gateway.net.counts import AdminCounts, NetCounts
from gateway.net.data_directory import (
    AUDIT_FOLDER,
    Disk,
    LateSegments,
    identity,
    open_store,
    secret,
)
from gateway.net.exposed import exposed
from gateway.net.lag import LAG_INTERVAL_S, LagMeter
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.decisions import DecisionLog
from gateway.net.listening.first_octets import Ask
from gateway.net.listening.journal import ConnectionLog
from gateway.net.listening.listen import Door, Listener
from gateway.net.listening.password_threads import PasswordThreads
from gateway.net.listening.passwords import Passwords
from gateway.net.listening.ports import Ports
from gateway.net.listening.withdrawing import end_withdrawn
from gateway.net.logs import set_level
from gateway.net.open_files import raise_file_limit
from gateway.net.stopping import Stage, Stopping
from gateway.net.tls import tls_context, within_tls
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.last_life import LastLife
from gateway.net.upstreams.reload import Reloading
from gateway.net.upstreams.renewal import LOOK_S, Renewal
from gateway.net.upstreams.upstreams import Upstreams
from gateway.store.sqlite import SqliteStore
from gateway.translate.replies import ReplyTable
from gateway.translate.view import READER
from gateway.wire import buffers
from gateway.wire.work import WORK

USERS_LOOK_S: Final = 5
FILES_BESIDES: Final = 64  # store, audit log, ports, libraries
THREAD_DIED: Final = 70  # the exit code; sysexits.h calls it an internal software error
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def form() -> str:
    """Which form of the hot packages runs: ``compiled`` or ``pure``."""
    return "pure" if buffers.__file__.endswith(".py") else "compiled"


@final
class Service:
    """One gateway in one process: made, started, running, stopped; then `exit_code` counts.

    Making it opens the data directory and recovers what it holds.

    Raises:
        StartupError: with one line that says why it cannot run.
        ConfigurationError: a file that the settings name cannot be used.
    """

    log = Logger()

    def __init__(
        self,
        settings: Settings,
        reactor: PosixReactorBase,
        clock: GatewayClock | None = None,
        *,
        accept_new_store: bool = False,
    ) -> None:
        self.settings = settings
        self.reactor = reactor
        self.clock = clock or GatewayClock()
        self.counts = NetCounts()
        self.exit_code = 0
        self.on_stopped: Callable[[], None] = lambda: None
        self.read_again: Callable[[], Settings] = lambda: settings
        self.ports = Ports(reactor)
        self._timers: list[LoopingCall] = []
        self._threads = PasswordThreads(reactor, self.clock.now_ms)
        self.access = load_rules(settings)
        self._tls, self._admin_context = _tls(settings), _admin_tls(settings)
        self.tokens = Tokens(lambda: self.reloading.settings, self.clock.now_ms, AdminCounts())
        segments = LateSegments(
            settings.data_directory / AUDIT_FOLDER, accept_new_store=accept_new_store
        )
        self.store = SqliteStore(
            settings.data_directory,
            segments,
            reactor.callFromThread,
            lambda turn: self.turns.on_committed(turn),
            lambda error: self.turns.on_store_failed(error),
            lambda: self.turns.on_store_eased(),
            reserve_octets=settings.store_reserve,
            log=segments,
        )
        self.recovered = open_store(self.store, settings.data_directory)
        try:
            self.authentication = self._authentication()
            self.bridge = self._bridge(segments.writer())
            self._tell_of_log(segments)
            self.turns = TurnLoop(reactor, self.clock.now_ms, self.bridge, self.counts)
            self.faces = self._face_settings()
            self.faces.logins = self.authentication
            self.faces.access.rules = self.access.rules
            self.faces.access.file = str(self.access.file or "")
            self.faces.access.teller = DecisionLog(self.clock.now_ms)
            for name in self.bridge.hosts:  # before relays, which keep the one that they find
                self.faces.replies[name] = ReplyTable(keep_new=True)
            self.upstreams = Upstreams(
                settings, self.bridge, self.turns, self.faces, self._threads.derive_for
            )
            self._recover(segments.writer().damaged)
            self._keep_replies()
            self._record_rules()
            self.door = self._door()
            self.reloading = self._reloading()
        except BaseException:
            self.store.close(b"")
            raise
        self.stopping = Stopping(
            self.door,
            self.bridge,
            self._close_listeners,
            self._close_upstreams,
            drain_timeout_ms=settings.drain_timeout,
        )

    @property
    def addresses(self) -> dict[str, Address]:
        """Where it listens, by the port's name."""
        return self.ports.addresses

    # The parts.

    def _authentication(self) -> Authentication:
        passwords = self._passwords(self.settings)
        return Authentication(
            self.reactor,
            self.clock.now_ms,
            anonymous_allowed=self.settings.anonymous_allowed,
            passwords=passwords,
            threads=self._threads,
            require_tls_for=tuple(self.settings.require_tls_for),
            certificates=_certificates(self.settings),
        )

    def _passwords(self, settings: Settings) -> Passwords | None:
        if settings.users_file is None:
            return None
        passwords = Passwords(
            settings.users_file,
            secret(settings.data_directory),
            iterations_max=settings.scram_iterations,
        )
        passwords.load()
        return passwords

    def _bridge(self, segments: SegmentWriter) -> Bridge:
        """The bridge, still empty."""
        audit = AuditLog(
            self.recovered.incarnation,
            max(segments.last_sequence, self.store.unlogged.sequence) + 1,
            segment_octets=self.settings.audit.segment_size,
            segment_age_ms=self.settings.audit.segment_age,
        )
        self.store.last_sequence = lambda: int(audit.next_sequence) - 1
        now_ms = self.clock.now_ms()
        hosts = [host.name for host in self.settings.virtual_hosts]
        bridge = Bridge(
            audit,
            self.store,
            self.settings.queues.as_limits(
                self.settings.store_backlog,
                users=not self.settings.anonymous_allowed,
                hosts=len(hosts) > 1,
            ),
            reader=READER,
            hosts=hosts,
            default_host=hosts[0],
            plain_host=plain_host(self.recovered.topology, hosts[0]),
            now_ms=now_ms,
        )
        audit.incarnation_started(now_ms, __version__)
        return bridge

    def _tell_of_log(self, segments: LateSegments) -> None:
        """What was found of store and log stands in the log from now on, first of all."""
        audit = self.bridge.audit
        now_ms = self.bridge.now_ms
        if segments.accepted:
            last = segments.writer().last_sequence
            audit.store_accepted(now_ms, store=audit.passing(segments.accepted), last_sequence=last)
            self.log.warn(
                "the store was {found}, and that is meant: what the audit log says of durable"
                " messages before record {last} is over",
                found=segments.accepted,
                last=last,
            )
        self.store.counts.log_differences = len(segments.differences)
        for each in segments.differences:
            audit.log_differs(
                now_ms,
                segment=audit.passing(each.segment),
                problem=audit.passing(each.problem),
                expected=each.expected,
            )
            self.log.critical("the audit log is not what it was: {line}", line=str(each))

    def _recover(self, damaged: str) -> None:
        """What the store has goes back into the bridge, and what is remote on to its upstream."""
        self.bridge.place(self.upstreams.placements, [*self.upstreams.upstreams.values()])
        self.bridge.recover(self.recovered)
        for line in (*self.recovered.damage, *self.bridge.problems):
            self.log.error("recovery: {line}", line=line)
        if damaged:
            self.log.error("audit log: {line}", line=damaged)
        if self.settings.upstreams and not self.recovered.clean:
            recent = max(each.link_credit for each in self.settings.upstreams.values())
            self.upstreams.remember(
                LastLife(2 * recent).read(self.settings.data_directory / AUDIT_FOLDER)
            )

    def _face_settings(self) -> FaceSettings:
        settings = self.settings
        WORK.elements_max = settings.limits.elements
        return FaceSettings(
            limits=settings.limits.as_limits(),
            container_id=settings.name,
            federation_tag=identity(settings.data_directory),
            version=__version__,
            hostnames={
                hostname: host.name
                for host in settings.virtual_hosts
                for hostname in host.hostnames
            },
            anonymous_name=self.authentication.anonymous_name,
            journal=ConnectionLog(self.clock.now_ms),
            anonymous_allowed=settings.anonymous_allowed,
            strict=settings.strict,
            accounts=Accounts(settings.limits.user_size, settings.limits.host_size),
            escrow=settings.translation.escrow,
            text_body_value=settings.translation.text_body == "value",
            timestamp=settings.translation.timestamp,
        )

    def _keep_replies(self) -> None:
        """What a reply is matched by outlives the process, if the request does."""
        for name, replies in self.faces.replies.items():
            self.bridge.keep_notes(name, replies)

    def _door(self) -> Door:
        limits = self.settings.limits
        return Door(
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
        )

    def _reloading(self) -> Reloading:
        return Reloading(
            self.reactor,
            self.clock.now_ms,
            self.turns,
            self.bridge,
            self.upstreams,
            self.settings,
            check=self._prepare,
            counts=self.counts,
        )

    def _prepare(self, settings: Settings) -> Callable[[], None]:
        """Read the files of other settings; what is returned makes them count."""
        tls, admin_tls = _tls(settings), _admin_tls(settings)
        passwords = self._passwords(settings)
        access = load_rules(settings)

        def count() -> None:
            self.settings = settings
            self.door.tls_context = tls
            self._admin_context = admin_tls
            self.authentication.passwords = passwords
            self.authentication.certificates = _certificates(settings)
            self.authentication.anonymous_allowed = settings.anonymous_allowed
            self.authentication.require_tls_for = tuple(settings.require_tls_for)
            self.faces.anonymous_allowed = settings.anonymous_allowed
            set_level(settings.logging.level)
            self._adopt(access)
            end_withdrawn(self.door)

        return count

    def _record_rules(self, reason: Reason = Reason.NONE) -> None:
        """The audit log has which rules count from now on; "" where there are none."""
        audit, access = self.bridge.audit, self.access
        audit.rules_changed(
            self.bridge.now_ms,
            rules=audit.passing("access"),
            sha256=audit.passing(access.digest),
            file=audit.passing(str(access.file or "")),
            reason=reason,
        )

    def _adopt(self, access: LoadedRules) -> None:
        """Other access rules: they count at once, also for who is connected."""
        if access.digest == self.access.digest and access.file == self.access.file:
            return
        self.access = access
        self.bridge.now_ms = self.clock.now_ms()
        self._record_rules(Reason.OPERATOR)
        self.faces.access.adopt(access.rules, str(access.file or ""), self.bridge.now_ms)
        self.turns.schedule()
        _say_rules(self)

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
        """Listen; clients are welcome. StartupError if it cannot, and the store is closed."""
        listen = self.settings.listen
        proxies = listen.proxy_protocol
        site = self._admin_site()
        try:
            if listen.amqp is not None:
                self.ports.listen(
                    "amqp", listen.amqp, Listener(self.door, passed_on="amqp" in proxies)
                )
            if listen.amqps is not None:
                self.ports.listen(
                    "amqps",
                    listen.amqps,
                    Listener(self.door, tls_first=True, passed_on="amqps" in proxies),
                )
            self._listen_for_admin(site)
        except StartupError:
            self._close_listeners()
            self._finish()
            raise
        self._threads.start()
        self.upstreams.dial(
            self.reactor, self.clock.now_ms, self.turns, self.counts, self.door.next_id
        )
        renewal = Renewal(
            self.clock.now_ms, self.turns, self.bridge, self.upstreams, self.reloading
        )
        self._every(LOOK_S, renewal.look)
        self._every(USERS_LOOK_S, self.authentication.refresh)
        self._every(LAG_INTERVAL_S, LagMeter(self.reactor, self.counts).tick)
        self._every(self.settings.audit.checkpoint_interval / 1000, self._checkpoint)
        self.turns.schedule()
        self._say_started()

    def _listen_for_admin(self, site: Site) -> None:
        secure = self.settings.admin_tls
        factory = within_tls(site, lambda: self._admin_context) if secure else site
        self.ports.listen("admin", self.settings.admin, factory)
        scheme = "https" if secure else "http"
        self.faces.admin_address = f"{scheme}://{self.addresses['admin']}"

    def _admin_site(self) -> Site:
        sources = Sources(
            bridge=self.bridge,
            faces=self.faces.counts,
            accounts=self.faces.accounts,
            translated=self.faces.translated,
            store=self.store.counts,
            disk=Disk(self.settings.data_directory, AUDIT_FOLDER),
            net=self.counts,
            admin=self.tokens.counts,
            authentication=self.authentication,
            clock=self.clock,
            ready=self.ready,
            version=__version__,
            form=form(),
            started_ms=self.clock.now_ms(),
            upstreams=self.upstreams,
        )
        self.collector = Collector(METRICS, readers(sources))
        objects = Collector(OBJECT_METRICS, object_readers(self.bridge))
        control = Control(
            self.reloading,
            self.upstreams,
            self.bridge,
            self.tokens,
            lambda: self.read_again(),
            self.clock.now_ms,
            self.door,
            Backup(self.store, self.settings.data_directory, self.reactor.callFromThread),
        )
        return admin_site(
            self.collector,
            objects,
            self.ready,
            control,
            tokens=self.tokens,
            reactor=self.reactor,
            connections_max=self.settings.admin_connections,
        )

    def _every(self, interval_s: float, call: Callable[[], None]) -> None:
        timer = LoopingCall(call)
        timer.clock = self.reactor
        timer.start(interval_s, now=False)
        self._timers.append(timer)

    def _checkpoint(self) -> None:
        now_ms = self.clock.now_ms()
        self.bridge.now_ms = now_ms
        self.faces.uses.write()
        self.bridge.checkpoint(now_ms)
        self.bridge.audit.clock(now_ms, self.clock.drift_ms())
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
            entries=len(self.recovered.entries),
        )

    def ready(self) -> str | None:
        """`None` when clients are welcome, else why not.

        They are while a full disk leaves the reserve: consumers make room.
        """
        if not self.addresses:
            return "starting"
        if self.stopping.stage != Stage.RUNNING:
            return "draining"
        error = self.bridge.store_error
        if error is not None and not error.on_reserve:
            return f"nothing can be committed: {error}"
        return None

    def reload(self) -> None:
        """Have the configuration, as it is now, count; say what came of it."""
        try:
            done = self.reloading.reload(self.read_again)
        except GatewayError as error:
            self._say_refused(error)
        else:
            done.addCallbacks(
                lambda told: self.log.info("configuration reloaded: {told}", told=told),
                lambda failure: self._say_refused(failure.value),
            )

    def _say_refused(self, error: Exception) -> None:
        problems = error.problems if isinstance(error, ConfigurationError) else [("", str(error))]
        for path, problem in problems:
            told = f"{path}: {problem}" if path else problem
            self.log.error("configuration not reloaded: {told}", told=told)

    # Stop.

    def stop(self) -> None:
        """Begin the graceful stop; again: go straight to closing the connections."""
        self.reloading.stop()
        self.stopping.signal()

    def _close_listeners(self) -> None:
        """No more clients; the admin port stays, to say so."""
        self.ports.shut("amqp", "amqps")

    def _close_upstreams(self) -> None:
        """No client is left."""
        self.upstreams.stop().addBoth(lambda _results: self._finish())

    def _finish(self) -> None:
        """No connection is left: the last turn, the final records, the store, and out."""
        for timer in self._timers:
            timer.stop()
        self.turns.end_now()
        self.turns.stop()
        now_ms = self.clock.now_ms()
        audit = self.bridge.audit
        self.bridge.checkpoint(now_ms)
        audit.clock(now_ms, self.clock.drift_ms())
        audit.incarnation_stopped(now_ms)
        try:
            self.store.close(audit.take_block(now_ms))
            if self._timers:  # else it never started, and says itself why
                self.log.info("stopped")
        except StoreError as error:
            self.exit_code = 1
            self.log.critical("the store could not be closed in order: {error}", error=error)
        self._threads.stop()
        self.on_stopped()


def check(settings: Settings) -> list[str]:
    """Read every file that the settings name; what is allowed, but perhaps not meant.

    Raises:
        ConfigurationError: with what cannot be used.
    """
    _tls(settings)
    rules = access_notes(load_rules(settings), settings)
    told = [f"access rules: {note}" for note in rules] + exposed(settings)
    if settings.users_file is not None:
        passwords = Passwords(settings.users_file, iterations_max=settings.scram_iterations)
        passwords.load()
        told += passwords.withheld()
    return told


def _certificates(settings: Settings) -> bool:
    """Whether clients may log in by a certificate."""
    return settings.tls is not None and settings.tls.client_ca is not None


def _tls(settings: Settings) -> IOpenSSLContextFactory | None:
    tls = settings.tls
    if tls is None:
        return None
    return tls_context(
        tls.certificate,
        tls.key,
        tls.client_ca,
        client_crl=tls.client_crl,
        require_client_certificate=tls.require_client_certificate,
    )


def _say_rules(service: Service) -> None:
    """Say which access rules count, and what of them has no effect."""
    for note in access_notes(service.access, service.settings):
        unmeant = service.access.rules is None and service.settings.users_file is not None
        service.log.emit(
            LogLevel.warn if unmeant else LogLevel.info, "access rules: {note}", note=note
        )


def _admin_tls(settings: Settings) -> IOpenSSLContextFactory | None:
    """The same certificate; who asks shows a token, and no certificate."""
    tls = settings.tls
    if tls is None or not settings.admin_tls:
        return None
    return tls_context(tls.certificate, tls.key, None, require_client_certificate=False)


def _warn(service: Service) -> None:
    """Say what is allowed, but perhaps not meant."""
    settings = service.settings
    _say_rules(service)
    files = raise_file_limit(settings.limits.connections + FILES_BESIDES)
    if files < settings.limits.connections + FILES_BESIDES:
        service.log.warn(
            "only {files} files may be open: fewer connections than limits allow", files=files
        )
    tokens = settings.admin_token_file or settings.metrics_token_file
    if tokens is not None and not settings.admin_tls and not settings.admin.loopback:
        service.log.warn(
            "the admin token crosses the network in clear text on {admin}",
            admin=str(settings.admin),
        )
    passwords = service.authentication.passwords
    for line in [*exposed(settings), *(passwords.withheld() if passwords is not None else [])]:
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
    error = died.exc_value if died.exc_value is not None else died.exc_type.__name__
    Service.log.critical(
        "thread {name} has died, and with it the gateway: {kind}: {error}",
        name=name,
        kind=died.exc_type.__name__,
        error=str(error),
    )
    os._exit(THREAD_DIED)


def run(
    settings: Settings, read_again: Callable[[], Settings], *, accept_new_store: bool = False
) -> int:
    """Run a gateway on Twisted's reactor until it is told to stop; the process's exit code.

    `read_again` reads the configuration anew, for SIGHUP.

    Raises:
        StartupError, ConfigurationError: as `Service`.
    """
    from twisted.internet import reactor as installed

    os.umask(0o077)  # messages are nobody else's; SQLite would ask the umask
    reactor = cast(PosixReactorBase, installed)
    service = Service(settings, reactor, accept_new_store=accept_new_store)

    def told(_number: int, _frame: object) -> None:
        # Not Twisted's own: its second signal ends in a traceback.
        reactor.callFromThread(service.stop)

    for number in SIGNALS:
        signal.signal(number, told)
    threading.excepthook = on_thread_died
    service.read_again = read_again
    signal.signal(signal.SIGHUP, lambda _number, _frame: reactor.callFromThread(service.reload))
    service.start()
    _warn(service)
    # What recovery made stays: the cycle collector need not look at it again and again.
    gc.freeze()
    service.on_stopped = reactor.stop
    reactor.run(installSignalHandlers=False)
    return service.exit_code

"""Dials the hosts of one upstream, for ever: one connection at a time, whose pump drives its face.

Twisted's `ClientService` decides when to try again: exponential back-off with jitter. For it a
connection begins when the peer has opened it, so that a peer which takes connections and does not
serve us is not dialled in a tight loop; nor is one that opens them and ends them at once. Each try
goes through the failover list once, beginning where a redirect pointed. What links are redirected
to is `detours`.
"""

# Failure has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast, final

from twisted.application.internet import ClientService
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import CancelledError, Deferred, DeferredList, maybeDeferred, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import (
    IAddress,
    IProtocol,
    IProtocolFactory,
    IStreamClientEndpoint,
    ITransport,
)
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.protocol import Factory
from twisted.internet.protocol import Protocol as TwistedProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from gateway.config.units import Host
from gateway.errors import GatewayError
from gateway.faces.dialled.dialled import DialledUpstream
from gateway.faces.dialled.health import UpstreamState
from gateway.faces.dialled.location import Location
from gateway.faces.face import Face
from gateway.net.alarm import Later
from gateway.net.counts import NetCounts
from gateway.net.duties import Duties
from gateway.net.logs import NamedLogger
from gateway.net.pump import Pump
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.back_off import BackOff, policy
from gateway.net.upstreams.detours import (
    STOP_S,
    DetourDialers,
    EndpointFor,
    detours_of,
    reached,
)

LOOK_INTERVAL_S: Final = 0.25
PROBLEMS_MAX: Final = 20  # of one outage are told
RETIRE_MS: Final = 3000  # how long a peer has for what is unsettled, when it is not used any more
BRIEF_MS: Final = 2000  # a connection that ended sooner was none, as far as the back-off goes


class NotOpenedError(GatewayError):
    """A connection ended before the peer had opened it."""


@final
@implementer(IStreamClientEndpoint)
class Failover:
    """Connects to the first host of a list that opens a connection."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Try each host once, in order.

        What the caller's factory makes stands for the open connection: it hears of its end.
        """
        left = self._dialer.order()
        self._dialer.next_try_ms = None
        trying: list[Deferred[None]] = []
        connected: Deferred[IProtocol] = Deferred(lambda _cancelled: trying[0].cancel())

        def opened(_result: None) -> None:
            standing = protocolFactory.buildProtocol(IPv4Address("TCP", "", 0))
            assert standing is not None
            self._dialer.stand(standing)
            connected.callback(standing)

        def go_on(failure: Failure | None) -> None:
            if failure is not None:
                if isinstance(failure.value, CancelledError):
                    connected.errback(failure)
                    return
                self._dialer.on_failed(failure)
                if not left:
                    self._dialer.failed_tries += 1
                    connected.errback(failure)
                    return
            trying[:] = [maybeDeferred(self._dialer.open, left.pop(0))]
            trying[0].addCallback(opened)
            trying[0].addErrback(go_on)  # also where what was opened has ended by now

        go_on(None)
        return connected


@final
class Dialer(Factory):
    """Keeps one upstream connected; the `Surroundings` of its pumps.

    Args:
        hosts: the failover list, best first.
        endpoint_for: how to connect to a host; asked anew for each try, so that new files count.
        next_connection_id: numbers for the audit log.

    Attributes:
        failed_tries: since it was connected, each through the whole list.
        next_try_ms: when the next one is; `None`: it is connected, or being tried.
        where: the host that it is connected to, or was last.
    """

    noisy = False
    log = NamedLogger("gateway.net.upstream.Dialer")

    def __init__(
        self,
        reactor: PosixReactorBase,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        counts: NetCounts,
        upstream: DialledUpstream,
        hosts: list[Host],
        *,
        endpoint_for: EndpointFor,
        hostname: str = "",
        back_off: BackOff | None = None,
        next_connection_id: Callable[[], int],
    ) -> None:
        self.later: Later = reactor
        self.now_ms = now_ms
        self.turns = turns
        self.counts = counts
        self.upstream = upstream
        self.hosts = hosts
        self.trying = hosts[0]
        self.pump: Pump | None = None
        self.failed_tries = 0
        self.next_try_ms: int | None = None
        self.where = ""
        self._reached = ""
        self.endpoint_for = endpoint_for
        self._hostname = hostname
        self._next_connection_id = next_connection_id
        self._opening: Deferred[None] | None = None
        self._dialling: Deferred[IProtocol] | None = None
        self._standing: IProtocol | None = None
        self._said: set[str] = set()
        self._up = False
        self._up_ms = 0
        self._brief = 0  # connections in a row that ended soon after they were open
        self._stopping = False
        self._service = ClientService(
            Failover(self),
            Factory.forProtocol(TwistedProtocol),
            self._wait,
            clock=reactor,
        )
        self._policy = policy(back_off or BackOff())
        self._duties = Duties(reactor, turns, counts)
        upstream.health.on_change = self._on_change
        self.detours = DetourDialers(
            reactor,
            now_ms,
            turns,
            counts,
            endpoint_for=endpoint_for,
            hostname=hostname,
            next_connection_id=next_connection_id,
        )
        detours = detours_of(upstream)
        if detours is not None:
            detours.dialling = self.detours

    def start(self) -> None:
        """Dial."""
        self._service.startService()
        self._duties.every(LOOK_INTERVAL_S, self._look)

    def stop(self) -> Deferred[None]:
        """Dial no more and close what there is; fires when that is done."""
        if not self._service.running:
            return succeed(None)
        self._stopping = True
        self._duties.stop()
        pump = self.pump
        if pump is not None:
            now_ms = self.now_ms()
            pump.face.force_close(now_ms)
            pump.flush(now_ms)
            self.later.callLater(STOP_S, pump.abort)
        over = DeferredList([self.detours.stop(), self._service.stopService()])
        return over.addCallback(lambda _results: None)

    def redial(self) -> None:
        """Close the connection in good order, and dial again: for credentials that are new."""
        pump = self.pump
        if pump is None:
            return
        now_ms = self.now_ms()
        self._stopping = True  # nothing to complain of
        pump.face.force_close(now_ms)
        pump.flush(now_ms)
        self.detours.close()
        self._stopping = False
        self.upstream.health.last_error = ""
        self.later.callLater(STOP_S, pump.abort)

    def hasten(self) -> None:
        """Try again now, if the next try is waited for: there is reason to believe in it."""
        if self.next_try_ms is not None and self._service.running:
            self._service.stopService()
            self._service.startService()

    def retire(self) -> Deferred[None]:
        """Stop, once all is settled or `RETIRE_MS` are over; fires when that is done."""
        until_ms = self.now_ms() + RETIRE_MS
        over: Deferred[None] = Deferred()

        def look() -> None:
            if self.upstream.outstanding() and self.pump is not None and self.now_ms() < until_ms:
                self.later.callLater(LOOK_INTERVAL_S, look)
            else:
                self.stop().chainDeferred(over)
                self._linger()

        self.later.callLater(LOOK_INTERVAL_S, look)
        return over

    def _linger(self) -> None:
        """Whoever still waits for the upstream's answer is told in its time that there is none."""
        self._look()
        if self.upstream.next_deadline() is not None:
            self.later.callLater(LOOK_INTERVAL_S, self._linger)

    def order(self) -> list[Host]:
        """The hosts of one try."""
        redirect = self.upstream.take_redirect()
        if redirect is None or not redirect.network_host:
            return [*self.hosts]
        # With TLS where the connection that sent us on had it (1.0 2.8.17).
        redirected = Host(self.trying.tls, redirect.network_host, redirect.port or self.trying.port)
        return [redirected, *self.hosts]

    def open(self, host: Host) -> Deferred[None]:
        """Dial one host; fires when it has opened the connection, fails when that is over."""
        self.trying = host
        opening: Deferred[None] = Deferred(lambda _cancelled: self._give_up())
        self._opening = opening
        self._dialling = self.endpoint_for(host).connect(self)
        self._dialling.addErrback(self._fail_opening)
        return opening

    def stand(self, standing: IProtocol) -> None:
        """`standing` hears of the end of the open connection."""
        pump = self.pump
        if pump is None:
            raise NotOpenedError("the connection ended at once")
        self._standing = standing
        standing.makeConnection(cast(ITransport, pump.transport))

    def _give_up(self) -> None:
        """Stopped while dialling: what is left of it ends later, and nobody waits for that."""
        self._opening = None
        pump, self.pump = self.pump, None
        if self._dialling is not None:
            self._dialling.cancel()
        if pump is not None:
            pump.abort()

    def on_failed(self, failure: Failure) -> None:
        """A host did not answer: one line when the reason is a new one."""
        problem = failure.getErrorMessage().rstrip(".")
        self.upstream.context.bridge.now_ms = self.now_ms()
        self.upstream.on_unreachable(f"{self.trying}: {problem}")

    def _wait(self, failures: int) -> float:
        """Seconds until the next try, after `failures` in a row; `ClientService` asks for them."""
        wait_s = self._policy(failures + max(self._brief - 1, 0))
        self.next_try_ms = self.now_ms() + int(wait_s * 1000)
        return wait_s

    # Pumps.

    def buildProtocol(self, addr: IAddress | None) -> Pump:
        """The transport is up."""
        where = str(self.trying)
        if isinstance(addr, IPv4Address | IPv6Address):
            where = f"{where} ({addr.host})" if addr.host != self.trying.host else where
        self.where = where
        self._reached = reached(addr)
        pump = Pump(self, self._next_connection_id(), where)
        pump.secure = self.trying.tls
        self.pump = pump
        return pump

    def first_face(self, pump: Pump) -> Face:
        """The upstream's connection by this transport, to the host that is tried."""
        location = Location(
            network_host=self.trying.host,
            port=self.trying.port,
            hostname=self._hostname or self.trying.host,
            secure=self.trying.tls,
        )
        location.reached = self._reached
        return self.upstream.connect(
            self.now_ms(), connection_id=pump.connection_id, location=location
        )

    def begin(self, pump: Pump) -> None:
        """It stands, inside TLS where that was asked for."""

    def vacate(self, pump: Pump) -> None:
        """It has nobody's place."""

    def gone(self, pump: Pump) -> None:
        """The transport is over: a try that has not opened it fails, an open one has ended."""
        if self.pump is not pump:
            return  # another one is dialled, or none
        self.pump = None
        problem = self.upstream.health.last_error or "the peer did not open the connection"
        problem = pump.doubted or problem
        self._fail_opening(Failure(NotOpenedError(problem)))
        standing, self._standing = self._standing, None
        if standing is not None:
            standing.connectionLost(Failure(ConnectionDone()))

    def _fail_opening(self, failure: Failure) -> None:
        self._dialling = None
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.errback(failure)

    def _on_change(self) -> None:
        """The upstream's state has changed."""
        upstream = self.upstream
        health = upstream.health
        if health.solved in self._said:
            self._said.remove(health.solved)
            self.log.info(
                "upstream {upstream}: over: {problem}",
                problem=health.solved,
                upstream=upstream.name,
            )
        if health.state == UpstreamState.UP:
            self.failed_tries = 0
            opening, self._opening = self._opening, None
            if opening is not None:
                opening.callback(None)
            if self._up:
                self._complain("{problem}")
                return
            self._up_ms = self.now_ms()
            if not self._brief:
                self._said.clear()
            self.log.info(
                "upstream {upstream}: connected to {where}",
                upstream=upstream.name,
                where=str(self.trying),
            )
        elif health.state == UpstreamState.DOWN and not self._stopping:
            if self._up:
                self._end_up()
            if self._opening is None:  # else `on_failed` follows, and knows more
                self._complain("{problem}; publishers to it wait, trying again")
        self._up = health.state == UpstreamState.UP

    def _end_up(self) -> None:
        """The open connection was ended by the peer."""
        if self.now_ms() - self._up_ms < BRIEF_MS:
            self._brief += 1
        else:
            self._brief = 0
        if self._brief < 2:
            self._said.clear()  # what went wrong before has ended the connection now

    def _complain(self, words: str) -> None:
        """One line for each problem of an outage or of a connection, however often it comes."""
        problem = self.upstream.health.last_error
        if problem and problem not in self._said and len(self._said) < PROBLEMS_MAX:
            self._said.add(problem)
            self.log.warn(
                f"upstream {{upstream}}: {words}", upstream=self.upstream.name, problem=problem
            )

    def _look(self) -> None:
        """Without a connection nobody else looks at the upstream's deadlines."""
        now_ms = self.now_ms()
        deadline_ms = self.upstream.next_deadline()
        if self.pump is None and deadline_ms is not None and deadline_ms <= now_ms:
            self.upstream.handle_deadline(now_ms)
            self.turns.schedule()

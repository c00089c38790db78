"""Dials the hosts of one upstream, for ever: one connection at a time, whose pump drives its face.

Twisted's `ClientService` decides when to try again: exponential back-off with jitter, which starts
anew only once the peer has opened the connection, so that a peer which accepts and then throws us
out is not tried in a tight loop. Each try goes through the failover list, beginning where a
redirect pointed, else with the first host.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from twisted.application.internet import ClientService, backoffPolicy
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import (
    IAddress,
    IOpenSSLClientConnectionCreator,
    IProtocol,
    IProtocolFactory,
    IStreamClientEndpoint,
)
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.protocol import Factory
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from gateway.config.units import Host
from gateway.errors import GatewayError
from gateway.faces.face import Face
from gateway.faces.upstream_1_0 import Upstream, UpstreamState
from gateway.net.alarm import Later
from gateway.net.counts import NetCounts
from gateway.net.pump import Pump
from gateway.net.turns import TurnLoop

LOOK_INTERVAL_S: Final = 0.25
STOP_S: Final = 2  # how long a peer has to read our close


class NotOpenedError(GatewayError):
    """A connection ended before the peer had opened it."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long to wait between tries, in seconds: `initial`, times `factor` each, up to `maximum`.

    `jitter`: the part of each wait, from 0 to 1, that is left to chance.
    """

    initial: float = 0.5
    maximum: float = 30.0
    factor: float = 1.8
    jitter: float = 0.3


@final
@implementer(IStreamClientEndpoint)
class Failover:
    """Connects to the first host of a list that answers."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Try each host once, in order."""
        left = self._dialer.order()
        connected: Deferred[IProtocol] = Deferred(lambda _cancelled: trying[0].cancel())
        trying: list[Deferred[IProtocol]] = []

        def go_on(failure: Failure | None) -> None:
            if failure is not None and isinstance(failure.value, CancelledError):
                connected.errback(failure)
                return
            if failure is not None:
                self._dialer.on_failed(failure)
            if not left:
                assert failure is not None
                connected.errback(failure)
                return
            host = left.pop(0)
            self._dialer.trying = host
            trying[:] = [self._dialer.endpoint(host).connect(protocolFactory)]
            trying[0].addCallbacks(connected.callback, go_on)

        go_on(None)
        return connected


@final
class Dialer(Factory):
    """Keeps one upstream connected; the `Surroundings` of its pumps.

    Args:
        hosts: the failover list, best first.
        tls_for: how to speak TLS to a host; asked anew for each try, so that new files count.
        next_connection_id: numbers for the audit log.
    """

    noisy = False
    log = Logger()

    def __init__(
        self,
        reactor: PosixReactorBase,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        counts: NetCounts,
        upstream: Upstream,
        hosts: list[Host],
        *,
        tls_for: Callable[[Host], IOpenSSLClientConnectionCreator],
        hostname: str = "",
        back_off: BackOff | None = None,
        connect_timeout_s: float = 10.0,
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
        self._tls_for = tls_for
        self._hostname = hostname
        self._reactor = reactor
        self._connect_timeout_s = connect_timeout_s
        self._next_connection_id = next_connection_id
        self._opening: Deferred[None] | None = None
        self._said = ""
        back_off = back_off or BackOff()
        self._service = ClientService(
            Failover(self),
            self,
            backoffPolicy(
                back_off.initial,
                back_off.maximum,
                back_off.factor,
                jitter=lambda: 1 - back_off.jitter * random.random(),
            ),
            clock=reactor,
            prepareConnection=self._prepare,
        )
        self._looking = LoopingCall(self._look)
        self._looking.clock = reactor
        upstream.on_change = self._on_change

    def start(self) -> None:
        """Dial."""
        self._service.startService()
        self._looking.start(LOOK_INTERVAL_S, now=False)

    def stop(self) -> Deferred[None]:
        """Dial no more and close what there is; fires when that is done."""
        if not self._service.running:
            return succeed(None)
        self._looking.stop()
        pump = self.pump
        if pump is not None:
            now_ms = self.now_ms()
            pump.face.force_close(now_ms)
            pump.flush(now_ms)
            self.later.callLater(STOP_S, pump.abort)
        return self._service.stopService()

    def order(self) -> list[Host]:
        """The hosts of one try."""
        redirect = self.upstream.take_redirect()
        if redirect is None or not redirect.network_host:
            return [*self.hosts]
        # With TLS where the connection that sent us on had it (1.0 2.8.17).
        there = Host(self.trying.tls, redirect.network_host, redirect.port or self.trying.port)
        return [there, *self.hosts]

    def endpoint(self, host: Host) -> IStreamClientEndpoint:
        """How to connect to a host."""
        plain = HostnameEndpoint(
            self._reactor, host.host, host.port, timeout=self._connect_timeout_s
        )
        return wrapClientTLS(self._tls_for(host), plain) if host.tls else plain

    def on_failed(self, failure: Failure) -> None:
        """A host did not answer: one line when the reason is a new one."""
        self.upstream.on_unreachable(f"{self.trying}: {failure.getErrorMessage()}")

    # Pumps.

    def buildProtocol(self, addr: IAddress | None) -> Pump:
        """The transport is up."""
        where = str(self.trying)
        if isinstance(addr, IPv4Address | IPv6Address):
            where = f"{where} ({addr.host})" if addr.host != self.trying.host else where
        pump = Pump(self, self._next_connection_id(), where)
        pump.secure = self.trying.tls
        self.pump = pump
        return pump

    def first_face(self, pump: Pump) -> Face:
        """As `pump.Surroundings`."""
        return self.upstream.connect(
            self.now_ms(),
            connection_id=pump.connection_id,
            secure=self.trying.tls,
            hostname=self._hostname or self.trying.host,
        )

    def gone(self, pump: Pump) -> None:
        """As `pump.Surroundings`."""
        if self.pump is pump:
            self.pump = None
        self._fail_opening()

    def _prepare(self, _protocol: IProtocol) -> Deferred[None]:
        """The connection counts once it is open; until then each failure lengthens the wait."""
        opening: Deferred[None] = Deferred(lambda _cancelled: None)
        self._opening = opening
        if self.pump is None:
            self._fail_opening()
        return opening

    def _fail_opening(self) -> None:
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.errback(NotOpenedError(self.upstream.last_error or "the peer did not open"))

    def _on_change(self) -> None:
        """The upstream's state has changed."""
        upstream = self.upstream
        if upstream.state == UpstreamState.UP:
            opening, self._opening = self._opening, None
            if opening is not None:
                opening.callback(None)
        said = f"{upstream.state.name.lower()} {upstream.last_error}"
        if said == self._said:
            return
        self._said = said
        if upstream.state == UpstreamState.UP:
            self.log.info(
                "upstream {name}: connected to {where}", name=upstream.name, where=str(self.trying)
            )
        elif upstream.last_error:
            self.log.warn(
                "upstream {name}: {error}; publishers to it wait, trying again",
                name=upstream.name,
                error=upstream.last_error,
            )

    def _look(self) -> None:
        """Without a connection nobody else looks at the upstream's deadlines."""
        now_ms = self.now_ms()
        deadline_ms = self.upstream.next_deadline()
        if self.pump is None and deadline_ms is not None and deadline_ms <= now_ms:
            self.upstream.handle_deadline(now_ms)
            self.turns.schedule()

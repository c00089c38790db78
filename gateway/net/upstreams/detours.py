"""Dials the detours of one upstream: each once, since its links ask the upstream again then."""

# Failure has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, cast, final

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.interfaces import IAddress, IProtocol, IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from gateway.config.units import Host
from gateway.errors import GatewayError
from gateway.faces.dialled.dialled import DialledUpstream
from gateway.faces.face import Face, endpoint
from gateway.faces.upstream_1_0.detours import Detour, Detours
from gateway.faces.upstream_1_0.upstream import Upstream
from gateway.net.alarm import Later
from gateway.net.counts import NetCounts
from gateway.net.logs import NamedLogger
from gateway.net.pump import Pump
from gateway.net.turns import TurnLoop

STOP_S: Final = 2  # how long a peer has to read our close


class BareError(GatewayError):
    """A host is not dialled: without TLS it, or whoever reads along, would see our secret."""


def reached(addr: IAddress | None) -> str:
    """The address and the port of who answered; "" where the transport does not tell."""
    if not isinstance(addr, IPv4Address | IPv6Address):
        return ""
    return endpoint(str(addr.host), int(addr.port))


class EndpointFor(Protocol):
    """Knows how to connect to a host; asked anew for each try, so that new files count."""

    def __call__(self, host: Host, server_name: str = "") -> IStreamClientEndpoint:
        """`server_name`: what the certificate must be for, where nothing else is configured."""


@final
class DetourDialer(Factory):
    """The one transport of a detour; the `Surroundings` of its pump."""

    noisy = False

    def __init__(self, dialers: DetourDialers, detour: Detour) -> None:
        self.turns = dialers.turns
        self.later = dialers.later
        self.counts = dialers.counts
        self.now_ms = dialers.now_ms
        location = detour.location
        self.host = Host(location.secure, location.network_host, location.port)
        self.pump: Pump | None = None
        self._dialers = dialers
        self._detour = detour
        self._dialling: Deferred[IProtocol] | None = None

    def start(self) -> None:
        """Dial."""
        if self._dialers.stopping:
            self._fail("the gateway stops")
            return
        found = maybeDeferred(self._dialers.endpoint_for, self.host, self._detour.location.hostname)
        found.addCallback(lambda endpoint: endpoint.connect(self))
        self._dialling = cast("Deferred[IProtocol]", found)
        found.addErrback(self._on_failed)

    def stop(self) -> None:
        """Close in good order, or dial no more."""
        pump = self.pump
        if pump is not None:
            now_ms = self.now_ms()
            pump.face.force_close(now_ms)
            pump.flush(now_ms)
            self.limit()
        elif self._dialling is not None:
            self._dialling.cancel()

    def limit(self) -> None:
        """Our close is on its way."""
        if self.pump is not None:
            self.later.callLater(STOP_S, self.pump.abort)

    def _on_failed(self, failure: Failure) -> None:
        if self.pump is None:
            self._fail(failure.getErrorMessage().rstrip("."))

    def _fail(self, problem: str) -> None:
        self._dialers.forget(self._detour)
        self._detour.upstream.bridge.now_ms = self.now_ms()
        self._detour.on_unreachable(problem)
        self.turns.schedule()

    # As a factory, and as `pump.Surroundings`.

    def buildProtocol(self, addr: IAddress | None) -> Pump:
        """The transport is up."""
        self._detour.location.reached = reached(addr)
        pump = Pump(self, self._dialers.next_connection_id(), str(self.host))
        pump.secure = self.host.tls
        self.pump = pump
        return pump

    def first_face(self, pump: Pump) -> Face:
        """Its only one."""
        return self._detour.connect(
            self.now_ms(),
            connection_id=pump.connection_id,
            hostname=self._dialers.hostname or self.host.host,
        )

    def begin(self, pump: Pump) -> None:
        """It stands, inside TLS where that was asked for."""

    def vacate(self, pump: Pump) -> None:
        """It has nobody's place."""

    def gone(self, pump: Pump) -> None:
        """The transport is over; the face has told the detour."""
        self._dialers.forget(self._detour)
        if pump.doubted:
            self._detour.upstream.health.note_problem(f"{self.host}: {pump.doubted}")


@final
class DetourDialers:
    """Implements `upstream_1_0.detours.Dialling`.

    Args:
        hostname: of the open, where neither redirect nor host are to be named; "": there is none.

    Attributes:
        stopping: nothing more is dialled.
    """

    log = NamedLogger("gateway.net.detours.DetourDialers")

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        counts: NetCounts,
        *,
        endpoint_for: EndpointFor,
        hostname: str,
        next_connection_id: Callable[[], int],
    ) -> None:
        self.later = later
        self.now_ms = now_ms
        self.turns = turns
        self.counts = counts
        self.endpoint_for = endpoint_for
        self.hostname = hostname
        self.next_connection_id = next_connection_id
        self.stopping = False
        self._dialers: dict[Detour, DetourDialer] = {}
        self._over: Deferred[None] | None = None

    def dial(self, detour: Detour) -> None:
        """Connect once: `Detour.connect` or `Detour.on_unreachable` follows, not from inside."""
        dialer = DetourDialer(self, detour)
        self._dialers[detour] = dialer
        self.log.info(
            "upstream {upstream}: it redirects links to {where}",
            upstream=detour.upstream.name,
            where=str(detour.location),
        )
        self.later.callLater(0, dialer.start)

    def pumps(self) -> list[Pump]:
        """Those of the transports that there are."""
        return [each.pump for each in self._dialers.values() if each.pump is not None]

    def hang_up(self, detour: Detour) -> None:
        """Our close is on its way: after `STOP_S` the transport ends without an answer."""
        dialer = self._dialers.get(detour)
        if dialer is not None:
            dialer.limit()

    def close(self) -> None:
        """Close all of them; links go back to the upstream."""
        for dialer in list(self._dialers.values()):
            dialer.stop()

    def stop(self) -> Deferred[None]:
        """The same for good; fires when all are gone."""
        self.stopping = True
        self.close()
        if not self._dialers:
            return succeed(None)
        self._over = Deferred()
        return self._over

    def forget(self, detour: Detour) -> None:
        """It has no transport any more."""
        self._dialers.pop(detour, None)
        over = self._over
        if over is not None and not self._dialers:
            self._over = None
            over.callback(None)


def detours_of(upstream: DialledUpstream) -> Detours | None:
    """Those of an upstream; `None`: in its protocol no link is redirected."""
    return upstream.detours if isinstance(upstream, Upstream) else None

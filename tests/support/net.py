"""A bridge, faces and transports that only write down what happens to them."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import IDelayedCall, IOpenSSLContextFactory
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import globalLogPublisher

from gateway.errors import StoreError
from gateway.faces.face import STOPS, Authenticator, Ending, Face, Peer, PeerStatus
from gateway.net.counts import NetCounts
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.first_octets import Ask
from gateway.net.listening.listen import Door, Listener
from gateway.net.pump import Pump
from gateway.net.transport import Layer
from gateway.net.turns import TurnLoop
from gateway.service.defects import Defects
from gateway.wire.accounts import Account
from gateway.wire.work import WORK


@contextmanager
def counting_defects(counts: NetCounts) -> Iterator[None]:
    """Of the log, as the process does."""
    observer = Defects(counts)
    globalLogPublisher.addObserver(observer)
    try:
        yield
    finally:
        globalLogPublisher.removeObserver(observer)


class FakeBridge:
    """Counts turns; `more` is what the next ends answer."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.now_us = 0
        self.swamped = False
        self.log: list[str] = []
        self.more: list[bool] = []
        self.deadline_ms: int | None = None
        self.fails: Exception | None = None

    def end_turn(self, now_ms: int) -> bool:
        self.now_ms = now_ms
        self.log.append("end_turn")
        if self.fails is not None:
            raise self.fails
        return self.more.pop(0) if self.more else False

    def next_deadline(self) -> int | None:
        return self.deadline_ms

    def handle_deadline(self, now_ms: int) -> None:
        self.deadline_ms = None
        self.log.append(f"deadline {now_ms}")

    def who(self) -> str:
        return "queue 'q'"

    def on_committed(self, turn: int) -> None:
        self.log.append(f"committed {turn}")

    def on_store_failed(self, error: StoreError) -> None:
        self.log.append(f"failed {error}")

    def on_store_eased(self) -> None:
        self.log.append("eased")


class FakeFace:
    """Writes down every call; echoes octets when `echo` is set."""

    def __init__(self, peer: Peer, authenticator: Authenticator, echo: bool = True) -> None:
        self.peer = peer
        self.authenticator = authenticator
        self.echo = echo
        self.closed = False
        self.reading_paused = False
        self.shares = 0  # turns that what came still takes
        self.units = 0  # that each read costs, and each share of what came
        self.eof_units = 0  # that its end costs
        self.on_flush: Callable[[], object] | None = None
        self.received = b""
        self.to_send = b""
        self.log: list[str] = []
        self.heard_ms: list[int] = []
        self.deadline_ms: int | None = None
        self.fails: Exception | None = None
        self.is_drained = True
        self.is_owed = 0
        self.is_status: PeerStatus | None = None

    @property
    def behind(self) -> bool:
        return self.shares > 0

    def receive_data(self, data: bytes, now_ms: int) -> None:
        if self.fails is not None:
            raise self.fails
        WORK.units += self.units
        self.received += data
        if self.echo:
            self.to_send += data

    def receive_eof(self, now_ms: int) -> None:
        self.log.append("eof")
        WORK.units += self.eof_units
        if self.fails is not None:
            raise self.fails

    def data_to_send(self) -> bytes:
        if self.on_flush is not None:
            self.on_flush()
        if self.shares > 0:
            WORK.units += self.units
            self.shares -= 1
        data, self.to_send = self.to_send, b""
        return data

    def next_deadline(self) -> int | None:
        return self.deadline_ms

    def handle_deadline(self, now_ms: int) -> None:
        self.log.append(f"deadline {now_ms}")
        self.deadline_ms = None

    def heard(self, at_ms: int) -> None:
        self.heard_ms.append(at_ms)

    def doing(self) -> str:
        return "user 'u': fake"

    def write_blocked(self, blocked: bool) -> None:
        self.log.append(f"blocked {blocked}")

    def drain(self, now_ms: int) -> None:
        self.log.append("drain")

    def drained(self) -> bool:
        return self.is_drained

    def owed(self) -> int:
        return self.is_owed

    def status(self) -> PeerStatus | None:
        return self.is_status

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        self.log.append("force_close")
        self.to_send += b"forced"
        self.closed = True


class Loop:
    """The reactor's timers without time: what is scheduled in one turn is due in the next."""

    def __init__(self) -> None:
        self._clock = Clock()
        self._next: list[Callable[[], None]] = []

    def callLater(self, delay: float, call: Callable[[], None]) -> IDelayedCall:
        assert delay == 0
        self._next.append(call)
        return self._clock.callLater(1, call)  # never

    def turn(self) -> int:
        """One pass; how much was due."""
        due, self._next = self._next, []
        for call in due:
            call()
        return len(due)


class Plain:
    """In place of TLS: what comes is passed on as it is."""

    behind = False

    def __init__(self, wrapped: object) -> None:
        self.wrapped = wrapped

    def dataReceived(self, data: bytes) -> None:
        self.wrapped.dataReceived(data)  # type: ignore[attr-defined]  # a protocol

    def unregisterProducer(self) -> None:
        """There is none."""


class Wire(StringTransport):
    """A TCP transport: half close, TLS and cutting off are only noted; writes are counted."""

    def __init__(self) -> None:
        super().__init__(lenient=True)
        self.writes = 0
        self.half_closed = False
        self.aborted = False
        self.tls: list[object] = []
        self.no_delay = False
        self.kept_alive = False
        # Linux's struct tcp_info: nothing has been sent for very long, and something came now.
        self.information = bytes(44) + b"\xff" * 4 + bytes(56)
        self.memory = bytes(8)  # of octets that are not read, and how much there may be
        self.protocol: object = None
        self.handle: object = self

    def write(self, data: bytes) -> None:
        self.writes += 1
        super().write(data)

    def loseWriteConnection(self) -> None:
        self.half_closed = True

    def abortConnection(self) -> None:
        self.aborted = True

    def setTcpKeepAlive(self, enabled: bool) -> None:
        self.kept_alive = enabled

    def getHandle(self) -> object:
        return self.handle

    def setsockopt(self, level: int, option: int, value: int) -> None:
        assert value > 0

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        return (self.information if level == socket.IPPROTO_TCP else self.memory)[:size]

    def setTcpNoDelay(self, enabled: bool) -> None:
        self.no_delay = enabled


def plain(pump: Pump, context: IOpenSSLContextFactory) -> Layer:
    """That TLS begins is only noted."""
    wire = cast(Wire, pump.transport)
    wire.tls.append(context)
    if wire.protocol in (None, pump):
        wire.protocol = Plain(pump)
    return cast(Layer, wire.protocol)


class Net:
    """Everything before the faces, on a `Clock`, with fake faces."""

    def __init__(
        self,
        *,
        anonymous: bool = True,
        connections_max: int = 10,
        connections_per_address_max: int = 10,
        entering_per_address_max: int = 10,
        tls_context: object = None,
    ) -> None:
        self.clock = Clock()
        self.bridge = FakeBridge()
        self.counts = NetCounts()
        self.turns = TurnLoop(self.clock, self.now_ms, self.bridge, self.counts)
        self.authentication = Authentication(self.clock, self.now_ms, anonymous_allowed=anonymous)
        self.account = Account()
        self.faces: list[FakeFace] = []
        self.made: list[Ask] = []
        self.door = Door(
            self.clock,
            self.now_ms,
            self.turns,
            self.authentication,
            self.counts,
            {Ask.SERVE_0_10: self.maker(Ask.SERVE_0_10), Ask.SERVE_1_0: self.maker(Ask.SERVE_1_0)},
            connections_max=connections_max,
            connections_per_address_max=connections_per_address_max,
            entering_per_address_max=entering_per_address_max,
            login_octets_max=1000,
            handshake_timeout_ms=10_000,
            tls_context=tls_context,  # type: ignore[arg-type]  # any object will do
            account=self.account,
        )
        if isinstance(tls_context, str):
            self.door.layer = plain

    def now_ms(self) -> int:
        return int(self.clock.seconds() * 1000)

    def maker(self, ask: Ask):  # type: ignore[no-untyped-def]  # a FaceMaker
        def make(authenticator: Authenticator, peer: Peer, now_ms: int) -> Face:
            face = FakeFace(peer, authenticator)
            self.faces.append(face)
            self.made.append(ask)
            return face

        return make

    def connect(
        self, host: str = "192.0.2.1", *, tls_first: bool = False, passed_on: bool = False
    ) -> tuple[Pump, Wire]:
        listener = Listener(self.door, tls_first=tls_first, passed_on=passed_on)
        pump = listener.buildProtocol(IPv4Address("TCP", host, 1))
        assert pump is not None
        wire = Wire()
        wire.protocol = pump
        pump.makeConnection(wire)
        return pump, wire

    def turn(self) -> None:
        self.clock.advance(0)

"""One connection's transport, driven by its face: octets in, one write a turn, back-pressure.

The pump knows no protocol. Whatever goes wrong in a face ends this connection only.

Back-pressure: the transport's buffer passing its high-water mark (64 KiB, Twisted's) is
`write_blocked`; `reading_paused` stops reading. Closing: what was written is flushed, our side is
shut down, and the peer has a moment to read it; closing at once with its octets unread would reset
the connection and could take our last words with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, final

from twisted.internet.interfaces import IHandshakeListener, IOpenSSLContextFactory, IPushProducer
from twisted.internet.protocol import Protocol as TwistedProtocol
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from gateway.faces.face import Face, endpoint
from gateway.net.alarm import Alarm, Later
from gateway.net.counts import NetCounts
from gateway.net.keepalive import heard_ms, is_unread, keep_alive, last_ms
from gateway.net.patience import Patience
from gateway.net.reading import Reading
from gateway.net.silent_face import SilentFace
from gateway.net.tls.files import name_in
from gateway.net.transport import Layer, Transport
from gateway.net.turn_shares import TurnShare
from gateway.net.turns import TurnLoop
from gateway.wire.work import BEGUN, ENDED, OCTETS_READ, READING, WORK

LINGER_MS: Final = 2000  # how long a peer has to read our last octets and close
FLUSH_MS: Final = 10_000  # how long it has to take what is still unwritten


class Surroundings(Protocol):
    """What every pump of a listener shares; `listen.Listener` has it."""

    turns: TurnLoop
    later: Later
    counts: NetCounts
    now_ms: Callable[[], int]

    def first_face(self, pump: Pump) -> Face:
        """The face that a new connection begins with."""

    def begin(self, pump: Pump) -> None:
        """The connection stands: begin, with TLS where that comes first."""

    def vacate(self, pump: Pump) -> None:
        """Its transport is gone, though it has not ended; perhaps that was told before."""

    def gone(self, pump: Pump) -> None:
        """The connection is over."""


@final
@implementer(IPushProducer, IHandshakeListener)
class Pump(TwistedProtocol):
    """Between one transport and one face; the face can be replaced (header read, TLS done)."""

    log = Logger()
    transport: Transport  # type: ignore[assignment]  # Twisted's own type says ITransport only

    def __init__(
        self, around: Surroundings, connection_id: int, address: str, port: int = 0
    ) -> None:
        self.around = around
        self.connection_id = connection_id
        self.address = address
        self.since_ms = around.now_ms()
        self.octets_received = 0
        self.octets_sent = 0
        self.port = port
        self.secure = False
        self.handshaken = False  # TLS is up
        self.doubted = ""  # why we do not believe the peer's certificate
        self.certificate_name = ""
        self.tls_context: IOpenSSLContextFactory | None = None
        self.entered = True  # it has opened, or need not
        self.turn_share: TurnShare | None = None  # its user's, once it has; its address's before
        self.early_left = 0  # octets that may come before it has
        self.entry_deadline_ms: int | None = None
        self.patience: Patience | None = None  # until it has entered, while it is heard
        self._not_before_ms = 0  # its time is not over, whatever its deadline
        self._held_since_ms: int | None = None
        self._closing = False
        self._lost = False
        self._ends = False  # the transport is gone, and the face is to hear of it
        self._left = False  # nothing is held for it any more
        self._defective = False
        self._reading_paused = False
        self._reading = Reading()
        self._unread: list[bytes] = []  # came in a turn of which its user had had enough
        self._alarm = Alarm(around.later, around.now_ms, self._deadline)
        self._layer: Layer | None = None  # TLS, once that has begun
        self.oversized = False  # its peer sent too much before TLS was up
        self.face: Face = around.first_face(self)

    # What Twisted calls.

    def connectionMade(self) -> None:
        """Begin."""
        WORK.units += BEGUN
        self._has_cost(BEGUN)
        self.around.turns.attach(self.face, self)
        self.transport.setTcpNoDelay(True)
        keep_alive(self.transport)
        self.transport.registerProducer(self, True)
        self.around.begin(self)
        self.flush(self.around.now_ms())

    def dataReceived(self, data: bytes) -> None:
        """Octets from the peer, after TLS."""
        self.around.counts.octets_received += len(data)
        self.octets_received += len(data)
        if self._closing:
            return
        if not self.entered:
            self.on_step()
            self.early_left -= len(data)
            if self.early_left < 0:
                self.around.counts.handshake_failures["size"] += 1
                self.abort()
                return
        if self._unread or self._has_had_enough():
            self._put_off(data)
        else:
            self._read(data)

    def _has_had_enough(self) -> bool:
        """Whether the connections of its user have had their share of this turn."""
        share = self.turn_share
        return share is not None and share.used_up(self.around.counts.turns)

    def _put_off(self, data: bytes) -> None:
        """What has come is for the next turn; nothing more is read till then."""
        self._unread.append(data)
        if not self._reading_paused:
            self._reading_paused = True
            self.transport.pauseProducing()
        self.around.turns.touch(self.face)

    def _read_put_off(self) -> None:
        if self._unread and not self._closing:
            data = b"".join(self._unread)
            self._unread.clear()
            self._read(data)

    def _has_cost(self, units: int) -> None:
        share = self.turn_share
        if share is not None:
            share.use(self.around.counts.turns, units)

    def _read(self, data: bytes) -> None:
        face = self.face
        turns = self.around.turns
        began_ms = self.around.now_ms()
        share = self.turn_share
        turns.schedule()  # what comes now, comes at the beginning of a turn
        units = WORK.units
        WORK.units += READING + len(data) // OCTETS_READ
        try:
            face.receive_data(data, began_ms)
        except Exception as error:
            self._broken(error)
        units = WORK.units - units
        if self.entered or self._layer is None:
            self._reading.has_cost(units, self.transport)
        self._has_cost(units)
        if share is not None and share is not self.turn_share:
            share.use(turns.number, units)  # it has opened, and asked for all that besides
        turns.stalls.over(began_ms, "read", self)
        turns.touch(self.face)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The transport is gone, whoever ended it."""
        if self._lost:
            return
        self._lost = True
        self._ends = True
        self._alarm.stop()
        self.around.vacate(self)
        its_turn = self._layer is not None  # TLS has waited for it
        if self._layer is not None:
            self._layer.unregisterProducer()  # without TLS the transport does so of itself
            self._layer = None
        if not its_turn and self._has_had_enough():
            self.around.turns.touch(self.face)
        else:
            self._end()

    def _end(self) -> None:
        """What has come is over."""
        self._ends = False
        self._read_put_off()
        began_ms = self.around.now_ms()
        units = WORK.units
        WORK.units += ENDED
        try:
            self.face.receive_eof(began_ms)
        except Exception as error:
            self._broken(error)
        self._has_cost(WORK.units - units)
        self.around.turns.stalls.over(began_ms, "read", self)
        self._leave()

    def _leave(self) -> None:
        """The connection holds nothing any more, once all that came by it has been done."""
        if self.face.behind and not self._defective:
            self.around.turns.touch(self.face)
            return
        self._left = True
        self.around.turns.detach(self.face)
        self.around.gone(self)
        self.face = SilentFace()  # which knows nothing of the pump: neither is held by the other

    def _go_on(self) -> None:
        """The peer is gone, but not all that it sent has been done."""
        units = WORK.units
        try:
            self.face.data_to_send()
        except Exception as error:
            self._broken(error)
        self._has_cost(WORK.units - units)
        self._leave()

    def handshakeCompleted(self) -> None:
        """TLS is up: the peer's certificate, if it showed one, was verified."""
        self.handshaken = True
        self.certificate_name = certificate_name(self.transport)

    def on_step(self) -> None:
        """We have got to something that the peer has sent before it has entered."""
        if self.patience is not None and self.transport.connected:
            now_ms = self.around.now_ms()
            self.patience.step(now_ms, *last_ms(self.transport, now_ms))

    @property
    def steps(self) -> int:
        """How many of these."""
        return 0 if self.patience is None else self.patience.steps

    @property
    def behind(self) -> bool:
        """Something has come that we have not got to."""
        opening = self._layer is not None and self._layer.behind
        return opening or len(self._unread) > 0 or is_unread(self.transport)

    def on_oversized(self) -> None:
        """The peer sent too much before TLS was up: the transport is cut off."""
        self.oversized = True

    def on_doubted(self, problem: str) -> None:
        """The peer's certificate is not believed: the handshake fails."""
        self.doubted = problem

    def pauseProducing(self) -> None:
        """The transport's buffer is above its high-water mark."""
        self._write_blocked(True)

    def resumeProducing(self) -> None:
        """The transport's buffer has drained."""
        self._write_blocked(False)
        self.around.turns.touch(self.face)

    def stopProducing(self) -> None:
        """The transport takes nothing more; `connectionLost` follows."""

    # What the gateway calls.

    def waits(self) -> bool:
        """It has work left, and its user has had enough of this turn."""
        left = self._ends or len(self._unread) > 0 or self.face.behind
        return left and self._has_had_enough()

    def comes_after(self) -> bool:
        """Its user asks for so much that others are flushed first."""
        share = self.turn_share
        return share is not None and share.greedy(self.around.counts.turns)

    def flush(self, now_ms: int) -> None:
        """Write what the face has; then obey its wishes."""
        if self._lost:
            if self._ends:
                self._end()
            elif not self._left:
                self._go_on()
            return
        self._read_put_off()
        if self._closing:
            return
        face = self.face
        units = WORK.units
        try:
            data = face.data_to_send()
            closed, paused, deadline_ms = face.closed, face.reading_paused, face.next_deadline()
        except Exception as error:
            self._broken(error)
            return
        self._has_cost(WORK.units - units)
        if data:
            self.around.counts.octets_sent += len(data)
            self.octets_sent += len(data)
            self.transport.write(data)
        if closed:
            self.close()
            return
        if paused != self._reading_paused:
            self._reading_paused = paused
            if paused:
                self.transport.pauseProducing()
            else:
                self.transport.resumeProducing()
        entry_ms = self._entry_ms()
        if entry_ms is not None:
            deadline_ms = entry_ms if deadline_ms is None else min(deadline_ms, entry_ms)
            deadline_ms = max(deadline_ms, self._not_before_ms)
        self._alarm.set(deadline_ms)

    def hold_entry(self, held: bool) -> None:
        """It waits for us to let it in, or does not any more: that is not its own time."""
        now_ms = self.around.now_ms()
        if held and self._held_since_ms is None:
            self._held_since_ms = now_ms
        elif self._held_since_ms is not None and not held:
            if self.entry_deadline_ms is not None:
                self.entry_deadline_ms += now_ms - self._held_since_ms
            if self.patience is not None:
                self.patience.wait(now_ms - self._held_since_ms)
            self._held_since_ms = None

    @property
    def held(self) -> bool:
        """It waits for us to let it in."""
        return self._held_since_ms is not None

    def _entry_ms(self) -> int | None:
        """When it has to have opened."""
        return None if self.entered or self.held else self.entry_deadline_ms

    def who(self) -> str:
        """Whose connection it is, and what it has been at."""
        where = endpoint(self.address, self.port)
        return f"connection {self.connection_id} from {where}, {self.face.doing()}"

    def become(self, face: Face, data: bytes) -> None:
        """Replace the face; `data` is what it is to read first."""
        self.around.turns.detach(self.face)
        self.face = face
        self.around.turns.attach(face, self)
        self._read(data)

    def begin_tls(self, layer: Layer, rest: bytes) -> None:
        """Everything from here on is TLS, beginning with `rest`, which was read already."""
        self.secure = True
        self._layer = layer
        if not self.entered:
            self._reading.begin_little(self.transport)
        if rest:
            layer.dataReceived(rest)  # what we read too far belongs to it

    def close(self) -> None:
        """Flush, then close; a peer that does neither read nor close is cut off."""
        if self._closing or self._lost:
            return
        self._closing = True
        self._resume_reading()
        self.transport.unregisterProducer()
        if self.secure:
            self.transport.loseConnection()
            self._alarm.set(self.around.now_ms() + FLUSH_MS)
        else:
            self.transport.loseWriteConnection()
            self._alarm.set(self.around.now_ms() + LINGER_MS)

    def abort(self) -> None:
        """Cut the connection off."""
        if not self._lost:
            self._closing = True
            self.transport.abortConnection()

    def _resume_reading(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            self.transport.resumeProducing()

    def _deadline(self, now_ms: int) -> None:
        if self._closing:
            self.abort()
            return
        if not self.entered and self._is_patient(now_ms):
            return
        try:
            heard = heard_ms(self.transport, now_ms, paused=self._reading_paused)
            if heard is not None:
                self.face.heard(heard)
            self.face.handle_deadline(now_ms)
        except Exception as error:
            self._broken(error)
        self.around.turns.stalls.over(now_ms, "deadline", self)
        entry_ms = self._entry_ms()
        if entry_ms is not None and now_ms >= entry_ms:
            self.abort()  # its faces were patient with each of its steps
        self.around.turns.touch(self.face)

    def _is_patient(self, now_ms: int) -> bool:
        """Whether a deadline has come, but the time before it was not all the peer's."""
        if self.patience is None or self.held or not self.transport.connected:
            return False
        sent_ms = last_ms(self.transport, now_ms)[0]
        self._not_before_ms = self.patience.until(now_ms, sent_ms, behind=self.behind)
        if self._not_before_ms <= now_ms:
            return False
        if self.entry_deadline_ms is not None:
            self.entry_deadline_ms = self._not_before_ms + LINGER_MS
        self._alarm.set(self._not_before_ms)
        return True

    def _write_blocked(self, blocked: bool) -> None:
        if self._closing or self._lost:
            return
        try:
            self.face.write_blocked(blocked)
        except Exception as error:
            self._broken(error)

    def _broken(self, error: Exception) -> None:
        """A defect: this connection cannot go on, all others can."""
        self.around.turns.broke(error)
        self._defective = True
        self.log.failure(
            "connection {connection} from {endpoint} broke",
            connection=self.connection_id,
            endpoint=endpoint(self.address, self.port),
        )
        self.abort()


def certificate_name(transport: object) -> str:
    """The name in the peer's verified certificate; "" without one."""
    certificate = getattr(transport, "getPeerCertificate", lambda: None)()
    return "" if certificate is None else name_in(certificate)

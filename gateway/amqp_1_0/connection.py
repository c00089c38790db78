"""One AMQP 1.0 connection, without transport or clock: octets in, events out, octets out.

Both roles. The driver calls `receive_data`, `receive_eof`, `data_to_send`, `next_deadline`,
`handle_deadline`, `closed`, and the `send_*` of this class, `Session` and `Link`. Headers, SASL
framing, open's arithmetic and idle-time-outs are done by it (2.2 - 2.4, 5.3). Events come
in the order of the octets; behind a `Violation` there are only deliveries that nobody takes. The
protocol runs ahead of the driver, so what the driver sends on an endpoint that has ended meanwhile
is dropped without a word: only a defect of the gateway raises `LocalProtocolError`.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.amqp_1_0 import _spec, frames, states
from gateway.amqp_1_0._spec import (
    Begin,
    Close,
    Error,
    Open,
)
from gateway.amqp_1_0.carrier import Carrier
from gateway.amqp_1_0.channels import Channels
from gateway.amqp_1_0.errors import (
    ConnectionFieldError,
    ConnectionLimitError,
    ConnectionScopeError,
    ConnectionStateError,
    FrameDecodeError,
    FramingError,
    HandshakeTimeoutError,
    IdleTimeoutError,
    SaslError,
    describe,
)
from gateway.amqp_1_0.events import (
    Authenticated,
    CloseReceived,
    ConnectionLost,
    Event,
    OpenReceived,
    Violation,
)
from gateway.amqp_1_0.inbox import Inbox
from gateway.amqp_1_0.layers import Layers, Phase
from gateway.amqp_1_0.primitives import fields
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.states import ConnectionInput, ConnectionState
from gateway.amqp_1_0.timers import REMOTE_IDLE_MIN_MS, Timers
from gateway.errors import DecodeError, LimitError
from gateway.wire.accounts import Account
from gateway.wire.buffers import Reader, Writer
from gateway.wire.limits import Limits
from gateway.wire.machine import Machine
from gateway.wire.sasl import ClientMechanism, MechanismMaker, StepKind
from gateway.wire.work import ARGUMENT, READ, VERB, WORK

# States that every frame asks about: as plain numbers they compare at no cost.
_OPENED: Final = int(ConnectionState.OPENED)
_CLOSE_RCVD: Final = int(ConnectionState.CLOSE_RCVD)
_CLOSE_SENT: Final = int(ConnectionState.CLOSE_SENT)
_DISCARDING: Final = int(ConnectionState.DISCARDING)
_END: Final = int(ConnectionState.END)

READ_ALL: Final = 1 << 62


@final
class Connection:
    """One connection; `server` tells which side of it we are.

    Args:
        mechanisms: server: SASL mechanisms to offer, best first.
        maker: server: makes them; `None`: they are those of one message.
        sasl_required: server: a client that comes without SASL is sent away.
        able: client: SASL mechanisms to choose from, best first; none: no SASL layer.
        hostname: client: for sasl-init.
        strict: end a session for what was in flight on a link that we detached with an error
        (2.6.5), and close with an error for what comes behind the peer's close (2.4.3).

    Attributes:
        sasl_hostname: server: the hostname of the client's sasl-init.
        open: the peer's open, once it has come.
        carrier: what its sessions share.
        account: what is kept on the peer's behalf.
        read_max: units of work, after which what came is taken apart no further: there is `more`,
            for the driver to ask for when it has done with the events.
    """

    def __init__(
        self,
        *,
        server: bool,
        container_id: str,
        limits: Limits,
        now_ms: int,
        mechanisms: list[str] | None = None,
        maker: MechanismMaker | None = None,
        sasl_required: bool = False,
        able: list[ClientMechanism] | None = None,
        hostname: str | None = None,
        strict: bool = False,
    ) -> None:
        self.server = server
        self.container_id = container_id
        self.limits = limits
        self.strict = strict
        self.writer = Writer()
        self.machine = Machine(states.CONNECTION, ConnectionState.START)
        self.open: Open | None = None
        # Little, for who is not known yet.
        self.account = Account(limits.login_octets_max if server else limits.kept_max)
        self.carrier = Carrier(
            self.writer, self.machine, self, limits=limits, account=self.account, strict=strict
        )
        self._owed: list[Event] = []
        self._now_ms = now_ms
        self._pos = 0
        self._frames: int64 = 0  # of one read
        self._inbox = Inbox()
        self.read_max: int64 = READ_ALL
        self.more = False
        self._read_end: int64 = 0
        self._left: int64 = VERB  # of what the frames of one read may look at deliveries
        self._part = 0  # octets of a frame of which not all have come, on the account
        self._timers = Timers(now_ms, limits.handshake_timeout_ms, limits.idle_timeout_ms)
        self._layers = Layers(
            self.writer,
            server=server,
            mechanisms=mechanisms or [],
            maker=maker,
            sasl_required=sasl_required,
            able=able or [],
            hostname=hostname,
        )
        self._open_out: Open | None = None
        self._channel_max = min(limits.channel_max, limits.sessions_max - 1, 0xFFFF)
        self.channels = Channels(self.carrier)
        if not server and self._layers.start():
            self.machine.send(ConnectionInput.SEND_HEADER)

    @property
    def state(self) -> int:
        """The `ConnectionState`."""
        return self.machine.state

    @property
    def closed(self) -> bool:
        """Nothing more is read or written, once `data_to_send` is empty."""
        return self.machine.state == _END

    @property
    def can_send(self) -> bool:
        """Our open has been sent and our close has not."""
        return self.carrier.can_send

    @property
    def sasl_hostname(self) -> str | None:
        """Server: the hostname of the client's sasl-init."""
        return self._layers.hostname

    @property
    def sasl_mechanism(self) -> str:
        """The mechanism that the client chose; "" without SASL, or before."""
        return self._layers.mechanism

    @property
    def sasl_claimed(self) -> str:
        """Server: who a client said that it is whose login failed before anybody was asked."""
        return self._layers.claimed

    @property
    def sasl_offered(self) -> list[str]:
        """Client: the mechanisms that the server offers."""
        return self._layers.offered

    # What the driver does.

    def send_verdict(self, granted: bool, now_ms: int) -> StepKind:
        """Server: the answer to `AuthenticationRequested`; what comes of it.

        `CHALLENGE`: the mechanism has more to ask, and another request follows. What the client
        sent in the meantime is read by the next `receive_data`, which may be empty.
        """
        layers = self._layers
        if layers.phase is not Phase.VERDICT or self.closed:
            return StepKind.CHALLENGE
        self._timers.go_on(now_ms)
        step = layers.resolve(granted)
        if step == StepKind.DENIED:
            self.machine.receive(ConnectionInput.LOST)
        return step

    def send_derived(self) -> None:
        """Client: the derivation of `DerivationRequested` has been run. Then as `send_verdict`."""
        if self._layers.phase is Phase.VERDICT and not self.closed:
            self._layers.derived()

    def send_open(
        self,
        *,
        hostname: str | None = None,
        offered_capabilities: list[str] | None = None,
        desired_capabilities: list[str] | None = None,
        properties: Fields | None = None,
    ) -> None:
        """Open our half; a client's waits until headers and SASL allow it."""
        idle_ms = self.limits.idle_timeout_ms
        self._open_out = Open(
            container_id=self.container_id,
            hostname=hostname,
            max_frame_size=self.limits.max_frame_size,
            channel_max=self._channel_max,
            # Half of what we really wait for, against spurious time-outs (2.4.5).
            idle_time_out=idle_ms // 2 if idle_ms else None,
            offered_capabilities=offered_capabilities,
            desired_capabilities=desired_capabilities,
            properties=properties,
        )
        self._write_open()

    def _write_open(self) -> None:
        if self._open_out is None or not self.machine.allows(ConnectionInput.SEND_OPEN):
            return
        performative = self._open_out
        self._open_out = None
        frames.write_frame(self.writer, 0, performative, self.carrier.peer_max_frame_size)
        self.machine.send(ConnectionInput.SEND_OPEN)
        self._note_opened()

    def send_close(self, *, error: Error | None = None) -> None:
        """Close our half: nothing is sent after it."""
        if not self.machine.allows(ConnectionInput.SEND_CLOSE):
            return
        self.channels.flush()
        self._write_close(error)
        self.machine.send(ConnectionInput.SEND_CLOSE)
        self._timers.closing(self._now_ms)
        self.channels.lose(self._owed)

    def session(self) -> Session:
        """A new local session, to be opened by its `send_begin`."""
        return Session(self.carrier, self.channels)

    @property
    def can_begin(self) -> bool:
        """The peer takes one more session; before its open has come, only one at all."""
        return self.can_send and self.channels.can_take

    def heard(self, at_ms: int) -> None:
        """The driver knows that the peer was not silent then, read or not."""
        self._timers.heard(at_ms)

    def sessions(self) -> list[Session]:
        """Those that the peer has begun and not ended."""
        return self.channels.sessions()

    # The driver surface.

    def receive_data(self, data: bytes, now_ms: int) -> list[Event]:
        """Take octets; what they mean, in their order."""
        self._now_ms = now_ms
        if data:
            self._timers.heard(now_ms)  # also octets of a frame that takes long: it is no silence
        events = self._take_owed()
        octets = self._inbox.take(data)
        if octets:
            self._read_all(octets, events)
        part = self._inbox.held()
        if part != self._part:
            self.account.note(part - self._part)
            self._part = part
        return events

    def _read_all(self, octets: bytes, events: list[Event]) -> None:
        reader = Reader(octets)
        self.carrier.end = WORK.units + self._left
        self._left = VERB
        self._read_end = WORK.units + self.read_max
        self.more = False
        self._pos = 0
        self._frames = 0
        needed = 0
        while needed == 0 and not self.closed:
            try:
                needed = self._read(octets, reader, events)
            except ConnectionScopeError as error:
                self._fail(error, events)
            except LimitError as limit:
                self._fail(ConnectionLimitError(str(limit)), events)
            except DecodeError as malformed:
                self._fail(FrameDecodeError(str(malformed)), events)
        WORK.units += READ * self._frames
        if not self.closed:
            self._inbox.keep(octets, self._pos, needed)
            if (
                not self.more
                and self._inbox.held() > self.limits.max_frame_size + frames.HEADER_SIZE
            ):
                self._fail(SaslError("more than a frame before the outcome"), events)

    def _read(self, octets: bytes, reader: Reader, events: list[Event]) -> int:
        """Read what is whole; how many octets the next piece needs (1: any number)."""
        layers = self._layers
        size = len(octets)
        while layers.phase is not Phase.VERDICT and not self.closed:
            pos = self._pos
            if size - pos < frames.HEADER_SIZE:
                return frames.HEADER_SIZE
            phase = layers.phase
            if phase is not Phase.FRAMES and phase is not Phase.SASL:
                self._pos = pos + frames.HEADER_SIZE
                self._receive_header(octets[pos : self._pos])
                continue
            needed = frames.frame_size(octets, pos, self._frame_limit())
            if size - pos < needed:
                return needed
            if WORK.units > self._read_end:
                self.more = True
                self._left = max(self.carrier.end - WORK.units, 0)
                break
            reader.pos = pos + 4
            reader.end = pos + needed
            reader.elements = 0
            reader.keys = 0
            self._pos = pos + needed
            self._frames += 1
            self._receive_frame(reader, events)
            WORK.units += ARGUMENT * reader.elements
            self._timers.received(self._now_ms)
        return 1

    def receive_eof(self) -> list[Event]:
        """The peer sends no more, or the transport is gone."""
        events = self._take_owed()
        self._inbox = Inbox()  # what has come of a frame will not be whole
        self.account.give(self._part)
        self._part = 0
        told = self.closed or self.machine.state == _DISCARDING
        if not self.closed:
            self.machine.receive(ConnectionInput.LOST)
            self.channels.lose()
        self.channels.forget()
        self.carrier.lose()
        return events if told else [ConnectionLost()]

    def drop(self) -> None:
        """Close the transport without a close, behind what there is to send."""
        self.channels.flush()
        self.receive_eof()

    def _take_owed(self) -> list[Event]:
        """What happened while the driver sent: a local frame that the peer cannot take."""
        owed = self._owed
        self._owed = []
        return owed

    @property
    def unfinished(self) -> int:
        """How many sessions go on with what fits no flush, with each `data_to_send`."""
        return len(self.carrier.unfinished)

    def on_full(self, full: bool) -> None:
        """The transport takes no more for now, or does again: what is unfinished waits for it."""
        self.carrier.full = full

    def data_to_send(self) -> bytes:
        """Octets to write, given once; there are more while it is `unfinished`."""
        if self.carrier.unfinished and not self.carrier.full:
            self.channels.go_on()
        self.channels.flush()
        if self.writer.size() == 0:
            return b""
        octets = self.writer.take()
        self._timers.sent(self._now_ms)
        return octets

    def next_deadline(self) -> int | None:
        """When `handle_deadline` is to be called, if nothing happens before."""
        return None if self.closed else self._timers.next_deadline()

    def handle_deadline(self, now_ms: int) -> list[Event]:
        """Keep the connection alive, or give it up."""
        self._now_ms = now_ms
        events = self._take_owed()
        if self.closed:
            return events
        if self._timers.given_up(now_ms):
            return events + self.receive_eof()
        if self._timers.overdue(now_ms):
            if self.open is None:
                self._fail(HandshakeTimeoutError("the handshake took too long"), events)
            else:
                self._fail(IdleTimeoutError("nothing came for too long"), events)
        elif self._timers.must_speak(now_ms) and self.can_send:
            frames.write_empty_frame(self.writer)
        return events

    # Frames.

    def _frame_limit(self) -> int:
        if self._layers.phase is Phase.SASL and not self._layers.long_tokens:
            return _spec.MIN_MAX_FRAME_SIZE
        return max(self.limits.max_frame_size, _spec.MIN_MAX_FRAME_SIZE)

    def _receive_header(self, header: bytes) -> None:
        self._layers.receive_header(header)
        if self._layers.phase is Phase.FRAMES:
            self.machine.receive(ConnectionInput.RECV_HEADER)
            if self.server:
                self.machine.send(ConnectionInput.SEND_HEADER)

    def _receive_sasl(self, reader: Reader, events: list[Event]) -> None:
        event = self._layers.receive_sasl(reader)
        if event is None:
            return
        events.append(event)
        if isinstance(event, Authenticated):
            self.machine.send(ConnectionInput.SEND_HEADER)
            self._write_open()
        elif self.server:
            self._timers.hold(self._now_ms)

    def _receive_frame(self, reader: Reader, events: list[Event]) -> None:
        if self._layers.phase is Phase.SASL:
            frames.enter_frame(reader, frames.SASL_FRAME)
            self._receive_sasl(reader, events)
            return
        channel = frames.enter_frame(reader, frames.AMQP_FRAME)
        if channel > self._channel_max:
            raise FramingError(f"channel {channel} where {self._channel_max} is the highest")
        if reader.remaining() == 0:
            return
        code = fields.read_descriptor(reader, _spec.SYMBOLS)
        if code < _spec.OPEN or code > _spec.CLOSE:
            raise FrameDecodeError("a frame body that is no performative")
        state = self.machine.state
        if state == _CLOSE_RCVD and not self.strict:
            return  # rhea sends a detach behind its close
        if state == _DISCARDING:
            if code == _spec.CLOSE:
                self.machine.receive(ConnectionInput.RECV_CLOSE)
            elif code == _spec.TRANSFER:
                self.channels.receive_behind(channel, reader, events)
            return
        if code == _spec.OPEN:
            self._receive_open(Open.decode(reader), channel, events)
        elif code == _spec.CLOSE:
            self._receive_close(Close.decode(reader), events)
        elif self.open is None or (state != _OPENED and state in _NOTHING_IN):
            raise ConnectionStateError("a frame before open or after close")
        elif code == _spec.BEGIN:
            self.channels.receive_begin(Begin.decode(reader), channel, events)
        else:
            self.channels.receive_frame(code, channel, reader, events)
        if code != _spec.TRANSFER and reader.remaining() and state != _CLOSE_SENT:
            raise FrameDecodeError("octets behind a performative")

    def _receive_open(self, performative: Open, channel: int, events: list[Event]) -> None:
        if not self.machine.receive(ConnectionInput.RECV_OPEN):
            raise ConnectionStateError("an open out of turn")
        if channel != 0:
            raise FramingError("an open that is not on channel 0")
        # A server's driver has all of it by the event; what is kept is small.
        self.open = _kept(performative) if self.server else performative
        self.account.limit = self.limits.kept_max
        size = performative.max_frame_size
        if size is None:
            size = 0xFFFFFFFF
        self.carrier.peer_max_frame_size = max(size, _spec.MIN_MAX_FRAME_SIZE)
        channel_max = performative.channel_max
        self.channels.peer_channel_max = 0xFFFF if channel_max is None else channel_max
        idle = performative.idle_time_out
        if idle is not None and 0 < idle < REMOTE_IDLE_MIN_MS:
            raise ConnectionFieldError(f"an idle-time-out of {idle} ms cannot be kept")
        self._note_opened()
        events.append(OpenReceived(performative))

    def _note_opened(self) -> None:
        performative = self.open
        if self.machine.state == _OPENED and performative is not None:
            self._timers.opened(performative.idle_time_out or 0)

    def _receive_close(self, close: Close, events: list[Event]) -> None:
        if not self.machine.receive(ConnectionInput.RECV_CLOSE):
            raise ConnectionStateError("a close out of turn")
        events.append(CloseReceived(close.error))
        self.channels.lose()

    # What sessions do.

    def fail(self, error: ConnectionScopeError) -> None:
        """A local frame, written while the driver sends, cannot be: the connection ends."""
        self._fail(error, self._owed)

    # The end.

    def _write_close(self, error: Error | None) -> None:
        frames.write_frame(self.writer, 0, Close(error=error), self.carrier.peer_max_frame_size)

    def _fail(self, error: ConnectionScopeError, events: list[Event]) -> None:
        """Say what went wrong, as far as the handshake allows, and stop."""
        state = self.machine.state
        if state == _DISCARDING:
            self.machine.receive(ConnectionInput.LOST)
            return
        if state in (ConnectionState.HDR_EXCH, ConnectionState.OPEN_RCVD):
            self.send_open()
        if self.can_send:
            self.channels.flush()
            self._write_close(Error(condition=error.condition, description=describe(error)))
            self._timers.closing(self._now_ms)
        self.machine.receive(ConnectionInput.FAIL)
        if self.machine.state != _DISCARDING:
            self.machine.receive(ConnectionInput.LOST)
        self.channels.lose(events)
        events.append(Violation(error))


def _kept(performative: Open) -> Open:
    """What an open says to the protocol, without what it says to the driver."""
    return Open(container_id="", idle_time_out=performative.idle_time_out)


_NOTHING_IN: Final = (
    ConnectionState.CLOSE_RCVD,
    ConnectionState.BOTH_RCVD,
    ConnectionState.END,
)

"""A 0-10 connection without I/O, in either role (class connection).

The six-call surface: `receive_data`, `receive_eof`, `send_*`, `data_to_send`, `next_deadline` with
`handle_deadline`, `closed`. The protocol header, tuning, heartbeats and the closing handshake are
done by it, and by `channels` the way of frames to sessions; who may connect, and to what, is asked
through events.

A peer that breaks the protocol gets connection.close with the code that the specification names,
has `CLOSE_TIMEOUT_MS` for its close-ok, and nothing else that it sends meanwhile is looked at.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.channels import Channels
from gateway.amqp_0_10.controls import RECEIVED, ControlReader, named
from gateway.amqp_0_10.errors import CloseError, FramingError, TransportError
from gateway.amqp_0_10.events import (
    ConnectionClosed,
    ControlReceived,
    Event,
    HeaderReceived,
    Violation,
)
from gateway.amqp_0_10.frames import CONTROL, PROTOCOL_HEADER, FrameParser, FrameWriter
from gateway.amqp_0_10.heartbeat import Heartbeat
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import (
    CLIENT_TABLE,
    SERVER_TABLE,
    ConnectionInput,
    ConnectionState,
    Role,
)
from gateway.amqp_0_10.tuning import Tuning
from gateway.amqp_0_10.types import Control, FieldTable
from gateway.errors import LocalProtocolError
from gateway.wire.accounts import Account
from gateway.wire.buffers import FLUSH_OCTETS
from gateway.wire.limits import Limits
from gateway.wire.machine import Machine
from gateway.wire.work import READ, WORK

# States that every frame asks about: as plain numbers they compare at no cost.
_HEADER_SENT: Final = int(ConnectionState.HEADER_SENT)
_OPEN: Final = int(ConnectionState.OPEN)
_CLOSED: Final = int(ConnectionState.CLOSED)

CLOSE_TIMEOUT_MS: Final = 2_000
REPLY_TEXT_MAX: Final = 255


@final
class Connection:
    """One connection.

    Attributes:
        channels: its sessions.
        tuning: what was negotiated.
        account: what is kept on the peer's behalf.
    """

    __slots__ = (
        "_behind",
        "_close_text",
        "_code",
        "_controls",
        "_deadline_ms",
        "_deaf",
        "_frames",
        "_full",
        "_header",
        "_heartbeat",
        "_held_ms",
        "_kept",
        "_limits",
        "_machine",
        "_parser",
        "_part",
        "_role",
        "_violated",
        "account",
        "channels",
        "tuning",
    )

    def __init__(self, role: Role, limits: Limits, now_ms: int) -> None:
        self._role = role
        self._limits = limits
        table = SERVER_TABLE if role == Role.SERVER else CLIENT_TABLE
        self._machine = Machine(table, ConnectionState.NEW)
        # Little, for who is not known yet.
        known = role == Role.CLIENT
        self.account = Account(limits.kept_max if known else limits.login_octets_max)
        self._parser = FrameParser()
        self._part = 0  # octets of a frame of which not all have come, on the account
        self._frames = FrameWriter(FLUSH_OCTETS)
        self._full = False
        self._kept = 0  # octets of what is unfinished, on the account
        self._header = b""
        self._heartbeat = Heartbeat(now_ms)
        # Handshake until the connection is open, then close-ok; 0 is none.
        self._deadline_ms = now_ms + limits.handshake_timeout_ms
        self._held_ms = 0  # what is left of the handshake's time while it stands still
        self._controls = ControlReader(role, limits, self.account)
        # The peer's octets are out of step: nothing more can be found among them.
        self._deaf = False
        self._violated = False
        self._code = 0
        self._close_text = ""
        self.channels = Channels(role, limits, self._frames, self.account)
        self._behind: list[bytes] = []  # octets that wait for the answer to an attach
        self.tuning = Tuning(role, limits)
        if role == Role.CLIENT:
            self._machine.send(ConnectionInput.SEND_HEADER)
            self._frames.out.raw(PROTOCOL_HEADER)

    @property
    def closed(self) -> bool:
        """The transport can be closed when what `data_to_send` gives has been written."""
        return self._machine.state == _CLOSED

    @property
    def open(self) -> bool:
        """Negotiated, and not closing."""
        return self._machine.state == _OPEN

    # The driver.

    def receive_data(self, data: bytes, now_ms: int) -> list[Event]:
        """Octets from the peer, the protocol header included; what they mean, in order.

        Does not raise: behind a `Violation` there are only transfers that nobody takes.
        """
        events: list[Event] = []
        if self.closed or self._deaf:
            return events
        self._heartbeat.received(now_ms)
        if self.channels.standing is not None:
            self._behind.append(data)
            if self.standing:
                return events
            data = b"".join(self._behind)
            self.channels.standing = None
            self._behind = []
        try:
            if self._machine.state <= _HEADER_SENT:
                data = self._receive_header(data, events)
            self._parser.feed(data)
            while not self._receive_frames(events, now_ms):
                pass
            self.channels.receive_no_more(events)
        except TransportError as error:
            self._violated = True
            events.append(Violation(error))
            self.drop()
        part = self._parser.held()  # of one frame at most, which has to be read to be answered
        if self._behind:
            part += len(self._behind[0])
        if part != self._part:
            self.account.note(part - self._part)
            self._part = part
        return events

    def receive_eof(self) -> list[Event]:
        """The peer's octets have ended, or the transport is lost."""
        events: list[Event] = []
        self.channels.receive_end(events)
        self._drop(0, "the transport ended", True, events)
        self._forget()
        return events

    @property
    def standing(self) -> bool:
        """What comes waits for the answer to an attach."""
        return not self.channels.answered()

    @property
    def goes_on(self) -> bool:
        """That has been answered: what waits comes with the next `receive_data`."""
        return self.channels.standing is not None and self.channels.answered()

    @property
    def unfinished(self) -> bool:
        """Large messages go on with each `data_to_send`."""
        return len(self._frames.unfinished.channels) > 0

    @property
    def unread_behind(self) -> int:
        """Octets of answers that wait: large ones, and those behind large messages."""
        return self._frames.unfinished.behind

    def on_full(self, full: bool) -> None:
        """The transport takes no more for now, or does again: what is unfinished waits for it."""
        self._full = full

    def data_to_send(self) -> bytes:
        """Octets for the peer, then forgotten; there are more while it is `unfinished`."""
        frames = self._frames
        if frames.unfinished.channels and not self._full:
            frames.go_on()
        if self.open and self.channels.flush():
            self.channels.free()
        octets = frames.take()
        kept = frames.unfinished.kept
        if kept != self._kept:
            self.account.note(kept - self._kept)
            self._kept = kept
        if octets:
            self._heartbeat.sent()
        return octets

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""
        if self.closed:
            return None
        beat_ms = self._heartbeat.next_ms()
        if self._deadline_ms and (not beat_ms or self._deadline_ms < beat_ms):
            return self._deadline_ms
        return beat_ms or None

    def handle_deadline(self, now_ms: int) -> list[Event]:
        """The time has come, or has not: then nothing happens."""
        events: list[Event] = []
        if self.closed:
            return events
        if self._deadline_ms and now_ms >= self._deadline_ms:
            closing = self._machine.state == ConnectionState.CLOSE_SENT
            text = self._close_text if closing else "the handshake took too long"
            self._drop(self._code, text, False, events)
        elif self._heartbeat.silent(now_ms):
            self._drop(0, "no heartbeat", False, events)
        elif self._heartbeat.due(now_ms):
            self._frames.control(0, spec.ConnectionHeartbeat())
        return events

    def hold(self, now_ms: int) -> None:
        """In the handshake the peer waits for us: that is not its own time."""
        if self._deadline_ms:
            self._held_ms = self._deadline_ms - now_ms
            self._deadline_ms = 0

    def go_on(self, now_ms: int) -> None:
        """It does not wait any more."""
        if self._held_ms and not self._deadline_ms:
            self._deadline_ms = now_ms + self._held_ms
        self._held_ms = 0

    def heard(self, at_ms: int) -> None:
        """The driver knows that the peer was not silent then, read or not."""
        self._heartbeat.heard(at_ms)

    # What a server's face calls. Once the connection is closing, nothing comes of it.

    def send_start(
        self, server_properties: FieldTable, mechanisms: list[str], locales: list[str]
    ) -> None:
        """Answer `HeaderReceived`."""
        start = spec.ConnectionStart(
            server_properties=server_properties, mechanisms=mechanisms, locales=locales
        )
        self._send(ConnectionInput.SEND_START, start)

    def send_secure(self, challenge: bytes) -> None:
        """Ask for more: secure-ok comes back."""
        self._send(ConnectionInput.SEND_SECURE, spec.ConnectionSecure(challenge=challenge))

    def send_tune(self) -> None:
        """The peer is authenticated: offer our limits; `Tuned` comes back."""
        self._send(ConnectionInput.SEND_TUNE, self.tuning.offer())

    def send_open_ok(self, known_hosts: list[str]) -> None:
        """The connection is open."""
        if self._send(ConnectionInput.SEND_OPEN_OK, spec.ConnectionOpenOk(known_hosts=known_hosts)):
            self._deadline_ms = 0
            self.account.limit = self._limits.kept_max

    def send_redirect(self, host: str, known_hosts: list[str]) -> None:
        """The peer is to connect elsewhere, and to close this connection."""
        redirect = spec.ConnectionRedirect(host=host, known_hosts=known_hosts)
        self._send(ConnectionInput.SEND_REDIRECT, redirect)

    # What a client's face calls.

    def send_start_ok(
        self, client_properties: FieldTable, mechanism: str, response: bytes, locale: str
    ) -> None:
        """Answer start: choose a mechanism."""
        start_ok = spec.ConnectionStartOk(
            client_properties=client_properties,
            mechanism=mechanism,
            response=response,
            locale=locale,
        )
        self._send(ConnectionInput.SEND_START_OK, start_ok)

    def send_secure_ok(self, response: bytes) -> None:
        """Answer secure."""
        self._send(ConnectionInput.SEND_SECURE_OK, spec.ConnectionSecureOk(response=response))

    def send_open(self, virtual_host: str, insist: bool = True) -> None:
        """Answer `Tuned`."""
        open_ = spec.ConnectionOpen(virtual_host=virtual_host, insist=insist)
        self._send(ConnectionInput.SEND_OPEN, open_)

    def attach(self, name: bytes, channel: int, force: bool = False) -> Session:
        """Ask for a session on a free channel; `Attached` or `SessionEnded` answers."""
        if not self.open:
            raise LocalProtocolError(f"channel {channel} cannot be attached")
        return self.channels.attach(name, channel, force)

    def attach_again(self, session: Session, channel: int, force: bool = False) -> None:
        """Ask for a session again whose state both ends may have kept."""
        self.channels.take_over(self.attach(session.name, channel, force), session)

    # What both call.

    def resume(self, fresh: Session, session: Session) -> None:
        """Answer `AttachReceived` of `fresh`: attached, and what is attached is `session`."""
        self.channels.take_over(fresh, session)
        session.accept()

    def lose(self, session: Session) -> None:
        """The transport is over, or the session's channel is; its state is kept."""
        self.channels.lose(session)

    def send_close(self, code: int, text: str, now_ms: int) -> None:
        """Close in good order; `ConnectionClosed` follows."""
        if self._machine.state < ConnectionState.CLOSE_SENT:
            self._start_closing(code, text, now_ms)

    def drop(self) -> None:
        """Close the transport without a word."""
        self._machine.receive(ConnectionInput.DROP)
        self._frames.silent = True

    # The rest.

    def _send(self, what: ConnectionInput, control: Control) -> bool:
        """Send a control of the life cycle; `False` if it is too late for that."""
        if self._machine.state >= ConnectionState.CLOSE_SENT:
            return False
        self._machine.send(what)
        self._frames.control(0, control)
        return True

    def _receive_header(self, data: bytes, events: list[Event]) -> bytes:
        """Take the protocol header; what is behind it."""
        missing = len(PROTOCOL_HEADER) - len(self._header)
        self._header += data[:missing]
        if len(self._header) < len(PROTOCOL_HEADER):
            return b""
        if self._header != PROTOCOL_HEADER:
            if self._role == Role.SERVER:
                self._frames.out.raw(PROTOCOL_HEADER)
            raise TransportError(f"protocol header {self._header.hex()}")
        self._machine.receive(ConnectionInput.RECV_HEADER)
        if self._role == Role.SERVER:
            self._frames.out.raw(PROTOCOL_HEADER)
            events.append(HeaderReceived())
        return data[missing:]

    def _receive_frames(self, events: list[Event], now_ms: int) -> bool:
        """Take all frames; `False` when a violation stopped that in the middle."""
        parser = self._parser
        machine = self._machine
        frames: int64 = 0
        try:
            while machine.state != _CLOSED:
                if not parser.next(self.tuning.max_frame_size):
                    break
                frames += 1
                if parser.type == CONTROL:
                    self._receive_control_frame(parser, events)
                    if self.channels.standing is not None:
                        self._behind.append(parser.take_rest())
                        break
                elif machine.state == _OPEN:
                    self.channels.receive_frame(parser, events)
                elif machine.state > _OPEN:
                    self.channels.receive_behind(parser, events)
                else:
                    raise FramingError("a command before the connection is open")
        except CloseError as error:
            if machine.state < ConnectionState.CLOSE_SENT:
                self._violated = True
                events.append(Violation(error))
                self._start_closing(error.code, str(error), now_ms)
            self._deaf = parser.broken
            return parser.broken
        finally:
            WORK.units += READ * frames
        return True

    def _receive_control_frame(self, parser: FrameParser, events: list[Event]) -> None:
        control = self._controls.read(parser)
        if control is None:
            return
        if control.CODE >> 8 == 1:
            self._receive_connection_control(control, events)
        elif self._machine.state == _OPEN:
            channel_max = self.tuning.channel_max
            self.channels.receive_control(parser.channel, channel_max, control, events)
        elif self._machine.state < _OPEN:
            raise FramingError("a session control before the connection is open")

    def _receive_connection_control(self, control: Control, events: list[Event]) -> None:
        received = RECEIVED.get(control.CODE)
        if received is None:
            return  # a heartbeat: its octets were what it is for
        state = self._machine.state
        if not self._machine.receive(received):
            if state >= ConnectionState.CLOSE_SENT:
                return
            expected = [named(each) for each in RECEIVED.values() if self._machine.allows(each)]
            said = f"{named(received)} where {' or '.join(expected) or 'nothing'} is expected"
            raise FramingError(said)
        if isinstance(control, spec.ConnectionTune):
            self._machine.send(ConnectionInput.SEND_TUNE_OK)
            tune_ok, tuned = self.tuning.answer(control)
            self._frames.control(0, tune_ok)
            self._tuned()
            events.append(tuned)
        elif isinstance(control, spec.ConnectionTuneOk):
            events.append(self.tuning.settle(control))
            self._tuned()
        elif isinstance(control, spec.ConnectionClose):
            self._receive_close(control, events)
        elif isinstance(control, spec.ConnectionCloseOk):
            if not self._violated:
                events.append(ConnectionClosed(self._code, self._close_text, False))
        else:
            if received == ConnectionInput.RECV_OPEN_OK:
                self._deadline_ms = 0
            events.append(ControlReceived(control))

    def _tuned(self) -> None:
        self._frames.max_frame_size = self.tuning.max_frame_size
        self._heartbeat.start(self.tuning.heartbeat_s)

    def _receive_close(self, close: spec.ConnectionClose, events: list[Event]) -> None:
        self._machine.send(ConnectionInput.SEND_CLOSE_OK)
        self._frames.silent = False
        self._frames.control(0, spec.ConnectionCloseOk())
        self._frames.silent = True
        if self.closed:
            # Not when it crosses our own close, which still waits for its answer.
            events.append(ConnectionClosed(close.reply_code or 0, close.reply_text or "", True))

    def _start_closing(self, code: int, text: str, now_ms: int) -> None:
        self.channels.flush()
        self._machine.send(ConnectionInput.SEND_CLOSE)
        self._code = code
        self._close_text = text
        reply_text = text.encode("utf-8")[:REPLY_TEXT_MAX].decode("utf-8", "ignore")
        self._frames.control(0, spec.ConnectionClose(reply_code=code, reply_text=reply_text))
        self._frames.silent = True
        self._deadline_ms = now_ms + CLOSE_TIMEOUT_MS

    def _forget(self) -> None:
        """What has come in part will not come whole here: it is kept with its session, or not."""
        self.channels.forget()
        self._controls.reset()
        self._parser = FrameParser()
        self.account.give(self._part + self._kept)
        self._part = 0
        self._kept = 0
        self._frames.unfinished.clear()

    def _drop(self, code: int, text: str, by_peer: bool, events: list[Event]) -> None:
        self._frames.silent = True
        if self._machine.receive(ConnectionInput.DROP) and not self._violated:
            events.append(ConnectionClosed(code, text, by_peer))

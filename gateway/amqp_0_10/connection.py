"""A 0-10 connection without I/O, in either role (class connection).

The six-call surface: `receive_data`, `receive_eof`, `send_*`, `data_to_send`, `next_deadline` with
`handle_deadline`, `closed`. The protocol header, tuning, heartbeats, the closing handshake and the
way of frames to sessions are done by it; who may connect, and to what, is asked through events.

A peer that breaks the protocol gets connection.close with the code that the specification names,
has `CLOSE_TIMEOUT_MS` for its close-ok, and nothing else that it sends meanwhile is looked at.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.controls import ControlReader
from gateway.amqp_0_10.errors import CloseError, FramingError, TransportError
from gateway.amqp_0_10.events import (
    ConnectionClosed,
    ControlReceived,
    Event,
    HeaderReceived,
    Violation,
)
from gateway.amqp_0_10.frames import (
    CONTROL,
    FIRST_FRAME,
    FIRST_SEGMENT,
    PROTOCOL_HEADER,
    FrameParser,
    FrameWriter,
)
from gateway.amqp_0_10.heartbeat import Heartbeat
from gateway.amqp_0_10.late import give_up, receive_late
from gateway.amqp_0_10.receiving import (
    receive_attach,
    receive_control,
    receive_frame,
    receive_no_more,
    receive_part,
)
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import (
    CLIENT_TABLE,
    SERVER_TABLE,
    ConnectionInput,
    ConnectionState,
    Role,
    SessionInput,
    SessionState,
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
_ATTACH_RECEIVED: Final = int(SessionState.ATTACH_RECEIVED)

CLOSE_TIMEOUT_MS: Final = 2_000
REPLY_TEXT_MAX: Final = 255

# Life-cycle input, by the code of a received control.
_RECEIVED: Final = {
    spec.ConnectionStart.CODE: ConnectionInput.RECV_START,
    spec.ConnectionStartOk.CODE: ConnectionInput.RECV_START_OK,
    spec.ConnectionSecure.CODE: ConnectionInput.RECV_SECURE,
    spec.ConnectionSecureOk.CODE: ConnectionInput.RECV_SECURE_OK,
    spec.ConnectionTune.CODE: ConnectionInput.RECV_TUNE,
    spec.ConnectionTuneOk.CODE: ConnectionInput.RECV_TUNE_OK,
    spec.ConnectionOpen.CODE: ConnectionInput.RECV_OPEN,
    spec.ConnectionOpenOk.CODE: ConnectionInput.RECV_OPEN_OK,
    spec.ConnectionRedirect.CODE: ConnectionInput.RECV_REDIRECT,
    spec.ConnectionClose.CODE: ConnectionInput.RECV_CLOSE,
    spec.ConnectionCloseOk.CODE: ConnectionInput.RECV_CLOSE_OK,
}


def _named(received: ConnectionInput) -> str:
    """The control that is this input, by its name in the specification."""
    return "connection." + received.name.removeprefix("RECV_").lower().replace("_", "-")


@final
class Connection:
    """One connection.

    Attributes:
        resumable: the names of sessions whose state is kept, of the peer's user. What comes behind
            the attach of one waits until that is answered, since it may be for what is kept.
        sessions: those whose channel is not free, by channel.
        tuning: what was negotiated.
        account: what is kept on the peer's behalf.
    """

    __slots__ = (
        "_asked",
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
        "_latest",
        "_limits",
        "_machine",
        "_over",
        "_parser",
        "_part",
        "_role",
        "_standing",
        "_violated",
        "account",
        "resumable",
        "sessions",
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
        self._over: Session | None = None  # of the channel whose session is over, and that speaks
        self._latest: Session | None = None  # of `sessions`; mostly the next frame is of it, too
        self.sessions: dict[int, Session] = {}
        self.resumable: set[bytes] = set()
        self._asked = False  # the peer has asked that a session's state be kept
        self._standing: Session | None = None  # what comes behind its attach waits
        self._behind: list[bytes] = []
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
        if self._standing is not None:
            self._behind.append(data)
            if self.standing:
                return events
            data = b"".join(self._behind)
            self._standing = None
            self._behind = []
        try:
            if self._machine.state <= _HEADER_SENT:
                data = self._receive_header(data, events)
            self._parser.feed(data)
            while not self._receive_frames(events, now_ms):
                pass
            for session in self.sessions.values():
                receive_no_more(session, events)
            if self._over is not None:
                receive_no_more(self._over, events)
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
        for session in self.sessions.values():
            receive_part(session, 1, events)
        self._drop(0, "the transport ended", True, events)
        self._forget()
        return events

    @property
    def standing(self) -> bool:
        """What comes waits for the answer to an attach."""
        session = self._standing
        return session is not None and session.machine.state == _ATTACH_RECEIVED

    @property
    def goes_on(self) -> bool:
        """That has been answered: what waits comes with the next `receive_data`."""
        return self._standing is not None and not self.standing

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
        if self.open:
            over = False
            for session in self.sessions.values():
                if not session.flush():
                    over = True
            if over:
                self._free_channels()
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
        if not self.open or self._session(channel) is not None:
            raise LocalProtocolError(f"channel {channel} cannot be attached")
        session = self._new_session(name, channel)
        if not session.keep():
            raise LocalProtocolError("too much is kept for the connection")
        self.sessions[channel] = session
        session.attach(force)
        return session

    def attach_again(self, session: Session, channel: int, force: bool = False) -> None:
        """Ask for a session again whose state both ends may have kept."""
        fresh = self.attach(session.name, channel, force)
        session.take_over(fresh)
        self._put(session)

    # What both call.

    def resume(self, fresh: Session, session: Session) -> None:
        """Answer `AttachReceived` of `fresh`: attached, and what is attached is `session`."""
        session.take_over(fresh)
        self._put(session)
        session.accept()

    def lose(self, session: Session) -> None:
        """The transport is over, or the session's channel is; its state is kept."""
        if self.sessions.get(session.channel) is session:
            del self.sessions[session.channel]
            self._latest = None
        session.lose()

    def _put(self, session: Session) -> None:
        self.sessions[session.channel] = session
        self._latest = None

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

    def _new_session(self, name: bytes, channel: int) -> Session:
        return Session(name, channel, self._frames, self._limits, self._role, self.account)

    def _free_channels(self) -> None:
        for channel, session in list(self.sessions.items()):
            if session.detached:
                self._free(channel, session)

    def _free(self, channel: int, session: Session) -> None:
        """Of the session that was the last to be over a message may still be under way."""
        del self.sessions[channel]
        self._latest = None
        session.release()
        if self._over is not None:
            self._over.incoming.assembler.reset()
        if session.replay is not None:
            self._over = None  # what has come of a command in part is kept
            return
        self._over = session
        if session.incoming.assembler.idle() or self._role == Role.CLIENT:
            session.incoming.assembler.reset()

    def _session(self, channel: int) -> Session | None:
        """The session of a channel that is not free."""
        session = self._latest
        if session is None or session.channel != channel:
            session = self._latest = self.sessions.get(channel)
        if session is not None and session.detached:
            self._free(channel, session)
            return None
        return session

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
                    if self._standing is not None:
                        self._behind.append(parser.take_rest())
                        break
                elif machine.state == _OPEN:
                    self._receive_command_frame(parser, events)
                elif machine.state > _OPEN:
                    self._receive_behind(parser, events)
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

    def _receive_command_frame(self, parser: FrameParser, events: list[Event]) -> None:
        session = self._session(parser.channel)
        if session is not None:
            receive_frame(
                session, parser.flags, parser.type, parser.buf, parser.start, parser.end, events
            )
        else:
            self._receive_behind(parser, events)
            if parser.flags & FIRST_SEGMENT and parser.flags & FIRST_FRAME:
                self._not_attached(parser.channel, b"")

    def _receive_behind(self, parser: FrameParser, events: list[Event]) -> None:
        """Take a frame of a command where its session is over, or the connection."""
        if self._role == Role.CLIENT:
            return
        channel = parser.channel
        session = self.sessions.get(channel) or self._over
        if session is None or session.channel != channel:
            if session is not None:
                give_up(session, events)
            session = self._over = self._new_session(b"", channel)
        receive_late(
            session, parser.flags, parser.type, parser.buf, parser.start, parser.end, events
        )

    def _not_attached(self, channel: int, name: bytes) -> None:
        code = spec.DetachCode.NOT_ATTACHED
        self._frames.control(channel, spec.SessionDetached(name=name, code=code))

    def _receive_control_frame(self, parser: FrameParser, events: list[Event]) -> None:
        control = self._controls.read(parser)
        if control is None:
            return
        if control.CODE >> 8 == 1:
            self._receive_connection_control(control, events)
        elif self._machine.state == _OPEN:
            self._receive_session_control(parser.channel, control, events)
        elif self._machine.state < _OPEN:
            raise FramingError("a session control before the connection is open")

    def _receive_session_control(self, channel: int, control: Control, events: list[Event]) -> None:
        session = self._session(channel)
        if session is not None:
            receive_control(session, control, events)
            if isinstance(control, spec.SessionRequestTimeout):
                self._asked |= control.timeout != 0
        elif isinstance(control, spec.SessionAttach):
            if channel > self.tuning.channel_max:
                raise FramingError(f"channel {channel}, {self.tuning.channel_max} are allowed")
            session = self._new_session(control.name or b"", channel)
            session.machine.receive(SessionInput.RECV_ATTACH)
            receive_attach(session, control.force, events)
            if not session.detached:
                self.sessions[channel] = session
                if self._asked or session.name in self.resumable:
                    self._standing = session
        elif isinstance(control, spec.SessionDetach):
            self._not_attached(channel, control.name or b"")
        elif not isinstance(control, spec.SessionDetached | spec.SessionAttached):
            self._not_attached(channel, b"")

    def _receive_connection_control(self, control: Control, events: list[Event]) -> None:
        received = _RECEIVED.get(control.CODE)
        if received is None:
            return  # a heartbeat: its octets were what it is for
        state = self._machine.state
        if not self._machine.receive(received):
            if state >= ConnectionState.CLOSE_SENT:
                return
            expected = [_named(each) for each in _RECEIVED.values() if self._machine.allows(each)]
            said = f"{_named(received)} where {' or '.join(expected) or 'nothing'} is expected"
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
        for session in self.sessions.values():
            session.flush()
        self._machine.send(ConnectionInput.SEND_CLOSE)
        self._code = code
        self._close_text = text
        reply_text = text.encode("utf-8")[:REPLY_TEXT_MAX].decode("utf-8", "ignore")
        self._frames.control(0, spec.ConnectionClose(reply_code=code, reply_text=reply_text))
        self._frames.silent = True
        self._deadline_ms = now_ms + CLOSE_TIMEOUT_MS

    def _forget(self) -> None:
        """What has come in part will not come whole here: it is kept with its session, or not."""
        for session in self.sessions.values():
            if session.replay is None:
                session.incoming.assembler.reset()
        if self._over is not None:
            self._over.incoming.assembler.reset()
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

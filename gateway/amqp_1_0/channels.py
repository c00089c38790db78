"""The sessions of one connection, by their channels in both directions (2.5.1 - 2.5.3).

Passes to each session what comes on its channel, and says for it when the peer has broken its
rules; has sessions write what they owe at the end of the turn.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Begin, Detach, End, Transfer
from gateway.amqp_1_0.carrier import Carrier
from gateway.amqp_1_0.errors import (
    ConnectionFieldError,
    ConnectionLimitError,
    ConnectionStateError,
    FrameSizeTooSmallError,
    SessionScopeError,
)
from gateway.amqp_1_0.events import BeginReceived, EndReceived, Event
from gateway.amqp_1_0.receiving import fail_session, receive_frame, receive_transfer
from gateway.amqp_1_0.session import NO_CHANNEL, Session
from gateway.amqp_1_0.states import ConnectionState, SessionInput, SessionState
from gateway.amqp_1_0.transfers.late import give_up_all, receive_lost
from gateway.errors import DecodeError, LocalProtocolError
from gateway.wire.buffers import FLUSH_OCTETS, Reader
from gateway.wire.numbers import Numbers
from gateway.wire.work import FRAME, OCTETS_SENT, WORK

SESSION_OCTETS: Final = 8192  # what a session takes


@final
class Channels:
    """Which session has which channel.

    Attributes:
        peer_channel_max: the highest channel that the peer allows; 0 before its open has come.
    """

    def __init__(self, carrier: Carrier) -> None:
        self.peer_channel_max = 0
        self._carrier = carrier
        self._numbers = Numbers()
        self._incoming: dict[int, Session] = {}
        self._outgoing: dict[int, Session] = {}
        self._dirty: list[Session] = []
        self._transfer = Transfer(handle=0)

    def sessions(self) -> list[Session]:
        """Those that the peer has begun and not ended."""
        return list(self._incoming.values())

    @property
    def can_take(self) -> bool:
        """The peer allows one more local channel; before its open has come, only one at all."""
        return self._numbers.lowest() <= self.peer_channel_max

    def take(self, session: Session) -> int:
        """A free outgoing channel; `NO_CHANNEL`, and we close, beyond what the peer allows.

        Raises:
            LocalProtocolError: the session is a local one, and the peer takes no more.
        """
        if not self.can_take:
            if session.channel_in == NO_CHANNEL:
                raise LocalProtocolError("the peer takes no more sessions")
            self._carrier.fail(ConnectionLimitError("more sessions than your channel-max"))
            return NO_CHANNEL
        channel = self._numbers.take()
        self._outgoing[channel] = session
        return channel

    def give(self, session: Session) -> None:
        """Our channel is free once both halves have ended, and what the session took.

        Were it taken before the peer has ended its half, a peer that is quicker to begin than to
        end would have two sessions on one channel (RabbitMQ 3.x is).
        """
        if session.machine.state != SessionState.ENDED:
            return
        if self._outgoing.pop(session.channel_out, None) is not None:
            self._numbers.give(session.channel_out)
            self._carrier.account.give(SESSION_OCTETS)

    def receive_begin(self, begin: Begin, channel: int, events: list[Event]) -> None:
        """Take a begin: a session of the peer's, or its answer to a local one."""
        self._carrier.take_apart(FRAME)
        if self._carrier.machine.state == ConnectionState.CLOSE_SENT:
            return
        if channel in self._incoming:
            raise ConnectionStateError(f"channel {channel} has a session")
        answer = begin.remote_channel is not None
        session = self._awaiting(begin.remote_channel)
        if not self._carrier.account.take(SESSION_OCTETS):
            raise ConnectionLimitError("the connection has too much that is kept for it")
        session.machine.receive(SessionInput.RECV_BEGIN)
        session.channel_in = channel
        self._incoming[channel] = session
        session.receive_begin(begin)
        events.append(BeginReceived(session, begin, answer))

    def _awaiting(self, channel: int | None) -> Session:
        if channel is None:
            return Session(self._carrier, self)
        session = self._outgoing.get(channel)
        if session is None or session.channel_in != NO_CHANNEL:
            raise ConnectionFieldError(f"no local session awaits {channel}")
        return session

    def receive_frame(self, code: int, channel: int, reader: Reader, events: list[Event]) -> None:
        """Take an end, or what a session takes."""
        session = self._incoming.get(channel)
        if session is None:
            if self._carrier.machine.state == ConnectionState.CLOSE_SENT:
                return
            raise ConnectionStateError(f"channel {channel} has no session")
        if code == _spec.END:
            end = End.decode(reader)
            self._carrier.take_apart(FRAME)
            del self._incoming[channel]
            session.receive_end()
            self.give(session)
            events.append(EndReceived(session, end.error))
            return
        if session.dropping:
            self._drop(session, code, reader, events)
            return
        behind = reader.pos
        try:
            if code == _spec.TRANSFER:
                self._transfer.load(reader)
                behind = reader.pos
                receive_transfer(session, self._transfer, reader, events)
            else:
                receive_frame(session, code, reader, events)
        except SessionScopeError as error:
            fail_session(session, error, events)
            if code == _spec.TRANSFER:
                reader.pos = behind
                receive_lost(session, self._transfer, reader.rest(), events)

    def receive_behind(self, channel: int, reader: Reader, events: list[Event]) -> None:
        """Take a transfer that came when the connection was over for us."""
        session = self._incoming.get(channel)
        if session is not None and session.dropping:
            self._drop(session, _spec.TRANSFER, reader, events)

    def _drop(self, session: Session, code: int, reader: Reader, events: list[Event]) -> None:
        """A frame of a session that has ended for us, or is about to."""
        if code == _spec.TRANSFER:
            try:
                self._transfer.load(reader)
            except DecodeError:
                reader.pos = reader.end
            else:
                receive_lost(session, self._transfer, reader.rest(), events)
            return
        if code == _spec.DETACH and not session.crossed:
            session.crossed = _has_error(reader)
        reader.pos = reader.end

    def touch(self, session: Session) -> None:
        """The session owes frames at the end of the turn."""
        self._dirty.append(session)

    def flush(self) -> None:
        """Have those write that owe something."""
        if self._dirty:
            dirty = self._dirty
            self._dirty = []
            for session in dirty:
                session.flush()

    def go_on(self) -> None:
        """Have those write, in turn, that have more to write than fitted the flushes before."""
        carrier = self._carrier
        writer = carrier.writer
        before = writer.size()
        try:
            for channel in list(carrier.unfinished):
                if writer.size() >= FLUSH_OCTETS:
                    break
                del carrier.unfinished[channel]
                session = self._outgoing[channel]
                session.sending.go_on()
                session.retry_flows()
        except FrameSizeTooSmallError as error:
            carrier.fail(error)
        WORK.units += (writer.size() - before) // OCTETS_SENT

    def lose(self, events: list[Event] | None = None) -> None:
        """The connection has ended, and every session with it.

        `events`: to tell of what had come in part; `None`: the peer has given it up.
        """
        sessions = list(self._outgoing.values()) + list(self._incoming.values())
        self._outgoing = {}
        for session in sessions:
            give_up_all(session, events)
            session.lose()

    def forget(self) -> None:
        """The transport is gone: nothing comes for sessions any more, and nothing is written."""
        self._incoming = {}
        self._dirty = []


def _has_error(reader: Reader) -> bool:
    """Whether a detach, of which nothing else matters any more, was no mere answer."""
    try:
        return Detach.decode(reader).error is not None
    except DecodeError:
        return False

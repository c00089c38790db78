"""The sessions of one connection, by channel: which of them a frame is for.

A channel is free again when its session is over, and what comes on it then is for nobody: of the
session that was the last to be over a message may still be under way.
Source: 0-10 XML, class session.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.commands.late import give_up, receive_late
from gateway.amqp_0_10.commands.receiving import (
    receive_attach,
    receive_control,
    receive_frame,
    receive_no_more,
    receive_part,
)
from gateway.amqp_0_10.errors import FramingError
from gateway.amqp_0_10.events import Event
from gateway.amqp_0_10.frames import FIRST_FRAME, FIRST_SEGMENT, FrameParser, FrameWriter
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role, SessionInput, SessionState
from gateway.amqp_0_10.types import Control
from gateway.errors import LocalProtocolError
from gateway.wire.accounts import Account
from gateway.wire.limits import Limits

_ATTACH_RECEIVED: Final = int(SessionState.ATTACH_RECEIVED)


@final
class Channels:
    """Those of one connection.

    Attributes:
        resumable: the names of sessions whose state is kept, of the peer's user. What comes behind
            the attach of one waits until that is answered, since it may be for what is kept.
        sessions: those whose channel is not free, by channel.
        standing: the session behind whose attach what comes waits.
    """

    __slots__ = (
        "_account",
        "_asked",
        "_frames",
        "_latest",
        "_limits",
        "_over",
        "_role",
        "resumable",
        "sessions",
        "standing",
    )

    def __init__(self, role: Role, limits: Limits, frames: FrameWriter, account: Account) -> None:
        self._role = role
        self._limits = limits
        self._frames = frames
        self._account = account
        self._over: Session | None = None  # of the channel whose session is over, and that speaks
        self._latest: Session | None = None  # of `sessions`; mostly the next frame is of it, too
        self._asked = False  # the peer has asked that a session's state be kept
        self.sessions: dict[int, Session] = {}
        self.resumable: set[bytes] = set()
        self.standing: Session | None = None

    def answered(self) -> bool:
        """Whether nothing waits behind an attach, or that has been answered."""
        session = self.standing
        return session is None or session.machine.state != _ATTACH_RECEIVED

    # What is sent.

    def attach(self, name: bytes, channel: int, force: bool) -> Session:
        """Ask for a session on a free channel."""
        if self._session(channel) is not None:
            raise LocalProtocolError(f"channel {channel} cannot be attached")
        session = self._new_session(name, channel)
        if not session.keep():
            raise LocalProtocolError("too much is kept for the connection")
        self.sessions[channel] = session
        session.attach(force)
        return session

    def take_over(self, fresh: Session, session: Session) -> None:
        """On the channel of `fresh` there is a session from now on whose state has been kept."""
        session.take_over(fresh)
        self.sessions[session.channel] = session
        self._latest = None

    def lose(self, session: Session) -> None:
        """The transport is over, or the session's channel is; its state is kept."""
        if self.sessions.get(session.channel) is session:
            del self.sessions[session.channel]
            self._latest = None
        session.lose()

    def flush(self) -> bool:
        """Have all of them say what they have to; whether one is over."""
        over = False
        for session in self.sessions.values():
            if not session.flush():
                over = True
        return over

    def free(self) -> None:
        """Free the channels of those that are over."""
        for channel, session in list(self.sessions.items()):
            if session.detached:
                self._free(channel, session)

    def _not_attached(self, channel: int, name: bytes) -> None:
        code = spec.DetachCode.NOT_ATTACHED
        self._frames.control(channel, spec.SessionDetached(name=name, code=code))

    # What comes.

    def receive_frame(self, parser: FrameParser, events: list[Event]) -> None:
        """Take a frame of a command."""
        session = self._session(parser.channel)
        if session is not None:
            receive_frame(
                session, parser.flags, parser.type, parser.buf, parser.start, parser.end, events
            )
        else:
            self.receive_behind(parser, events)
            if parser.flags & FIRST_SEGMENT and parser.flags & FIRST_FRAME:
                self._not_attached(parser.channel, b"")

    def receive_behind(self, parser: FrameParser, events: list[Event]) -> None:
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

    def receive_control(
        self, channel: int, channel_max: int, control: Control, events: list[Event]
    ) -> None:
        """Take a control of class session."""
        session = self._session(channel)
        if session is not None:
            receive_control(session, control, events)
            if isinstance(control, spec.SessionRequestTimeout):
                self._asked |= control.timeout != 0
        elif isinstance(control, spec.SessionAttach):
            if channel > channel_max:
                raise FramingError(f"channel {channel}, {channel_max} are allowed")
            session = self._new_session(control.name or b"", channel)
            session.machine.receive(SessionInput.RECV_ATTACH)
            receive_attach(session, control.force, events)
            if not session.detached:
                self.sessions[channel] = session
                if self._asked or session.name in self.resumable:
                    self.standing = session
        elif isinstance(control, spec.SessionDetach):
            self._not_attached(channel, control.name or b"")
        elif not isinstance(control, spec.SessionDetached | spec.SessionAttached):
            self._not_attached(channel, b"")

    def receive_no_more(self, events: list[Event]) -> None:
        """No more octets have come for now."""
        for session in self.sessions.values():
            receive_no_more(session, events)
        if self._over is not None:
            receive_no_more(self._over, events)

    def receive_end(self, events: list[Event]) -> None:
        """None will come any more: what has come of files is told."""
        for session in self.sessions.values():
            receive_part(session, 1, events)

    def forget(self) -> None:
        """What has come in part will not come whole here: it is kept with its session, or not."""
        for session in self.sessions.values():
            if session.replay is None:
                session.incoming.assembler.reset()
        if self._over is not None:
            self._over.incoming.assembler.reset()

    # Channels.

    def _new_session(self, name: bytes, channel: int) -> Session:
        return Session(name, channel, self._frames, self._limits, self._role, self._account)

    def _session(self, channel: int) -> Session | None:
        """The session of a channel that is not free."""
        session = self._latest
        if session is None or session.channel != channel:
            session = self._latest = self.sessions.get(channel)
        if session is not None and session.detached:
            self._free(channel, session)
            return None
        return session

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
